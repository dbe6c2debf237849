"""Embedded model: judgments per second of the whole pipeline against the bare llama.cpp server on the same prompts.

    python -m benchmarks.embedded [--texts 24] [--rounds 3] [--ray]

Both sides run in this process, in turn, round by round, two threads each, never at the same time. "bare" is
`xllamacpp.Server` called directly; "pipeline" is dataset -> readout -> judge -> engine -> journal, cache off.
Prints, judges nothing.

With `--ray` it is `engine=ray` against `engine=local`, both from the first judgment to the last: starting Ray and
loading the model in its worker is printed beside.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.ray import RayEngine, connected
from undogmatic.engine.recipe import Recipe
from undogmatic.models.gguf_file import gemma_file
from undogmatic.records.records import Item


def bare_server(embedding: bool) -> Any:
    """llama.cpp's server with the settings that STACK measurements favour."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(gemma_file())
    parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 2048
    parameters.n_parallel = 1
    parameters.swa_full = True
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    if embedding:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return xllamacpp.Server(parameters)


def pipeline(items: list[Item], overrides: list[str]) -> Callable[[], None]:
    """A function that judges all items through everything but the cache."""
    parts = Recipe(compose_config(overrides)).build()

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            _, judged = asyncio.run(LocalEngine(cache=False).arun(Recipe({}, parts), items, Journals(Path(folder))))
            failed = [j.outcome for j in judged if j.score is None]
            if failed:
                raise SystemExit(f"{len(failed)} judgments failed, the first: {failed[0]}")

    return run


def rate(work: Callable[[], None], count: int) -> float:
    """Calls per second of one pass."""
    clock = time.perf_counter()
    work()
    return count / (time.perf_counter() - clock)


def compare(name: str, count: int, rounds: int, ours: Callable[[], None], bare: Callable[[], None]) -> None:
    """Warm up both, then alternate; print medians and the median of the paired ratios."""
    ours()
    bare()
    pairs = [(rate(ours, count), rate(bare, count)) for _ in range(rounds)]
    print(
        f"{name}: pipeline {statistics.median(p for p, _ in pairs):.2f}/s, bare server "
        f"{statistics.median(b for _, b in pairs):.2f}/s, ratio {statistics.median(p / b for p, b in pairs):.2f} "
        f"(rounds: {', '.join(f'{p / b:.2f}' for p, b in pairs)})"
    )


def by_ray(items: list[Item], rounds: int) -> None:
    """Alternate between the two engines; the scores must be the same."""
    recipe = Recipe(compose_config(["readout=probe"]))

    def judged(engine: LocalEngine) -> tuple[float, float, list[float | None]]:
        began, moments = time.perf_counter(), list[float]()
        with tempfile.TemporaryDirectory() as folder:
            journals = Journals(Path(folder))
            noted = engine.adrain(recipe, items, journals, on_record=lambda _: moments.append(time.perf_counter()))
            asyncio.run(noted)
            scores = [judgment.score for judgment in journals.results(items, recipe.build().judges, 1)[1]]
        return (len(items) - 1) / (moments[-1] - moments[0]), moments[0] - began, scores

    pairs = []
    with connected(None):
        for _ in range(rounds):
            (here, _, own), (there, first, theirs) = judged(LocalEngine(cache=False)), judged(RayEngine(cache=False))
            assert own == theirs and None not in own
            pairs.append((there, here))
            print(f"ray {there:.2f}/s (its first after {first:.0f} s), local {here:.2f}/s", flush=True)
    ratios = [there / here for there, here in pairs]
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{len(items)} texts, the same scores: ratio {statistics.median(ratios):.2f} (rounds: {shown})")


def main() -> None:
    """Run the two comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ray", action="store_true", help="engine=ray against engine=local")
    given = parser.parse_args()
    items = CuratedDataset(parts=["labelled"], split="development").load()[:: 1000 // given.texts][: given.texts]

    if given.ray:
        by_ray(items, given.rounds)
        return
    states = bare_server(embedding=True)
    compare(
        "probe (hidden states) against the server's pooled embeddings",
        len(items),
        given.rounds,
        pipeline(items, ["readout=probe"]),
        lambda: [states.handle_embeddings({"input": item.text}) for item in items] and None,
    )
    completions = bare_server(embedding=False)
    compare(
        "probe (hidden states) against the server's one-token completions of the same texts",
        len(items),
        given.rounds,
        pipeline(items, ["readout=probe"]),
        lambda: [completions.handle_completions(_asked(item.text)) for item in items] and None,
    )
    overrides = ["readout=logprobs", "readout.minimum_mass=0", "prompt=demos_pt"]
    chosen = Recipe(compose_config(overrides)).build()
    demonstrations = tuple((d.text, 0) for d in chosen.prompt.shown())
    prompts = ["".join(chosen.prompt.completion(chosen.rubric, demonstrations, item.text)) for item in items]
    compare(
        "log-probabilities, eight demonstrations, against the server's completions of the same prompts (prefix cache)",
        len(items),
        given.rounds,
        pipeline(items, overrides),
        lambda: [completions.handle_completions(_asked(prompt)) for prompt in prompts] and None,
    )


def _asked(prompt: str) -> dict[str, Any]:
    return {"prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": 20}


if __name__ == "__main__":
    main()

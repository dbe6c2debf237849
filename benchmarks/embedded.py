"""Embedded model: the whole pipeline against bare llama.cpp on the same prompts, two threads each.

    python -m benchmarks.embedded [--texts 24] [--rounds 3] [--ray]

Both sides run in this process, in turn, round by round, never at the same time. "pipeline" is
dataset -> readout -> judge -> engine -> journal, cache off. It is compared with `xllamacpp.Server`
called directly, and with the bare prefill of the same tokens at the same places: `llama_decode` of
each text with nothing asked of it, what all prompts begin with evaluated once. The seconds of the
processor are those that other programs on the machine distort least. Prints, judges nothing.

With `--ray` it is `engine=ray` against `engine=local`, both from the first judgment to the last:
starting Ray and loading the model in its worker is printed beside.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.engine.cluster import connected
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.ray import RayEngine
from undogmatic.engine.recipe import Recipe
from undogmatic.models.gguf_file import gemma_file
from undogmatic.models.llama import Llama, library
from undogmatic.readouts.base import shown_inputs
from undogmatic.records.records import Item


def bare_server(embedding: bool) -> Any:
    """llama.cpp's server with the settings that STACK measurements favour."""
    xllamacpp = library()
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
            _, judged = asyncio.run(
                LocalEngine(cache=False).arun(
                    Recipe({}, parts), items, Journals(Path(folder))
                )
            )
            failed = [j.outcome for j in judged if j.score is None]
            if failed:
                raise SystemExit(
                    f"{len(failed)} judgments failed, the first: {failed[0]}"
                )

    return run


class Spent(NamedTuple):
    """Seconds by the clock and of a processor."""

    clock: float
    processor: float


def spent(work: Callable[[], object]) -> Spent:
    """What one pass takes."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - clock, time.process_time() - processor)


def compare(
    name: str,
    count: int,
    rounds: int,
    ours: Callable[[], None],
    bare: Callable[[], object],
) -> None:
    """Warm up both, then alternate; print medians and the median of the paired ratios."""
    ours()
    bare()
    pairs = [(spent(ours), spent(bare)) for _ in range(rounds)]
    print(name)
    for unit, by in (("clock", 0), ("processor", 1)):
        mine, theirs = (
            statistics.median(count / pair[side][by] for pair in pairs)
            for side in (0, 1)
        )
        ratios = [theirs[by] / mine[by] for mine, theirs in pairs]
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        ratio = f"ratio {statistics.median(ratios):.2f} (rounds: {each})"
        print(
            f"  calls a second by the {unit}: pipeline {mine:.2f}, bare {theirs:.2f}, {ratio}",
            flush=True,
        )


def by_ray(items: list[Item], rounds: int) -> None:
    """Alternate between the two engines; the scores must be the same."""
    recipe = Recipe(compose_config(["readout=probe"]))

    def judged(engine: LocalEngine) -> tuple[float, float, list[float | None]]:
        began, moments = time.perf_counter(), list[float]()
        with tempfile.TemporaryDirectory() as folder:
            journals = Journals(Path(folder))
            noted = engine.adrain(
                recipe,
                items,
                journals,
                on_record=lambda _: moments.append(time.perf_counter()),
            )
            asyncio.run(noted)
            scores = [
                judgment.score
                for judgment in journals.results(items, recipe.build().judges, 1)[1]
            ]
        return (len(items) - 1) / (moments[-1] - moments[0]), moments[0] - began, scores

    pairs = []
    with connected(None):
        for _ in range(rounds):
            (here, _, own), (there, first, theirs) = (
                judged(LocalEngine(cache=False)),
                judged(RayEngine(cache=False)),
            )
            assert own == theirs and None not in own
            pairs.append((there, here))
            print(
                f"ray {there:.2f}/s (its first after {first:.0f} s), local {here:.2f}/s",
                flush=True,
            )
    ratios = [there / here for there, here in pairs]
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(
        f"{len(items)} texts, the same scores: ratio {statistics.median(ratios):.2f} (rounds:"
        f" {shown})"
    )


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--ray", action="store_true", help="engine=ray against engine=local"
    )
    given = parser.parse_args()
    items = CuratedDataset(parts=["labelled"], split="development").load()[
        :: 1000 // given.texts
    ][: given.texts]
    texts = [item.text for item in items]

    if given.ray:
        by_ray(items, given.rounds)
        return
    llama, probe = Llama(gemma_file(), threads=2), pipeline(items, ["readout=probe"])
    overrides = ["readout=logprobs", "readout.minimum_mass=0", "prompt=demos_pt"]
    readout, prompts = Recipe(compose_config(overrides)).build().readout, []
    for item in items:
        inputs = shown_inputs(item, readout.rubric) | readout.given
        turns = readout.adapter.format(
            readout.predict.signature, readout.predict.demos, inputs
        )
        prompts.append([turn["content"] for turn in turns])
    logprobs = pipeline(items, overrides)

    def against(
        name: str,
        ours: Callable[[], None],
        ask: Callable[[Any], object],
        asked: Sequence[Any],
    ) -> None:
        compare(
            name, len(items), given.rounds, ours, lambda: [ask(one) for one in asked]
        )

    against(
        "probe / bare prefill of the same tokens",
        probe,
        llama.read,
        [[text] for text in texts],
    )
    against(
        "log-probabilities, eight demonstrations / bare prefill of the same tokens",
        logprobs,
        llama.read,
        prompts,
    )
    server = bare_server(embedding=True)
    against(
        "probe / the server's pooled embeddings",
        probe,
        lambda t: server.handle_embeddings({"input": t}),
        texts,
    )
    server = bare_server(embedding=False)
    asked = [
        {"prompt": "".join(parts), "max_tokens": 1, "temperature": 0, "logprobs": 20}
        for parts in prompts
    ]
    name = "log-probabilities / the server's completions of the same prompts (prefix cache)"
    against(name, logprobs, server.handle_completions, asked)


if __name__ == "__main__":
    main()

"""Coverage's embeddings against the weights as published, read by sentence-transformers, on the
same machine.

    python -m benchmarks.minilm [--sentences 400] [--rounds 3]

Both read the same sentences (those of the shipped labelled texts) on the same number of threads, in
turns, and the best round of each counts, in seconds by the clock and of the processor, which what
else the machine does distorts less. Without sentence-transformers only our own speed is printed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from undogmatic.constructs.faithfulness.facts.words import sentences
from undogmatic.models.embeddings import HubEmbeddings, MiniLMEmbeddings
from undogmatic.safety.outside import json_lines
from undogmatic.safety.paths import data_folder

Read = Callable[[Sequence[str]], Any]


def texts(count: int) -> list[str]:
    """Distinct sentences of many lengths."""
    rows = json_lines(data_folder() / "curated" / "labelled.jsonl")
    found = dict.fromkeys(
        each for _, row in rows for each in sentences(str(row["text"]), 10)
    )
    return list(found)[:count]


def rival(threads: int) -> Read | None:
    """The weights as published, or None where sentence-transformers is not installed."""
    try:
        import sentence_transformers  # noqa: F401
        import torch
    except ImportError:
        return None
    torch.set_num_threads(threads)
    return HubEmbeddings("sentence-transformers/all-MiniLM-L6-v2").read


def main() -> None:
    """Print sentences per second of each, and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    threads = int(os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count() or 1)))
    given = texts(options.sentences)
    readers: dict[str, Read] = {"int8": MiniLMEmbeddings().read}
    other = rival(threads)
    if other is not None:
        readers["sentence-transformers"] = other
        apart = float(np.abs(other(given[:50]) - readers["int8"](given[:50])).max())
        print(f"largest difference of a vector's component: {apart:.1e}")
    best = {name: np.full(2, np.inf) for name in readers}
    for read in readers.values():
        read(given[:20])
    for _ in range(options.rounds):
        for name, read in readers.items():
            begun = time.perf_counter(), time.process_time()
            read(given)
            spent = np.subtract((time.perf_counter(), time.process_time()), begun)
            best[name] = np.minimum(best[name], spent)
    for name, (clock, processor) in best.items():
        by = (
            f"{len(given) / clock:8.1f} by the clock, {len(given) / processor:8.1f} per processor"
            " second"
        )
        print(f"{name:22} {by}: sentences, {threads} thread(s)")
    if other is None:
        print(
            "sentence-transformers is not installed: pip install 'undogmatic[nli]' to compare."
        )
    else:
        clock, processor = best["sentence-transformers"] / best["int8"]
        print(
            f"ratio int8 / sentence-transformers: {clock:.2f} by the clock, {processor:.2f} of the"
            " processor"
        )


if __name__ == "__main__":
    main()

"""What a figure of the report costs, in milliseconds of a processor.

    python -m benchmarks.figures [--rounds 10]

Drawn are the figures of `tests/report/test_figures.py`, one of every kind. `first` is what each
costs the first time, as it does in a run, which draws a figure once; `again` is the median of the
rounds after that, as it does in a sweep, whose jobs share a process. What the very first figure of
a process takes longer, because Matplotlib and its fonts are loaded, stands in a line of its own.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from tests.report.conftest import shame
from tests.report.test_figures import DATA
from undogmatic.records.results import FigureData
from undogmatic.records.words import Words
from undogmatic.report import figures


def seconds_of(figure: FigureData, words: Words, path: Path) -> float:
    """Draw a figure, and return the seconds of a processor that it took."""
    rubric = shame()
    before = time.process_time()
    figures.draw(figure, words, "trial", rubric, path)
    return time.process_time() - before


def main() -> None:
    """Print a line for each kind, and their mean."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    words = Words("en")
    spent: dict[str, list[float]] = {kind: [] for kind in DATA}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        data, _ = DATA["box"]
        loading = 1000 * seconds_of(FigureData("it", "box", data), words, path)
        for _ in range(1 + rounds):
            for kind, (data, _) in DATA.items():
                figure = FigureData("it", kind, data)
                spent[kind].append(1000 * seconds_of(figure, words, path))
    print(
        f"the first figure of a process, libraries and fonts included: {loading:.0f} ms"
    )
    print(f"{'kind':14}{'first':>8}{'again':>8}   ms of a processor")
    first = [times[0] for times in spent.values()]
    again = [statistics.median(times[1:]) for times in spent.values()]
    for kind, once, later in zip(spent, first, again, strict=True):
        print(f"{kind:14}{once:8.0f}{later:8.0f}")
    print(f"{'mean':14}{statistics.mean(first):8.0f}{statistics.mean(again):8.0f}")


if __name__ == "__main__":
    main()

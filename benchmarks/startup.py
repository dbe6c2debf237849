"""How long `--help` takes, against `import hydra` alone, in turn in one run. Prints, judges
nothing.

python -m benchmarks.startup [--rounds 7]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time


def seconds(*words: str) -> float:
    """Wall time of one Python process."""
    clock = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - clock


def main() -> None:
    """Alternate the two commands and print medians and the median of the paired ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    seconds("-c", "import hydra")
    seconds("-m", "undogmatic.run", "--help")
    pairs = [
        (seconds("-m", "undogmatic.run", "--help"), seconds("-c", "import hydra"))
        for _ in range(rounds)
    ]
    ratios = [ours / theirs for ours, theirs in pairs]
    print(
        f"--help {statistics.median(p[0] for p in pairs):.2f} s, "
        f"import hydra {statistics.median(p[1] for p in pairs):.2f} s, "
        f"ratio {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})"
    )


if __name__ == "__main__":
    main()

"""How many judges without merit does each validator of judges believe, and how many good ones not?

    python -m benchmarks.gauntlet --seeds 2                                   # this program only
    python -m benchmarks.gauntlet --seeds 2 --install ~/gauntlet --write      # the others too; writes the table

Each judge is a file (`judges.py`), made anew from its seed and written where `--out` says. Each validator gets an
environment of its own under `--install`, is shown the same files on its own defaults (`tools.py`), and is read by a
published table. Results are in `benchmarks/results/gauntlet.csv`, the tables in `docs/gauntlet.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.gauntlet import judges, tools

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "gauntlet.csv"
TABLE = ROOT / "docs" / "gauntlet.md"
BEGIN, END = (
    "<!-- tables: python -m benchmarks.gauntlet --write -->\n",
    "<!-- end of tables -->\n",
)
BELIEF = ("believed", "with care")


def rows(
    names: Sequence[str],
    seeds: int,
    asked: Sequence[str],
    install: Path | None,
    out: Path,
) -> Iterator[dict[str, object]]:
    """A row per judge, seed and tool: the file's digest, how the answer counts, and its words."""
    homes = {tool: tools.programs(tool, install) for tool in asked}
    for name in names:
        for seed in range(seeds):
            case = judges.make(name, seed)
            path = out / f"{name}-{seed}.csv"
            case.rows.to_csv(path, index=False)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            about = {
                "judge": name,
                "seed": seed,
                "good": case.good,
                "kind": case.kind,
                "sha256": digest,
            }
            for tool, home in homes.items():
                said = tools.ask(tool, home, case, out / "asked" / tool / path.stem)
                yield about | {
                    "tool": tool,
                    "version": tools.version(tool),
                    "reading": said.reading,
                    "words": said.words,
                }


def summary(found: pd.DataFrame) -> str:
    """Per tool: how many judges without merit it believes, and what becomes of the good ones."""
    lines = [
        (
            "| validator | files it takes | judges without merit: believed | of these with a"
            " reservation | undecided | not believed | says nothing | good judges: believed | of"
            " these with a reservation | not believed or undecided | says nothing |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for tool, own in found.groupby("tool", sort=False):
        taken = own[~own["reading"].isin(["not its kind", "not read"])]
        cells = [f"{tool} {own['version'].iloc[0]}", f"{len(taken)} of {len(own)}"]
        for good, columns in (
            (
                False,
                (
                    BELIEF,
                    ("with care",),
                    ("undecided",),
                    ("not believed",),
                    ("says nothing",),
                ),
            ),
            (
                True,
                (
                    BELIEF,
                    ("with care",),
                    ("not believed", "undecided"),
                    ("says nothing",),
                ),
            ),
        ):
            of = taken[taken["good"] == good]
            counts = [int(of["reading"].isin(readings).sum()) for readings in columns]
            cells += [f"**{counts[0]} of {len(of)}**", *map(str, counts[1:])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


SHORT = {
    "believed": "BELIEVED",
    "with care": "believed, with care",
    "not its kind": "·",
    "not read": "does not take it",
}


def by_judge(found: pd.DataFrame) -> str:
    """Per judge and tool: how its files are read, with a count where the seeds differ."""
    names = list(dict.fromkeys(found["tool"]))
    lines = [
        "| judge | kind | " + " | ".join(names) + " |",
        "|---" * (len(names) + 2) + "|",
    ]
    for good in (False, True):
        lines.append(
            f"| **{'good judges' if good else 'without merit'}** |"
            + " |" * (len(names) + 1)
        )
        for judge, own in found[found["good"] == good].groupby("judge", sort=False):
            cells = []
            for tool in names:
                counts = (
                    own.loc[own["tool"] == tool, "reading"]
                    .map(lambda r: SHORT.get(r, r))
                    .value_counts(sort=False)
                )
                only = len(counts) == 1
                cells.append(
                    "; ".join(
                        name if only else f"{name} ({n})" for name, n in counts.items()
                    )
                )
            lines.append(
                f"| `{judge}` | {own['kind'].iloc[0].replace('_', '/')} | "
                + " | ".join(cells)
                + " |"
            )
    return "\n".join(lines)


def readings() -> str:
    """The table of readings."""
    lines = [
        (
            "| validator | what it prints (regular expression; the first that fits counts) | is"
            " read as |"
        ),
        "|---|---|---|",
    ]
    for tool, own in tools.READINGS.items():
        lines += [
            f"| {tool} | `{expression.replace('|', chr(92) + '|')}` | {read} |"
            for expression, read in own
        ]
    return "\n".join(lines)


def quoted(found: pd.DataFrame) -> str:
    """What each tool says of one and the same judge, a regular expression over citation words."""
    own = found[
        (found["judge"] == "regex_8") & (found["seed"] == 0) & (found["words"] != "")
    ]
    return "\n".join(
        f'- {row.tool} {row.version}: "{row.words}"' for row in own.itertuples()
    )


def tables(found: pd.DataFrame) -> str:
    """All that is put into the document."""
    seeds = found["seed"].nunique()
    head = (
        f"{found['judge'].nunique()} judges, {seeds} seeds each: {found['sha256'].nunique()}"
        " files.\n"
    )
    parts = [head, summary(found), "\nOf `regex_8`, seed 0, they say:\n", quoted(found)]
    parts += [
        "\n## Judge by judge\n",
        by_judge(found),
        "\n## How an answer is read\n",
        readings(),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Ask all of them, and write the tables where that is wanted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gauntlet",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--judges",
        nargs="+",
        choices=list(judges.CASES),
        default=list(judges.CASES),
        metavar="NAME",
    )
    parser.add_argument(
        "--tools",
        nargs="+",
        choices=list(tools.TOOLS),
        metavar="NAME",
        help="only these",
    )
    parser.add_argument(
        "--install",
        type=Path,
        help="a folder for the other tools' environments, about 900 MB",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder for the files (default: one that is removed)"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"replace these rows in {RESULTS.name} and the tables in {TABLE.name}",
    )
    given = parser.parse_args()
    asked = given.tools or (list(tools.TOOLS) if given.install else [tools.OURS])
    if given.install is None and asked != [tools.OURS]:
        parser.error(
            "--tools names other validators; say with --install where their environments may lie."
        )
    with tempfile.TemporaryDirectory() as passing:
        out = (given.out or Path(passing)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        found = []
        for row in rows(given.judges, given.seeds, asked, given.install, out):
            found.append(pd.DataFrame([row]))
            print(
                row["judge"],
                row["seed"],
                row["tool"],
                row["reading"],
                row["words"],
                sep="\t",
                flush=True,
            )
    if given.write and RESULTS.exists():  # rows of other judges and tools stay
        found.insert(0, pd.read_csv(RESULTS, keep_default_na=False))
    made = pd.concat(found, ignore_index=True).drop_duplicates(
        ["judge", "seed", "tool"], keep="last"
    )
    for column, known in (("judge", judges.CASES), ("tool", tools.TOOLS)):
        made = made[made[column].isin(known)].assign(
            **{column: pd.Categorical(made[column], list(known))}
        )
    made = made.sort_values(["judge", "seed", "tool"]).astype(
        {"judge": str, "tool": str}
    )
    print(summary(made))
    if given.write:
        made.to_csv(RESULTS, index=False)
        before, _, rest = TABLE.read_text("utf-8").partition(BEGIN)
        TABLE.write_text(
            before + BEGIN + tables(made) + END + rest.partition(END)[2], "utf-8"
        )


if __name__ == "__main__":
    main()

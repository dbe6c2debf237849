"""Writes what README.md and pages of docs/ quote (PAGES): the output of commands, and tables of stored results.

    python -m benchmarks.pages            # what is stale, block by block
    python -m benchmarks.pages --write    # writes the blocks anew (a minute: the main job runs)

A block stands between `<!-- made by benchmarks.pages: NAME -->` and `<!-- end -->`.
`tests/test_pages.py` holds every block against what its function in `BLOCKS` gives now. Dates,
times and run numbers differ from run to run, so `masked` takes them out before two outputs are
compared.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks import tables

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
WIDTH = 110
"""Characters of the terminal in which the commands run."""
BLOCK = re.compile(
    r"(<!-- made by benchmarks\.pages: (\w+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL
)


def output(*words: str, folder: Path | None = None) -> str:
    """What a command prints in a folder, by default a new one: what it says of itself, then its
    result.

    Lines of standard error that begin with a blank tell of its progress and are left out.

    Raises:
        subprocess.CalledProcessError: It did not end well.
    """
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HYDRA")
    }
    known |= {"PYTHONPATH": str(ROOT), "COLUMNS": str(WIDTH)}
    with tempfile.TemporaryDirectory() as new:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=folder or new,
            env=known,
            capture_output=True,
            text=True,
            check=True,
        )
    told = [
        line for line in done.stderr.splitlines() if line and not line.startswith(" ")
    ]
    return "\n".join([*told, done.stdout])


def check_of_the_demo() -> str:
    """What the README's first command says."""
    whole = output(
        "undogmatic.cli",
        "check",
        "data/check/demo.csv",
        "--judge",
        "judge_careful",
        folder=ROOT,
    )
    paragraphs = whole.strip("\n").split("\n\n")
    answer = next(n for n, text in enumerate(paragraphs) if text.lstrip()[:1] in "✓✗◐?")
    return f"```text\n{wrapped(paragraphs[answer])}\n```\n"


def demo(language: str = "en") -> str:
    """The middle of what `undogmatic demo` prints: which judges may be believed, and their table."""
    paragraphs = (
        output("undogmatic.cli", "demo", "--language", language)
        .strip("\n")
        .split("\n\n")
    )
    lead, _, table = next(text for text in paragraphs if "───" in text).partition("\n")
    rows = "\n".join(map(str.rstrip, table.splitlines())).rstrip()
    return f"```text\n{wrapped(lead)}\n{rows}\n```\n"


def main_job() -> str:
    """What the main job prints on the embedded model."""
    return f"```text\n{wrapped(output('undogmatic.run').strip())}\n```\n"


def wrapped(text: str) -> str:
    """Each line of a text on lines of at most `WIDTH` characters; a shorter one, as of a table,
    stays as it is."""
    return "\n".join(
        "\n".join(textwrap.wrap(line, WIDTH)) if len(line) > WIDTH else line.rstrip()
        for line in text.splitlines()
    )


def sizes() -> str:
    """The README's table of what texts cost, from the stored results of `benchmarks.scale`."""
    stored = pd.read_csv(RESULTS / "scale.csv")
    runs = stored[
        (stored["what"] == "run")
        & (stored["engine"] == "local")
        & (stored["analysis"] == "none")
        & (stored["tracking"] == "none")
    ]
    names = {
        "patterns": "rules",
        "student": "a student",
        "hosted": "a hosted model (a stub server)",
    }
    rows = [
        "| texts | judged by | seconds of a processor | memory at most |",
        "|---|---|---|---|",
    ]
    for model, name in names.items():
        for row in runs[runs["model"] == model].sort_values("texts").itertuples():
            rows.append(
                f"| {row.texts:,} | {name} | {row.processor:.0f} | {row.mb} MB |"
            )
    return "\n".join(rows) + "\n"


def believed() -> str:
    """The table of how often a judge is believed, from the stored results of `benchmarks.check
    believed`."""
    stored = pd.read_csv(RESULTS / "check_believed.csv")
    stored = stored[stored["items"] == 100]
    judges = {
        "coin": "a coin",
        "constant": "a constant",
        "length": "the longer half",
        "tfidf": "TF-IDF fitted elsewhere",
        "pair_always_first": "of two texts always the first",
        "pair_cited_8": "of two texts the one that cites more",
        "regex_3": "three citation words",
        "regex_8": "eight citation words",
        "first_word": "the first word",
        "vowels": "the share of vowels",
        "any_words_8": "eight words drawn at random",
        "letters_a_to_m": "the share of the letters a to m",
        "endings": "how many words end on o or s, beside the length",
        "first_hashed": "a hash of the first word",
        "good": "agrees in nine of ten with labels that no word says",
        "good_worded": "the same, with labels that words reach in two of three or more",
        "pair_good_worded": "the same, of two texts the better",
    }
    rows = ["| judge | invented | legal | answers |", "|---|---|---|---|"]
    for judge, name in judges.items():
        cells = []
        for texts in ("invented", "held", "traits"):
            shares = stored[(stored["judge"] == judge) & (stored["texts"] == texts)]
            cells.append(
                "-"
                if shares.empty
                else f"{shares['believed'].max():.0%}".replace("%", " %")
            )
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def looks() -> str:
    """How often a judge at the limit passes at least one of several looks, from
    `benchmarks.check_looks`."""
    stored = pd.read_csv(RESULTS / "check_looks.csv")
    first, last = stored.iloc[0], stored.iloc[-1]
    at = stored["labels"].tolist()
    listed = f"{', '.join(map(str, at[:-1]))} and {at[-1]}"
    return (
        "Decide beforehand how many items people label, and check when they are labelled. Of"
        f" {last['seeds']:.0f} judges exactly at the limit (kappa 0.4),"
        f" {first['believed_by_then']:.1%} passed one look at {at[0]} labels; with looks at"
        f" {listed} labels, {last['believed_by_then']:.1%} passed at least one (`python -m"
        " benchmarks.check_looks`).\n"
    )


def planned() -> str:
    """How often a yes came where `undogmatic plan` announced it, from `benchmarks.planned`."""
    stored = pd.read_csv(RESULTS / "planned.csv")
    chances = sorted(stored["announced"].unique())
    heads = " | ".join(
        f"{chance:.0%} announced".replace("%", " %") for chance in chances
    )
    rows = [
        f"| rarer label | judge right on either | drawn | {heads} |",
        f"|---|---|---|{'---|' * len(chances)}",
    ]
    for (rarer, right, drawn), cells in stored.groupby(
        ["rarer", "right", "drawn"], sort=False
    ):
        by_chance = cells.set_index("announced")
        shown = " | ".join(
            f"{by_chance['yes'][chance]:.0%} with {by_chance['labels'][chance]}"
            for chance in chances
        )
        rows.append(
            f"| {rarer:.0%} | {right:.0%} | {drawn} | {shown} |".replace("%", " %")
        )
    return "\n".join(rows) + "\n"


def growth() -> str:
    """How long a check takes and how much memory, from `benchmarks.growth --sizes`."""
    stored = pd.read_csv(RESULTS / "growth.csv")
    rows = ["| rows | processor | memory |", "|---|---|---|"]
    rows += [
        f"| {one.rows:,} | {one.processor_seconds:.3g} s | {one.megabytes:,} MB |"
        for one in stored[stored["door"] == "check"].itertuples()
    ]
    return "\n".join(rows) + "\n"


WORDS_PT = {
    "asked for a level": "perguntado por um nível", "a level": "um nível",
    "judge": "juiz", "asked": "o que se conta", "goal": "meta", "texts": "textos",
    "found": "falha encontrada", "accused": "acusado de algo",
    "clean": "nada fala contra ele", "at least": "pelo menos", "at most": "no máximo",
    "effects": "efeitos", "worst": "maior", "orders": "ordens certas", "blank": "em branco",
    "agreement": "concordância com pessoas", "over the judges": "pelos juízes",
    "always the same": "sempre o mesmo", "hardly any noise": "quase sem ruído",
    "noise of a margin": "ruído de uma margem", "in steps of 10": "de 10 em 10",
    "injection of": "ordem ao juiz:", "authority of": "autoridade:", "length of": "extensão:",
    "order of": "ordem dos níveis:", "paraphrase of": "outras palavras:",
    "dark current of": "página em branco:", "margins": "margens",
    "margin": "margem",
    "paraphrase up or down by 3": "outras palavras, para cima ou para baixo: 3",
}  # fmt: skip
"""What the tables of the instrument test say in Portuguese."""


def _in_portuguese(table: str) -> str:
    """A table of the instrument test with Portuguese words and decimal commas."""
    for english, portuguese in sorted(WORDS_PT.items(), key=lambda pair: -len(pair[0])):
        table = re.sub(rf"(?<!\w){re.escape(english)}(?!\w)", portuguese, table)
    # Numbers, and not what stands in the name of a model.
    return re.sub(r"(?<![A-Za-z\d])(-?\d+)\.(\d+)(?![A-Za-z\d])", r"\1,\2", table)


def instrument(language: str = "en") -> str:
    """How often planted faults are found without a label, from `benchmarks.instrument`."""
    stored = pd.read_csv(RESULTS / "instrument.csv", keep_default_na=False)
    asked = {"found": "found", "accused": "accused", "clean": "clean"}
    rows = ["| judge | asked | goal | 40 texts | 60 texts |", "|---|---|---|---|---|"]
    for (named, what), own in stored.groupby(["judge", "what"], sort=False):
        judge = named.replace(" 1 margins", " 1 margin")
        if what == "clean" and not judge.startswith(("clean", "authority of 1 margin")):
            continue  # a judge with a fault: what is asked is whether that is found
        shares = own.set_index("texts")["share"]
        goals = [goal for goal in own["goal"] if goal]
        goal = f"{goals[-1][:2]} {float(goals[-1][2:]):.0%}" if goals else ""
        goal = goal.replace(">=", "at least").replace("<=", "at most")
        goal += " (60)" if goals and len(goals) < len(own) else ""
        cells = " | ".join(f"{shares[n]:.1%}".replace(".0%", "%") for n in (40, 60))
        rows.append(
            f"| {judge} | {asked[what]} | {goal} | {cells} |".replace("%", " %")
        )
    table = "\n".join(rows) + "\n"
    return _in_portuguese(table) if language == "pt" else table


def instrument_trust(language: str = "en") -> str:
    """What the instrument test finds of judges, beside their agreement with people, from
    `benchmarks.instrument_trust`."""
    from benchmarks.instrument_trust import MEASURES, fisher

    stored = pd.read_csv(RESULTS / "instrument_trust.csv")
    rows = [
        "| judge | effects | worst | orders | blank | agreement |",
        "|---|---|---|---|---|---|",
    ]
    for one in stored.itertuples():
        interval = "" if pd.isna(one.low) else f" [{one.low:.2f}, {one.high:.2f}]"
        rows.append(
            f"| {one.judge} | {one.effects:.0f} | {one.worst:.1f} | {one.right_orders:.0%} |"
            f" {one.blank:.1f} | {one.agreement:.2f}{interval} |".replace("%", " %")
        )
    cells = []
    for measure in MEASURES:
        known = stored[[measure, "agreement"]].dropna()
        value = float(known.corr(method="spearman").iloc[0, 1])
        low, high = fisher(value, len(known))
        cells.append(f"{value:.2f} [{low:.2f}, {high:.2f}]")
    rows.append(f"| over the judges | {' | '.join(cells)} | |")
    table = "\n".join(rows) + "\n"
    return _in_portuguese(table) if language == "pt" else table


def since() -> str:
    """How often a change over time is told, where there is one and where there is none, from
    `benchmarks.since`."""
    stored = pd.read_csv(RESULTS / "since.csv")
    rows = [
        "| items | days or months | agreement | a change is told | the range holds its time |"
        " the interval holds it |",
        "|---|---|---|---|---|---|",
    ]
    for each in stored.itertuples():
        changes = each.before != each.after
        agreement = (
            f"{each.before:.0%} to {each.after:.0%}"
            if changes
            else f"{each.before:.0%}"
        )
        what = "" if each.what == "alone" else f", {each.what}"
        in_range = f"{each.range_holds:.0%}" if changes else "-"
        cells = [f"{each.items}{what}", each.periods, agreement]
        cells += [f"{each.alarms:.1%}", in_range, f"{each.interval_holds:.0%}"]
        rows.append(f"| {' | '.join(map(str, cells))} |".replace("%", " %"))
    rarest = stored[stored["seen"].notna()].sort_values("alarms").iloc[0]
    flattered = (
        "Where a change is found seldom, those that are told look larger than they are: with"
        f" {rarest['items']} items on {rarest['periods']} days they were {rarest['seen']:.2f} on"
        f" average, and the truth was {rarest['after'] - rarest['before']:.2f}."
    )
    return "\n".join([*rows, "", flattered]) + "\n"


def planted_defects() -> str:
    """How often the figures of planted defects hold the truth, from `benchmarks.planted_defects`."""
    stored = pd.read_csv(RESULTS / "planted_defects.csv")
    rows = [
        "| runs | together | the intervals hold the truth | the one that does least often | missed |"
        " found | moved |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in stored.to_dict("records"):
        name = f"{row['least']:.1%} (`{row['of']}`)"
        counts = [f"{row[name]:.1%}" for name in ("missed", "found", "moved")]
        cells = [
            str(row["runs"]),
            f"{row['together']:.0%}",
            f"{row['holds']:.1%}",
            name,
            *counts,
        ]
        rows.append(f"| {' | '.join(cells)} |".replace("%", " %"))
    return "\n".join(rows) + "\n"


def aligned() -> str:
    """By how much reported agreement exceeds that on fresh texts, from `benchmarks.align`."""
    stored = pd.read_csv(RESULTS / "align.csv")
    rows = [
        "| labels | worth of an edit | all labels | tuning part | one look | a look after each edit |"
        " truly gained | Yes | said to fit noise |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in stored.to_dict("records"):
        columns = ("all", "tuning", "one_look", "every_look", "gained")
        cells = " | ".join(
            f"{row[name]:+.1f}".replace("-0.0", "0.0") for name in columns
        )
        shares = " | ".join(
            f"{row[name]:.0%}".replace("%", " %") for name in ("yes", "noise_said")
        )
        worth = f"{row['worth']:.0f}" if row["worth"] else "none"
        rows.append(f"| {row['labels']} | {worth} | {cells} | {shares} |")
    return "\n".join(rows) + "\n"


NEEDS = {
    "labels": "labels that are no copies of the verdicts",
    "originals": "no labels that are copies of the verdicts",
    "pairs": "items with a verdict and a label",
    "raters": "labels of several people",
    "texts": "texts",
    "repeats": "several verdicts on one item",
    "order": "the order shown",
    "orders": "choices shown in both orders",
    "confidence": "stated confidences",
    "systems": "who made what was judged",
    "judges": "several judges",
    "earlier": "an earlier file (`--against`)",
    "dates": "a column of dates (`--over`)",
    "injected": "a column that says what was planted (`--injected`)",
    "instrument": "an instrument test of the judge (`--instrument`)",
    "steps": "a column of the steps that commit a planted defect (`defect_step`)",
    "ends": "verdicts on steps (`--unit step`) of runs whose end is known",
}


def examinations() -> str:
    """The table of our examinations, from what they declare and from the words of each."""
    from undogmatic.examinations.examination import OURS
    from undogmatic.records.evidence import KINDS
    from undogmatic.report.check import words_of

    words = words_of("en")
    rows = [
        "| name | what is asked | needs | kinds | without it no answer |",
        "|---|---|---|---|---|",
    ]
    for each in OURS:
        asks = (
            words.text(f"examination.asks_{each.name}")
            .partition(" (")[2]
            .removesuffix(")")
        )
        needs = "; ".join(NEEDS[need] for need in each.needs) or "-"
        of_all = set(each.kinds) == set(KINDS)
        kinds = "all" if of_all else ", ".join(f"`{kind}`" for kind in each.kinds)
        decides = "yes" if each.decides else "-"
        rows.append(f"| `{each.name}` | {asks} | {needs} | {kinds} | {decides} |")
    return "\n".join(rows) + "\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "check_of_the_demo": check_of_the_demo,
    "demo": demo,
    "demo_pt": functools.partial(demo, "pt"),
    "main_job": main_job,
    "sizes": sizes,
    "believed": believed,
    "looks": looks,
    "planned": planned,
    "since": since,
    "planted_defects": planted_defects,
    "growth": growth,
    "aligned": aligned,
    "examinations": examinations,
    **tables.BLOCKS,
    "instrument": instrument,
    "instrument_pt": functools.partial(instrument, "pt"),
    "instrument_trust": instrument_trust,
    "instrument_trust_pt": functools.partial(instrument_trust, "pt"),
}
PAGES = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "index.md",
            "index.pt.md",
            "check.md",
            "align.md",
            "distill.md",
            "faithfulness.md",
            "intervals.md",
            "reliability.md",
            "figures.md",
            "speed.md",
            "instrument.md",
            "instrument.pt.md",
        )
    ),
)


def masked(text: str) -> str:
    """A text without the dates, times and run numbers that differ from run to run."""
    text = re.sub(r"\d{4}-\d{2}-\d{2}/\d{2}-\d{2}-\d{2}", "DATE/TIME", text)
    text = re.sub(
        r"/#/experiments/\d+/runs/[0-9a-f]{32}", "/#/experiments/N/runs/RUN", text
    )
    return re.sub(r"[ \t]+", " ", text)


def stored_blocks(page: Path) -> dict[str, str]:
    """The blocks of a page by their names, as they stand there."""
    return {
        name: body
        for _, name, body, _ in BLOCK.findall(page.read_text(encoding="utf-8"))
    }


def main() -> None:
    """Say which blocks are stale, or write them anew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the blocks anew")
    writes = parser.parse_args().write
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name, body in stored_blocks(page).items():
            made = BLOCKS[name]()
            same = masked(made) == masked(body)
            print(
                f"{page.relative_to(ROOT)}: {name} is {'as it was' if same else 'stale'}"
            )
            if not same and writes:
                start = text.index(f"<!-- made by benchmarks.pages: {name} -->\n")
                begin = text.index("\n", start) + 1
                text = text[:begin] + made + text[text.index("<!-- end -->\n", begin) :]
        if writes:
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

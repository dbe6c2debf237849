"""The tables of docs/reliability.md and docs/speed.md, from stored results (benchmarks.pages writes
them)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from benchmarks import stored

KILLED = {
    "run": "`undogmatic run`, report and MLflow included",
    "sweep": "a sweep of two prompts (`run -m`)",
    "optimise": "an optimisation by labelled examples, and its run of both programs",
    "label": "the page of `label`, while somebody labels",
    "align": "the page of `align`, while an edit runs",
    "batch_gpt": "a batch of OpenAI (`engine=batch`)",
    "batch_claude": "a batch of Anthropic",
    "ray": "`engine=ray`: the run, or one of its workers",
}
FAULTS = {
    "full": "the disk is full from there on",
    "forbidden": "one write is forbidden",
}
FAULTS |= {"killed": "the process is killed there"}
BESIDE = {
    "category_of_five": "a category of five values",
    "category_of_many": "a category of many values",
    "column_36": "one of forty further columns",
    "date_hour": "the hour of a date",
    "date_late": "whether a date is late",
    "date_month": "the month of a date",
    "date_weekday": "the day of the week of a date",
    "first_letter_of_reference": "the first letter of the reference answer",
    "good": "**the texts' meaning: a good judge**",
    "id_holds_letter": "whether an id holds a letter",
    "id_last_digit": "the last digit of an id",
    "id_letter": "the first letter of an id",
    "id_number_of_three": "a number within an id",
    "length_of_reference": "the length of the reference answer",
    "maker": "which model wrote the text",
    "number_band": "whether a number lies in a band",
    "number_even": "whether a number is even",
    "number_large": "whether a number is large",
    "order_every_other": "every other row",
    "order_late": "the half of the file in which a row stands",
    "overlap_with_reference": "how many words text and reference share",
    "question": "which question was asked, most of them asked once",
    "rater": "who labelled",
    "two_columns": "either of two columns",
    "two_columns_crossed": "two columns crossed",
}


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def kills() -> str:
    """What was lost, asked again and wrong after kills and signals, from `benchmarks.kills`."""
    rows = []
    for row in sorted(
        stored.rows("kills"), key=lambda row: list(KILLED).index(row["door"])
    ):
        what = (
            "labels"
            if row["door"] == "label"
            else "edits"
            if row["door"] == "align"
            else "questions"
        )
        cells = [
            KILLED[row["door"]],
            f"SIG{row['signal']}",
            row["tried"],
            f"{row['items']} {what}",
        ]
        again = "-" if row["door"] == "label" else row["asked_again"]
        rows.append([*cells, row["lost"], again, row["answered_before"], row["wrong"]])
    heads = ["what was stopped", "how", "times", "with", "lost", "asked again"]
    return table([*heads, "of them answered before", "wrong"], rows)


def storms() -> str:
    """What became of items on a server that misbehaves, from `benchmarks.faults`."""
    rows = []
    for row in stored.rows("faults"):
        answers = Counter(json.loads(row["answers"]))
        faulty = answers.total() - answers["none"]
        cells = [
            f"{int(row['items']):,}",
            f"{int(row['calls']):,}",
            f"{faulty:,}",
            row["runs"],
        ]
        rows.append(
            [*cells, row["lost"], row["paid_twice"], row["uncounted"], row["untyped"]]
        )
    heads = ["items", "calls", "answered badly", "runs", "items without a record"]
    return table(
        [*heads, "paid twice", "calls not counted", "failures without a kind"], rows
    )


def disks() -> str:
    """What came of a fault of the disk at each write, from `benchmarks.faults_on_disk`."""
    rows = [
        [
            f"`tracking={row['tracking']}`",
            FAULTS[row["fault"]],
            row["writes"],
            row["tried"],
            row["wrong"],
        ]
        for row in stored.rows("faults_on_disk")
    ]
    return table(["the main command", "fault", "writes", "tried", "wrong"], rows)


def hostile() -> str:
    """How many hostile files, answers and words were tried at each door, from `benchmarks.fuzz`."""
    rows = [
        [f"`{row['door']}`", f"{int(row['cases']):,}", row["wrong"]]
        for row in stored.rows("fuzz")
    ]
    total = sum(int(row["cases"]) for row in stored.rows("fuzz"))
    wrong = sum(int(row["wrong"]) for row in stored.rows("fuzz"))
    return table(["door", "cases", "wrong"], [*rows, ["**all**", f"{total:,}", wrong]])


def structures() -> str:
    """How often a judge is trusted that goes by what stands beside the texts, from
    `benchmarks.structures`."""
    kept = pd.DataFrame(stored.rows("structures")).astype(
        {"believed": float, "seeds": int}
    )
    most = kept.groupby("judge")["believed"].agg(["min", "max"])
    never = [judge for judge in most.index if most["max"][judge] == 0]
    rows = [
        [
            BESIDE[judge],
            f"{most['min'][judge]:.0%} to {most['max'][judge]:.0%}".replace("%", " %"),
        ]
        for judge in most.index
        if judge not in never
    ]
    named = ", ".join(BESIDE[judge] for judge in never)
    files = int(kept["seeds"].sum())
    return (
        table(["the judge goes by", "trusted"], rows)
        + f"\n{files:,} files. Never trusted were judges that go by: {named}.\n"
    )


def validators() -> str:
    """What the validators of judges believe, from `benchmarks.gauntlet`."""
    from benchmarks.gauntlet.__main__ import RESULTS, summary

    return summary(pd.read_csv(RESULTS, keep_default_na=False)) + "\n"


def coverage_of_answers() -> str:
    """How often intervals of a check's figures hold the truth, from `benchmarks.coverage`."""
    from benchmarks.coverage.__main__ import of_answers

    return of_answers(pd.read_csv(stored.RESULTS / "coverage.csv")) + "\n"


def started() -> str:
    """What a command takes to start, from `benchmarks.startup`."""
    rows = [
        [
            row["command"],
            f"{float(row['processor']):.2f} s",
            f"{row['goal']} s" if row["goal"] else "",
        ]
        for row in stored.rows("startup")
    ]
    return table(["", "seconds of a processor", "wanted"], rows)


def peers() -> str:
    """What a call costs beside peers, from `benchmarks.peers`."""
    own = [row for row in stored.rows("peers") if row["what"] == "speed"]
    bare = next(row for row in own if row["peer"] == "bare aiohttp")
    rows = []
    for row in own:
        share = float(row["rate"]) / float(bare["rate"])
        cells = [
            f"{row['peer']} {row['version']}",
            f"{int(row['texts']):,}",
            row["rounds"],
        ]
        cells += [f"{float(row['rate']):.0f}"]
        cells += [
            f"{share:.2f}",
            f"{float(row['processor']):.2f} ms",
            f"{float(row['start']):.1f} s",
        ]
        least = float(row["megabytes"]) < 115  # what the measuring process held itself
        rows.append(
            [*cells, "under 115 MB" if least else f"{float(row['megabytes']):.0f} MB"]
        )
    heads = [
        "",
        "texts",
        "rounds",
        "calls a second",
        "of the bare client's",
        "processor a call",
    ]
    return table([*heads, "processor of a start", "memory at most"], rows)


def peers_in_trouble() -> str:
    """What came of texts on a server that misbehaves, from `benchmarks.peers`."""
    rows = []
    for row in stored.rows("peers"):
        if row["what"] == "speed":
            continue
        server = "faulty" if row["what"] == "faults" else "takes 50 a second"
        slow = row["asked"] == row["texts"] and row["scored"] == row["texts"]
        if slow and server != "faulty":
            server += ", never reached"
        bad = row["bad"] if row["bad"] not in ("", "0") else "-"
        cells = [f"{row['peer']} {row['version']}", server, row["texts"], row["asked"]]
        rows.append(
            [*cells, row["scored"], row["without"], bad, row["seconds"], row["status"]]
        )
    heads = ["", "server", "texts", "calls", "with a score", "without"]
    return table([*heads, "told as a bad verdict", "seconds", "exit status"], rows)


def peers_check() -> str:
    """What validators of judges take for tables, from `benchmarks.peers --check`."""
    rows = [
        [
            f"{row['peer']} {row['version']}",
            f"{int(row['rows']):,}",
            f"{float(row['processor']):.2f} s",
        ]
        for row in stored.rows("peers_check")
    ]
    return table(["", "rows", "processor"], rows)


def peers_read() -> str:
    """What reading a log of Inspect takes, from `benchmarks.peers --read`."""
    rows = [
        [
            f"`{row['reader'].split()[-1]}`, {row['reader'].split()[0]} {row['version']}",
            f"{row['megabytes_read']} MB, {int(row['samples']):,} samples",
            f"{float(row['processor']):.1f} s",
            f"{row['megabytes']} MB",
        ]
        for row in stored.rows("peers_read")
    ]
    return table(["", "log", "processor", "memory at most"], rows)


def published() -> str:
    """Each place that quotes measured figures, from `benchmarks.published`."""
    from benchmarks.published import listing

    return listing()


def merit() -> str:
    """How often a judge as good as people is believed, from `benchmarks.merit`."""
    worlds = {
        "insults": "nine of ten texts that fail hold one of sixteen insults",
        "no words": "no word says anything",
        "rare": "the same, and one in ten fails",
    }
    judges = {
        "reads": "reads as people do",
        "looks for words": "looks for the insults",
    }
    rows = [
        (
            worlds[row["world"]],
            judges[row["judge"]],
            row["items"],
            row["people"],
            f"{float(row['yes']):.0%}".replace("%", " %"),
            f"{float(row['by_words']):.0%}".replace("%", " %"),
        )
        for row in stored.rows("merit")
    ]
    heads = ("texts", "the judge", "items", "people", "Yes", "explained by words")
    return table(heads, rows)


def strangers() -> str:
    """How often people are named as agreeing with nobody, from `benchmarks.strangers`."""
    shown = {}
    for row in stored.rows("strangers"):
        of = shown.setdefault((row["people"], row["right"], row["labels"]), {})
        of[row["items"]] = [
            f"{float(row[name]):.0%}".replace("%", " %")
            for name in ("careful", "random")
        ]
    sizes = list(next(iter(shown.values())))
    rows = [
        (
            people,
            " or ".join(
                f"{float(share):.0%}".replace("%", " %") for share in right.split()
            ),
            labels,
            *(" / ".join(cells[size]) for size in sizes),
        )
        for (people, right, labels), cells in shown.items()
    ]
    counts = [f"{size} items" for size in sizes]
    return table(("people", "each right in", "labels an item", *counts), rows)


STUDENTS = ("letters", "shallow, 2 blocks", "shallow", "states", "mixed")
TEACHER, PEOPLE = (
    "Spearman with the teacher, all texts",
    "Spearman with people, labelled texts",
)
RIGHT = "hard pairs in the right order"


def _students(split: str) -> Callable[[str, str], pd.Series | None]:
    """A function that finds a figure of a student in `distill.csv`, if it is there."""
    found = pd.read_csv(stored.RESULTS / "distill.csv").query("split == @split")
    rows = {(row["who"], row["figure"]): row for _, row in found.iterrows()}
    return lambda who, figure: rows.get((who, figure))


def _order(row: pd.Series | None) -> str:
    """A coefficient with its interval, without the noughts before the points."""
    if row is None:
        return ""
    value, low, high = (
        f"{row[end]:.3f}".replace("0.", ".", 1) for end in ("value", "low", "high")
    )
    return f"{value} [{low}, {high}]"


def _points(row: pd.Series | None) -> str:
    return (
        ""
        if row is None
        else f"{row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}]"
    )


def _percent(row: pd.Series | None) -> str:
    if row is None:
        return ""
    ends = (
        ""
        if math.isnan(row["low"])
        else f" [{100 * row['low']:.0f}, {100 * row['high']:.0f}]"
    )
    return f"{100 * row['value']:.0f} %{ends}"


def _rate(row: pd.Series | None) -> str:
    """A rate or a size: of three digits or more a whole number, rounded to two digits from a
    thousand on."""
    if row is None:
        return ""
    value = row["value"]
    return (
        f"{value:.1f}"
        if value < 10
        else f"{round(value, -2 if value >= 1000 else 0):,.0f}"
    )


def students() -> str:
    """Students of the shipped probe on the test texts, and their speeds, from `benchmarks.distill
    --test`."""
    of = _students("test")
    whos = ("teacher", *(f"student on {name}" for name in STUDENTS))
    lines: tuple[tuple[str, str, Callable[[pd.Series | None], str]], ...] = (
        (TEACHER, TEACHER, _order),
        ("Spearman with people's labels", PEOPLE, _order),
        ("less the probe's", f"{PEOPLE}, less the probe's", _order),
        (
            "mean absolute error against the teacher, all texts, points",
            "mean absolute error against the teacher, all texts",
            _points,
        ),
        (
            "mean absolute error against people, points",
            "mean absolute error against people, labelled texts",
            _points,
        ),
        (f"{RIGHT}, of 68", RIGHT, _percent),
        (
            "labels within the 90 % interval",
            "coverage of people's labels by the 90 % interval",
            _percent,
        ),
        (
            "texts per second from cold, in times the probe's",
            "times the probe's texts per second in the same minutes, from cold",
            _rate,
        ),
        (
            "texts per second of the processor, vectors in memory",
            "texts per second, vectors in memory",
            _rate,
        ),
        ("the same, vectors on disk", "texts per second, vectors on disk", _rate),
        (
            "memory of the process at most, MB",
            "memory of the process at most, MB",
            _rate,
        ),
    )
    heads = ["", "the probe (teacher)", "student on `letters`"]
    heads += [
        f"on `{name.split(',')[0]}`{name[len(name.split(',')[0]) :]}"
        for name in STUDENTS[1:]
    ]
    rows = []
    for name, figure, said in lines:
        probes = (
            of("teacher", figure) if figure in (PEOPLE, RIGHT, lines[4][1]) else None
        )
        if figure.startswith("memory"):
            probes = of("probe", figure)
        cells = [said(of(who, figure)) for who in whos[1:]]
        rows.append([name, "1" if "times" in figure else said(probes), *cells])
    return table(heads, rows)


def students_developed() -> str:
    """The same on development texts, a quarter of the authors left out at a time, from
    `benchmarks.distill`."""
    of = _students("development")
    names = {"teacher": "the teacher: a probe"}
    names |= {
        f"student on {name}": f"student on `{name.split(',')[0]}`{name[len(name.split(',')[0]) :]}"
        for name in ("letters", "e5", "shallow, 2 blocks", "shallow", "mixed", "states")
    }
    names |= {
        "probe on states": "probe on `states`, fitted to people's labels without copies",
        "probe on mixed": "probe on `mixed`, the same",
    }
    rows = [
        [
            name,
            _order(of(who, TEACHER)) if who != "teacher" else "",
            _order(of(who, PEOPLE)),
            _percent(of(who, RIGHT)),
        ]
        for who, name in names.items()
    ]
    return table(
        ["", TEACHER, "with people's labels", "pairs of 97 in the right order"], rows
    )


def told_apart() -> str:
    """Of pairs of a faithful and a wrong short summary, which one each judge puts higher."""
    called = {
        "composite": "all three together (composite)",
        "nli (nli)": "`nli=rules`",
        "judge (bucket_rules)": "`bucket_rules`",
        "coverage (coverage)": "`coverage`",
    }
    rows = []
    for row in stored.rows("told_apart"):
        by_rules = row["judges"] == "rules"
        if not by_rules and row["voice"] != "judge (bucket)":
            continue
        name = called[row["voice"]] if by_rules else f"`bucket` by {row['judges']}"
        low, high = (f"{float(row[end]):.0%}" for end in ("low", "high"))
        share = f"{float(row['accuracy']):.0%} [{low}, {high}]"
        rows.append([name, row["n"], row["right"], row["equal"], row["wrong"], share])
    heads = ["judge", "pairs", "right", "the same", "wrong", "right, of all"]
    return table(heads, rows)


BLOCKS = {
    "told_apart": told_apart,
    "students": students,
    "students_developed": students_developed,
    "merit": merit,
    "strangers": strangers,
    "started": started,
    "peers": peers,
    "peers_in_trouble": peers_in_trouble,
    "peers_check": peers_check,
    "peers_read": peers_read,
    "published": published,
    "coverage_of_answers": coverage_of_answers,
    "kills": kills,
    "storms": storms,
    "disks": disks,
    "hostile": hostile,
    "structures": structures,
    "validators": validators,
}

"""Rows that cannot be read are counted, whoever wrote them: as missing verdicts in the bounds, and
in the limits."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Capture
from undogmatic import cli
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.datasets.verdicts import VerdictsDataset
from undogmatic.errors import DataError
from undogmatic.examinations.check import check
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Weight
from undogmatic.stats.estimate import Estimate

Row = dict[str, Any]
WORDS = "cat mat hills rain green late nobody seven knew over fell sat again today while".split()
OTHER = {"pass": "fail", "fail": "pass"}
N = 120
DAMAGED = range(1, N, 2)
"""The rows that are damaged: in them the judge is wrong, and nowhere else but for a few."""


def made(n: int = N, wrong: Callable[[int], bool] = lambda n: n % 2 == 1) -> list[Row]:
    """Items with the labels of two people and the verdicts of a judge."""
    rng = random.Random(7)
    rows = []
    for i in range(n):
        label = rng.choice(["pass", "fail"])
        ben = OTHER[label] if rng.random() < 0.08 else label
        verdict = OTHER[label] if wrong(i) or rng.random() < 0.02 else label
        text = " ".join(rng.choice(WORDS) for _ in range(12))
        rows.append(
            {
                "item": f"i{i:03d}",
                "text": f"{text} {i}.",
                "human_ana": label,
                "human_ben": ben,
                "judge": verdict,
            }
        )
    return rows


ROWS, SOUND = made(), made(400, lambda n: False)


def put(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def csv_of(
    rows: list[Row], damage: Callable[[str], str] = str, at: Any = DAMAGED
) -> str:
    def line(cells: Any) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow(cells)
        return out.getvalue()

    lines = [line(row.values()) for row in rows]
    return line(rows[0]) + "".join(
        damage(one) if n in at else one for n, one in enumerate(lines)
    )


def lines_of(
    rows: list[Row], damage: Callable[[str], str] = str, at: Any = DAMAGED
) -> str:
    return "".join(
        (damage(json.dumps(r)) if n in at else json.dumps(r)) + "\n"
        for n, r in enumerate(rows)
    )


def list_of(
    rows: list[Row], damage: Callable[[str], str] = str, at: Any = DAMAGED
) -> str:
    return "[" + ",".join(lines_of(rows, damage, at).splitlines()) + "]"


def twice(line: str) -> str:
    return line[:-1] + ', "judge": "pass"}'


def checked(files: dict[str, str | bytes]) -> CheckResult:
    return check(
        read_table([str(put(name, text)) for name, text in files.items()]),
        CheckOptions(),
    )


def limits(result: CheckResult) -> list[str]:
    return [
        noted.key
        for noted in result.judges[0].ordered()
        if noted.weight == Weight.LIMITS
    ]


DAMAGES = {
    "more cells": ("a.csv", csv_of(ROWS, lambda line: line[:-1] + ",x\n")),
    "cut": ("a.csv", csv_of(ROWS, lambda line: ",".join(line.split(",")[:2]) + "\n")),
    "no id": ("a.csv", csv_of(ROWS, lambda line: line[4:], range(1, N - 4, 2))),
    "half a line": ("a.jsonl", lines_of(ROWS, lambda line: line[:-1])),
    "a key twice": ("a.jsonl", lines_of(ROWS, twice)),
    "a list": (
        "a.jsonl",
        lines_of(ROWS, lambda line: json.dumps(list(json.loads(line).values()))),
    ),
    "a key twice in a list": ("a.json", list_of(ROWS, twice)),
    "a key twice under a name": (
        "a.json",
        f'{{"n": {N}, "data": {list_of(ROWS, twice)}}}',
    ),
    "nothing in a list": ("a.json", list_of(ROWS, lambda line: "null")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_half_a_file_that_cannot_be_read_is_no_yes(name: str) -> None:
    result = checked(dict([DAMAGES[name]]))
    lost = len(DAMAGED) - 2 * (name == "no id")
    assert (result.table.unread, result.table.rows) == (lost, N)
    assert result.judges[0].verdict.key == "check.verdict_missing"
    assert "kinds.unread" in limits(result)
    kappa = result.judges[0].numbers["agreement.kappa"]
    assert kappa.worst_low < 0.1
    assert kappa.low > 0.4


def test_labels_that_are_damaged_count_too() -> None:
    cells = [
        row | ({"human_ana": "#REF!", "human_ben": "=A1+B2"} if n in DAMAGED else {})
        for n, row in enumerate(ROWS)
    ]
    result = checked({"a.csv": csv_of(cells)})
    assert result.table.unread == len(DAMAGED)
    assert result.judges[0].verdict.key == "check.verdict_missing"
    one = [
        row | ({"human_ana": "#REF!"} if n in DAMAGED else {})
        for n, row in enumerate(ROWS)
    ]
    # ben's labels of these items are there
    assert checked({"a.csv": csv_of(one)}).table.unread == 0


TORN = {
    "csv": ("a.csv", csv_of(SOUND)[:-30]),
    "csv, went on": ("a.csv", csv_of(SOUND)[:-30] + "\n"),
    "json lines": ("a.jsonl", lines_of(SOUND)[:-60]),
    "json": ("a.json", list_of(SOUND)[:-60]),
    "json under a name": ("a.json", f'{{"data": {list_of(SOUND)}'[:-60]),
    "half a letter": (
        "a.jsonl",
        (lines_of(SOUND[:-1]) + '{"item": "ção ç').encode()[:-1],
    ),
}


@pytest.mark.parametrize("name", TORN)
def test_one_torn_line_loses_no_yes_and_is_counted(name: str) -> None:
    result = checked(dict([TORN[name]]))
    assert (result.table.unread, result.judges[0].n) == (1, len(SOUND) - 1)
    assert (result.judges[0].standing, "kinds.unread" in limits(result)) == (
        "supported",
        True,
    )


@pytest.mark.parametrize(
    "end",
    [
        "\n\n,,,,\n",
        "\nTotal 120 rows\n",
        "# written by a program\n",
        csv_of(ROWS[:1]).split("\n")[0] + "\n",
    ],
    ids=["blank", "footer", "comment", "header"],
)
def test_what_is_no_row_is_no_lost_verdict(end: str) -> None:
    result = checked({"a.csv": csv_of(SOUND) + end})
    assert (result.table.unread, result.judges[0].n) == (0, len(SOUND))
    assert result.judges[0].standing == "supported"


def test_items_without_labels_may_end_early() -> None:
    rows = [
        {key: row[key] for key in ("item", "text", "judge", "human_ana")}
        for row in SOUND
    ]
    found = checked(
        {
            "a.csv": csv_of(rows)
            + "".join(f"x{n},some text {n},pass\n" for n in range(90))
        }
    )
    assert (found.table.unread, found.judges[0].standing) == (0, "supported")


def test_a_refutation_that_lost_rows_may_undo_is_open() -> None:
    rows = [row | {"judge": row["human_ana"]} for row in ROWS]
    passing = [n for n, row in enumerate(rows) if row["judge"] == "pass"]
    result = checked({"a.jsonl": lines_of(rows, twice, passing)})
    # all that can be read is "fail", and nobody knows the rest
    assert result.judges[0].standing == "undecided"


def part(rows: list[Row], *names: str) -> list[Row]:
    return [{name: row[name] for name in names} for row in rows]


def more_cells(line: str) -> str:
    return line[:-1] + ",x\n"


def test_of_joined_files_what_is_lost_counts_once() -> None:
    labels = csv_of(part(ROWS, "item", "text", "human_ana"))
    verdicts = csv_of(part(ROWS, "item", "judge"), more_cells)
    found = checked({"v.csv": verdicts, "l.csv": labels}).judges[0]
    assert found.verdict.values["missing"] == len(DAMAGED)
    labels = csv_of(part(ROWS, "item", "text", "human_ana"), more_cells)
    found = checked(
        {"v.csv": csv_of(part(ROWS, "item", "judge")), "l.csv": labels}
    ).judges[0]
    assert found.verdict.values["missing"] == len(DAMAGED)
    texts = csv_of(part(SOUND, "item", "text"), more_cells, range(1, 400, 40))
    sound = checked(
        {"v.csv": csv_of(part(SOUND, "item", "judge", "human_ana")), "t.csv": texts}
    )
    # no verdict stood there
    assert (sound.table.unread, sound.judges[0].standing) == (
        0,
        "supported",
    )


def test_what_one_judge_lost_is_no_gap_of_the_other() -> None:
    rows = [
        part([row], "item", "text", "human_ana")[0]
        | {"judge": judge, "verdict": verdict}
        for row in SOUND
        for judge, verdict in (("gpt-a", row["judge"]), ("gpt-b", row["human_ben"]))
    ]
    result = checked({"a.csv": csv_of(rows, more_cells, range(3, len(rows), 4))})
    assert (result.table.unread, result.table.unaccounted) == (200, 0)
    assert [each.standing for each in result.judges] == ["supported", "undecided"]


def answer(row: Row) -> Row:
    body = {
        "model": "gpt-5",
        "choices": [{"message": {"content": row["judge"]}, "finish_reason": "stop"}],
    }
    return {
        "custom_id": row["item"],
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


@pytest.mark.parametrize(
    "damage",
    [lambda line: line[:-1], lambda line: line[:-1] + ', "custom_id": "i000"}'],
)
def test_lines_of_a_log_count(damage: Callable[[str], str]) -> None:
    log = lines_of([answer(row) for row in ROWS], damage)
    result = checked(
        {"b.jsonl": log, "l.csv": csv_of(part(ROWS, "item", "text", "human_ana"))}
    )
    assert result.table.unread == len(DAMAGED)
    assert result.judges[0].verdict.values["missing"] == len(DAMAGED)


def table_of(text: str) -> Evidence:
    return read_table(str(put("a.csv", text)))


def test_many_faults_are_counted_and_the_first_are_named() -> None:
    problems = table_of(DAMAGES["more cells"][1]).problems
    assert [problem.key for problem in problems] == ["table.long_row"] * 20 + [
        "table.more_unread"
    ]
    assert problems[-1].values == {"rows": len(DAMAGED) - 20}


def test_a_quote_that_is_left_open_counts_what_it_swallows() -> None:
    assert (
        table_of(csv_of(ROWS, lambda line: line.replace(",", ',"', 1), [N // 2])).unread
        == N // 2
    )


def test_card_and_gate_know_what_was_lost(capsys: Capture) -> None:
    put("a.jsonl", DAMAGES["half a line"][1])
    cli.main(["check", "a.jsonl", "--card", "c.json", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["table"]["unread"], told["table"]["rows"]) == (len(DAMAGED), N)
    card = json.loads(Path("c.json").read_text())
    assert any("60 of 120 rows" in sentence for sentence in card["limits"])
    for figure in (
        "agreement.kappa",
        "agreement.raw",
        "agreement.sensitivity",
        "agreement.ac1",
    ):
        put("gate.yaml", f"figures: {{{figure}: {{at_least: 0.55}}}}")
        with pytest.raises(SystemExit) as ended:
            cli.main(["gate", "c.json", "--config", "gate.yaml"])
        assert ended.value.code == 2, figure


def test_a_run_refuses_what_it_could_not_count() -> None:
    put("a.csv", DAMAGES["more cells"][1])
    with pytest.raises(DataError, match=r"60 of 120 rows cannot be read .*a.csv:3"):
        VerdictsDataset("a.csv").load()
    put("t.csv", "text,label\none text,3\nanother te")
    with pytest.raises(DataError, match=r"t.csv:3: the last line breaks off"):
        TextsDataset("t.csv").load()


def grades(kind: str) -> tuple[list[Row], str]:
    """Rows whose grades are off in every other one, and the option that says what they are."""
    rng = random.Random(3)
    rows = []
    for i in range(N):
        label = rng.randint(1, 5)
        ben = min(5, max(1, label + rng.choice([0, 0, 0, 1, -1])))
        verdict = (
            6 - label if i % 2 else min(5, max(1, label + rng.choice([0, 0, 0, 1])))
        )
        text = " ".join(rng.choice(WORDS) for _ in range(6 + i % 9))
        ids = {"item": f"i{i:03d}", "text": f"{text} {i}."}
        rows.append(ids | {"human_ana": label, "human_ben": ben, "judge": verdict})
    return rows, kind


def figures(
    rows: list[Row], kind: str, damage: Callable[[str], str] = str
) -> dict[str, Estimate]:
    options = TableOptions(kind=kind) if kind != "pass_fail" else TableOptions()
    path = put("a.jsonl", lines_of(rows, damage))
    found = check(read_table([str(path)], options), CheckOptions()).judges[0].numbers
    return {name: one for name, one in found.items() if name.split(".")[0] in PARTS}


PARTS = {"agreement", "surface", "people", "alone", "systems"}


@pytest.mark.parametrize("kind", ["pass_fail", "ordered", "numeric"])
def test_every_figure_is_bounded_by_the_rows_that_cannot_be_read(kind: str) -> None:
    """What the whole file gives lies within the bounds that its readable half gives."""
    rows = ROWS if kind == "pass_fail" else grades(kind)[0]
    whole, half = figures(rows, kind), figures(rows, kind, lambda line: line[:-1])
    assert {name.split(".")[0] for name in half} == PARTS
    for name, one in half.items():
        if name in ("agreement.drift", "people.icc", "surface.robustness"):
            # a slope and a ratio of variances, which no share of rows bounds, and what is made of
            # the bounds of others
            continue
        assert one.worst is not None and one.best is not None, name
        assert one.worst <= one.low and one.best >= one.high, name
        if name in whole:
            assert one.worst_low <= whole[name].value <= one.best_high, name
    assert half["surface.increment"].low > 0 > half["surface.increment"].worst_low
    left_out = ("agreement.", "surface.robustness")
    bounded = (one for name, one in whole.items() if not name.startswith(left_out))
    assert all(one.worst is None and one.best is None for one in bounded), (
        "nothing is lost"
    )


def test_one_row_that_cannot_be_read_among_many_hardly_widens_a_figure() -> None:
    rows = SOUND[:200]
    path = put("a.jsonl", lines_of(rows, lambda line: line[:-1], [7]))
    found = check(read_table([str(path)]), CheckOptions()).judges[0].numbers
    names = (
        "surface.increment",
        "surface.at_equal",
        "people.agreement",
        "people.judge",
        "alone.share",
    )
    for name in names:
        one = found[name]
        wider = one.low - one.worst_low + one.best_high - one.high
        assert 0 < wider < 0.06, name

"""Tests the gauntlet: its files, the table that reads what validators print, and this program
before three judges."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.gauntlet import __main__ as gauntlet
from benchmarks.gauntlet import judges, tools

BELIEF = set(gauntlet.BELIEF)
PRINTED = {
    tools.OURS: (
        "standing: supported: You may believe it: ...",
        "standing: refuted: Do not believe it: ...",
    ),
    "judgekeeper": (
        "Usable as a gate: TPR 0.97",
        "Not trustworthy as a gate: kappa 0.40",
    ),
    "judgegate": ("╭── TRUSTED ──╮", "╭── UNTRUSTED ──╮"),
    "evalaudit": (
        "### 1. [info] The judge tracks the humans",
        "Judge-human agreement is below the working threshold",
    ),
    "judgekit": (None, "FLAG position preference: 0.8 chose the first"),
    "judge-audit-mcp": (
        "✅ Judge–human agreement: κ = 0.8\n\n0 invalidating · 0 serious · 0 minor · 1 clean",
        "🛑 Judge–human agreement: κ = 0.1\n\n1 invalidating · 0 serious · 0 minor · 0 clean",
    ),
}


@pytest.mark.parametrize("tool", tools.TOOLS)
def test_the_table_of_readings_believes_praise_not_alarm_and_of_silence_says_nothing(
    tool: str,
) -> None:
    praise, alarm = PRINTED[tool]
    assert tools.reading(tool, alarm).reading == "not believed"
    assert (
        tools.reading(tool, "164 items, agreement 0.91.\nreport written").reading
        == "says nothing"
    )
    if praise is not None:
        assert tools.reading(tool, praise).reading == "believed"
        if tool != tools.OURS:  # which says one thing of a judge
            assert tools.reading(tool, f"{praise}\n{alarm}").reading == "not believed"
    assert (praise is not None) == bool(
        BELIEF & {own for _, own in tools.READINGS[tool]}
    )


def test_reservations_are_told_from_praise() -> None:
    limited = (
        "standing: supported: You may believe judge on data like these, within 2 limits that stand"
        " below: it ..."
    )
    assert tools.reading(tools.OURS, limited).reading == "with care"
    tentative = (
        "[info] The judge tracks the humans\n\nThe interval clears .667, which supports tentative"
        " conclusions."
    )
    assert tools.reading("evalaudit", tentative) == (
        "with care",
        "[info] The judge tracks the humans",
    )


def test_the_files_come_again_from_their_seed_and_differ_between_seeds() -> None:
    for name in judges.CASES:
        case = judges.make(name, 0)
        pd.testing.assert_frame_equal(case.rows, judges.make(name, 0).rows)
        assert not case.rows.equals(judges.make(name, 1).rows)
        assert case.good == (name in judges.GOOD)


def test_the_regular_expressions_agree_with_people_as_a_good_judge_does() -> None:
    for name in ("regex_8", "length", "good_200"):
        rows = pd.concat([judges.make(name, seed).rows for seed in range(8)])
        assert 0.86 < (rows["judge"] == rows["human"]).mean() < 0.94


def test_this_program_before_three_judges(tmp_path: Path) -> None:
    names = ["regex_8", "always_first", "good_200_three_raters"]
    found = pd.DataFrame(gauntlet.rows(names, 1, [tools.OURS], None, tmp_path))
    assert [*found["reading"].isin(BELIEF)] == [False, False, True]
    assert found["sha256"].nunique() == 3
    table = gauntlet.summary(found)
    assert "3 of 3 | **0 of 2**" in table
    assert "**1 of 1**" in table

"""Costs per text against a baseline, and which trigger rules fired."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Patch
from tests.examinations.builders import (
    Score,
    analysed,
    labelled_run,
    refuses,
    run_folder,
    verdict,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.costs import FIRED, TRIGGERED, UNKNOWN
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.records import Cost

analyse = partial(analysed, "costs")


def cost(calls: int, cached: int = 0, usd: float | None = 0.01) -> Cost:
    return Cost(
        calls=calls,
        cached=cached,
        input_tokens=100 * calls,
        output_tokens=10 * calls,
        usd=usd,
        seconds=calls,
    )


def judged(*costs: Cost, unread: int = 0) -> RunEvidence:
    """A text for each, and so many that could not be read."""
    rows: list[tuple[None, Score, dict[str, Any]]] = [
        (None, 50.0, {"cost": each}) for each in costs
    ]
    return labelled_run([*rows, *[(None, "input", {"cost": cost(0)})] * unread])


def noted(notes: Iterable[Mapping[str, Any]]) -> RunEvidence:
    """A text per set of details."""
    details = [
        {k.removeprefix("details."): v for k, v in note.items()} for note in notes
    ]
    return labelled_run(
        [(None, 50.0, {"cost": cost(1), "details": each}) for each in details]
    )


def baseline(folder: Path, items: int, calls: int = 1) -> str:
    return run_folder(
        folder, [verdict(f"i{k}", 50.0, cost=cost(calls)) for k in range(items)]
    )


@pytest.mark.parametrize("held", [4, 5, 10_000])
def test_costs_are_counted_per_text_and_against_a_run(
    tmp_path: Path, monkeypatch: Patch, held: int
) -> None:
    monkeypatch.setattr("undogmatic.examinations.costs.HELD", held)
    result = analyse(
        judged(*[cost(3, usd=0.03)] * 8), baseline=baseline(tmp_path / "base", 8)
    )
    assert result.of("calls usd") == pytest.approx([3, 0.03])
    ratios = (
        "ratio.calls ratio.input_tokens ratio.output_tokens ratio.seconds ratio.usd"
    )
    assert result.of(ratios) == pytest.approx([3] * 5)
    assert result.says["calls_baseline"]["ratio"] == 3
    assert [f.name for f in result.drawings] == ["ratio"]


def test_a_judgment_that_was_made_again_counts_once_in_the_baseline(
    tmp_path: Path,
) -> None:
    folder = baseline(tmp_path / "base", 4)
    with (Path(folder) / "judgments.jsonl").open("a", encoding="utf-8") as journal:
        journal.write(verdict("i0", 50.0, cost=cost(5)).model_dump_json() + "\n")
    # 2 to (5 + 3) / 4
    assert analyse(judged(*[cost(2)] * 4), baseline=folder)[
        "ratio.calls"
    ] == pytest.approx(1.0)


def test_without_a_baseline_calls_are_held_against_one() -> None:
    result = analyse(judged(*[cost(1, cached=1, usd=None)] * 4))
    assert result.says["calls_single"] == {"calls": 2.0, "n": 4, "ratio": 2.0}
    assert result.says["all_cached"] == {"n": 4, "total": 8, "share": 0.5}
    assert not {
        "spent",
        "spent_unpriced",
    } & result.says.keys() and result.numbers.keys() == {
        "calls",
        "ratio.calls",
    }


def test_what_the_cache_answered_counts_as_calls_and_not_as_free() -> None:
    result = analyse(judged(*[cost(2, usd=None)] * 3, cost(0, cached=2, usd=0.0)))
    assert result.of("calls seconds input_tokens") == [2, 2, 200]
    assert result.says["cached"] == {"n": 2, "total": 8, "share": 0.25, "fresh": 3}
    assert "usd" not in result.numbers and "spent_unpriced" in result.says


def test_a_text_that_cannot_be_read_is_none_and_one_that_was_decided_without_a_call_is_one_of_no_calls() -> (
    None
):
    """As by a judge that asks only where rules of its own do not suffice."""
    assert analyse(judged(*[cost(2)] * 6, unread=2)).says["calls_single"] == {
        "calls": 2.0,
        "n": 6,
        "ratio": 2.0,
    }
    assert analyse(judged(*[cost(k % 4 == 0) for k in range(8)]))["calls"] == 0.25


def test_copies_of_a_text_do_not_narrow_the_trigger_rate() -> None:
    run = noted({TRIGGERED: float(k < 20)} for k in range(40))
    alone = analyse(run)
    run.frame["group"] = (
        run.frame["item_id"].str[1:].astype(int).floordiv(10).astype(str)
    )
    together = analyse(run)
    assert alone["trigger_rate"] == together["trigger_rate"] == 0.5
    assert alone["trigger_rate_low"] > 0.3 > together["trigger_rate_low"] + 0.1


def test_the_trigger_rate_and_the_rules_that_fired() -> None:
    notes: list[dict[str, Any]] = [
        {TRIGGERED: 1.0, FIRED: "overall, hallucination", UNKNOWN: "variance"},
        {TRIGGERED: 1.0, FIRED: "overall", UNKNOWN: "variance, hallucination"},
    ]
    result = analyse(noted([*notes, *[{TRIGGERED: 0.0, FIRED: ""}] * 2]))
    assert (result["trigger_rate"], result.says["trigger"]["hits"]) == (0.5, 2)
    rules = result.tables["rules"].set_index("rule")[
        ["n_fired", "n_alone", "n_not_evaluated"]
    ]
    assert dict(zip(rules.index, rules.to_numpy().tolist(), strict=True)) == {
        "overall": [2, 1, 0],
        "hallucination": [1, 0, 1],
        "variance": [0, 0, 2],
    }


def test_a_baseline_must_be_a_run_over_the_same_texts(tmp_path: Path) -> None:
    run, missing, other = (
        judged(*[cost(1)] * 4),
        str(tmp_path / "none"),
        baseline(tmp_path / "other", 6),
    )
    refuses(
        ConfigError,
        r"`analysis\.baseline` is .*not a folder",
        "costs",
        run,
        baseline=missing,
    )
    refuses(DataError, "shares 4 items", "costs", run, baseline=other)

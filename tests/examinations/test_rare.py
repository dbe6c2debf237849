"""Where one of two labels is rare: what is said first, which labels would help, and that labels
which were drawn by the judge's verdicts count for the items they stand for."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import undogmatic
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.examinations import examination, kinds
from undogmatic.records.checked import CheckOptions
from undogmatic.records.results import Told
from undogmatic.records.words import Words
from undogmatic.review.drawn import evenly
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import middle

OWN = Path(undogmatic.__file__).parent / "examinations" / "check.texts.yaml"
LANGUAGES = [Words(language, [OWN]) for language in ("en", "pt")]


def file_of(
    n: int, fails: int, errors: int = 0, labelled: int | None = None
) -> pd.DataFrame:
    """A judge who is right but for some errors; `fails` of the items deserve to fail."""
    truth = np.arange(n) < fails
    said = truth.copy()
    said[fails : fails + errors] = True
    order = np.random.default_rng(0).permutation(n)
    words = np.where(truth, "fail", "pass").astype(object)
    human = words.copy()
    human[order[n if labelled is None else labelled :]] = None
    verdicts = np.where(said, "fail", "pass")
    ids = np.random.default_rng(1).permutation(n)
    return pd.DataFrame(
        {"item": [f"i{k}" for k in ids], "gpt": verdicts, "human": human}
    )


def answer(rows: pd.DataFrame, **options: Any) -> Any:
    return undogmatic.check(rows, **options).judges[0]


def test_few_of_the_rarer_label_are_said_before_anything_else() -> None:
    told = answer(file_of(200, 12))
    assert told.verdict.key == "check.verdict_rare"
    assert told.verdict.answer == "undecided"
    assert told.verdict.values["items"] == 12
    for words in LANGUAGES:
        assert "12" in words.say(told.verdict)


@pytest.mark.parametrize(("n", "fails"), [(200, 20), (40, 14), (30, 13)])
def test_enough_of_the_rarer_label_or_nearly_as_many_of_both_are_no_reason(
    n: int, fails: int
) -> None:
    assert answer(file_of(n, fails)).verdict.key != "check.verdict_rare"


def test_a_constant_judge_is_refuted_however_rare_the_other_label_is() -> None:
    rows = file_of(200, 12).assign(gpt="pass")
    assert answer(rows).verdict.key == "check.verdict_constant"


def test_the_command_that_helps_draws_from_the_verdicts_where_some_have_no_label() -> (
    None
):
    settle = answer(file_of(400, 40, labelled=100)).verdict.settle
    assert settle.key == "check.settle_rare"
    assert "--by=gpt --random=40" in settle.values["label"]
    assert answer(file_of(200, 12)).verdict.settle.key == "check.settle_rare_more"


def test_labels_drawn_by_verdict_count_for_the_items_they_stand_for() -> None:
    """Of 1,000 items 100 fail; half of those that people fail or pass wrongly are drawn."""
    rng = np.random.default_rng(3)
    n = 1000
    truth = rng.random(n) < 0.1
    said = np.where(truth, rng.random(n) < 0.85, rng.random(n) < 0.05)
    whole = pd.DataFrame(
        {
            "item": [f"i{k}" for k in range(n)],
            "gpt": np.where(said, "fail", "pass"),
            "human": np.where(truth, "fail", "pass"),
        }
    )
    drawn = evenly(list(whole["gpt"]), 150, rng)
    few = whole.assign(human=whole["human"].where(whole.index.isin(drawn), None))

    def found(rows: pd.DataFrame, labels: str) -> tuple[Estimate, Estimate]:
        own = read_table([rows], TableOptions(labels=labels)).of("gpt", "overall")
        told = Told()
        examination.ask([kinds.AGREEMENT], own, CheckOptions(), told)
        kappa = kinds.agreement(own, CheckOptions()).estimate
        assert kappa is not None
        return kappa, told.numbers["agreement.specificity"]

    right, weighted, plain = (
        found(*each) for each in ((whole, "all"), (few, "by-verdict"), (few, "random"))
    )
    for every, own in zip(right, weighted, strict=True):
        assert own.low < every.value < own.high
    # Of the items that fail, as many are missed as among all: drawn evenly, hardly any is seen.
    assert (
        abs(weighted[1].value - right[1].value) < 0.1 < plain[1].value - right[1].value
    )


def test_what_needs_labels_drawn_at_random_is_not_told_of_others() -> None:
    """Drawn evenly, a fifth of the labelled verdicts are wrong where a twentieth of all are."""
    rng = np.random.default_rng(5)
    truth = rng.random(2000) < 0.1
    said = truth ^ (rng.random(2000) < 0.05)
    rows = pd.DataFrame(
        {
            "item": [f"i{k}" for k in range(2000)],
            "gpt": np.where(said, "fail", "pass"),
            "human": np.where(truth, "fail", "pass"),
            "confidence": rng.random(2000),
        }
    )
    drawn = evenly(list(rows["gpt"]), 300, rng)
    rows["human"] = rows["human"].where(rows.index.isin(drawn), None)
    told, plain = (answer(rows, labels=labels) for labels in ("by-verdict", "random"))
    assert {"decides_alone", "confidence"} <= told.not_examined.keys()
    assert not told.numbers.keys() & {"alone.share", "confidence.error"}
    assert not {"decides_alone", "confidence"} & plain.not_examined.keys()


def test_verdicts_without_any_label_and_several_judges_limit_what_is_said() -> None:
    rows = file_of(400, 60)
    rows.loc[rows["gpt"] == "fail", "human"] = None
    rows.loc[rows.index[-150:], "human"] = None
    told = answer(rows, labels="by-verdict")
    assert "people.none_of_verdict" in [finding.key for finding in told.findings]
    two = file_of(400, 60, errors=9, labelled=200).assign(
        other=lambda rows: rows["gpt"]
    )
    told = answer(two, labels="by-verdict", judge=["gpt", "other"], human=["human"])
    assert "people.by_whose_verdict" in [finding.key for finding in told.findings]


@pytest.mark.parametrize(
    ("values", "n", "counts"),
    [
        (["a"] * 90 + ["b"] * 10, 20, {"a": 10, "b": 10}),
        (["a"] * 90 + ["b"] * 3, 20, {"a": 17, "b": 3}),
        (["a"] * 5 + ["b"] * 5 + ["c"] * 90, 31, {"a": 5, "b": 5, "c": 21}),
        (["a"] * 4, 4, {"a": 4}),
    ],
)
def test_items_are_drawn_evenly_from_the_values(
    values: list[str], n: int, counts: dict[str, int], rng: np.random.Generator
) -> None:
    drawn = evenly(values, n, rng)
    assert len(drawn) == len(set(drawn)) == n
    assert pd.Series([values[k] for k in drawn]).value_counts().to_dict() == counts


def test_the_mean_of_two_shares_lies_between_theirs() -> None:
    """Zou and Donner's limits of a sum: the half widths add as squares, or plainly."""
    one, other = (
        Estimate(0.9, 0.8, 0.95, 0.95, 40, 40),
        Estimate(0.7, 0.4, 0.9, 0.95, 9, 9),
    )
    apart, together = middle(one, other, apart=True), middle(one, other, apart=False)
    assert apart.value == together.value == pytest.approx(0.8)
    assert apart.low == pytest.approx(0.8 - np.hypot(0.1, 0.3) / 2)
    assert together.interval == (pytest.approx(0.6), pytest.approx(0.925))
    assert together.low < apart.low < apart.high < together.high

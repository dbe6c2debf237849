"""What a check tells of verdicts beside earlier ones, and where the variance of verdicts comes
from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import evidence_of
from undogmatic.examinations import drift
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Subject, Told, Weight
from undogmatic.records.words import Words
from undogmatic.stats.estimate import Estimate

LANGUAGES = [
    Words(code, [Path(drift.__file__).with_suffix(".texts.yaml")], strict=True)
    for code in ("en", "pt")
]
N = 200
TEXTS = [f"text {n}" for n in range(N)]


def in_words(told: Told) -> Told:
    """What was told, every sentence of which has words in both languages."""
    findings = [*told.findings] + [
        noted.settle for noted in told.findings if noted.settle
    ]
    for words in LANGUAGES:
        assert all(
            words.say(finding) for finding in [*findings, *told.not_examined.values()]
        )
    return told


def tell(new: Evidence, old: Evidence, **options: Any) -> Told:
    told = Told()
    drift.tell(new, old, told, CheckOptions(**options))
    return in_words(told)


def keys(told: Told) -> dict[str, Weight]:
    """What was said, and how grave it is; that agreement cannot be told stands with what was not
    examined."""
    return {
        noted.key.removeprefix("drift."): noted.weight
        for noted in told.findings
        if noted.key != "drift.untold"
    }


def table(
    verdicts: Any,
    labels: Any = (),
    texts: Any = TEXTS,
    kind: Any = "pass_fail",
    **fields: Any,
) -> Evidence:
    return evidence_of(kind, verdicts, labels, {"text": texts}, **fields)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def flipped(
    rng: np.random.Generator, verdicts: Any, share: float, to: float | None = None
) -> Any:
    chosen = rng.random(verdicts.size) < share
    return np.where(chosen, 1 - verdicts if to is None else to, verdicts)


@pytest.mark.parametrize(("moved", "asked"), [(0, ["drift.asked"]), (1, [])])
def test_a_copy_of_the_earlier_file_does_not_show_that_the_judge_was_asked_again(
    rng: np.random.Generator, moved: int, asked: list[str]
) -> None:
    before = rng.uniform(0, 100, N)
    now = before + (np.arange(N) < moved) * 0.001
    told = tell(table(now, kind="numeric"), table(before, kind="numeric"), margin=5.0)
    assert (
        "verdicts_kept" in keys(told)
        and [key for key in told.not_examined if key == "drift.asked"] == asked
    )


@pytest.mark.parametrize(
    ("share", "to", "margin", "key", "weight"),
    [
        (0.02, None, 0.1, "verdicts_kept", Weight.QUALIFIES),
        (0.0, None, None, "verdicts_no_margin", Weight.QUALIFIES),
        (0.4, None, 0.15, "verdicts_mean_kept", Weight.QUALIFIES),
        (0.3, 0.0, None, "verdicts_lower", Weight.LIMITS),
        (0.3, 1.0, 0.02, "verdicts_higher", Weight.LIMITS),
        (0.03, None, 0.02, "verdicts_open", Weight.QUALIFIES),
    ],
)
def test_verdicts_are_kept_only_within_a_stated_margin(
    rng, share, to, margin, key, weight
) -> None:
    before = rng.integers(0, 2, N).astype(float)
    now = flipped(rng, before, share, to)
    told = tell(table(now), table(before), margin=margin)
    assert keys(told) == {key: weight}
    assert told.numbers["drift.change"].value == np.mean(now != before)
    assert told.numbers["drift.shift"].value == pytest.approx(np.mean(now - before))


def test_choices_without_an_order_change_without_a_direction(rng) -> None:
    before = rng.integers(0, 3, N).astype(float)
    now = np.where(rng.random(N) < 0.5, (before + 1) % 3, before)
    told = tell(
        table(now, kind="unordered"), table(before, kind="unordered"), margin=0.1
    )
    assert (
        keys(told) == {"verdicts_changed": Weight.LIMITS}
        and "drift.shift" not in told.numbers
    )


def test_scores_that_were_shuffled_are_kept_on_average_alone(rng) -> None:
    before = rng.normal(50, 10, N)
    told = tell(
        table(before + rng.normal(0, 4, N), kind="numeric"),
        table(before, kind="numeric"),
        margin=2,
    )
    assert keys(told) == {"verdicts_mean_kept": Weight.QUALIFIES}
    lower = tell(
        table(before - 3, kind="numeric"), table(before, kind="numeric"), margin=2
    )
    assert keys(lower) == {"verdicts_lower": Weight.LIMITS}


@pytest.mark.parametrize(
    ("right", "margin", "key"),
    [
        (0.6, None, "agreement_worse"),
        (1.0, None, "agreement_better"),
        (0.9, None, "agreement_no_margin"),
        (0.9, 0.15, "agreement_kept"),
        (0.8, 0.3, "agreement_kept_worse"),
        (1.0, 0.3, "agreement_kept_better"),
        (0.9, 0.001, "agreement_open"),
    ],
)
def test_agreement_with_people_is_compared_on_the_same_items(
    rng, right, margin, key
) -> None:
    label = rng.integers(0, 2, N).astype(float)
    before, now = flipped(rng, label, 0.1), flipped(rng, label, 1 - right)
    # labels of either file serve
    told = tell(table(now), table(before, label), margin=margin)
    assert key in keys(told)
    assert told.numbers["drift.agreement"].value == pytest.approx(
        np.mean(now == label) - np.mean(before == label)
    )


@pytest.mark.parametrize(
    ("moved", "labels_moved", "margin", "key"),
    [
        (8, 8, 3, "other_systems"),
        (8, 0, 3, "other_apart"),
        (8, 8, None, "other_no_margin"),
        (0, 0, 3, "other_neither"),
        (8, 8, 0.01, "other_open"),
        (8, None, 3, "other_no_labels"),
    ],
)
def test_other_texts_tell_the_judge_from_the_systems_by_labels(
    rng, moved, labels_moved, margin, key
) -> None:
    truth = rng.normal(50, 10, N)
    noise = rng.normal(0, 3, (4, N))
    labels = (
        [(), ()]
        if labels_moved is None
        else [truth + labels_moved + noise[0], truth + noise[1]]
    )
    new = table(
        truth + moved + noise[2],
        labels[0],
        [f"{text} again" for text in TEXTS],
        "numeric",
    )
    told = tell(new, table(truth + noise[3], labels[1], kind="numeric"), margin=margin)
    assert {key, "other_texts"} <= keys(
        told
    ).keys() and "drift.verdicts" in told.not_examined
    if labels_moved is not None:
        assert told.numbers["drift.beyond_labels"].value == pytest.approx(
            moved - labels_moved, abs=1
        )


@pytest.mark.parametrize(("shift", "key"), [(0, "other_apart"), (8, "other_judge")])
def test_the_judge_itself_has_changed_only_where_texts_that_are_the_same_show_it(
    rng, shift, key
) -> None:
    truth, texts = rng.normal(50, 10, N), list(TEXTS)
    texts[:100] = [f"{text} again" for text in texts[:100]]
    before = truth + rng.normal(0, 3, N)
    now = before + np.where(np.arange(N) < 100, 8, shift)
    told = tell(
        table(now, truth, texts, "numeric"), table(before, truth, kind="numeric")
    )
    assert keys(told)[key] == Weight.LIMITS
    for noted in told.findings:
        if noted.key == "drift.other_apart":  # on the same texts none moved
            assert noted.values["unchanged"].key == "drift.same_still"
            assert noted.settle is not None and noted.settle.key == "drift.settle_anew"


def test_an_item_with_another_text_is_not_the_same_item(rng) -> None:
    """All verdicts that changed are on the texts that changed."""
    before = rng.integers(0, 2, N).astype(float)
    now, texts = before.copy(), list(TEXTS)
    now[:40] = 1 - now[:40]
    texts[:40] = ["other"] * 40
    told = tell(table(now, texts=texts), table(before), margin=0.1)
    assert told.numbers["drift.change"].value == 0 and "verdicts_kept" in keys(told)
    (other,) = (
        noted.values for noted in told.findings if noted.key == "drift.other_texts"
    )
    assert other["n"] == 40 and len(other["items"]) == drift.MOST_NAMED
    no_texts = tell(evidence_of("pass_fail", now), table(before))
    assert (
        "no_texts" in keys(no_texts) and no_texts.numbers["drift.change"].value == 0.2
    )


@pytest.mark.parametrize(
    ("right", "key", "weight"),
    [(0.6, "apart_worse", 1), (1.0, "apart_better", 2), (0.9, "apart_open", 2)],
)
def test_other_items_are_compared_by_their_figures(rng, right, key, weight) -> None:
    """The interval of the difference is that of two independent estimates (Zou and Donner)."""
    label = rng.integers(0, 2, N).astype(float)
    now = table(flipped(rng, label, 1 - right), label)
    old = renamed(table(flipped(rng, label, 0.1), label))
    told = tell(now, old)
    assert keys(told)[key] == weight
    (found,) = (noted for noted in told.findings if noted.subject == Subject.AGREED)
    low = np.hypot(
        found.values["after"] - found.values["after_interval"][0],
        found.values["before_interval"][1] - found.values["before"],
    )
    assert found.values["interval"][0] == pytest.approx(found.values["change"] - low)
    assert told.numbers["drift.headline"].interval == found.values["interval"]
    assert told.not_examined["drift"].key == "drift.no_common"


def test_few_common_items_among_many_do_not_decide(rng) -> None:
    label = rng.integers(0, 2, N).astype(float)
    old = table(flipped(rng, label, 0.02), label)
    few = renamed(old, but=20)
    told = tell(table(flipped(rng, label, 0.4), label), few)
    assert {"apart_worse", "verdicts_no_margin"} <= keys(told).keys()
    assert told.numbers["drift.agreement"].n == 20
    common = tell(table(flipped(rng, label, 0.4), label), renamed(old, but=150))
    assert "agreement_worse" in keys(common) and "apart_worse" not in keys(common)


@pytest.mark.parametrize(("now", "before", "key"), [(0, 1, "now"), (1, 0, "then")])
def test_without_labels_it_is_not_known_whether_it_agrees_as_before(
    rng, now, before, key
) -> None:
    label = rng.integers(0, 2, N).astype(float)
    own = table(label, label if now else ())
    told = tell(own, renamed(table(label, label if before else ())))
    assert told.not_examined["drift.agreement"].key == f"drift.no_labels_{key}"
    (untold,) = (noted for noted in told.findings if noted.subject == Subject.AGREED)
    assert (
        untold.answer is None and untold.values["why"].key == f"drift.no_labels_{key}"
    )


def test_missing_verdicts_that_could_undo_a_change_leave_it_open() -> None:
    now = Estimate(0.5, 0.4, 0.6, worst=0.2, best=0.95)
    before = Estimate(0.8, 0.75, 0.85)
    change = drift.difference(now, before)
    assert change is not None and change.high < 0 and change.against(0) == "missing"
    whole = drift.difference(now.replace(worst=None, best=None), before)
    assert whole is not None and whole.against(0) == "against"
    assert drift.difference(now, Estimate(0.8, -np.inf, np.inf)) is None


def renamed(table: Evidence, but: int = 0) -> Evidence:
    """The same about other items, but for the first so many."""
    names = {name: f"x{name}" for name in table.items.index[but:]}
    return replace(
        table,
        verdicts=table.verdicts.replace({"item": names}),
        labels=table.labels.replace({"item": names}),
        items=table.items.rename(names).assign(group=list(table.items.index)),
    )


def test_what_cannot_be_compared_is_said(rng) -> None:
    verdicts = rng.integers(0, 2, N).astype(float)
    own = table(verdicts)
    assert (
        tell(own, table(verdicts, kind="numeric")).not_examined["drift"].key
        == "drift.kinds"
    )
    several = table({"a": verdicts, "b": verdicts})
    assert tell(several, own).not_examined["drift"].key == "drift.no_judge"
    elsewhere = table(verdicts)
    moved = elsewhere.verdicts.assign(item="x" + elsewhere.verdicts["item"])
    apart = Evidence(
        "pass_fail",
        moved,
        elsewhere.labels,
        elsewhere.items,
        categories=elsewhere.categories,
    )
    assert tell(own, apart).not_examined["drift"].key == "drift.no_common"
    levels = [
        table(verdicts, kind="ordered", categories=names)
        for names in (("low", "high"), ("bad", "good"))
    ]
    assert tell(*levels).not_examined["drift"].key == "drift.categories"


def test_categories_are_matched_by_name_and_judges_and_settings_by_name(rng) -> None:
    verdicts = rng.integers(0, 2, N).astype(float)
    turned = table(1 - verdicts, kind="unordered", categories=("yes", "no"))
    told = tell(table(verdicts, kind="unordered", categories=("no", "yes")), turned)
    assert told.numbers["drift.change"].value == 0
    both = [
        table({"a": verdicts, "b": own}, settings={"a": {"model": model}})
        for model, own in (("new", verdicts), ("old", 1 - verdicts))
    ]
    several = tell(*both)
    assert (
        several.numbers["drift.change.a.quality"].value == 0
        and several.numbers["drift.change.b.quality"].value == 1
    )
    assert "settings" in keys(several)


def test_variance_is_divided_among_items_judges_and_repeats(rng) -> None:
    """Variances 9, 4, 1 and 1: two judges of three repeats each; the judges' own is that of two
    draws, so fixed."""
    items, both = rng.normal(0, 3, (N, 1, 1)), rng.normal(0, 1, (N, 2, 1))
    scores = (
        50
        + items
        + both
        + np.array([-2, 2]).reshape(1, 2, 1) / np.sqrt(2)
        + rng.normal(0, 1, (N, 2, 3))
    )
    told = Told()
    rejudged = evidence_of("numeric", {"a": scores[:, 0].T, "b": scores[:, 1].T})
    study = drift.variance_of(rejudged, "quality", told, CheckOptions())
    in_words(told)
    truth = {"item": 9, "judge": 4, "item_judge": 1, "repeat": 1}
    assert {
        name: told.numbers[f"variance.{name}"].value for name in truth
    } == pytest.approx(truth, rel=0.25)
    assert told.tables["drift.variance"]["share"].sum() == pytest.approx(1)
    assert (
        study is not None
        and study.facets == ("judge", "repeat")
        and "drift.variance" in [noted.key for noted in told.findings]
    )
    once = Told()
    drift.variance_of(
        evidence_of("numeric", {"a": scores[:, 0, 0], "b": scores[:, 1, 0]}),
        "quality",
        once,
        CheckOptions(),
    )
    in_words(once)
    assert "drift.variance_once" in [noted.key for noted in once.findings]


@pytest.mark.parametrize(("shape", "facets"), [((3,), ("repeat",)), ((1,), None)])
def test_one_judge_has_repeats_and_a_single_verdict_has_nothing_to_divide(
    rng, shape, facets
) -> None:
    told = Told()
    scores = rng.normal(size=(*shape, N))
    study = drift.variance_of(
        evidence_of("numeric", scores), "quality", told, CheckOptions()
    )
    in_words(told)
    assert (study and study.facets) == facets and ("variance" in told.not_examined) == (
        facets is None
    )
    choices = Told()
    assert (
        drift.variance_of(
            evidence_of("unordered", np.zeros((2, N))),
            "quality",
            choices,
            CheckOptions(),
        )
        is None
    )
    assert choices.not_examined["variance"].key == "drift.no_mean"

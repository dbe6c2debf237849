"""Against human labels: a run is answered as a check of its verdicts is, with the judge's own
intervals and its calibration besides."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import (
    Reading,
    Score,
    analysed,
    configured,
    labelled_run,
    made_up,
    rated,
    refuses,
    verdict,
)
from undogmatic.errors import DataError
from undogmatic.examinations import of_run
from undogmatic.examinations.base import Unsuited, analyse
from undogmatic.examinations.check import check
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import COUNTED
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import OrderedScale, UnorderedScale


def labelled(
    gold: Sequence[float], scores: Sequence[Score], **columns: Sequence[Any]
) -> RunEvidence:
    """One text per label; `condition`, `pair`, `metadata` and the verdict's own fields may be given
    per text."""
    fields = [
        {key: values[n] for key, values in columns.items()} for n in range(len(gold))
    ]
    return labelled_run(zip(gold, scores, fields, strict=True), margin=10.0)


def read(judged: RunEvidence, **settings: Any) -> Reading:
    return analysed("labelled", judged, **settings)


def told(gold: Sequence[float], scores: Any, **columns: Sequence[Any]) -> Reading:
    return read(labelled(gold, list(scores), **columns))


DRAW = np.random.default_rng(3)
GOLD = DRAW.uniform(0, 100, 60)
CLOSE = np.clip(GOLD + DRAW.normal(0, 5, 60), 0, 100)
NOISE = DRAW.uniform(0, 100, 60)


@pytest.mark.parametrize(
    ("scores", "key", "standing"),
    [
        (CLOSE, "limited", "supported"),
        # squeezed into the top: its grades are wrong
        (90 + CLOSE / 20, "limited", "supported"),
        (NOISE, "coin", "refuted"),
        (100 - CLOSE, "reversed", "refuted"),
        (GOLD, "in_step", "undecided"),  # the labels themselves, to the last decimal
        (GOLD * 0 + 50, "constant", "refuted"),
        (GOLD / 2 + NOISE / 2, "open", "undecided"),
    ],
)
def test_verdicts_of_judges_of_known_behaviour(
    scores: Any, key: str, standing: str
) -> None:
    found = told(GOLD, scores)
    assert (found.ruled[0].replace("identical", "in_step"), found.standing) == (
        key,
        standing,
    )
    assert found.sentences()


@pytest.mark.parametrize("raters", [1, 3])
def test_a_run_is_answered_as_a_check_of_the_same_verdicts_is(raters: int) -> None:
    """To the last digit, every number and every sentence, whoever labelled."""
    judged = labelled(
        GOLD, list(CLOSE), metadata=[{"kind": "ab"[n % 2]} for n in range(60)]
    )
    people = {
        f"i{n}": {
            "overall": {
                f"p{k}": float(np.clip(gold + 4 * (k - 1), 0, 100)) for k in range(3)
            }
        }
        for n, gold in enumerate(GOLD)
    }
    known = rated(people) if raters > 1 else {}
    judged = RunEvidence(judged.frame, judged.rubric, known=known)
    # The rubric's margin of 10 travels with the evidence.
    evidence = of_run.evidence_of(judged)
    assert (
        evidence.labels["rater"].nunique() == raters and "slice.kind" in evidence.items
    )
    (checked,) = check(evidence, CheckOptions()).judges
    found = read(judged).result
    assert found.verdict == checked.verdict and found.standing == checked.standing
    assert {f"labelled.{name}" for name in checked.numbers} <= found.numbers.keys()
    for name, number in checked.numbers.items():
        assert found.numbers[f"labelled.{name}"] == number
    assert {*map(repr, checked.findings)} <= {*map(repr, found.findings)}
    assert found.headline == "labelled.agreement.spearman"


def test_in_a_mixed_dataset_only_gold_texts_are_compared() -> None:
    condition = ["gold:explained", "gold:naked"] * 20 + ["attack:hedges"] * 20
    scores = [*CLOSE[:40], *NOISE[40:]]
    judged = labelled(GOLD, scores, condition=condition)
    result = read(judged)
    assert result.says["only"] == {"prefix": "gold:", "n": 20}
    alone = read(labelled(GOLD[:40], list(CLOSE[:40]), condition=condition[:40]))
    assert result["agreement.spearman"] == alone["agreement.spearman"]
    every = read(judged, prefix=None)
    assert (
        every["agreement.spearman"] < result["agreement.spearman"]
        and "only" not in every.says
    )
    # none begins so
    named = read(labelled(GOLD, list(CLOSE), condition=["a", "b"] * 30))
    assert named["judged"] == 60


def test_errors_by_class_come_with_the_largest_first() -> None:
    classes = ["gold:explained", "gold:explained", "gold:naked", "gold:naked"]
    table = told([0, 10, 90, 100], [10.0, 10, 50, 100], condition=classes).tables[
        "by_class"
    ]
    assert table[["class", "mae", "bias"]].to_numpy().tolist() == [
        ["gold:naked", 20, -20],
        ["gold:explained", 5, 5],
    ]


def test_what_counts_words_is_not_believed_and_the_rubric_may_add_what_it_counts() -> (
    None
):
    """A judge of the length, and one of something that no word counter sees but the rubric's own
    function."""
    letters = np.round(GOLD).astype(int)
    judged = labelled(GOLD, list(np.clip(letters + DRAW.normal(0, 3, 60), 0, 100)))
    judged.frame["text"] = [
        made_up(1 + n, str(k)) for k, n in enumerate(letters.tolist())
    ]
    assert read(judged).standing != "supported"
    fresh = labelled(GOLD, list(CLOSE))
    assert read(fresh).standing == "supported"

    def seen(texts: Sequence[str]) -> Any:
        return lambda again: np.array(
            [[float(CLOSE[int(n)])] for n in range(len(again))]
        )

    class Rivals:
        def check(self) -> None: ...

        __call__ = staticmethod(seen)

    rival: Any = Rivals()
    with_rival = RunEvidence(fresh.frame, fresh.rubric, known_surface=rival)
    assert f"{COUNTED}fitted_model" in of_run.evidence_of(with_rival).items
    found = read(with_rival)
    assert found.standing != "supported" and found.ruled[0] in ("surface", "follows")


def test_failed_judgments_are_thought_against_the_verdict() -> None:
    result = told(GOLD, ["refusal", *CLOSE[1:]])
    assert (result.standing, result["failed"]) == ("supported", 1)
    assert result.says["analyses.failed"]["n"] == 1
    # It refuses what it would get wrong: what is left follows the labels.
    hard = np.argsort(np.abs(GOLD - NOISE))[-30:]
    chosen: list[Score] = [
        "refusal" if n in hard else float(NOISE[n]) for n in range(60)
    ]
    assert told(GOLD, chosen).standing == "undecided"


def test_too_few_texts_and_labels_that_are_missing_or_off_the_scale() -> None:
    assert told(GOLD[:19], CLOSE[:19]).ruled == ("few", "undecided")
    assert told([50.0] * 30, NOISE[:30]).ruled[0] == "one_class"
    pairs = [f"p{n // 2}" for n in range(38)]  # texts of one pair are one unit
    assert told(GOLD[:38], CLOSE[:38], pair=pairs).ruled[0] == "few"
    refuses(
        DataError,
        r"'i1': `label` is 7000.*0 to 100",
        "labelled",
        labelled([0, 7000], [1.0, 2]),
    )
    refuses(Unsuited, "label", "labelled", labelled_run([(None, 1.0, {})]))
    two = told([0, 100], [10.0, 90])
    assert two.says["analyses.too_few"] == {
        "figure": "scatter",
        "present": 2,
        "needed": 3,
    }
    assert not two.drawings
    assert told([0, 50], ["refusal", "timeout"])["failed"] == 2


def test_coverage_of_the_judges_own_intervals() -> None:
    result = told(
        [0, 50, 100],
        [10.0, 50, 90],
        interval=[(5.0, 15.0), (40.0, 60.0), (80.0, 100.0)],
    )
    # Gold 0 lies outside 5-15; the end 100 counts as inside.
    assert result.of("coverage interval_width") == pytest.approx([2 / 3, 50 / 3])
    assert result.says["coverage_promised"].items() >= {"n": 3, "nominal": 0.9}.items()


def test_a_promise_that_is_broken_is_in_the_verdict() -> None:
    """Intervals that hold the label in half of the texts, where nine in ten are promised."""
    gold = list(np.linspace(0, 100, 60))
    scores = [
        min(100.0, max(0.0, label + (-1) ** n * 6)) for n, label in enumerate(gold)
    ]
    reaches = (
        [(score - half, score + half) for score in scores] for half in (5.0, 8.0)
    )
    broken, kept = (told(gold, scores, interval=reach) for reach in reaches)
    assert (broken.ruled[0], kept.ruled[0] == "promise") == ("promise", False)
    sentence = broken.sentences()[0]
    assert "do not keep their promise" in sentence and "90%" in sentence


def test_calibration_is_shown_before_and_after() -> None:
    gold = [0.0, 50, 100]
    result = told(gold, gold, raw_score=[40.0, 50, 60])
    assert (result["raw_mae"], result.says["calibrated"]["after"]) == (
        pytest.approx(80 / 3),
        0,
    )
    assert result.tables["calibration"]["score"].tolist() == ["raw", "calibrated"]
    drawn = {f.name: f for f in result.drawings}["calibration"]
    assert (drawn.data["raw"], drawn.data["label"]) == ([40, 50, 60], gold)
    assert "calibration" not in told(gold, gold, raw_score=gold).tables


def of_categories(
    scale: Any, said: Sequence[str], people: Sequence[str], **more: Any
) -> RunEvidence:
    """A run of categories."""
    rubric = labelled_run([]).rubric.model_copy(
        update={"scale": scale, "guide": None, **more}
    )
    place = {name: float(n) for n, name in enumerate(scale.categories)}
    items = [
        Item(id=f"i{n}", text=made_up(9, str(n)), label=place[name])
        for n, name in enumerate(people)
    ]
    judgments = [
        verdict(f"i{n}", place[name]).model_copy(
            update={"outcome": Verdict(score=place[name], category=name)}
        )
        for n, name in enumerate(said)
    ]
    return RunEvidence(tabulate(items, judgments, 1), rubric)


@pytest.mark.parametrize(
    ("scale", "kind", "names"),
    [
        (
            OrderedScale(categories=("bad", "fair", "good")),
            "ordered",
            ("bad", "fair", "good"),
        ),
        (
            UnorderedScale(categories=("cat", "dog", "cow")),
            "unordered",
            ("cat", "dog", "cow"),
        ),
        (
            OrderedScale(categories=("sound", "faulty")),
            "pass_fail",
            ("faulty", "sound"),
        ),
    ],
)
def test_categories_are_held_against_labels_as_a_check_does(
    scale: Any, kind: str, names: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(5)
    people = [
        scale.categories[k] for k in rng.integers(len(scale.categories), size=200)
    ]
    said = [
        name
        if n % 8
        else scale.categories[(scale.categories.index(name) + 1) % len(names)]
        for n, name in enumerate(people)
    ]
    judged = of_categories(scale, said, people)
    evidence = of_run.evidence_of(judged)
    assert (evidence.kind, evidence.categories) == (kind, names)
    result = Reading(configured("labelled")(judged, np.random.default_rng(0))[0])
    assert result.standing == "supported" and result.headline in result.result.metrics
    assert [figure.name for figure in result.drawings] == ["questions", "confusion"]


def test_scores_at_the_two_ends_alone_are_pass_and_fail() -> None:
    """As a check reads 0 and 1; of a rubric whose high scores are bad, the lowest passes."""
    rng = np.random.default_rng(2)
    gold = 100.0 * rng.integers(2, size=60)
    scores = np.where(np.arange(60) % 9 == 0, 100 - gold, gold)
    evidence = of_run.evidence_of(labelled(gold, list(scores)))
    assert (evidence.kind, evidence.categories) == ("pass_fail", ("fail", "pass"))
    assert (evidence.labels["label"].to_numpy() == (gold == 0)).all()
    assert told(gold, scores).headline == "labelled.agreement.kappa"


def test_several_judges_are_answered_each_and_held_against_each_other() -> None:
    judged = labelled(GOLD, list(CLOSE))
    other = judged.frame.assign(judge="other", score=NOISE)
    both = judged.with_rows(pd.concat([judged.frame, other], ignore_index=True))
    results = analyse(configured("labelled"), both, np.random.default_rng(0))
    answered: Mapping[str, str | None] = {
        each.part: each.standing for each in results if each.verdict is not None
    }
    assert answered == {"score": "supported", "other": "refuted"}
    assert [each.verdict for each in results if not each.part] == [None]

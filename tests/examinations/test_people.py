"""What a check tells of the people who labelled: ceiling, alternative annotator test, copies,
strictness, choice."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import reference
from tests.examinations.builders import evidence_of
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.examinations import examination, people
from undogmatic.records.checked import CheckOptions
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Told, Weight
from undogmatic.records.words import Words

LANGUAGES = [
    Words(code, sorted(Path(people.__file__).parent.glob("*.texts.yaml")), strict=True)
    for code in ("en", "pt")
]
N = 200
OTHERS = (people.CEILING, people.ANNOTATOR, people.STRICTNESS)


def tell(
    kind: Any,
    judge: Any,
    labels: Any,
    items: Any = None,
    *,
    selection: Any = "random",
    **options: Any,
) -> Told:
    """What is told, every sentence of which has words in both languages."""
    told = Told()
    table = evidence_of(kind, judge, labels, items, selection=selection)
    view, chosen = table.of("judge", "quality"), CheckOptions(**options)
    # also where all are copies, of which the answer of a check tells
    if len(table.labels):
        people.LABELS.examine(view, told, chosen)
    examination.ask(OTHERS, view, chosen, told)
    findings = [*told.findings] + [
        noted.settle for noted in told.findings if noted.settle
    ]
    for words in LANGUAGES:
        assert all(
            words.say(finding) for finding in [*findings, *told.not_examined.values()]
        )
    return told


def keys(told: Told) -> dict[str, Weight]:
    return {noted.key.removeprefix("people."): noted.weight for noted in told.findings}


def said(
    rng: np.random.Generator, accuracies: list[float], n: int = N, k: int = 2
) -> list[Any]:
    truth = rng.integers(0, k, n)
    return [
        np.where(rng.random(n) < own, truth, rng.integers(0, k, n)).astype(float)
        for own in accuracies
    ]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize(
    ("judge", "margin", "key", "weight"),
    [
        (0.9, None, "ceiling_no_margin", Weight.QUALIFIES),
        (0.9, 0.2, "ceiling_as_good", Weight.QUALIFIES),
        (0.9, 0.001, "ceiling_open", Weight.QUALIFIES),
        (0.99, None, "ceiling_better", Weight.QUALIFIES),
        (0.4, 0.1, "ceiling_worse", Weight.LIMITS),
        (0.8, 0.4, "ceiling_worse_within", Weight.QUALIFIES),
    ],
)
def test_as_good_as_people_only_within_a_stated_margin(
    rng, judge, margin, key, weight
) -> None:
    found, *labels = said(rng, [judge, 0.9, 0.9, 0.9], n=400, k=3)
    told = tell(
        "unordered", found, dict(zip("abc", labels, strict=True)), margin=margin
    )
    assert keys(told)[key] == weight
    agreed, own, apart = (
        told.numbers[f"people.{name}"].value
        for name in ("agreement", "judge", "difference")
    )
    assert apart == pytest.approx(own - agreed)


def test_a_margin_of_scores_is_a_share_of_the_scale(rng) -> None:
    truth = rng.normal(50, 15, N)
    judge, *labels = np.clip([truth + rng.normal(0, 8, N) for _ in range(4)], 0, 100)
    told = tell("numeric", judge, dict(zip("abc", labels, strict=True)), margin=20)
    (ceiling,) = (n.values for n in told.findings if n.key == "people.ceiling_as_good")
    assert 0.2 <= ceiling["margin"] <= 0.3 and ceiling["measure"] == "concordance"
    assert told.numbers["people.icc"].value == pytest.approx(
        told.numbers["people.agreement"].value, abs=0.02
    )
    assert told.tables["people.annotators"]["rater"].tolist() == ["a", "b", "c"]


def test_one_rater_shows_no_ceiling_and_two_do_not_make_an_alternative_annotator_test(
    rng,
) -> None:
    judge, *labels = said(rng, [0.8, 0.8, 0.8])
    alone = tell("pass_fail", judge, labels[0], selection="unknown")
    assert (
        alone.not_examined.keys() == {"ceiling", "alternative_annotator"}
        and not alone.numbers
    )
    assert not keys(alone)  # nothing was chosen where all are labelled
    some = tell(
        "pass_fail",
        judge,
        np.where(np.arange(N) < N // 2, labels[0], np.nan),
        selection="unknown",
    )
    assert keys(some) == {"selection_unknown": Weight.QUALIFIES}
    two = tell("pass_fail", judge, {"a": labels[0], "b": labels[1]})
    assert (
        two.not_examined.keys() == {"alternative_annotator"}
        and "people.agreement" in two.numbers
    )
    assert tell("pass_fail", judge, ()).not_examined.keys() == {"labels"}


def test_labels_that_do_not_overlap_or_do_not_vary_show_no_ceiling(rng) -> None:
    judge, one, other = said(rng, [0.8, 0.8, 0.8])
    one[: N // 2] = other[N // 2 :] = np.nan
    assert (
        tell("pass_fail", judge, {"a": one, "b": other}).not_examined["ceiling"].key
        == "people.none_shared"
    )
    other[: N // 2 + 2] = judge[: N // 2 + 2]
    some = tell("pass_fail", judge, {"a": one, "b": other}).not_examined["ceiling"]
    assert some.key == "people.few_shared" and some.values["n"] == 2
    same = tell("pass_fail", judge, {"a": np.ones(N), "b": np.ones(N)})
    assert same.not_examined["ceiling"].key == "people.constant"


@pytest.mark.parametrize(
    ("kind", "margin", "epsilon", "source", "used"),
    [
        ("unordered", None, None, "usual", 0.1),
        ("unordered", 0.3, None, "stated", 0.3),
        ("unordered", 0.3, 0.15, "epsilon", 0.15),
        ("numeric", 2.0, None, "usual", 0.1),
        ("numeric", 2.0, 0.0, "epsilon", 0.0),
    ],
)
def test_what_the_alternative_annotator_test_gives_the_judge_in_advance_is_said(
    rng, kind, margin, epsilon, source, used
) -> None:
    judge, *labels = said(rng, [0.9, 0.9, 0.9, 0.9], k=3)
    found = tell(
        kind,
        judge,
        dict(zip("abc", labels, strict=True)),
        margin=margin,
        epsilon=epsilon,
    )
    (values,) = (
        n.values for n in found.findings if n.key.startswith("people.annotator_")
    )
    assert (values["source"], values["epsilon"]) == (source, used)


@pytest.mark.parametrize("kind", ["unordered", "numeric"])
def test_how_many_ties_there_were_is_said_where_they_decide(kind: Any) -> None:
    """The judge is as close as each person on nearly all labels, and closer on few: ties alone let
    it replace them."""
    n = 60
    agreed = np.arange(n) % 3 + 0.0
    labels = {
        name: np.where(np.arange(n) % 20 == place, (agreed + 1) % 3, agreed)
        for place, name in enumerate("abc")
    }
    told = tell(kind, agreed, labels)
    assert "annotator_passes_by_ties" in keys(told)
    values = annotator_of(told)
    ties = values["ties"].values
    assert values["won"] == 3 and ties["won"] == 0
    # Each person is alone with another label on three items, and there the judge is closer; else
    # all are equally close.
    assert (ties["ties"], ties["n"]) == (3 * (n - 3), 3 * n)
    for words, told in zip(
        LANGUAGES, ("On 171 of 180 labels", "Em 171 de 180 rótulos"), strict=True
    ):
        assert told in words.say(values["ties"])


def test_ties_that_decide_nothing_are_not_mentioned() -> None:
    """Two grades are never the same, so nobody is equally close."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=200)
    judge, *labels = (truth + rng.normal(0, spread, 200) for spread in (0.1, 1, 1, 1))
    values = annotator_of(tell("numeric", judge, dict(zip("abc", labels, strict=True))))
    assert values["won"] == 3 and values["ties"] == []


def annotator_of(told: Told) -> Any:
    (values,) = (
        n.values for n in told.findings if n.key.startswith("people.annotator_")
    )
    return values


def test_a_judge_that_agrees_with_people_better_than_they_do_says_something_of_their_labels(
    rng,
) -> None:
    found, *labels = said(rng, [0.99, 0.9, 0.9, 0.9], n=400, k=3)
    told = tell("unordered", found, dict(zip("abc", labels, strict=True)))
    better = next(n for n in told.findings if n.key == "people.ceiling_better")
    expected = (
        "a part of what counts as the judge's error here is theirs",
        "parte do que aqui conta como erro",
    )
    for words, part in zip(LANGUAGES, expected, strict=True):
        assert part in words.say(better)


PUBLISHED = {
    "wax": {"kind": "unordered"},
    "cebab_aspects": {"kind": "unordered"},
    "cebab_stars": {"kind": "numeric"},
    "lesion": {"kind": "numeric", "scale": "0-6", "human_scale": "0-6"},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_alternative_annotator_tests_are_reproduced(name: str) -> None:
    """Of tables of LLMs beside people: the authors take every row as independent, whatever its
    document."""
    expected = json.loads(
        reference("real/expected_alternative_annotator.json").read_text("utf-8")
    )[name]
    rows = pd.read_csv(reference(f"real/{name}.csv")).drop(
        columns=["criterion", "document"], errors="ignore"
    )
    humans = tuple(column for column in rows if column.startswith("human_"))
    table = read_table(
        [rows],
        TableOptions(
            judge=tuple(expected["judges"]),
            human=humans,
            group="none",
            **PUBLISHED[name],
        ),
    )
    for judge, by_epsilon in expected["alternative_annotator"].items():
        for epsilon, right in by_epsilon.items():
            told = Told()
            options = CheckOptions(epsilon=float(epsilon.partition("_")[2]))
            examination.ask([people.ANNOTATOR], table.of(judge, OVERALL), options, told)
            found = told.tables["people.annotators"]
            assert len(found) == right["raters"]
            assert found["won"].mean() == pytest.approx(
                right["winning_rate"], abs=1e-6
            ), (
                judge,
                epsilon,
            )
            assert told.numbers["people.advantage"].value == pytest.approx(
                right["advantage"], abs=1e-5
            )


@pytest.mark.parametrize(
    ("name", "right"), [("t0", 0.711), ("t2", 0.739), ("t5", 0.650)]
)
def test_small_tables_with_many_equal_distances_have_the_advantage_that_is_right(
    name: str, right: float
) -> None:
    humans = ("human_1", "human_2", "human_3")
    table = read_table(
        [reference(f"../cases/v_alt_ties/{name}.csv")],
        TableOptions(judge=("judge",), human=humans),
    )
    told = Told()
    examination.ask(
        [people.ANNOTATOR], table.of("judge", OVERALL), CheckOptions(), told
    )
    assert told.numbers["people.advantage"].value == pytest.approx(right, abs=5e-4)


def test_copies_are_named_and_a_copy_of_the_judge_reverses(rng) -> None:
    judge, one, other = said(rng, [0.9, 0.9, 0.9])
    told = tell("pass_fail", judge, {"a": judge, "b": one, "c": one, "d": other})
    assert (keys(told)["copies_judge"], keys(told)["copies_rater"]) == (
        Weight.REVERSES,
        Weight.LIMITS,
    )
    few = tell("pass_fail", judge[:20], {"a": judge[:20], "b": one[:20], "c": one[:20]})
    assert {"same_as_judge", "same_as_rater"} <= keys(
        few
    ).keys() and "copies_judge" not in keys(few)
    scores = rng.normal(size=20)
    assert "copies_judge" in keys(tell("numeric", scores, scores))


def test_many_pairs_of_people_who_agree_are_told_once(rng) -> None:
    judge, one = said(rng, [0.9, 0.9])
    agreeing = {name: one[:15] for name in "abcd"}
    told = tell("pass_fail", judge[:15], agreeing)
    found = [each for each in told.findings if each.key.startswith("people.same_as_r")]
    assert [(each.key, each.values["pairs"]) for each in found] == [
        ("people.same_as_raters", 6)
    ]


EQUAL = np.random.default_rng(9)
STARS, POINTS = (
    EQUAL.integers(1, 6, 400).astype(float),
    EQUAL.integers(0, 101, 400).astype(float),
)
CLASSES = EQUAL.integers(0, 2, 400).astype(float)
# mostly none
COUNTS = np.where(EQUAL.random(400) < 0.8, 0.0, EQUAL.integers(1, 25, 400))


@pytest.mark.parametrize(
    ("kind", "labels", "n", "sign"),
    [
        # of those who agree on 98 %, 45 in 100 are equal on all
        ("pass_fail", CLASSES, 40, None),
        ("pass_fail", CLASSES, 110, None),
        ("pass_fail", CLASSES, 130, "category"),
        ("unordered", STARS, 110, None),  # five classes of easy texts
        ("unordered", STARS, 130, "category"),
        ("ordered", STARS - 1, 40, None),
        ("ordered", STARS - 1, 80, "grade"),
        ("numeric", POINTS, 12, None),
        ("numeric", POINTS, 20, "fine"),
        ("numeric", COUNTS, 40, None),  # more than ten values, and nearly all the same
        ("numeric", STARS * 0.1 + 0.2, 80, "grade"),
    ],
)
def test_labels_equal_to_the_verdicts_are_called_a_copy_only_with_a_second_sign(
    kind, labels, n, sign
) -> None:
    labels = labels[:n]
    written = labels + 1e-13 * (np.arange(n) % 2)  # as of another scale
    found = tell(kind, labels if kind != "numeric" else written, labels)
    if sign is None:
        assert keys(found)[
            "same_as_judge"
        ] == Weight.LIMITS and "copies_judge" not in keys(found)
        assert any(
            note.settle and note.settle.key == "people.settle_equal"
            for note in found.findings
        )
        assert (
            people.made_from(
                kind, evidence_of(kind, labels, labels).of("judge", "quality").pairs()
            )
            is None
        )
    else:
        (note,) = (each for each in found.findings if each.key == "people.copies_judge")
        assert (
            note.weight is Weight.REVERSES
            and note.values["why"].key == f"people.why_{sign}"
        )
        assert (
            people.made_from(
                kind, evidence_of(kind, labels, labels).of("judge", "quality").pairs()
            )
            == "identical"
        )


def test_equal_texts_of_few_groups_are_few() -> None:
    groups = {"group": [f"g{n % 30}" for n in range(400)]}
    assert "same_as_judge" in keys(tell("pass_fail", CLASSES, CLASSES, groups))


@pytest.mark.parametrize(
    ("errors", "raters", "sign"),
    [(5, 2, None), (40, 2, "split"), (4, 3, None), (8, 3, "alone")],
)
def test_whoever_is_equal_also_where_others_say_something_else_copies(
    errors, raters, sign
) -> None:
    """One person's labels are the judge's, also on items on which the others agree on something
    else."""
    judge = CLASSES[:100]
    others = np.where(np.arange(100) < errors, 1 - judge, judge)
    # The others are not the same as each other: both would be copies, too.
    third = np.where(np.arange(100) == 99, 1 - judge, others)
    labels = {"copy": judge, "ben": others, "eva": third}
    found = tell("pass_fail", judge, dict(list(labels.items())[:raters]))
    assert ("copies_judge" in keys(found)) is (sign is not None)
    if sign is not None:
        (why,) = (
            n.values["why"] for n in found.findings if n.key == "people.copies_judge"
        )
        assert (why.key, why.values["apart"]) == (f"people.why_{sign}", errors)


def test_verdicts_that_are_the_majority_on_few_items_are_no_consensus_yet() -> None:
    truth = CLASSES[:80]
    for split, made in ((10, None), (40, "consensus")):
        dissent = np.where(np.arange(80) < split, 1 - truth, truth)
        table = evidence_of(
            "pass_fail", truth, {"ana": truth, "ben": truth, "eva": dissent}
        )
        assert (
            people.made_from("pass_fail", table.of("judge", "quality").pairs()) == made
        )


def test_the_stricter_rater_is_named_and_the_others_are_not(rng) -> None:
    truth = rng.normal(50, 15, N)
    labels = {
        name: truth + rng.normal(0, 5, N) - 6 * (name == "strict")
        for name in ("a", "b", "strict")
    }
    told = tell("numeric", truth, labels)
    (lower,) = (
        n.values for n in told.findings if n.key in ("people.lower", "people.higher")
    )
    assert (
        lower["rater"] == "strict" and lower["interval"][0] < 6 < lower["interval"][1]
    )


def test_a_judge_that_says_one_thing_does_not_pass_for_an_annotator(rng) -> None:
    """Nearly all items are passes: the constant judge is always with the majority."""
    labels = {name: (rng.random(N) < 0.93).astype(float) for name in "abc"}
    told = tell("pass_fail", np.ones(N), labels, margin=0.2)
    assert {"annotator_constant", "no_common_truth"} <= keys(
        told
    ).keys() and "ceiling_as_good" not in keys(told)
    judge, *good = said(rng, [0.95, 0.9, 0.9, 0.9], k=3)
    passes = tell("unordered", judge, dict(zip("abc", good, strict=True)))
    assert (
        "annotator_passes_by_ties" in keys(passes)
        and "people.advantage" in passes.numbers
    )
    coin = rng.integers(0, 3, N).astype(float)
    assert "annotator_fails" in keys(
        tell("unordered", coin, dict(zip("abc", good, strict=True)))
    )


def test_both_orders_of_a_choice_count_as_one_item(rng) -> None:
    judge, *labels = said(rng, [0.8, 0.9, 0.9, 0.9])
    once = tell("pairwise", judge, dict(zip("abc", labels, strict=True)))
    both = tell(
        "pairwise", np.stack([judge, judge]), dict(zip("abc", labels, strict=True))
    )
    assert both.numbers["people.difference"].interval == pytest.approx(
        once.numbers["people.difference"].interval
    )
    assert both.numbers["people.advantage"] == once.numbers["people.advantage"]


def test_which_output_of_a_choice_is_the_first_means_nothing(rng) -> None:
    said_of = said(rng, [0.8, 0.9, 0.9], k=2)
    chosen = rng.random(N) < 0.5
    turned = [np.where(chosen, 1 - choices, choices) for choices in said_of]
    figures = [
        tell("pairwise", own[0], dict(zip("ab", own[1:], strict=True))).numbers
        for own in (said_of, turned)
    ]
    for name in ("people.agreement", "people.judge", "people.difference"):
        assert figures[0][name].interval == pytest.approx(figures[1][name].interval)
    always = tell(
        "pairwise",
        np.zeros(N),
        {"a": np.zeros(N), "b": np.where(np.arange(N) < 20, 1.0, 0.0)},
    )
    # the better output stands first in nearly all items
    assert always.numbers["people.judge"].value > 0.8


@pytest.mark.parametrize(
    ("column", "selection", "noted"),
    [
        ([1.0] * 40 + [None] * 20, "unknown", "chosen"),
        ([1.0] * 20 + [0.3] * 20 + [None] * 20, "unknown", "chosen"),
        ([0.3] * 40 + [None] * 20, "unknown", None),
        ([0.5] * 20 + [0.3] * 20 + [None] * 20, "probabilities", "weighted"),
        ([0.5] * 20 + [None] * 40, "probabilities", None),
        ([0.5] * 19 + [0.2] + [None] * 40, "probabilities", "unequal"),
        ([0.3] * 40 + [None] * 20, "probabilities", None),
    ],
)
def test_labels_that_were_chosen_are_no_random_sample(
    column: list[Any], selection: Any, noted: str | None
) -> None:
    name = (
        "probability" if selection == "probabilities" else "slice.inclusion_probability"
    )
    weights = {
        "chosen": Weight.REVERSES,
        "unequal": Weight.LIMITS,
        "weighted": Weight.QUALIFIES,
    }
    labels = [float(n % 2) for n in range(40)] + [np.nan] * 20
    told = tell(
        "pass_fail",
        [n % 2 for n in range(60)],
        labels,
        {name: column},
        selection=selection,
    )
    found = {key: weight for key, weight in keys(told).items() if key in weights}
    assert found == ({noted: weights[noted]} if noted else {})


@pytest.mark.parametrize("kind", ["pass_fail", "numeric"])
def test_who_agrees_with_nobody_is_named_and_no_measure_of_people(
    kind: str, rng: np.random.Generator
) -> None:
    """A third person whose rows were shifted takes two thirds from what people share. A judge that is
    measured by that would have little to reach."""
    judge, one, other, third = said(rng, [0.9, 0.9, 0.9, 0.9])
    if kind == "numeric":
        judge, one, other, third = (
            10 * side + rng.normal(size=N) for side in (judge, one, other, third)
        )
    pair = {"a": one, "b": other}
    without = tell(kind, judge, pair)
    shifted, turned = rng.permutation(third), third.max() + third.min() - third
    for odd in (shifted, turned, np.full(N, third[0])):
        told = tell(kind, judge, {**pair, "c": odd})
        (stranger,) = [each for each in told.findings if each.key == "people.stranger"]
        assert stranger.values["rater"] == "c" and stranger.weight == Weight.LIMITS
        assert told.numbers["people.agreement"] == without.numbers["people.agreement"]
    assert "stranger" not in keys(tell(kind, judge, {**pair, "c": third}))


def test_of_two_people_or_of_many_who_differ_nobody_agrees_with_nobody(
    rng: np.random.Generator,
) -> None:
    judge, one, other, *rest = said(rng, [0.9, 0.9, 0.9, 0.0, 0.0, 0.0])
    two = {"a": one, "b": rest[0]}
    assert "stranger" not in keys(tell("pass_fail", judge, two))
    half = {"a": one, "b": other, "c": rest[0], "d": rest[1]}
    named = [
        each.values["rater"]
        for each in tell("pass_fail", judge, half).findings
        if each.key == "people.stranger"
    ]
    assert len(named) == 1, "never half of them, whoever is right"
    nothing = {name: side for name, side in zip("abc", rest, strict=True)}
    assert "stranger" not in keys(tell("pass_fail", judge, nothing))

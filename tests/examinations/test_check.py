"""The first line of a check: what each judge without merit, and each judge with some, is called."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import undogmatic
from tests.examinations.builders import evidence_of
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError
from undogmatic.examinations import examination, kinds, position, surface_rival
from undogmatic.examinations.check import check
from undogmatic.records.card import digests_of
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import CLEAN, DEFECT, Evidence, InstrumentTest
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Told, Weight
from undogmatic.report.check import words_of
from undogmatic.stats.estimate import Estimate

N = 120
RNG = np.random.default_rng(5)
LABELS = RNG.integers(2, size=N).astype(float)
WORDS = "river stone lamp winter paper bridge copper garden signal velvet harbour morning thunder".split()
TEXTS = [" ".join(RNG.choice(WORDS, size=12)) for _ in range(N)]
PAIR = {"text_1": TEXTS, "text_2": TEXTS[::-1]}


def noisy(labels: np.ndarray, error: float, seed: int = 0) -> np.ndarray:
    return np.where(
        np.random.default_rng(seed).random(labels.size) < error, 1 - labels, labels
    )


def answer(table: Evidence, **options: Any) -> Told:
    (only,) = check(table, CheckOptions(**options)).judges
    return only


def judged(
    verdicts: Any, labels: Any = LABELS, items: Mapping[str, Any] | None = None
) -> Evidence:
    return evidence_of(
        "pass_fail", verdicts, labels, {"text": TEXTS} if items is None else items
    )


GOOD = noisy(LABELS, 0.05)
CHOICES = np.vstack([GOOD, GOOD])
# the first place holds the first output as given, the second swapped
FIRST = np.vstack([np.zeros(N), np.ones(N)])
HOLES = np.where(np.arange(N) < 50, np.nan, GOOD)
CALLED: dict[str, tuple[Callable[[], Evidence], str, str]] = {
    "good": (lambda: judged(GOOD), "limited", "supported"),
    "coin": (lambda: judged(noisy(LABELS, 0.5, 3)), "coin", "refuted"),
    "a short coin": (
        lambda: evidence_of("pass_fail", noisy(LABELS, 0.4, 9)[:24], LABELS[:24]),
        "coin_open",
        "undecided",
    ),
    "constant": (lambda: judged(np.ones(N)), "constant", "refuted"),
    "reversed": (lambda: judged(1 - GOOD), "reversed", "refuted"),
    "weak": (
        lambda: judged(np.where(np.arange(N) % 5 < 2, 1 - LABELS, LABELS)),
        "below",
        "refuted",
    ),
    "equal to the labels": (lambda: judged(LABELS), "identical", "undecided"),
    "copied": (
        lambda: evidence_of("pass_fail", np.tile(LABELS, 3), np.tile(LABELS, 3)),
        "identical",
        "undecided",
    ),
    "copied grades": (
        lambda: evidence_of("numeric", GRADES[:30], GRADES[:30], {"text": TEXTS[:30]}),
        "identical",
        "undecided",
    ),
    "nothing read": (lambda: judged(np.full(N, np.nan)), "no_verdicts", "undecided"),
    "no labels": (lambda: judged(GOOD, ()), "no_labels", "undecided"),
    "no label on what is judged": (
        lambda: judged(
            np.where(np.arange(N) < 60, GOOD, np.nan),
            np.where(np.arange(N) < 60, np.nan, LABELS),
        ),
        "nothing_common",
        "undecided",
    ),
    "one class": (lambda: judged(GOOD, np.zeros(N)), "one_class", "undecided"),
    "few": (
        lambda: evidence_of("pass_fail", GOOD[:12], LABELS[:12]),
        "few",
        "undecided",
    ),
    "few texts, often repeated": (
        lambda: judged(
            GOOD, items={"text": TEXTS, "group": [f"g{n % 5}" for n in range(N)]}
        ),
        "few",
        "undecided",
    ),
    "many are missing": (lambda: judged(HOLES), "missing", "undecided"),
    "no texts": (lambda: judged(GOOD, items={}), "no_texts", "undecided"),
    "a word counter": (
        lambda: judged(LABELS_OF_A_WORD, LABELS_OF_A_WORD_AND_LUCK),
        "follows",
        "undecided",
    ),
    "one of three people is its copy": (
        lambda: judged(
            GOOD, {"ana": LABELS, "ben": noisy(LABELS, 0.05, 3), "eva": GOOD}
        ),
        "reason",
        "undecided",
    ),
    "a column": (
        lambda: judged(
            SYSTEM,
            noisy(SYSTEM, 0.1, 6),
            {"text": TEXTS, "system": ["AB"[int(s)] for s in SYSTEM]},
        ),
        "column",
        "undecided",
    ),
    "always the first": (
        lambda: evidence_of("pairwise", FIRST, LABELS, PAIR),
        "first",
        "refuted",
    ),
    "one order": (
        lambda: evidence_of("pairwise", GOOD, LABELS, PAIR),
        "order",
        "undecided",
    ),
    "both orders": (
        lambda: evidence_of("pairwise", CHOICES, LABELS, PAIR),
        "limited",
        "supported",
    ),
    "grades": (
        lambda: evidence_of("numeric", GRADES + NOISE / 2, GRADES, {"text": TEXTS}),
        "limited",
        "supported",
    ),
    "grades that stand in the texts": (
        lambda: evidence_of(
            "numeric",
            GRADES + NOISE / 2,
            GRADES,
            {
                "text": [
                    f"{TEXTS[i]} Their grade was {GRADES[i]:.0f}, as in 2024."
                    for i in range(N)
                ],
            },
        ),
        "surface",
        "undecided",
    ),
    "numbers of rows": (
        lambda: replace(
            evidence_of(
                "numeric", np.arange(N) * 1.0, np.arange(N) + NOISE, {"text": TEXTS}
            ),
            problems=(
                Finding(
                    "table.counts_rows",
                    {"judge": "judge", "values": ["0", "1"]},
                    weight=Weight.REVERSES,
                ),
            ),
        ),
        "reason",
        "undecided",
    ),
    "grades in the order of the labels": (
        lambda: evidence_of(
            "numeric", np.arange(N) * 1.0, np.arange(N) + NOISE, {"text": SHUFFLED}
        ),
        "limited",
        "supported",
    ),
    "random grades": (
        lambda: evidence_of(
            "numeric",
            np.random.default_rng(8).permutation(GRADES),
            GRADES,
            {"text": TEXTS},
        ),
        "coin",
        "refuted",
    ),
}
# nothing foretells these labels from these texts
SHUFFLED = np.random.default_rng(102).permutation(TEXTS).tolist()
NOISE = np.random.default_rng(6).normal(0, 9, N)
LABELS_OF_A_WORD = np.array([float("river" in text) for text in TEXTS])
LABELS_OF_A_WORD_AND_LUCK = noisy(LABELS_OF_A_WORD, 0.08, 2)
SYSTEM = (np.arange(N) % 2).astype(float)
GRADES = np.random.default_rng(7).uniform(0, 100, N)


@pytest.mark.parametrize("called", CALLED)
def test_each_judge_is_called_what_it_is(called: str) -> None:
    table, key, standing = CALLED[called]
    found = answer(table())
    assert (found.verdict.key.removeprefix("check.verdict_"), found.standing) == (
        key,
        standing,
    ), found.verdict


@pytest.mark.parametrize("language", ["en", "pt"])
@pytest.mark.parametrize("called", CALLED)
def test_every_first_and_second_line_has_its_words(called: str, language: str) -> None:
    result = check(CALLED[called][0](), CheckOptions())
    words = words_of(language)
    words.strict = True
    for sentence in (result.judges[0].verdict, result.judges[0].rival):
        assert "[" not in words.say(sentence).split()[0] and "{" not in words.say(
            sentence
        )


def test_a_good_judge_that_equals_a_person_on_eighty_items_is_believed_and_asked_who_labelled() -> (
    None
):
    labels = np.random.default_rng(3).permutation(np.tile([0.0, 1.0], 40))
    found = answer(judged(labels, labels, {"text": TEXTS[:80]}))
    assert (found.verdict.key, found.standing) == (
        "check.verdict_limited",
        "supported",
    ), found.verdict
    alone, note = (each for each in found.findings if each.weight is Weight.LIMITS)
    assert (
        alone.key == "surface.one_person"
        and note.key == "people.same_as_judge"
        and note.values["n"] == 80
    )
    said = words_of("en").say(note)
    assert "equal on all 80 items" in said and "copies" not in said


def several_criteria(agreed: Sequence[np.ndarray], n: int = N) -> Evidence:
    """One judge's verdicts on many criteria, each with labels of its own."""
    tables = [
        evidence_of(
            "pass_fail", verdicts, LABELS[:n], {"text": TEXTS[:n]}, criterion=f"c{k}"
        )
        for k, verdicts in enumerate(agreed)
    ]
    verdicts, labels = (
        pd.concat([getattr(each, name) for each in tables])
        for name in ("verdicts", "labels")
    )
    return replace(
        tables[0],
        verdicts=verdicts.reset_index(drop=True),
        labels=labels.reset_index(drop=True),
    )


def test_several_criteria_of_one_judge_are_answers_at_once_as_several_judges_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A verdict that is just enough for one answer is not enough as one of six, be they of judges
    or of criteria."""
    # so few items by one person hardly tell a reader
    monkeypatch.setattr(surface_rival, "OF_FEW", 0.0)
    just = np.where(np.random.default_rng(0).permutation(N) < 25, 1 - LABELS, LABELS)
    alone = answer(judged(just))
    assert (
        alone.standing == "supported"
        and 0.4 < alone.numbers["agreement.kappa"].low < 0.43
    )
    of_judges = check(
        judged({f"j{k}": just if k == 0 else noisy(LABELS, 0.5, k) for k in range(6)}),
        CheckOptions(),
    )
    of_criteria = check(
        several_criteria([just, *(noisy(LABELS, 0.5, k) for k in range(1, 6))]),
        CheckOptions(),
    )
    of_tries = check(judged(just), CheckOptions(tried=6))
    for result in (of_judges, of_criteria, of_tries):
        first = result.judges[0]
        assert (first.verdict.key, first.verdict.values["among"]) == (
            "check.verdict_several",
            6,
        )
        assert first.settle is not None and first.settle.key == "check.settle_several"
    tried = [
        found for found in of_tries.judges[0].findings if found.key == "check.tried"
    ]
    assert [found.values["among"] for found in tried] == [6]
    assert not any(found.key == "check.tried" for found in of_judges.judges[0].findings)
    # Criteria that nobody labelled have no answer, and take nothing away.
    unlabelled = several_criteria([just] * 6)
    kept = unlabelled.labels[unlabelled.labels["criterion"] == "c0"]
    first, *others = check(replace(unlabelled, labels=kept), CheckOptions()).judges
    assert first.standing == "supported" and {each.verdict.key for each in others} == {
        "check.verdict_no_labels"
    }


def test_what_a_judge_decides_alone_holds_for_all_criteria_together() -> None:
    asked = []
    for n in (1, 5):
        result = check(several_criteria([GOOD] * n), CheckOptions(alpha=0.2))
        # a good judge keeps its yes
        assert all(each.standing == "supported" for each in result.judges)
        asked += [
            n.values["confidence"]
            for n in result.judges[0].findings
            if "alone.whole" in n.key
        ]
    assert asked == pytest.approx([0.95, 0.99])


def test_what_is_asked_for_can_be_more() -> None:
    assert answer(judged(noisy(LABELS, 0.15)), least=0.1).standing == "supported"
    assert answer(judged(noisy(LABELS, 0.15)), least=0.9).standing == "refuted"


def test_an_order_is_not_called_alike_where_the_judge_is_a_coin() -> None:
    said = words_of("en").say(answer(CALLED["random grades"][0]()).verdict)
    assert (
        "needed (the default, `--least`); its verdicts on 120 items and one person's labels have a"
        in said
    )


COINS = {
    "its interval holds nought": (
        lambda rng: rng.integers(0, 2, N).astype(np.float64),
        "coin",
        ("is not shown to be better than a coin", "não se mostra melhor que uma moeda"),
    ),
    "a little below nought, by an interval that lies there": (
        lambda rng: np.where(np.arange(N) * 7 % N < 71, 1 - LABELS, LABELS),
        "coin",
        ("is not shown to be better than a coin", "não se mostra melhor que uma moeda"),
    ),
    "its interval lies far below nought": (
        lambda rng: np.where(rng.random(N) < 0.7, 1 - LABELS, LABELS),
        "reversed",
        ("no more than a coin would", "não mais que uma moeda"),
    ),
}


@pytest.mark.parametrize("case", COINS)
def test_what_is_said_of_a_coin_is_what_its_interval_shows(case: str) -> None:
    """That it is no better is known only where the whole interval lies at chance or below."""
    verdicts, rule, said = COINS[case]
    found = answer(judged(verdicts(np.random.default_rng(4))))
    agreement = found.numbers["agreement.kappa"]
    assert (found.verdict.key, found.standing) == (f"check.verdict_{rule}", "refuted")
    against = agreement.high <= 0 and agreement.value <= -0.2  # half of what is asked
    assert against == (rule == "reversed")
    for language, expected in zip(("en", "pt"), said, strict=True):
        words = words_of(language)
        words.strict = True
        sentence = words.say(found.verdict)
        assert expected in sentence
        assert (
            "is no better than a coin" not in sentence
            and "não é melhor" not in sentence
        )


def test_labels_and_texts_have_digests_that_the_order_of_rows_leaves_alone() -> None:
    table = judged(GOOD)
    turned = Evidence(
        table.kind,
        table.verdicts,
        table.labels[::-1],
        table.items[::-1],
        categories=table.categories,
    )
    assert digests_of(table) == digests_of(turned)
    other = judged(
        GOOD, noisy(LABELS, 0.01, 1), {"text": [*TEXTS[:-1], "another text"]}
    )
    assert (
        digests_of(other)["labels"] != digests_of(table)["labels"]
        and digests_of(other)["items"] != digests_of(table)["items"]
    )
    assert digests_of(other)["judges"] == digests_of(table)["judges"]


@pytest.mark.parametrize("form", ["by id", "without ids", "choices"])
def test_the_order_of_the_rows_of_a_file_changes_no_number(form: str) -> None:
    side = np.array(["A", "B"])
    rows = pd.DataFrame(
        {
            "id": [f"i{n}" for n in range(N)],
            "text": TEXTS,
            "judge": noisy(LABELS, 0.2, 3),
        }
    )
    rows["ana"], rows["ben"] = LABELS, noisy(LABELS, 0.1, 4)
    rows["length"] = rows["text"].str.len()
    options = TableOptions(judge=("judge",), human=("ana", "ben"), text=("text",))
    if form == "without ids":
        rows = rows.drop(columns="id")
    elif form == "choices":
        both = [
            rows.assign(other=TEXTS[::-1], order=order)
            for order in ("as_given", "swapped")
        ]
        rows = pd.concat(
            [part.assign(judge=side[part["judge"].astype(int)]) for part in both]
        )
        rows[["ana", "ben"]] = side[rows[["ana", "ben"]].astype(int)]
        options = TableOptions(
            judge=("judge",),
            human=("ana", "ben"),
            text=("text", "other"),
            choices="given",
        )
    results = [
        check(read_table([table.reset_index(drop=True)], options), CheckOptions())
        for table in (rows, rows.sample(frac=1, random_state=1))
    ]
    (one,), (other,) = (result.judges for result in results)
    assert one.numbers == other.numbers and (one.verdict, one.rival) == (
        other.verdict,
        other.rival,
    )
    assert len(one.numbers) > 10 and "surface.accuracy" in one.numbers


def test_of_many_rows_without_ids_the_same_are_looked_at_whatever_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An item without an id is called after its row, so that only its text can choose it."""
    monkeypatch.setattr(surface_rival, "MOST_ITEMS", 60)
    rows = pd.DataFrame({"text": TEXTS, "judge": noisy(LABELS, 0.2, 3), "ana": LABELS})
    options = TableOptions(judge=("judge",), human=("ana",), text=("text",))
    numbers = []
    for table in (rows, rows.sample(frac=1, random_state=1), rows[::-1]):
        read = read_table([table.reset_index(drop=True)], options)
        (one,) = check(read, CheckOptions(only=("agreement", "surface"))).judges
        numbers.append(one.numbers)
    assert numbers[0] == numbers[1] == numbers[2]
    assert "surface.accuracy" in numbers[0]


def test_what_changed_limits_a_judge_and_one_that_is_not_believed_decides_nothing_alone() -> (
    None
):
    new, old = judged(GOOD), judged(np.where(np.arange(N) < 40, 0.0, GOOD))
    (now,) = check(new, CheckOptions(), old).judges
    assert (
        now.verdict.key == "check.verdict_limited" and now.verdict.values["limits"] == 2
    )
    assert "drift.verdicts_higher" in {noted.key for noted in now.findings}
    # the second has no texts
    for table, waits in (
        (new, False),
        (evidence_of("pass_fail", GOOD, LABELS), True),
    ):
        said = {noted.key for noted in answer(table, alpha=0.2).findings}
        assert ("check.alone_waits" in said, "alone.whole_all" in said) == (
            waits,
            not waits,
        )


@pytest.mark.parametrize("language", ["en", "pt"])
def test_grades_that_are_off_are_told_once_with_the_formula_that_converts_them(
    language: str,
) -> None:
    people = {
        rater: GRADES + np.random.default_rng(n).normal(0, 4, N)
        for n, rater in enumerate(("ana", "ben", "eva"))
    }
    table = evidence_of(
        "numeric", GRADES + NOISE / 3 + 20, people, {"text": TEXTS}, scale=(-50, 150)
    )
    off = answer(replace(table, selection="all"))
    limits = [noted for noted in off.findings if noted.weight is Weight.LIMITS]
    assert [limit.key for limit in limits] == [
        "kinds.grades_grades"
    ] and off.verdict.values["limits"] == 1
    line = limits[0].values["conversion"]
    assert line.slope == 1 and line.shift == pytest.approx(-20, abs=1)
    faces = next(n for n in off.findings if n.key == "check.faces").values["faces"]
    assert {"people.face_ceiling", "systems.face_mean", "alone.face_reach"} <= {
        face.key for face in faces
    }
    ceiling = next(face.values for face in faces if face.key == "people.face_ceiling")
    assert ceiling["converted"] > ceiling["judge"] + 0.1
    words = words_of(language)
    words.strict = True
    assert f"− {-line.shift:.1f}".replace(
        ".", "," if language == "pt" else "."
    ) in words.say(limits[0])
    assert all(map(words.say, faces))
    # What is wrong for another reason than the grades' level stays a limit of its own.
    loose = np.where(np.arange(N) % 4, 20, 45) + GRADES
    stays = answer(replace(table, verdicts=table.verdicts.assign(verdict=loose)))
    assert "people.ceiling_worse" in {
        n.key for n in stays.findings if n.weight is Weight.LIMITS
    }


def test_some_examinations_alone_give_their_numbers_and_no_answer() -> None:
    table = judged(GOOD, {"a": noisy(LABELS, 0.05, 1), "b": noisy(LABELS, 0.05, 2)})
    whole, part = answer(table), answer(table, only=("agreement", "ceiling"))
    assert (whole.standing, part.standing) == ("supported", "undecided")
    assert part.answer.key == "check.verdict_part" and part.answer.answer == "undecided"
    assert part.numbers == {name: whole.numbers[name] for name in part.numbers}
    assert {name.partition(".")[0] for name in part.numbers} == {"agreement", "people"}
    assert (part.n, part.groups) == (whole.n, whole.groups)
    assert part.rival.key == "check.rival_not_asked"
    assert part.settle is not None and part.settle.key == "check.settle_part"
    assert part.not_examined["surface"].key == "examination.not_asked"
    assert not {"agreement", "ceiling", "grades", "drift"} & part.not_examined.keys()
    for language in ("en", "pt"):
        words = words_of(language)
        said = [
            words.answered(part.answer),
            words.say(part.settle),
            words.say(part.rival),
        ]
        said += map(words.say, part.not_examined.values())
        assert all("--only" in sentence and "[" not in sentence for sentence in said)


MADE_BY = {
    "system": ["gpt-4", "claude-2"] * (N // 2),
    "slice.topic": ["a", "b", "c"] * (N // 3),
}
MADE_BY_BOTH = {
    f"system_{k}": MADE_BY["system"][:: 1 if k == 1 else -1] for k in (1, 2)
}
MARKS = np.random.default_rng(2).integers(1, 6, N).astype(float)
RATED = np.clip(np.round(MARKS + np.random.default_rng(3).normal(0, 0.4, N)), 1, 5)


PLANTED = [CLEAN if place % 2 else f"{DEFECT}loop" for place in range(N)]


def over_days(table: Evidence) -> Evidence:
    """The same with a day for each item."""
    days = pd.date_range("2026-03-01", periods=len(table.items))
    return replace(table, dates=pd.Series(days, index=table.items.index))


def with_test(table: Evidence) -> Evidence:
    """The same with an instrument test of its judge, in which nothing moved it."""
    day = pd.Timestamp("2026-03-01").date()
    figures = {"instrument.cue.date": Estimate(0.0, -0.1, 0.1)}
    shown = {"date": "no_effect"}
    test = InstrumentTest(
        "RUN", day, "Not yet.", figures, shown, 0.5, 4.0, {}, "ab", "cd"
    )
    return replace(table, instrument=test)


MANY: dict[str, Callable[[], tuple[Evidence, Evidence | None]]] = {
    "passes": lambda: (
        judged(
            {"gpt-4": GOOD, "llama": noisy(LABELS, 0.05, 4)},
            {"a": noisy(LABELS, 0.05, 1), "b": noisy(LABELS, 0.05, 2)},
            {"text": TEXTS, **MADE_BY},
        ),
        judged({"gpt-4": noisy(LABELS, 0.05, 7)}),
    ),
    "grades": lambda: (
        with_test(
            over_days(
                evidence_of(
                    "numeric", RATED, MARKS, {"text": TEXTS, "injected": PLANTED}
                )
            )
        ),
        None,
    ),
    "choices": lambda: (
        evidence_of("pairwise", CHOICES, LABELS, PAIR | MADE_BY_BOTH),
        None,
    ),
}


@pytest.mark.parametrize("what", MANY)
def test_a_yes_never_comes_without_all_that_could_speak_against_it(what: str) -> None:
    """Each that could is left out in turn; without those that could not, the answer is the same."""
    table, earlier = MANY[what]()
    whole = check(table, CheckOptions(), earlier).judges[0]
    assert whole.standing == "supported" and not whole.unasked
    view = replace(table, earlier=earlier).of(table.judges[0], table.criteria[0])
    could = [
        each.name
        for each in examination.OURS
        if each.decides and examination.lacking(each, view) is None
    ]
    assert {"agreement", "left_out", "surface", "slices", "labels"} < set(could)
    enough = check(table, CheckOptions(only=tuple(could)), earlier).judges[0]
    assert enough.answer == whole.answer and enough.rival == whole.rival
    for left in could:
        only = tuple(name for name in could if name != left)
        part = check(table, CheckOptions(only=only), earlier).judges[0]
        assert (part.standing, part.unasked) == ("undecided", [left])


def test_every_one_that_may_decide_is_left_out_in_turn() -> None:
    """So that none of ours is missing in the tables above."""
    could = set()
    for made in MANY.values():
        table, earlier = made()
        view = replace(table, earlier=earlier).of(table.judges[0], table.criteria[0])
        could |= {
            each.name
            for each in examination.OURS
            if each.decides and examination.lacking(each, view) is None
        }
    assert could == {each.name for each in examination.OURS if each.decides}


def test_who_asks_by_name_is_told_why_it_cannot_be_asked() -> None:
    """Also of what goes without saying else."""
    table = judged(GOOD)
    found = answer(
        table, only=("position", "grades", "strictness", "repeats")
    ).not_examined
    keys = {
        name: found[name].key
        for name in ("position", "grades", "strictness", "repeats")
    }
    assert keys == {
        "position": "examination.other_kind",
        "grades": "examination.other_kind",
        "strictness": "examination.no_raters",
        "repeats": "kinds.no_repeats",
    }
    assert not keys.keys() - {"repeats"} & answer(table).not_examined.keys()


def test_without_labels_it_is_still_said_that_there_are_none() -> None:
    """Nothing that was left out could have spoken of the agreement with people."""
    table = evidence_of("pass_fail", GOOD, (), {"text": TEXTS})
    found = answer(table, only=("left_out", "judge_mean", "agreement"))
    assert found.answer.key == "check.verdict_no_labels"
    assert found.not_examined["agreement"].key == "kinds.why_no_pairs"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("agrement", "Did you mean `agreement`"),
        ("zzz", "is no examination. There are: agre"),
    ],
)
def test_a_wrong_name_of_an_examination_is_named(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        answer(judged(GOOD), only=("agreement", name))


def test_what_promised_to_limit_nothing_may_not() -> None:
    def examine(view: Any, told: Told, options: CheckOptions) -> None:
        told.say("limits", weight=Weight.LIMITS)

    view = judged(GOOD).of("judge", "quality")
    mine = Examination("mine", examine, decides=False)
    with pytest.raises(ConfigError, match=r"`mine\.limits` has the weight LIMITS"):
        examination.ask([mine], view, CheckOptions(), Told())
    told = Told()
    examination.ask([replace(mine, decides=True)], view, CheckOptions(), told)
    assert [found.key for found in told.findings] == ["mine.limits"]


def test_examinations_are_asked_in_their_own_order() -> None:
    only = ("position", "agreement", "agreement")
    assert examination.chosen(only) == [kinds.AGREEMENT, position.POSITION]


@pytest.mark.parametrize("scope", ["criterion", "table"])
def test_what_is_told_of_all_judges_counts_for_the_one_that_it_names(
    scope: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine(view: Any, told: Told, options: CheckOptions) -> None:
        judges = [str(name) for name in view.table.judges]
        told.say("forbids", weight=Weight.REVERSES, judge=judges[-1])
        told.say("of_nobody", weight=Weight.REVERSES, judges=judges)

    mine = Examination("mine", examine, scope=scope)
    monkeypatch.setattr(examination, "installed", lambda: (mine,))
    table = judged({"one": GOOD, "other": noisy(LABELS, 0.05, 4)})
    one, other = check(table, CheckOptions()).judges
    assert one.standing == "supported" and other.answer.key == "check.verdict_reason"
    assert other.answer.values["reason"].key == "mine.forbids"


@pytest.mark.parametrize("declared", [False, True])
def test_a_judge_that_goes_the_other_way_is_a_question_where_nobody_said_which_end_is_good(
    declared: bool,
) -> None:
    rng = np.random.default_rng(8)
    worth = rng.uniform(1, 10, 60)
    frame = pd.DataFrame(
        {
            "judge": (11 - worth + rng.normal(0, 0.5, 60)).clip(1, 10).round(1),
            "human": (worth + rng.normal(0, 0.5, 60)).clip(1, 10).round(1),
            "text": [f"text {n} {rng.random()}" for n in range(60)],
        }
    )
    options = {"scale": "1-10"} if declared else {}
    (told,) = undogmatic.check(frame, judge="judge", human="human", **options).judges
    assert told.answer.key == f"check.verdict_{'reversed' if declared else 'turned'}"
    assert told.standing == ("refuted" if declared else "undecided")
    frame["turned"] = 11 - frame["judge"]
    (told,) = undogmatic.check(frame, judge="turned", human="human", **options).judges
    assert told.answer.key not in ("check.verdict_reversed", "check.verdict_turned")

"""The answer's three questions: does the judge agree with people, does it lead what does not read,
and does it share with people what goes beyond that, measured by what people share with each
other."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import merit
from benchmarks.check import World, table, turned
from undogmatic import check
from undogmatic.examinations.check import check as examine
from undogmatic.examinations.surface_rival import least_left
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Told, Weight
from undogmatic.report.check import words_of

INSULTS = "idiot moron fool clown liar coward scum pig rat loser".split()
PLAIN = "the room was paid late and nobody called again about our table near a window".split()
LANGUAGES = "en", "pt"


def _texts(toxic: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Texts of plain words, with an insult in nine of ten toxic and one of ten other ones."""
    texts = []
    for is_toxic in toxic:
        words = [str(word) for word in rng.choice(PLAIN, rng.integers(12, 40))]
        if rng.random() < (0.9 if is_toxic else 0.1):
            words.insert(int(rng.integers(len(words))), str(rng.choice(INSULTS)))
        texts.append(" ".join(words).capitalize() + ".")
    return texts


def _insults(n: int, seed: int, judge: str = "reads") -> Evidence:
    """Two people who mistake one text in twenty, and a judge that does as they do, or looks for
    insults."""
    rng = np.random.default_rng([seed, n])
    toxic = rng.integers(2, size=n)
    texts = _texts(toxic, rng)
    found = np.array(
        [int(any(word in text.lower() for word in INSULTS)) for text in texts]
    )
    said = turned(toxic, 0.05, rng) if judge == "reads" else found
    people = [turned(toxic, 0.05, rng) for _ in range(2)]
    return table(
        [World("made", texts, toxic, np.zeros(n, dtype=int))], {None: said}, people
    )


def _answer(evidence: Evidence, **options: Any) -> Told:
    (answer,) = examine(evidence, CheckOptions(**options)).judges
    for language in LANGUAGES:
        words = words_of(language)
        words.strict = True
        said = words.say(answer.verdict) + words.say(answer.rival)
        assert "{" not in said
    return answer


@pytest.mark.parametrize("n", [300, 900])
def test_more_labels_never_speak_against_a_judge_that_stays_as_good(n: int) -> None:
    """The more texts there are, the more of the labels a word counter foretells, and the less is
    left beside it of anybody's agreement, people's too."""
    answers = [_answer(_insults(n, seed)) for seed in range(3)]
    assert [answer.standing for answer in answers] == ["supported"] * 3
    shared = [answer.numbers["surface.shared"] for answer in answers]
    assert all(share.low > 0.5 and share.high > 0.9 for share in shared)


def test_a_judge_that_looks_for_words_shares_nothing_beyond_them() -> None:
    for seed in range(3):
        answer = _answer(_insults(300, seed, "looks for insults"))
        assert answer.verdict.key in ("check.verdict_surface", "check.verdict_follows")
        assert answer.numbers["surface.shared"].high < 0.5
        assert answer.numbers["surface.people_at_equal"].low > 0


@pytest.mark.parametrize(
    ("judge", "fewest", "most"), [("reads", 5, 6), ("looks for words", 0, 1)]
)
def test_two_people_and_few_texts_do_not_hide_a_list_of_rare_words(
    judge: str, fewest: int, most: int
) -> None:
    """A hundred texts teach a word counter little of sixteen words; but they say more of the judge
    that looks for them than of people."""
    told = [merit.answer(seed, "insults", judge, 100, 2) for seed in range(6)]
    assert fewest <= sum(one.standing == "supported" for one in told) <= most


def test_a_yes_of_few_texts_says_that_rare_words_were_not_learned() -> None:
    told = [
        merit.answer(seed, "insults", "looks for words", 60, 2) for seed in range(4)
    ]
    believed = [one for one in told if one.standing == "supported"]
    assert believed
    for one in believed:
        limits = [n.key for n in one.findings if n.weight is Weight.LIMITS]
        left = one.numbers["surface.at_equal"]
        assert ("surface.unlearned" in limits) == (left.low <= least_left(60))


def _frame(
    judge: np.ndarray, people: list[np.ndarray], rng: np.random.Generator
) -> pd.DataFrame:
    texts = _texts(rng.integers(2, size=judge.size), rng)
    columns = {f"person_{k}": own for k, own in enumerate(people)}
    return pd.DataFrame({"text": texts, "judge": judge} | columns)


def _checked(frame: pd.DataFrame, **options: Any) -> Told:
    people = [str(name) for name in frame if str(name).startswith("person")]
    return check(
        frame, judge="judge", human=people, text="text", kind="pass_fail", **options
    ).judges[0]


def _noisy(truth: np.ndarray, wrong: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(truth.size) < wrong, 1 - truth, truth)


def test_people_who_do_not_agree_refute_nobody() -> None:
    """A judge as good as the people, who mistake three labels in ten."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=400)
    people = [_noisy(truth, 0.3, rng) for _ in range(4)]
    answer = _checked(_frame(_noisy(truth, 0.3, rng), people, rng))
    assert (answer.verdict.key, answer.standing) == (
        "check.verdict_labels",
        "undecided",
    )
    values = answer.verdict.values
    assert values["truth"] == pytest.approx(values["people"] ** 0.5)
    assert "a judge that knew the truth" in words_of("en").say(answer.verdict)


def test_a_coin_is_refuted_where_people_agree() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=400)
    people = [_noisy(truth, 0.05, rng) for _ in range(3)]
    answer = _checked(_frame(rng.integers(2, size=400), people, rng))
    assert (answer.verdict.key, answer.standing) == ("check.verdict_coin", "refuted")


def test_a_judge_that_knows_better_than_single_people_is_believed_below_the_usual_limit() -> (
    None
):
    """It agrees with single people more than they do with each other, though less than .4."""
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=1200)
    people = [_noisy(truth, 0.33, rng) for _ in range(4)]
    answer = _checked(_frame(_noisy(truth, 0.03, rng), people, rng))
    assert answer.standing == "supported", answer.verdict.key
    assert answer.verdict.values["enough"].key == "check.enough_as_people"
    for language in LANGUAGES:
        assert "{" not in words_of(language).say(answer.verdict)


def test_a_stated_margin_lets_a_judge_be_as_good_as_people() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(2, size=1500)
    people = [_noisy(truth, 0.27, rng) for _ in range(4)]
    frame = _frame(_noisy(truth, 0.27, rng), people, rng)
    assert _checked(frame).standing == "undecided"
    assert _checked(frame, margin=0.1).standing == "supported"


def test_a_person_in_the_judges_place_is_believed_as_the_judge_is() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(2, size=300)
    frame = _frame(truth, [_noisy(truth, 0.08, rng) for _ in range(4)], rng)
    frame["judge"] = frame.pop("person_0")
    assert _checked(frame).standing == "supported"


def test_where_people_share_nothing_beyond_words_the_answer_says_so() -> None:
    """People look for insults and mistake a few; the judge does so without a mistake, so it leads
    what a counter learns of them, but nothing shows that it reads."""
    rng = np.random.default_rng(6)
    toxic = rng.integers(2, size=500)
    texts = _texts(toxic, rng)
    found = np.array(
        [int(any(word in text.lower() for word in INSULTS)) for text in texts]
    )
    people = [turned(found, 0.2, rng) for _ in range(2)]
    made = World("made", texts, toxic, np.zeros(500, dtype=int))
    answer = _answer(table([made], {None: found}, people))
    assert answer.standing != "refuted"
    assert answer.numbers["surface.people_at_equal"].low <= 0
    if answer.standing == "supported":
        assert "surface.unmeasured" in {finding.key for finding in answer.findings}

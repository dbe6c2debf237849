"""Surface and length as rivals: judges of the surface are not believed beyond it, and a judge of
something else is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import paired_run
from tests.examinations.conftest import words_of
from undogmatic.constructs.shame.curated import CuratedDataset, development_texts
from undogmatic.errors import ConfigError
from undogmatic.examinations import rivals
from undogmatic.examinations.pairs import match
from undogmatic.examinations.rivals import (
    LabelledRival,
    Matched,
    PairSettings,
    Rival,
    Seen,
    control,
    labelled_rival,
)
from undogmatic.examinations.truth import Margin
from undogmatic.readouts.decision import Rivals
from undogmatic.records.results import Told
from undogmatic.stats.claims import Claim
from undogmatic.stats.confound import AtEqual
from undogmatic.stats.estimate import Estimate

SETTINGS = PairSettings(1, Margin(10, "rubric", np.inf))
LIMITED = SETTINGS._replace(margin=Margin(10, "rubric", 100))
T, B = "naked", "explained"
FIELD, TFIDF = (
    f"undogmatic.constructs.shame.patterns.{name}" for name in ("count", "TfidfModel")
)
Judge = Callable[[str], float]


ENOUGH = rivals.FEWEST_GROUPS


def _rival(
    first: Sequence[str],
    second: Sequence[str],
    a: np.ndarray,
    b: np.ndarray,
    seed: int = 0,
    settings: PairSettings = SETTINGS,
) -> Rival:
    groups = list(range(len(first)))
    sides = (
        pd.DataFrame({"text": t, "score": s, "group": groups})
        for t, s in ((first, a), (second, b))
    )
    return rivals.paired_rival(*sides, settings, np.random.default_rng(seed))


def _told(name: str, say: Callable[..., None], *found: Any) -> list[str]:
    """The keys of what is told of it, all of which has words in both languages."""
    tell = Told(name)
    say(tell, *found)
    assert all(
        words_of(language).say(finding)
        for finding in tell.findings
        for language in ("en", "pt")
    )
    return [finding.key for finding in tell.findings]


def _said(rival: Rival) -> list[str]:
    return _told("ab", rivals.say_rival, rival, SETTINGS)


def _texts(rng: np.random.Generator, n: int) -> list[str]:
    return [_text(rng) for _ in range(n)]


def _text(rng: np.random.Generator) -> str:
    """Words of random letters with commas, capitals and digits."""

    def marked(word: str) -> str:
        u = rng.random()
        if u < 0.15:
            return word.capitalize()
        return (
            f"{word}," if u < 0.3 else str(rng.integers(1, 999)) if u < 0.35 else word
        )

    words = [
        "".join(rng.choice(list("abcdeiou"), rng.integers(1, 10)))
        for _ in range(rng.integers(20, 70))
    ]
    return " ".join(map(marked, words)) + "."


SURFACE: dict[str, Judge] = {
    "capitals": lambda t: float(sum(c.isupper() for c in t)),
    "length bent at 170": lambda t: abs(len(t) - 170) / 2,
    "word length": lambda t: len(t) / len(t.split()),
    "share of e": lambda t: t.count("e") / len(t),
    "commas times words": lambda t: float(t.count(",") * len(t.split())),
}


@pytest.mark.parametrize("name", SURFACE)
def test_a_judge_of_the_surface_is_not_beyond_it(name: str) -> None:
    """Of every two texts the one that the judge puts higher is the treatment, with a mean
    difference of 25."""
    made, judge = _texts(np.random.default_rng(0), 80), SURFACE[name]
    low, high = zip(
        *(sorted(pair, key=judge) for pair in zip(made[:40], made[40:], strict=True)),
        strict=True,
    )
    a, b = (np.array([judge(text) for text in side]) for side in (high, low))
    scale = 25 / np.mean(a - b)
    found = _rival(high, low, a * scale, b * scale)
    assert found.outcome in ("surface_as_good", "surface_explains", "open")
    assert found.at_equal is not None and found.at_equal.raw == pytest.approx(25)
    assert found.at_equal.difference.estimate.low < 10
    assert found.share is not None and found.increment is not None
    gain = found.increment
    assert (
        0 <= found.share.low <= found.share.high <= 1
        and -1 <= gain.low <= gain.high <= 1
    )


def test_a_tie_of_the_judge_is_no_point_for_the_surface() -> None:
    """A judge in steps ties in half of the pairs and is right in the others; the surface orders all
    of them."""
    rng = np.random.default_rng(4)
    short = _texts(rng, 40)
    long = [f"{text} {text} {_text(rng)}" for text in short]
    prefers = np.arange(40) % 2 == 0
    found = _rival(long, short, np.where(prefers, 75.0, 50.0), np.full(40, 50.0))
    assert (
        found.share is not None
        and found.share.value == 1
        and found.increment is not None
    )
    assert found.increment.value == 0


def test_a_judge_of_something_else_is_beyond_the_surface_where_that_is_balanced() -> (
    None
):
    outcomes = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        first, second = (_texts(rng, 46) for _ in range(2))
        topic = rng.normal(40, 10, 46)
        found = _rival(
            first,
            second,
            topic + 20 + rng.normal(0, 10, 46),
            topic + rng.normal(0, 10, 46),
            seed,
        )
        outcomes.append(found.outcome)
        assert found.at_equal is not None
        assert (
            found.at_equal.difference.estimate.low
            < 20
            < found.at_equal.difference.estimate.high + 3
        )
    assert outcomes.count("beyond_surface") >= 2


def test_on_the_old_pairs_no_judge_can_be_told_from_a_word_counter() -> None:
    """A perfect judge, even: their naked side is other in every count."""
    items = CuratedDataset(parts=["theses"]).load()
    sides = [
        [i.text for i in items if i.condition == c]
        for c in ("authority_only", "explained_only")
    ]
    noise = np.random.default_rng(0).normal(0, 5, (2, len(sides[0])))
    found = _rival(*sides, 80 + noise[0], 20 + noise[1])
    assert found.outcome == "surface_as_good"
    assert found.share is not None and found.share.value > 0.95
    assert found.at_equal is not None and found.at_equal.extrapolated


def test_without_texts_or_pairs_it_says_what_is_missing() -> None:
    same = _rival(["a"] * 10, ["a"] * 10, np.arange(10.0) + 20, np.arange(10.0))
    # Of fewer pairs a word counter learns too little: judges of one count passed for more than one.
    n = ENOUGH - 1
    some = _texts(np.random.default_rng(0), 2 * n)
    few = _rival(some[:n], some[n:], np.arange(n) + 20.0, np.arange(n) * 1.0)
    assert (same.outcome, same.share, _said(same)[0]) == (
        "no_texts",
        None,
        "ab.surface_no_texts",
    )
    assert (few.outcome, few.share, _said(few)[0]) == (
        "open",
        None,
        "ab.surface_too_few",
    )


def test_equal_scores_throughout_break_nothing() -> None:
    texts = _texts(np.random.default_rng(0), 2 * ENOUGH)
    sides = texts[:ENOUGH], texts[ENOUGH:]
    found = _rival(*sides, np.full(ENOUGH, 50.0), np.full(ENOUGH, 50.0))
    assert found.outcome in ("open", "surface_as_good")
    steady = _rival(*sides, np.full(ENOUGH, 90.0), np.full(ENOUGH, 10.0))
    assert steady.at_equal is not None and steady.at_equal.raw == 80


def test_of_many_pairs_whole_groups_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "MOST_TEXTS", 2 * ENOUGH)
    texts = _texts(np.random.default_rng(1), 100)
    found = _rival(texts[:50], texts[50:], np.arange(50.0) + 20, np.arange(50.0))
    assert (found.n_pairs, found.n_drawn) == (
        50,
        ENOUGH,
    ) and "ab.surface_drawn" in _said(found)


N = 80


def _labelled(
    texts: Sequence[str],
    scores: Any,
    labels: Any,
    rng: np.random.Generator,
    **fields: Any,
) -> LabelledRival:
    seen = Seen(known=fields.get("known"))
    return labelled_rival(
        list(texts), scores, labels, fields.get("groups", range(len(texts))), rng, seen
    )


def test_a_judge_of_the_surface_where_labels_follow_the_surface() -> None:
    rng = np.random.default_rng(0)
    texts = _texts(rng, N)
    capitals = np.array([SURFACE["capitals"](t) for t in texts])
    found = _labelled(texts, capitals, capitals + rng.normal(0, 3, N), rng)
    assert found.outcome in ("surface_as_good", "surface_explains")
    assert found.correlation is not None and found.correlation > 0.4


def test_a_judge_of_words_that_learned_elsewhere_is_met_by_one_that_did() -> None:
    """Here its words are as good as random: 80 texts cannot teach which of them count."""
    rng = np.random.default_rng(7)
    worth = {text: float(rng.uniform(0, 100)) for text in _texts(rng, N)}
    scores = np.array(list(worth.values()))
    labels = scores + rng.normal(0, 15, N)
    alone = _labelled(list(worth), scores, labels, rng)
    met = _labelled(
        list(worth),
        scores,
        labels,
        rng,
        known=lambda t: np.array([[worth[one]] for one in t]),
    )
    assert (alone.outcome, met.outcome) == ("beyond_surface", "surface_explains")


def test_a_judge_that_knows_more_and_one_of_noise() -> None:
    rng, other = np.random.default_rng(3), np.random.default_rng(4)
    texts, labels = _texts(rng, N), rng.uniform(0, 100, N)
    found = _labelled(texts, labels + rng.normal(0, 20, N), labels, rng)
    assert found.outcome == "beyond_surface"
    texts, labels = _texts(other, N), other.uniform(0, 100, N)
    assert (
        _labelled(texts, other.normal(size=N), labels, other).outcome
        != "beyond_surface"
    )


def test_what_is_missing_of_labels() -> None:
    rng = np.random.default_rng(5)
    texts = _texts(rng, N)
    flat = _labelled(texts, np.full(N, 5.0), rng.normal(size=N), rng)
    same = _labelled(["a"] * 20, np.arange(20.0), np.arange(20.0), rng)
    one = _labelled(texts, np.arange(80.0), np.arange(80.0), rng, groups=["one"] * N)
    assert [found.outcome for found in (flat, same, one)] == [
        "open",
        "no_texts",
        "open",
    ] and flat.increment is None


def test_every_sentence_can_be_said_and_every_count_has_a_name() -> None:
    rng = np.random.default_rng(6)
    texts = _texts(rng, 2 * ENOUGH)
    scores = rng.normal(40, 5, ENOUGH), rng.normal(20, 5, ENOUGH)
    found = _rival(texts[:ENOUGH], texts[ENOUGH:], *scores)
    at = found.at_equal
    assert at is not None and found.increment is not None
    moved = {
        "foreseen": 0.1,
        "moved": at.moved._replace(estimate=Estimate(9.0, 8.0, 10.0)),
    }
    cases = [
        (15, 27, {}),
        (-9, 3, {}),
        (5, 17, {}),
        (15, 27, {"extrapolated": True}),
        (12, 20, moved),
    ]
    for low, high, changes in cases:
        difference = at.difference._replace(
            estimate=Estimate((low + high) / 2, low, high)
        )
        changed = {
            "difference": difference,
            "foreseen": 1.0,
            "extrapolated": False,
        } | changes
        said = _said(found._replace(at_equal=at._replace(**changed)))
    assert said[-1] == "ab.surface_unforeseen"
    for language in ("en", "pt"):
        assert all(
            words_of(language).find(f"ab.names.{name}") for name in Seen(FIELD).columns
        )


def test_a_word_counter_that_was_fitted_elsewhere_is_known_by_its_name() -> None:
    """TF-IDF fitted to the development texts follows the labels of the test texts better than one
    fitted to these."""
    items = CuratedDataset(parts=["labelled"], split="test").load()
    texts = [item.text for item in items]
    known = Rivals([TFIDF])(texts)
    assert known is not None
    labels = np.array([item.label for item in items], dtype=np.float64)
    honest = labels + np.random.default_rng(1).normal(0, 12, labels.size)
    for scores, outcome in (
        (100 * known(texts)[:, 0], "surface_explains"),
        (honest, "beyond_surface"),
    ):
        found = _labelled(
            texts, scores, labels, np.random.default_rng(0), groups=texts, known=known
        )
        assert found.outcome == outcome


def test_a_rival_that_has_seen_a_text_of_the_run_is_none_and_one_that_rates_no_texts_is_named() -> (
    None
):
    assert Rivals([TFIDF])(["another", development_texts()[0][0]]) is None
    assert Rivals([])(["another"]) is None
    with pytest.raises(ConfigError, match=r"rubric\.rivals"):
        Rivals(["undogmatic.judges.score.ScoreJudge"]).check()


def test_the_words_of_a_field_count_where_the_rubric_names_them_and_nowhere_else() -> (
    None
):
    rng = np.random.default_rng(4)
    plain = _texts(rng, ENOUGH)
    cited = [f"{text} Tema 123 do STF, súmula 7." for text in plain]
    columns = Seen(FIELD).columns
    assert set(columns) - set(Seen().columns) == {
        "citations",
        "boosters",
        "hedges",
        "explanations",
    }
    assert Seen(FIELD).similarities(cited)[0].shape == (ENOUGH, 4)
    assert Seen().similarities(cited)[0].shape == (ENOUGH, 0)
    found = _rival(cited, plain, rng.normal(60, 5, ENOUGH), rng.normal(40, 5, ENOUGH))
    assert found.most_telling and set(found.most_telling) <= set(Seen().columns)


@pytest.mark.parametrize(
    "wrong",
    [
        "os.remove",
        "undogmatic.safety.files.write",
        "undogmatic.constructs.shame.patterns.PatternsModel",
        "count",
    ],
)
def test_what_counts_no_words_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"rubric\.field_words"):
        Seen(wrong).similarities(["a text"])


def _claim(low: float, high: float) -> Claim:
    return Claim(
        "open",
        Estimate((low + high) / 2, low, high, n_groups=40),
        (low, high),
        10.0,
        None,
    )


SAME = "all pairs are of one length"
BEYOND, BELOW, OPEN = (15.0, 25.0), (-3.0, 6.0), (5.0, 25.0)


def _check(limits: tuple[float, float], extrapolated: bool = False) -> AtEqual:
    return AtEqual(20.0, _claim(*limits), _claim(-1, 1), 0.1, extrapolated)


def _matched(limits: tuple[float, float], telling: bool = True) -> Matched:
    return Matched(20, 0.0, _claim(*limits), telling)


@pytest.mark.parametrize(
    ("check", "matched", "expected"),
    [
        (_check(BEYOND), None, "survives"),
        (_check(BEYOND), _matched(BEYOND), "survives"),
        # Every check that the data allow must hold: one that does not is enough.
        (_check(BEYOND), _matched(BELOW), "confounded"),
        (_check(BELOW), _matched(BEYOND), "confounded"),
        (_check(BEYOND), _matched(OPEN), "open"),
        (_check(OPEN), _matched(BEYOND), "open"),
        # Matched pairs that are too few to tell decide nothing, either way.
        (_check(BEYOND), _matched(BELOW, telling=False), "survives"),
        (_check(BELOW), _matched(BEYOND, telling=False), "confounded"),
        (None, _matched(BEYOND, telling=False), "inseparable"),
        # Nor does a line drawn to where no pair is.
        (_check(BELOW, extrapolated=True), _matched(BEYOND), "survives"),
        (_check(BEYOND, extrapolated=True), None, "inseparable"),
        # Not significant is not "not there".
        (_check(OPEN), None, "open"),
        (None, None, "inseparable"),
        (SAME, None, "survives"),
        (SAME, _matched(BELOW), "confounded"),
    ],
)
def test_all_checks_that_count_must_hold(
    check: Any, matched: Matched | None, expected: rivals.Control
) -> None:
    same = check == SAME
    assert control(None if same else check, matched, LIMITED, same) == expected


def test_the_expected_side_may_be_the_lower() -> None:
    assert control(_check((-25, -15)), None, LIMITED._replace(sign=-1)) == "survives"
    assert control(_check((-25, -15)), None, LIMITED) == "confounded"


def _match(
    counts: dict[str, list[int]], scores: dict[str, list[float]], **fields: Any
) -> Matched | None:
    judged = paired_run(scores, lengths=counts, **fields)
    return rivals.check_matched(*match(judged, (T, B)).between(T, B), LIMITED)


def _scores(seed: int, spread: float, n: int) -> dict[str, list[float]]:
    """About 60 on one side and 30 on the other."""
    rng = np.random.default_rng(seed)
    return {
        side: (mean + rng.normal(0, spread, n)).tolist()
        for side, mean in ((T, 60), (B, 30))
    }


def test_matches_are_computed_from_the_texts_whatever_the_metadata_say() -> None:
    counts = {T: [9] * 10 + [20] * 10, B: [10] * 10 + [40] * 10}
    found = _match(
        counts,
        _scores(1, 5, 20),
        metadata={"length_matched": [False] * 10 + [True] * 10},
    )
    assert found is not None and (found.n, found.telling) == (10, True)
    assert found.difference is not None and found.difference.outcome == "beyond"


def test_few_matched_pairs_are_not_telling_and_pairs_of_one_group_are_one_unit() -> (
    None
):
    found = _match(
        {T: [10] * 4 + [20] * 36, B: [10] * 4 + [40] * 36}, _scores(2, 15, 40)
    )
    assert found is not None and (found.n, found.telling) == (4, False)
    assert _match({T: [10] * 5, B: [30] * 5}, {T: [60.0] * 5, B: [30.0] * 5}) is None
    groups = {"group": [f"g{n // 4}" for n in range(12)]}
    found = _match({T: [10] * 12, B: [10] * 12}, _scores(3, 5, 12), metadata=groups)
    assert found is not None and found.difference is not None
    assert (found.difference.estimate.n_groups, found.telling) == (3, False)


def test_eight_matched_pairs_do_not_hold_back_a_good_judge() -> None:
    """The interval of eight noisy differences is so wide that it would be open whatever the judge
    is worth."""
    counts = {T: [10] * 8 + [20] * 20 + [40] * 18, B: [10] * 8 + [40] * 20 + [20] * 18}
    found = []
    for rng in map(np.random.default_rng, range(40)):
        scores = {
            c: np.clip(50 + d + rng.normal(0, 20, 46), 0, 100).tolist()
            for c, d in ((T, 35), (B, -35))
        }
        found.append(control(_check(BEYOND), _match(counts, scores), LIMITED))
    assert found.count("survives") >= 37


def test_matched_pairs_that_all_agree_on_nothing_are_telling() -> None:
    """A judge that tells only texts above a length from those below scores pairs of equal length
    alike."""
    counts = {T: [10] * 20 + [40] * 40, B: [10] * 20 + [20] * 40}
    found = _match(counts, {T: [30.0] * 20 + [70.0] * 40, B: [30.0] * 60})
    assert found is not None and found.telling
    assert control(_check(BEYOND), found, LIMITED) != "survives"


def test_one_matched_pair_is_said_without_an_interval() -> None:
    found = _match(
        {T: [10, 10, 10], B: [10, 30, 30]}, {T: [60.0, 50, 55], B: [30.0, 20, 25]}
    )
    assert found is not None and (found.n, found.difference, found.telling) == (
        1,
        None,
        False,
    )
    assert _told("ab", rivals.say_matched, found, LIMITED) == ["ab.matched_alone"]


@pytest.mark.parametrize("asked", [False, True])
def test_a_judge_of_words_that_learned_elsewhere_is_met_by_one_that_did_on_pairs(
    asked: bool,
) -> None:
    """Forty pairs cannot teach which words count; a model that was fitted elsewhere knows."""
    rng = np.random.default_rng(7)
    texts = _texts(rng, 80)
    worth = {text: float(rng.uniform(0, 100)) for text in texts}
    low, high = zip(
        *(
            sorted(pair, key=worth.__getitem__)
            for pair in zip(texts[:40], texts[40:], strict=True)
        ),
        strict=True,
    )
    a, b = (np.array([worth[text] for text in side]) for side in (high, low))
    seen = Seen(
        known=(lambda read: np.array([[worth[text]] for text in read]))
        if asked
        else None
    )
    found = _rival(high, low, a, b, settings=SETTINGS._replace(seen=seen))
    assert (found.outcome == "beyond_surface") is not asked
    assert found.elsewhere is asked
    assert ("ab.surface_elsewhere" in _said(found)) is asked


def test_a_model_that_was_fitted_elsewhere_and_knows_nothing_hinders_no_judge() -> None:
    rng = np.random.default_rng(5)
    texts = _texts(rng, 80)
    noise = {text: float(rng.uniform(0, 100)) for text in texts}
    topic = rng.normal(40, 10, 40)
    a, b = topic + 25 + rng.normal(0, 8, 40), topic + rng.normal(0, 8, 40)
    seen = Seen(known=lambda read: np.array([[noise[text]] for text in read]))
    found = _rival(texts[:40], texts[40:], a, b, settings=SETTINGS._replace(seen=seen))
    assert found.outcome == "beyond_surface"

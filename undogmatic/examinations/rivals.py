"""Examines what else could explain scores: the length of the texts, or all that a word counter
sees.

The surface judge (`stats.surface`) sees what can be counted in a text: lengths, capitals, digits,
punctuation, kinds of words, characters, n-grams. It is fitted anew in every run, and predicts each
group from the others.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.examinations.pairs import Pairs, numbers
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import texts_of
from undogmatic.examinations.truth import Margin, units
from undogmatic.records.results import Told
from undogmatic.safety.imports import counter
from undogmatic.stats import (
    agreement,
    checks,
    confound,
    jackknife,
    means,
    paired,
    surface,
)
from undogmatic.stats.checks import Array, Groups, Rng
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.confound import AtEqual
from undogmatic.stats.estimate import Estimate

Outcome = Literal[
    "beyond_surface", "surface_as_good", "surface_explains", "open", "no_texts"
]
Sides = tuple[pd.DataFrame, pd.DataFrame]
Control = Literal["survives", "confounded", "open", "inseparable"]
"""At equal length the difference is shown to be beyond the margin, shown to be below it, or
neither; "inseparable" where the texts allow no control."""

UNITS = ("characters", "words")
MATCHED = 0.10
"""The texts of a pair are of equal length if they differ by at most this share of the longer one,
in characters."""
SURE = 1.645
"""Standard errors by which chance lowers a mean in one of twenty runs."""
MOST_TEXTS = 600
"""Most texts that the surface judge is fitted and tested on; of more, whole groups are drawn at
random. Time grows with the cube."""
FEWEST_GROUPS = 30
"""Fewest groups of pairs for a rival of their own. Of fewer it learns too little: three judges of
one count were taken for beyond it in 24, 21 and 14 % of samples of 20 pairs, in 1, 15 and 8 % of
30, and in 0, 10 and 0 % of 46 (benchmarks/rivals.py)."""
FEWEST_TEXTS = 10
"""Fewest groups of labelled texts for a rival of their own."""
SMALL_CORRELATION = 0.1
"""What a rank correlation must exceed to be more than a small one (Cohen 1988, p. 79)."""


class Seen(NamedTuple):
    """What the surface judge sees beside what any text has: the words of the rubric's field
    (`Rubric.field_words`), and what models that were fitted elsewhere say
    (`RunEvidence.known_surface`), shape (n_texts, n_models).
    """

    field_words: str | None = None
    known: Callable[[Sequence[str]], Array] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all that it counts."""
        if self.field_words is None:
            return tuple(surface.COUNTS)
        return (*surface.COUNTS, *counter(self.field_words, "rubric.field_words")[1])

    def told(self, texts: Sequence[str]) -> Array:
        """What the models say that were fitted elsewhere, shape (n_texts, n_models)."""
        return np.empty((len(texts), 0)) if self.known is None else self.known(texts)

    def similarities(self, texts: Sequence[str]) -> tuple[Array, list[Array]]:
        """Counts of the field's words, shape (n_texts, k), and the kernels of the surface with
        them."""
        counted, similar = _similar(tuple(texts), self.field_words)
        return counted, (
            similar
            if self.known is None
            else [*similar, surface.additive(self.known(texts))]
        )


class PairSettings(NamedTuple):
    """How to compare. `sign` is +1 if the first condition is expected to score higher, else -1.

    `level` is that of intervals which describe, 1 - `alpha` that of the mean difference by which a
    verdict is reached; `seen` is what the surface judge sees.
    """

    sign: int
    margin: Margin
    level: float = 0.95
    alpha: float = 0.05
    power: float = 0.8
    zero_method: paired.ZeroMethod = "pratt"
    seen: Seen = Seen()

    @property
    def bounds(self) -> means.Bounds:
        """The lowest and highest difference that scores could have."""
        return -self.margin.span, self.margin.span

    def turned(self, estimate: Estimate) -> Estimate:
        """An estimate of first minus second as one in the expected direction, and the other way
        round."""
        return estimate if self.sign > 0 else -estimate

    def held(self, difference: Claim) -> Literal["beyond", "below", "open"]:
        """Where the whole interval lies: beyond the margin on the expected side, below it, or on
        both sides of it."""
        low, high = self.turned(difference.estimate).interval
        return (
            "beyond"
            if low > self.margin.value
            else "below"
            if high < self.margin.value
            else "open"
        )


class Matched(NamedTuple):
    """The pairs of equal length alone; `telling` says whether they are enough to find the
    difference of all pairs beyond the margin. `difference` is None for fewer than two groups."""

    n: int
    mean: float
    difference: Claim | None
    telling: bool


class Rival(NamedTuple):
    """The surface judge on matched pairs.

    It is the one that was fitted to the other pairs, or the model that was fitted to this construct
    elsewhere (`elsewhere`), whichever the judge leads by less. `share` is how many pairs it orders,
    ties counting half; where that is less than half, or its predictions are no nearer to the truth
    than none, the rival is a coin.
    `increment` is the share of pairs that the judge orders as expected minus the share that the
    rival does (ties half), both among those in which the judge prefers a text. `at_equal` is the
    judge's difference between texts of equal surface, None where the groups give it no error.
    `most_telling` are the counts that are most often on one side (in-sample: a description). All
    are None where the texts do not differ ("no_texts") or there are fewer than FEWEST_GROUPS groups
    ("open").
    """

    outcome: Outcome
    n_pairs: int
    n_drawn: int
    share: Estimate | None = None
    increment: Estimate | None = None
    at_equal: AtEqual | None = None
    most_telling: Sequence[str] = ()
    elsewhere: bool = False


def at_equal_length(
    first: pd.DataFrame,
    second: pd.DataFrame,
    unit: str,
    settings: PairSettings,
    rng: Rng,
) -> AtEqual | None:
    """What remains of the difference between the sides of complete pairs at equal length, in one
    unit.

    None where no regression exists: too few pairs, one length ratio throughout, one pair that fixes
    the slope.
    """
    a, b, size_a, size_b = (
        numbers(side, column) for column in ("score", unit) for side in (first, second)
    )
    shared: dict[str, Any] = {
        "sign": settings.sign,
        "alpha": settings.alpha,
        "bounds": settings.bounds,
    }
    try:
        return confound.at_equal_length(
            a,
            b,
            size_a,
            size_b,
            settings.margin.value,
            rng,
            groups=units(first),
            **shared,
        )
    except ValueError:
        return None


def check_matched(
    first: pd.DataFrame, second: pd.DataFrame, settings: PairSettings
) -> Matched | None:
    """The pairs of equal length (MATCHED) alone, or None if there is none.

    They are telling if, with the mean difference of all pairs and the spread that these have around
    their own mean, the interval that decides about them would lie beyond the margin by so much that
    chance moves it below in one of twenty runs: the interval of few values is far wider than power
    formulas for tests know. Enough pairs that all agree on a difference which is not beyond the
    margin are telling, too.
    """
    size_a, size_b = numbers(first, "characters"), numbers(second, "characters")
    near = np.abs(size_a - size_b) <= MATCHED * np.maximum(size_a, size_b)
    if not near.any():
        return None
    everything = numbers(first, "score") - numbers(second, "score")
    d, groups, margin = everything[near], units(first[near]), settings.margin.value
    mean, n_groups = float(d.mean()), len(set(groups))
    # One group has no spread of its own.
    if n_groups < 2:
        return Matched(d.size, mean, None, False)
    shared: dict[str, Any] = {
        "sign": settings.sign,
        "alpha": settings.alpha,
        "groups": groups,
    }
    likely = claim(d - d.mean() + everything.mean(), margin, **shared)
    telling = (
        settings.turned(likely.estimate).low - SURE * likely.sd / math.sqrt(n_groups)
        > margin
    )
    # Equal differences have no spread, so that the formula would call any of them
    # telling.
    if float(np.ptp(d)) <= checks.SAME * float(np.abs(everything).max()):
        telling = settings.sign * mean <= margin
    return Matched(
        d.size, mean, claim(d, margin, **shared), telling and n_groups >= likely.fewest
    )


def control(
    at_equal: AtEqual | None,
    matched: Matched | None,
    settings: PairSettings,
    same: bool = False,
) -> Control:
    """Whether a difference beyond the margin is one at equal length, too: every check that the data
    allow must hold, and there must be one. `same`: all pairs are of one length."""
    places: list[str] = ["beyond"] if same else []
    if not same and at_equal is not None and not at_equal.extrapolated:
        places.append(settings.held(at_equal.difference))
    if matched is not None and matched.telling and matched.difference is not None:
        places.append(settings.held(matched.difference))
    # Every control that the data allow must hold; one that is shown not to is enough to
    # say that length explains the difference.
    if "below" in places:
        return "confounded"
    return "inseparable" if not places else "open" if "open" in places else "survives"


def paired_rival(
    first: pd.DataFrame, second: pd.DataFrame, settings: PairSettings, rng: Rng
) -> Rival:
    """Hold the judge's differences against a surface judge that predicts which text of a pair is
    the treatment.

    Args:
        first, second: The sides of the complete pairs: columns `text`, `score` and `group`.
        settings: How they are compared, and what the surface judge sees.
        rng: Draws the groups where there are more than MOST_TEXTS texts, and deals them to folds.
    """
    n_pairs, alpha = len(first), settings.alpha
    # Two texts for each pair.
    kept = drawn(first["group"].to_numpy(dtype=object), MOST_TEXTS // 2, rng)
    first, second = first[kept], second[kept]
    texts = [*texts_of(first), *texts_of(second)]
    n, codes = len(first), pd.factorize(first["group"])[0]
    if len(set(texts)) < 2 or codes.max() + 1 < FEWEST_GROUPS:
        return Rival("no_texts" if len(set(texts)) < 2 else "open", n_pairs, n)
    counted, similar = settings.seen.similarities(texts)
    between = [
        surface.contrast(kernel, np.arange(n), np.arange(n, 2 * n))
        for kernel in similar
    ]
    # The target is 1 for every pair, since first minus second always has the sign that
    # is expected; without an intercept, as otherwise the constant would foretell it.
    learned = surface.predict(between, np.ones(n), codes, rng, intercept=False)
    a, b = numbers(first, "score"), numbers(second, "score")
    told = np.subtract(*np.split(settings.seen.told(texts), 2))
    judge = _ordered(settings.sign * (a - b))
    ends: dict[str, Any] = {"alpha": alpha, "groups": codes, "bounds": (-1.0, 1.0)}
    of_learned = _ordered(learned)
    # A counter that orders fewer pairs than a coin has learned nothing. To beat it
    # would be no merit.
    against_coin = np.mean(of_learned) < 0.5 or np.mean((1 - learned) ** 2) >= 1
    asked = [(of_learned, bool(against_coin))]
    asked += [(_ordered(settings.sign * column), False) for column in told.T]

    def lead(rival: Array, coin: bool) -> Estimate:
        """A judge in steps ties where a text lies anywhere in a step: a rival gains nothing by
        that."""
        less = 0.5 if coin else rival
        return claim(np.where(judge != 0.5, judge - less, 0.0), 0.0, **ends).estimate

    leads = [lead(*one) for one in asked]
    # The rival that the judge leads by least is the one it is held against.
    best = min(range(len(leads)), key=lambda k: leads[k].low)
    # No correction for choosing among rivals is needed: the judge must lead all of
    # them.
    rival, increment = asked[best][0], leads[best]
    share = claim(2 * rival - 1, 0.0, **ends).estimate
    share = share.replace(
        value=float(np.mean(rival)), low=(share.low + 1) / 2, high=(share.high + 1) / 2
    )
    # Two predictions, because the counter may know what the judge scores without
    # knowing which text is the treatment, and the other way round.
    controls = np.column_stack(
        [
            confound.outcome_difference(similar, a, b, codes, rng),
            learned,
            settings.sign * told,
        ]
    )
    shared: dict[str, Any] = {
        "sign": settings.sign,
        "alpha": alpha,
        "groups": codes,
        "bounds": settings.bounds,
    }
    try:
        # a surface that tells the sides apart is a control, whatever its slope
        foretold = [True, bool(against_coin), *[True] * told.shape[1]]
        at_equal = confound.at_equal(
            a - b, controls, settings.margin.value, predictions=foretold, **shared
        )
    except ValueError:
        at_equal = None
    d = np.subtract(*np.split(surface.counts(texts, counted), 2))
    often = np.maximum((d > 0).mean(axis=0), (d < 0).mean(axis=0))
    telling = [settings.seen.columns[k] for k in np.argsort(-often, kind="stable")[:3]]
    outcome = _outcome(share.low, increment.low, at_equal, settings)
    return Rival(
        outcome, n_pairs, n, share, increment, at_equal, telling, elsewhere=best > 0
    )


def _ordered(differences: Array) -> Array:
    """Of each pair 1 where the treatment is placed on its expected side, 0 on the other, and half
    for a tie."""
    return (1 + np.sign(differences)) / 2


def _outcome(
    share_low: float, gain_low: float, at_equal: AtEqual | None, settings: PairSettings
) -> Outcome:
    margin = settings.margin.value
    if at_equal is None or at_equal.extrapolated:
        # That the counter does as well is said only where it is shown to put pairs in the right
        # order at all.
        return "surface_as_good" if share_low > 0.5 else "open"
    # A difference that is not there needs no explanation.
    if settings.sign * at_equal.raw > margin:
        if settings.held(at_equal.difference) == "below":
            return "surface_explains"
        # Both conditions of docs/verdicts_in_detail.md: beyond the margin at equal
        # surface, with what could not be learned taken off, and more pairs in order
        # than any rival.
        near = settings.turned(at_equal.difference.estimate).low
        if near - unforeseen(at_equal, settings.sign) > margin and gain_low > 0:
            return "beyond_surface"
    return "surface_as_good" if gain_low <= 0 and share_low > 0.5 else "open"


def unforeseen(at_equal: AtEqual, sign: int) -> float:
    """What more of the difference the surface may hold than these texts were enough to learn, in
    score units.

    Where holding the surface equal takes something of the difference, but the surface foresees only
    a share of how the differences vary, the rest may hold as much of it again: the part taken times
    the share not foreseen. A judge of something else loses nothing by it, because nothing is taken.

    References:
        Oster (2019), doi:10.1080/07350015.2016.1227711, for reading selection on what is not
        measured off what is.
    """
    return max(0.0, sign * at_equal.moved.estimate.value) * (1 - at_equal.foreseen)


def say_lengths(
    tell: Told,
    sides: Sides,
    lengths: Mapping[str, AtEqual | None],
    settings: PairSettings,
) -> None:
    """Tell how well each unit of length tells the conditions apart, how scores go with it over the
    texts of both, and what remains at equal length."""
    for unit, at_equal in lengths.items():
        area = confound.length_auc(
            numbers(sides[0], unit), numbers(sides[1], unit), 1 - settings.alpha
        )
        texts = pd.concat(sides)
        rho = agreement.correlation(
            "spearman", numbers(texts, "score"), numbers(texts, unit)
        ).estimate
        tell.number(area, "length_auc", unit)
        tell.number(rho, "length_spearman", unit)
        tell.say("ab.length", area.values("auc"), unit=unit, spearman=rho)
        if at_equal is None:
            same = (sides[0][unit] == sides[1][unit]).all()
            tell.say("ab.same_length" if same else "ab.not_controlled", unit=unit)
            continue
        tell.number(
            at_equal.difference.estimate, "controlled_difference", unit, unit="amount"
        )
        tell.number(at_equal.moved.estimate, "length_shift", unit, unit="amount")
        place, values = _remaining(at_equal, settings)
        tell.say(f"ab.controlled_{place}", values, unit=unit)
        moved = at_equal.moved
        if moved.outcome == "within" and not at_equal.extrapolated:
            values = {
                "moved": moved.estimate.value,
                "interval": moved.inner,
                "margin": settings.margin.value,
            }
            tell.say("ab.length_moves_nothing", values, unit=unit)


def say_matched(tell: Told, matched: Matched, settings: PairSettings) -> None:
    """Tell the difference of the pairs of equal length alone."""
    n, held = matched.n, matched.difference
    tell.number(n, "matched_pairs", unit="count")
    difference = matched.mean if held is None else held.estimate
    tell.number(difference, "matched_difference", unit="amount")
    if held is None:
        tell.say("ab.matched_alone", n=n, difference=matched.mean)
    elif not matched.telling:
        tell.say("ab.matched_too_few", held.estimate.values("difference"), n=n)
    else:
        values = held.estimate.values("difference")
        tell.say(
            f"ab.matched_{settings.held(held)}",
            values,
            n=n,
            margin=settings.margin.value,
        )


def say_rival(tell: Told, rival: Rival, settings: PairSettings) -> None:
    """Tell how the surface judge does on the pairs, and what remains of the difference at equal
    surface."""
    tell.number(float(rival.outcome == "beyond_surface"), "beyond_surface")
    if rival.share is None or rival.increment is None:
        if rival.outcome == "no_texts":
            return tell.say("ab.surface_no_texts")
        return tell.say("ab.surface_too_few", n=rival.n_drawn, needed=FEWEST_GROUPS)
    tell.number(rival.share, "surface_share", unit="share")
    tell.number(rival.increment, "surface_increment", unit="share")
    values = rival.share.values("share") | {"n": rival.n_drawn}
    if rival.elsewhere:
        tell.say("ab.surface_elsewhere", values)
    else:
        tell.say("ab.surface", values, telling=list(rival.most_telling))
    if rival.n_drawn < rival.n_pairs:
        tell.say("ab.surface_drawn", n=rival.n_drawn, total=rival.n_pairs)
    tell.say("ab.surface_increment", rival.increment.values("gain"))
    if rival.at_equal is None:
        return tell.say("ab.surface_not_controlled")
    tell.number(rival.at_equal.difference.estimate, "surface_controlled", unit="amount")
    place, values = _remaining(
        rival.at_equal, settings, unforeseen(rival.at_equal, settings.sign)
    )
    tell.say(f"ab.surface_{place}", values)


def _remaining(
    at_equal: AtEqual, settings: PairSettings, slack: float = 0.0
) -> tuple[str, dict[str, Any]]:
    """Where what remains of the difference between texts that are equal lies, and what a sentence
    names of it.

    It is "unforeseen" where it is not beyond the margin by more than `slack`."""
    estimate, margin = at_equal.difference.estimate, settings.margin.value
    place = settings.held(at_equal.difference)
    values = {
        "raw": at_equal.raw,
        **estimate.values("difference"),
    }
    if at_equal.extrapolated:
        return "extrapolated", values
    if place == "beyond" and settings.turned(estimate).low - slack <= margin:
        return "unforeseen", values | {"margin": margin, "slack": slack}
    return place, values | {"margin": margin}


def table_of_lengths(pairs: Pairs) -> pd.DataFrame:
    """Length statistics per condition and unit, and the rank correlation of score with length
    within it."""
    rows = []
    for unit, (condition, every) in itertools.product(UNITS, pairs.sides.items()):
        side = every.dropna(subset="score")
        if len(side):
            lengths = numbers(side, unit)
            rho = (
                agreement.correlation(
                    "spearman", numbers(side, "score"), lengths
                ).estimate
                if len(side) > 2
                else None
            )
            row = {
                "condition": condition,
                "unit": unit,
                **paired.summary(lengths)._asdict(),
            }
            rows.append(row | {"score_spearman": np.nan if rho is None else rho})
    return pd.DataFrame(rows).drop(columns=["iqr", "sd"])


@functools.lru_cache(maxsize=4)
def _similar(
    texts: tuple[str, ...], field_words: str | None
) -> tuple[Array, list[Array]]:
    """Not to be written to: one run asks for the same texts with failures filled in, and in several
    analyses."""
    if field_words is None:
        return np.empty((len(texts), 0)), surface.kernels(texts)
    count, _ = counter(field_words, "rubric.field_words")
    counted = np.array([count(text) for text in texts], dtype=np.float64)
    return counted, surface.kernels(texts, counted)


def drawn(groups: NDArray[Any], most: int, rng: Rng) -> NDArray[np.bool_]:
    """Which rows to keep: all, or those of groups in random order up to `most` rows."""
    codes = pd.factorize(groups)[0]
    sizes = np.bincount(codes)
    order = (
        np.arange(sizes.size) if groups.size <= most else rng.permutation(sizes.size)
    )
    return np.isin(codes, order[np.cumsum(sizes[order]) <= most])


class LabelledRival(NamedTuple):
    """The surface judge on labelled texts.

    `correlation` is its rank correlation with the labels of the texts left out of its fit;
    `increment` is the judge's rank correlation minus that (or minus 0 where it is negative),
    `beyond` the part of the judge's rank correlation that is left when what the surface says of
    label and of score is taken out. What does not exist for these data is None.
    """

    outcome: Outcome
    n_drawn: int
    correlation: float | None = None
    increment: Estimate | None = None
    beyond: Estimate | None = None


def labelled_rival(
    texts: list[str],
    score: Array,
    label: Array,
    groups: Groups,
    rng: Rng,
    seen: Seen,
    level: float = 0.95,
) -> LabelledRival:
    """Hold the judge's scores against a surface judge that predicts the label.

    Args:
        texts, score, label, groups: Of the judged and labelled texts, shape (n,).
        rng: For the folds, and the draw where there are more than MOST_TEXTS texts.
        seen: What the surface judge sees besides; models in it were fitted to other texts than
            these.
    """
    kept = drawn(np.asarray(groups, dtype=object), MOST_TEXTS, rng)
    read = [str(text) for text, one in zip(texts, kept, strict=True) if one]
    score = np.asarray(score, np.float64)[kept]
    label = np.asarray(label, np.float64)[kept]
    codes = pd.factorize(np.asarray(groups, dtype=object)[kept])[0]
    nothing = LabelledRival("open", len(read))
    if len(set(read)) < 2:
        return nothing._replace(outcome="no_texts")
    if (
        codes.max() + 1 < FEWEST_TEXTS
        or checks.is_constant(score)
        or checks.is_constant(label)
    ):
        return nothing
    _, similar = seen.similarities(read)
    guess, guessed_score = (
        surface.predict(similar, target, codes, rng) for target in (label, score)
    )
    columns = np.column_stack([score, label, guess, guessed_score])
    try:
        gained = jackknife.LeftOut(
            columns, lambda part: _rank_columns(part)[1], rng, codes
        )
        # A correlation of 1 less one that is counted as 0 where it is negative.
        increment = gained.nearly_mean(level, (-2.0, 1.0))
        unexplained = jackknife.LeftOut(
            columns, lambda part: _rank_columns(part)[2], rng, codes
        )
        beyond = unexplained.nearly_mean(level, (-1.0, 1.0))
    except ValueError:
        return nothing
    correlation = float(_rank_columns(columns)[0])
    result: Outcome = "open"
    if increment.low > 0 and beyond.low > SMALL_CORRELATION:
        result = "beyond_surface"
    # "Explains" takes a correlation that there is to explain.
    elif beyond.high < SMALL_CORRELATION < correlation:
        result = "surface_explains"
    elif increment.low <= 0:
        result = "surface_as_good"
    return LabelledRival(
        result, len(read), correlation - increment.value, increment, beyond
    )


def _rank_columns(columns: Array) -> tuple[float, float, float]:
    """Of score, label, label guessed from the surface and score guessed from it: the score's rank
    correlation with the label, the same minus that of the guess, and the part of it beyond both
    guesses."""
    ranks = checks.ranks(columns, axis=0)
    ranks -= ranks.mean(axis=0)
    sizes = np.sqrt(np.sum(ranks**2, axis=0))
    if sizes[0] == 0 or sizes[1] == 0:
        return float("nan"), float("nan"), float("nan")
    judge = float(ranks[:, 0] @ ranks[:, 1] / (sizes[0] * sizes[1]))
    rival = (
        float(ranks[:, 2] @ ranks[:, 1] / (sizes[2] * sizes[1])) if sizes[2] else 0.0
    )
    guesses = ranks[:, 2:][:, sizes[2:] > 0]
    left = ranks[:, :2]
    if guesses.size:
        left = left - guesses @ np.linalg.lstsq(guesses, left, rcond=None)[0]
    rest = float(np.sqrt(np.sum(left[:, 1] ** 2)))
    part = float(left[:, 0] @ left[:, 1] / (sizes[0] * rest)) if rest > 0 else 0.0
    return judge, judge - max(0.0, rival), part


def seen_of(judged: RunEvidence, texts: Sequence[str]) -> Seen:
    """What the surface judge of a run sees of texts with labels."""
    known = judged.known_surface
    return Seen(judged.rubric.field_words, None if known is None else known(texts))

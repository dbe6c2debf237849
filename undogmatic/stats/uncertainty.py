"""Computes how unsure a judge is of its score: the entropy and interval of a probability over
levels, one formula per judge style, a panel; and reads the odds of an answer's first tokens as
probabilities of whole numbers.

Scores and ranges are on a 0-10 scale, strengths, automatic metrics and intervals on 0-1. A scale is
declared, never guessed: a score of 1 on 0-10 is 0.1, not 1.0. Whatever was wrong with an answer and
could be mended is named in `notes`; what cannot be mended raises.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks
from undogmatic.stats.checks import Array

Level = Literal["low", "medium", "high"]
Interval = tuple[float, float]

LEVELS: tuple[Level, ...] = get_args(Level)

# 0.9 - 0.6 is 0.30000000000000004 in floating point, which is no gap above 0.3.
_ROUNDING = 1e-9


def normalised_entropy(probabilities: ArrayLike) -> Array:
    """Divide Shannon's entropy by log2 of the number of levels, in [0, 1]: 0 is certain, 1 uniform.

    Levels of zero probability count as levels; a single level gives 0.

    Args:
        probabilities: Shape (k,) or (n, k); each row sums to 1.
    Returns:
        Shape () or (n,).
    References:
        Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x
    """
    p = _distribution(probabilities)
    if p.shape[-1] == 1:
        return np.zeros(p.shape[:-1])
    entropy = special.entr(p).sum(axis=-1)
    return np.asarray(np.clip(entropy / np.log(p.shape[-1]), 0.0, 1.0))


def quantile_interval(
    probabilities: ArrayLike, levels: ArrayLike, level: float = 0.9
) -> Interval:
    """Find the central interval of a discrete distribution, from level to level, both included.

    Each end is the first level, counted from its own side, whose cumulative probability reaches (1
    - level)/2. Less than that lies beyond either end, so the interval holds at least `level`, often
      more.

    Args:
        probabilities: Shape (k,), summing to 1.
        levels: Score of each level, strictly increasing, shape (k,), in score units.
        level: Probability the interval must hold.
    """
    p = _distribution(probabilities)
    values = checks.increasing(levels)
    if p.shape != values.shape:
        raise ValueError(
            f"`probabilities` has {p.shape[-1]} levels and `levels` {values.size}, for one"
            " distribution."
        )
    checks.share(level, "level")
    tail = (1 - level) / 2
    # The tolerance keeps a cumulative 0.05 that rounding left at 0.0499... from moving the end by a
    # level.
    first = int(np.argmax(np.cumsum(p) >= tail - 1e-12))
    last = p.size - 1 - int(np.argmax(np.cumsum(p[::-1]) >= tail - 1e-12))
    return float(values[first]), float(values[last])


def discretised_normal(mean: float, sd: float, levels: ArrayLike) -> Array:
    """Cut a normal distribution into the levels of a scale, with its expectation kept.

    Each level takes the mass between the midpoints to its neighbours and the end levels take the
    tails. Cutting moves the expectation (tails pile up at the ends), so the centre of the normal is
    shifted until the expectation is `mean` again. Near an end this narrows the distribution: the
    expectation wins over the spread. A mean at or beyond an end puts all mass there, which is the
    one case where the expectation is not `mean`. With `sd` 0 the mass is shared by the two
    neighbouring levels, the limit of the same rule.

    Args:
        mean, sd: Wanted expectation, and residual standard deviation, 0 or more; in score units.
        levels: As of `quantile_interval`.
    Returns:
        Probabilities, shape (k,), summing to 1.
    """
    values = checks.increasing(levels)
    if not np.isfinite(mean) or not np.isfinite(sd) or sd < 0:
        raise ValueError(
            f"`mean` is {mean} and `sd` {sd}; both must be finite and `sd` not negative."
        )
    certain = np.eye(values.size)
    if mean <= values[0]:
        return np.asarray(certain[0])
    if mean >= values[-1]:
        return np.asarray(certain[-1])
    if sd < 1e-6 * float(np.min(np.diff(values))):
        above = int(np.searchsorted(values, mean, side="right"))
        share = (mean - values[above - 1]) / (values[above] - values[above - 1])
        return np.asarray((1 - share) * certain[above - 1] + share * certain[above])
    cuts = (values[1:] + values[:-1]) / 2

    def masses(centre: float) -> Array:
        return np.asarray(
            np.diff(special.ndtr((cuts - centre) / sd), prepend=0.0, append=1.0)
        )

    # Beyond 40 sd no mass is left on the far side, so the expectation is exactly an end of the
    # scale. Halving finds what scipy.optimize.brentq does; to import that takes a quarter of a
    # second of each `undogmatic score`.
    low = float(cuts[0] - 40 * sd)
    high = float(cuts[-1] + 40 * sd)
    centre = (low + high) / 2
    while low < centre < high and high - low > 1e-13:
        if float(masses(centre) @ values) < mean:
            low = centre
        else:
            high = centre
        centre = (low + high) / 2
    return masses(centre)


def _distribution(probabilities: ArrayLike) -> Array:
    """Check probabilities of levels, shape (k,) or (n, k), each row of which sums to 1."""
    p = checks.rows(probabilities, "probabilities")
    if p.shape[-1] == 0:
        raise ValueError("`probabilities` holds no level.")
    if np.any(p < 0):
        raise ValueError("`probabilities` holds a negative value.")
    sums = p.sum(axis=-1)
    if np.any(np.abs(sums - 1) > 1e-6):
        worst = float(np.ravel(sums)[np.argmax(np.abs(sums - 1))])
        raise ValueError(f"`probabilities` sum to {worst:.6g}; each row must sum to 1.")
    return p


class CritiqueUncertainty(NamedTuple):
    """`score_delta` is on 0-10, `confidence_interval` the revised range on 0-1. `level_from` says
    what gives it, "strength", "major_issues" and "width" joined by commas; all of the three where
    the level is low.
    """

    level: Level
    score_delta: float
    confidence_interval: Interval
    recommend_human_review: bool
    notes: tuple[str, ...]
    level_from: str


class PointsEntropy(NamedTuple):
    """`probabilities` are the points over their sum, in the order given; `total` is what they
    summed to."""

    normalised_entropy: float
    band: Level
    probabilities: tuple[float, ...]
    sums_to_100: bool
    total: float
    notes: tuple[str, ...]


class DebateUncertainty(NamedTuple):
    """`judge_position` is 0 at the critic's score and 1 at the advocate's, None in a degenerate
    debate."""

    level: Level
    judge_position: float | None
    gap: float
    confidence_interval: Interval
    notes: tuple[str, ...]


class AggregateUncertainty(NamedTuple):
    """`score` and `confidence_interval` are on 0-1."""

    score: float
    confidence_interval: Interval
    uncertainty_level: Level
    recommend_expert_review: bool
    issues: tuple[str, ...]
    notes: tuple[str, ...]


def critique_uncertainty(
    initial_score: float,
    critique_strength: float,
    revised_range: Sequence[float],
    major_issues: int,
) -> CritiqueUncertainty:
    """Take the damage that a critique did to a score for its uncertainty (devil's advocate).

    High if the strength is above 0.6, there are two major issues or the range is wider than 4; else
    medium if the strength is above 0.3, there is one or the range is wider than 2; else low.
    `score_delta` does not enter the level. Swapped ends are put in order and noted.

    Args:
        initial_score, critique_strength: The score before the critique, 0-10, and the damage, 0-1.
        revised_range, major_issues: The two ends that the critic defends, 0-10; how many issues
            were major.
    Raises:
        ValueError: If a value is off its scale.
    """
    score = _within(initial_score, "initial_score", 10)
    strength = _within(critique_strength, "critique_strength", 1)
    if len(revised_range) != 2:
        raise ValueError(
            f"`revised_range` has {len(revised_range)} ends; it needs the lower and the upper one."
        )
    first, second = (_within(end, "revised_range", 10) for end in revised_range)
    if major_issues < 0:
        raise ValueError(
            f"`major_issues` is {major_issues}; a count cannot be negative."
        )
    low = min(first, second)
    high = max(first, second)
    width = high - low
    reached: dict[str, int] = {
        "strength": _above(strength, 0.3) + _above(strength, 0.6),
        "major_issues": min(major_issues, 2),
        "width": _above(width, 2) + _above(width, 4),
    }
    highest = max(reached.values())
    level = LEVELS[highest]
    level_from = ", ".join(name for name, place in reached.items() if place == highest)
    notes: tuple[str, ...] = ()
    if first > second:
        notes = (f"The ends of the revised range were swapped: {first:g}, {second:g}.",)
    delta = abs(score - (low + high) / 2)
    return CritiqueUncertainty(
        level, delta, (low / 10, high / 10), level == "high", notes, level_from
    )


def entropy_level(entropy: float) -> Level:
    """Name the level of a normalised entropy: below 0.3 is low, above 0.7 high."""
    if _above(0.3, entropy):
        return "low"
    return "high" if _above(entropy, 0.7) else "medium"


def points_entropy(points: Mapping[str, float] | ArrayLike) -> PointsEntropy:
    """Measure how points are spread over options: entropy over log2 of the number of options.

    Options without points count as options; a single option gives 0. Below 0.3 is low, above 0.7
    high. Points that do not sum to 100 are scaled to do so, and that, like points that are no
    multiple of 5, is noted.

    Args:
        points: Points per option, 0 or more and not all 0, shape (n_options,), or a mapping from
            option to points.
    """
    if isinstance(points, Mapping):
        points = list(points.values())
    values = checks.vector(points, "points")
    total = float(values.sum())
    if np.any(values < 0) or total <= 0:
        raise ValueError(
            f"`points` are {values.tolist()}; they must not be negative, and some must be positive."
        )
    shares = values / total
    entropy = float(normalised_entropy(shares))
    band = entropy_level(entropy)
    whole = abs(total - 100) <= _ROUNDING
    notes: tuple[str, ...] = ()
    if not whole:
        notes += (f"The points sum to {total:g}, not 100, and were scaled.",)
    if np.any(np.abs(values / 5 - np.round(values / 5)) > _ROUNDING):
        notes += ("Not all points are multiples of 5.",)
    return PointsEntropy(entropy, band, tuple(shares.tolist()), whole, total, notes)


def debate_uncertainty(
    advocate_score: float, critic_score: float, final_score: float
) -> DebateUncertainty:
    """Take a judge of a debate for unsure who ends between the two sides, and less so one who took
    a side of a wide gap.

    High if the position lies strictly between 0.4 and 0.6; else medium if the gap is above 5; else
    low. An advocate who is not above the critic makes the debate degenerate: high, noted, without a
    position. The interval runs from the lower to the higher score.

    Args:
        advocate_score, critic_score: The scores argued for from above and from below, 0-10.
        final_score: What the judge of the debate decided, 0-10; outside the two sides it is kept
            and noted.
    Raises:
        ValueError: If a score is off the scale.
    """
    advocate = _within(advocate_score, "advocate_score", 10)
    critic = _within(critic_score, "critic_score", 10)
    final = _within(final_score, "final_score", 10)
    gap = advocate - critic
    interval = (min(critic, advocate) / 10, max(critic, advocate) / 10)
    # With the sides the wrong way round no place between them is nearer to either, so
    # the debate has shown nothing but that it failed.
    if gap <= 0:
        note = (
            f"Degenerate debate: the advocate ({advocate:g}) is not above the critic "
            f"({critic:g})."
        )
        return DebateUncertainty("high", None, gap, interval, (note,))
    position = (final - critic) / gap
    level: Level = "medium" if _above(gap, 5) else "low"
    if _above(position, 0.4) and _above(0.6, position):
        level = "high"
    notes: tuple[str, ...] = ()
    if not critic <= final <= advocate:
        notes = (
            f"The final score ({final:g}) lies outside the two sides ({critic:g} to {advocate:g}).",
        )
    return DebateUncertainty(level, position, gap, interval, notes)


def aggregate_uncertainty(
    scores: ArrayLike,
    levels: Sequence[str],
    review_flags: Sequence[bool] = (),
    issues: Iterable[str | Iterable[str]] = (),
) -> AggregateUncertainty:
    """Make one result from several judges of one item.

    The interval is the mean score +- 0.1, 0.1 wider on both sides per high-uncertainty judgment,
    clipped to [0, 1]. The level is high if any is high, else low; medium ones are noted. A judgment
    of high uncertainty asks for review, whatever its flag says. Failed judgments are the caller's
    to leave out and count.

    Args:
        scores, levels: Score (0-1) and uncertainty level per judge, shape (n_judges,).
        review_flags: Whether each judge asked for review; empty if none was asked.
        issues: Issues per judge, joined in order with repetitions; a text counts as one issue.
    """
    values = checks.vector(scores, "scores")
    if np.any((values < 0) | (values > 1)):
        raise ValueError(
            f"`scores` are {values.tolist()}; they must lie in [0, 1]. Rescale others by their own"
            " scale."
        )
    for name, listed in (("levels", levels), ("review_flags", review_flags or levels)):
        if len(listed) != values.size:
            raise ValueError(
                f"`{name}` holds {len(listed)} values for {values.size} scores."
            )
    for level in levels:
        checks.option(level, "levels", LEVELS)
    n_high = sum(level == "high" for level in levels)
    n_medium = sum(level == "medium" for level in levels)
    notes: tuple[str, ...] = ()
    if n_medium:
        notes = (f"{n_medium} of {values.size} judgments are of medium uncertainty.",)
    texts: list[str] = []
    for entry in issues:
        texts.extend([entry] if isinstance(entry, str) else entry)
    mean = float(values.mean())
    reach = 0.1 * (1 + n_high)
    return AggregateUncertainty(
        score=mean,
        confidence_interval=(max(0.0, mean - reach), min(1.0, mean + reach)),
        uncertainty_level="high" if n_high else "low",
        recommend_expert_review=n_high > 0 or any(review_flags),
        issues=tuple(texts),
        notes=notes,
    )


def _above(value: float, threshold: float) -> bool:
    """Say whether a value is above a threshold by more than rounding."""
    return value > threshold + _ROUNDING


def _within(value: float, name: str, maximum: float) -> float:
    """Check that a number lies from 0 to `maximum`."""
    number = float(value)
    if not 0 <= number <= maximum:  # NaN fails this too
        raise ValueError(f"`{name}` is {value}; it must lie in [0, {maximum:g}].")
    return number


class Completed(NamedTuple):
    """Numbers that are read to their end, and beginnings of which it is not known how they go on;
    both as digits with their probability."""

    numbers: dict[str, float]
    begun: dict[str, float]


def expected_score(
    token_probabilities: Mapping[str, float], low: int, high: int, min_mass: float
) -> float | None:
    """Average the whole numbers of a range, weighted by the probabilities of the tokens that spell
    them.

    Args:
        token_probabilities, low, high: As of `integer_masses`.
        min_mass: Least probability on the range, 0 to 1.
    Returns:
        A number between `low` and `high`, or None where the range carries less than `min_mass`, or
        nothing.
    """
    masses = integer_masses(token_probabilities, low, high)
    total = math.fsum(masses.values())
    if total < min_mass or total <= 0:
        return None
    return math.fsum(number * mass for number, mass in masses.items()) / total


def integer_masses(
    token_probabilities: Mapping[str, float], low: int, high: int
) -> dict[int, float]:
    """Sum the probability of each whole number of a range that some token spells.

    White space around a token is ignored, and spellings of one number are added up; "7.5", "-5" and
    words are no whole numbers, and count as off the range.

    Args:
        token_probabilities: Probability by token; they need not sum to 1.
        low, high: The range, ends included.
    Raises:
        ValueError: A probability that is none, or an empty range.
    """
    if low > high:
        raise ValueError(f"the range must not be empty, got {low} to {high}")
    masses: dict[int, float] = {}
    for token, probability in token_probabilities.items():
        if not 0 <= probability <= 1 + 1e-6:
            raise ValueError(
                f"{probability!r} is no probability (of the token {token!r})"
            )
        text = _number(token)
        if text is not None and low <= int(text) <= high:
            masses[int(text)] = masses.get(int(text), 0.0) + probability
    return masses


def completed(
    first: Mapping[str, float],
    after: Mapping[str, Mapping[str, float]],
    high: int,
    longest: int,
) -> Completed:
    """Put numbers of a range from 0 that a tokenizer splits together from the odds of their pieces.

    Args:
        first: Probability of the answer's first token.
        after: Per beginning of a number (digits), the probabilities of the token after it, as far
            as they were asked.
        high: The highest number.
        longest: Digits of the longest token that the tokenizer is known to have. A beginning that
            is shorter is a number by itself: the longer one would have been one token.
    """
    numbers: dict[str, float] = {}
    begun: dict[str, float] = {}
    waiting: list[tuple[str, float]] = []
    for token, mass in first.items():
        text = _number(token)
        if text is not None:
            waiting.append((text, mass))
    while waiting:
        digits, mass = waiting.pop()
        if digits not in after:
            # A number of the range may begin so and go on, unless its token would have been longer.
            grows = not digits.startswith("0") and int(digits) * 10 <= high
            into = begun if longest <= len(digits) and grows else numbers
            into[digits] = into.get(digits, 0.0) + mass
            continue
        for token, share in after[digits].items():
            if re.fullmatch("[0-9]+", token) and len(digits) < 18:
                waiting.append((digits + token, mass * share))
            elif ends(token):
                numbers[digits] = numbers.get(digits, 0.0) + mass * share
    return Completed(numbers, begun)


def longest_digits(tokens: Mapping[str, float]) -> int:
    """Count the digits of the longest token that is a number, 0 where none is."""
    return max((len(_number(token) or "") for token in tokens), default=0)


def ends(token: str) -> bool:
    """Say whether a number before this token is at its end: white space, a marker of the end,
    nothing. A full stop, a comma or a stroke may be the middle of 7.5 or 8/10, so that what stands
    before them is no number yet.
    """
    text = token.replace("\u2581", " ")  # how some tokenizers write a space
    return re.fullmatch(r"\s.*|<\|?/?[a-zA-Z_]+\|?>|", text, re.DOTALL) is not None


def _number(token: str) -> str | None:
    """Read the digits of a token that is a whole number; None of any other."""
    text = token.replace("\u2581", " ").strip()
    return text if re.fullmatch("[0-9]{1,18}", text) else None

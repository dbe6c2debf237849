"""Examines what else could explain a verdict: whether the judge does more than a word counter fitted to these data.

The surface judge (`stats.surface`) sees what can be counted in a text: lengths, capitals, digits, punctuation, kinds of
words, characters, n-grams. It is fitted anew in every run, and predicts each group from the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.length import held
from undogmatic.analyses.pairs import Pairs
from undogmatic.config.build import counter
from undogmatic.records.results import Finding
from undogmatic.stats import confound, means, surface
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.confound import AtEqual

Array = NDArray[np.float64]
Outcome = Literal["beyond_surface", "surface_as_good", "surface_explains", "open", "no_texts"]

SurfaceScores = Callable[[Sequence[str]], Array]
"""Texts to what surface judges say of them, shape (n_texts, n_judges)."""

MOST_TEXTS = 600
"""Most texts that the surface judge is fitted and tested on; of more, whole groups are drawn at random. Time grows with
the cube."""
FEWEST_GROUPS = 6
_NAMED = 3


class Seen(NamedTuple):
    """What the surface judge sees beside what any text has: the words of the rubric's field (`Rubric.field_words`), and
    what models that were fitted elsewhere say (`Judged.known_surface`)."""

    field_words: str | None = None
    known: SurfaceScores | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all that it counts."""
        if self.field_words is None:
            return tuple(surface.COUNTS)
        return (*surface.COUNTS, *counter(self.field_words, "rubric.field_words")[1])

    def similarities(self, texts: Sequence[str]) -> tuple[Array, list[Array]]:
        """Counts of the field's words, shape (n_texts, k), and the kernels of the surface with them."""
        counted, similar = _similar(tuple(texts), self.field_words)
        return counted, similar if self.known is None else [*similar, surface.additive(self.known(texts))]


class Telling(NamedTuple):
    """A single count and the share of pairs in which it is on the treatment's usual side (in-sample: a description)."""

    name: str
    share: float
    higher: bool


class Rival(NamedTuple):
    """The surface judge on matched pairs.

    `share` is how many pairs it orders, left out of its fit, ties counting half; where that is less than half, or its
    predictions are no nearer to the truth than none, the rival is a coin. `increment` is the share of pairs that the
    judge orders as expected minus the share that the rival does (ties half), both among those in which the judge
    prefers a text. `at_equal` is the judge's difference between texts of equal
    surface, None where the groups give it no error. All are None where the texts do not differ ("no_texts") or there
    are fewer than FEWEST_GROUPS groups ("open").
    """

    outcome: Outcome
    n_pairs: int
    n_drawn: int
    share: float | None
    share_low: float | None
    share_high: float | None
    increment: Claim | None
    at_equal: AtEqual | None
    most_telling: tuple[Telling, ...]


def paired_rival(
    pairs: Pairs,
    treatment: str,
    baseline: str,
    ids: pd.Index,
    *,
    sign: int,
    margin: float,
    level: float = 0.95,
    rng: np.random.Generator,
    bounds: means.Bounds | None = None,
    seen: Seen | None = None,
) -> Rival:
    """Hold the judge's differences against a surface judge that predicts which text of a pair is the treatment.

    Args:
        pairs: The run.
        treatment, baseline: Conditions.
        ids: Complete pairs.
        sign: +1 if the treatment is expected to score higher, else -1.
        margin: Relevance margin, in score units.
        level: Confidence level.
        bounds: Lowest and highest difference that scores could have.
        seen: What the surface judge sees besides.
        rng: Draws the groups where there are more than MOST_TEXTS texts, and deals them to folds.
    """
    first, second = pairs.sides[treatment].loc[ids], pairs.sides[baseline].loc[ids]
    kept = drawn(first["group"].to_numpy(dtype=object), MOST_TEXTS // 2, rng)
    first, second = first[kept], second[kept]
    texts = [*first["text"].astype(str), *second["text"].astype(str)]
    n, codes = len(first), pd.factorize(first["group"])[0]
    if len(set(texts)) < 2 or codes.max() + 1 < FEWEST_GROUPS:
        return Rival("no_texts" if len(set(texts)) < 2 else "open", len(ids), n, None, None, None, None, None, ())
    seen = seen or Seen()
    counted, similar = seen.similarities(texts)
    rows = np.arange(n)
    between = [surface.contrast(kernel, rows, rows + n) for kernel in similar]
    guess = surface.predict(between, np.ones(n), codes, rng, intercept=False)
    a, b = first["score"].to_numpy(dtype=np.float64), second["score"].to_numpy(dtype=np.float64)
    own, rival = _points(sign * (a - b)), _points(guess)
    alpha = 1 - level
    ends: dict[str, Any] = {"alpha": alpha, "groups": codes, "bounds": (-1.0, 1.0)}
    share = claim(2 * rival - 1, 0.0, **ends)
    against_coin = np.mean(rival) < 0.5 or np.mean((1 - guess) ** 2) >= 1
    prefers = own != 0.5  # a judge in steps ties where a text lies anywhere in a step: the rival gains nothing by that
    increment = claim(np.where(prefers, own - (0.5 if against_coin else rival), 0.0), 0.0, **ends)
    said = confound.outcome_difference(similar, a, b, codes, rng)
    try:
        foretold = [True, bool(against_coin)]  # a surface that tells the sides apart is a control, whatever its slope
        at_equal = confound.at_equal(
            a - b,
            np.column_stack([said, guess]),
            margin,
            predictions=foretold,
            sign=sign,
            alpha=alpha,
            groups=codes,
            bounds=bounds,
        )
    except ValueError:
        at_equal = None
    shares = [(limit + 1) / 2 for limit in share.estimate.interval]
    telling = _telling(surface.counts(texts[:n]), surface.counts(texts[n:]), counted[:n], counted[n:], seen.columns)
    outcome = _outcome(shares[0], increment, at_equal, sign, margin)
    return Rival(outcome, len(ids), n, float(np.mean(rival)), shares[0], shares[1], increment, at_equal, telling)


def _outcome(share_low: float, increment: Claim, at_equal: AtEqual | None, sign: int, margin: float) -> Outcome:
    decides = at_equal is not None and not at_equal.extrapolated
    if decides and at_equal is not None and sign * at_equal.raw > margin:
        at = held(at_equal.difference, sign, margin)
        if at == "below":
            return "surface_explains"
        near = at_equal.difference.estimate.low if sign > 0 else -at_equal.difference.estimate.high
        if near - unforeseen(at_equal, sign) > margin and increment.estimate.low > 0:
            return "beyond_surface"
    return "surface_as_good" if not decides or (increment.estimate.low <= 0 and share_low > 0.5) else "open"


def unforeseen(at_equal: AtEqual, sign: int) -> float:
    """What more of the difference the surface may hold than these texts were enough to learn, in score units.

    Where holding the surface equal takes something of the difference, but the surface foresees only a share of how the
    differences vary, the rest may hold as much of it again: the part taken times the share not foreseen. A judge of
    something else loses nothing by it, because nothing is taken.

    References:
        Oster (2019), doi:10.1080/07350015.2016.1227711, for reading selection on what is not measured off what is.
    """
    return max(0.0, sign * at_equal.moved.estimate.value) * (1 - at_equal.foreseen)


def say(rival: Rival, sign: int, margin: float) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of the rival on pairs."""
    metrics: dict[str, float] = {"ab.beyond_surface": float(rival.outcome == "beyond_surface")}
    if rival.share is None or rival.increment is None:
        few = {"n": rival.n_drawn, "needed": FEWEST_GROUPS}
        return metrics, [
            Finding("ab.surface_no_texts") if rival.outcome == "no_texts" else Finding("ab.surface_too_few", few)
        ]
    interval = (rival.share_low, rival.share_high)
    metrics |= {"ab.surface_share": rival.share}
    metrics |= {
        f"ab.surface_share_{end}": value
        for end, value in zip(("low", "high"), interval, strict=True)
        if value is not None
    }
    gain = rival.increment
    metrics |= gain.estimate.metrics("ab.surface_increment")
    values: dict[str, Any] = {"share": rival.share, "interval": interval, "n": rival.n_drawn}
    findings = [Finding("ab.surface", values | {"telling": [one.name for one in rival.most_telling]})]
    if rival.n_drawn < rival.n_pairs:
        findings.append(Finding("ab.surface_drawn", {"n": rival.n_drawn, "total": rival.n_pairs}))
    findings.append(Finding("ab.surface_increment", gain.estimate.values("gain")))
    if rival.at_equal is None:
        return metrics, [*findings, Finding("ab.surface_not_controlled")]
    rest = rival.at_equal.difference
    metrics |= rest.estimate.metrics("ab.surface_controlled")
    values = {**rest.estimate.values("difference"), "raw": rival.at_equal.raw}
    if rival.at_equal.extrapolated:
        return metrics, [*findings, Finding("ab.surface_extrapolated", values)]
    slack = unforeseen(rival.at_equal, sign)
    at = held(rest, sign, margin)
    if at == "beyond" and min(sign * rest.estimate.low, sign * rest.estimate.high) - slack <= margin:
        return metrics, [*findings, Finding("ab.surface_unforeseen", values | {"margin": margin, "slack": slack})]
    return metrics, [*findings, Finding(f"ab.surface_{at}", values | {"margin": margin})]


@functools.lru_cache(maxsize=4)
def _similar(texts: tuple[str, ...], field_words: str | None) -> tuple[Array, list[Array]]:
    """Not to be written to: one run asks for the same texts with failures filled in, and in several analyses."""
    if field_words is None:
        return np.empty((len(texts), 0)), surface.kernels(texts)
    count, _ = counter(field_words, "rubric.field_words")
    counted = np.array([count(text) for text in texts], dtype=np.float64)
    return counted, surface.kernels(texts, counted)


def drawn(groups: NDArray[Any], most: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows to keep: all, or those of groups in random order up to `most` rows."""
    if groups.size <= most:
        return np.ones(groups.size, dtype=np.bool_)
    codes = pd.factorize(groups)[0]
    sizes = np.bincount(codes)
    order = rng.permutation(sizes.size)
    fits = order[np.cumsum(sizes[order]) <= most]
    return np.isin(codes, fits)


def _points(values: Array) -> Array:
    return np.asarray((1 + np.sign(values)) / 2)


def _telling(
    first: Array, second: Array, more_first: Array, more_second: Array, columns: Sequence[str]
) -> tuple[Telling, ...]:
    d = np.column_stack([first - second, more_first - more_second])
    up, down = (d > 0).mean(axis=0), (d < 0).mean(axis=0)
    best = np.argsort(-np.maximum(up, down), kind="stable")[:_NAMED]
    return tuple(Telling(columns[k], float(max(up[k], down[k])), bool(up[k] >= down[k])) for k in best)

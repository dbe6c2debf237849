"""Does a judge that follows labels do more than a word counter fitted to the same labels, here or elsewhere?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.analyses.base import Judged
from undogmatic.analyses.rivals import MOST_TEXTS, Outcome, Seen, drawn
from undogmatic.records.results import Telling
from undogmatic.stats import checks, jackknife, surface
from undogmatic.stats.claims import Claim, claim

Array = NDArray[np.float64]

FEWEST_TEXTS = 10
SMALL_CORRELATION = 0.1
"""What a rank correlation must exceed to be more than a small one (Cohen 1988, p. 79)."""


class LabelledRival(NamedTuple):
    """The surface judge on labelled texts.

    `correlation` is its rank correlation with the labels of the texts left out of its fit; `increment` is the judge's
    rank correlation minus that (or minus 0 where it is negative), `beyond` the part of the judge's rank correlation
    that is left when what the surface says of label and of score is taken out, `error_saved` how much smaller the mean
    absolute error of the judge is, in score units, once both are mapped to the labels by the same monotone regression.
    What does not exist for these data is None.
    """

    outcome: Outcome
    n_texts: int
    n_drawn: int
    correlation: float | None
    increment: Claim | None
    beyond: Claim | None
    error_saved: Claim | None


def labelled_rival(
    texts: Sequence[str],
    scores: Array,
    labels: Array,
    groups: Sequence[object],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    seen: Seen | None = None,
) -> LabelledRival:
    """Hold the judge's scores against a surface judge that predicts the label.

    Args:
        texts, scores, labels, groups: Of the judged and labelled texts, shape (n,).
        rng: For the folds, and the draw where there are more than MOST_TEXTS texts.
        level: Confidence level.
        seen: What the surface judge sees besides; models in it were fitted to other texts than these.
    """
    kept = drawn(np.asarray(groups, dtype=object), MOST_TEXTS, rng)
    read = [str(text) for text, one in zip(texts, kept, strict=True) if one]
    score, label = np.asarray(scores, np.float64)[kept], np.asarray(labels, np.float64)[kept]
    codes = pd.factorize(np.asarray(groups, dtype=object)[kept])[0]
    nothing = LabelledRival("open", len(texts), len(read), None, None, None, None)
    if len(set(read)) < 2:
        return nothing._replace(outcome="no_texts")
    if codes.max() + 1 < FEWEST_TEXTS or checks.is_constant(score) or checks.is_constant(label):
        return nothing
    _, similar = (seen or Seen()).similarities(read)
    guess, said = (surface.predict(similar, target, codes, rng) for target in (label, score))
    columns = np.column_stack([score, label, guess, said])
    own = float(_rank_columns(columns)[0])
    found = []
    for position, margin, lowest in ((1, 0.0, -2.0), (2, SMALL_CORRELATION, -1.0)):

        def statistic(part: Array, place: int = position) -> float:
            return _rank_columns(part)[place]

        try:
            interval = jackknife.nearly_mean(columns, statistic, rng, level, groups=codes, bounds=(lowest, 1.0))
        except ValueError:
            return nothing
        outcome: Any = "beyond" if interval.low > margin else "open"
        found.append(Claim(outcome, interval, interval.interval, margin, None))
    increment, beyond = found
    saved = np.abs(label - _mapped(guess, label, codes)) - np.abs(label - _mapped(score, label, codes))
    error = claim(saved, 0.0, alpha=1 - level, groups=codes)
    result: Outcome = "open"
    if increment.estimate.low > 0 and beyond.estimate.low > SMALL_CORRELATION:
        result = "beyond_surface"
    elif beyond.estimate.high < SMALL_CORRELATION < own:
        result = "surface_explains"
    elif increment.estimate.low <= 0:
        result = "surface_as_good"
    return LabelledRival(result, len(texts), len(read), own - increment.estimate.value, increment, beyond, error)


def _rank_columns(columns: Array) -> tuple[float, float, float]:
    """Of score, label, label guessed from the surface and score guessed from it: the score's rank correlation with the
    label, the same minus that of the guess, and the part of it beyond both guesses."""
    ranks = stats.rankdata(columns, axis=0)
    ranks -= ranks.mean(axis=0)
    sizes = np.sqrt(np.sum(ranks**2, axis=0))
    if sizes[0] == 0 or sizes[1] == 0:
        return float("nan"), float("nan"), float("nan")
    own = float(ranks[:, 0] @ ranks[:, 1] / (sizes[0] * sizes[1]))
    rival = float(ranks[:, 2] @ ranks[:, 1] / (sizes[2] * sizes[1])) if sizes[2] else 0.0
    guesses = ranks[:, 2:][:, sizes[2:] > 0]
    left = ranks[:, :2]
    if guesses.size:
        left = left - guesses @ np.linalg.lstsq(guesses, left, rcond=None)[0]
    rest = float(np.sqrt(np.sum(left[:, 1] ** 2)))
    part = float(left[:, 0] @ left[:, 1] / (sizes[0] * rest)) if rest > 0 else 0.0
    return own, own - max(0.0, rival), part


def _mapped(values: Array, label: Array, codes: NDArray[np.intp]) -> Array:
    """The label that a monotone regression on `values` gives, fitted without the tenth of the groups it serves."""
    from sklearn.isotonic import IsotonicRegression

    out = np.empty(values.size)
    folds = codes % min(10, int(codes.max()) + 1)
    for fold in np.unique(folds):
        others = folds != fold
        fitted = IsotonicRegression(out_of_bounds="clip").fit(values[others], label[others])
        out[~others] = fitted.predict(values[~others])
    return out


def tell_labelled(tell: Telling, rival: LabelledRival) -> None:
    """Tell of the rival on labelled texts."""
    tell.number(float(rival.outcome == "beyond_surface"), "beyond_surface")
    gain, rest, saved = rival.increment, rival.beyond, rival.error_saved
    if gain is None or rest is None or saved is None:
        tell.say("surface_no_texts" if rival.outcome == "no_texts" else "surface_too_few")
        return
    tell.number(rival.correlation, "surface_spearman")
    for name, found in (("beyond", gain), ("part", rest), ("error_saved", saved)):
        tell.number(found.estimate, f"surface_{name}")
    tell.say("surface", gain.estimate.values("gain"), spearman=rival.correlation, n=rival.n_drawn)
    if rival.n_drawn < rival.n_texts:
        tell.say("surface_drawn", n=rival.n_drawn, total=rival.n_texts)
    tell.say("surface_part", rest.estimate.values("part"))
    tell.say("surface_error", saved.estimate.values("saved"))


def seen_of(judged: Judged, texts: Sequence[str]) -> Seen:
    """What the surface judge of a run sees of texts with labels."""
    known = judged.known_surface
    return Seen(judged.rubric.field_words, None if known is None else known(texts))

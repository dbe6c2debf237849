"""Tells what can be told of a judge without any label: cues that should not move its scores,
planted defects that should, and what it says where there is nothing to judge."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import NonNegativeFloat

from undogmatic.examinations.base import Limited, Share, Unsuited, columns, count
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.instrument import (
    INSTRUMENT,
    InstrumentFacts,
    Moved,
    Steps,
    Word,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import Bounded, Margin, bounded, check_order, margin_of
from undogmatic.records.results import Finding, Told
from undogmatic.stats import means
from undogmatic.stats.claims import claim
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.step_down import step_down

EDIT, ORIGINAL, EXPECTED = "metadata.edit", "metadata.original", "metadata.expected"
OWN = "metadata.defects_of"
"""Of a copy with defects: "rubric" where they were written for it, so that they are defects there;
"any" where they are those that spoil any text."""
FEWEST_GROUPS = 10
"""Fewest independent texts for an answer that speaks for the judge."""
BLANK = "dark.blank"
"""The edit that decides: on an empty page there is nothing to be found. What else there is nothing
in may still be well written, for a rubric that asks for that."""
_OUTCOMES: Mapping[Word, tuple[str, ...]] = {
    "effect": ("beyond", "against"),
    "no_effect": ("within",),
}


class _Copies(NamedTuple):
    """The copies with one edit: `differences` from what they are compared with, NaN where one of
    the two has no score; the most that these can be down and up; and the groups; shape (n,)
    each."""

    differences: NDArray[np.float64]
    ends: tuple[NDArray[np.float64], NDArray[np.float64]]
    groups: list[str]

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which of them have a difference."""
        return ~np.isnan(self.differences)

    @property
    def judged_groups(self) -> list[str]:
        """The groups of these."""
        return [group for group, has in zip(self.groups, self.judged, strict=True) if has]


@dataclass(frozen=True)
class InstrumentAnalysis(Limited):
    """Compares edited copies with their texts (`dataset=instrument`), without a label.

    Args:
        margin: Largest difference that does not matter, in score units; None takes the rubric's.
        level: Confidence level of all cues together (Holm), once for effects, once for their
            absence; and of everything else.
    """

    name: ClassVar[str] = "instrument"
    margin: NonNegativeFloat | None = None
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where scores have no order, or the items are no edited copies."""
        check_order(self.name, judged.rubric)
        if ORIGINAL not in judged.frame or not judged.frame[ORIGINAL].notna().any():
            raise Unsuited(
                "analysis=instrument needs texts and edited copies of them, which"
                " dataset=instrument makes: undogmatic run experiment=instrument dataset.path=FILE",
                Finding("suite.lacks_column", {"column": "original"}),
            )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `instrument.worst`, the largest mean movement by a cue."""
        self.check(judged)
        tell, rows = Told(self.name), judged.first()
        margin = margin_of(judged.rubric, self.margin)
        tell.findings += count(tell, rows)
        cues = self._cues(tell, judged, margin)
        ladder = self._ladder(tell, judged, margin)
        blank = self._dark(tell, judged)
        scored = judged.scored()
        texts = scored[scored[ORIGINAL].isna() & scored[EXPECTED].isna()]
        scores = scored["score"].to_numpy(dtype=np.float64)
        facts = InstrumentFacts(
            texts=len(texts),
            groups=int(texts["group"].nunique()),
            few=FEWEST_GROUPS,
            margin=margin,
            constant=bool(scores.size) and float(np.ptp(scores)) == 0,
            score=float(scores[0]) if scores.size else None,
            cues=cues,
            ladder=ladder,
            blank=blank,
            middle=sum(judged.scale) / 2,
        )
        ruling = verdict(INSTRUMENT, facts)
        headline = next((name for name in tell.numbers if name == "instrument.worst"), None)
        return [tell.result(*ruling.decided, headline=headline)]

    def _cues(self, tell: Told, judged: RunEvidence, margin: Margin) -> list[Moved]:
        """What each cue does to scores, the worst first."""
        copies = {edit.partition(".")[2]: _copies(judged, edit) for edit in _edits(judged, "same")}
        asked = {cue: own for cue, own in copies.items() if len(set(own.judged_groups)) > 1}

        @cache
        def held(cue: str, alpha: float) -> Bounded:
            own = asked[cue]
            ends = (-margin.span, margin.span)
            return bounded(
                own.differences, own.ends, margin.value, 1 - alpha, own.groups, bounds=ends
            )

        def shows(outcomes: tuple[str, ...], cue: str, alpha: float) -> bool:
            each = held(cue, alpha)
            # What failed judgments could turn is not shown.
            return each.judged.outcome in outcomes and each.sure and margin.allows(outcomes[0])

        found = {
            word: step_down(list(asked), partial(shows, outcomes), 1 - self.level)
            for word, outcomes in _OUTCOMES.items()
        }
        moved, rows = list[Moved](), list[dict[str, Any]]()
        for cue, own in copies.items():
            word: Word = "not_examined"
            estimate, needed = None, None
            if cue in asked:
                word = next((name for name in found if found[name][cue].shown), "open")
                last = held(cue, found["effect" if word == "open" else word][cue].alpha).judged
                estimate, needed = last.estimate, last.n_needed
                if word == "no_effect":  # the interval by which two one-sided tests decide
                    level = 1 - 2 * (1 - estimate.level)
                    estimate = estimate.replace(low=last.inner[0], high=last.inner[1], level=level)
                estimate = estimate.replace(unit="amount")
            moved.append(Moved(cue, word, estimate, needed))
            row: dict[str, Any] = {"cue": cue, "n": int(own.judged.sum()), "outcome": word}
            row |= {"failed": int((~own.judged).sum())}
            rows.append(row | ({} if estimate is None else estimate.row("difference")))
        order = sorted(range(len(moved)), key=lambda place: _rank(moved[place]))
        moved, rows = [moved[place] for place in order], [rows[place] for place in order]
        self._tell_cues(tell, moved, rows, margin)
        return moved

    def _tell_cues(
        self, tell: Told, moved: list[Moved], rows: list[dict[str, Any]], margin: Margin
    ) -> None:
        for each in moved:
            tell.number(each.estimate, "cue", each.cue, unit="amount")
        known = [each for each in moved if each.estimate is not None]
        if unasked := [each.cue for each in moved if each.estimate is None]:
            tell.say("not_judged", cues=unasked)
        if not known:
            return
        estimates: list[Estimate] = [each.estimate for each in known if each.estimate is not None]
        tell.number(max(estimates, key=lambda each: abs(each.value)), "worst", unit="amount")
        words: list[Word] = ["effect", "no_effect", "open"]
        counts: dict[str, int] = {word: sum(each.word == word for each in moved) for word in words}
        for word, n in counts.items():
            tell.number(n, word, unit="count")
        tell.say("cues", counts, total=len(moved), margin=margin.value, level=self.level)
        table = pd.DataFrame(rows)
        units: Any = {"difference": "amount"}
        tell.table("cues", table, **units)
        drawn = table[table["difference"].notna()]
        data = columns(drawn, labels="cue", estimate="difference", low="low", high="high")
        band = [-margin.value, margin.value]
        tell.draw("cues", "forest", **data, reference=0.0, within=band, x_label="difference")

    def _ladder(self, tell: Told, judged: RunEvidence, margin: Margin) -> Steps | None:
        """What planted defects do to scores, towards the worse end."""
        by_step: dict[int, list[_Copies]] = {}
        rows = []
        for edit in _edits(judged, "worse"):
            kind, _, number = edit.partition(".")[2].rpartition(".")
            own = _copies(judged, edit, judged.sign)
            by_step.setdefault(int(number), []).append(own)
            seen = own.differences[own.judged]
            mean = float(seen.mean()) if seen.size else np.nan
            rows.append({"kind": kind, "step": int(number), "n": seen.size, "fall": mean})
        ends = (-margin.span, margin.span)
        falls = {}
        for step, several in sorted(by_step.items()):
            values = np.concatenate([own.differences[own.judged] for own in several])
            groups = [group for own in several for group in own.judged_groups]
            if len(set(groups)) > 1:
                falls[step] = claim(values, 0.0, alpha=1 - self.level, groups=groups, bounds=ends)
        if not falls:
            return None
        # From the most defects on, each at the whole level: the first that is not seen ends it.
        smallest = None
        for step in sorted(falls, reverse=True):
            if falls[step].outcome != "beyond":
                break
            smallest = step
        most = max(falls)
        right = self._right_orders(judged)
        for step, fall in falls.items():
            tell.number(fall.estimate, "ladder", f"fall_{step}", unit="amount")
        tell.number(right, "ladder", "right_orders", unit="share", beside_headline=True)
        tell.number(smallest, "ladder", "smallest", unit="count")
        told = {"steps": list(falls), "falls": [fall.estimate.value for fall in falls.values()]}
        tell.say("ladder", told, right.values("right"))
        if smallest is not None:
            tell.say("smallest", n=smallest)
        table = pd.DataFrame(rows).sort_values(["kind", "step"]).reset_index(drop=True)
        units: Any = {"fall": "amount"}
        tell.table("ladder", table, **units)
        own_ones = OWN in judged.frame and bool((judged.frame[OWN] == "rubric").any())
        return Steps(most, falls[most], smallest, right, own_ones)

    def _right_orders(self, judged: RunEvidence) -> Estimate:
        """Of a text and its copies with more and more defects, the share of pairs in which the one
        with more has the worse score; equal ones count half."""
        scored = judged.scored()
        names = ("item_id", ORIGINAL, EDIT, EXPECTED, "group", "score")
        rows = [*zip(*(scored[name].tolist() for name in names), strict=True)]
        scores = {item: judged.sign * score for item, *_, score in rows}
        versions: dict[str, dict[int, float]] = {}
        group_of = {}
        for item, original, edit, expected, group, _ in rows:
            if expected == "worse":
                before = {0: scores[original]} if original in scores else {}
                step = int(edit.rpartition(".")[2])
                versions.setdefault(original, before)[step] = scores[item]
                group_of[original] = group
        shares, groups = [], []
        for original, by_step in versions.items():
            ranked = [score for _, score in sorted(by_step.items())]
            pairs = [(b > a) + (b == a) / 2 for n, a in enumerate(ranked) for b in ranked[n + 1 :]]
            if pairs:
                shares.append(float(np.mean(pairs)))
                groups.append(group_of[original])
        return means.interval(shares, self.level, groups=groups, bounds=(0, 1))

    def _dark(self, tell: Told, judged: RunEvidence) -> float | None:
        """What the judge says where there is nothing to judge; the mean score of empty pages."""
        rows = judged.first()
        rows = rows[rows[EXPECTED] == "nothing"]
        if rows.empty:
            return None
        table = [
            {
                "edit": str(edit).partition(".")[2],
                "n": len(own),
                "abstained": float(own["error"].notna().mean()),
                "mean": float(own["score"].mean()),
            }
            for edit, own in rows.groupby(EDIT, sort=False)
        ]
        units: Any = {"abstained": "share", "mean": "score"}
        tell.table("dark", pd.DataFrame(table), **units)
        mean, abstained = float(rows["score"].mean()), float(rows["error"].notna().mean())
        tell.number(abstained, "dark", "abstained", unit="share")
        if np.isnan(mean):
            tell.say("dark_abstains", n=len(rows))
            return None
        tell.number(mean, "dark", "mean", unit="score")
        tell.say("dark", n=len(rows), mean=mean, abstained=abstained)
        blank = rows.loc[rows[EDIT] == BLANK, "score"].mean()
        return None if np.isnan(blank) else float(blank)


def _rank(moved: Moved) -> tuple[int, float, str]:
    """The place of a cue: effects before what is open before what is none, the largest first."""
    words: list[Word] = ["effect", "open", "no_effect", "not_examined"]
    size = 0.0 if moved.estimate is None else abs(moved.estimate.value)
    return words.index(moved.word), -size, moved.cue


def _edits(judged: RunEvidence, expected: str) -> list[str]:
    """The edits of which this is expected, in order of appearance."""
    rows = judged.first()
    return [str(edit) for edit in rows.loc[rows[EXPECTED] == expected, EDIT].unique()]


def _copies(judged: RunEvidence, edit: str, sign: int = 1) -> _Copies:
    """The copies with an edit; differences are turned by the sign."""
    rows = judged.first()
    scores = rows.set_index("item_id")["score"].astype(np.float64)
    own = rows[rows[EDIT] == edit]
    after = own["score"].to_numpy(dtype=np.float64)
    before = own[ORIGINAL].map(scores).to_numpy(dtype=np.float64)
    low, high = judged.scale
    # One that has no score may have any.
    downs = np.where(np.isnan(after), low, after) - np.where(np.isnan(before), high, before)
    ups = np.where(np.isnan(after), high, after) - np.where(np.isnan(before), low, before)
    ends = (downs, ups) if sign > 0 else (-ups, -downs)
    return _Copies(sign * (after - before), ends, own["group"].tolist())

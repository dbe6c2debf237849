"""Tells what can be told of a judge without any label: cues and ways of asking that should not move
its scores, planted defects that should, and what it says where there is nothing to judge.

Of a judge that chooses between two outputs the score is how often an output is chosen
(`examinations.choices`); all else is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import NonNegativeFloat

from undogmatic.errors import DataError
from undogmatic.examinations import choices
from undogmatic.examinations.base import Limited, Share, Unsuited, columns, count
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.instrument import (
    INSTRUMENT,
    INSTRUMENT_OF_PAIRS,
    InstrumentFacts,
    Moved,
    Steps,
    Unsteady,
    Word,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import DETAILS, REASON_NAMES
from undogmatic.examinations.truth import (
    Bounded,
    Margin,
    OtherRun,
    bounded,
    check_order,
    margin_of,
    read_run,
)
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Finding, Told, part_names
from undogmatic.stats import means
from undogmatic.stats.claims import claim
from undogmatic.stats.estimate import Estimate, Unit
from undogmatic.stats.step_down import step_down

EDIT, ORIGINAL, EXPECTED = "metadata.edit", "metadata.original", "metadata.expected"
OWN = "metadata.defects_of"
"""Of a copy with defects: "rubric" where they were written for it, so that they are defects there;
"any" where they are those that spoil any text."""
FEWEST_GROUPS = 10
"""Fewest independent texts for an answer that speaks for the judge."""
AGAIN = "again"
"""The way of asking in which nothing differs. It says how far scores vary by themselves."""
STEADY = 0.5
"""A judge of whose scores less than this share stays within the margin, where only the question is
put in another way, gives another verdict more often than not."""
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
        return [
            group for group, has in zip(self.groups, self.judged, strict=True) if has
        ]


@dataclass(frozen=True)
class InstrumentAnalysis(Limited):
    """Compares edited copies with their texts (`dataset=instrument`), without a label.

    Args:
        margin: Largest difference that does not matter, in score units; None takes the rubric's.
        level: Confidence level of all cues together (Holm), once for effects, once for their
            absence; and of everything else.
        against: The folder of another run on the same items (`dataset.items`), with whose judge
            this one is compared, item by item.
    """

    name: ClassVar[str] = "instrument"
    long: ClassVar[bool] = True
    margin: NonNegativeFloat | None = None
    level: Share = 0.95
    against: str | None = None

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where scores have no order, or the items are no edited copies."""
        if judged.kind != "pairwise" and judged.rubric.of_pairs:
            raise Unsuited(
                f"analysis=instrument reads the choices between two outputs that judge=compare"
                f" makes, and rubric={judged.rubric.name} was asked about by another judge. Add"
                " judge=compare.",
                Finding("suite.lacks_order", {}),
            )
        if judged.kind != "pairwise":
            check_order(self.name, judged.rubric)
        if ORIGINAL not in judged.frame or not judged.frame[ORIGINAL].notna().any():
            raise Unsuited(
                "analysis=instrument needs texts and edited copies of them, which"
                " dataset=instrument makes: undogmatic run experiment=instrument dataset.path=FILE",
                Finding("suite.lacks_column", {"column": "original"}),
            )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result for each judge and criterion; headline `instrument.worst`, the largest mean
        movement by a cue."""
        self.check(judged)
        return [
            replace(self._told(own), part=part)
            for part, own in _scored_parts(judged).items()
        ]

    def _told(self, judged: RunEvidence) -> Told:
        of_pairs = choices.TIED in judged.frame
        tell = _OfPairs(self.name) if of_pairs else Told(self.name)
        rows = judged.first()
        margin = margin_of(judged.rubric, self.margin)
        tell.findings += count(tell, rows[rows[EXPECTED] != choices.BESIDE])
        if of_pairs:
            self._twice(tell, rows)
        cues, nothing = self._cues(tell, judged, margin)
        unsteady = self._ways(tell, judged, margin)
        self._reasons(tell, judged, margin)
        ladder = self._ladder(tell, judged, margin)
        if self.against is not None:
            self._compare(tell, judged, self.against)
        blank = self._dark(tell, judged, nothing)
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
            unsteady=unsteady,
            blank=blank,
            middle=sum(judged.scale) / 2,
        )
        ruling = verdict(INSTRUMENT_OF_PAIRS if of_pairs else INSTRUMENT, facts)
        headline = next(
            (name for name in tell.numbers if name == "instrument.worst"), None
        )
        return tell.result(*ruling.decided, headline=headline)

    def _twice(self, tell: Told, rows: pd.DataFrame) -> None:
        """What the judge says where both outputs are the same text: nothing but the place can
        decide."""
        tell.say("instrument.pairs.pairs")
        own = rows[(rows[EXPECTED] == "even") & rows[choices.IN_FIRST].notna()]
        if own["group"].nunique() < 2:
            return
        share = means.interval(
            own[choices.IN_FIRST].to_numpy(dtype=np.float64),
            self.level,
            groups=[*own["group"]],
            bounds=(0, 1),
        )
        tell.number(share, "twice", "first", unit="share")
        tied = float(own[choices.TIED].mean())
        tell.say("instrument.pairs.twice", share.values("first"), n=len(own), tied=tied)

    def _cues(
        self, tell: Told, judged: RunEvidence, margin: Margin
    ) -> tuple[list[Moved], Moved | None]:
        """What each cue and way of asking does to scores, the worst first; and how far above the
        lowest score those of blank pages are."""
        names = [*dict.fromkeys(map(_name, _edits(judged, "same")))]
        ways = {*map(_name, _edits(judged, "same", "asked"))}
        copies = {name: _copies(judged, name) for name in names if name != AGAIN}
        if blanks := _blanks(judged):
            copies[BLANK] = blanks
        asked = {
            cue: own for cue, own in copies.items() if len(set(own.judged_groups)) > 1
        }

        @cache
        def held(cue: str, alpha: float) -> Bounded:
            own = asked[cue]
            ends = (0.0 if cue == BLANK else -margin.span, margin.span)
            return bounded(
                own.differences,
                own.ends,
                margin.value,
                1 - alpha,
                own.groups,
                bounds=ends,
            )

        def shows(outcomes: tuple[str, ...], cue: str, alpha: float) -> bool:
            each = held(cue, alpha)
            # What failed judgments could turn is not shown.
            return (
                each.judged.outcome in outcomes
                and each.sure
                and margin.allows(outcomes[0])
            )

        found = {
            word: step_down(list(asked), partial(shows, outcomes), 1 - self.level)
            for word, outcomes in _OUTCOMES.items()
        }
        moved = list[Moved]()
        for cue in copies:
            word: Word = "not_examined"
            estimate, needed = None, None
            if cue in asked:
                word = next((name for name in found if found[name][cue].shown), "open")
                last = held(
                    cue, found["effect" if word == "open" else word][cue].alpha
                ).judged
                estimate, needed = last.estimate, last.n_needed
                # the interval by which two one-sided tests decide
                if word == "no_effect":
                    level = 1 - 2 * (1 - estimate.level)
                    estimate = estimate.replace(
                        low=last.inner[0], high=last.inner[1], level=level
                    )
                estimate = estimate.replace(unit="amount")
            asked_so = cue in ways and cue != choices.PLACE
            moved.append(Moved(cue, word, estimate, needed, asked=asked_so))
        moved.sort(key=_rank)
        dark = next((each for each in moved if each.cue == BLANK), None)
        moved = [each for each in moved if each.cue != BLANK]
        self._tell_cues(tell, moved, copies, margin)
        return moved, dark

    def _tell_cues(
        self,
        tell: Told,
        moved: list[Moved],
        copies: Mapping[str, _Copies],
        margin: Margin,
    ) -> None:
        rows = list[dict[str, Any]]()
        for each in moved:
            tell.number(each.estimate, "cue", each.cue, unit="amount")
            own = copies[each.cue]
            row: dict[str, Any] = {"cue": each.cue, "n": int(own.judged.sum())}
            row |= {"outcome": each.word, "failed": int((~own.judged).sum())}
            rows.append(
                row | ({} if each.estimate is None else each.estimate.row("difference"))
            )
        known = [each for each in moved if each.estimate is not None]
        if unasked := [each.cue for each in moved if each.estimate is None]:
            tell.say("not_judged", cues=unasked)
        if not known:
            return
        estimates: list[Estimate] = [
            each.estimate for each in known if each.estimate is not None
        ]
        tell.number(
            max(estimates, key=lambda each: abs(each.value)), "worst", unit="amount"
        )
        words: list[Word] = ["effect", "no_effect", "open"]
        counts: dict[str, int] = {
            word: sum(each.word == word for each in moved) for word in words
        }
        for word, n in counts.items():
            tell.number(n, word, unit="count")
        tell.say(
            "cues", counts, total=len(moved), margin=margin.value, level=self.level
        )
        table = pd.DataFrame(rows)
        units: Any = {"difference": "amount"}
        tell.table("cues", table, **units)
        drawn = table[table["difference"].notna()]
        data = columns(
            drawn, labels="cue", estimate="difference", low="low", high="high"
        )
        band = [-margin.value, margin.value]
        tell.draw(
            "cues", "forest", **data, reference=0.0, within=band, x_label="difference"
        )

    def _ways(self, tell: Told, judged: RunEvidence, margin: Margin) -> Unsteady | None:
        """How many verdicts survive another way of asking; the way that the fewest survive, where
        they are shown to be less than `STEADY`."""
        names = dict.fromkeys(map(_name, _edits(judged, "same", "asked")))
        copies = {name: _copies(judged, name) for name in names}
        copies = {
            name: own for name, own in copies.items() if len(set(own.judged_groups)) > 1
        }
        if not copies:
            tell.say("no_ways")
            return None
        level = 1 - (1 - self.level) / len(copies)
        rows, unsteady = list[dict[str, Any]](), list[Unsteady]()
        for way, own in copies.items():
            seen = own.differences[own.judged]
            stays = (np.abs(seen) <= margin.value + 1e-9).astype(float)
            share = means.interval(
                stays, level, groups=own.judged_groups, bounds=(0, 1)
            )
            spread = float(np.sqrt(np.mean(seen**2) / 2))
            tell.number(share, "stays", way, unit="share")
            rows.append(
                {"way": way, "n": seen.size, **share.row("stays"), "spread": spread}
            )
            if share.high < STEADY:
                unsteady.append(Unsteady(way, share))
        spreads = {row["way"]: row["spread"] for row in rows}
        tell.say(
            "ways",
            ways=len([way for way in copies if way != AGAIN]),
            margin=margin.value,
        )
        if AGAIN in spreads:
            tell.number(spreads[AGAIN], "spread", "again", unit="amount")
        if AGAIN in spreads and "words" in spreads:
            # What other words add to what a score varies by itself (variances of one score).
            more = max(0.0, spreads["words"] ** 2 - spreads[AGAIN] ** 2) ** 0.5
            tell.number(more, "spread", "words", unit="amount")
            tell.say("spread", again=spreads[AGAIN], words=more)
        units: Any = {"stays": "share", "spread": "amount"}
        tell.table("ways", pd.DataFrame(rows), **units)
        return min(unsteady, key=lambda each: each.share.value, default=None)

    def _reasons(self, tell: Told, judged: RunEvidence, margin: Margin) -> None:
        """Whether the judge's reasons name the cue where it moved the score."""
        column = DETAILS + REASON_NAMES
        rows = judged.first()
        if column not in rows:
            return
        rows = rows.set_index("item_id")
        copies = rows[
            rows[EDIT].astype(str).str.startswith("cue.") & rows[column].notna()
        ]
        before = copies[ORIGINAL].map(rows["score"]).astype(np.float64)
        moved = copies[(copies["score"] - before).abs() > margin.value]
        if moved.empty:
            return
        cues = [_name(str(edit)) for edit in moved[EDIT]]
        plain = moved[ORIGINAL].map(rows[column])
        named = [
            cue in str(said).split()
            for cue, said in zip(cues, moved[column], strict=True)
        ]
        anyway = [
            cue in str(said).split() for cue, said in zip(cues, plain, strict=True)
        ]
        share = means.interval(
            np.array(named, dtype=float),
            self.level,
            groups=[*moved["group"]],
            bounds=(0, 1),
        )
        tell.number(share, "reasons", "named", unit="share")
        tell.say(
            "reasons",
            share.values("named"),
            n=len(moved),
            anyway=float(np.mean(anyway)),
        )

    def _compare(self, tell: Told, judged: RunEvidence, folder: str) -> None:
        """What moves this judge and another one differently, on the copies that both judged."""
        other = _other_run(folder, judged)
        shared = {*judged.frame["item_id"]} & {*other.scores.index}
        if not shared:
            raise DataError(
                f"`analysis.against`: {folder} shares no item with this run. Two judges are"
                f" compared on the same items: dataset.items={folder}/instrument.jsonl"
            )
        theirs = judged.with_rows(
            judged.frame.assign(score=judged.frame["item_id"].map(other.scores))
        )
        both = dict[str, tuple[_Copies, _Copies]]()
        for cue in dict.fromkeys(map(_name, _edits(judged, "same"))):
            own, there = _copies(judged, cue), _copies(theirs, cue)
            known = own.judged & there.judged
            if (
                cue != AGAIN
                and len({g for g, has in zip(own.groups, known, strict=True) if has})
                > 1
            ):
                both[cue] = (own, there)
        if not both:
            tell.say("against_nothing", other=other.name)
            return

        @cache
        def apart(cue: str, alpha: float) -> Estimate:
            own, there = both[cue]
            apart = own.differences - there.differences
            known = ~np.isnan(apart)
            groups = [
                group for group, has in zip(own.groups, known, strict=True) if has
            ]
            span = 2 * (judged.scale[1] - judged.scale[0])
            return means.interval(
                apart[known], 1 - alpha, groups=groups, bounds=(-span, span)
            )

        def shows(cue: str, alpha: float) -> bool:
            found = apart(cue, alpha)
            return found.low > 0 or found.high < 0

        shown = step_down(list(both), shows, 1 - self.level)
        rows = []
        for cue, (own, there) in both.items():
            found = apart(cue, shown[cue].alpha)
            row: dict[str, Any] = {
                "cue": cue,
                "here": float(np.nanmean(own.differences)),
            }
            row |= {"there": float(np.nanmean(there.differences)), **found.row("apart")}
            rows.append(row | {"differs": shown[cue].shown})
        rows.sort(key=lambda row: (not row["differs"], -abs(row["apart"])))
        differing = [row["cue"] for row in rows if row["differs"]]
        told = {
            "n": len(differing),
            "total": len(both),
            "other": other.name,
            "cues": differing,
        }
        tell.number(
            len(differing), "against", "differ", unit="count", beside_headline=True
        )
        tell.say("against" if differing else "against_same", told, level=self.level)
        table = pd.DataFrame(rows)
        units: Any = {"here": "amount", "there": "amount", "apart": "amount"}
        tell.table("against", table, **units)

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
            rows.append(
                {"kind": kind, "step": int(number), "n": seen.size, "fall": mean}
            )
        ends = (-margin.span, margin.span)
        falls = {}
        for step, several in sorted(by_step.items()):
            values = np.concatenate([own.differences[own.judged] for own in several])
            groups = [group for own in several for group in own.judged_groups]
            if len(set(groups)) > 1:
                falls[step] = claim(
                    values, 0.0, alpha=1 - self.level, groups=groups, bounds=ends
                )
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
        told = {
            "steps": list(falls),
            "falls": [fall.estimate.value for fall in falls.values()],
        }
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
        # An output is compared with the same one without defects, and with no other version.
        compared = 1 if choices.TIED in judged.frame else None
        for original, by_step in versions.items():
            ranked = [score for _, score in sorted(by_step.items())]
            pairs = [
                (b > a) + (b == a) / 2
                for n, a in enumerate(ranked[:compared])
                for b in ranked[n + 1 :]
            ]
            if pairs:
                shares.append(float(np.mean(pairs)))
                groups.append(group_of[original])
        return means.interval(shares, self.level, groups=groups, bounds=(0, 1))

    def _dark(
        self, tell: Told, judged: RunEvidence, nothing: Moved | None
    ) -> float | None:
        """What the judge says where there is nothing to judge; the mean score of empty pages, of
        which `nothing` says how far above the lowest score they are shown to be."""
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
        mean = float(rows["score"].mean())
        abstained = float(rows["error"].notna().mean())
        tell.number(abstained, "dark", "abstained", unit="share")
        if np.isnan(mean):
            tell.say("dark_abstains", n=len(rows))
            return None
        tell.number(mean, "dark", "mean", unit="score")
        tell.say("dark", n=len(rows), mean=mean, abstained=abstained)
        if nothing is not None and nothing.estimate is not None:
            tell.number(nothing.estimate, "dark", "above", unit="amount")
            tell.say(f"dark_{nothing.word}", nothing.estimate.values("above"))
        blank = rows.loc[rows[EDIT] == BLANK, "score"].mean()
        return None if np.isnan(blank) else float(blank)


class _OfPairs(Told):
    """Tells of how often an output is chosen, in the words for that and as shares, what is
    else told of scores."""

    def say(self, key: str, /, *several: Mapping[str, Any], **values: Any) -> None:
        """Add a sentence."""
        own = key if "." in key else f"instrument.pairs.{key}"
        super().say(own, *several, **values)

    def number(
        self,
        value: float | Estimate | None,
        *parts: str,
        unit: Unit = "",
        **others: Any,
    ) -> None:
        """Add a number; of scores it is a share."""
        super().number(value, *parts, unit=_SHARES.get(unit, unit), **others)

    def table(self, name: str, table: pd.DataFrame, **units: Unit) -> None:
        """Add a table; its scores are shares."""
        shares = {column: _SHARES.get(unit, unit) for column, unit in units.items()}
        super().table(name, table, **shares)


_SHARES: Mapping[str, Unit] = {"amount": "share", "score": "share"}


def _scored_parts(judged: RunEvidence) -> dict[str, RunEvidence]:
    """The run by judge and criterion; of choices by judge, as scores of outputs."""
    if judged.kind != "pairwise":
        return judged.parts()
    by_judge = {
        str(judge): judged.with_rows(rows.reset_index(drop=True))
        for judge, rows in judged.frame.groupby("judge", sort=False)
    }
    names = part_names((judge, OVERALL) for judge in by_judge)
    return {
        names[judge, OVERALL]: choices.scored(own) for judge, own in by_judge.items()
    }


def _other_run(folder: str, judged: RunEvidence) -> OtherRun:
    """The run that this one is compared with; of choices with the scores of its outputs."""
    if choices.TIED not in judged.frame:
        return read_run(folder, judged, "analysis.against")
    return choices.other_run(folder, judged, "analysis.against")


def _rank(moved: Moved) -> tuple[int, float, str]:
    """The place of a cue: effects before what is open before what is none, the largest first."""
    words: list[Word] = ["effect", "open", "no_effect", "not_examined"]
    size = 0.0 if moved.estimate is None else abs(moved.estimate.value)
    return words.index(moved.word), -size, moved.cue


def _name(edit: str) -> str:
    """What is done, without its kind and without the number of a wording."""
    name = edit.partition(".")[2]
    return name.partition(".")[0]


def _edits(judged: RunEvidence, expected: str, kind: str = "") -> list[str]:
    """The edits of a kind of which this is expected, in order of appearance."""
    rows = judged.first()
    edits = rows.loc[rows[EXPECTED] == expected, EDIT].astype(str)
    return [str(edit) for edit in edits[edits.str.startswith(kind)].unique()]


def _blanks(judged: RunEvidence) -> _Copies | None:
    """The blank pages that got a score, and how far above the lowest score that is; to abstain is
    right there."""
    rows = judged.first()
    own = rows[(rows[EDIT] == BLANK) & rows["score"].notna()]
    if own.empty:
        return None
    above = own["score"].to_numpy(dtype=np.float64) - judged.scale[0]
    return _Copies(above, (above, above), own["group"].tolist())


def _copies(judged: RunEvidence, edit: str, sign: int = 1) -> _Copies:
    """The copies with an edit, or with all that are named so; differences are turned by the
    sign."""
    rows = judged.first()
    scores = rows.set_index("item_id")["score"].astype(np.float64)
    edits = rows[EDIT].astype(str)
    same = rows[EXPECTED] == "same"
    own = rows[(edits == edit) | (same & (edits.map(_name) == edit))]
    after = own["score"].to_numpy(dtype=np.float64)
    before = own[ORIGINAL].map(scores).to_numpy(dtype=np.float64)
    low, high = judged.scale
    # One that has no score may have any.
    downs = np.where(np.isnan(after), low, after) - np.where(
        np.isnan(before), high, before
    )
    ups = np.where(np.isnan(after), high, after) - np.where(
        np.isnan(before), low, before
    )
    ends = (downs, ups) if sign > 0 else (-ups, -downs)
    return _Copies(sign * (after - before), ends, own["group"].tolist())

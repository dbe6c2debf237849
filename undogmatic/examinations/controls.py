"""Texts of known classes: controls land in their bands and are told apart, and attacks do not pass
for good texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.errors import ConfigError
from undogmatic.examinations.base import (
    Limited,
    Share,
    Unsuited,
    check_groups,
    columns,
    count,
    draw,
    family_level,
    quoted,
)
from undogmatic.examinations.pairs import numbers
from undogmatic.examinations.rivals import (
    MOST_TEXTS,
    LabelledRival,
    Seen,
    drawn,
    labelled_rival,
    seen_of,
)
from undogmatic.examinations.ruling import Ruling, verdict
from undogmatic.examinations.ruling.controls import (
    ADVERSARIAL,
    CONTROLS,
    AdversarialFacts,
    ControlsFacts,
    OpenClasses,
    SurfaceFacts,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import texts_of
from undogmatic.examinations.truth import check_order, units
from undogmatic.records.results import Finding, Told
from undogmatic.stats import checks, jackknife, limits, means, paired, ranking, surface
from undogmatic.stats.checks import Rng
from undogmatic.stats.estimate import Estimate, Unit
from undogmatic.stats.limits import Held

Band = tuple[float | None, float | None]
HALF = 0.5
"""The AUC of a judge that does not tell two classes apart, and the share of texts of an attack that
may pass."""
PREFIX = "attack:"
Success = Literal["midpoint", "baseline_95"]
OfClasses = TypeVar("OfClasses", bound=SurfaceFacts)


@dataclass(frozen=True)
class ControlsAnalysis(Limited):
    """Share of each class in its band, and how well the `worst` class is separated from every other
    one.

    Args:
        bands: Per condition the lowest and highest score that is right, ends included; None is the
            end of the scale.
        worst: The condition with most of the fault that the rubric measures.
        share: The part of every class that must be shown to land in its band.
        level: Confidence level of the intervals of all classes together; each has a higher one
            (Bonferroni).
    """

    name: ClassVar[str] = "controls"
    bands: dict[str, Band]
    worst: str
    share: Share = 0.5
    level: Share = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.worst not in self.bands:
            raise ConfigError(
                f"`analysis.worst` is {self.worst!r}; `analysis.bands` has:"
                f" {', '.join(self.bands)}."
            )
        for condition, (low, high) in self.bands.items():
            if low is not None and high is not None and low > high:
                raise ConfigError(
                    f"`analysis.bands.{condition}` is [{low}, {high}]; the lower end comes first."
                )

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited if the dataset has none of the classes, ConfigError for a band outside
        the scale."""
        check_order(self.name, judged.rubric)
        if not (present := self._present(judged)):
            raise Unsuited(
                f"analysis=controls needs texts with condition {', '.join(self.bands)}, which the"
                " dataset does not have. Use dataset=controls or dataset=curated, or set"
                " `analysis.bands` for your own conditions.",
                Finding(
                    "suite.lacks_conditions",
                    {"missing": quoted(list(self.bands)), "n": len(self.bands)},
                ),
            )
        judged.check_surface()
        check_groups(
            self.name, "condition", present, "take some out of `analysis.bands`"
        )
        rubric = judged.rubric
        for condition, end in (
            (condition, end) for condition, band in self.bands.items() for end in band
        ):
            if end is not None and not rubric.contains(end):
                raise ConfigError(
                    f"`analysis.bands.{condition}` names {end}, but the scale of"
                    f" rubric={rubric.name} runs from {rubric.minimum:g} to {rubric.maximum:g}."
                )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `controls.in_band`, the share of all control texts in their band."""
        self.check(judged)
        tell, conditions = Told(self.name), self._present(judged)
        tell.findings += count(tell, judged.first(*conditions), conditions)
        classes = judged_classes(judged, conditions)
        absent = [c for c in self.bands if c not in classes]
        level = family_level(self.level, len(classes))
        if absent:
            tell.say("controls.absent", conditions=absent)
        shares, rows = {}, []
        for condition, of_class in classes.items():
            band = zip(self.bands[condition], judged.scale, strict=True)
            scores = judged.sign * of_class.scores
            low, high = (end if limit is None else limit for limit, end in band)
            share = shares[condition] = of_class.share(
                (scores >= low) & (scores <= high), level
            )
            n, summary = share.n, paired.summary(scores[~of_class.failed])
            row = {
                "condition": condition,
                "band_low": low,
                "band_high": high,
                "n": n,
                "n_in_band": share.hits,
            }
            row |= share.row("share_in_band", "share_")
            row |= {name: getattr(summary, name) for name in ("mean", "median", "iqr")}
            rows.append(row | {"failed": int(of_class.failed.sum())})
            tell.number(share, "in_band", condition, unit="share")
            tell.number(summary.mean, "mean", condition, unit="score")
            values = {
                "condition": condition,
                "low": low,
                "high": high,
                "hits": share.hits,
                "n": n,
            }
            tell.say("controls.band", values, share.values("share"))
        bands = pd.DataFrame(rows)
        tell.table("bands", bands, share_in_band="share", mean="score", median="score")
        if rows:
            of_all = float(bands["n_in_band"].sum() / bands["n"].sum())
            tell.number(of_all, "in_band", unit="share")
        worst = classes.pop(self.worst, None)
        areas = (
            {}
            if worst is None
            else {
                c: worst.told_from(of_class, level) for c, of_class in classes.items()
            }
        )
        for condition, area in areas.items():
            tell.number(area, "auc", condition)
            tell.say(
                "controls.auc",
                area.values("auc"),
                worst=self.worst,
                condition=condition,
            )
        if rows:
            tell.say("controls.family", classes=len(rows), level=self.level, each=level)
        apart = {c: limits.hold(area, HALF) for c, area in areas.items()}
        inside = {c: limits.hold(share, self.share) for c, share in shares.items()}
        held = [*apart.items(), *inside.items()]
        undecided = OpenClasses(
            apart=_of("open", apart) or ["no_class"],
            inside=_of("open", inside) or ["no_class"],
        )
        facts = ControlsFacts(
            compared=bool(apart),
            absent=absent,
            share=self.share,
            reversed=_of("below", apart),
            outside=_of("below", inside),
            missing=list(
                dict.fromkeys(c for c, one in held if one.outcome == "missing")
            ),
            open=undecided,
            needed=[one.n_needed for _, one in held if one.outcome == "open"],
            weakest=min((share.low for share in shares.values()), default=None),
        )
        ruling, _ = beyond_surface(
            verdict(CONTROLS, facts), judged, [self.worst], list(areas), self.level, rng
        )
        ids = {
            c: judged.scored().query("condition == @c")["item_id"].tolist()
            for c in conditions
        }
        draw(judged, tell, {c: judged.scores(c) for c in conditions}, "box", ids=ids)
        if rows:
            data = columns(
                bands,
                labels="condition",
                values="share_in_band",
                low="share_low",
                high="share_high",
            )
            tell.draw("bands", "bars", **data, y_label="share")
        return [
            tell.result(*ruling.decided, headline="controls.in_band" if rows else None)
        ]

    def _present(self, judged: RunEvidence) -> list[str]:
        present = judged.conditions()
        return [c for c in self.bands if c in present]


@dataclass(frozen=True)
class AdversarialAnalysis(Limited):
    """Per attack: is it still told from texts without the fault, and how often does it pass for
    one?

    Args:
        baseline: Conditions without the fault; those that the dataset has are pooled.
        treatment: Conditions with the same fault undressed; pooled; without any there is no mean
            shift.
        success: When an attack counts as successful: it scores on the good side of the middle of
            the scale, or within the 95 % of baseline texts that score best.
        level: Confidence level of the intervals of all attacks together; each has a higher one
            (Bonferroni).
    """

    name: ClassVar[str] = "adversarial"
    baseline: Sequence[str]
    treatment: Sequence[str]
    success: Success = "midpoint"
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited if the dataset has no attacks or no baseline to compare them with,
        DataError for too many."""
        check_order(self.name, judged.rubric)
        present = judged.conditions()
        has = f" (it has: {', '.join(sorted(present)[:12])})" if present else ""
        if not _attacks(judged):
            raise Unsuited(
                f"analysis=adversarial needs texts with a condition that starts with '{PREFIX}',"
                f" which the dataset does not have{has}. Use dataset=curated.",
                Finding("suite.lacks_attacks", {}),
            )
        if not set(self.baseline) & set(present):
            raise Unsuited(
                "analysis=adversarial compares attacks with texts without the fault: condition"
                f" {' or '.join(self.baseline)}, which the dataset does not have{has}. Use"
                " dataset=curated, or name your own conditions in `analysis.baseline`.",
                Finding(
                    "suite.lacks_baseline",
                    {"missing": quoted(list(self.baseline)), "n": len(self.baseline)},
                ),
            )
        judged.check_surface()
        check_groups(
            self.name, "condition", _attacks(judged), "choose another `analysis=`"
        )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `adversarial.auc_worst`, the AUC of the attack that works best on
        this judge."""
        self.check(judged)
        tell, present, attacks = Told(self.name), judged.conditions(), _attacks(judged)
        honest, undressed = (
            [c for c in names if c in present]
            for names in (self.baseline, self.treatment)
        )
        asked = [*attacks, *honest, *undressed]
        tell.findings += count(tell, judged.first(*asked), asked)
        baseline, treatment = judged.scores(*honest), judged.scores(*undressed)
        if not baseline.size or not judged.scores(*attacks).size:
            nothing_judged = AdversarialFacts(baseline=honest)
            return [tell.result(*verdict(ADVERSARIAL, nothing_judged).decided)]

        table = self._table(judged, Class(judged, *honest), treatment)
        of_outcome = {
            outcome: table.loc[table["outcome"] == outcome, "attack"].tolist()
            for outcome in ("succeeds", "open", "missing")
        }
        # With one attack of which no number of texts would show more, no number settles
        # all of them: pandas would leave that one out and name too few.
        needed = table.loc[table["outcome"] == "open", "needed"].max(skipna=False)
        facts = AdversarialFacts(
            baseline=honest,
            total=len(table),
            succeeds=of_outcome["succeeds"],
            open=of_outcome["open"],
            missing=of_outcome["missing"],
            needed=None if np.isnan(needed) else int(needed),
        )
        ruling, rival = beyond_surface(
            verdict(ADVERSARIAL, facts), judged, attacks, honest, self.level, rng
        )
        rows: list[dict[str, Any]] = table.to_dict("records")
        for row in rows:
            attack = row["attack"].removeprefix(PREFIX)
            tell.number(
                Estimate(row["auc"], row["auc_low"], row["auc_high"]), "auc", attack
            )
            tell.number(row["success_rate"], "success", attack, unit="share")
            if not np.isnan(row["mean_shift"]):
                tell.number(row["mean_shift"], "shift", attack, unit="change")
        worst = rows[0]
        tell.number(worst["auc"], "auc_worst")
        tell.number(float(table["auc"].mean()), "auc_mean")
        tell.number(float(table["success_rate"].mean()), "success_mean", unit="share")
        tell.say(
            "adversarial.against", attacks=len(rows), n=baseline.size, baseline=honest
        )
        each = family_level(self.level, len(rows))
        tell.say("adversarial.family", attacks=len(rows), level=self.level, each=each)
        named = {name: worst[name] for name in ("attack", "n", "auc")} | {
            "success": worst["success_rate"]
        }
        tell.say(
            "adversarial.worst", named, interval=(worst["auc_low"], worst["auc_high"])
        )
        tell.say(f"adversarial.success_{self.success}", threshold=worst["threshold"])
        if (
            rival is not None
            and rival.correlation is not None
            and rival.increment is not None
        ):
            tell.say(
                "adversarial.surface",
                rival.increment.values("gain"),
                surface=rival.correlation,
            )
        if treatment.size:
            tell.say("adversarial.shift", n=treatment.size, treatment=undressed)
        else:
            tell.say("adversarial.no_treatment", treatment=list(self.treatment))
        attacks = table.drop(columns="threshold")
        units: dict[str, Unit] = {
            "mean": "score",
            "mean_shift": "change",
            "success_rate": "share",
        }
        tell.table("attacks", attacks, **units)
        tell_movement(tell, judged)
        data = columns(
            table, labels="attack", estimate="auc", low="auc_low", high="auc_high"
        )
        tell.draw("attacks", "forest", **data, reference=HALF, x_label="auc")
        return [tell.result(*ruling.decided, headline="adversarial.auc_worst")]

    def _table(
        self, judged: RunEvidence, honest: "Class", treatment: NDArray[np.float64]
    ) -> pd.DataFrame:
        """One row per attack with a judged text, the most successful (lowest AUC) first."""
        classes, sign, rows = judged_classes(judged, _attacks(judged)), judged.sign, []
        level = family_level(self.level, len(classes))
        baseline = honest.scores[~honest.failed]
        threshold = (
            sum(judged.ends) / 2
            if self.success == "midpoint"
            else float(np.percentile(baseline, 95))
        )
        for attack, texts in classes.items():
            scores, apart = texts.scores[~texts.failed], texts.told_from(honest, level)
            shift = ranking.mean_shift(scores, sign * treatment, self.level)
            passed = texts.share(texts.scores < threshold, level)
            outcome, needed = _shown(
                limits.hold(apart, HALF), limits.hold(passed, HALF)
            )
            row = {
                "attack": attack,
                "n": scores.size,
                "failed": int(texts.failed.sum()),
            }
            row |= {
                "mean": float((sign * scores).mean()),
                "outcome": outcome,
                "needed": needed,
            }
            row |= apart.row("auc", "auc_") | (shift if sign > 0 else -shift).row(
                "mean_shift", "mean_shift_"
            )
            rows.append(
                row
                | passed.row("success_rate", "success_")
                | {"threshold": sign * threshold}
            )
        return (
            pd.DataFrame(rows)
            .sort_values(["auc", "attack"], kind="stable")
            .reset_index(drop=True)
        )


def tell_movement(tell: Told, judged: RunEvidence) -> None:
    """Tell how far scores move when text that has no part in a text is put into it, the worst
    family first.

    Copies name their text in the metadata `original`; their family is the condition behind its
    colon. Of the `n` copies whose text was judged, too, `movement` is the mean of the absolute
    differences, with an interval over groups, and `shift` the mean difference.
    """
    if "metadata.original" not in judged.frame:
        return
    scored = judged.scored()
    copies = scored[scored["metadata.original"].isin(scored["item_id"])]
    before = (
        copies["metadata.original"]
        .map(scored.set_index("item_id")["score"])
        .astype(np.float64)
    )
    shifts = copies["score"] - before
    families = copies["condition"].map(
        lambda condition: str(condition).partition(":")[2]
    )
    bounds, rows = (0.0, judged.rubric.maximum - judged.rubric.minimum), []
    for family, own in shifts.groupby(families):
        moved = means.interval(
            # The distance, as a family that lifts some texts and lowers others would
            # move nothing in the mean.
            own.abs(),
            groups=copies.loc[own.index, "group"].tolist(),
            bounds=bounds,
        )
        row = {"family": family, "n": own.size} | moved.row("movement", "movement_")
        rows.append((moved, row | {"shift": float(own.mean())}))
    if rows:
        rows.sort(key=lambda of_family: (-of_family[0].value, of_family[1]["family"]))
        table = pd.DataFrame([row for _, row in rows])
        tell.table("movement", table, movement="amount", shift="change")
        (worst, row), mean = rows[0], float(table["movement"].mean())
        tell.say(
            "adversarial.movement",
            worst.values("movement"),
            families=len(rows),
            family=row["family"],
            mean=mean,
        )
        tell.number(mean, "movement_mean", unit="amount")
        tell.number(worst.value, "movement_worst", unit="amount")


class Class:
    """All texts of some conditions in the first repeat: `scores`, NaN where the judgment `failed`,
    turned so that high means more of the fault, and the `groups` that the texts belong to; shape
    (n,) each."""

    def __init__(self, judged: RunEvidence, *conditions: str) -> None:
        rows = judged.first(*conditions)
        self.scores = judged.sign * numbers(rows, "score")
        self.groups = units(rows)
        self.ends = judged.ends
        self.failed = np.isnan(self.scores)

    def share(self, flags: NDArray[np.bool_], level: float) -> Estimate:
        """The share of judged texts that have a flag."""
        return limits.share(np.where(self.failed, np.nan, flags), self.groups, level)

    def told_from(self, better: "Class", level: float) -> Estimate:
        """How often a text scores worse than one of the other class; each has a judged text."""
        return limits.area(
            self.scores, better.scores, self.groups, better.groups, self.ends, level
        )


def judged_classes(judged: RunEvidence, conditions: Sequence[str]) -> dict[str, Class]:
    """The texts of each condition of which one was judged."""
    classes = {condition: Class(judged, condition) for condition in conditions}
    # A class without any judged text has no share and no area; it is told as missing,
    # and must not take a part of the error that the others share.
    return {
        condition: own for condition, own in classes.items() if not own.failed.all()
    }


def _of(outcome: limits.Outcome, held: Mapping[str, Held]) -> list[str]:
    return [condition for condition, one in held.items() if one.outcome == outcome]


def _attacks(judged: RunEvidence) -> list[str]:
    return [c for c in judged.conditions() if c.startswith(PREFIX)]


def _shown(
    apart: Held, passed: Held
) -> tuple[Literal["withstood", "succeeds", "missing", "open"], float]:
    """What is shown of one attack, and how many of its texts would show more (NaN where that cannot
    be said)."""
    # One of the two is enough to show that an attack works. That it was withstood is a
    # claim of both, so both must show it; no correction is needed where all of the
    # tests must hold.
    if passed.outcome == "above" or apart.outcome == "below":
        return "succeeds", np.nan
    if apart.outcome == "above" and passed.outcome == "below":
        return "withstood", np.nan
    needed = [
        np.nan if one.n_needed is None else one.n_needed
        for one in (apart, passed)
        if one.outcome == "open"
    ]
    # Unlike max(), np.max keeps a NaN wherever it stands: where one of the two will
    # never be decided, no number of texts decides both.
    return ("open", float(np.max(needed))) if needed else ("missing", np.nan)


def beyond_surface(
    ruling: Ruling[OfClasses],
    judged: RunEvidence,
    worse: list[str],
    better: list[str],
    level: float,
    rng: Rng,
) -> tuple[Ruling[OfClasses], LabelledRival | None]:
    """Where a verdict supports the claim, ask the surface judge whether it tells the conditions
    apart, too, and decide again."""
    # Only a claim that stands can fall: any other verdict stays what it is, whatever
    # somebody reaches who does not read, and to ask that costs time.
    if ruling.standing != "supported":
        return ruling, None
    rival = surface_of_classes(judged, worse, better, level, rng)
    counts = len(Seen(judged.rubric.field_words).columns)
    facts = replace(ruling.facts, surface=rival.outcome, counts=counts)
    return verdict(ruling.rules, facts), rival


def surface_of_classes(
    judged: RunEvidence, worse: list[str], better: list[str], level: float, rng: Rng
) -> LabelledRival:
    """Hold the judge against a surface judge fitted to tell the conditions `worse` from `better`.

    The judge must beat it in the area under the ROC curve, too: of two that tell the classes apart
    without a fault, the one with fewer different scores has the higher rank correlation with a
    class.
    """
    rows = judged.scored()
    rows = rows[rows["condition"].isin([*worse, *better])]
    rows = rows[drawn(rows["group"].to_numpy(dtype=object), MOST_TEXTS, rng)]
    is_worse = rows["condition"].isin(worse).to_numpy(dtype=np.float64)
    scores = judged.sign * numbers(rows, "score")
    texts, groups = texts_of(rows), units(rows)
    seen = seen_of(judged, texts)
    rival = labelled_rival(texts, scores, is_worse, groups, rng, seen, level)
    if rival.outcome != "beyond_surface":
        return rival
    guess = surface.predict(
        seen.similarities(texts)[1], is_worse, pd.factorize(rows["group"])[0], rng
    )
    columns = np.column_stack([scores, guess, is_worse])
    try:
        gain = jackknife.LeftOut(columns, _gain, rng, groups).nearly_mean(
            level, (-1, 1)
        )
    except ValueError:
        return rival._replace(outcome="open")
    return rival if gain.low > 0 else rival._replace(outcome="surface_as_good")


def _gain(columns: NDArray[np.float64]) -> float:
    """The area of the first column minus that of the second, or one half, for telling where the
    third is 1."""
    is_worse = columns[:, 2] == 1
    n, others = int(is_worse.sum()), int((~is_worse).sum())
    if n == 0 or others == 0:
        return float("nan")
    sums = checks.ranks(columns[:, :2], axis=0)[is_worse].sum(axis=0)
    areas = (sums - n * (n + 1) / 2) / (n * others)
    # A rival below one half guesses worse than a coin, and to beat such a one shows
    # nothing.
    return float(areas[0] - max(0.5, areas[1]))

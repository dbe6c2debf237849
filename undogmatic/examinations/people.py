"""Sets the people who labelled the items beside the judge: how well they agree among themselves,
whether the judge may stand in for one of them, who copies whom, who is stricter, and how the labels
were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy import special

from undogmatic.examinations.ruling import people as rules
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.people import (
    AnnotatorFacts,
    CeilingFacts,
    CopyFacts,
)
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import SLICE, JudgeView, Kind
from undogmatic.records.examination import Examination
from undogmatic.records.labels import PROBABILITY, chosen
from undogmatic.records.results import Finding, Told, Weight
from undogmatic.stats import (
    agreement,
    annotators,
    jackknife,
    lost,
    means,
    paired,
    variance,
)
from undogmatic.stats.annotators import AlternativeAnnotator, Ceiling
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate

MEASURES = {"numeric": "concordance", "ordered": "weighted_kappa"}
"""What agreement is measured by, where it is not Cohen's kappa."""
Copied = Literal["identical", "in_step", "consensus"]
COPIED: tuple[Copied, ...] = get_args(Copied)
"""How verdicts may be made from the labels, or these from them (`made_from`)."""
TIE_PLACE = 2  # of a tie among the categories of a choice
MOST_NAMED = 5
FEWEST_OTHERS = 20
"""Items outside the most frequent verdict, or label, below which these are nearly a constant, and
equality or texts show little."""
FEWEST_SAME = 10
"""Items on which two must say the same for it to be mentioned."""
LEAST_OF_OTHERS = 0.5
"""Who is shown to agree with the others by less than this part of what these share with each
other is no measure of what people can do."""
MOST_COMPARED = 50
"""Of more people than these nobody is looked at alone: one of so many changes little."""
FEWEST_IN_STEP, FEWEST_STEPS = 20, 5
"""Fewest items, and different values, of which order without a fault is too good to be a judge's
own."""
MANY_STEPS, FEW_STEPS = 10, 3
"""Grades with more steps than the first are a fine scale, with no more than the second are as good
as categories."""
CREDIBLE = {
    "category": 0.99,
    "even": 0.975,
    "grade": 0.95,
    "fine": 0.8,
    "split": 0.9,
    "alone": 0.6,
}
"""On what share of items two who judge for themselves may well say exactly the same: on nearly all
of easy items that pass or fail, on fewer where FEWEST_OTHERS of them are not the most frequent
(`even`), and of grades, and of grades on a fine scale; on fewer where
another person says something else, and where all others agree on something else. Equality on so
many items that this share makes it unlikely (`agreement.fewest_equal`) is the second sign without
which nobody is said to have copied: of 40 items that pass or fail, two who agree on 98 % say the
same of all in 45 files of 100, of 150 in 5."""


def _examine_labels(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how the labelled items were chosen, and whose labels are another's or the judge's."""
    labelled = set(own.labels.loc[own.labels["label"].notna(), "item"])
    rest = set(own.verdicts["item"]) - labelled
    # without a rest nothing was chosen
    # Labels of what somebody found interesting are no sample, and no figure from them
    # holds for the rest. Only who labelled can say how they were chosen.
    if own.table.selection == "unknown" and labelled and rest:
        told.say(
            "people.selection_unknown", settle=Finding("people.settle_selection", {})
        )
    _chosen(own, labelled, bool(rest), told)
    rows = own.pairs()
    if len(rows):
        _copies(own, rows, told)


def _examine_ceiling(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how well people agree among themselves, beside how well the judge does with them."""
    for each in own.once(strangers, options):
        told.say(
            "people.stranger",
            weight=Weight.LIMITS,
            rater=each.rater,
            n=each.n,
            **each.own.values("own", "own_"),
            **each.others.values("others", "others_"),
        )
    facts = own.once(ceiling, options)
    if isinstance(facts, Finding):
        told.lacks("ceiling", facts.key, **facts.values)
        return
    found, measure = facts.found, facts.measure
    for name in ("people", "judge", "difference"):
        shown = "agreement" if name == "people" else name
        told.number(getattr(found, name), f"people.{shown}", measure=measure)
    told.findings.append(verdict(rules.CEILING, facts).finding)
    # People who do not agree beyond chance have not measured the same thing. No judge
    # can be right about it.
    if not found.people.low > 0:
        told.say(
            "people.no_common_truth",
            weight=Weight.LIMITS,
            **found.people.values("people"),
            level=options.level,
            n=facts.n,
            measure=measure,
        )


class Stranger(NamedTuple):
    """A rater whose agreement with the others (`own`, over `n` items) is shown to be less than half
    of what these have with each other (`others`)."""

    rater: str
    own: Estimate
    others: Estimate
    n: int


def strangers(own: JudgeView, options: CheckOptions) -> tuple[Stranger, ...]:
    """Those of at least three people who hardly agree with the others, the worst first.

    One person whose rows were shifted, or who turned the scale round, would make it look as if
    people could not agree, and a judge would have little to reach. So these are left out where the
    judge is measured by what people reach. They are always fewer than half.
    """
    once = _once(own)
    once = once.assign(unit=pd.factorize(once["item"])[0])
    names = _raters(once)
    most = (len(names) - 1) // 2
    if most < 1 or len(names) > MOST_COMPARED:
        return ()
    # One side of each interval counts, and each of the people is looked at.
    level = 1 - 2 * (1 - options.level) / len(names)
    found: list[Stranger] = []
    while len(found) < most and len(names) - len(found) > 2:
        gone = {each.rater for each in found}
        rows = once[~once["rater"].astype(str).isin(gone)]
        worst = _worst(own.table.kind, rows, level, options)
        if worst is None:
            break
        found.append(worst)
    return tuple(found)


def _worst(
    kind: Kind, rows: pd.DataFrame, level: float, options: CheckOptions
) -> Stranger | None:
    """Of the people in these rows, a label each, the one who agrees least with the others, where
    that is shown to be less than half of what they have with each other."""
    pairs = annotators.rater_pairs(
        _codes(rows["unit"]), _codes(rows["rater_code"]), options.rng()
    )
    labels, raters = rows["label"].to_numpy(), rows["rater_code"].to_numpy()
    code, items = rows["code"].to_numpy(), rows["item"].to_numpy()
    strict = options.model_copy(update={"level": level})

    def agreed(of: np.ndarray) -> Estimate | None:
        """How far the labels of these pairs agree."""
        first, second = pairs.first[of], pairs.second[of]
        groups = pd.factorize(code[first])[0].astype(np.intp)
        if groups.max(initial=-1) + 1 < jackknife.FEWEST:
            return None
        pair = pd.factorize(pairs.pair[of])[0].astype(np.intp)
        sides = np.stack([labels[first], labels[second], labels[first]])
        compared = _compared(kind, sides, pair, groups, strict)
        return None if compared is None else compared.people

    found = []
    for rater, name in enumerate(_raters_by_code(rows)):
        with_it = (raters[pairs.first] == rater) | (raters[pairs.second] == rater)
        n = len(np.unique(items[pairs.first[with_it]]))
        if name is None or n < annotators.FEWEST_ITEMS:
            continue
        alone, others = agreed(with_it), agreed(~with_it)
        if alone is None or others is None:
            continue
        if _surely_less(alone, others):
            found.append(Stranger(name, alone, others, n))
    return min(found, key=lambda each: each.own.value, default=None)


def _surely_less(alone: Estimate, others: Estimate) -> bool:
    """Whether one agreement is shown to be less than LEAST_OF_OTHERS of the other, by the limits of
    both.

    The same items stand behind both, so that they rise and fall together, if at all: as if they did
    not is the careful way.

    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures.
        doi:10.1002/sim.3095
    """
    if "unlimited" in (alone.method, others.method):
        return False
    less = alone.value - LEAST_OF_OTHERS * others.value
    reach = np.hypot(
        alone.high - alone.value, LEAST_OF_OTHERS * (others.value - others.low)
    )
    return bool(less + reach < 0)


def _raters_by_code(rows: pd.DataFrame) -> list[str | None]:
    """The name of each rater by code; None of one who has no row here."""
    known = rows.drop_duplicates("rater_code").set_index("rater_code")["rater"]
    return [
        str(known[code]) if code in known else None
        for code in range(int(rows["rater_code"].max()) + 1)
    ]


def _examine_annotator(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell whether the judge may stand in for one of the people."""
    once = _once(own)
    once = once.assign(unit=pd.factorize(once["item"])[0])
    _annotator(own, once, _raters(once), told, options)


def _examine_strictness(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell who of the people is stricter than the others, and how consistent they are."""
    once = _once(own)
    _strictness(once, _raters(once), told, options)
    if own.table.kind in ("numeric", "ordered"):
        _consistency(once, told, options)


def _raters(rows: pd.DataFrame) -> list[str]:
    """Who labelled, in the order of their codes."""
    return [str(name) for name in pd.unique(rows["rater"])]


def _coded(own: JudgeView) -> pd.DataFrame:
    """Each verdict beside the label of each rater, with a number for the rater."""
    rows = own.pairs()
    return rows.assign(rater_code=pd.factorize(rows["rater"])[0])


def _once(own: JudgeView) -> pd.DataFrame:
    """The label of each rater on each item, once: a judge may be asked in both orders, and the
    others' labels must count once."""
    return _coded(own).drop_duplicates(["item", "rater"])


def _chosen(own: JudgeView, labelled: set[Any], rest: bool, told: Told) -> None:
    """Tell that the labelled items are no even random sample, where a review queue's own column or
    what was declared says so: what is found on them does not hold for all items."""
    items = own.table.items
    if (column := f"{SLICE}{PROBABILITY}") in items:
        known = pd.to_numeric(
            items.loc[items.index.isin(labelled), column], errors="coerce"
        )
        # A review queue sends back what the judge was unsure of: on these items every
        # judge looks bad, and a doubt that is worth nothing looks good.
        if chosen(known.tolist()):
            certain = int((known == 1).sum())
            told.say(
                "people.chosen",
                weight=Weight.REVERSES,
                certain=certain,
                labels=int(known.notna().sum()),
            )
    elif own.table.selection == "by_verdict" and rest and len(own.table.judges) > 1:
        told.say(
            "people.by_whose_verdict", weight=Weight.LIMITS, n=len(own.table.judges)
        )
    elif own.stands_for is not None:
        told.say("people.weighted", n=len(own.stands_for))
    elif own.table.selection == "probabilities" and rest and "probability" in items:
        told_of = items.loc[items.index.isin(labelled), "probability"]
        if told_of.nunique() > 1:
            told.say("people.unequal", weight=Weight.LIMITS)
    if (
        own.table.selection == "by_verdict"
        and (lacking := own.unlabelled_verdicts)
        and labelled
    ):
        names = own.table.categories
        shown = [
            names[int(verdict)] if names else f"{verdict:g}" for verdict in lacking
        ]
        told.say(
            "people.none_of_verdict",
            weight=Weight.LIMITS,
            verdicts=shown[:5],
            n=len(shown),
        )


def ceiling(own: JudgeView, options: CheckOptions) -> CeilingFacts | Finding:
    """Set how far the judge agrees with people beside how far they agree with each other, or say
    why that cannot be told."""
    coded = _coded(own)
    gone = [each.rater for each in own.once(strangers, options)]
    coded = coded[~coded["rater"].astype(str).isin(gone)]
    unit = coded.groupby(["item", "order"], sort=False, dropna=False).ngroup()
    rows = coded.assign(unit=unit)
    pairs = annotators.rater_pairs(
        _codes(rows["unit"]), _codes(rows["rater_code"]), options.rng()
    )
    labels = rows["label"].to_numpy()
    verdicts = rows["verdict"].to_numpy()
    n = int(rows["item"].iloc[pairs.first].nunique())
    groups, names = pd.factorize(rows["code"].iloc[pairs.first])
    if len(names) < jackknife.FEWEST:
        few = {"n": n, "groups": len(names), "needed": jackknife.FEWEST}
        return Finding("people.few_shared" if n else "people.none_shared", few)
    kind = own.table.kind
    sides = np.stack([labels[pairs.first], labels[pairs.second], verdicts[pairs.first]])
    codes = groups.astype(np.intp)
    found = _compared(kind, sides, pairs.pair, codes, options)
    if found is None:
        return Finding("people.constant", {"n": n})
    cases = list(_with_lost(own, sides, pairs.pair, codes, n, options))
    parts = []
    for place, part in enumerate(found):
        of_cases = [None if case is None else case[place] for case in cases]
        parts.append(lost.widened(part, of_cases).replace(n=n))
    found = Ceiling(*parts)
    margin = options.margin
    # The coefficient has no unit, so that a margin in grades is taken as a share of the
    # scale.
    if margin is not None and kind == "numeric":
        low, high = own.table.scale or (float(labels.min()), float(labels.max()))
        margin = margin / (high - low)
    either = np.concatenate([pairs.first, pairs.second])
    raters = int(rows["rater"].iloc[either].nunique())
    measure = MEASURES.get(kind, "kappa")
    return CeilingFacts(
        found, measure, margin, raters, n, len(names), kind == "numeric"
    )


def _compared(
    kind: Kind, sides: Array, pair: Index, codes: Index, options: CheckOptions
) -> Ceiling | None:
    """Agreement among people, and of the judge with them.

    Args:
        sides: What one person says, another, and the judge, shape (3, n_pairs).
    """
    # which output is the first means nothing: every choice stands with its mirror image
    if kind == "pairwise":
        mirrored = np.where(sides < TIE_PLACE, 1 - sides, sides)
        sides = np.hstack([sides, mirrored])
        pair = np.tile(pair, 2)
        codes = np.tile(codes, 2)
    one, other, judge = sides
    return annotators.ceiling(
        one,
        other,
        judge,
        pair,
        codes,
        nominal=kind not in MEASURES,
        level=options.level,
    )


def _with_lost(
    own: JudgeView,
    sides: Array,
    pair: Index,
    codes: Index,
    n_items: int,
    options: CheckOptions,
) -> Iterator[Ceiling | None]:
    """The same with what may have stood in rows that could not be read, each as many pairs of
    people as a row that was read: all say the same; people do, and the judge does not; people do
    not, and the judge says what one of them does.
    """
    kind, n_pairs = own.table.kind, pair.size
    n = min(-(-own.table.unaccounted * n_pairs // n_items), lost.MOST * n_pairs)
    if not n:
        return
    if kind in MEASURES:
        said = np.concatenate([sides.ravel(), own.table.scale or ()])
        ends = float(said.min()), float(said.max())
    else:
        ends = lost.frequent(sides[0], len(own.table.categories))
    pairs, units = np.concatenate([pair, np.resize(pair, n)]), lost.units(codes, n)
    for same, far in lost.labels(sides[0], ends, n):
        # The three cases between which all others lie: for the judge, against it, and
        # against people.
        for of_lost in ((same, same, same), (same, same, far), (same, far, same)):
            yield _compared(
                kind, np.hstack([sides, np.stack(of_lost)]), pairs, units, options
            )


def _annotator(
    own: JudgeView,
    once: pd.DataFrame,
    raters: list[str],
    told: Told,
    options: CheckOptions,
) -> None:
    nominal = own.table.kind not in MEASURES
    # of scores, a margin in their units is no share of items
    margin = options.margin if nominal else None
    given = {"epsilon": options.epsilon, "stated": margin, "usual": annotators.EPSILON}
    source, epsilon = next(
        (name, value) for name, value in given.items() if value is not None
    )
    labels = once["label"].to_numpy()
    unit, rater, code = (
        _codes(once[column]) for column in ("unit", "rater_code", "code")
    )

    def test(verdicts: Array) -> AlternativeAnnotator | None:
        return annotators.alternative_annotator(
            unit,
            rater,
            labels,
            verdicts,
            code,
            nominal=nominal,
            epsilon=epsilon,
            level=options.level,
        )

    found = test(once["verdict"].to_numpy())
    if found is None:
        told.lacks(
            "alternative_annotator",
            "people.few_raters",
            raters=annotators.FEWEST_RATERS,
            items=annotators.FEWEST_ITEMS,
        )
        return
    middle = float(once["label"].mode().min() if nominal else labels.mean())
    won = sum(rater.won for rater in found.raters)
    counts = {
        "ties": found.ties,
        "n": found.n_labels,
        "won": found.won_without,
        "raters": len(found.raters),
    }
    facts = AnnotatorFacts(
        test=found,
        # The test also of a judge that says the same of every item.
        # A judge that always says the same may "replace a person" where labels hardly
        # vary. Then the test shows nothing of this judge either.
        constant=test(np.full(labels.size, middle)),
        epsilon=epsilon,
        source=source,
        won=won,
        raters=len(found.raters),
        ties=Finding("people.annotator_ties", counts)
        if found.won_without != won
        else [],
    )
    told.findings.append(verdict(rules.ANNOTATOR, facts).finding)
    told.number(
        lost.mixed(found.advantage, once["unit"].nunique(), own.table.unaccounted),
        "people.advantage",
        unit="share",
    )
    beside_each = pd.DataFrame(
        {
            "rater": raters[one.rater],
            "n": one.n,
            "advantage_share": one.advantage,
            "won": one.won,
        }
        | one.behind.row("behind")
        | {"p": one.p_adjusted}
        for one in found.raters
    )
    told.table("people.annotators", beside_each, advantage_share="share", p="p")


def _copies(own: JudgeView, rows: pd.DataFrame, told: Told) -> None:
    """Name raters whose labels are the judge's, or another rater's."""
    found = copies(own.table.kind, rows, own.judge)
    equal = [each for each in found if each.of_judge and each.sign is None]
    if equal:
        # Where several people's labels are the judge's, that is one event, and one
        # sentence.
        together = replace(
            equal[0],
            n=min(each.n for each in equal),
            raters=[each.one for each in equal],
        )
        told.findings.append(verdict(rules.COPY, together).finding)
    for each in found:
        if each not in equal:
            told.findings.append(verdict(rules.COPY, each).finding)
    labels = rows.drop_duplicates(["item", "rater"])
    # Pairs grow with the square of the raters: a crowd of thousands has millions, of
    # whom hardly two share ten items.
    most = labels["rater"].value_counts().head(50).index
    wide = labels[labels["rater"].isin(most)].pivot(
        index="item", columns="rater", values="label"
    )
    alike = list[CopyFacts]()
    for n, one in enumerate(wide.columns):
        for other in wide.columns[n + 1 :]:
            both = wide[[one, other]].dropna()
            if not len(both) or not _same(both[one], both[other]).all():
                continue
            rest = wide.drop(columns=[one, other]).reindex(both.index)
            units = (
                labels.drop_duplicates("item")
                .set_index("item")["code"]
                .reindex(both.index)
            )
            facts = _same_of_all(
                own.table.kind, str(one), str(other), both[one], units, rest
            )
            if facts is None:
                continue
            if facts.sign is None:
                alike.append(facts)
            else:
                told.findings.append(verdict(rules.COPY, facts).finding)
    # Of ten people who share few items, a dozen pairs agree on all of theirs. That is one thing to
    # know and not a dozen.
    if alike:
        longest = max(alike, key=lambda each: each.n)
        together = replace(longest, pairs=len(alike))
        told.findings.append(verdict(rules.COPY, together).finding)


def copies(kind: Kind, rows: pd.DataFrame, judge: str) -> list[CopyFacts]:
    """Raters all of whose labels are the judge's verdicts, with the second sign, if there is one,
    that this is no accident.

    Args:
        rows: Verdicts beside labels, as `JudgeView.pairs` gives them.
    """
    found = []
    same = _same(rows["label"], rows["verdict"]).groupby(rows["rater"]).all()
    for rater in same.index[same]:
        own = rows[rows["rater"] == rater].drop_duplicates("item").set_index("item")
        others = rows[
            (rows["rater"] != rater) & rows["item"].isin(own.index)
        ].drop_duplicates(["item", "rater"])
        rest = others.pivot(index="item", columns="rater", values="label").reindex(
            own.index
        )
        facts = _same_of_all(
            kind, str(rater), judge, own["label"], own["code"], rest, of_judge=True
        )
        found += [] if facts is None else [facts]
    return found


def _same(one: pd.Series, other: pd.Series) -> pd.Series:
    """Where two numbers are equal but for rounding, as labels on another scale that were converted
    are."""
    return pd.Series(np.isclose(one, other, rtol=1e-9, atol=1e-12), one.index)


def _same_of_all(
    kind: Kind,
    one: str,
    other: str,
    said: pd.Series,
    units: pd.Series,
    rest: pd.DataFrame,
    of_judge: bool = False,
) -> CopyFacts | None:
    """What speaks for a copy where two said the same of every item; None where that is not worth a
    word.

    Args:
        said: What both said, by item. units: The independent unit of each. rest: Labels of all
            others, by item.
    """
    # Equality on a constant, or on a few items, happens to everybody.
    if len(said) < FEWEST_SAME or said.nunique() < 2:
        return None
    differs = rest.notna() & rest.sub(said, axis=0).ne(0)
    there = rest.notna().sum(axis=1)
    # Everybody else is two others or more, who say one thing, and it is another.
    alone = (there > 1) & (differs.sum(axis=1) == there) & (rest.nunique(axis=1) == 1)
    steps = agreement.steps(said)
    grades = _grades(kind, steps)
    counts = {grades: units, "split": units[differs.any(axis=1)], "alone": units[alone]}
    shown = {name: int(own.nunique()) for name, own in counts.items()}
    others = units[said != said.mode()[0]].nunique()
    even = {"category": CREDIBLE["even"]} if others >= FEWEST_OTHERS else {}
    credible = CREDIBLE | even
    sign = next(
        (
            name
            for name, n in shown.items()
            if n >= agreement.fewest_equal(credible[name])
        ),
        None,
    )
    return CopyFacts(
        one, other, len(said), of_judge, sign, steps, shown[sign] if sign else 0
    )


def _grades(kind: Kind, steps: float) -> str:
    """What verdicts of a kind with so many steps are, of CREDIBLE."""
    if kind not in ("numeric", "ordered") or steps <= FEW_STEPS:
        return "category"
    return "fine" if steps > MANY_STEPS else "grade"


def copied(own: JudgeView) -> Copied | None:
    """Say how verdicts may be made from the labels, or these from them (`made_from`)."""
    return made_from(own.table.kind, own.pairs())


def made_from(kind: Kind, pairs: pd.DataFrame) -> Copied | None:
    """How the verdicts may have been made from the labels, or these from them: "identical" where
    they are the labels of the only rater, with a second sign that this is no accident; "in_step"
    where no two are in another order than labels of many values, "consensus" where they are the
    mean, the median or the majority of several raters; else None.
    """
    if pairs["rater"].nunique() == 1 and (equal := copies(kind, pairs, "")):
        return "identical" if equal[0].sign else None
    if kind in ("numeric", "ordered"):
        for _, own in pairs.groupby("rater"):
            fewer, more = sorted(own[["verdict", "label"]].nunique())
            steps = max(agreement.steps(own[column]) for column in ("verdict", "label"))
            # A judge in step with many different labels by chance would be a wonder;
            # with three grades it is common.
            enough = (
                len(own) >= FEWEST_IN_STEP
                and fewer >= FEWEST_STEPS
                and more > FEWEST_SAME
            )
            # by rising label
            ends = own.groupby("label")["verdict"].agg(["min", "max"])
            in_step = (
                ends["max"].cummax().to_numpy()[:-1] <= ends["min"].to_numpy()[1:]
            ).all()
            if enough and in_step and steps > MANY_STEPS:
                return "in_step"
    by_item = pairs.drop_duplicates(["item", "rater"]).groupby("item")
    said = by_item["verdict"].first()
    labels = by_item["label"]
    units = by_item["code"].first()
    apart = labels.nunique() > 1
    grades = _grades(kind, agreement.steps(said)) if len(said) else "category"
    enough = units.nunique() >= agreement.fewest_equal(CREDIBLE[grades])
    split = units[apart].nunique() >= agreement.fewest_equal(CREDIBLE["split"])
    if apart.sum() < FEWEST_STEPS or not (enough or split) or said.nunique() < 2:
        return None
    if kind in ("numeric", "ordered"):
        # Means were mostly rounded before they were written down.
        rounding = 0.5 * 10.0 ** -min(_decimals(said), 9) + 1e-9
        same = any(
            ((said - middle).abs() <= rounding).all()
            for middle in (labels.mean(), labels.median())
        )
    else:
        votes = (
            pairs.groupby(["item", "label"])["rater"].nunique().unstack(fill_value=0)
        )
        most = votes.max(axis=1)
        same = all(
            votes.at[item, value] == most[item]
            for item, value in said.items()
            if value in votes
        ) and (said.isin(votes.columns).all())
    return "consensus" if same else None


def _decimals(values: pd.Series) -> int:
    """With how many decimals values are written."""
    return next(
        (
            n
            for n in range(9)
            if np.allclose(values.round(n), values, rtol=0, atol=1e-9)
        ),
        9,
    )


def _strictness(
    once: pd.DataFrame, raters: list[str], told: Told, options: CheckOptions
) -> None:
    """Name raters whose labels of the items that others labelled too are lower or higher than
    theirs."""
    table = _apart(once, options)
    if table.empty:
        return
    told.table("people.raters", table, p_holm="p")
    named = once
    # Who is far from the others makes the others look far from him: he is left out before they are
    # compared.
    for _ in range(MOST_NAMED):
        first = (
            table.sort_values("apart", key=np.abs, ascending=False).iloc[0]
            if len(table) > 1
            else None
        )
        if first is None or not first["p_holm"] < 1 - options.level:
            return
        values = {
            "rater": first["rater"],
            "n": int(first["n"]),
            "raters": len(raters),
            "level": options.level,
        }
        ends = float(first["low"]), float(first["high"])
        if first["apart"] < 0:
            told.say(
                "people.lower",
                apart=-float(first["apart"]),
                interval=(-ends[1], -ends[0]),
                **values,
            )
        else:
            told.say(
                "people.higher", apart=float(first["apart"]), interval=ends, **values
            )
        named = named[named["rater"] != first["rater"]]
        table = _apart(named, options)


def _apart(once: pd.DataFrame, options: CheckOptions) -> pd.DataFrame:
    """How far each rater's labels lie from the mean of the others' on the same items, corrected for
    all raters."""
    by_item = once.groupby("item", sort=False)["label"]
    size, total = by_item.transform("size"), by_item.transform("sum")
    shared = once[size > 1].assign(
        apart=(once["label"] - (total - once["label"]) / (size - 1))[size > 1]
    )
    found, p_values = [], []
    for rater, rows in shared.groupby("rater", sort=False):
        units = means.sums(rows["apart"].to_numpy(), rows["code"].to_numpy())
        if units.total.size >= annotators.FEWEST_ITEMS:
            estimate = means.of_sums(units, options.level)
            found.append({"rater": str(rater), "n": len(rows)} | estimate.row("apart"))
            t = (
                abs(estimate.value) / estimate.se
                if estimate.se > 0
                else np.inf * abs(estimate.value)
            )
            p_values.append(
                min(1.0, 2 * float(special.stdtr(estimate.df, -t)))
                if estimate.value
                else 1.0
            )
    return (
        pd.DataFrame(found).assign(p_holm=paired.holm(p_values))
        if len(found) > 1
        else pd.DataFrame()
    )


def _consistency(once: pd.DataFrame, told: Told, options: CheckOptions) -> None:
    """Tell the intraclass correlation of single labels, where all raters labelled the same
    items."""
    wide = once.pivot(index="item", columns="rater", values="label")
    crossed = wide.loc[:, wide.notna().mean() >= 0.5].dropna()
    codes = (
        once.drop_duplicates("item").set_index("item")["code"].reindex(crossed.index)
    )
    if crossed.shape[1] < 2 or codes.nunique() < variance.FEWEST_FOR_LIMITS:
        return
    study = variance.Study(
        crossed.to_numpy(), ["rater"], groups=codes.to_numpy(), level=options.level
    )
    if not study.constant:
        told.number(study.reliability({}).phi.replace(n=len(crossed)), "people.icc")


def _codes(column: pd.Series) -> Index:
    return column.to_numpy(dtype=np.intp)


LABELS = Examination("labels", _examine_labels, needs=("labels",), fewest_groups=0)
CEILING = Examination(
    "ceiling",
    _examine_ceiling,
    needs=("labels", "pairs", "raters"),
    lacks={"pairs": "people.no_labels", "raters": "people.one_rater"},
)
ANNOTATOR = Examination(
    "alternative_annotator",
    _examine_annotator,
    needs=("labels", "pairs", "raters"),
    decides=False,
    lacks={"pairs": "", "raters": "people.one_rater"},
)
STRICTNESS = Examination(
    "strictness",
    _examine_strictness,
    needs=("labels", "pairs", "raters"),
    kinds=("numeric", "ordered", "pass_fail"),
    decides=False,
    lacks={"pairs": "", "raters": "", "kinds": ""},
)

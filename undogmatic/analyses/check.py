"""Answers whether a judge may be believed whose verdicts were made elsewhere: gathers what the
parts tell, and decides.

No model is called. Each part reads one judge's verdicts beside the labels of people (or all judges
at once) and adds figures, findings and what it could not examine; `ruling.check.CHECK` decides the
first line of the answer.
"""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from undogmatic.analyses import examination, kinds, surface
from undogmatic.analyses.alone import DECIDES_ALONE
from undogmatic.analyses.kinds import label_of
from undogmatic.analyses.ruling import verdict
from undogmatic.analyses.ruling.check import CHECK, CheckFacts
from undogmatic.records.card import items_digest, judge_digest, labels_digest
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import Evidence, JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Needs, Subject, Told, Weight

SETTLED = tuple(
    (
        "no_labels nothing_common identical in_step consensus one_class few column surface follows"
        " surface_open missing order texts_lack no_texts few_texts"
    ).split()
)
"""Verdicts that a sentence of their own says how to settle."""


def check(table: Evidence, options: CheckOptions, against: Evidence | None = None) -> CheckResult:
    """Check every judge of a table on every criterion.

    Args:
        table: The verdicts and labels.
        options: What was set.
        against: An earlier table of the same judges, to ask what changed.
    """
    from threadpoolctl import threadpool_limits

    table = replace(table.in_order(), earlier=None if against is None else against.in_order())
    asked = [*examination.OURS, *examination.installed()]
    by_scope = {
        scope: [each for each in asked if each.scope == scope]
        for scope in ("judge", "criterion", "table")
    }
    together, changes = Told(), Told()
    answers = []
    with threadpool_limits(1, "blas"):
        for criterion in table.criteria[:1]:
            examination.ask(by_scope["table"], _of_all(table, criterion), options, changes)
        among = _at_once(table)
        for criterion in table.criteria:
            own = table.verdicts[table.verdicts["criterion"] == criterion]
            for judge in own["judge"].unique():
                view = table.of(str(judge), criterion)
                answers.append(_of_one(view, by_scope["judge"], options, changes, among))
            examination.ask(by_scope["criterion"], _of_all(table, criterion), options, together)
    return CheckResult(table, answers, together.beside(changes), options, digests(table))


def _of_all(table: Evidence, criterion: str) -> JudgeView:
    """A view for what is asked of all judges together: the first judge's, with the whole table."""
    verdicts = table.verdicts
    first = str(verdicts.loc[verdicts["criterion"] == criterion, "judge"].iloc[0])
    # The view of a judge has the scale of its criterion in place of the table's.
    return replace(table.of(first, criterion), table=table)


def _at_once(table: Evidence) -> int:
    """How many answers are asked for at once: one for each judge on each criterion, where an item
    has a verdict and a label. One judge on twenty criteria has as many chances of a lucky yes as
    twenty judges on one.
    """
    verdicts = table.verdicts.loc[table.verdicts["verdict"].notna(), ["item", "judge", "criterion"]]
    labels = table.labels.loc[table.labels["label"].notna(), ["item", "criterion"]]
    both = verdicts.drop_duplicates().merge(labels.drop_duplicates(), on=["item", "criterion"])
    return max(1, len(both[["judge", "criterion"]].drop_duplicates()))


def _of_one(
    own: JudgeView,
    asked: Sequence[Examination],
    options: CheckOptions,
    changes: Told,
    among: int,
) -> Told:
    """The answer about one judge on one criterion, where so many answers are asked for at once."""
    told = Told()
    # What may be decided alone holds for all of them.
    options = options.model_copy(update={"delta": options.delta / among})
    faulty = examination.ask(asked, own, options, told)
    told.findings += [
        problem
        for problem in own.table.problems
        if problem.weight == Weight.REVERSES and problem.values["judge"] == own.judge
    ]
    _join_faces(own, faulty, told, options, changes)
    # That a judge is not as it was limits what it may be believed for, as what its own verdicts
    # show does.
    told.findings += [
        n for n in changes.findings if n.weight == Weight.LIMITS and n.values["judge"] == own.judge
    ]
    agreement = own.once(kinds.agreement, options)
    rival = own.once(surface.surface_rival, options)
    copied = agreement.copied
    found = Finding("check.rival_identical", {}) if copied else surface.rival_sentence(rival)
    limits = sum(found.weight == Weight.LIMITS for found in told.findings)
    reasons = [found for found in told.findings if found.weight == Weight.REVERSES]
    default, least = options.least is None, options.least_of(own.table.kind)
    reason = next(iter(reasons), None)
    facts = CheckFacts(
        name_of(own.table, own.judge, own.criterion),
        own,
        agreement,
        rival,
        least,
        limits,
        reason,
        default=default,
        options=options,
        among=among,
    )
    ruling = verdict(CHECK, facts)
    if ruling.standing != "supported":
        told.findings = [_unless(found, Needs.BELIEF) for found in told.findings]
    if rival.outcome == "as_good" and rival.by_number:
        told.findings = [_unless(found, Needs.NO_NUMBER) for found in told.findings]
    return told.result(
        ruling.finding,
        ruling.standing or "undecided",
        judge=own.judge,
        criterion=own.criterion,
        rival=found,
        n=agreement.n,
        groups=agreement.groups,
        settle=_settle(ruling.key, facts, told),
    )


def _unless(finding: Finding, lacking: Needs) -> Finding:
    """A finding that needs what does not hold, told as such; any other as it is."""
    if finding.needs != lacking:
        return finding
    values = {"said": finding}
    if lacking == Needs.BELIEF:
        return replace(finding, key="check.alone_waits", values=values, weight=Weight.DETAIL)
    return replace(finding, key="check.while_number", values=values)


def _join_faces(
    own: JudgeView,
    faulty: Sequence[Examination],
    told: Told,
    options: CheckOptions,
    changes: Told,
) -> None:
    """Say together what grades that are too high or too low account for: faults, told by the
    examinations `faulty`, that are gone once the grades are converted count as no limits of their
    own. Where the judge has changed by as much, say that, too."""
    grades = told.about(Subject.GRADES)
    if grades is None:
        return
    converted = Told()
    if (conversion := grades.values["conversion"]) is not None:
        other = kinds.converted(own, conversion)
        examination.ask(faulty, other, options, converted)
    faces = []
    for n, fault in enumerate(told.findings):
        then = None if fault.subject is None else converted.about(fault.subject)
        if fault.face is None or then is None:
            continue
        value = fault.face.value
        if fault.subject == Subject.ALONE and then.face is not None:
            told.findings[n] = _none_of_converted(fault, then)
        gone = then.face is None
        if fault.subject == Subject.REACH:
            gone = then.values[value] < fault.values[value]
        if gone:
            faces.append(Finding(fault.face.key, {**fault.values, "converted": then.values[value]}))
            told.findings[n] = replace(fault, weight=Weight.DETAIL)
    at = next(n for n, found in enumerate(told.findings) if found is grades)
    since = _since(grades, changes, own.judge)
    told.findings[at] = replace(grades, values={**grades.values, "since": since})
    if faces:
        told.findings.insert(at + 1, Finding("check.faces", {"faces": faces}))


def _none_of_converted(none: Finding, converted: Finding) -> Finding:
    """That the judge may decide nothing alone, with what converted grades would change of that."""
    then = {name: converted.values[name] for name in ("wrong", "tried", "share", "more")}
    if then["share"] >= none.values["share"]:
        return none
    more = Finding("alone.more_converted", then)
    if then["more"].subject == none.values["more"].subject == Subject.VAIN:
        more = Finding("alone.more_converted_too", {**then, "more": none.values["more"]})
    return replace(none, values={**none.values, "more": more})


def _since(grades: Finding, changes: Told, judge: str) -> Any:
    """The sentence that the grades are off since the judge changed; nothing where it is not known
    to have changed by as much."""
    off = grades.values["off"]
    for change in changes.findings:
        if change.subject != Subject.CHANGE or change.values["judge"] != judge:
            continue
        if (change.values["shift"] > 0) != grades.values["above"]:
            continue
        low, high = change.values["interval"]
        if low <= off.values["off"] <= high:
            return Finding("check.since_change")
    return []


def _settle(key: str, facts: CheckFacts, told: Told) -> Finding | None:
    """What would settle a verdict that leaves something open: labels, texts or verdicts that are
    missing."""
    if key == "several":
        return Finding(
            "check.settle_several", {"label": label_of(facts.own.table), "judge": facts.judge}
        )
    if key in ("open", "coin_open"):
        headline = told.about(Subject.HEADLINE)
        return headline and headline.settle
    if key not in SETTLED:
        return None
    if key == "missing" and facts.own.table.unaccounted == facts.agreement.missing:
        who = [Finding("check.settle_who")] if told.about(Subject.SAME_LABELS) else []
        return Finding("check.settle_rows", {"who": who})
    leans = facts.rival.what[:1]
    if key == "surface" and facts.rival.by_number:  # the label may stand there
        key = "number"
    table, more = facts.own.table, max(facts.few - facts.agreement.groups, 1)
    values: dict[str, Any] = {"label": label_of(table), "more": more, "alone": [], "unread": []}
    if (alone := told.not_examined.get(DECIDES_ALONE.name)) is not None and alone.values[
        "needed"
    ] > facts.few:
        values["alone"] = [
            Finding("check.settle_few_alone", {"more": alone.values["needed"] - facts.few})
        ]
    for read in table.read:
        if read.subject == Subject.NOT_READ:
            humans = " ".join(
                f"--human {shlex.quote(str(column).strip('`'))}"
                for column in read.values["columns"]
            )
            files = [*table.sources] or ["FILE"]
            named = {"source": shlex.join([*files, *table.reading]), "humans": humans}
            values["unread"] = [Finding("check.settle_unread", {**read.values, **named})]
    if key == "surface":
        values["what"] = Finding("surface.leans", {"what": list(leans)})
    return Finding(f"check.settle_{key}", values)


def name_of(table: Evidence, judge: str, criterion: str) -> str:
    """What a judge is called in a sentence: with the criterion, where the table has several."""
    return judge if len(table.criteria) == 1 else f"{judge} ({criterion})"


def digests(table: Evidence) -> dict[str, Any]:
    """What an answer is bound to: SHA-256 of the labels, of the items and, by judge, of what is
    known of it (model, prompt, settings; its name alone where nothing is). The order of rows
    changes none of them."""
    judges = {judge: judge_digest(table, judge) for judge in table.judges}
    return {"judges": judges, "labels": labels_digest(table.labels), "items": items_digest(table)}

"""Answers whether a judge may be believed whose verdicts were made elsewhere: gathers what the
parts tell, and decides.

No model is called. Each part reads one judge's verdicts beside the labels of people (or all judges
at once) and adds figures, findings and what it could not examine; `ruling.check.CHECK` decides the
first line of the answer.
"""

import shlex
from dataclasses import replace
from typing import Any

from undogmatic.analyses import drift, examination, judges, kinds, people, surface, systems
from undogmatic.analyses.alone import CHECK as ALONE
from undogmatic.analyses.kinds import label_of
from undogmatic.analyses.ruling import verdict
from undogmatic.analyses.ruling.check import CHECK, CheckFacts
from undogmatic.records.card import items_digest, judge_digest, labels_digest
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import Evidence, JudgeView
from undogmatic.records.results import Finding, Needs, Subject, Told, Weight

WITHOUT_LABELS = ("repeats", "position", "ranking", "drift", "verdicts", "other_texts")
"""What is examined without labels, if it can be."""

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

    together, changes = Told(), Told()
    answers = []
    table, against = table.in_order(), None if against is None else against.in_order()
    if options.margin is None and table.margin is not None:
        options = options.model_copy(update={"margin": table.margin})
    with threadpool_limits(1, "blas"):
        if against is not None:
            drift.tell(table, against, changes, options)
        among = _at_once(table)
        for criterion in table.criteria:
            own = table.verdicts[table.verdicts["criterion"] == criterion]
            names = [str(judge) for judge in own["judge"].unique()]
            answers += [
                _of_one(table.of(judge, criterion), options, changes, among) for judge in names
            ]
            if len(names) > 1:
                judges.tell(table, criterion, together, options)
    return CheckResult(table, answers, together.beside(changes), options, digests(table))


def _at_once(table: Evidence) -> int:
    """How many answers are asked for at once: one for each judge on each criterion, where an item
    has a verdict and a label. One judge on twenty criteria has as many chances of a lucky yes as
    twenty judges on one.
    """
    verdicts = table.verdicts.loc[table.verdicts["verdict"].notna(), ["item", "judge", "criterion"]]
    labels = table.labels.loc[table.labels["label"].notna(), ["item", "criterion"]]
    both = verdicts.drop_duplicates().merge(labels.drop_duplicates(), on=["item", "criterion"])
    return max(1, len(both[["judge", "criterion"]].drop_duplicates()))


def _of_one(own: JudgeView, options: CheckOptions, changes: Told, among: int) -> Told:
    """The answer about one judge on one criterion, where so many answers are asked for at once."""
    told = Told()
    # What may be decided alone holds for all of them.
    options = options.model_copy(update={"delta": options.delta / among})
    agreement = kinds.agreement(own, options)
    rival = surface.surface_rival(own, options)
    kinds.tell(own, told, options, agreement)
    told.findings += [
        problem
        for problem in own.table.problems
        if problem.weight == Weight.REVERSES and problem.values["judge"] == own.judge
    ]
    copied = agreement.copied
    found = Finding("check.rival_identical", {}) if copied else surface.rival_sentence(rival)
    if copied:  # labels that are the judge's own show nothing of what it may be used for
        told.lacks("surface", found.key)
    else:
        surface.tell(own, told, options, rival)
        people.tell(own, told, options)
        systems.tell(own, told, options)
        examination.tell(own, told, options)
        _join_faces(own, told, options, changes)
    # That a judge is not as it was limits what it may be believed for, as what its own verdicts
    # show does.
    told.findings += [
        n for n in changes.findings if n.weight == Weight.LIMITS and n.values["judge"] == own.judge
    ]
    if own.labels.empty:  # one line instead of one for each part
        told.not_examined = {k: v for k, v in told.not_examined.items() if k in WITHOUT_LABELS}
        told.lacks("labels", "check.needs_labels")
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


def _join_faces(own: JudgeView, told: Told, options: CheckOptions, changes: Told) -> None:
    """Say together what grades that are too high or too low account for: faults that are gone once
    the grades are converted count as no limits of their own. Where the judge has changed by as
    much, say that, too."""
    grades = told.about(Subject.GRADES)
    if grades is None:
        return
    converted = Told()
    if (conversion := grades.values["conversion"]) is not None:
        other = kinds.converted(own, conversion)
        people.tell(other, converted, options)
        systems.tell(other, converted, options)
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
    if (alone := told.not_examined.get(ALONE)) is not None and alone.values["needed"] > facts.few:
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

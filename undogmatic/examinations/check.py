"""Answers whether a judge may be believed whose verdicts were made elsewhere: asks the
examinations, gathers what they tell, and decides.

No model is called. Each examination reads one judge's verdicts beside the labels of people (or all
judges at once) and adds figures, findings and what it could not examine; `ruling.check.CHECK`
decides the first line of the answer. Where an examination that could speak against the judge was
not asked, there is no answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from undogmatic.examinations import (
    datasheet,
    drift,
    examination,
    injected,
    kinds,
    people,
    since,
    steps,
    surface,
)
from undogmatic.examinations.alone import DECIDES_ALONE
from undogmatic.examinations.check_figures import three_questions
from undogmatic.examinations.ruling import Ruling, verdict
from undogmatic.examinations.ruling.check import CHECK, PART, CheckFacts, PartFacts
from undogmatic.examinations.surface_rival import surface_rival
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import (
    SLICE,
    EarlierFigures,
    Evidence,
    InstrumentTest,
    JudgeView,
)
from undogmatic.records.examination import Examination, Scope
from undogmatic.records.results import Finding, Needs, Subject, Told, Weight


def check(
    table: Evidence,
    options: CheckOptions,
    against: Evidence | EarlierFigures | None = None,
    instrument: InstrumentTest | None = None,
) -> CheckResult:
    """Check every judge of a table on every criterion.

    Args:
        table: The verdicts and labels.
        options: What was set.
        against: An earlier table of the same judges, or what a card keeps of one, to ask what
            changed.
        instrument: What an instrument test found of the only judge.

    Raises:
        ConfigError, DataError: The earlier card is of something else, the instrument test of
            another judge, or the column of dates (`options.over`) has none.
    """
    from threadpoolctl import threadpool_limits

    # In one order, because sums of floats hang on the order of the rows in their last
    # digit, and the same file shuffled must give the same answer.
    earlier = against.in_order() if isinstance(against, Evidence) else against
    if isinstance(earlier, EarlierFigures):
        drift.held_against(table, earlier, options.level)
    if instrument is not None:
        table = datasheet.held_to(table, instrument)
    dates = table.dates if options.over is None else since.dates_of(table, options.over)
    table = replace(table.in_order(), earlier=earlier, dates=dates)
    asked = examination.chosen(options.only)
    together, changes = Told(), Told()
    answers = []
    # What the user typed wins over what the rubric, or the file that a run wrote, says.
    if options.margin is None and table.margin is not None:
        options = options.model_copy(update={"margin": table.margin})
    # The columns that say what was planted follow from it. As rivals they would explain
    # any judge that finds it.
    if "injected" in table.items:  # what was done to the copies is no other explanation
        options = options.model_copy(
            update={"ignore": (*options.ignore, *steps.PLANTED)}
        )
    if f"{SLICE}{steps.ENDED}" in table.items:  # nor is how the run of a step ended
        options = options.model_copy(
            update={"ignore": (*options.ignore, steps.RUN, steps.ENDED)}
        )
    # The matrices are small: threads cost more than they save, and change the last
    # digit of sums.
    with threadpool_limits(1, "blas"):
        # What is asked of the whole table is asked once, whichever criterion it is seen
        # by.
        for criterion in table.criteria[:1]:
            view = _of_all(table, criterion)
            examination.ask(_of_scope("table", asked), view, options, changes)
            examination.leave_out(examination.others(asked), view, together)
        # Earlier tries multiply what is in the file, as if all of them stood in it.
        among = _at_once(table) * options.tried
        for criterion in table.criteria:
            here = Told()
            view = _of_all(table, criterion)
            examination.ask(_of_scope("criterion", asked), view, options, here)
            if len(table.criteria) > 1:  # else five sentences would begin alike
                here.findings = [
                    replace(found, criterion=criterion) for found in here.findings
                ]
            own = table.verdicts[table.verdicts["criterion"] == criterion]
            for judge in own["judge"].unique():
                view = table.of(str(judge), criterion)
                answers.append(_of_one(view, asked, options, [changes, here], among))
            examination.add(here, together)
    return CheckResult(table, answers, together.beside(changes), options)


def _of_scope(scope: Scope, asked: Sequence[Examination]) -> list[Examination]:
    """Those that are asked of each judge, on each criterion, or once."""
    return [each for each in asked if each.scope == scope]


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
    verdicts = table.verdicts.loc[
        table.verdicts["verdict"].notna(), ["item", "judge", "criterion"]
    ]
    labels = table.labels.loc[table.labels["label"].notna(), ["item", "criterion"]]
    both = verdicts.drop_duplicates().merge(
        labels.drop_duplicates(), on=["item", "criterion"]
    )
    return max(1, len(both[["judge", "criterion"]].drop_duplicates()))


def _of_one(
    own: JudgeView,
    asked: Sequence[Examination],
    options: CheckOptions,
    of_all: Sequence[Told],
    among: int,
) -> Told:
    """The answer about one judge on one criterion, where so many answers are asked for at once;
    `of_all` is what was told of all judges together."""
    told = Told()
    # What may be decided alone holds for all of them.
    # Bonferroni's correction: a promise of each of ten judges that is broken in 5 % of
    # cases is broken by one of them in many more.
    options = options.model_copy(update={"delta": options.delta / among})
    faulty = examination.ask(_of_scope("judge", asked), own, options, told)
    told.findings += [
        problem
        for problem in own.table.problems
        if problem.weight == Weight.REVERSES and problem.values["judge"] == own.judge
    ]
    findings_of_all = [found for each in of_all for found in each.findings]
    # After all examinations have told, since one of them may explain what another
    # found; before the facts are made, since the one that is accounted for is no limit.
    _join_faces(own, faulty, told, options, findings_of_all)
    # What is told of all judges and names this one, such as that it is not as it was, limits what
    # it may be believed for, as what its own verdicts show does.
    told.findings += [
        found
        for found in findings_of_all
        if found.weight <= Weight.LIMITS and found.values.get("judge") == own.judge
    ]
    unasked = examination.leave_out(examination.others(asked), own, told)
    ruling: Ruling[PartFacts] | Ruling[CheckFacts]
    # A part of the examinations may be chosen such that the one that speaks against the
    # judge is left out. No answer can then be given, whatever the others say.
    if unasked:
        name = name_of(own.table, own.judge, own.criterion)
        ruling = verdict(PART, PartFacts(name, tuple(unasked)))
    else:
        facts = _facts(own, told, options, among)
        ruling = verdict(CHECK, facts)
        told.findings += [] if facts.of_tries is None else [facts.of_tries]
        ceiling = None if facts.ceiling is None else facts.ceiling.found
        told.drawings += three_questions(
            facts.estimate, facts.least, facts.rival, ceiling
        )
    # What a judge may decide alone is a promise about a judge that is trusted.
    if ruling.standing != "supported":
        told.findings = [_unless(found, Needs.BELIEF) for found in told.findings]
    if surface.SURFACE in asked:
        rival = own.once(surface_rival, options)
        if rival.outcome == "as_good" and rival.by_number:
            told.findings = [_unless(found, Needs.NO_NUMBER) for found in told.findings]
    pairs = own.pairs()
    return told.result(
        ruling.finding,
        ruling.standing or "undecided",
        judge=own.judge,
        criterion=own.criterion,
        rival=_rival(own, asked, options),
        n=int(pairs["item"].nunique()),
        groups=int(pairs["code"].nunique()),
        unasked=unasked,
    )


def _facts(own: JudgeView, told: Told, options: CheckOptions, among: int) -> CheckFacts:
    """What the answer hangs on: what the examinations told, and what three of them read."""
    ceiling = own.once(people.ceiling, options)
    return CheckFacts(
        name_of(own.table, own.judge, own.criterion),
        own,
        own.once(kinds.agreement, options),
        own.once(surface_rival, options),
        options.least_of(own.table.kind),
        # Counted by weight, and not by name, so that an examination of another package
        # limits belief as ours do.
        limits=sum(found.weight == Weight.LIMITS for found in told.findings),
        ceiling=None if isinstance(ceiling, Finding) else ceiling,
        reason=next(
            (found for found in told.findings if found.weight == Weight.REVERSES), None
        ),
        default=options.least is None,
        options=options,
        among=among,
        headline=told.about(Subject.HEADLINE),
        same_labels=told.about(Subject.SAME_LABELS) is not None,
        alone=told.not_examined.get(DECIDES_ALONE.name),
        planted=injected.are_labels(own),
    )


def _rival(
    own: JudgeView, asked: Sequence[Examination], options: CheckOptions
) -> Finding:
    """The second sentence of the answer: what else could explain the agreement."""
    if surface.SURFACE not in asked:
        return Finding("check.rival_not_asked")
    if own.once(people.copied):
        return Finding("check.rival_identical", {})
    return surface.rival_sentence(own.once(surface_rival, options))


def _unless(finding: Finding, lacking: Needs) -> Finding:
    """A finding that needs what does not hold, told as such; any other as it is."""
    if finding.needs != lacking:
        return finding
    values = {"said": finding}
    if lacking == Needs.BELIEF:
        return replace(
            finding, key="check.alone_waits", values=values, weight=Weight.DETAIL
        )
    return replace(finding, key="check.while_number", values=values)


def _join_faces(
    own: JudgeView,
    faulty: Sequence[Examination],
    told: Told,
    options: CheckOptions,
    of_all: Sequence[Finding],
) -> None:
    """Say together what grades that are too high or too low account for: faults, told by the
    examinations `faulty`, that are gone once the grades are converted count as no limits of their
    own. Where the judge has changed by as much, say that, too."""
    grades = told.about(Subject.GRADES)
    if grades is None:
        return
    converted = Told()
    # The same examinations are asked of the same judge with its grades converted. What
    # they no longer tell was a face of grades that are too high, and no fault of its
    # own.
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
        # How far intervals reach is never wholly gone; that they reach less far is
        # enough.
        if fault.subject == Subject.REACH:
            gone = then.values[value] < fault.values[value]
        if gone:
            faces.append(
                Finding(
                    fault.face.key, {**fault.values, "converted": then.values[value]}
                )
            )
            told.findings[n] = replace(fault, weight=Weight.DETAIL)
    at = next(n for n, found in enumerate(told.findings) if found is grades)
    since = _since(grades, of_all, own.judge)
    told.findings[at] = replace(grades, values={**grades.values, "since": since})
    if faces:
        told.findings.insert(at + 1, Finding("check.faces", {"faces": faces}))


def _none_of_converted(none: Finding, converted: Finding) -> Finding:
    """That the judge may decide nothing alone, with what converted grades would change of that."""
    then = {
        name: converted.values[name] for name in ("wrong", "tried", "share", "more")
    }
    if then["share"] >= none.values["share"]:
        return none
    more = Finding("alone.more_converted", then)
    if then["more"].subject == none.values["more"].subject == Subject.VAIN:
        more = Finding(
            "alone.more_converted_too", {**then, "more": none.values["more"]}
        )
    return replace(none, values={**none.values, "more": more})


def _since(grades: Finding, of_all: Sequence[Finding], judge: str) -> Any:
    """The sentence that the grades are off since the judge changed; nothing where it is not known
    to have changed by as much."""
    off = grades.values["off"]
    for change in of_all:
        if change.subject != Subject.CHANGE or change.values["judge"] != judge:
            continue
        # A judge that became stricter does not explain grades that are too high.
        if (change.values["shift"] > 0) != grades.values["above"]:
            continue
        low, high = change.values["interval"]
        if low <= off.values["off"] <= high:
            return Finding("check.since_change")
    return []


def name_of(table: Evidence, judge: str, criterion: str) -> str:
    """What a judge is called in a sentence: with the criterion, where the table has several."""
    return judge if len(table.criteria) == 1 else f"{judge} ({criterion})"

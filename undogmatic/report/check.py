"""Shows what a check found of verdicts made elsewhere: on the terminal, as a report, as JSON and in
a notebook.

All of them say the same sentences in the same order: the answer, what else could explain it, the
findings by weight, what was not examined, and how to settle what is open. Nothing is computed here.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from undogmatic.examinations import examination
from undogmatic.examinations.check import name_of
from undogmatic.examinations.check_figures import figures_of
from undogmatic.examinations.ruling import AT_ONCE
from undogmatic.records.card import digests_of, figure_row
from undogmatic.records.checked import CheckResult
from undogmatic.records.results import (
    STANDINGS,
    Finding,
    Subject,
    Told,
    Weight,
    metric_name,
)
from undogmatic.records.words import Words
from undogmatic.report.document import (
    Answered,
    Block,
    Bullets,
    Code,
    Contents,
    Document,
    Fold,
    Heading,
    Paragraph,
    Table,
    html,
    prose,
    save,
)
from undogmatic.report.figures import pictures
from undogmatic.report.listed import of_check
from undogmatic.report.tables import frame_blocks
from undogmatic.report.terminal import put_answer, put_table
from undogmatic.report.uses import Uses, key_figures, titled, uses
from undogmatic.report.workbench import bench
from undogmatic.safety.command import as_typed
from undogmatic.safety.terminal import put, put_paths
from undogmatic.stats.estimate import Estimate

PACKAGE = Path(__file__).resolve().parents[1]
OWN_TEXTS = Path(__file__).with_name("check.texts.yaml")
# on the terminal; the report has all
MOST_READ = 6
MOST_PROBLEMS = 3
MOST_FINDINGS = 9
MOST_JUDGES = 15
MOST_NAMED = 5


HOW = " (--report DIR)"


class Sentences(NamedTuple):
    """What is said of one judge on one criterion, or of all of them together, in words."""

    findings: list[str]  # that change the conclusion or qualify it, by weight
    details: list[str]
    not_examined: list[str]
    settle: list[str]  # that of the most important finding first


def words_of(
    language: str, units: str | None = None, more: Sequence[Path] = ()
) -> Words:
    """The words of a check and of a gate: of this room, beside all that tell something, and in the
    files `more`."""
    rooms = (
        PACKAGE / "examinations",
        PACKAGE / "datasets",
        PACKAGE / "datasets" / "readers",
    )
    own = (path for room in rooms for path in sorted(room.glob("*.texts.yaml")))
    files = [OWN_TEXTS, *own, *examination.texts(), *more]
    return Words(language, list(dict.fromkeys(files)), units)


def sentences(told: Told, words: Words, of: Told | None = None) -> Sentences:
    """What was told, in words. Of a judge, what would settle its verdict comes first, and what its
    rival's sentence says is not said again; a verdict against it is settled."""
    ordered, believed = told.ordered(), of is not None and of.standing == "supported"
    # What cannot be told of a change is said in the first line, and why under "Not examined"; what
    # was asked for and limits nothing is said before the answer, too.
    least = {Subject.AGREED: Weight.DETAIL, Subject.ASKED: Weight.QUALIFIES}
    ordered = [
        found
        for found in ordered
        if found.subject not in least or found.weight < least[found.subject]
    ]
    findings = [
        _numbered(n, found, words, believed)
        for n, found in enumerate(ordered, 1)
        if found.weight < Weight.DETAIL
    ]
    details = [words.say(found) for found in ordered if found.weight == Weight.DETAIL]
    settle = [words.say(found.settle) for found in ordered if found.settle is not None]
    lacking = dict.fromkeys(map(words.say, told.not_examined.values()))
    if of is not None:
        lacking.pop(words.say(of.rival), None)
        settle = (
            []
            if of.standing == "refuted"
            else [*([] if of.settle is None else [words.say(of.settle)]), *settle]
        )
    return Sentences(findings, details, list(lacking), list(dict.fromkeys(settle)))


def _numbered(n: int, found: Finding, words: Words, believed: bool) -> str:
    """A finding in words; the limits of a judge that is believed stand first and have a number."""
    said = words.say(found)
    return (
        words.text("checked.limit", n=n, said=said)
        if believed and found.weight == Weight.LIMITS
        else said
    )


def asked_first(result: CheckResult, words: Words) -> list[str]:
    """What is said before the answer, because somebody asked for it: what has changed, what the
    judges see of planted defects, what an instrument test means for these data."""
    return [*changed(result, words), *map(words.say, result.asked)]


def changed(result: CheckResult, words: Words) -> list[str]:
    """What has changed, where that was asked, in a line for each judge and each question."""
    lines = []
    for found in result.changes:
        section, _, key = found.key.partition(".")
        short = f"{section}.face.{key}"
        known = words.find(short) is not None
        lines.append(words.text(short, **found.values) if known else words.say(found))
    return lines


def first_line(result: CheckResult, words: Words) -> str:
    """The answer: that of the judge, or how many of several may be believed."""
    if len(result.judges) == 1:
        return words.answered(result.judges[0].answer)
    counts = Counter[str](str(each.standing) for each in result.judges)
    n = len(result.judges)
    each_criterion = len({each.criterion for each in result.judges}) > 1
    what = words.text(
        "checked.judges_and_criteria" if each_criterion else "checked.judges_alone", n=n
    )
    if parts := sum(bool(each.unasked) for each in result.judges):
        return words.text("checked.part", what=what, n=parts)
    # nothing is said of their grades
    order = int(any(each.answer.values.get("in_order") for each in result.judges))
    if len(counts) == 1:
        said = words.text(
            f"checked.every_{result.judges[0].standing}", what=what, order=order
        )
    else:
        there = [
            standing
            for standing in ("supported", "refuted", "undecided")
            if counts[standing]
        ]
        counted = [
            words.text(f"checked.several_{standing}", n=counts[standing], order=order)
            for standing in there
        ]
        said = words.text(
            "checked.several" if counted else "checked.none", what=what, counted=counted
        )
    # answers that hold together (`examinations.check`)
    among = sum(each.n > 0 for each in result.judges)
    if among < 2 or not any(
        each.number_about(Subject.HEADLINE) for each in result.judges
    ):
        return said
    needed = "checked.needed_many" if among > AT_ONCE else "checked.needed"
    return f"{said} {words.text(needed, least=result.options.least_of(result.table.kind), n=among)}"


def answered(result: CheckResult, words: Words) -> Answered | None:
    """The answer about the only judge, with its shape; None where there are several or none."""
    return _answered(result.judges[0], words) if len(result.judges) == 1 else None


def _answered(each: Told, words: Words) -> Answered | None:
    """The answer in a word, and why, without figures where they stand below it."""
    answer = each.answer.answer
    section, _, rule = each.answer.key.partition(".verdict_")
    short = f"{section}.face.{rule}"
    said = words.say(each.answer)
    if words.find(short) is not None:
        said = words.text(short, **each.answer.values)
    return answer and Answered(answer, words.text(f"common.answer.{answer}"), said)


def _in_figures(each: Told, words: Words) -> list[str]:
    """The answer with its figures, and what else could explain the agreement."""
    return [words.say(each.answer), words.say(each.rival)]


def _place(each: Told) -> tuple[int, float]:
    found = each.number_about(Subject.HEADLINE)
    low = math.nan if found is None else found[1].low
    return -STANDINGS.index(each.standing or "undecided"), math.inf if math.isnan(
        low
    ) else -low


def overview(result: CheckResult, words: Words, most: int | None = None) -> Table:
    """Judges with their standing, agreement and what else could explain it, those that may be
    believed first."""
    rows, names, uses = [], [], []
    for each in sorted(result.judges, key=_place)[:most]:
        found = each.number_about(Subject.HEADLINE)
        counter = each.number_about(Subject.RIVAL)
        names.append("" if found is None else found[0])
        none = words.text("checked.no_rival")
        rival = none if counter is None else numbers_of(counter[1], words)[0]
        section, _, key = each.answer.key.partition(".verdict_")
        why = words.find(f"{section}.short.{key}") and words.text(
            f"{section}.short.{key}", **each.answer.values
        )
        if each.standing == "supported" and (limits := _limits(each, words)):
            why = limits
        believed = words.text(f"checked.brief_{each.standing}") + (
            f" ({why})" if why else ""
        )
        numbers = ("", "") if found is None else numbers_of(found[1], words)
        rows.append(
            [
                name_of(result.table, each.judge, each.criterion),
                believed,
                *numbers,
                words.number(each.n, "d"),
                rival,
            ]
        )
        uses.append([_stands_in(each, words), _alone(each, words)])
    headers = [
        words.heading(name, "checked")
        for name in ("judge", "believed", "agreement", "interval", "count", "rival")
    ]
    known = list(dict.fromkeys(filter(None, names)))
    worded = [words.value(name.rpartition(".")[2], "check") for name in known]
    if len(known) == 1:
        headers[2] = words.metric(known[0]) or f"{headers[2]} ({worded[0]})"
    else:
        called = {"": ""} | dict(zip(known, worded, strict=True))
        rows = [
            [*row[:2], f"{row[2]} {called[name]}".strip(), *row[3:]]
            for row, name in zip(rows, names, strict=True)
        ]
    numeric: Sequence[bool] = (False, False, True, True, True, True)
    caption = None
    # what holds of all is said once
    if len(rows) > 1 and {(row[1], row[5]) for row in rows} == {
        (rows[0][1], words.text("checked.no_rival"))
    }:
        caption = words.text("checked.of_each", believed=rows[0][1], n=len(rows))
        rows = [[row[0], *row[2:5]] for row in rows]
        headers, numeric = [headers[0], *headers[2:5]], (False, True, True, True)
    for n, name in enumerate(("stands_in", "alone")):
        # what each may be used for, where it was examined
        if any(use[n] for use in uses):
            rows = [
                [*row, use[n] or words.text("checked.no_rival")]
                for row, use in zip(rows, uses, strict=True)
            ]
            headers = [*headers, words.heading(name, "checked")]
            numeric = (*numeric, False)
    return Table(headers, rows, numeric, caption)


def _limits(each: Told, words: Words) -> str:
    """The limits of a judge that is believed, shortly; "" without any that has a short name."""
    keys = (
        found.key.partition(".")
        for found in each.ordered()
        if found.weight == Weight.LIMITS
    )
    return "; ".join(
        dict.fromkeys(
            filter(
                None, (words.find(f"{section}.short.{key}") for section, _, key in keys)
            )
        )
    )


def _stands_in(each: Told, words: Words) -> str:
    """Whether a judge is shown to stand in for a person; "" where that was not examined."""
    tested = each.about(Subject.ANNOTATOR)
    if tested is None:
        return ""
    section, _, key = tested.key.partition(".")
    return words.find(f"{section}.brief.{key}") or words.say(tested)


def _alone(each: Told, words: Words) -> str:
    """What share of the items a judge may decide alone; "" where that was not examined."""
    found = each.number_about(Subject.ALONE)
    if found is None:
        return ""
    _, share = found
    same = each.about(Subject.SAME_LABELS) is not None
    # A share that a judge may decide alone is an invitation to let it: not of a judge
    # that is not believed, nor by labels that may be its own verdicts.
    allowed = share.value and each.standing == "supported" and not same
    return numbers_of(share, words)[0] if allowed else words.text("checked.no_share")


def numbers_of(estimate: Estimate, words: Words) -> tuple[str, str]:
    """A figure and its interval in words, as exact as sentences say them."""
    sizes = [v for v in (estimate.value, *estimate.interval) if math.isfinite(v)]
    spec = words.spec(estimate.unit, *sizes)
    return words.number(estimate.value, spec), words.number(estimate.interval, spec)


def figure_name(name: str, figure: Estimate, words: Words) -> str:
    """A figure in words; with the coefficient that it is measured by, where its name does not say
    that."""
    label, section = words.metric(name) or name, name.partition(".")[0]
    return (
        f"{label} ({words.value(figure.measure, section)})" if figure.measure else label
    )


def figure_table(told: Told, words: Words) -> Table | None:
    """Every number that was told, with its interval, n and groups where it has them; None without
    any."""
    rows = []
    for name, each in told.numbers.items():
        if isinstance(each, Estimate):
            counts = (
                words.number(n, "d") if n else "" for n in (each.n, each.n_groups)
            )
            rows.append(
                (
                    figure_name(name, each, words),
                    *numbers_of(each, words),
                    *counts,
                    name,
                )
            )
        else:
            written = words.number(each, words.spec(told.units.get(name, ""), each))
            rows.append((words.metric(name) or name, written, "", "", "", name))
    headers = [
        words.heading(column, "checked")
        for column in ("metric", "value", "interval", "n", "groups", "name")
    ]
    numeric = (False, True, True, True, True, False)
    return (
        Table(headers, rows, numeric, words.text("checked.counted")) if rows else None
    )


MOST_VOICES = 4
"""Judges or people that a sentence names one by one."""


def who(result: CheckResult, words: Words) -> list[str]:
    """Who judged whom and against whom it is held, in a sentence; none where nothing was judged."""
    table = result.table
    judges = [str(name) for name in table.verdicts["judge"].dropna().unique()]
    if not judges:
        return []
    people = [str(name) for name in table.labels["rater"].dropna().unique()]
    values = {
        "judges": judges if len(judges) <= MOST_VOICES else [],
        "n_judges": len(judges),
        "n": int(table.verdicts["item"].nunique()),
        "people": people if len(people) <= MOST_VOICES else [],
        "n_people": len(people),
        "labelled": int(table.labels["item"].nunique()),
    }
    many = "many" if len(judges) > MOST_VOICES else "few"
    against = "nobody"
    if people:
        against = "people" if len(people) > MOST_VOICES else "named"
    return [
        " ".join(
            (
                words.text(f"checked.who_{many}", **values),
                words.text(f"checked.of_{against}", **values),
            )
        )
    ]


def recognised(result: CheckResult, words: Words) -> list[str]:
    """What was read from the files and how to override it, shortly, and the first problems in
    them."""
    table = result.table
    read = " ".join(words.say(finding) for finding in table.read[:MOST_READ])
    stated = ""
    if table.selection != "unknown":
        selection = words.text(f"card.selection.{table.selection}")
        stated = words.text(
            "checked.selection",
            selection=selection,
            drawn=int(table.selection != "all"),
        )
    lines = who(result, words)
    lines += [" ".join(filter(None, (read, stated, words.text("checked.override"))))]
    lines += [words.say(finding) for finding in table.problems[:MOST_PROBLEMS]]
    if len(table.problems) > MOST_PROBLEMS:
        lines.append(
            words.text(
                "checked.more_problems",
                more=len(table.problems) - MOST_PROBLEMS,
                how=HOW,
            )
        )
    return lines


class Screen(NamedTuple):
    """What is shown at once: of one judge what was found of it, of several a table and what holds
    for all of them."""

    read: list[str]
    # the first line, and behind it what else could explain the only judge's agreement
    answer: list[str]
    table: Table | None
    said: Sentences
    below: list[str]  # what was not examined, and what would settle what is open


def screen(result: CheckResult, words: Words, most: int | None = MOST_JUDGES) -> Screen:
    """What to show at once, with at most so many judges."""
    table = None
    answer = [first_line(result, words)]
    said = sentences(result.together, words)
    # what holds of all, such as a change over time, concerns it too
    if len(result.judges) == 1:
        answer.append(words.say(result.judges[0].rival))
        said = sentences(
            result.judges[0].beside(result.together), words, result.judges[0]
        )
        if result.judges[0].unasked:  # whose answer does not say what was asked for
            said = said._replace(findings=[*said.findings, *said.details], details=[])
    elif result.judges:
        table = overview(result, words, most)
        said = said._replace(findings=[*_of_several(result, words), *said.findings])
        refuted = [
            each
            for each in sorted(result.judges, key=_place)
            if each.standing == "refuted"
        ]
        if refuted and len(table.rows) < len(result.judges):
            named = [
                name_of(result.table, each.judge, each.criterion) for each in refuted
            ]
            more = len(named) - MOST_NAMED
            rest = words.text("checked.refuted_rest", more=more) if more > 0 else ""
            answer[0] += " " + words.text(
                "checked.refuted", judges=named[:MOST_NAMED], rest=rest
            )
    below = [
        "",
        words.text("checked.not_examined"),
        *(f"- {what}" for what in said.not_examined),
    ]
    below = below if said.not_examined else []
    own = [
        words.say(each.settle)
        for each in result.judges
        if each.settle is not None and table is not None
    ]
    settle = (
        own
        or said.settle
        or [
            way for each in result.judges for way in sentences(each, words, each).settle
        ]
    )
    settled = all(each.standing != "undecided" for each in result.judges)
    below += (
        [
            "",
            words.text(
                "checked.settle_yes" if settled else "checked.settle", how=settle[0]
            ),
        ]
        if settle
        else []
    )
    return Screen(recognised(result, words), answer, table, said, below)


def _of_several(result: CheckResult, words: Words) -> list[str]:
    """What the judges that may be believed may be used for, what not, and what is not known of
    them."""
    believed = [
        each
        for each in sorted(result.judges, key=_place)
        if each.standing == "supported"
    ]
    return [
        words.text(
            "checked.of_judge",
            judge=name_of(result.table, each.judge, each.criterion),
            said=" ".join(titled(uses_of(result, each, words), words)),
        )
        for each in believed[:MOST_NAMED]
    ]


def following(
    result: CheckResult, words: Words, written: Mapping[str, Any], typed: Sequence[str]
) -> list[str]:
    """What to do next beside settling what is open: `typed`, the command of this check, with what
    it did not write yet; of a judge that may be believed the card that a gate holds thresholds
    against, else the report.
    """
    believed = len(result.judges) == 1 and result.judges[0].standing == "supported"
    limited = any(found.weight == Weight.LIMITS for found in result.together.findings)
    moved = limited or result.agrees_less
    more = (
        ("card", "card.json")
        if believed and not moved and "card" not in written
        else ("report", "report")
    )
    # to ask all of it is what settles it
    in_part = any(each.unasked for each in result.judges)
    if (
        not typed
        or in_part
        or more[0] in written
        or result.table.labels["label"].isna().all()
    ):
        return []
    command = shlex.join(["undogmatic", *typed, f"--{more[0]}", more[1]])
    said = "changed" if believed and moved else more[0]
    return [words.text(f"checked.next_{said}", command=command)]


def _of(each: Told, result: CheckResult) -> Told:
    """What is told of a judge; of the only one, with what holds of all."""
    return each.beside(result.together) if len(result.judges) == 1 else each


def face(
    result: CheckResult,
    words: Words,
    written: Mapping[str, Any] = MappingProxyType({}),
    typed: Sequence[str] = (),
) -> list[str]:
    """What is said first of the only judge, a line each: what it may be used for, what not, what is
    not known, how far it agrees, what is left of that beside words, what was read, and the next
    step."""
    (each,) = result.judges
    together = each.beside(result.together)
    table, said = result.table, sentences(together, words, each)
    kind = [words.say(read) for read in table.read if read.subject == Subject.KIND]
    problems = [*map(words.say, table.problems[:1])]
    if len(table.problems) > 1:
        problems.append(words.text("uses.more_problems", more=len(table.problems) - 1))
    step = said.settle[:1] if each.standing == "undecided" else []
    step = [words.text("checked.settle", how=how) for how in step]
    step = step or following(result, words, written, typed)
    n = len(said.findings) + len(said.details)
    more = words.text(f"uses.all{('_none', '_one')[n] if n < 2 else ''}", n=n)
    return [
        *titled(uses_of(result, each, words), words),
        *key_figures(result, together, words),
        *step,
        " ".join([*who(result, words), *kind, *problems, more]),
    ]


def in_lines(result: CheckResult, words: Words) -> list[str]:
    """The answer and what follows from it, a line each; of several judges, a line for each."""
    answer, changes = answered(result, words), asked_first(result, words)
    if answer is not None:
        return [*changes, f"{answer.mark} {answer}", *face(result, words)]
    return [
        *changes,
        first_line(result, words),
        *(
            f"{name_of(result.table, each.judge, each.criterion)}: {words.answered(each.answer)}"
            for each in sorted(result.judges, key=_place)
        ),
    ]


def uses_of(result: CheckResult, each: Told, words: Words) -> Uses:
    """What one of the judges may be used for, what not, and what is not known of it."""
    return uses(_of(each, result), words) or Uses()


def show(
    result: CheckResult,
    words: Words,
    paths: Mapping[str, Sequence[Path]] | None = None,
    typed: Sequence[str] = (),
    everything: bool = False,
) -> None:
    """Print the answer; of one judge in a few lines, unless `everything` is asked for. `paths` are
    what was written, under its name in words, `typed` the command's words, which can be repeated
    for more."""
    shown, paths = screen(result, words), paths or {}
    answer = answered(result, words)
    # What was asked for alone is shown as it is.
    short = answer is not None and not everything and not result.judges[0].unasked
    put([""])
    if changes := asked_first(result, words):
        put([*changes, ""], style="bold")
    # Of several judges the answer comes first, too; how the file was read stands below it.
    first = not short and (everything or shown.table is None)
    put([*shown.read, ""] if first else [])
    put_answer(answer) if answer is not None else put(shown.answer[:1], style="bold")
    if short:
        put([*face(result, words, paths, typed), ""])
    else:
        if answer is not None:
            below = titled(uses_of(result, result.judges[0], words), words)
            put([*below, "", words.say(result.judges[0].answer)])
        if shown.table is not None:
            put_table(shown.table)
        put([*shown.answer[1:], ""])
        put(
            [
                *_listed(result, shown, words, paths, everything),
                *following(result, words, paths, typed),
                *([] if first else ["", " ".join(shown.read)]),
                "",
            ]
        )
    written = {
        name: ", ".join(str(as_typed(path)) for path in several)
        for name, several in paths.items()
    }
    put_paths(
        {words.text(f"checked.{name}"): listed for name, listed in written.items()}
    )


def _listed(
    result: CheckResult,
    shown: Screen,
    words: Words,
    paths: Mapping[str, Sequence[Path]],
    everything: bool,
) -> list[str]:
    """The findings, those that change the answer most first, and what stands below them."""
    every = [*shown.said.findings, *(shown.said.details if everything else [])]
    listed = [
        f"- {sentence}" for sentence in (every if everything else every[:MOST_FINDINGS])
    ]
    left = {
        "judges": 0
        if shown.table is None
        else len(result.judges) - len(shown.table.rows)
    }
    left["findings"] = len(shown.said.findings) + len(shown.said.details) - len(listed)
    how = "" if "report" in paths else HOW
    listed += [
        words.text(f"checked.more_{what}", more=more, how=how)
        for what, more in left.items()
        if more > 0
    ]
    return [*listed, *shown.below[not listed :]]


def write(
    result: CheckResult, words: Words, folder: Path, command: str | None = None
) -> None:
    """Write `report.md` and `report.html` (one file) with pictures and tables into `folder`;
    `command` repeats it."""
    blocks = list(_blocks(result, words, folder, command))
    judges = result.table.judges
    many = len(judges) > 3
    title = words.text(
        f"checked.question{'_many' * many}", judge=judges[:3], n=len(judges)
    )
    lead = ", ".join(Path(name).name for name in result.table.sources)
    names = {item: item for item in map(str, result.table.items.index)}
    save(
        Document(words.language, title, lead, blocks, words.text("bench.foot"), names),
        folder,
    )


def _blocks(
    result: CheckResult, words: Words, folder: Path, command: str | None
) -> Iterator[Block]:
    several = len(result.judges) > 1
    settle = [line for line in screen(result, words).below if line][-1:]
    yield from (Paragraph(line, "verdict") for line in asked_first(result, words))
    answer = answered(result, words)
    if answer is not None:
        said = titled(uses_of(result, result.judges[0], words), words)
        yield answer._replace(below=[*said, *settle])
        yield from map(Paragraph, _in_figures(result.judges[0], words))
    else:
        yield Paragraph(first_line(result, words), "verdict")
        yield from map(Paragraph, settle)
    drawn = {
        number: _pictures(result, each, words, folder, f"{number}_" * several)
        for number, each in enumerate(result.judges)
    }
    yield from (
        [overview(result, words)]
        if several
        else itertools.islice(drawn[0], 1)
        if drawn
        else []
    )
    table = bench(of_check(result, words), words)
    yield from [Paragraph(table.begins)] if table.begins else []
    yield Contents(words.text("bench.contents"))
    for number, each in enumerate(result.judges):
        if several:
            yield Heading(name_of(result.table, each.judge, each.criterion))
            own = _answered(each, words)
            if own is not None:
                yield own._replace(below=titled(uses_of(result, each, words), words))
            yield from map(Paragraph, _in_figures(each, words))
        told = each if several else each.beside(result.together)
        begin, level = f"{number}_" * several, 3 if several else 2
        yield from _told(told, words, folder, begin, level=level, of=each)
        yield from drawn[number]
    yield Heading(words.text("bench.title"))
    yield table
    if several or not result.judges:
        heading = words.text("checked.together") if several else ""
        yield from _told(result.together, words, folder, "all_", heading=heading)
    yield Paragraph(words.text("common.not_applicable"), "small")
    yield Fold(words.text("common.made_title"))
    yield Heading(words.text("checked.read"))
    yield Bullets(
        [words.say(finding) for finding in result.table.read]
        or [words.text("checked.nothing_assumed")]
    )
    if result.table.problems:
        yield Heading(words.text("checked.problems"), level=3)
        yield Bullets([words.say(finding) for finding in result.table.problems])
    options = result.options.model_dump(mode="json")
    yield Table(
        (),
        [
            (name, words.number(value))
            for name, value in options.items()
            if value not in (None, [])
        ],
    )
    yield Table(
        (), list(result.table.sources.items()), caption=words.text("checked.files")
    )
    if command is not None:
        yield Heading(words.text("common.repeat_title"))
        yield Code(command)
    yield Fold()


def _told(
    told: Told,
    words: Words,
    folder: Path,
    before: str,
    *,
    level: int = 2,
    heading: str = "",
    of: Told | None = None,
) -> Iterator[Block]:
    said = sentences(told, words, of)
    if heading and (any(said) or told.numbers or told.tables):
        yield Heading(heading)
    for name, listed in zip(
        ("findings", "details", "not_examined", "settle"), said, strict=True
    ):
        if listed:
            yield Heading(words.text(f"checked.title_{name}"), level)
            yield Bullets(listed)
    if numbers := figure_table(told, words):
        yield Heading(words.text("checked.title_figures"), level)
        yield numbers
    for name, frame in told.tables.items():
        units = told.columns.get(name)
        yield from frame_blocks(frame, words, "check", name, folder, before, units)


def _pictures(
    result: CheckResult, each: Told, words: Words, folder: Path, before: str
) -> Iterator[Block]:
    drawn = figures_of(result.table.of(each.judge, each.criterion))
    yield from pictures(
        [*each.drawings, *drawn], words, "checked", None, folder, before
    )


def as_json(result: CheckResult, words: Words) -> dict[str, Any]:
    """All that was found as plain data, sentences included; what is no number, or endless, is
    None."""

    def told(part: Told) -> dict[str, Any]:
        findings = []
        for finding in part.ordered():
            plain = {
                "key": finding.key,
                "weight": finding.weight.name.lower(),
                "sentence": words.say(finding),
            }
            if finding.settle is not None:
                plain["settle"] = words.say(finding.settle)
            findings.append(plain)
        lacking = {
            name: words.say(finding) for name, finding in part.not_examined.items()
        }
        figures = {name: figure_row(each) for name, each in part.estimates.items()}
        return {"figures": figures, "findings": findings, "not_examined": lacking}

    judges = []
    for each in result.judges:
        judge: dict[str, Any] = {
            "judge": each.judge,
            "criterion": each.criterion,
            "standing": each.standing,
            "key": each.answer.key,
            "answer": words.answered(each.answer),
            **uses_of(result, each, words)._asdict(),
            "rival": words.say(each.rival),
            "n": each.n,
            "groups": each.groups,
        }
        if each.settle is not None:
            judge["settle"] = words.say(each.settle)
        judges.append(judge | told(each))
    table = result.table
    about: dict[str, Any] = {
        "kind": table.kind,
        "read": [*map(words.say, table.read)],
        "problems": [*map(words.say, table.problems)],
        "files": dict(table.sources),
        "selection": table.selection,
        "rows": table.rows,
        "unread": table.unread,
    }
    everything: dict[str, Any] = {}
    if lines := changed(result, words):
        everything["change"] = lines
    if result.asked:
        everything["asked"] = [*map(words.say, result.asked)]
    return everything | {
        "answer": first_line(result, words),
        "judges": judges,
        "together": told(result.together),
        "table": about,
        "options": result.options.model_dump(mode="json"),
        "digests": digests_of(table),
    }


def shown_in_notebook(result: CheckResult, words: Words) -> str:
    """A check as a notebook shows it."""
    shown, answer = screen(result, words, None), answered(result, words)
    below = [line for line in shown.below if line]
    said = (
        []
        if answer is None
        else titled(uses_of(result, result.judges[0], words), words)
    )
    lines = [
        prose(line, html)
        for line in (*shown.read, *shown.answer[:1], *said, *shown.answer[1:], *below)
    ]
    lines[len(shown.read)] = f"<b>{lines[len(shown.read)]}</b>"
    lines[:0] = [f"<b>{prose(line, html)}</b>" for line in asked_first(result, words)]
    parts = [f"<p>{line}</p>" for line in lines]
    parts.insert(
        -len(below) or len(parts),
        "".join(f"<li>{prose(s, html)}</li>" for s in shown.said.findings),
    )
    if shown.table is not None:
        rows = [shown.table.headers, *shown.table.rows]
        cells = ("".join(f"<td>{html(cell)}</td>" for cell in row) for row in rows)
        parts.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
    return "".join(parts)


def slug(each: Told, results: Sequence[Told]) -> str:
    """A part of a file's name for one of several judges, different for each; "" for the only
    one."""
    if len(results) == 1:
        return ""
    several = len({other.criterion for other in results}) > 1
    names = [
        metric_name(other.judge, *([other.criterion] if several else []))
        for other in results
    ]
    own = next(n for n, other in enumerate(results) if other is each)
    return f"-{names[own]}" if names.count(names[own]) == 1 else f"-{names[own]}-{own}"

"""Shows what came of a gate, in the same sentences: on the terminal, as JUnit XML, JSON, and
Markdown for a comment."""

from typing import Any

from undogmatic.examinations.gate import GateResult
from undogmatic.records.card import figure_row
from undogmatic.records.words import Words
from undogmatic.report.document import (
    Block,
    Bullets,
    Document,
    Paragraph,
    Table,
    rendered,
    xml,
)
from undogmatic.safety.terminal import put

MARKS = {"pass": "✓", "fail": "✗", "undecided": "?", "void": "∅"}
GRAVITY = ("void", "fail", "undecided", "pass")
SUITE = "undogmatic.gate"


def lines(result: GateResult, words: Words) -> list[tuple[str, str]]:
    """What came of each requirement, and the sentence; the gravest first."""
    ordered = sorted(result.held, key=lambda held: GRAVITY.index(held.outcome))
    return [(held.outcome, words.say(held.finding)) for held in ordered]


def first_line(result: GateResult, words: Words) -> str:
    """What came of all of them together."""
    return words.say(result.ruling.finding)


def in_lines(result: GateResult, words: Words) -> list[str]:
    """The first line, what came of each requirement, and what was not compared."""
    stops = (
        [words.text("checked.gate_stops", status=result.status)]
        if result.status
        else []
    )
    said = first_line(result, words)
    # What an error says may end with an example.
    ended = said if said.endswith((".", "!", "?")) else f"{said}."
    first = " ".join([ended, *stops])
    each = [] if result.why else lines(result, words)
    notes = [words.say(note) for note in result.notes]
    return [
        first,
        *(f"{MARKS[outcome]} {sentence}" for outcome, sentence in each),
        *notes,
    ]


def show(result: GateResult, words: Words) -> None:
    """Print it, the first line in bold."""
    first, *rest = in_lines(result, words)
    put([first], style="bold")
    put(rest)


def junit(result: GateResult, words: Words) -> str:
    """JUnit XML: a test case for each requirement; what is void is an error, what is undecided a
    failure."""
    cases = []
    for held in result.held:
        sentence = xml(words.say(held.finding))
        inside = f"<system-out>{sentence}</system-out>"
        if held.outcome != "pass":
            kind = "error" if held.outcome == "void" else "failure"
            inside = f'<{kind} type="{held.outcome}" message="{sentence}">{sentence}</{kind}>'
        cases.append(
            f'<testcase classname="{xml(f"{SUITE}.{result.name}")}"'
            f' name="{xml(held.name)}">{inside}</testcase>'
        )
    failures = result.count("fail") + result.count("undecided")
    counts = (
        f'tests="{result.total}" failures="{failures}" '
        f'errors="{result.count("void")}" skipped="0"'
    )
    body = "\n".join(cases)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n<testsuite name="{SUITE}"'
        f" {counts}>\n{body}\n</testsuite>\n</testsuites>\n"
    )


def as_json(result: GateResult, words: Words) -> dict[str, Any]:
    """What came of it as JSON holds it: the first line, and each requirement with its figure."""
    requirements = [
        {"name": held.name, "outcome": held.outcome, "said": words.say(held.finding)}
        | ({} if held.figure is None else {"figure": figure_row(held.figure)})
        for held in result.held
    ]
    told: dict[str, Any] = {
        "name": result.name,
        "outcome": result.outcome,
        "said": first_line(result, words),
    }
    return told | {
        "requirements": requirements,
        "notes": [words.say(note) for note in result.notes],
    }


def markdown(result: GateResult, words: Words) -> str:
    """Markdown for the comment of a pull request."""
    said = [
        (words.text(f"checked.gate_{outcome}"), sentence)
        for outcome, sentence in lines(result, words)
    ]
    headers = [words.heading(name, "checked") for name in ("outcome", "requirement")]
    blocks: list[Block] = [
        Paragraph(first_line(result, words), "verdict"),
        Table(headers, said),
    ]
    if result.notes:
        blocks.append(Bullets(list(map(words.say, result.notes))))
    outcome = words.text(f"checked.gate_{result.outcome}")
    title = words.text("checked.gate_title", name=result.name)
    return rendered(
        Document(words.language, title, f"{MARKS[result.outcome]} {outcome}", blocks),
        "report.md",
    )

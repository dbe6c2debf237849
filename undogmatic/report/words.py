"""Chooses the words of a report: those of the language, the scale and the options of its run."""

from __future__ import annotations

from undogmatic.records.own_scale import OwnScale
from undogmatic.records.stored import voices
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.words import EXAMINED, READ, Words, decimals_of, spelled
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import as_typed

CHECKS = ("labelled", "preference")
"""The analyses of a run that ask what a check asks."""


def words_for(outcome: FinishedRun | SweepResult) -> Words:
    """The words in which a run or a sweep is reported: its language, its units, its scale and its
    options."""
    rubric, language = outcome.rubric, outcome.language
    wording = rubric.wordings.get(language) if rubric is not None else None
    unit, span = (wording.unit if wording is not None else None), 100.0
    if unit is None and rubric is not None and rubric.of_pairs:
        unit = Words(language).text("common.comparisons")
    if rubric is not None:
        span = rubric.maximum - rubric.minimum
    if isinstance(outcome, FinishedRun):
        own = OwnScale.of(outcome.label_scale, outcome.rubric)
    else:
        own = outcome.own
    if own is not None and own.counts:
        called = "common.own_steps" if own.names else "common.own_units"
        unit, span = Words(language).text(called), abs(own.top - own.bottom)
    made = Words(language, outcome.texts, unit, decimals=decimals_of(span), own=own)
    if isinstance(outcome, SweepResult):
        made.own = None  # its numbers are in grades already
    else:
        made.options = options_of_run(outcome)
        judges = {judge for judge, _ in voices(outcome.frame)}
        made.only_judge = judges.pop() if len(judges) == 1 else None
    return made


def options_of_run(run: FinishedRun) -> dict[str, str]:
    """How a run spells them: as keys of its analysis and of its dataset. What it has no key for is
    an option of a check of its folder."""
    alone = run.choices.get("analysis") in CHECKS
    analysis = "analysis" if alone else f"analysis.{CHECKS[0]}"
    options = spelled(
        "labels", f"undogmatic check {as_typed(run.folder)} --labels", " "
    )
    for option in EXAMINED:
        options |= spelled(option, f"{analysis}.{option}", "=")
    for option in READ:
        options |= spelled(option, f"dataset.columns.{option}", "=")
    return options

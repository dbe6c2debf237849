"""Reads what an instrument test found of a judge, from the run's folder or from a trust card that
holds it, and puts it on a card."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.card import Datasheet, is_card, read_card, setting
from undogmatic.records.evidence import InstrumentTest
from undogmatic.records.records import Judgment, digest
from undogmatic.records.results import Told
from undogmatic.records.words import Words
from undogmatic.report.kept import results_of
from undogmatic.runs.folder import MANIFEST, RESULTS, RunFolder
from undogmatic.safety.outside import brief

TEST = "instrument"
OPTION = "--instrument"


def read(source: str | Path, language: str) -> InstrumentTest:
    """What a test found, by the folder of its run, or a card. Raises ConfigError, DataError where
    there is none."""
    path = Path(source)
    if is_card(path):
        return _of_card(path)
    if not path.exists():
        raise ConfigError(
            f"`{OPTION}` is {brief(str(source))}, which does not exist. It takes the folder of an"
            " instrument test (undogmatic instrument RUBRIC model=... makes one), or a trust card"
            " that holds one, e.g. card.json."
        )
    folder = RunFolder.open(str(source), f"`{OPTION}`", (MANIFEST, RESULTS))
    told = [each for each in results_of(folder) if each.name == TEST]
    if len(told) != 1:
        what = (
            "is no instrument test" if not told else f"has tests of {len(told)} judges"
        )
        raise DataError(
            f"{OPTION} is {brief(str(source))}, which {what}. Make one of the judge: undogmatic"
            " instrument RUBRIC model=..."
        )
    return _of_run(folder, told[0], language)


def is_test(path: Path) -> bool:
    """Whether a path is the folder of a run that holds the result of an instrument test."""
    if not (path / MANIFEST).is_file() or not (path / RESULTS).is_file():
        return False
    folder = RunFolder.open(str(path), "FILE", (MANIFEST, RESULTS))
    return any(each.get("name") == TEST for each in folder.json(RESULTS)["results"])


def on_card(test: InstrumentTest | None) -> Datasheet | None:
    """What of it a card holds beside its figures."""
    if test is None:
        return None
    names = ("made", "answer", "margin", "span", "judge", "items", "shown", "settings")
    return Datasheet.model_validate({name: getattr(test, name) for name in names})


def _of_card(path: Path) -> InstrumentTest:
    card = read_card(path)
    held = card.instrument
    if held is None:
        raise DataError(
            f"{OPTION} is {brief(str(path))}, a card without an instrument test. Make it with one:"
            f" undogmatic check FILE {OPTION} RUN --card {path.name}"
        )
    figures = {
        name: own for name, own in card.figures.items() if name.startswith(f"{TEST}.")
    }
    facts = held.model_dump()
    return InstrumentTest(source=str(path), figures=figures, **facts)


def _of_run(folder: RunFolder, told: Told, language: str) -> InstrumentTest:
    words = Words.about(folder.rubric, language, told.texts)
    judged = _as_asked(folder)
    origin = judged.provenance
    recipe = {
        "model": origin.model,
        "prompt": origin.prompt_hash,
        "program": origin.program_hash,
        "readout": origin.readout,
    }
    known = {name: setting(value) for name, value in recipe.items() if value}
    ended = float(folder.facts.get("ended") or folder.facts.get("started") or 0)
    cues = told.tables.get("cues")
    shown: Mapping[str, str] = {}
    if cues is not None:
        shown = dict(zip(cues["cue"].map(str), cues["outcome"].map(str), strict=True))
    margin = next(
        (
            each.values.get("margin")
            for each in told.findings
            if "margin" in each.values
        ),
        None,
    )
    return InstrumentTest(
        source=str(folder.path),
        made=datetime.datetime.fromtimestamp(ended, datetime.UTC).date(),
        answer=words.answered(told.answer),
        figures=told.estimates,
        shown=shown,
        margin=margin,
        span=folder.rubric.maximum - folder.rubric.minimum,
        settings=known,
        judge=digest({"name": judged.judge, **known}),
        items=str(folder.facts.get("dataset_digest", "")),
    )


def _as_asked(folder: RunFolder) -> Judgment:
    """A judgment of the run by its own prompt, as a test may put the question in other ways too."""
    prompt = folder.json(RESULTS).get("prompt_hash")
    own = (each for each in folder.judgments if each.provenance.prompt_hash == prompt)
    return next(own, folder.judgments[0])

"""Reads what an instrument test found of the judge without labels, and says which of it matters in
these data: whether what moved its scores there is found in the texts here.

A program can tell some of it (a heading, a word of certainty, an order to the judge) by simple
signs, which are neither all nor only what was meant; of the rest it says that it cannot tell.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from undogmatic.errors import DataError
from undogmatic.examinations.choices import PLACE
from undogmatic.records.card import setting
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence, InstrumentTest, JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.records import Way
from undogmatic.records.results import Subject, Told, Weight
from undogmatic.safety.orders import speaks_to_its_judge
from undogmatic.safety.outside import brief, read_yaml
from undogmatic.stats.estimate import Estimate

CUE = "instrument.cue."
LENGTH, LONGER = "length", 40
"""Words without content make a text this much longer, about; lengths that differ less are one."""
OF_RUNS = ("prompt", "program", "readout")
"""Settings that a run notes of its judge in a form of its own."""
_FORMS = {
    "format": r"(?m)^\s*(?:#{1,6} |[-*•] |\d{1,3}[.)] )",
    "capitals": r"\b[^\W\d_a-zß-ÿ]{4,}\b",
    "numbers": r"\d[.,]\d|\d\s?(?:%|per cent|por cento)",
    "date": r"\b(?:19|20)\d\d\b|\b(?:today|yesterday|hoje|ontem)\b",
    "lookalike": r"[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z]",
}
_WAYS = frozenset((*get_args(Way), PLACE))
"""Other ways of asking about the same text, and the place of two outputs, which hang on no text."""
_LISTS = {"authority": "names_authority", "confidence": "boosts"}


@functools.lru_cache(maxsize=1)
def _signs() -> Mapping[str, Callable[[str], bool]]:
    """For each cue that a program can tell, whether a text has a sign of it."""
    lists = read_yaml(Path(__file__).with_name("word_lists.yaml"))
    forms = {name: re.compile(form) for name, form in _FORMS.items()}
    for cue, name in _LISTS.items():
        words = (re.escape(word).replace(r"\*", r"\w*") for word in lists[name].split())
        forms[cue] = re.compile(rf"(?i)\b(?:{'|'.join(words)})\b")
    signs = {name: functools.partial(_has, form) for name, form in forms.items()}
    return {**signs, "orders": lambda text: speaks_to_its_judge(text) is not None}


def _has(form: re.Pattern[str], text: str) -> bool:
    return form.search(text) is not None


def held_to(table: Evidence, test: InstrumentTest) -> Evidence:
    """The table with what an instrument test found of its judge. Raises DataError where there are
    several judges, or it was another."""
    if len(table.judges) != 1:
        listed = ", ".join(table.judges[:6])
        raise DataError(
            f"--instrument names a test of one judge ({test.source}), and here are several:"
            f" {listed}. Check one of them: --judge COLUMN"
        )
    own = table.settings.get(table.judges[0], {})
    keys = ("model", *(OF_RUNS if "program" in own else ()))
    for key in keys:
        now, then = setting(own.get(key, "")), test.settings.get(key, "")
        same = now == then or then.endswith(f"/{now}") or now.endswith(f"/{then}")
        if now and then and not same:
            raise DataError(
                f"--instrument: {test.source} tested another judge, whose {key} was {brief(then)}"
                f" and is {brief(now)} here. Name a test of this judge, or make one: undogmatic"
                " instrument RUBRIC model=..."
            )
    return table.changed(instrument=test)


def _examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell what the test found, and of each cue with an effect whether these texts have it."""
    test = view.table.instrument
    assert test is not None, "it is asked of a judge that was tested"
    for name, figure in test.figures.items():
        told.number(figure, name)
    facts = {"made": str(test.made), "answer": test.answer, "source": test.source}
    told.say("datasheet.answer", facts, subject=Subject.ASKED)
    if not test.settings.get("model") or not view.table.settings.get(
        view.judge, {}
    ).get("model"):
        told.say("datasheet.same_judge")
    moving = [name for name, word in test.shown.items() if word == "effect"]
    texts = [
        " ".join(parts)
        for parts in zip(*view.table.texts(view.first()["item"]), strict=True)
    ]
    texts = [text for text in texts if text.strip()]
    for cue in moving:
        if (moved := test.figures.get(CUE + cue)) is not None:
            _tell(cue, moved, texts, told)


def _tell(cue: str, figure: Estimate, texts: list[str], told: Told) -> None:
    """Tell whether what moves the judge's scores is found in these texts."""
    facts: dict[str, Any] = {
        "cue": cue,
        "total": len(texts),
        "up": int(figure.value > 0),
    }
    facts |= {"moved": abs(figure.value), "interval": figure.interval}
    sign = _signs().get(cue)
    how: dict[str, Any] = {"subject": Subject.ASKED}
    if cue == LENGTH and texts:
        low, high = np.quantile(
            [len(text.split()) for text in texts], (0.1, 0.9)
        ).round()
        facts |= {"low": int(low), "high": int(high)}
        if high - low >= LONGER:
            told.say("datasheet.lengths", facts, weight=Weight.LIMITS, **how)
        else:
            told.say("datasheet.one_length", facts, **how)
    elif cue in _WAYS:
        told.say("datasheet.asked", facts, **how)
    elif sign is None or not texts:
        told.say("datasheet.not_told", facts, **how)
    elif n := sum(map(sign, texts)):
        # What all of them have moves all alike, and no comparison.
        same = n == len(texts)
        key = "datasheet.in_all" if same else "datasheet.found"
        told.say(
            key, facts, n=n, weight=Weight.QUALIFIES if same else Weight.LIMITS, **how
        )
    else:
        told.say("datasheet.absent", facts, **how)


DATASHEET = Examination(
    "datasheet",
    _examine,
    needs=("instrument",),
    fewest_groups=0,
    lacks={"instrument": ""},
)
"""Whether what moved the judge in an instrument test is found in these texts."""

"""Puts a judge's question in another way: other words, another order of what is listed, other names
of the levels. What is asked for stays the same, so that the score ought to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Asking, ScoreDistribution, Verdict, Way, Words
from undogmatic.records.rubric import Anchors, Bands, NumericScale, OrderedScale, Rubric

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMES: Mapping[str, tuple[str, ...]] = {
    "en": ("lowest", "very low", "low", "middle", "high", "very high", "highest"),
    "pt": ("mínimo", "muito baixo", "baixo", "médio", "alto", "muito alto", "máximo"),
}
"""Words as names of levels, from the first to the last, by language."""
_TAKEN: Mapping[int, tuple[int, ...]] = {
    2: (2, 4),
    3: (2, 3, 4),
    4: (0, 2, 4, 6),
    5: (0, 2, 3, 4, 6),
    6: (0, 1, 2, 4, 5, 6),
    7: (0, 1, 2, 3, 4, 5, 6),
}
"""Which of the words are taken for so many levels."""


class Otherwise(NamedTuple):
    """A question in another way: the prompt, the rubric, and where the levels have other names the
    scores of the rubric that these stand for, in their order."""

    prompt: Prompt
    rubric: Rubric
    levels: tuple[float, ...] | None = None

    def score(self, verdict: Verdict, rubric: Rubric) -> Verdict:
        """The verdict on the scale of the rubric as it was."""
        if self.levels is None:
            return verdict
        levels = self.levels

        def back(place: float) -> float:
            return float(np.interp(place, range(len(levels)), levels))

        changed: dict[str, Any] = {"category": None, "raw_score": None}
        if verdict.score is not None:
            changed["score"] = back(verdict.score)
            if not isinstance(rubric.scale, NumericScale):
                changed["category"] = rubric.scale.write(changed["score"])
        if verdict.interval is not None:
            changed["interval"] = tuple(sorted(map(back, verdict.interval)))
        if (spread := verdict.distribution) is not None:
            pairs = sorted(
                zip(map(back, spread.values), spread.probabilities, strict=True)
            )
            values, probabilities = zip(*pairs, strict=True)
            changed["distribution"] = ScoreDistribution(
                values=values, probabilities=probabilities, off_scale=spread.off_scale
            )
        return verdict.replace(**changed)


def otherwise(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise | None:
    """The question in this way; None where the rubric or the prompt has nothing that could differ.
    It may still read like the one as it was, where a readout does not show what differs."""
    return _WAYS[asking.way](asking, prompt, rubric)


def _again(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise:
    return Otherwise(prompt, rubric)


def _words(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise | None:
    said = asking.words.get(prompt.language)
    return (
        None
        if said is None
        else Otherwise(prompt, _in_words(rubric, prompt.language, said))
    )


def _language(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise | None:
    known = asking.language is not None and asking.language in rubric.wordings
    translated = prompt.in_language(asking.language or "") if known else None
    return None if translated is None else Otherwise(translated, rubric)


def _levels(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise:
    return Otherwise(
        prompt, rubric.model_copy(update={"from_top": not rubric.from_top})
    )


def _criteria(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise:
    listed = rubric.wordings[prompt.language].distinctions[::-1]
    return Otherwise(
        prompt, _changed(rubric, prompt.language, {"distinctions": listed})
    )


def _examples(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise:
    fields = {
        "demonstrations": prompt.shown()[::-1],
        "demo_order": None,
        "demo_count": None,
    }
    return Otherwise(prompt.model_copy(update=fields), rubric)


def _in_words(rubric: Rubric, language: str, said: Words) -> Rubric:
    own = rubric.wordings[language]
    known = {name: getattr(own, name).strip() for name in Words.model_fields}
    changed = {}
    for name in known:
        pattern = getattr(said, name)
        if pattern is not None:
            for other, words in known.items():
                pattern = pattern.replace(f"{{{other}}}", words)
            changed[name] = pattern.strip()
    return _changed(rubric, language, changed)


def _changed(rubric: Rubric, language: str, fields: Mapping[str, Any]) -> Rubric:
    """The rubric with other words in one language."""
    wording = rubric.wordings[language].model_copy(update=dict(fields))
    return rubric.model_copy(
        update={"wordings": {**rubric.wordings, language: wording}}
    )


def _names(way: Way, number: int, language: str) -> tuple[str, ...] | None:
    """Names for so many levels; None where there are not so many."""
    if way == "named":
        words, taken = NAMES.get(language), _TAKEN.get(number)
        if words is None or taken is None:
            return None
        return tuple(words[place] for place in taken)
    if way == "numbers_turned":
        # With a sign, so that no name is taken for a number on the scale.
        return tuple(f"#{place + 1}" for place in range(number))
    return tuple(LETTERS[:number]) if number <= len(LETTERS) else None


def _renamed(asking: Asking, prompt: Prompt, rubric: Rubric) -> Otherwise | None:
    """Other names for the levels that have a meaning; turned round, the first name is that of the
    last of them."""
    turned = asking.way in ("letters_turned", "numbers_turned")
    scale, guide = rubric.scale, rubric.guide
    wording = rubric.wordings[prompt.language]
    if isinstance(guide, Anchors):
        levels, meanings = guide.at, wording.meanings
    elif isinstance(guide, Bands):
        levels = tuple((band.lowest + band.highest) / 2 for band in guide.bands)
        meanings = wording.meanings
    elif isinstance(scale, NumericScale):
        return None
    else:
        levels = scale.default_levels()
        meanings = wording.meanings or scale.categories
    names = _names(asking.way, len(levels), prompt.language)
    if names is None or prompt.demonstrations:
        return None  # worked examples answer with the names as they were
    if turned:
        levels, meanings = levels[::-1], meanings[::-1]
    directions = {
        "higher_is_worse": "higher_is_better",
        "higher_is_better": "higher_is_worse",
    }
    direction = rubric.direction
    named = _changed(rubric, prompt.language, {"meanings": tuple(meanings)})
    others = {
        "scale": OrderedScale(categories=names),
        "guide": None,
        "margin": None,
        "direction": directions[direction]
        if turned and direction is not None
        else direction,
        # Other languages have other meanings, which would not be in this order.
        "wordings": {prompt.language: named.wordings[prompt.language]},
    }
    return Otherwise(prompt, named.model_copy(update=others), tuple(map(float, levels)))


_WAYS: Mapping[Way, Callable[[Asking, Prompt, Rubric], Otherwise | None]] = {
    "again": _again,
    "words": _words,
    "language": _language,
    "levels_reversed": _levels,
    "criteria_reversed": _criteria,
    "examples_reversed": _examples,
    **dict.fromkeys(("letters", "letters_turned", "named", "numbers_turned"), _renamed),
}

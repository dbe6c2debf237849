"""Changes a text so that what ought to happen to its score is known: a cue that should not matter,
or planted defects.

What an edit says lies in `data/instrument/edits.yaml`, and beside it in a file per rubric. The
functions here make the edits that no sentence can make. Every edit is deterministic: the same text,
key and count give the same copy. An edit that a text is too short for gives None.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from undogmatic.errors import ConfigError
from undogmatic.records.records import Record, Way, Words, digest, first_problem
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import data_folder

FOLDER = data_folder() / "instrument"
STEPS = (1, 2, 4)
"""How many defects the copies of a ladder hold."""
Language = Literal["en", "pt"]

_ENDS = re.compile(r"(?<=[.!?…])\s+")
_ABBREVIATED = re.compile(r"(?:^|[\s(])([^\W\d_])[^\W\d_]{0,2}\.$")
_WORD = re.compile(r"[^\W\d_]{4,}")
_LOOKALIKE = str.maketrans("aceopxy", "асеорху")
"""Latin letters and the Cyrillic ones that look like them."""
_PLAIN_EN = re.compile(
    r"\b(?:is|are|was|were|can|could|must|may|should|will|would|has been|do|does)\b"
)
_PLAIN_PT = re.compile(
    r"\b(?:é|são|era|foi|foram|está|estão|pode|podem|deve|devem|tem|têm|há|será|serão|cabe|exige)\b"
)
_NEGATED = re.compile(rf"({_PLAIN_EN.pattern}) not\b|\bnão (?=({_PLAIN_PT.pattern}))")
_PORTUGUESE = frozenset(
    "de que não uma um os as para com por ao dos das se é ou mais em no na".split()
)
_ENGLISH = frozenset(
    "the of and to is that it for on with as be this was are by not or an".split()
)


def language_of(text: str) -> Language:
    """Tell Portuguese from English by the small words of a text."""
    words = re.findall(r"\w+", text.lower())
    english = sum(word in _ENGLISH for word in words)
    return "pt" if sum(word in _PORTUGUESE for word in words) > english else "en"


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; a short abbreviation ("art.", "Dr.") ends none."""
    parts: list[str] = []
    for part in _ENDS.split(text.strip()):
        short = _ABBREVIATED.search(parts[-1]) if parts and part else None
        if short is not None and (not part[0].isupper() or short[1].isupper()):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return parts


def _removed(text: str, draw: random.Random, count: int) -> str | None:
    parts = sentences(text)
    if len(parts) <= count:
        return None
    gone = set(draw.sample(range(len(parts)), len(parts))[:count])
    return " ".join(part for place, part in enumerate(parts) if place not in gone)


def _shuffled(text: str, draw: random.Random, count: int) -> str | None:
    parts = sentences(text)
    if len(parts) <= count:
        return None
    # Each defect moves one sentence somewhere else, so that more of them disturb more.
    for place in draw.sample(range(len(parts)), len(parts))[:count]:
        others = [k for k in range(len(parts)) if abs(k - place) > 1] or [
            0,
            len(parts) - 1,
        ]
        parts.insert(draw.choice(others), parts.pop(place))
    return " ".join(parts)


def _repeated(text: str, draw: random.Random, count: int) -> str | None:
    parts = sentences(text)
    for place in draw.choices(range(len(parts)), k=max(STEPS))[:count]:
        parts[place] += f" {sentences(parts[place])[0]}"
    return " ".join(parts)


def _negated(text: str, draw: random.Random, count: int) -> str | None:
    parts = sentences(text)
    can = [place for place, part in enumerate(parts) if _contrary(part) is not None]
    if len(can) < count:
        return None
    for place in draw.sample(can, len(can))[:count]:
        parts[place] = _contrary(parts[place]) or parts[place]
    return " ".join(parts)


def _contrary(sentence: str) -> str | None:
    """The sentence with its first plain verb negated, or no longer negated; None without one."""
    if said := _NEGATED.search(sentence):
        return sentence[: said.start()] + (said[1] or "") + sentence[said.end() :]
    if said := _PLAIN_EN.search(sentence):
        return f"{sentence[: said.end()]} not{sentence[said.end() :]}"
    if said := _PLAIN_PT.search(sentence):
        return f"{sentence[: said.start()]}não {sentence[said.start() :]}"
    return None


def _typing(text: str, draw: random.Random, count: int) -> str | None:
    def slip(word: str) -> str:
        place = draw.randrange(1, len(word) - 2)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

    return _in_words(text, draw, slip, 0.08)


def _capitals(text: str, draw: random.Random, count: int) -> str | None:
    return _in_words(text, draw, str.upper, 0.12)


def _lookalike(text: str, draw: random.Random, count: int) -> str | None:
    return _in_words(text, draw, lambda word: word.translate(_LOOKALIKE), 0.12)


def _in_words(
    text: str, draw: random.Random, change: Callable[[str], str], share: float
) -> str | None:
    """The text with a share of its longer words changed, one at least."""
    found = list(_WORD.finditer(text))
    if not found:
        return None
    chosen = draw.sample(found, max(1, round(share * len(found))))
    for word in sorted(chosen, key=lambda one: -one.start()):
        text = text[: word.start()] + change(word[0]) + text[word.end() :]
    return text


MAKERS: Mapping[str, Callable[[str, random.Random, int], str | None]] = {
    "removed": _removed,
    "shuffled": _shuffled,
    "repeated": _repeated,
    "negated": _negated,
    "typing": _typing,
    "capitals": _capitals,
    "lookalike": _lookalike,
}
Made = Literal[
    "removed",
    "shuffled",
    "repeated",
    "negated",
    "typing",
    "capitals",
    "lookalike",
    "format",
]


class Edit(Record):
    """One way of changing a text: `make` names a function, else sentences are added.

    `times` sentences are added at once; of a ladder as many as it has defects. `against` names the
    cue whose copy this one is compared with, in place of the text as it was. `named`: how words
    begin by which a reason names it.
    """

    make: Made | None = None
    place: Literal["start", "end"] = "end"
    times: Annotated[int, Field(ge=1)] = 1
    against: str | None = None
    named: tuple[str, ...] = ()
    en: tuple[str, ...] = ()
    pt: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "Edit":
        least = 1 if self.make in (None, "format") else 0
        if len(self.en) < least and len(self.pt) < least:
            raise ValueError("it has neither `make` nor sentences under `en` or `pt`")
        return self

    def into(
        self, text: str, key: str, count: int = 1, language: Language | None = None
    ) -> str | None:
        """The text with so many of these edits in it; None where it cannot be made of this text.

        Args:
            key: Decides which sentences and places are drawn. Copies of one key with a higher count
                hold what those with a lower one hold.
            language: Of the sentences; None: as the text.
        """
        draw = random.Random(digest(key))
        if self.make is not None and self.make != "format":
            return MAKERS[self.make](text, draw, count)
        spoken = language_of(text) if language is None else language
        said = (self.pt or self.en) if spoken == "pt" else (self.en or self.pt)
        if self.make == "format":
            bullets = (f"- {sentence}" for sentence in sentences(text))
            return "\n".join([draw.choice(said), "", *bullets])
        wanted = self.times * count
        if len(said) < wanted:
            return None
        added = " ".join(draw.sample(said, len(said))[:wanted])
        return f"{added} {text}" if self.place == "start" else f"{text} {added}"


class Edits(Record):
    """What is done to the texts of a rubric: `cues` that should not matter, the first the most
    telling, the kinds of defect of the `ladder`, and texts in which there is nothing to judge
    (`dark`). `wordings` are the question in other words, by language. `relevant` names the cues
    that the rubric asks about, which are left out. `own_ladder`: the defects were written for the
    rubric. `texts` names the dataset option whose texts are taken where nobody brings any, in place
    of those that judges were fitted on."""

    cues: dict[str, Edit] = Field(default_factory=dict)
    ladder: dict[str, Edit] = Field(default_factory=dict)
    dark: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    wordings: dict[str, tuple[Words, ...]] = Field(default_factory=dict)
    relevant: tuple[str, ...] = ()
    own_ladder: bool = False
    texts: str | None = None


def shipped(rubric: str) -> Path | None:
    """The file of edits that ships for a rubric, beside those for all."""
    name = rubric.replace("/", "_")
    file = FOLDER / f"{name}.yaml"
    known = re.fullmatch(r"[\w-]+", name) is not None and name != "edits"
    return file if known and file.is_file() else None


def edits_of(own: Path | None) -> Edits:
    """The edits of all rubrics, with what one's `own` file has in place of what has the same
    name; a ladder of one's own replaces all of it. Raises ConfigError."""
    common = _read(FOLDER / "edits.yaml")
    if own is None:
        return common
    more = _read(own)
    if unknown := [name for name in more.relevant if name not in common.cues]:
        raise ConfigError(
            f"{own}: `relevant` names {unknown[0]!r}, which is no cue. There are:"
            f" {', '.join(common.cues)}."
        )
    return Edits(
        cues=common.cues | more.cues,
        ladder=more.ladder or common.ladder,
        dark=common.dark | more.dark,
        wordings=common.wordings | more.wordings,
        relevant=more.relevant,
        own_ladder=bool(more.ladder),
        texts=more.texts,
    )


def _read(path: Path) -> Edits:
    try:
        found: Any = read_yaml(path)
        return Edits.model_validate(found)
    except ValidationError as error:
        raise ConfigError(
            f"{path}: {first_problem(error)}. See data/instrument/edits.yaml for what stands there."
        ) from None


def chosen(edits: Edits, cues: int | Sequence[str] | None) -> list[str]:
    """The cues that are tried: those of these names, the first so many that do not matter to the
    rubric, or all of these. A cue that is compared with another brings that along.

    Raises:
        ConfigError: A name is no cue, or one that the rubric asks about.
    """
    free = [
        name
        for name, edit in edits.cues.items()
        if not {name, edit.against} & {*edits.relevant}
    ]
    if cues is None or isinstance(cues, int):
        return free[: len(free) if cues is None else cues]
    for name in cues:
        if name not in free:
            why = (
                "the rubric asks about it"
                if name in edits.relevant
                else "there is no such cue"
            )
            raise ConfigError(
                f"`dataset.cues` names {name!r}: {why}. There are: {', '.join(free)}."
            )
    against = [edits.cues[name].against for name in cues]
    return [name for name in free if name in cues or name in against]


WAYS: tuple[Way, ...] = (
    "levels_reversed",
    "words",
    "again",
    "letters",
    "language",
    "criteria_reversed",
    "examples_reversed",
    "letters_turned",
    "named",
    "numbers_turned",
)
"""The other ways of putting the question, the most telling first; the first three by default."""


def chosen_ways(ways: Sequence[str] | None) -> list[Way]:
    """The ways of these names, or all. Raises ConfigError where a name is none."""
    if ways is None:
        return [*WAYS]
    for name in ways:
        if name not in WAYS:
            raise ConfigError(
                f"`dataset.ways` names {name!r}: there is no such way of asking. There are:"
                f" {', '.join(WAYS)}."
            )
    return [way for way in WAYS if way in ways]

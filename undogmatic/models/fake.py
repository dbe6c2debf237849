"""`fake`: judges that know nothing of what they judge. Who believes one of them on some data
believes the data.

Each reads the text's surface, a number drawn from it, or nothing. Some count the expressions of a
field, which their config lists. docs/fakes.md has the commands (`model=fake model.kind=length`) and
the verdict that each deserves.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, NamedTuple

from pydantic import Field

from undogmatic.errors import ConfigError, RefusedAnswer
from undogmatic.models.base import Model
from undogmatic.records.records import Record
from undogmatic.records.wordings import of_this_project


class Surface(NamedTuple):
    """A number of a text, and the value and spread that texts of some hundred characters have of
    it."""

    of: Callable[[str], float]
    usual: float
    spread: float

    def score(self, text: str, model: FakeModel | None = None) -> float:
        """A share in (0, 1) that grows with the number, one half where it is as usual."""
        return 0.5 + math.atan((self.of(text) - self.usual) / self.spread) / math.pi


class Expressions(Record):
    """Regular expressions that are counted without regard to case, and how many texts usually have
    of them."""

    patterns: tuple[str, ...]
    usual: float
    spread: Annotated[float, Field(gt=0)]

    def surface(self) -> Surface:
        """How often they occur, as a number of a text."""
        compiled = [re.compile(pattern, re.IGNORECASE) for pattern in self.patterns]
        return Surface(
            lambda text: float(sum(len(p.findall(text)) for p in compiled)),
            self.usual,
            self.spread,
        )


def _share(kind: Callable[[str], bool]) -> Callable[[str], float]:
    return lambda text: sum(map(kind, text)) / len(text)


def _of(marks: str) -> Callable[[str], float]:
    return lambda text: float(sum(text.count(mark) for mark in marks))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text) or [""]


def _sentences(text: str) -> float:
    return max(1.0, len(re.findall(r"(?<![.!?])[.!?]++(?:\s|$)", text)))


SURFACES: dict[str, Surface] = {
    "length": Surface(lambda t: float(len(t)), 350, 120),
    "length_from_340": Surface(lambda t: abs(len(t) - 340.0), 80, 60),
    "words": Surface(lambda t: float(len(_words(t))), 55, 20),
    "sentences": Surface(_sentences, 3, 1.5),
    "word_length": Surface(
        lambda t: sum(map(len, _words(t))) / len(_words(t)), 5.2, 0.5
    ),
    "sentence_length": Surface(lambda t: len(_words(t)) / _sentences(t), 20, 8),
    "longest_word": Surface(lambda t: float(max(map(len, _words(t)))), 14, 2.5),
    "capitals": Surface(lambda t: float(sum(map(str.isupper, t))), 9, 5),
    "share_of_capitals": Surface(_share(str.isupper), 0.03, 0.015),
    "digits": Surface(lambda t: float(sum(map(str.isdigit, t))), 9, 8),
    "commas": Surface(_of(","), 5, 3),
    "full_stops": Surface(_of("."), 5, 3),
    "parentheses": Surface(_of("()"), 1, 1.5),
    "quotation_marks": Surface(_of("\"'“”«»"), 0.5, 1),
    "other_marks": Surface(_of(":;-–—/"), 2, 2),
    "spaces": Surface(_share(str.isspace), 0.155, 0.01),
    "vowels": Surface(_share(lambda c: c in "aeiouáéíóúâêôãõàAEIOU"), 0.4, 0.02),
    "accents": Surface(_share(lambda c: c.isalpha() and not c.isascii()), 0.03, 0.012),
    "letter_e": Surface(_share(lambda c: c in "eé"), 0.1, 0.015),
    "different_words": Surface(
        lambda t: len({w.lower() for w in _words(t)}) / len(_words(t)), 0.8, 0.07
    ),
    "the_word_de": Surface(
        lambda t: float(sum(w.lower() in ("de", "da", "do") for w in _words(t))), 5, 3
    ),
    "the_word_not": Surface(
        lambda t: float(sum(w.lower() == "não" for w in _words(t))), 1, 1
    ),
}

Judge = Callable[[str, "FakeModel"], float]


def _refusing(text: str, model: FakeModel) -> float:
    if model.draw(text, "refuses") < 0.2:
        raise RefusedAnswer("this judge would rather not say.")
    return model.draw(text)


def _refusing_the_middle(text: str, model: FakeModel) -> float:
    if abs((score := model.draw(text)) - 0.5) < 0.25:
        raise RefusedAnswer("this judge says nothing where it is not sure.")
    return score


KINDS: dict[str, Judge] = {
    "constant": lambda text, model: 0.5,
    "always_high": lambda text, model: 1.0,
    "always_low": lambda text, model: 0.0,
    "random": lambda text, model: model.draw(text),
    "random_ends": lambda text, model: float(model.draw(text) < 0.5),
    "random_steps": lambda text, model: round(4 * model.draw(text)) / 4,
    "refusing_at_random": _refusing,
    "refusing_the_middle": _refusing_the_middle,
    "drifting": lambda text, model: 1 - math.exp(-next(model.asked_so_far) / 60),
    "every_other": lambda text, model: float(next(model.asked_so_far) % 2),
    "first_letter": lambda text, model: (
        (ord(text.strip()[:1].lower() or "a") - 97) % 26 / 25
    ),
    "names_of_conditions": lambda text, model: float(
        any(
            name in text.lower()
            for name in ("imita", "authority", "autoridade", "baseline", "explan")
        )
    ),
    **{name: surface.score for name, surface in SURFACES.items()},
}


class FakeModel(Model):
    """A judge without merit; the same text always gets the same score, but for `drifting` and
    `every_other`."""

    readouts = ("rules",)
    licence = of_this_project("fake")

    def __init__(
        self,
        kind: str,
        seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0,  # of those that draw
        reverse: bool = False,  # turn its scores round
        expressions: (
            Mapping[str, Expressions] | None
        ) = None,  # further kinds by name, which count these
    ) -> None:
        counted = expressions or {}
        if kind not in (*KINDS, *counted):
            raise ConfigError(
                f"`model.kind` is {kind!r}; there are: {', '.join((*KINDS, *counted))}."
            )
        self.kind, self.seed, self.reverse = kind, seed, reverse
        self.name = (
            f"fake-{kind}{'-reversed' if reverse else ''}{f'-{seed}' if seed else ''}"
        )
        self.asked_so_far: Iterator[int] = itertools.count(1)
        self._judge = KINDS[kind] if kind in KINDS else counted[kind].surface().score

    async def rate(self, text: str) -> tuple[float, str]:
        """Its score as a share of the scale, in [0, 1]."""
        share = min(1.0, max(0.0, self._judge(text, self)))
        return 1 - share if self.reverse else share, f"fake: {self.kind}"

    def draw(self, text: str, what: str = "score") -> float:
        """A number in [0, 1) that depends on the text and the seed alone."""
        digest = hashlib.sha256(f"{what} {self.seed} {text}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

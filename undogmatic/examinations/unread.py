"""Finds what can be said of texts without reading them: whether there is one at all, and the
numbers that stand in it, one of which a program could give for its verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from undogmatic.records.evidence import Kind
from undogmatic.stats.checks import Array
from undogmatic.stats.rival import Voice, voice

LEAST_WITH_TEXT = 0.9
"""The share of items of which there must be a text, for what a program would do with the texts to
be known."""
_NAME = re.compile(
    r"(?=.*[A-Za-z])(?=.*[\d/\\_@]|.*\.\w{2,4}$)[\w./\\:@%?&=#~+-]+", re.ASCII
)
"""The name of a file, an address or an id, which says nothing of what was judged."""
PLACES = 5
"""How many numbers from either end of a text a program could give for its verdict, each in its
place."""
BESIDE = 6
"""Of how many words the number beside them could be it."""
LEAST_WITH_NUMBER = 0.8
"""The share of texts that must hold a number for it to be one."""
_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)?")
_AFTER = re.compile(r"[^\w\n]{0,2}([^\W\d]+)")
MOST_SIGNS = 3
"""So many signs may stand between a number and the word before it."""


def says_something(text: str) -> bool:
    """Whether there is a text, and more than the name of one."""
    return bool(text.strip()) and _NAME.fullmatch(text.strip()) is None


def numbers(texts: Sequence[str]) -> dict[str, Array]:
    """The number that a program could find in each text without reading it, by where it stands: as
    an item's grade may stand in its text. One that more than a fifth of the texts lack is left out;
    a text without it has NaN.
    """
    found: dict[str, dict[int, float]] = {}
    for place, text in enumerate(texts):
        held = list(_NUMBER.finditer(text))
        values = [float(one[0].replace(",", ".")) for one in held]
        own: dict[str, float] = {}
        for n in range(min(PLACES, len(values))):
            own |= {f"{'number_in_place' if n else 'first_number'} {n}": values[n]}
            own |= {
                f"{'number_in_place' if n else 'last_number'} {-1 - n}": values[-1 - n]
            }
        if values:
            own |= {"largest_number": max(values), "smallest_number": min(values)}
        for value, one in zip(values, held, strict=True):
            after = _AFTER.match(text, one.end())
            words = {
                "before": _word_before(text, one.start()),
                "after": after[1] if after else "",
            }
            for name, word in words.items():
                if word:
                    own.setdefault(f"number_beside {name} {word.lower()}", value)
        for name, value in own.items():
            found.setdefault(name, {})[place] = value
    often = {
        name: own
        for name, own in found.items()
        if len(own) >= LEAST_WITH_NUMBER * len(texts)
    }
    beside = sorted(
        (name for name in often if name.startswith("number_beside")),
        key=lambda name: (-len(often[name]), name),
    )
    for name in beside[BESIDE:]:
        del often[name]
    return {
        name: np.array([own.get(k, np.nan) for k in range(len(texts))])
        for name, own in often.items()
    }


def _word_before(text: str, end: int) -> str:
    """The word in front of a number that begins at `end`. It is looked for backwards, from the
    number: a pattern that begins with a word tries each of its letters, which for one long word
    takes time that grows with its square.
    """
    last = end
    while (
        last > max(0, end - MOST_SIGNS)
        and not _in_word(text[last - 1])
        and text[last - 1] != "\n"
    ):
        last -= 1
    first = last
    while first > 0 and _in_word(text[first - 1]) and not text[first - 1].isdecimal():
        first -= 1
    return text[first:last]


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def by_numbers(
    kind: Kind,
    texts: Sequence[Sequence[str]],
    people: Voice,
    said: Callable[[Array, Voice], Voice],
) -> Iterator[tuple[str, Voice]]:
    """What programs would say that give a number in the text for their verdict, or a pass from some
    number on; of two texts, the one with the larger number.

    Args:
        texts: One list, or two of a choice of two outputs.
        said: Makes verdicts like those of `people` of what is foretold, shape (1, n_items).
    """
    if kind == "unordered":
        return
    read = [numbers(own) for own in texts]
    for name in (name for name in read[0] if name in read[-1]):
        value = read[0][name] - read[1][name] if len(read) > 1 else read[0][name]
        for voice_of in giving(kind, value, people, said):
            yield name.partition(" ")[0], voice_of


def giving(
    kind: Kind, value: Array, people: Voice, said: Callable[[Array, Voice], Voice]
) -> Iterator[Voice]:
    """What programs say that give a number for their verdict, or less the larger it is.

    Args:
        value: The number that each finds, shape (n_items,), NaN for none; of a choice of two, that
            of the first less that of the second.
        people, said: As in `by_numbers`.
    """
    for told in (value, -value):
        if kind == "pairwise":
            yield said(np.nan_to_num(np.sign(told) / 2)[None] + 0.5, people)
            continue
        ranks = pd.Series(told).rank()
        by_number = ranks.fillna(ranks.median()).to_numpy(dtype=np.float64)
        yield voice(by_number) if kind == "numeric" else said(by_number[None], people)

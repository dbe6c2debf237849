"""Holds the words that the rules know (words.yaml), and puts texts into the form in which they are looked for."""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path
from typing import Any, Literal

from undogmatic.safety.outside import read_yaml

Language = Literal["en", "pt"]
_STEMMERS = {"en": "english", "pt": "portuguese"}


@functools.cache
def lexicon(name: str = "words") -> dict[str, Any]:
    """A YAML file of this folder as it stands: words, support or precision."""
    loaded: dict[str, Any] = read_yaml(Path(__file__).with_name(f"{name}.yaml"))
    return loaded


@functools.cache
def word_set(names: str, language: str) -> frozenset[str]:
    """The words of one or several lists of the lexicon in one language."""
    return frozenset(word for name in names.split() for word in lexicon()[name][language].split())


@functools.cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern of the lexicon, at the beginning and the end of words."""
    return compiled(lexicon()[name])


@functools.cache
def compiled(source: str) -> re.Pattern[str]:
    """A pattern that begins and ends where a word does."""
    return re.compile(rf"(?<!\w)(?:{source})(?!\w)")


@functools.lru_cache(maxsize=20_000)
def plain(text: str) -> str:
    """Lower case, without accents, with one kind of dash, apostrophe and space; every character stays in its place."""
    folded = "".join(letter if letter in "ºª" else unicodedata.normalize("NFD", letter)[0] for letter in text.lower())
    return folded.translate({0x2013: "-", 0x2014: "-", 0x2212: "-", 0x2019: "'", 0x2018: "'", 0xA0: " "})


def blanked(text: str, start: int, end: int, blank: str = " ") -> str:
    """A text with blanks from one place to another, so that all else stays in its place."""
    return text[:start] + blank * (end - start) + text[end:]


def words(text: str) -> list[str]:
    """The words of a plain text; "didn't" is two."""
    return re.findall(r"n't|[a-z]+(?=n't)|[^\W_]+", text)


def language_of(text: str) -> Language:
    """English or Portuguese, by the function words (English where neither has more)."""
    in_text = words(plain(text))
    english, portuguese = (sum(word in word_set("function", name) for word in in_text) for name in ("en", "pt"))
    return "pt" if portuguese > english else "en"


def content(text: str, language: Language) -> list[str]:
    """The stems of the words that carry content, in order."""
    stop = word_set("stop negators", language)
    carrying = (word for word in words(plain(text)) if word not in stop and len(word) > 2 and not word.isdigit())
    return [stem(word, language) for word in carrying]


@functools.lru_cache(maxsize=50_000)
def stem(word: str, language: Language) -> str:
    """What the forms of a word have in common (Snowball)."""
    import snowballstemmer

    made: str = snowballstemmer.stemmer(_STEMMERS[language]).stemWord(word)
    return made


CONTRADICTED, INVENTED, HEDGED = "contradicted", "invented", "hedged"


def is_sure(source: str, kind: str, least: float) -> bool:
    """Whether a kind of accusation is more precise than `least`.

    The precision is (right + 1) / (all + 2), Laplace's rule of succession: what was seen a few times is not sure,
    though it was right each time (above .9 after nine of nine); what was never seen is at .5. precision.yaml has both
    counts, by what accuses and by kind.

    Args:
        source: CONTRADICTED, INVENTED or HEDGED.
        kind: Of the accusation: date, vote, name, ...
        least: A share.
    """
    right, every = lexicon("precision")[source].get(kind, (0, 0))
    return bool((right + 1) / (every + 2) > least)

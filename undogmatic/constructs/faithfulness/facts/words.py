"""Holds the words that the rules know (words.yaml), and puts texts into the form in which they are looked for."""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path
from typing import Any, Literal

from undogmatic.safety.outside import read_yaml

Language = Literal["en", "pt"]
HERE = Path(__file__).parent
_STEMMERS = {"en": "english", "pt": "portuguese"}


@functools.cache
def lexicon() -> dict[str, Any]:
    """words.yaml as it stands."""
    loaded: dict[str, Any] = read_yaml(HERE / "words.yaml")
    return loaded


@functools.cache
def word_set(name: str, language: str | None = None) -> frozenset[str]:
    """A list of words of the lexicon in one language, or in both."""
    own = lexicon()[name]
    return frozenset(" ".join([own[language]] if language else own.values()).split())


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
    folded = "".join(_bare(character) for character in text.lower())
    return folded.translate({0x2013: "-", 0x2014: "-", 0x2212: "-", 0x2019: "'", 0x2018: "'", 0xA0: " "})


def _bare(character: str) -> str:
    base = unicodedata.normalize("NFD", character)[0]
    return character if character in "ºª" else base


def words(text: str) -> list[str]:
    """The words of a plain text; "didn't" is two."""
    return re.findall(r"n't|[a-z]+(?=n't)|[^\W_]+", text)


def language_of(text: str) -> Language:
    """English or Portuguese, by the function words (English where neither has more)."""
    found = words(plain(text))
    count = {name: sum(word in word_set("function", name) for word in found) for name in ("en", "pt")}
    return "pt" if count["pt"] > count["en"] else "en"


def content(text: str, language: Language) -> list[str]:
    """The stems of the words that carry content, in order."""
    stop = word_set("stop", language) | word_set("negators", language)
    found = (word for word in words(plain(text)) if word not in stop and len(word) > 2 and not word.isdigit())
    return [stem(word, language) for word in found]


@functools.lru_cache(maxsize=50_000)
def stem(word: str, language: Language) -> str:
    """What the forms of a word have in common (Snowball)."""
    import snowballstemmer

    made: str = snowballstemmer.stemmer(_STEMMERS[language]).stemWord(word)
    return made


CONTRADICTED, INVENTED, HEDGED = "contradicted", "invented", "hedged"


@functools.cache
def precisions() -> dict[str, dict[str, list[int]]]:
    """precision.yaml as it stands: by what accuses and by kind, how many were right and how many there were."""
    loaded: dict[str, dict[str, list[int]]] = read_yaml(HERE / "precision.yaml")
    return loaded


def is_sure(source: str, kind: str, least: float) -> bool:
    """Whether a kind of accusation is more precise than `least`.

    The precision is (right + 1) / (all + 2), Laplace's rule of succession: what was seen a few times is not sure,
    though it was right each time (above .9 after nine of nine); what was never seen is at .5.

    Args:
        source: CONTRADICTED, INVENTED or HEDGED.
        kind: Of the accusation: date, vote, name, ...
        least: A share.
    """
    right, every = precisions()[source].get(kind, (0, 0))
    return (right + 1) / (every + 2) > least

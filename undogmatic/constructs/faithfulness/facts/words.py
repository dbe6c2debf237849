"""Divides texts into sentences and words, in English and Portuguese, and holds the words of law
that the rules know.

sentencex divides: of pysbd, sentencex, spaCy's rule-based sentencizer and an untrained punkt it got
most of the hard places in tests/constructs/faithfulness/hard.yaml right. What it cuts at an
abbreviation of law that it does not know is joined again.
"""

import functools
import re
import unicodedata
from pathlib import Path
from typing import Any, Literal

from undogmatic.safety.outside import read_yaml

Language = Literal["en", "pt"]
NAME = r"[A-ZÀ-Ý][\w'’-]+"
_BEFORE_ANYTHING = (
    "al art arts cf des desa dep desemb exmo exma fl fls ilmo ilma min mins rel rela relª rev sec"
    " secs sr sra srs dr dra drs prof profa supp súm sum v vs"
).split()
"""What never ends a sentence: a name, a number or a reference follows."""
_BEFORE_A_NUMBER = (
    "ac adi ag al ap ch cl fn fns inc incs lei n nn no nos nn nrs num núm p pp par para paras pars"
    " proc reg vol §"
).split()
"""What ends none if a number (digits or Roman) or, for a few in Portuguese, "único" follows."""
_PIECE_OF_A_NAME = re.compile(r"(?:Ltda|Cia|S\.A|S/A|Inc|Corp|Co|Ltd)\.$")
_WORD = re.compile(r"(?:^|[\s(\[\"“'«])([^\W\d_]+|§)[ºª°]?\.$")
_NUMBER = re.compile(r"(?:\d|[IVXLC]+\b|únic)")
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|[-*•–][ \t]+|>[ \t]*)")
_EMPHASIS = re.compile(
    r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)"
)
_LONE_MARK = re.compile(r"^\(?(?:\d{1,3}|[a-z]|[IVX]{1,5})[.)]$")


def sentences(text: str, least: int = 1) -> list[str]:
    """The sentences of a text in their order, each on one line, without the marks of Markdown;
    those with fewer than `least` characters are left out.

    A heading or an entry of a list is a sentence of its own, and the number in front of an entry
    stays with it.
    """
    return [sentence for sentence in _divided(text) if len(sentence) >= least]


@functools.lru_cache(maxsize=4096)
def _divided(text: str) -> tuple[str, ...]:
    import sentencex

    divided: list[str] = []
    for line in re.split(r"\n+", _EMPHASIS.sub("", _LIST_MARK.sub("", text))):
        pieces: list[str] = []
        for piece in (" ".join(each.split()) for each in sentencex.segment("en", line)):
            if pieces and _belongs(pieces[-1], piece):
                pieces[-1] = f"{pieces[-1]} {piece}"
            elif piece:
                pieces.append(piece)
        divided += pieces
    return tuple(piece for piece in divided if re.search(r"\w", piece))


def _belongs(before: str, piece: str) -> bool:
    """Whether a piece goes on with the sentence before it."""
    if not piece or _LONE_MARK.match(before):
        return True
    first = piece.lstrip("\"“'«([")[:1]
    if first.islower() and not before.endswith(("?", "!", ":")):
        return not re.match(r"\(?[a-z]\)\s", piece)
    if _PIECE_OF_A_NAME.search(before) and _PIECE_OF_A_NAME.search(
        piece.split(" ", maxsplit=1)[0]
    ):
        return True
    word = ending[1].lower() if (ending := _WORD.search(before)) is not None else ""
    return word in _BEFORE_ANYTHING or (
        word in _BEFORE_A_NUMBER and _NUMBER.match(piece) is not None
    )


@functools.cache
def lexicon(name: str = "words") -> dict[str, Any]:
    """A YAML file of this folder as it stands: words, support or precision."""
    return dict(read_yaml(Path(__file__).with_name(f"{name}.yaml")))


@functools.cache
def word_set(names: str, language: str) -> frozenset[str]:
    """The words of one or several lists of the lexicon in one language."""
    return frozenset(
        word for name in names.split() for word in lexicon()[name][language].split()
    )


@functools.cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern of the lexicon, at the beginning and the end of words."""
    return compiled(lexicon()[name])


@functools.cache
def compiled(source: str) -> re.Pattern[str]:
    """A pattern that begins and ends where a word does."""
    return re.compile(rf"(?<!\w)(?:{source})(?!\w)")


@functools.cache
def source(*name: str) -> str:
    """A pattern of course.yaml; of several, any."""
    found = lexicon("course")
    for key in name:
        found = found[key]
    return "|".join(found) if isinstance(found, list) else str(found)


@functools.cache
def grammar(name: str) -> re.Pattern[str]:
    """A pattern of the grammar in course.yaml, which may begin and end within words."""
    objects = compiled(source("claims", "objects")).pattern
    parts = {
        "{NAME}": NAME,
        "{objects}": objects,
        "{until}": source("grammar", "until"),
    }
    form = source("grammar", name)
    for part, own in parts.items():
        form = form.replace(part, own)
    return re.compile(form)


@functools.lru_cache(maxsize=20_000)
def plain(text: str) -> str:
    """Lower case, without accents, with one kind of dash, apostrophe and space; every character
    stays in its place."""
    folded = "".join(
        letter if letter in "ºª" else unicodedata.normalize("NFD", letter)[0]
        for letter in text.lower()
    )
    return folded.translate(
        {0x2013: "-", 0x2014: "-", 0x2212: "-", 0x2019: "'", 0x2018: "'", 0xA0: " "}
    )


def blanked(text: str, start: int, end: int, blank: str = " ") -> str:
    """A text with blanks from one place to another, so that all else stays in its place."""
    return text[:start] + blank * (end - start) + text[end:]


def words(text: str) -> list[str]:
    """The words of a plain text; "didn't" is two."""
    return re.findall(r"n't|[a-z]+(?=n't)|[^\W_]+", text)


def language_of(text: str) -> Language:
    """English or Portuguese, by the function words (English where neither has more)."""
    in_text = words(plain(text))
    english, portuguese = (
        sum(word in word_set("function", name) for word in in_text)
        for name in ("en", "pt")
    )
    return "pt" if portuguese > english else "en"


def content(text: str, language: Language) -> list[str]:
    """The stems of the words that carry content, in order."""
    stop = word_set("stop negators", language)
    carrying = (
        word
        for word in words(plain(text))
        if word not in stop and len(word) > 2 and not word.isdigit()
    )
    return [stem(word, language) for word in carrying]


@functools.lru_cache(maxsize=50_000)
def stem(word: str, language: Language) -> str:
    """What the forms of a word have in common (Snowball)."""
    import snowballstemmer

    return str(
        snowballstemmer.stemmer(
            {"en": "english", "pt": "portuguese"}[language]
        ).stemWord(word)
    )

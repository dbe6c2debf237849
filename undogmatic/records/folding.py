"""Folds a text to what its words are, however they were typed: what a probe, a student or a rule
reads of it.

A text is no better in capitals. Case, accents, letters that only look Latin, characters that nobody
sees, and spaces are therefore taken out of it before it is judged (`plain`). A language model reads
such a text less well than a tidy one, so what was fitted on texts gives words back the spelling
that they mostly have there (`Folding`).

Nothing but the judge reads the folded text: journals and reports keep what was written.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field

from undogmatic.records.records import Record

_TWINS = {
    # Cyrillic
    "АВЕЗКМНОРСТУХІЇЈЅԌԚԜҮҺӀЬ": "ABE3KMHOPCTYXIIJSGQWYHIb",
    "аеокмтрсухіїјѕԁԛԝһӏүв": "aeokmtpcyxiijsdqwhlyb",
    # Greek
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳͿ": "ABEZHIKMNOPTYXCjJ",
    "αεικνορτυχγηωϲ": "aeikvoptuxynwc",
    # Armenian
    "օսհոցզՕՍՏԼ": "ouhngqOUSL",
    # Cherokee
    "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᏔᎩᏃ": "ABCDEGHiJKLMPRSTVWYZ",
    # Latin letters of phonetic alphabets, and the Turkish i without its dot
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡıɩȷʋɯ": "abcdefghijklmnoprstuvwyzagiijvw",
}
"""Letters and, in the same order, the Latin ones that they are drawn like in most typefaces."""
_LATIN = {
    ord(a): b
    for letters, twins in _TWINS.items()
    for a, b in zip(letters, twins, strict=True)
}
_UNSEEN = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")
"""Characters that show nothing and that Unicode does not count among those that control or format;
so do variation selectors."""
_UNSEEN |= set(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
_QUOTES = dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`´", "'")
_ORDINALS = "ºª"  # which Unicode takes for kinds of o and a
_WORD = re.compile(r"[^\W\d_]+")
# a word, its accents being characters of their own
_LETTERS = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])+")
_STARTS = re.compile(r"((?:^|[.!?][\"')\]]* )[\"'(\[]*)([^\W\d_])")
LEAST = 3
"""In so many texts a word must be for its spelling to be learnt: what only a few texts have is no
usual spelling, and need not be in a file that is passed on."""
LONGEST = 100
Word = Annotated[str, Field(min_length=1, max_length=LONGEST)]


def plain(text: str) -> str:
    """The text in small letters without the accents of Latin letters; letters that only look Latin
    are Latin, characters that nobody sees are gone, quotes and dashes are of one kind, and every
    run of spaces and line breaks is one space.

    Words of other scripts stay words of these scripts: a letter counts as a Latin one in disguise
    only in a word that has none but Latin letters and their twins, and only where that word has a
    Latin letter or the text has more of these than of letters that have no twin.
    """
    simple = text.translate(_SIMPLE)
    if any(_needs_its_neighbours(char) for char in set(simple)):
        simple = unicodedata.normalize(
            "NFC", "".join(_bare(_undisguised(simple))).lower()
        )
    return " ".join(simple.split())


class _Simple(dict[int, str]):
    """What stands for a character wherever it is. A letter of another script, and a mark on a
    letter, stay as they are: what stands for them depends on what is around them."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char.isspace():
            found = " "
        elif category in ("Cc", "Cf") or char in _UNSEEN:
            found = ""
        elif category == "Pd" or char == "\N{MINUS SIGN}":
            found = "-"
        elif char in _QUOTES or char in _ORDINALS:
            found = _QUOTES.get(char, char)
        else:
            found = unicodedata.normalize("NFKC", char)
            if any(map(_is_latin, found)):
                found = "".join(_bare(found)).lower()
        return self.setdefault(code, found)


_SIMPLE = _Simple()


def _needs_its_neighbours(char: str) -> bool:
    foreign = char.isalpha() and not char.isascii() and char not in _ORDINALS
    return foreign or _is_mark(char)


def _undisguised(text: str) -> str:
    """The text with Latin letters for those that only look so; accents are characters of their
    own."""
    text = unicodedata.normalize("NFD", text)
    foreign = [char for char in text if char.isalpha() and not _is_latin(char)]
    mostly_latin = sum(map(_is_latin, text)) > sum(
        ord(char) not in _LATIN for char in foreign
    )

    def latin(match: re.Match[str]) -> str:
        word = match.group()
        others = [char for char in word if char.isalpha() and not _is_latin(char)]
        if any(ord(char) not in _LATIN for char in others):
            return word
        return (
            word.translate(_LATIN)
            if mostly_latin or any(map(_is_latin, word))
            else word
        )

    return _LETTERS.sub(latin, text)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _is_latin(char: str) -> bool:
    if char.isascii():
        return char.isalpha()
    return ord(char) not in _LATIN and unicodedata.name(char, "").startswith("LATIN ")


def _bare(text: str) -> Iterator[str]:
    """The characters without the marks that Latin letters carry, or that stand by themselves."""
    # whether the last letter is of a script in which marks tell letters apart
    foreign = False
    for char in unicodedata.normalize("NFD", text):
        if not _is_mark(char):
            foreign = char.isalpha() and not _is_latin(char)
            yield char
        elif foreign:
            yield char


class Folding(Record):
    """How what was fitted on texts reads a text; it is kept in the file of what was fitted.

    Every word is read as it is mostly spelt in the fitted texts, whatever its case and its accents,
    and a sentence begins with a capital. So a text reads the same in capitals as without, and much
    like a text that was written with care.
    """

    # of `plain`: what was fitted by other rules would read other texts
    rules: Literal[1] = 1
    spelling: dict[Word, Word]  # by the plain form of a word, where the two differ

    @classmethod
    def learnt(cls, texts: Iterable[str], least: int = LEAST) -> Self:
        """Learn the usual spelling of words that are in at least so many texts. The word that
        begins a sentence does not tell whether it has a capital of its own, and a text mostly in
        capitals tells nothing."""
        forms: dict[str, Counter[str]] = defaultdict(Counter)
        found_in: Counter[str] = Counter()
        for text in map(_tidy, texts):
            words = [match for match in _WORD.finditer(text) if match.group().isalpha()]
            found_in.update({plain(match.group()) for match in words})
            letters = [char for char in text if char.isalpha()]
            if sum(map(str.isupper, letters)) > len(letters) / 2:
                continue
            starts = {match.start(2) for match in _STARTS.finditer(text)}
            for match in words:
                word = match.group()
                begins = match.start() in starts and not word[1:].isupper()
                forms[plain(word)][word.lower() if begins else word] += 1
        usual = {
            known: counts.most_common(1)[0][0]
            for known, counts in sorted(forms.items())
        }
        spelling = {
            known: form
            for known, form in usual.items()
            if form != known
            and found_in[known] >= least
            and max(len(known), len(form)) <= LONGEST
        }
        return cls(spelling=spelling)

    def read(self, text: str) -> str:
        """The text as it is read; as it was written where nothing of it can be seen."""
        usual = self.spelling.get
        words = _WORD.sub(lambda match: usual(match[0], match[0]), plain(text))
        return _STARTS.sub(lambda match: match[1] + match[2].upper(), words) or text


def _tidy(text: str) -> str:
    """The text with each letter and its accent as one character, and single spaces."""
    return " ".join(unicodedata.normalize("NFC", text.replace("\u00ad", "")).split())

"""Divides texts into sentences, in English and Portuguese alike, legal abbreviations included.

sentencex divides: of pysbd, sentencex, spaCy's rule-based sentencizer and an untrained punkt it got most of the hard
places in tests/constructs/faithfulness/hard.yaml right. What it cuts at an abbreviation of law that it does not know is
joined again.
"""

from __future__ import annotations

import functools
import re

_BEFORE_ANYTHING = (
    "al art arts cf des desa dep desemb exmo exma fl fls ilmo ilma min mins rel rela relª rev sec secs sr sra srs dr "
    "dra drs prof profa supp súm sum v vs"
).split()
"""What never ends a sentence: a name, a number or a reference follows."""
_BEFORE_A_NUMBER = (
    "ac adi ag al ap ch cl fn fns inc incs lei n nn no nos nn nrs num núm p pp par para paras pars proc reg vol §"
).split()
"""What ends none if a number (digits or Roman) or, for a few in Portuguese, "único" follows."""
_PIECE_OF_A_NAME = re.compile(r"(?:Ltda|Cia|S\.A|S/A|Inc|Corp|Co|Ltd)\.$")
_WORD = re.compile(r"(?:^|[\s(\[\"“'«])([^\W\d_]+|§)[ºª°]?\.$")
_NUMBER = re.compile(r"(?:\d|[IVXLC]+\b|únic)")
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|[-*•–][ \t]+|>[ \t]*)")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
_LONE_MARK = re.compile(r"^\(?(?:\d{1,3}|[a-z]|[IVX]{1,5})[.)]$")


def sentences(text: str, least: int = 1) -> list[str]:
    """The sentences of a text in their order, each on one line, without the marks of Markdown.

    A heading or an entry of a list is a sentence of its own, and the number in front of an entry stays with it.

    Args:
        text: Prose, or Markdown with headings and lists.
        least: Sentences with fewer characters are left out.
    Returns:
        The sentences; none for a text without words.
    """
    return [each for each in _divided(text) if len(each) >= least]


@functools.lru_cache(maxsize=4096)
def _divided(text: str) -> tuple[str, ...]:
    import sentencex

    plain = _EMPHASIS.sub("", _LIST_MARK.sub("", text))
    found: list[str] = []
    for line in re.split(r"\n+", plain):
        pieces: list[str] = []
        for piece in (" ".join(each.split()) for each in sentencex.segment("en", line)):
            if pieces and _belongs(pieces[-1], piece):
                pieces[-1] = f"{pieces[-1]} {piece}"
            elif piece:
                pieces.append(piece)
        found += pieces
    return tuple(each for each in found if re.search(r"\w", each))


def _belongs(before: str, piece: str) -> bool:
    """Whether a piece goes on with the sentence before it."""
    if not piece or _LONE_MARK.match(before):
        return True
    first = piece.lstrip("\"“'«([")[:1]
    if first.islower() and not before.endswith(("?", "!", ":")):
        return not re.match(r"\(?[a-z]\)\s", piece)
    if _PIECE_OF_A_NAME.search(before) and _PIECE_OF_A_NAME.search(piece.split(" ", maxsplit=1)[0]):
        return True
    word = _WORD.search(before)
    if word is None:
        return False
    if word[1].lower() in _BEFORE_ANYTHING:
        return True
    return word[1].lower() in _BEFORE_A_NUMBER and bool(_NUMBER.match(piece))

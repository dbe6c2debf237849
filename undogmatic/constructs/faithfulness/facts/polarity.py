"""Negation: two sentences of nearly the same words, of which one denies what the other says."""

from __future__ import annotations

import re

from undogmatic.constructs.faithfulness.facts.words import Language, content, plain, stem, word_set, words

OVERLAP = 0.6
"""Share of the shorter sentence's content words that the other must have."""
NEAR = 4
_ONLY = re.compile(r"\b(not only|nao so|nao somente|nao apenas|no longer than|no later than|no less than)\b")
_LESS = re.compile(r"(?!unless|regardless|nonetheless|nevertheless)\w{4,}less")
_DOUBLE = re.compile(r"\b(not|nao)\b[^.,;]{0,25}\b(un|in|im|ir|ile|des)\w+")


def turned(one: str, other: str, language: Language) -> tuple[str, str] | None:
    """The place at which one sentence denies what the other says, as it stands in each, or None.

    Only sentences with mostly the same content words are compared, and only where the same word is denied in one and
    not in the other; with every further negation in either sentence nothing is said.
    """
    if any(_ONLY.search(plain(each)) or _DOUBLE.search(plain(each)) for each in (one, other)):
        return None
    first, second = set(content(one, language)), set(content(other, language))
    shared = first & second
    if not shared or len(shared) < OVERLAP * min(len(first), len(second)) or len(shared) < 2:
        return None
    denied = [_denied(each, language) for each in (one, other)]
    count = [_negators(each, language) for each in (one, other)]
    if sorted(count) != [0, 1]:
        return None
    said = 0 if count[0] == 1 else 1
    word = next((stem for stem in denied[said] if stem in shared), None)
    if word is None:
        return None
    found = [_quoted(each, word, language) for each in (one, other)]
    return found[0], found[1]


def _negators(sentence: str, language: Language) -> int:
    return sum(word in word_set("negators", language) or _LESS.fullmatch(word) is not None for word in _words(sentence))


def _denied(sentence: str, language: Language) -> list[str]:
    """The stems of the content words that come next behind a negator, and of words such as "warrantless"."""
    found, near = [], 0
    carrying = set(content(sentence, language))
    for word in _words(sentence):
        if word in word_set("negators", language):
            near = NEAR
        elif _LESS.fullmatch(word):
            found.append(stem(word.removesuffix("less"), language))
        elif near:
            near -= 1
            if stem(word, language) in carrying:
                found.append(stem(word, language))
                near = 0
    return found


def _words(sentence: str) -> list[str]:
    return words(plain(sentence))


def _quoted(sentence: str, word: str, language: Language) -> str:
    """The place of a word, with what stands before it."""
    text = sentence.split()
    stems = [[stem(part, language) for part in words(plain(each))] for each in text]
    place = next((n for n, parts in enumerate(stems) if word in parts), 0)
    return " ".join(text[max(0, place - 3) : place + 1]).strip(" .,;")

"""Knows the words that verdicts and orders are written in."""

from __future__ import annotations

from collections.abc import Iterable

from undogmatic.datasets.cells import LEXICON, alternatives, fold
from undogmatic.records.evidence import CLEAN, DEFECT, EQUIVALENT

_WORDS = LEXICON["cells"]
PASSES, FAILS = (set(alternatives(_WORDS[name])) for name in ("passes", "fails"))
ORDERS = [
    [alternatives(category) for category in order.split("<")]
    for order in LEXICON["orders"]
]
CHOICES = {
    word: place
    for place, names in enumerate((_WORDS["first"], _WORDS["second"]))
    for name in alternatives(names)
    for word in (
        name,
        *(form.replace("{}", name) for form in alternatives(_WORDS["named"])),
    )
} | dict.fromkeys(alternatives(_WORDS["tie"]), 2)
"""The words of a pairwise choice and the places of their categories."""
TIES = {
    word
    for word in alternatives(_WORDS["tie"])
    if word.startswith(("tie", "draw", "empat"))
}
"""Words that are said of nothing but two that are compared."""
CODES: dict[frozenset[str], str | None] = {
    frozenset(("0", "1")): None,
    frozenset(("0", "0.5", "1")): "0.5",
    frozenset(("-1", "1")): None,
    frozenset(("-1", "0", "1")): "0",
}
"""Numbers that choose one of two outputs, which of them nobody knows, and the one that is a tie."""
KNOWN = (
    PASSES
    | FAILS
    | CHOICES.keys()
    | {name for order in ORDERS for names in order for name in names}
)
"""Every word that may be a verdict."""
_SHOWN = {
    word: place
    for place, words in enumerate(LEXICON["shown"].values())
    for word in alternatives(words)
}
_PLANTED = {
    word: kind
    for kind, words in zip(
        (CLEAN, EQUIVALENT, DEFECT), LEXICON["planted"].values(), strict=True
    )
    for word in alternatives(words)
}
_YES_NO = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1, "nao": 0, "sim": 1}


def planted(cell: object) -> str | None:
    """What a cell says was planted in an item: CLEAN, EQUIVALENT, or DEFECT and a name, which is
    the word itself where none stands behind it; None where it says none of these."""
    word, _, name = str(cell).partition(":")
    kind = _PLANTED.get(fold(word))
    if kind == DEFECT:
        return DEFECT + (name.strip() or word.strip())
    return None if name.strip() else kind


def order_words(name: str, words: Iterable[str]) -> dict[str, int] | None:
    """What the cells of a column of orders mean, 0 as given, 1 swapped; None if they are no
    orders."""
    says_swapped = bool(
        set(name.split()) & {"swapped", "swap", "trocado", "invertido", "flipped"}
    )
    known = _SHOWN | (_YES_NO if says_swapped else {})
    words = set(words)
    if not words:
        return None
    if words <= known.keys():
        return {word: known[word] for word in words}
    if words <= {"0", "1"} or words <= {"1", "2"}:
        low = min(words) if len(words) == 2 or words == {"0"} else "1"
        return {word: int(word != low) for word in words}
    return None

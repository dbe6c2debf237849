"""Notes the texts that something was fitted on, and knows them again where they were typed anew."""

from collections.abc import Collection, Iterable

from undogmatic.records.records import text_mark

# before the mark of what is left of a text without case, accents, spaces and punctuation
_LETTERS = "~"


def text_marks(texts: Iterable[str]) -> set[str]:
    """What is noted of texts that something was fitted on: of each its mark, and that of its
    letters and digits alone, as a text is no new one because it was typed anew (`was_seen`)."""
    # with NumPy, which plain records do without
    from undogmatic.stats.surface import letters

    return {
        mark
        for text in texts
        for mark in (text_mark(text), _LETTERS + text_mark(letters(text)))
    }


def was_seen(text: str, marks: Collection[str]) -> bool:
    """Whether a text, or one with the same letters and digits, is among those of which the marks
    were noted."""
    return not text_marks([text]).isdisjoint(marks)


def texts_of_marks(marks: Collection[str]) -> int:
    """Of how many texts these are the marks."""
    return sum(not mark.startswith(_LETTERS) for mark in marks)

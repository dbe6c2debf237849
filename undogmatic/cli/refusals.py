"""Says in the language of the terminal what argparse says in English of words that it refuses."""

import difflib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from undogmatic.records.wordings import translated

SENTENCES = Path(__file__).with_name("refusals.yaml")


def in_language(message: str, language: str) -> str:
    """A message of argparse in a language; as it is where nobody translated it."""
    for english, other in translated(SENTENCES, language).items():
        found = _pattern(english).fullmatch(message)
        if found is not None:
            told = {
                name: in_language(text, language) if name == "message" else text
                for name, text in found.groupdict().items()
            }
            return other.format_map(told)
    return message


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    """What the sentence looks like with something in its fields."""
    pieces = re.split(r"\{(\w+)\}", sentence)
    held = [
        f"(?P<{piece}>.+?)" if place % 2 else re.escape(piece)
        for place, piece in enumerate(pieces)
    ]
    return re.compile("".join(held), re.DOTALL)


def meant(option: str, known: Collection[str]) -> str | None:
    """Which of the `known` options may be meant by one that there is not: the closest by its
    letters, or the one for a judge's or people's columns where its name is one of those."""
    from undogmatic.datasets.names import side_of  # loads pandas

    of_side = {1: "--judge", -1: "--human"}.get(side_of(option.lstrip("-")) or 0)
    by_letters = difflib.get_close_matches(option, known, 1, 0.75)
    if "-" in option.lstrip("-"):  # as `--human-scal`, which is no column
        of_side = None
    return of_side if of_side in known else next(iter(by_letters), None)

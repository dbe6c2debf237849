"""Says in the language of the terminal what argparse says in English of words that it refuses."""

import re
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

"""From the odds of an answer's first tokens to an expected whole number: pure functions, no model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

_DIGITS = re.compile(r"[0-9]+")
_END = re.compile(r"\s.*|<\|?/?[a-zA-Z_]+\|?>|", re.DOTALL)
"""What may follow a number that is at its end: white space, a marker of the end, nothing. A full stop, a comma or a
stroke may be the middle of 7.5 or 8/10, so that what stands before them is no number yet."""


class Completed(NamedTuple):
    """Numbers that are read to their end, and beginnings of which it is not known how they go on; both as digits with
    their probability."""

    numbers: dict[str, float]
    begun: dict[str, float]


def expected_score(token_probabilities: Mapping[str, float], low: int, high: int, min_mass: float) -> float | None:
    """The mean of the whole numbers of a range, weighted by the probabilities of the tokens that spell them.

    White space around a token is ignored, and spellings of one number are added up; "7.5", "-5" and words are no whole
    numbers, and count as off the range.

    Args:
        token_probabilities: Probability by token; they need not sum to 1.
        low, high: The range, ends included.
        min_mass: Least probability on the range, 0 to 1.
    Returns:
        A number between `low` and `high`, or None where the range carries less than `min_mass`, or nothing.
    Raises:
        ValueError: A probability that is none, or an empty range.
    """
    masses = integer_masses(token_probabilities, low, high)
    total = math.fsum(masses.values())
    if total < min_mass or total <= 0:
        return None
    return math.fsum(number * mass for number, mass in masses.items()) / total


def integer_masses(token_probabilities: Mapping[str, float], low: int, high: int) -> dict[int, float]:
    """The probability of each whole number of a range that some token spells, as in `expected_score`.

    Raises:
        ValueError: A probability that is none, or an empty range.
    """
    if low > high:
        raise ValueError(f"the range must not be empty, got {low} to {high}")
    masses: dict[int, float] = {}
    for token, probability in token_probabilities.items():
        if not 0 <= probability <= 1 + 1e-6:
            raise ValueError(f"{probability!r} is no probability (of the token {token!r})")
        text = _number(token)
        if text is not None and low <= int(text) <= high:
            masses[int(text)] = masses.get(int(text), 0.0) + probability
    return masses


def completed(
    first: Mapping[str, float], after: Mapping[str, Mapping[str, float]], high: int, longest: int
) -> Completed:
    """Numbers of a range from 0 that a tokenizer splits, put together from the odds of their pieces.

    Args:
        first: Probability of the answer's first token.
        after: Per beginning of a number (digits), the probabilities of the token after it, as far as they were asked.
        high: The highest number.
        longest: Digits of the longest token that the tokenizer is known to have. A beginning that is shorter is a
            number by itself: the longer one would have been one token.
    """
    numbers: dict[str, float] = {}
    begun: dict[str, float] = {}
    waiting = [(text, mass) for token, mass in first.items() if (text := _number(token)) is not None]
    while waiting:
        digits, mass = waiting.pop()
        if digits not in after:
            into = begun if longest <= len(digits) and grows(digits, high) else numbers
            into[digits] = into.get(digits, 0.0) + mass
            continue
        for token, share in after[digits].items():
            if _DIGITS.fullmatch(token) and len(digits) < 18:
                waiting.append((digits + token, mass * share))
            elif ends(token):
                numbers[digits] = numbers.get(digits, 0.0) + mass * share
    return Completed(numbers, begun)


def grows(digits: str, high: int) -> bool:
    """Whether some number up to `high` begins with these digits and goes on; none begins with 0."""
    return not digits.startswith("0") and int(digits) * 10 <= high


def longest_digits(tokens: Mapping[str, float]) -> int:
    """Digits of the longest token that is a number, 0 where none is."""
    return max((len(text) for text in map(_number, tokens) if text is not None), default=0)


def ends(token: str) -> bool:
    """Whether a number before this token is at its end."""
    return _END.fullmatch(token.replace("\u2581", " ")) is not None


def _number(token: str) -> str | None:
    text = token.replace("\u2581", " ").strip()
    return text if _DIGITS.fullmatch(text) and len(text) <= 18 else None

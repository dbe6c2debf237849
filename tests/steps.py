"""Counts the steps in which a pattern is looked for in a text, as a backtracking matcher takes
them.

Time says little on a busy machine. Steps are exact: where they grow with the square of a text, so
does the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from re import _constants as names  # type: ignore[attr-defined]  # no public module tells how a pattern is built
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Ends = Iterator[int]


class Steps:
    """How many steps it takes to find all matches of a pattern in a text, or to see whether it fits
    the `whole`."""

    def __init__(
        self, pattern: re.Pattern[str], text: str, whole: bool = False
    ) -> None:
        self.text, self.count, self.spans = text, 0, dict[int, tuple[int, int]]()
        self._tests: dict[int, Callable[[str], bool]] = {}
        parsed = list(parser.parse(pattern.pattern, pattern.flags))
        place = 0
        if whole:
            self.fits = any(end == len(text) for end in self._all(parsed, 0))
        while place <= len(text) and not whole:
            end = next(self._all(parsed, place), None)
            place = place + 1 if end is None or end == place else end

    def _all(self, parts: Sequence[Any], place: int) -> Ends:
        if not parts:
            yield place
            return
        for end in self._one(parts[0], place):
            yield from self._all(parts[1:], end)

    def _one(self, part: Any, place: int) -> Ends:  # noqa: PLR0912  # a branch for each thing a pattern may say
        self.count += 1
        kind, held = part
        if kind in (names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN):
            if place < len(self.text) and self._fits(part, self.text[place]):
                yield place + 1
        elif kind in (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT):
            yield from self._repeat(kind, *held, place)
        elif kind is names.BRANCH:
            for way in held[1]:
                yield from self._all(list(way), place)
        elif kind is names.SUBPATTERN:
            for end in self._all(list(held[3]), place):
                if held[0] is not None:
                    self.spans[held[0]] = place, end
                yield end
        elif kind is names.ATOMIC_GROUP:
            yield from (
                end
                for end in [next(self._all(list(held), place), None)]
                if end is not None
            )
        elif kind in (names.ASSERT, names.ASSERT_NOT):
            direction, inner = held
            start = place if direction > 0 else place - inner.getwidth()[0]
            found = start >= 0 and next(self._all(list(inner), start), None) is not None
            if found == (kind is names.ASSERT):
                yield place
        elif kind is names.GROUPREF:
            start, end = self.spans.get(held, (0, 0))
            if self.text.startswith(self.text[start:end], place):
                yield place + end - start
        elif kind is names.AT:
            if self._is_at(held, place):
                yield place
        else:
            raise NotImplementedError(kind)

    def _repeat(self, kind: Any, least: int, most: int, inner: Any, place: int) -> Ends:
        parts = list(inner)
        simple = len(parts) == 1 and parts[0][0] in (
            names.LITERAL,
            names.NOT_LITERAL,
            names.ANY,
            names.IN,
        )
        if simple and kind is not names.MIN_REPEAT:
            end = place
            while (
                end - place < most
                and end < len(self.text)
                and self._fits(parts[0], self.text[end])
            ):
                self.count += 1
                end += 1
            ends = range(end, place + least - 1, -1)
            yield from ends[:1] if kind is names.POSSESSIVE_REPEAT else ends
            return
        found = self._times(parts, least, most, place, 0, kind is names.MIN_REPEAT)
        if kind is names.POSSESSIVE_REPEAT:
            yield from (end for end in [next(found, None)] if end is not None)
        else:
            yield from found

    def _times(
        self, parts: list[Any], least: int, most: int, place: int, n: int, few: bool
    ) -> Ends:
        if few and n >= least:
            yield place
        if n < most:
            for end in self._all(parts, place):
                if end > place:
                    yield from self._times(parts, least, most, end, n + 1, few)
        if not few and n >= least:
            yield place

    def _fits(self, part: Any, letter: str) -> bool:
        test = self._tests.get(id(part))
        if test is None:
            self._tests[id(part)] = test = _test_of(part)
        return test(letter)

    def _is_at(self, where: Any, place: int) -> bool:
        text = self.text
        if where in (names.AT_BEGINNING, names.AT_BEGINNING_STRING):
            return place == 0 or (
                where is names.AT_BEGINNING and text[place - 1] == "\n"
            )
        if where in (names.AT_END, names.AT_END_STRING):
            return place == len(text) or (where is names.AT_END and text[place] == "\n")
        sides = [
            0 <= n < len(text) and (text[n].isalnum() or text[n] == "_")
            for n in (place - 1, place)
        ]
        return (sides[0] != sides[1]) == (where is names.AT_BOUNDARY)


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    names.CATEGORY_DIGIT: str.isdecimal,
    names.CATEGORY_SPACE: str.isspace,
    names.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    names.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdecimal(),
    names.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    names.CATEGORY_NOT_WORD: lambda letter: not (letter.isalnum() or letter == "_"),
}


def _test_of(part: Any) -> Callable[[str], bool]:
    kind, held = part
    if kind is names.LITERAL:
        return lambda letter: ord(letter) == held
    if kind is names.NOT_LITERAL:
        return lambda letter: ord(letter) != held
    if kind is names.ANY:
        return lambda letter: True
    if kind is names.RANGE:
        return lambda letter: held[0] <= ord(letter) <= held[1]
    if kind is names.CATEGORY:
        return _CATEGORIES[held]
    negated = held[0][0] is names.NEGATE
    tests = [_test_of(one) for one in held if one[0] is not names.NEGATE]
    return lambda letter: any(test(letter) for test in tests) != negated

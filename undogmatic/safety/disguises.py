"""The disguises in which a value comes back: escaped for JSON, for an address or for HTML, several times and mixed, in
hex or inside base64.

A text is taken out of its escapes until nothing is left to take out (`bare`). In the bare text a value stands as it
is, whatever it looked like; `cut_out` replaces what it looked like.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Mapping

LAYERS = 8
"""Escapes within escapes, read at most so often: a hostile text must not cost time by its depth."""
_CHUNK = 2000

_Read = Callable[[re.Match[str]], str]


def _code(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _percent(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")


_STEPS: tuple[tuple[tuple[str, ...], re.Pattern[str], _Read], ...] = (
    (("\\u00", "\\U00", "\\x", "\\X"), re.compile(r"\\(?:[uU]00|[xX])([2-7][0-9a-fA-F])"), _code),
    (("%25",), re.compile(r"%(?:25)+(?=[0-9a-fA-F]{2})"), lambda found: "%"),
    (
        ("%",),
        re.compile(
            r"%[0-7][0-9a-fA-F]|%[c-dC-D][0-9a-fA-F]%[89abAB][0-9a-fA-F]|%[eE][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2}"
        ),
        _percent,
    ),
    (("&amp;",), re.compile(r"&(?:amp;)+"), lambda found: "&"),
    (
        ("&",),
        re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z]\w{1,31};)"),
        lambda m: html.unescape(m[0]),
    ),
)
_BACKSLASHES = re.compile(r"\\+([\s\S]?)")


def bare(text: str) -> str:
    """The text without its escapes: for looking into, not for showing."""
    for _ in range(LAYERS):
        before = len(text)
        for marks, pattern, read in _STEPS:
            if marks[0][0] in text and any(mark in text for mark in marks):
                text = pattern.sub(read, text)
        if len(text) == before:
            if "\\" not in text:
                break
            text = text.replace("\\", "")
    return text


def forms(value: str) -> frozenset[str]:
    """What a bare text holds where it holds the value: itself, its hex, or its base64 at any place in a longer one."""
    raw = value.encode("utf-8", "replace")
    found = {value, value.lower(), bare(value), raw.hex(), raw.hex().upper()}
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw).decode()
        # The characters that the bytes before and after have no part in.
        own = whole[-(-8 * shift // 6) : (shift + len(raw)) * 8 // 6]
        found |= {own, own.replace("+", "-").replace("/", "_")}
    return frozenset(found)


def cut_out(text: str, shown: Mapping[str, str]) -> str:
    """The text with every form in it, however it is escaped, replaced.

    Args:
        text: Any text.
        shown: What to show in place of each form.
    """
    # In pieces that end at white space: to keep account of every character of a long text takes long.
    pieces = re.findall(rf"[\s\S]{{1,{_CHUNK}}}\S*\s*", text) if not any(" " in form for form in shown) else [text]
    return "".join(_cut_out(piece, shown) for piece in pieces)


def _cut_out(text: str, shown: Mapping[str, str]) -> str:
    plain = bare(text)
    present = [form for form in shown if form in plain]
    if not present:
        return text
    plain, starts, ends = _placed(text)
    spans = []
    for form in present:
        at = plain.find(form)
        while at >= 0:
            spans.append((starts[at], ends[at + len(form) - 1], shown[form]))
            at = plain.find(form, at + 1)
    pieces, done = [], 0
    for start, end, word in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            pieces += [text[done:start], word]
        done = max(done, end)
    return "".join([*pieces, text[done:]])


def _placed(text: str) -> tuple[str, list[int], list[int]]:
    """The bare text, and for each of its characters where in `text` its escape begins and ends."""
    plain, starts, ends = text, list(range(len(text))), list(range(1, len(text) + 1))

    def step(pattern: re.Pattern[str], read: _Read) -> None:
        nonlocal plain, starts, ends
        parts: list[str] = []
        begins: list[int] = []
        stops: list[int] = []
        done = 0
        for found in pattern.finditer(plain):
            new = read(found)
            parts += [plain[done : found.start()], new]
            begins += [*starts[done : found.start()], *[starts[found.start()]] * len(new)]
            stops += [*ends[done : found.start()], *[ends[found.end() - 1]] * len(new)]
            done = found.end()
        plain, starts, ends = "".join([*parts, plain[done:]]), begins + starts[done:], stops + ends[done:]

    for _ in range(LAYERS):
        before = len(plain)
        for marks, pattern, read in _STEPS:
            if any(mark in plain for mark in marks):
                step(pattern, read)
        if len(plain) == before:
            if "\\" not in plain:
                break
            step(_BACKSLASHES, lambda found: found[1])
    return plain, starts, ends

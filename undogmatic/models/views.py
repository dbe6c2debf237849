"""Ways to look at a text through a model's hidden states: which blocks, with which words around it, pooled how."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from undogmatic.records.records import Record

_LINES = re.compile(r"(?<=\n)")
_ENDS = re.compile(r"(?<=[.!?…;:,}>|])(?=\s)")
_SHORT, _LONG = 20, 60  # characters of a piece, about


class View(Record):
    """One way to turn a text into a vector.

    Attributes:
        blocks: Transformer blocks whose states are read, counted from 1; their pooled states are concatenated.
        before: Words put before the text.
        after: Words put after the text, e.g. a question about it.
        pool: Mean over the text's own tokens, mean over the tokens of `after`, or the very last token.
        echo: Whether the text is given twice; pooling is then over its second copy.
    """

    blocks: tuple[int, ...] = Field(min_length=1)
    before: str = ""
    after: str = ""
    pool: Literal["text", "after", "last"] = "text"
    echo: bool = False

    def segments(self, text: str) -> tuple[str, str, str]:
        """What stands before the pooled copy of the text, that copy, and what stands after it."""
        before = f"{self.before}{text}\n\n" if self.echo else self.before
        return before, text, self.after


def pool(view: View, states: list[np.ndarray], lengths: tuple[int, int, int]) -> np.ndarray:
    """States of the chosen blocks -> the feature vector.

    Args:
        view: How to pool.
        states: Per block, shape (n_tokens, width); row 0 is the begin-of-text token, then the three segments.
        lengths: Tokens of the three segments; they and the begin-of-text token add up to n_tokens.
    Returns:
        Shape (len(blocks) * width,), float32.
    """
    before, text, after = lengths
    rows = {
        "text": slice(1 + before, 1 + before + text),
        "after": slice(1 + before + text, 1 + before + text + after),
        "last": slice(-1, None),
    }[view.pool]
    return np.concatenate([each[rows].mean(axis=0) for each in states]).astype(np.float32)


class Pieces(NamedTuple):
    """A text as it was read: each piece's tokens, shape (n_pieces,), and mean states, shape (n_pieces, n_features)."""

    tokens: np.ndarray
    states: np.ndarray


def cut(text: str) -> list[str]:
    """Cuts a text into clauses of about 20 to 60 characters; no piece goes past the end of a line.

    Joined, the pieces are the text again. A clause without punctuation is cut at a space.
    """
    found: list[str] = []
    for line in _LINES.split(text):
        open_piece = ""
        for clause in _ENDS.split(line):
            open_piece += clause
            while len(open_piece) > _LONG:
                space = open_piece.find(" ", _LONG - _SHORT)
                end = space if 0 < space <= _LONG else _LONG
                found.append(open_piece[:end])
                open_piece = open_piece[end:]
            if len(open_piece) >= _SHORT:
                found.append(open_piece)
                open_piece = ""
        if open_piece:
            found.append(open_piece)
    return found

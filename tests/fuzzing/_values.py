"""Values that a well-meaning program does not expect, and good values with one thing in them replaced by such a one."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

NESTED = 60
ODD_TEXTS = [
    "",
    " ",
    "\0",
    "\ud800",
    "a\udfffb",
    "=1+1",
    "\u202e",
    "{",
    "null",
    "NaN",
    "1e999",
    "-",
    "x" * 5000,
    "\n\n",
]
ODD_NUMBERS = [
    True,
    -1,
    0,
    1e308,
    -1e308,
    5e-324,
    10**400,
    -(10**4200),
    2**63,
    2**64,
    float("nan"),
    float("inf"),
    -float("inf"),
]


def odd() -> st.SearchStrategy[Any]:
    """Any value that JSON can spell, and some that it only can in Python's dialect."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(ODD_TEXTS),
        st.sampled_from(ODD_NUMBERS),
    )
    trees = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.text(max_size=8) | st.sampled_from(ODD_TEXTS), inner, max_size=3),
        ),
        max_leaves=6,
    )
    return st.one_of(trees, st.integers(1, 3 * NESTED).map(nested))


def nested(depth: int) -> Any:
    """Lists in lists."""
    found: Any = 0
    for _ in range(depth):
        found = [found]
    return found


@st.composite
def spoiled(draw: st.DrawFn, good: Any, most: int = 3) -> Any:
    """`good` with up to `most` of its nodes replaced by anything, left out, or put beside themselves."""
    found = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, most))):
        places = list(_places(found))
        if not places:
            return draw(odd())
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["replace", "replace", "replace", "remove", "double", "wrap"])):
            case "remove":
                del holder[key]
            case "double" if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case "double":
                holder[draw(st.text(max_size=8))] = copy.deepcopy(holder[key])
            case "wrap":
                holder[key] = draw(
                    st.sampled_from([[holder[key]], {"text": holder[key]}, json_or_nothing(holder[key])])
                )
            case _:
                holder[key] = draw(odd())
    return found


def _places(value: Any) -> Any:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(inside):
        yield value, key
        yield from _places(part)


def json_or_nothing(value: Any) -> str:
    """The value as a JSON text, as a server may send what should have been an object."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""

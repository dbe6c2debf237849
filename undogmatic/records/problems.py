"""Words what Pydantic finds wrong with values: the key, the value and the options."""

import difflib
import re
from typing import Any

from pydantic import ValidationError

from undogmatic.safety.outside import brief

_KIND_OF_VALUE = re.compile(
    r"float|int|str|bool|constrained-(str|int|float)|(dict|list|tuple)\[.*\]"
)


def explain(
    error: ValidationError,
    group: str = "",
    options: list[str] | None = None,
    sections: Any = None,
) -> str:
    """Pydantic's findings as lines that name the key, the value and the options."""
    lines: dict[str, str] = {}
    for problem in error.errors()[:20]:
        path, kind = [str(part) for part in problem["loc"]], problem["type"]
        is_unknown = kind in ("extra_forbidden", "unexpected_keyword_argument")
        is_missing = kind in ("missing", "missing_argument")
        while (
            not (is_unknown or is_missing)
            and len(path) > 1
            and _KIND_OF_VALUE.fullmatch(path[-1])
        ):
            path.pop()  # which of several types was tried
        key = ".".join(([group] if group else []) + path)
        # Five mistakes are what a reader mends at a time.
        if key in lines or len(lines) == 5:
            continue
        if is_unknown:
            section = (
                sections.model_fields[path[0]].annotation
                if sections is not None and len(path) > 1
                else None
            )
            choices = list(getattr(section, "model_fields", options or []))
            close = difflib.get_close_matches(path[-1], choices, 1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            known = (
                f"Known: {', '.join(choices)}."
                if choices
                else f"`{key.rpartition('.')[0] or key}` has no keys."
            )
            lines[key] = f"`{key}` is not a known key.{hint} {known}"
        elif is_missing:
            lines[key] = f"`{key}` is required. Set it with `{key}=...`."
        else:
            message = problem["msg"].removeprefix("Value error, ")
            if kind == "sequence_str":
                message = f"it must be a list. In brackets: {key}=[{brief(problem['input'])[1:-1]}]"
            message = message if len(message) <= 400 else f"{message[:400]}..."
            lines[key] = (
                f"`{key}` is {brief(problem['input'])}: {message[:1].lower() + message[1:]}."
            )
    return "\n".join(lines.values())

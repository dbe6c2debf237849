"""undogmatic tells you whether you may trust an LLM judge.

`undogmatic.check(frame)` checks verdicts that were made elsewhere; `python -m undogmatic.run` runs
an experiment; `undogmatic.judge(frame, ...)` judges a table in a notebook, and
`undogmatic.score_text("...")` scores one text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undogmatic.api import (
        ScoreResult,
        ajudge,
        judge,
        module,
        score_text,
        score_texts,
    )
    from undogmatic.cli.checked import check
    from undogmatic.examinations.judged import Judgments
    from undogmatic.tracking.alignment import aligned
    from undogmatic.tracking.scorer import scorer

__version__ = "0.2.0"
__all__ = [
    "Judgments",
    "ScoreResult",
    "ajudge",
    "aligned",
    "check",
    "judge",
    "module",
    "score_text",
    "score_texts",
    "scorer",
]


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `import undogmatic` stays light."""
    if name in __all__:
        from importlib import import_module

        # What checks needs none of what judges, and scoring a text needs no table.
        own = {
            "check": "undogmatic.cli.checked",
            "Judgments": "undogmatic.examinations.judged",
        }
        own["aligned"] = "undogmatic.tracking.alignment"
        own["scorer"] = "undogmatic.tracking.scorer"
        module = own.get(name, "undogmatic.api")
        try:
            return getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            from undogmatic.safety.extras import lacking

            if (sentence := lacking(error, f"undogmatic.{name}")) is None:
                raise
            raise ImportError(sentence) from None
    raise AttributeError(f"module 'undogmatic' has no attribute {name!r}")

"""undogmatic tells you whether you may believe an LLM judge.

`python -m undogmatic.run` runs an experiment; `undogmatic.score_text("...")` scores one text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undogmatic.api import ScoreResult, score_text, score_texts

__all__ = ["ScoreResult", "score_text", "score_texts"]


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `import undogmatic` stays light."""
    if name in __all__:
        from undogmatic import api

        return getattr(api, name)
    raise AttributeError(f"module 'undogmatic' has no attribute {name!r}")

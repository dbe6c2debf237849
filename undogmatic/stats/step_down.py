"""Corrects several questions at once, each of which can be asked at any level (Holm)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from undogmatic.stats import checks

Key = TypeVar("Key")


class Shown(NamedTuple):
    """Whether a question was answered, and the alpha at which that was, or at which it was asked
    last."""

    shown: bool
    alpha: float


def step_down(
    keys: Sequence[Key], shows: Callable[[Key, float], bool], alpha: float = 0.05
) -> dict[Key, Shown]:
    """Ask all questions at alpha over their number; then those that are open at alpha over theirs,
    until none is answered any more.

    This is Holm's procedure for questions that have no p-value but an interval: the probability
    that anything at all is shown that does not hold is at most alpha, however they hang together.

    Args:
        shows: Whether a question is answered at this alpha; what is shown at one alpha must be
            shown at every larger one.
    References:
        Holm (1979), A simple sequentially rejective multiple test procedure.
        https://www.jstor.org/stable/4615733
    """
    checks.share(alpha, "alpha")
    answered: dict[Key, Shown] = {}
    while open_ := [key for key in keys if key not in answered]:
        each = alpha / len(open_)
        found = [key for key in open_ if shows(key, each)]
        answered |= {key: Shown(True, each) for key in found}
        if not found:
            answered |= {key: Shown(False, each) for key in open_}
    return {key: answered[key] for key in keys}

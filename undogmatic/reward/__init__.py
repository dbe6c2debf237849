"""Gives the score as a reward for training, as TRL calls reward functions, and an alarm for rewards
that are hacked.

`reward(rubric=..., model=...)` makes one; `from undogmatic.reward import NAME_reward` is that of
the rubric NAME with the default model. `Alarm` says when a second judge does not follow a reward
that rises. See docs/reward.md.
"""

from typing import Any

from undogmatic.reward.alarm import Alarm
from undogmatic.reward.scoring import Reward, reward

__all__ = ["Alarm", "Reward", "reward"]


def __getattr__(name: str) -> Any:
    """Make the reward of a rubric by its name, with the default model; made once."""
    from undogmatic.errors import ConfigError

    rubric, mark, _ = name.rpartition("_reward")
    if not mark or not rubric or name.startswith("_"):
        raise AttributeError(f"module 'undogmatic.reward' has no attribute {name!r}")
    try:
        globals()[name] = reward(rubric)
    except ConfigError as error:
        raise AttributeError(f"there is no {name}: {error}") from None
    return globals()[name]

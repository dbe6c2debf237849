"""Reads the numbers of options, and says what an option takes where there is none.

Without this argparse answers in its own words ("argument --epsilon: invalid float value: 'x'"),
which say neither what is allowed nor what to do.
"""

from collections.abc import Callable

from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief


def whole(
    option: str, least: int, most: int | None, example: int
) -> Callable[[str], int]:
    """A reader of whole numbers for an option. It raises ConfigError for anything else."""
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or number < least or (most is not None and number > most):
            shown = brief(text) if number is None else number
            what = f"{option} is {shown}; it must be a whole number {allowed}"
            raise ConfigError(
                f"{what}. Type e.g. {option} {example}, or leave the option out."
            )
        return number

    return read


def of_check(
    name: str, kind: Callable[[str], float], door: str
) -> Callable[[str], float]:
    """A reader of one of `CheckOptions` for a door. It raises ConfigError for what that refuses."""

    def read(text: str) -> float:
        try:
            return kind(text)
        except ValueError:
            # Imported here, because it takes a second that a right command should not wait for.
            from undogmatic.cli.checked import made
            from undogmatic.records.checked import CheckOptions

            made(CheckOptions, {name: text}, door)
            raise ConfigError(
                f"--{name} is {brief(text)}; it must be a number."
            ) from None

    return read

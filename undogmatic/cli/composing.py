"""Holds what the doors share that compose a config: overrides, and the user's folders of config groups."""

from __future__ import annotations

import argparse


def add_words(parser: argparse.ArgumentParser, example: str) -> None:
    """Add KEY=VALUE and --config-dir."""
    parser.add_argument(
        "--config-dir", action="append", default=[], metavar="DIR", help="a folder of config groups of your own"
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=f"config overrides, e.g. {example}")


def words(given: argparse.Namespace) -> list[str]:
    """What was typed, as overrides. Raises ConfigError."""
    from undogmatic.config.compose import word

    return [*word(given.config_dir), *given.overrides]

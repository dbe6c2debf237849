"""`undogmatic describe`: what a model would be sent, step by step, and what a whole run would cost;
nothing is sent."""

from __future__ import annotations

import argparse
from typing import Any

from undogmatic.cli.doors import add_words, words


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "describe", help="print what a model would be sent, without sending it"
    )
    parser.add_argument(
        "--price",
        action="store_true",
        help="the calls and the price of the whole run, too",
    )
    add_words(parser, "judge=debate prompt=NAME rubric=NAME")
    parser.set_defaults(run=run)


def run(typed: argparse.Namespace) -> None:
    """Print the requests for the first item of the dataset."""
    from undogmatic.config.build import build, settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.labels import on_scale
    from undogmatic.engine.unsent import (
        built_without_keys,
        described,
        made_first,
        price,
    )

    config = compose_config(words(typed))
    chosen = settings(config)
    parts = built_without_keys(config)
    items = on_scale(build(chosen.dataset, "dataset").load(), parts.rubric)[
        : chosen.run.limit
    ]
    requests, item = made_first(parts, items[0])
    if item is not None:
        requests += [
            sent
            for step in parts.judges
            for sent in described(parts, step.for_item(item).judge, item)
        ]
    for number, sent in enumerate(requests, 1):
        print(f"=== {number}. to {sent.model.name}")
        print("\n".join(f"[{role}]\n{text}" for role, text in sent.messages) + "\n")
    made = (
        "where a request quotes an earlier answer, that answer is made up (the middle of each"
        " scale)"
    )
    print(
        f"That is what is asked of the first item, {items[0].id!r}. Nothing was sent: {made}."
    )
    if item is None:
        print(
            "The steps make nothing of made-up answers, so what is asked of the judges cannot be"
            " shown."
        )
    if typed.price:
        print(price(requests, items, chosen.run.repeats))

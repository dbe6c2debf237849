"""Asks a judge whether texts describe what the precedents that they cite decided: one question per
citation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from undogmatic.config.build import build, settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.precedents.describes import (
    MEASURED,
    SAYINGS,
    Described,
    Measured,
    measure,
)
from undogmatic.constructs.precedents.table import LookedUp
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.engine.recipe import judged
from undogmatic.records.records import Item, Verdict


def ask(
    found: Mapping[str, Sequence[LookedUp]], overrides: Sequence[str]
) -> tuple[dict[str, list[LookedUp]], Measured]:
    """Ask the judge of a composed config (`model=gpt`) one question per citation, and the passages
    of MEASURED, which say how far to believe it: where it is not better than always the same
    answer, nothing is taken from it.
    """
    config = settings(compose_config(["rubric=described", *overrides]))
    items = [*TextsDataset(str(MEASURED), build(config.rubric, "rubric").inputs).load()]
    for text, cited in found.items():
        for n, one in enumerate(cited):
            if one.decided:
                decided = "; ".join(
                    dict.fromkeys(entry.cells["holding"] for entry in one.decided)
                )
                shown = {
                    "passage": "\n\n".join(one.passages),
                    "precedent": one.shown,
                    "decided": decided,
                }
                items.append(Item(id=f"citation {n} {text}", inputs=shown))
    answers = dict[str, Described | None]()
    for judgment in judged(items, config):
        said = (
            judgment.outcome.category if isinstance(judgment.outcome, Verdict) else None
        )
        answers.setdefault(
            judgment.item_id,
            next((Described(each) for each in SAYINGS if each == said), None),
        )
    known = measure("judge", lambda row: answers.get(row["id"]))
    if not known.useful:
        answers.clear()
    return {
        text: [
            replace(one, described=answers.get(f"citation {n} {text}"))
            for n, one in enumerate(cited)
        ]
        for text, cited in found.items()
    }, known

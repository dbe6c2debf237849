"""Reads the items of a run again: those of its dataset, and what its steps made of them."""

from collections.abc import Iterator, Sequence

from undogmatic.datasets.labels import on_scale
from undogmatic.errors import DataError
from undogmatic.records.kept import gathered
from undogmatic.records.records import OVERALL, Failure, Item, Made, items_digest
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.index import Records


def items_of(run: RunFolder) -> Sequence[Item]:
    """The items as the run judged them: loaded again from where it was started, and what its steps
    made of them. Raises ConfigError or DataError where the dataset is gone, or no longer what was
    judged."""
    node, limit = run.section("dataset"), run.section("run").get("limit")
    with run.at_start():
        loaded = on_scale(run.dataset().load(), run.rubric)
    items, judged_as = loaded[:limit], run.facts.get("dataset_digest")
    # an optimisation judges its test split, and examples are kept back
    if items_digest(items) != judged_as:
        judged = {judgment.item_id for judgment in run.judgments}
        items = [item for item in loaded if item.id in judged]
    if items_digest(items) != judged_as:
        what = (
            f"the dataset of {run.path} ({node.get('path') or node.get('_target_')}) has"
            " changed"
        )
        why = "since it was judged, so its texts may not be what the judge saw"
        raise DataError(f"{what} {why}. Put the earlier file back, or judge it again.")
    # an item at which a step failed, or never came, stands for itself
    stopped: set[str] = set()
    for name in run.facts.get("steps", ()):
        made = Records(run.path / "steps" / f"{name}.jsonl", Made)
        items = gathered(_reached(items, made, name, stopped))
    return items


def _reached(
    before: Sequence[Item], made: Records[Made], name: str, stopped: set[str]
) -> Iterator[Item]:
    """What a step made of the items before it; those where it failed are noted as `stopped`."""
    for item in before:
        record = None
        if item.id not in stopped:
            record = made.get((item.id, name, OVERALL, 0))
        if record is None or isinstance(record.outcome, Failure):
            stopped.add(item.id)
            yield item
        else:
            yield from record.outcome.items

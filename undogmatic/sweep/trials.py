"""Keeps what a search leaves in its folder (`search.json`), and reads its trials' jobs."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from undogmatic.analyses.costs import per_item, spent
from undogmatic.errors import DataError
from undogmatic.optimize.splits import looked
from undogmatic.records.records import OVERALL, Item
from undogmatic.runs.folder import RunFolder
from undogmatic.safety import files
from undogmatic.safety.command import ERROR_FILE
from undogmatic.safety.outside import read_text

SEARCH = "search.json"
FINAL = "final"
"""The folder of the winner's run, beside those of the trials."""
PRUNING = "pruning"
COSTS = ("calls", "tokens", "seconds", "usd")
State = Literal["waiting", "complete", "pruned", "failed"]


class Trial(BaseModel):
    """One point of the space.

    Attributes:
        number: The name of its folder.
        params: Key -> value.
        state: "waiting" until its job has ended.
        values: The objectives, in their order; empty without a result.
        rungs: The headline by the number of texts it was judged on, before all of them were.
        why: Why it has no result.
    """

    model_config = ConfigDict(extra="forbid")
    number: int = Field(ge=0)
    params: dict[str, str | int | float]
    state: State = "waiting"
    values: list[float] = []
    rungs: dict[int, float] = {}
    why: str | None = None


class SearchState(BaseModel):
    """`search.json`: what is searched, and how far it has come.

    `looks` is the number of the winner's look at its test texts (`optimize.splits`).
    """

    model_config = ConfigDict(extra="forbid")
    space: dict[str, str]
    objectives: list[str]
    search: list[str]
    final: list[str]
    seed: int
    trials: list[Trial] = []
    winner: int | None = None
    looks: int | None = None
    stopped_by: str | None = None

    def ranked(self) -> list[Trial]:
        """The complete trials, best quality first; of equals the cheaper, then the earlier."""
        done = [trial for trial in self.trials if trial.state == "complete"]
        return sorted(done, key=lambda t: (-t.values[0], *t.values[1:], t.number))

    def front(self) -> list[Trial]:
        """The complete trials that no other one beats in one objective without losing in another."""
        done = self.ranked()
        merits = [[trial.values[0], *(-cost for cost in trial.values[1:])] for trial in done]

        def beaten(one: list[float]) -> bool:
            return any(other != one and all(map(operator.ge, other, one)) for other in merits)

        return [trial for trial, own in zip(done, merits, strict=True) if not beaten(own)]


def read_search(folder: Path) -> SearchState | None:
    """The search of a sweep's folder; None where it holds none. Raises DataError for a damaged one."""
    noted = RunFolder(folder)
    if not noted.has(SEARCH):
        return None
    try:
        return SearchState.model_validate(noted.json(SEARCH))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise DataError(f"{folder / SEARCH} is damaged: `{key}`: {problem['msg']}. Start the search anew.") from None


def write_search(folder: Path, search: SearchState) -> None:
    """Keep how far a search has come; the file is whole at any moment."""
    files.write(folder / SEARCH, json.dumps(search.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def winners_look(folder: Path, name: str, test: Sequence[Item]) -> int | None:
    """Which look at these test texts the winner's run was, `name` in the search's folder; None without a result."""
    run = RunFolder(folder / name)
    if not reached(folder / name)[0]:
        return None
    return looked(folder, test, f"{run.rubric.name}.{OVERALL}", [run.facts["identity"], run.facts["headline"]])


def reached(folder: Path, objectives: Sequence[str] = ("quality",)) -> tuple[list[float], str | None]:
    """What the job in this folder came to by these objectives: its headline and its costs; or none, and why."""
    run = RunFolder(folder)
    if run.has(ERROR_FILE):
        return [], read_text(folder / ERROR_FILE).strip().splitlines()[0]
    if run.facts.get("status") != "finished":
        return [], "it did not come to its end"
    quality = run.metrics.get(str(run.facts.get("headline")), math.nan)
    if not math.isfinite(quality):
        return [], "its analysis gave no headline metric to search by"
    costs = per_item(spent(run.judgments))
    costs |= {"quality": quality, "tokens": costs["input_tokens"] + costs["output_tokens"]}
    values = [costs[name] for name in objectives]
    unknown = [name for name, value in zip(objectives, values, strict=True) if not math.isfinite(value)]
    if unknown:
        return [], (
            f"{unknown[0]} per text are not known: all answers came from the cache, or have no known price. "
            "engine.cache=false asks again; calls are always known"
        )
    return values, None

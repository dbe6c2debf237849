"""Programs in MLflow's prompt registry: versions, the aliases `baseline` and `best`, and where each comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from undogmatic.errors import ConfigError
from undogmatic.safety.command import say
from undogmatic.safety.outside import Unreadable, json_value
from undogmatic.tracking.entries import plain_name
from undogmatic.tracking.store import Store, opened

if TYPE_CHECKING:
    from undogmatic.optimize.programs import Program
    from undogmatic.runs.outcome import FinishedRun

CONTENT = "content_hash"


def log_programs(store: Store, run_id: str, run: FinishedRun) -> None:
    """Register what an optimisation began with and what it came to, under one name.

    `baseline` is what it began with; `newest` what was found last, whatever it is worth. `best` moves to what it came
    to only where the verdict is that this is better and it began with the best so far, or there is none yet: what is
    better than something else is not shown to be better than the best. Where `best` stays for that, the user is told.
    """
    if not run.programs:
        return
    before, after = run.programs
    name = name_of(after)
    standing = next((r.standing for r in run.results if r.name == "improvement"), None)
    first = _registered(store, name, before, run, {"parent": before.lineage.parent})
    store.client.set_prompt_alias(name, "baseline", first)
    tags = {"parent": f"version {first}", "verdict": str(standing)}
    second = first if after.predictors == before.predictors else _registered(store, name, after, run, tags)
    store.client.set_prompt_alias(name, "newest", second)
    best = _version(store, name, "best")
    if best is None:
        store.client.set_prompt_alias(name, "best", second if standing == "supported" else first)
    elif standing == "supported" and _is(best, before):
        store.client.set_prompt_alias(name, "best", second)
    elif standing == "supported" and not _is(best, after):
        say(
            f"The program is registered as version {second} of {name} (prompt.alias=newest). `best` stays at version "
            f"{best.version}, with which it was not compared. To compare them, begin an optimisation with that one "
            f"(prompt=program prompt.registry={name} prompt.alias=best), or judge other texts by both: -m "
            f"prompt=program prompt.registry={name} prompt.alias=best,newest."
        )
    store.client.set_tag(run_id, "undogmatic.program", f"{name}, version {second}")


def _is(version: Any, program: Program) -> bool:
    """Whether a registered program is this one: the same instructions and demonstrations for the same model. What
    somebody registered by hand may be no program at all."""
    try:
        registered = json_value(str(version.template))
    except Unreadable:
        return False
    own = program.model_dump(mode="json")
    return isinstance(registered, dict) and all(
        registered.get(name) == own[name] for name in ("predictors", "model", "readout")
    )


def name_of(program: Program) -> str:
    """The name of a program and of all that it is compared with in the registry."""
    return plain_name(f"{program.rubric}-{program.judge}-program")


def read(uri: str | None, name: str, alias: str) -> str:
    """The text of a registered program.

    Args:
        uri: Of the store; None is the one of the current folder.
        name: In the registry.
        alias: Or the number of a version.
    Raises:
        ConfigError: There is no such name or alias; names those that there are.
    """
    with opened(uri, "undogmatic", "Nothing was judged yet.") as store:
        version = _version(store, name, alias)
        if version is not None:
            return str(version.template)
        known = _aliases(store, name)
        if known:
            raise ConfigError(
                f"`prompt.alias` is {alias!r}, which the registered program {name} does not have (it has: "
                f"{', '.join(sorted(known))}, or the number of a version)."
            )
        found = ", ".join(sorted(_names(store))[:10])
        raise ConfigError(
            f"`prompt.registry` is {name!r}, which is not in the prompt registry of {store.address}. "
            + (f"There are: {found}." if found else "It holds no program yet: an optimisation registers one.")
        )


def _version(store: Store, name: str, alias: str) -> Any:
    from mlflow.exceptions import MlflowException

    try:
        if alias.isdigit():
            return store.client.get_prompt_version(name, int(alias))
        return store.client.get_prompt_version_by_alias(name, alias)
    except MlflowException:
        return None


def _aliases(store: Store, name: str) -> Sequence[str]:
    from mlflow.exceptions import MlflowException

    try:
        found = store.client.get_prompt(name)
    except MlflowException:
        return ()
    if found is None:
        return ()
    known = ("baseline", "best", "newest")
    return [alias for alias in known if _version(store, name, alias) is not None]


def _names(store: Store) -> list[str]:
    return [prompt.name for prompt in store.client.search_prompts() if prompt.name.endswith("-program")]


def _registered(store: Store, name: str, program: Program, run: FinishedRun, tags: dict[str, str]) -> int:
    """The version that holds this program; a new one if there is none."""
    text = program.text()
    content = hashlib.sha256(text.encode()).hexdigest()
    number = 1
    while (known := _version(store, name, str(number))) is not None:
        if known.tags.get(CONTENT) == content:
            return number
        number += 1
    lineage = program.lineage
    whole = tags | {
        CONTENT: content,
        "optimizer": lineage.optimizer,
        "metric": lineage.metric,
        "seed": str(lineage.seed),
        "data_digest": lineage.data,
        "test_digest": run.dataset_digest,
        "program_digest": program.digest,
        "model": program.model,
    }
    return int(store.client.register_prompt(name, text, f"Registered by the run {run.name}", whole).version)

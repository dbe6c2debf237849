"""Keeps prompts and programs in MLflow's prompt registry: one version per content, and the aliases
of programs."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from undogmatic.errors import ConfigError
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import say
from undogmatic.safety.outside import Unreadable, json_value
from undogmatic.tracking.store import Store, opened

CONTENT, EXPERIMENTS = "content_hash", "_mlflow_experiment_ids"
ALIASES = ("baseline", "best", "newest")
# what the file of a program holds (`optimize.programs.Program.whole`)
Program = Mapping[str, Any]


def log_prompt(store: Store, run: FinishedRun) -> dict[str, str]:
    """Register the prompt if its content is new; the tags that link its version to the run, none if
    no model saw it."""
    if not run.uses_prompt:
        return {}
    from mlflow.tracing.constant import TraceTagKey

    # The text depends on the judge and the readout too: under one name each would take turns as a
    # new version.
    parts = (
        run.rubric.name,
        run.prompt_id,
        run.choices.get("judge"),
        run.choices.get("readout"),
    )
    name = plain_name("-".join(filter(None, parts)))
    tags = {"prompt_id": run.prompt_id, "prompt_hash": run.prompt_hash}
    version = _registered(store, name, run.prompt_text, run, tags)
    # The client's own way of linking writes to the process-wide store, whatever store the client
    # was made for.
    link = [{"name": name, "version": str(version)}]
    return {
        TraceTagKey.LINKED_PROMPTS: json.dumps(link),
        "undogmatic.prompt": f"{name}, version {version}",
    }


def log_programs(store: Store, run: FinishedRun) -> dict[str, str]:
    """Register what an optimisation began with and what it came to, under one name; the tag that
    says where.

    `baseline` is what it began with; `newest` what was found last, whatever it is worth. `best`
    moves to what it came to only where the verdict is that this is better and it began with the
    best so far, or there is none yet: what is better than something else is not shown to be better
    than the best. Where `best` stays for that, the user is told.
    """
    if not run.programs:
        return {}
    before, after = run.programs
    name = plain_name(f"{after['rubric']}-{after['judge']}-program")
    standing = next((r.standing for r in run.results if r.name == "improvement"), None)
    first = _registered_program(
        store, name, before, run, {"parent": before["lineage"]["parent"]}
    )
    store.client.set_prompt_alias(name, "baseline", first)
    tags = {"parent": f"version {first}", "verdict": str(standing)}
    same = after["predictors"] == before["predictors"]
    second = first if same else _registered_program(store, name, after, run, tags)
    store.client.set_prompt_alias(name, "newest", second)
    best = _version(store, name, "best")
    if best is None or (standing == "supported" and _is(best, before)):
        store.client.set_prompt_alias(
            name, "best", second if standing == "supported" else first
        )
    elif standing == "supported" and not _is(best, after):
        say(
            f"The program is registered as version {second} of {name} (prompt.alias=newest). `best`"
            f" stays at version {best.version}, with which it was not compared. To compare them,"
            f" begin an optimisation with that one (prompt=program prompt.registry={name}"
            " prompt.alias=best), or judge other texts by both: -m prompt=program"
            f" prompt.registry={name} prompt.alias=best,newest."
        )
    return {"undogmatic.program": f"{name}, version {second}"}


def _is(version: Any, program: Program) -> bool:
    """Whether a registered program is this one: the same instructions and demonstrations for the
    same model."""
    try:
        registered = json_value(str(version.template))
    except Unreadable:  # somebody registered what is no program
        return False
    return isinstance(registered, dict) and all(
        registered.get(name) == program[name]
        for name in ("predictors", "model", "readout")
    )


def read(uri: str | None, name: str, alias: str) -> str:
    """The text of the registered program with this alias, or number of a version; without `uri` of
    the store of the current folder. Raises ConfigError where there is no such name or alias; it
    names those that there are.
    """
    with opened(uri, "undogmatic", "Nothing was judged yet.") as store:
        version = _version(store, name, alias)
        if version is not None:
            return str(version.template)
        aliases = [each for each in ALIASES if _version(store, name, each) is not None]
        if aliases:
            raise ConfigError(
                f"`prompt.alias` is {alias!r}, which the registered program {name} does not have"
                f" (it has: {', '.join(aliases)}, or the number of a version)."
            )
        names = (
            prompt.name
            for prompt in store.client.search_prompts()
            if prompt.name.endswith("-program")
        )
        programs = ", ".join(sorted(names)[:10])
        raise ConfigError(
            f"`prompt.registry` is {name!r}, which is not in the prompt registry of"
            f" {store.address}. "
            + (
                f"There are: {programs}."
                if programs
                else "It holds no program yet: an optimisation registers one."
            )
        )


def _version(store: Store, name: str, alias: str) -> Any:
    """The version with this alias or number; None if there is none."""
    from mlflow.exceptions import MlflowException

    try:
        if alias.isdigit():
            return store.client.get_prompt_version(name, int(alias))
        return store.client.get_prompt_version_by_alias(name, alias)
    except MlflowException:
        return None


def _registered_program(
    store: Store, name: str, program: Program, run: FinishedRun, tags: dict[str, str]
) -> int:
    lineage = program["lineage"]
    tags = tags | {key: str(lineage[key]) for key in ("optimizer", "metric", "seed")}
    tags |= {"data_digest": lineage["data"], "test_digest": run.dataset_digest}
    tags |= {"program_digest": program["digest"], "model": program["model"]}
    return _registered(
        store, name, json.dumps(program, indent=1, ensure_ascii=False) + "\n", run, tags
    )


def _registered(
    store: Store, name: str, text: str, run: FinishedRun, tags: Mapping[str, str]
) -> int:
    """The number of the first version that holds this text; of a new one if none does."""
    content = hashlib.sha256(text.encode()).hexdigest()
    _on_page(store, name)
    wanted = (
        f"name = '{name}' AND tag.`mlflow.prompt.is_prompt` = 'true' AND tag.`{CONTENT}` ="
        f" '{content}'"
    )
    versions = store.client.search_model_versions(
        wanted, order_by=["version_number ASC"]
    )
    if versions:
        return int(versions[0].version)
    about = f"Registered by the run {run.name}"
    return int(
        store.client.create_prompt_version(
            name, text, about, {**tags, CONTENT: content}
        ).version
    )


def _on_page(store: Store, name: str) -> None:
    """Make the prompt if need be, and have it listed on the page of the store's experiment."""
    there = store.client.get_prompt(name)
    listed = "" if there is None else (there.tags or {}).get(EXPERIMENTS, "")
    if f",{store.experiment_id}," in listed:
        return
    ids = f"{listed or ','}{store.experiment_id},"
    if there is None:
        store.client.create_prompt(name, tags={EXPERIMENTS: ids})
    else:
        store.client.set_prompt_tag(name, EXPERIMENTS, ids)


def plain_name(name: str) -> str:
    """A name that the prompt registry takes: letters, digits and _ . -"""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)

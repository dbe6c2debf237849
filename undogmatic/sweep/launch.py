"""Checks a sweep before it asks anything, and lets its jobs share the cores of this machine.

A probe is given no prompt, and a base model that a judge style asks its own questions gets none of
it. A sweep over prompts would there pay for the same answers under several names, and conclude that
none of them is better.

Two workers of two threads each on two cores run the embedded model ten times slower than one (41
tokens a second against 430): so the threads are divided, and of launchers that start all jobs at
once no more run than there are cores.
"""

import contextlib
import itertools
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.safety.command import SWEEP_FOLDER, WORKERS, say

RENDERING = (
    "prompt",
    "model",
    "readout",
    "judge",
    "judges",
    "rubric",
    "arm",
    "experiment",
    "language",
)
"""Keys that decide, with all below them, what is sent beside the judged text."""
# compositions that are looked at; a sweep without a difference by then is left to its report
MOST = 200
EMBEDDED = "undogmatic.models.embedded.EmbeddedModel"
_PAUSE = 0.2  # seconds between two looks for a free slot
_held: list[FileLock] = []


def check_reaching(config: DictConfig) -> None:
    """Raise ConfigError where values of a swept key of the prompt never change what a model is
    sent."""
    from undogmatic.config import compose

    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    try:
        words = [
            *(f"{key}={value}" for key, value in params.items()),
            *config.hydra.overrides.task,
        ]
        fixed, sweeps = latest(words, compose.current())
    except OverrideParseException:  # Hydra says so
        return
    groups = {key: re.split("[./]", key.lstrip("+~"))[0] for key in sweeps}
    swept: dict[str, list[str]] = {}
    for key, override in sweeps.items():
        # a continuous range stands for no single values
        if not override.is_interval_sweep():
            # What varies beside what is sent (texts, seeds) stays at its first value.
            values = itertools.islice(
                override.sweep_string_iterator(),
                MOST if groups[key] in RENDERING else 1,
            )
            swept[key] = [f"{key}={value}" for value in values]
    for key, words in swept.items():
        if words and groups[key] == "prompt":
            others = [other for name, other in swept.items() if other and name != key]
            _check(
                config,
                words,
                list(fixed.values()),
                others,
                sweeps[key].is_choice_sweep(),
            )


def _check(
    config: DictConfig,
    words: Sequence[str],
    fixed: Sequence[str],
    others: Sequence[Sequence[str]],
    chosen: bool,
) -> None:
    """Compare what each value of the key sends, with every setting of the others, until they
    differ. Of values that were `chosen` any two that send the same are too many; of a range all
    are."""
    same = set(itertools.combinations(range(len(words)), 2))
    readouts = set()
    composed = itertools.count(1)
    everything = len(same)
    for rest in itertools.product(*others):
        sent = []
        for word in words:
            requests = (
                _sent(config, [*fixed, *rest, word]) if next(composed) <= MOST else None
            )
            if requests is None:  # it says what is wrong when it is started
                return
            sent.append(requests[1:])
            readouts.add(requests[0])
        same = {(a, b) for a, b in same if sent[a] == sent[b]}
        if not same or (not chosen and len(same) < everything):
            return
    if same:
        a, b = min(same)
        raise ConfigError(
            f"`{words[a]}` and `{words[b]}` would send the same requests with every other setting"
            f" of this sweep ({', '.join(sorted(readouts))}), so nothing could be concluded of the"
            " two. A probe and rules read no prompt, and a style that asks a base model its own"
            " questions sends none of it. Sweep over what reaches this model (judge=score"
            " readout=logprobs), or take an instruction model."
        )


def _sent(config: DictConfig, words: Sequence[str]) -> list[str] | None:
    """The readout of a job with these overrides, and what it sends beside the judged texts; None if
    not known."""
    from undogmatic.config import compose
    from undogmatic.config.build import settings
    from undogmatic.config.wall import resolved
    from undogmatic.engine.recipe import Recipe

    try:
        composed = compose.current().load_sweep_config(config, [*words])
        adopted = compose.adopt(
            resolved(composed), composed.hydra.runtime.config_sources
        )
        # it begins with the prompt and goes on from there
        if settings(adopted).optimizes:
            return None
        parts = Recipe(adopted).build()
    except (UndogmaticError, OmegaConfBaseException, HydraException):
        return None
    if parts.steps or parts.prompt.brings_program:
        return None
    requests = [f"readout={parts.readout_name} of {parts.model.name}"]
    for step in parts.judges:
        requests += [
            step.provenance.program_hash,
            *(source.shown() for source in step.judge.readouts()),
        ]
    return requests


def latest(
    words: Sequence[str], loader: Any
) -> tuple[dict[str, str], dict[str, Override]]:
    """Read overrides: those of one value as typed, and those of several, by key; of a key that is
    given twice the last word counts. Raises OverrideParseException. `loader` is Hydra's, which
    knows the groups: `glob(*)` stands for the options of one."""
    last: dict[str, Override] = {}
    for override in OverridesParser.create(config_loader=loader).parse_overrides(
        list(words)
    ):
        # so that it takes the place of the last word
        last.pop(override.get_key_element().lstrip("+"), None)
        last[override.get_key_element().lstrip("+")] = override
    sweeps = {
        each.get_key_element(): each
        for each in last.values()
        if each.is_sweep_override()
    }
    single = (each for each in last.values() if not each.is_sweep_override())
    return {each.get_key_element(): str(each.input_line) for each in single}, sweeps


def cores() -> int:
    """Those that this process may use."""
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


def check_launcher(config: DictConfig) -> None:
    """Raise ConfigError for a launcher that cannot start anything here."""
    if _launcher(config) == "SlurmLauncher" and shutil.which("srun") is None:
        raise ConfigError(
            "`hydra/launcher` is one for Slurm, and there is no `srun` here. Start the sweep on a"
            " node of the cluster, or choose hydra/launcher=submitit_local or joblib."
        )


def announce(config: DictConfig) -> None:
    """Tell the workers how many they are on this machine, and the user where that leaves a model
    fewer threads than were asked for."""
    count = cores() if _launcher(config) == "LocalLauncher" else 1
    if _launcher(config) == "JoblibLauncher":
        asked = int(OmegaConf.select(config, "hydra.launcher.n_jobs") or 1)
        count = max(1, asked if asked > 0 else cores() + 1 + asked)
    os.environ[WORKERS] = str(count)
    threads, share = OmegaConf.select(config, "model.threads"), max(1, cores() // count)
    if count > 1 and _embedded(config) and isinstance(threads, int) and share < threads:
        say(
            f"note: {count} jobs at once share {cores()} cores, so each has {share}"
            f" {'thread' if share == 1 else 'threads'} for the embedded model (model.threads is"
            f" {threads})."
        )


def take_slot(config: DictConfig) -> None:
    """Wait in a worker until fewer jobs with the embedded model run here than there are cores."""
    if not _embedded(config) or _held or int(os.environ.get(WORKERS, "1")) < 2:
        return
    folder = Path(os.environ[SWEEP_FOLDER]) / ".slots"
    folder.mkdir(exist_ok=True)
    while True:
        for n in range(cores()):
            lock = FileLock(folder / f"{n}.lock")
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=0)
                _held.append(lock)
                return
        time.sleep(_PAUSE)


def free_slot() -> None:
    """Let another job begin."""
    while _held:
        _held.pop().release()


def _launcher(config: DictConfig) -> str:
    return str(OmegaConf.select(config, "hydra.launcher._target_")).rpartition(".")[2]


def _embedded(config: Any) -> bool:
    return OmegaConf.select(config, "model._target_") == EMBEDDED

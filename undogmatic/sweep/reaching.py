"""Before a sweep asks anything: would two values of a prompt's key send the same requests?

A probe is given no prompt, and a base model that a judge style asks its own questions gets none of it. A sweep over
prompts would there pay for the same answers under several names, and conclude that none of them is better.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.errors import ConfigError, UndogmaticError

PROMPT = ("prompt",)
RENDERING = ("prompt", "model", "readout", "judge", "judges", "rubric", "arm", "experiment", "language")
"""Keys that decide, with all below them, what is sent beside the judged text."""
MOST = 200
"""So many compositions are looked at; a sweep in which no difference was found by then is left to its report."""


class _Swept(NamedTuple):
    """One key of the sweep and the overrides that it stands for; `alone`: any two equal ones are one too many."""

    key: str
    words: list[str]
    alone: bool


def check_reaching(config: DictConfig) -> None:
    """Raise ConfigError where values of a swept key of the prompt never change what a model is sent."""
    fixed, swept = _read(config)
    # What varies beside what is sent (texts, seeds) stays at its first value.
    kept = [one if _of(one.key, RENDERING) else one._replace(words=one.words[:1]) for one in swept]
    for n, one in enumerate(kept):
        if _of(one.key, PROMPT):
            _check(config, one, fixed, kept[:n] + kept[n + 1 :])


def _check(config: DictConfig, one: _Swept, fixed: Sequence[str], others: Sequence[_Swept]) -> None:
    """Compare what each value of the key sends, with every setting of the others, until they differ."""
    same = set(itertools.combinations(range(len(one.words)), 2))
    everything = len(same)
    readouts: set[str] = set()
    composed = 0
    for rest in itertools.product(*(other.words for other in others)):
        sent = []
        for word in one.words:
            composed += 1
            requests = _sent(config, [*fixed, *rest, word]) if composed <= MOST else None
            if requests is None:  # it says what is wrong when it is started
                return
            readout, *texts = requests
            sent.append(texts)
            readouts.add(readout)
        same = {(a, b) for a, b in same if sent[a] == sent[b]}
        if not same or (not one.alone and len(same) < everything):
            return
    if same:
        a, b = min(same)
        raise ConfigError(
            f"`{one.words[a]}` and `{one.words[b]}` would send the same requests with every other setting of this "
            f"sweep ({', '.join(sorted(readouts))}), so nothing could be concluded of the two. A probe and rules read "
            "no prompt, and a style that asks a base model its own questions sends none of it. Sweep over what "
            "reaches this model (judge=score readout=logprobs), or take an instruction model."
        )


def _sent(config: DictConfig, words: Sequence[str]) -> list[str] | None:
    """The readout of a job with these overrides, and what it would send beside the judged texts; None where that cannot
    be said."""
    from undogmatic.config import compose
    from undogmatic.config.build import settings
    from undogmatic.config.wall import resolved
    from undogmatic.engine.recipe import Recipe

    try:
        composed = compose.current().load_sweep_config(config, [*words])
        adopted = compose.adopt(resolved(composed), composed.hydra.runtime.config_sources)
        if settings(adopted).optimizes:  # it begins with the prompt and goes on from there
            return None
        parts = Recipe(adopted).build()
    except (UndogmaticError, OmegaConfBaseException, HydraException):
        return None
    if parts.steps or parts.prompt.brings_program:
        return None
    requests = [f"readout={parts.readout_name} of {parts.model.name}"]
    for step in parts.judges:
        requests += [step.provenance.program_hash, *(source.shown() for source in step.judge.readouts())]
    return requests


def _read(config: DictConfig) -> tuple[list[str], list[_Swept]]:
    """The overrides that every job has, and the keys that vary."""
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    try:
        fixed, sweeps = latest([*(f"{key}={value}" for key, value in params.items()), *config.hydra.overrides.task])
    except OverrideParseException:  # Hydra says so
        return [], []
    swept = []
    for key, override in sweeps.items():
        if not override.is_interval_sweep():  # a continuous range stands for no single values
            words = [f"{key}={value}" for value in itertools.islice(override.sweep_string_iterator(), MOST)]
            swept += [_Swept(key.lstrip("+~"), words, override.is_choice_sweep())] if words else []
    return list(fixed.values()), swept


def latest(words: Sequence[str], loader: Any = None) -> tuple[dict[str, str], dict[str, Override]]:
    """Read overrides: those of one value as typed, and those of several, by key; of a key that is given twice the last
    word counts. Raises OverrideParseException. `loader` is Hydra's, which knows which keys are groups."""
    fixed: dict[str, str] = {}
    sweeps: dict[str, Override] = {}
    for override in OverridesParser.create(config_loader=loader).parse_overrides(list(words)):
        key = override.get_key_element()
        for earlier in [name for name in (*fixed, *sweeps) if name.lstrip("+") == key.lstrip("+")]:
            fixed.pop(earlier, None)
            sweeps.pop(earlier, None)
        if override.is_sweep_override():
            sweeps[key] = override
        else:
            fixed[key] = str(override.input_line)
    return fixed, sweeps


def _of(key: str, groups: Sequence[str]) -> bool:
    return any(f"{key}.".startswith((f"{group}.", f"{group}/")) for group in groups)

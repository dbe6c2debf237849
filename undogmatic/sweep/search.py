"""`hydra/sweeper=optuna`: jobs chosen one after another by what those before them came to.

Everything that a search has found lies in its folder (`search.json` and the jobs' own folders). Optuna's study is made
from that at the start, so a killed search goes on where it was: no trial that has a result is run again.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.errors import OverrideParseException
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from undogmatic.config.build import build, resolve
from undogmatic.errors import ConfigError, DataError
from undogmatic.optimize.splits import check_leaks
from undogmatic.records.records import Item
from undogmatic.safety.command import note_status, say, tell
from undogmatic.sweep.trials import (
    COSTS,
    FINAL,
    PRUNING,
    SearchState,
    Trial,
    objectives_of,
    reached,
    read_search,
    winners_look,
    write_search,
)

SAMPLERS = ("tpe", "random")
TRIES = 100
"""How often Optuna is asked for a trial that was not there yet, before the space counts as searched through."""
MOST_CHOICES = 10_000
MEASURING = ("dataset", "analysis", "plan", "rubric", "run.limit")
"""Keys that decide, with all below them, what a trial is measured on or by."""
WORDINGS = "rubric.wordings."
"""But these are how the question is put."""


class OptunaSweeper(Sweeper):
    """Searches a space with Optuna, on development texts; at the end the winner judges the test texts, once.

    Args:
        params: The space, key -> Hydra's sweep syntax; words of the command line come on top of it.
        n_trials, n_jobs: How many trials, and how many of them the launcher gets at once.
        sampler: "tpe" or "random".
        startup: Trials drawn by chance before the sampler learns from results.
        seed: Of the sampler; a trial depends on it, its number and the results before it alone.
        objectives: `quality` (the jobs' headline, more is better), and at most one cost (less is better).
        rungs: Counts of texts, rising, that a trial judges before it judges all; given up below the median of others.
        search, final: What is set for trials, key -> value, and for the winner's run on texts that no trial has seen.
            None: by the dataset's splits.
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        n_trials: int,
        n_jobs: int,
        sampler: str,
        startup: int,
        seed: int,
        objectives: Sequence[str],
        rungs: Sequence[int],
        search: Mapping[str, Any] | None,
        final: Mapping[str, Any] | None,
    ) -> None:
        self.params = {str(key): str(value) for key, value in dict(params or {}).items()}
        self.n_trials, self.n_jobs, self.sampler, self.startup = n_trials, n_jobs, sampler, startup
        self.seed, self.objectives, self.rungs = seed, list(objectives), list(rungs)
        self.search = None if search is None else _words(search)
        self.final = None if final is None else _words(final)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra has composed."""
        self.context: HydraContext = hydra_context
        self.config: DictConfig = config
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Run the search to its end. Raises ConfigError before anything is judged, for what cannot be searched."""
        self._check()
        words = [f"{key}={value}" for key, value in self.params.items()]
        space = read_space([*words, *arguments], self.context.config_loader)
        self.folder = Path(self.config.hydra.sweep.dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, self.folder / "multirun.yaml")  # which holds no secrets (`config.door`)
        state = self._begin(space)
        study = self._study()
        waiting = [trial for trial in state.trials if trial.state in ("waiting", "failed")]
        for start in range(0, len(waiting), self.n_jobs):
            self._run(waiting[start : start + self.n_jobs], state, space, study)
        for trial in state.trials:
            _add(study, trial, space)
        while len(state.trials) < self.n_trials and state.stopped_by is None:
            batch = self._ask(study, state, space)
            self._run(batch, state, space, study)
            for trial in batch:
                _add(study, trial, space)
        self._conclude(state, space)

    def _check(self) -> None:
        key = "hydra.sweeper"
        for name in ("n_trials", "n_jobs", "startup"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"`{key}.{name}` is {value!r}; it must be a whole number from 1.")
        if self.sampler not in SAMPLERS:
            raise ConfigError(f"`{key}.sampler` is {self.sampler!r}; there are: {', '.join(SAMPLERS)}.")
        known = [["quality"], *(["quality", cost] for cost in COSTS)]
        if self.objectives not in known:
            raise ConfigError(
                f"`{key}.objectives` is {self.objectives}; it must be [quality], or [quality,COST] with COST one of "
                f"{', '.join(COSTS)}."
            )
        counts = self.rungs
        if any(not isinstance(n, int) or n < 1 for n in counts) or sorted(set(counts)) != counts:
            raise ConfigError(f"`{key}.rungs` is {counts}; it must be rising counts of texts, e.g. [16,32].")
        if counts and len(self.objectives) > 1:
            raise ConfigError(
                f"`{key}.rungs` gives trials up by one number, and `{key}.objectives` names two: {self.objectives}. "
                f"Leave one of the two out: {key}.rungs=[] or {key}.objectives=[quality]."
            )
        limit = OmegaConf.select(self.config, "run.limit")
        if counts and limit is not None and counts[-1] >= limit:
            raise ConfigError(f"`{key}.rungs` is {counts}, and a whole trial judges {limit} texts (run.limit).")

    def _begin(self, space: Space) -> SearchState:
        """The search as it stands in the folder, or a new one, whose texts are looked at first."""
        earlier = read_search(self.folder)
        said = {key: str(value) for key, value in space.keys.items()}
        first, last = self.search, self.final
        if first is None or last is None:
            own = self._splits(space)
            first, last = own[0] if first is None else first, own[1] if last is None else last
        new = SearchState(space=said, objectives=self.objectives, search=first, final=last, seed=self.seed)
        if earlier is not None:
            for name in ("space", "objectives", "search", "final", "seed"):
                if getattr(earlier, name) != getattr(new, name):
                    raise ConfigError(
                        f"`run.resume` continues a search whose {name} {'were' if name[-1] == 's' else 'was'} "
                        f"{getattr(earlier, name)}, and now it is {getattr(new, name)}. Repeat that command (only "
                        "hydra.sweeper.n_trials and n_jobs may differ), or leave run.resume out to start anew."
                    )
            return earlier.model_copy(update={"stopped_by": None})
        if last:
            self._apart(space, first, last)
        write_search(self.folder, new)
        return new

    def _composed(self, space: Space, more: Sequence[str]) -> dict[str, Any]:
        """The config of a first trial with these overrides."""
        words = [f"{key}={_example(own)}" for key, own in space.keys.items()]
        config = self.context.config_loader.load_sweep_config(self.config, [*space.fixed, *words, *more])
        plain = {key: OmegaConf.to_container(config[key], resolve=True) for key in ("dataset", "rubric")}
        return plain

    def _splits(self, space: Space) -> tuple[list[str], list[str]]:
        """The overrides that choose the dataset's development and test texts."""
        typed = [word for word in space.fixed if word.lstrip("+").startswith("dataset.split=")]
        if typed:
            raise ConfigError(
                f"{typed[0]} is given, and a search takes development texts for its trials and test texts for its "
                "winner. Leave it out, or say both: 'hydra.sweeper.search={dataset.split:...}' "
                "'hydra.sweeper.final={dataset.split:...}' ({}: the winner judges no others)."
            )
        target = resolve(self._composed(space, [])["dataset"].get("_target_"), "dataset")
        hints = typing.get_type_hints(target.__init__) if inspect.isclass(target) else {}
        names = [str(name) for name in typing.get_args(hints.get("split"))]
        development = next((name for name in names if name.startswith("dev")), None)
        if development is None or "test" not in names:
            raise ConfigError(
                "`hydra.sweeper.search` is not set, and this dataset has no development split to search on. Say which "
                "texts trials judge and which the winner: 'hydra.sweeper.search={dataset.path:dev.jsonl}' "
                "'hydra.sweeper.final={dataset.path:test.jsonl}' ({}: the winner judges no others)."
            )
        return [f"dataset.split={development}"], ["dataset.split=test"]

    def _apart(self, space: Space, search: Sequence[str], final: Sequence[str]) -> None:
        """Raise DataError where texts of the search belong together with texts of its test."""
        try:
            check_leaks(self._items(space, search), self._items(space, final))
        except DataError as error:
            raise DataError(
                f"the trials of this search judge {' '.join(search)}, its winner {' '.join(final)}: {error}"
            ) from None

    def _items(self, space: Space, more: Sequence[str]) -> list[Item]:
        found: list[Item] = build(self._composed(space, more)["dataset"], "dataset").load()
        return found

    def _study(self) -> optuna.Study:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        directions = ["maximize", *("minimize" for _ in self.objectives[1:])]
        pruner = optuna.pruners.MedianPruner(n_startup_trials=self.startup, n_warmup_steps=0)
        return optuna.create_study(directions=directions, pruner=pruner, sampler=self._sampler(0))

    def _sampler(self, number: int) -> Any:
        """A sampler of a trial's own, so that a search that was killed asks for the same trials as one that was not."""
        seed = (self.seed * 1_000_003 + number) % (2**32 - 1)
        if self.sampler == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        return optuna.samplers.TPESampler(
            n_startup_trials=self.startup, seed=seed, constant_liar=self.n_jobs > 1, multivariate=False
        )

    def _ask(self, study: optuna.Study, state: SearchState, space: Space) -> list[Trial]:
        """The next trials, noted before they are run; no point of the space twice."""
        known = [trial.params for trial in state.trials]
        batch: list[Trial] = []
        wanted, tries = min(self.n_jobs, self.n_trials - len(state.trials)), 0
        while len(batch) < wanted and tries < TRIES and len(known) < space.size:
            number = len(state.trials)
            study.sampler = self._sampler(number * TRIES + tries)
            asked = study.ask(fixed_distributions=space.keys)
            params = {key: _plain(asked.params[key]) for key in space.keys}
            study.tell(asked, state=TrialState.FAIL)  # the trial itself is added with its result
            tries += 1
            if params not in known:
                known.append(params)
                batch.append(Trial(number=number, params=params))
                state.trials.append(batch[-1])
                tries = 0
        if len(batch) < wanted:
            state.stopped_by = "searched_through"
        write_search(self.folder, state)
        return batch

    def _run(self, batch: Sequence[Trial], state: SearchState, space: Space, study: optuna.Study) -> None:
        """Run trials together, rung by rung, and note what each came to."""
        from undogmatic.sweep.trials import write_search

        alive = list(batch)
        for trial in alive:
            trial.state, trial.why, trial.values = "waiting", None, []
        for count in self.rungs:
            jobs = [trial for trial in alive if count not in trial.rungs]
            folders = {trial.number: f"{PRUNING}/{trial.number}-{count}" for trial in jobs}
            limited = [f"run.limit={count}", "tracking=none"]
            self._launch([[*typed(trial.params), *limited] for trial in jobs], space, state.search, folders)
            for trial in jobs:
                found = reached(self.folder / folders[trial.number])
                if found.quality is None:
                    trial.state, trial.why = "failed", found.why
                else:
                    trial.rungs[count] = found.quality
            for trial in alive:
                if trial.state == "waiting" and _hopeless(study, trial, count, space):
                    trial.state, trial.why = "pruned", None
            alive = [trial for trial in alive if trial.state == "waiting"]
            write_search(self.folder, state)
        self._launch(
            [typed(trial.params) for trial in alive], space, state.search, {t.number: str(t.number) for t in alive}
        )
        for trial in alive:
            trial.values, trial.why = objectives_of(reached(self.folder / str(trial.number)), state.objectives)
            trial.state = "complete" if trial.values else "failed"
        write_search(self.folder, state)

    def _launch(
        self, jobs: Sequence[Sequence[str]], space: Space, more: Sequence[str], folders: Mapping[int, str]
    ) -> None:
        """Run jobs in folders of the sweep; what went wrong is in their folders."""
        if not jobs:
            return
        words = [
            [*space.fixed, *job, *more, f"hydra.sweep.subdir={folder}"]
            for job, folder in zip(jobs, folders.values(), strict=True)
        ]
        for returned in self.launcher.launch(words, initial_job_idx=min(folders)):
            _ = returned.return_value

    def _conclude(self, state: SearchState, space: Space) -> None:
        """The winner judges the texts that no trial has seen."""
        from undogmatic.sweep.trials import write_search

        ranked = state.ranked()
        if any(trial.state == "failed" for trial in state.trials):
            note_status(1)
        if not ranked:
            return
        best = ranked[0]
        done = state.winner == best.number and reached(self.folder / FINAL).quality is not None
        folder = FINAL if state.winner in (None, best.number) else f"{FINAL}-{best.number}"
        state.winner = best.number
        write_search(self.folder, state)
        if not state.final:
            return
        words = [*space.fixed, *typed(best.params), *state.final, f"hydra.sweep.subdir={folder}", "run.limit=null"]
        try:
            if not done:
                self.launcher.launch([words], initial_job_idx=len(state.trials))[0].return_value  # noqa: B018
        except Exception as error:
            message, status = tell(error)
            say(f"error: the winner's run on {' '.join(state.final)}: {message}")
            note_status(status)
            return
        state.looks = winners_look(self.folder, folder, self._items(space, state.final))
        write_search(self.folder, state)


def _add(study: optuna.Study, trial: Trial, space: Space) -> None:
    """Let the study know what a trial came to."""
    states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED}
    values: dict[str, Any] = {}
    if trial.state == "complete":
        values = {"values": trial.values}
    elif trial.state == "pruned":
        values = {"value": list(trial.rungs.values())[-1]}
    study.add_trial(
        optuna.create_trial(
            params=dict(trial.params),
            distributions=dict(space.keys),
            state=states.get(trial.state, TrialState.FAIL),
            intermediate_values=dict(trial.rungs),
            **values,
        )
    )


def _hopeless(study: optuna.Study, trial: Trial, count: int, space: Space) -> bool:
    """Whether the pruner gives a trial up that has come so far."""
    running = optuna.create_trial(
        params=dict(trial.params),
        distributions=dict(space.keys),
        state=TrialState.RUNNING,
        intermediate_values={step: value for step, value in trial.rungs.items() if step <= count},
    )
    return bool(study.pruner.prune(study, running))


def _words(given: Mapping[str, Any], before: str = "") -> list[str]:
    """A mapping, nested or with dots in its keys, as overrides."""
    found: list[str] = []
    for key, value in given.items():
        inner = isinstance(value, Mapping)
        found += _words(value, f"{before}{key}.") if inner else [f"{before}{key}={'null' if value is None else value}"]
    return found


def _plain(value: Any) -> str | int | float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _example(distribution: Any) -> Any:
    choices = getattr(distribution, "choices", None)
    return choices[0] if choices else distribution.low


class Space(NamedTuple):
    """`fixed`: the overrides that every trial has; `keys`: what varies, key -> distribution."""

    fixed: list[str]
    keys: dict[str, BaseDistribution]

    @property
    def size(self) -> float:
        """How many different trials there are; infinite where a key has a continuous range."""
        total = 1.0
        for own in self.keys.values():
            if isinstance(own, CategoricalDistribution):
                total *= len(own.choices)
            elif isinstance(own, IntDistribution):
                total *= (own.high - own.low) // own.step + 1
            else:
                return float("inf")
        return total


def read_space(words: Sequence[str], loader: Any) -> Space:
    """The space of these overrides; of a key that is given twice the last word counts.

    Args:
        words: Overrides, sweeps among them: `a,b`, `choice(...)`, `range(low,high,step)` (whole numbers, the end left
            out), `interval(low,high)`, `tag(log,interval(...))`, `int(interval(...))`.
        loader: Hydra's config loader, which knows which keys are groups.
    Raises:
        ConfigError: A word that cannot be read, a range without a value, a key that decides what is measured, or
            nothing that varies.
    """
    fixed: dict[str, str] = {}
    keys: dict[str, BaseDistribution] = {}
    try:
        parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(words))
    except OverrideParseException as error:
        raise ConfigError(f"`{error.override}` cannot be read as an override of a search.") from None
    for override in parsed:
        key = override.get_key_element()
        for earlier in [each for each in (*fixed, *keys) if each.lstrip("+") == key.lstrip("+")]:
            fixed.pop(earlier, None)
            keys.pop(earlier, None)
        if override.is_sweep_override():
            _check_key(key.lstrip("+~"))
            keys[key] = _distribution(key, override)
        else:
            fixed[key] = str(override.input_line)
    if not keys:
        raise ConfigError(
            "hydra/sweeper=optuna searches a space, and nothing varies. Say what does, e.g. "
            "prompt.demo_order=range(0,6) readout.minimum_mass=interval(0.05,0.3), or leave hydra/sweeper=optuna out."
        )
    return Space(list(fixed.values()), keys)


def _check_key(key: str) -> None:
    """Raise ConfigError for a key that decides what trials are measured on or by."""
    if not key.startswith(WORDINGS) and any(f"{key}.".startswith(f"{each}.") for each in MEASURING):
        raise ConfigError(
            f"`{key}` cannot be searched: trials that judge other texts, or are measured by something else, cannot be "
            "compared, and the easiest would win. Search what judges (model, prompt, readout, judge and their keys, "
            "rubric.wordings); to see several side by side, leave hydra/sweeper=optuna out."
        )


def _distribution(key: str, override: Override) -> BaseDistribution:
    value = override.value()
    try:
        if isinstance(value, IntervalSweep):
            low, high, log = value.start, value.end, "log" in value.tags
            assert low is not None and high is not None
            if isinstance(low, int) and isinstance(high, int) and "int" in value.tags:
                return IntDistribution(low, high, log=log)
            return FloatDistribution(float(low), float(high), log=log)
        if isinstance(value, RangeSweep) and not value.shuffle:
            start, stop, step = value.start, value.stop, value.step
            if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step > 0:
                return IntDistribution(start, start + ((stop - 1 - start) // step) * step, step=step)
        choices = list(override.sweep_string_iterator())
        if not 1 <= len(choices) <= MOST_CHOICES:
            raise ValueError(f"it has {len(choices):,} values")
        return CategoricalDistribution(choices)
    except ValueError as error:
        raise ConfigError(f"`{key}` is {override.input_line!r}, which is no range to search: {error}.") from None


def typed(params: Mapping[str, Any]) -> list[str]:
    """A point of the space as overrides."""
    return [f"{key}={value}" for key, value in params.items()]

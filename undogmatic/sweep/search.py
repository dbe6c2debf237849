"""`hydra/sweeper=optuna`: jobs chosen one after another by what those before them came to.

Everything that a search has found lies in its folder (`search.json` and the jobs' own folders).
Optuna's study is made from that at the start, so a killed search goes on where it was: no trial
that has a result is run again.
"""

import inspect
import itertools
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import optuna
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.errors import OverrideParseException
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from undogmatic.config import compose
from undogmatic.config.build import build, resolve, settings
from undogmatic.config.wall import resolved
from undogmatic.datasets.sides import check_leaks
from undogmatic.engine.examples import taken
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import OVERALL, Item
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.looks import looked
from undogmatic.safety.command import note_status, say, tell
from undogmatic.sweep.jobs import (
    COSTS,
    FINAL,
    PRUNING,
    SearchState,
    Trial,
    reached,
    read_search,
)
from undogmatic.sweep.launch import latest

# how often Optuna is asked for a new trial, before the space counts as searched through
TRIES = 100
MOST_CHOICES = 10_000
# a path with one of these would have to be put into quotation marks
SIGNS = frozenset(" ,:=(){}[]'\"")
# compositions before the first trial; a mistake beyond them ends its own trial
MOST_LOOKED_AT = 20
STATES = dict(
    waiting=TrialState.RUNNING,
    complete=TrialState.COMPLETE,
    pruned=TrialState.PRUNED,
    failed=TrialState.FAIL,
)
MEASURING = ("dataset", "analysis", "plan", "rubric", "run.limit")
"""Keys that decide, with all below them, what a trial is measured on or by."""
WORDINGS = "rubric.wordings."  # but these are how the question is put
OF_DEMONSTRATIONS = ("prompt.demo_count", "prompt.demo_order")
"""Keys that change nothing in a prompt without worked examples."""


class Space(NamedTuple):
    """What is searched."""

    fixed: list[str]  # the overrides that every trial has
    keys: dict[str, BaseDistribution]  # what varies
    # how many different trials there are, infinite where a key has a continuous range
    size: float


@dataclass(eq=False)
class OptunaSweeper(Sweeper):
    """Searches a space with Optuna, on development texts; at the end the winner judges the test
    texts, once."""

    checks_first: ClassVar[bool] = (
        True  # nothing is begun before `validate_batch_is_legal` is called
    )

    # the space, key -> Hydra's sweep syntax; words of the command line come on top of it
    params: Mapping[str, Any]
    n_trials: int
    n_jobs: int  # how many trials the launcher gets at once
    sampler: str  # "tpe" or "random"
    startup: int  # trials drawn by chance before the sampler learns from results
    # of the sampler; a trial depends on it, its number and the results before it alone
    seed: int
    # `quality` (the jobs' headline, more is better), and at most one cost (less is better)
    objectives: list[str]
    # rising counts of texts that a trial judges before it judges all; given up below others'
    # median
    rungs: list[int]
    # what is set for trials, key -> value; None: by the dataset's splits
    search: Mapping[str, Any] | None
    # the same for the winner's run on texts that no trial has seen
    final: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        self.objectives, self.rungs = list(self.objectives), list(self.rungs)

    def setup(
        self,
        *,
        hydra_context: HydraContext,
        task_function: TaskFunction,
        config: DictConfig,
    ) -> None:
        """Take what Hydra has composed."""
        self.context: HydraContext = hydra_context
        self.hydra_context = (
            hydra_context  # where Hydra's own `validate_batch_is_legal` looks for it
        )
        self.config: DictConfig = config
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Run the search to its end. Raises ConfigError before anything is judged, for what cannot
        be searched."""
        self._check()
        loader = self.context.config_loader
        self.space = self._without_idle(
            read_space([*_words(self.params or {}), *arguments], loader), arguments
        )
        self.folder = Path(self.config.hydra.sweep.dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        # which holds no secrets (`config.door`)
        OmegaConf.save(self.config, self.folder / "multirun.yaml")
        self.state = self._begin()
        self.validate_batch_is_legal(self._first_of_each())
        self._check_prompts()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        others: list[Literal["minimize"]] = ["minimize"] * (len(self.objectives) - 1)
        self.study = optuna.create_study(
            directions=["maximize", *others],
            pruner=optuna.pruners.MedianPruner(
                n_startup_trials=self.startup, n_warmup_steps=0
            ),
            sampler=self._sampler(0),
        )
        trials = self.state.trials
        waiting = [trial for trial in trials if trial.state in ("waiting", "failed")]
        for start in range(0, len(waiting), self.n_jobs):
            self._run(waiting[start : start + self.n_jobs])
        self.study.add_trials(map(self._frozen, trials))
        while len(trials) < self.n_trials and self.state.stopped_by is None:
            batch = self._ask()
            self._run(batch)
            self.study.add_trials(map(self._frozen, batch))
        self._conclude()

    def _check(self) -> None:
        """Raise ConfigError for a setting of the sweeper's own that cannot be."""
        counts = {
            name: getattr(self, name) for name in ("n_trials", "n_jobs", "startup")
        }
        known = [["quality"], *(["quality", cost] for cost in COSTS)]
        rungs, limit = self.rungs, OmegaConf.select(self.config, "run.limit")
        rising = (
            all(isinstance(n, int) and n >= 1 for n in rungs)
            and sorted(set(rungs)) == rungs
        )
        whole = rising and rungs and limit is not None and rungs[-1] >= limit
        costs = f"it must be [quality], or [quality,COST] with COST one of {', '.join(COSTS)}"
        two = (
            "it gives trials up by one number, and `hydra.sweeper.objectives` names two:"
            f" {self.objectives}. Leave one of the two out: hydra.sweeper.rungs=[] or"
            " hydra.sweeper.objectives=[quality]"
        )
        fits = [
            *(
                (
                    name,
                    isinstance(n, int) and n >= 1,
                    "it must be a whole number from 1",
                )
                for name, n in counts.items()
            ),
            ("sampler", self.sampler in ("tpe", "random"), "there are: tpe, random"),
            ("objectives", self.objectives in known, costs),
            ("rungs", rising, "it must be rising counts of texts, e.g. [16,32]"),
            ("rungs", not rungs or len(self.objectives) == 1, two),
            ("rungs", not whole, f"a whole trial judges {limit} texts (run.limit)"),
        ]
        for name, fit, wanted in fits:
            if not fit:
                raise ConfigError(
                    f"`hydra.sweeper.{name}` is {getattr(self, name)!r}; {wanted}."
                )

    def _without_idle(self, space: Space, typed: Sequence[str]) -> Space:
        """The space without what the experiment varies of demonstrations, where no prompt of the
        search shows any.

        Trials that differ in nothing else would ask the same questions. Raises ConfigError where
        such a key was typed.
        """
        idle = [key for key in space.keys if key.lstrip("+~") in OF_DEMONSTRATIONS]
        if not idle:
            return space
        prompts = _values(space.keys["prompt"]) if "prompt" in space.keys else [None]
        fixed = [
            word
            for word in space.fixed
            if word.lstrip("+~").partition("=")[0] not in OF_DEMONSTRATIONS
        ]
        for option in prompts:
            words = fixed if option is None else [*fixed, f"prompt={option}"]
            prompt = self.context.config_loader.load_sweep_config(self.config, words)[
                "prompt"
            ]
            if (
                prompt.get("demonstrations")
                or prompt.get("examples") is not None
                or "path" in prompt
            ):
                return space
        keys = " and ".join(f"`{key.lstrip('+~')}`" for key in idle)
        named = (
            "the prompt of this search has"
            if prompts == [None]
            else f"{', '.join(map(str, prompts))} have"
        )
        if any(word.lstrip("+~").startswith(OF_DEMONSTRATIONS) for word in typed):
            raise ConfigError(
                f"{keys} would be searched, and {named} no demonstrations, so nothing would change."
                " Leave it out, or take prompts that show worked examples, e.g."
                " prompt=demos_pt,demos_en."
            )
        say(
            f"note: {named} no demonstrations, so {keys} of this experiment is not searched."
        )
        keys_left = {key: each for key, each in space.keys.items() if key not in idle}
        return Space(space.fixed, keys_left, _size(keys_left))

    def _check_prompts(self) -> None:
        """Raise ConfigError for a prompt that no trial could use: it would end each of its
        trials."""
        keys = [
            key
            for key in self.space.keys
            if key.lstrip("+~").partition(".")[0] == "prompt"
        ]
        for words in self._one_at_a_time(keys):
            config = self.context.config_loader.load_sweep_config(self.config, words)
            chosen = settings(
                compose.adopt(resolved(config), config.hydra.runtime.config_sources)
            )
            rubric: Rubric = build(chosen.rubric, "rubric")
            taken(build(chosen.prompt, "prompt"), rubric, chosen)[0].check(rubric)

    def _begin(self) -> SearchState:
        """The search as it stands in the folder, or a new one, whose texts are looked at first."""
        earlier = read_search(self.folder)
        splits = self._splits() if None in (self.search, self.final) else ([], [])
        chosen = zip((self.search, self.final), splits, strict=True)
        first, last = (
            split if texts is None else _words(texts) for texts, split in chosen
        )
        space = {
            key: str(distribution) for key, distribution in self.space.keys.items()
        }
        new = SearchState(
            space=space,
            objectives=self.objectives,
            search=first,
            final=last,
            seed=self.seed,
        )
        if earlier is not None:
            for name in ("space", "objectives", "search", "final", "seed"):
                if getattr(earlier, name) != getattr(new, name):
                    raise ConfigError(
                        f"`run.resume` continues a search whose {name}"
                        f" {'were' if name[-1] == 's' else 'was'} {getattr(earlier, name)}, and now"
                        f" it is {getattr(new, name)}. Repeat that command (only"
                        " hydra.sweeper.n_trials and n_jobs may differ), or leave run.resume out"
                        " to start anew."
                    )
            return earlier.model_copy(update={"stopped_by": None})
        texts = self._items(first)
        if last:
            try:
                check_leaks(texts, self._items(last))
            except DataError as error:
                raise DataError(
                    f"the trials of this search judge {' '.join(first)}, its winner"
                    f" {' '.join(last)}: {error}"
                ) from None
        new.write(self.folder)
        return new

    def _first_of_each(self) -> list[list[str]]:
        """Trials in which each option of a group is chosen once: what none of them can compose, no
        trial can."""
        return self._one_at_a_time([key for key in self.space.keys if "." not in key])

    def _one_at_a_time(self, keys: Sequence[str]) -> list[list[str]]:
        """A trial of the first option of every key, and trials in which one of these keys has
        another option."""
        first = {
            key: _values(distribution)[0]
            for key, distribution in self.space.keys.items()
        }
        categorical = [
            key
            for key in keys
            if isinstance(self.space.keys[key], CategoricalDistribution)
        ]
        others = (
            {key: option}
            for key in categorical
            for option in _values(self.space.keys[key])[1:]
        )
        trials = [{}, *itertools.islice(others, MOST_LOOKED_AT)]
        return [
            [*self.space.fixed, *_words(first | each), *self.state.search]
            for each in trials
        ]

    def _dataset(self, more: Sequence[str]) -> Any:
        """The config of the dataset that a first trial with these overrides would judge."""
        words = _words(
            {
                key: _values(distribution)[0]
                for key, distribution in self.space.keys.items()
            }
        )
        config = self.context.config_loader.load_sweep_config(
            self.config, [*self.space.fixed, *words, *more]
        )
        return OmegaConf.to_container(config["dataset"], resolve=True)

    def _splits(self) -> tuple[list[str], list[str]]:
        """The overrides that choose the dataset's development and test texts."""
        split = next(
            (
                word
                for word in self.space.fixed
                if word.lstrip("+").startswith("dataset.split=")
            ),
            None,
        )
        if split is not None:
            raise ConfigError(
                f"{split} is given, and a search takes development texts for its trials and test"
                " texts for its winner. Leave it out, or say both:"
                " 'hydra.sweeper.search={dataset.split:...}'"
                " 'hydra.sweeper.final={dataset.split:...}' ({}: the winner judges no others)."
            )
        target = resolve(self._dataset([]).get("_target_"), "dataset")
        hints = (
            typing.get_type_hints(target.__init__) if inspect.isclass(target) else {}
        )
        names = [str(name) for name in typing.get_args(hints.get("split"))]
        development = next((name for name in names if name.startswith("dev")), None)
        if development is None or "test" not in names:
            dev, test = "dev.jsonl", "test.jsonl"
            if isinstance(
                path := self._dataset([]).get("path"), str
            ) and not SIGNS & set(path):
                dev, test = (
                    str(Path(path).with_stem(f"{Path(path).stem}-{part}"))
                    for part in ("dev", "test")
                )
            raise ConfigError(
                "A search tries on some texts and tests its winner on others, and this dataset is"
                " not split into the two. Put the texts into two files and name both:"
                f" 'hydra.sweeper.search={{dataset.path:{dev}}}'"
                f" 'hydra.sweeper.final={{dataset.path:{test}}}' ({{}}: the winner is not tested)."
            )
        return [f"dataset.split={development}"], ["dataset.split=test"]

    def _items(self, more: Sequence[str]) -> list[Item]:
        items: list[Item] = build(self._dataset(more), "dataset").load()
        return items

    def _sampler(self, number: int) -> Any:
        """A sampler of a trial's own, so that a search that was killed asks for the same trials as
        one that was not."""
        seed = (self.seed * 1_000_003 + number) % (2**32 - 1)
        if self.sampler == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        return optuna.samplers.TPESampler(
            n_startup_trials=self.startup,
            seed=seed,
            constant_liar=self.n_jobs > 1,
            multivariate=False,
        )

    def _ask(self) -> list[Trial]:
        """The next trials, noted before they are run; no point of the space twice."""
        trials, tries = self.state.trials, 0
        begin, end = len(trials), min(len(trials) + self.n_jobs, self.n_trials)
        while len(trials) < min(end, self.space.size) and tries < TRIES:
            self.study.sampler = self._sampler(len(trials) * TRIES + tries)
            asked = self.study.ask(fixed_distributions=self.space.keys)
            params = {key: asked.params[key] for key in self.space.keys}
            # the trial itself is added with its result
            self.study.tell(asked, state=TrialState.FAIL)
            tries += 1
            if all(params != trial.params for trial in trials):
                trials.append(Trial(number=len(trials), params=params))
                tries = 0
        if len(trials) < end:
            self.state.stopped_by = "searched_through"
        self.state.write(self.folder)
        return trials[begin:]

    def _run(self, batch: Sequence[Trial]) -> None:
        """Run trials together, rung by rung, and note what each came to."""
        for trial in batch:
            trial.state, trial.why, trial.values = "waiting", None, []
        alive = list(batch)
        for count in self.rungs:
            jobs = [trial for trial in alive if count not in trial.rungs]
            folders = [f"{PRUNING}/{trial.number}-{count}" for trial in jobs]
            self._launch(
                jobs,
                folders,
                [f"run.limit={count}", "tracking=none", *self.state.search],
            )
            for trial, folder in zip(jobs, folders, strict=True):
                values, trial.why = reached(self.folder / folder)
                trial.rungs |= {count: values[0]} if values else {}
                trial.state = "waiting" if values else "failed"
            for trial in alive:
                if trial.state == "waiting" and self.study.pruner.prune(
                    self.study, self._frozen(trial, count)
                ):
                    trial.state = "pruned"
            alive = [trial for trial in alive if trial.state == "waiting"]
            self.state.write(self.folder)
        self._launch(alive, [str(trial.number) for trial in alive], self.state.search)
        for trial in alive:
            trial.values, trial.why = reached(
                self.folder / str(trial.number), self.state.objectives
            )
            trial.state = "complete" if trial.values else "failed"
        self.state.write(self.folder)

    def _launch(
        self,
        trials: Sequence[Trial],
        folders: Sequence[str],
        more: Sequence[str],
        first: int = -1,
    ) -> None:
        """Run trials in these folders; Hydra numbers them from `first` on, by default from the
        number of the trial."""
        if not trials:
            return
        jobs = [
            [
                *self.space.fixed,
                *_words(trial.params),
                *more,
                f"hydra.sweep.subdir={folder}",
            ]
            for trial, folder in zip(trials, folders, strict=True)
        ]
        first = min(trial.number for trial in trials) if first < 0 else first
        for returned in self.launcher.launch(jobs, initial_job_idx=first):
            _ = returned.return_value

    def _conclude(self) -> None:
        """The winner judges the texts that no trial has seen."""
        state = self.state
        if any(trial.state == "failed" for trial in state.trials):
            note_status(1)
        if not (ranked := state.ranked()):
            return
        best = ranked[0]
        done = state.winner == best.number and reached(self.folder / FINAL)[0]
        folder = (
            FINAL if state.winner in (None, best.number) else f"{FINAL}-{best.number}"
        )
        state.winner = best.number
        state.write(self.folder)
        if not state.final:
            return
        try:
            if not done:
                more = [*state.final, *self._examples(best), "run.limit=null"]
                self._launch([best], [folder], more, first=len(state.trials))
        except Exception as error:
            message, status = tell(error)
            say(f"error: the winner's run on {' '.join(state.final)}: {message}")
            note_status(status)
            return
        run, state.looks = RunFolder(self.folder / folder), None
        if reached(run.path)[0]:
            claim = [run.facts["identity"], run.facts["headline"]]
            state.looks = looked(
                self.folder,
                self._items(state.final),
                f"{run.rubric.name}.{OVERALL}",
                claim,
            )
        state.write(self.folder)

    def _examples(self, best: Trial) -> list[str]:
        """Overrides by which the winner's prompt shows the examples that it was chosen with, and
        none of its test."""
        chosen = [*self.space.fixed, *_words(best.params), *self.state.search]
        prompt = self.context.config_loader.load_sweep_config(self.config, chosen)[
            "prompt"
        ]
        if prompt.get("examples") is None:
            return []
        before = self._dataset(self.state.search)
        after = self._dataset(self.state.final)
        differs = {
            key: before.get(key)
            for key in before | after
            if before.get(key) != after.get(key)
        }
        return [f"++{word}" for word in _words({"prompt.examples_from": differs})]

    def _frozen(self, trial: Trial, last: float = math.inf) -> FrozenTrial:
        """A trial as Optuna holds it, up to the `last` of its rungs."""
        return optuna.create_trial(
            state=STATES[trial.state],
            values={
                "complete": trial.values,
                "pruned": [*trial.rungs.values()][-1:],
            }.get(trial.state),
            params=dict(trial.params),
            distributions=dict(self.space.keys),
            intermediate_values={
                count: value for count, value in trial.rungs.items() if count <= last
            },
        )


def _words(settings: Mapping[str, Any]) -> list[str]:
    """A mapping, nested or with dots in its keys, as overrides."""
    words: list[str] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            words += [f"{key}.{word}" for word in _words(value)]
        else:
            words.append(f"{key}={'null' if value is None else value}")
    return words


def _values(distribution: Any) -> Sequence[Any]:
    """The choices of a key, or its whole numbers; of a continuous range the low end alone."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices
    low, high = distribution.low, distribution.high
    return (
        range(low, high + 1, distribution.step)
        if isinstance(distribution, IntDistribution)
        else (low,)
    )


def read_space(words: Sequence[str], loader: Any) -> Space:
    """The space of these overrides; of a key that is given twice the last word counts.

    Args:
        words: Overrides, sweeps among them: `a,b`, `choice(...)`, `range(low,high,step)` (whole
            numbers, the end left out), `interval(low,high)`, `tag(log,interval(...))`,
            `int(interval(...))`.
        loader: Hydra's config loader, which knows which keys are groups.
    Raises:
        ConfigError: A word that cannot be read, a range without a value, a key that decides what is
            measured, or nothing that varies.
    """
    try:
        fixed, sweeps = latest(words, loader)
    except OverrideParseException as error:
        raise ConfigError(
            f"`{error.override}` cannot be read as an override of a search."
        ) from None
    keys: dict[str, BaseDistribution] = {}
    for key, override in sweeps.items():
        bare = key.lstrip("+~")
        if not bare.startswith(WORDINGS) and any(
            f"{bare}.".startswith(f"{group}.") for group in MEASURING
        ):
            raise ConfigError(
                f"`{bare}` cannot be searched: trials that judge other texts, or are measured by"
                " something else, cannot be compared, and the easiest would win. Search what"
                " judges (model, prompt, readout, judge and their keys, rubric.wordings); to see"
                " several side by side, leave hydra/sweeper=optuna out."
            )
        try:
            keys[key] = _distribution(override)
        except ValueError as error:
            raise ConfigError(
                f"`{key}` is {override.input_line!r}, which is no range to search: {error}."
            ) from None
    if not keys:
        raise ConfigError(
            "hydra/sweeper=optuna searches a space, and nothing varies. Say what does, e.g."
            " prompt.demo_order=range(0,6) readout.minimum_mass=interval(0.05,0.3), or leave"
            " hydra/sweeper=optuna out."
        )
    return Space(list(fixed.values()), keys, _size(keys))


def _size(keys: Mapping[str, BaseDistribution]) -> float:
    """How many different trials there are, infinite where a key has a continuous range."""
    return math.prod(
        math.inf if isinstance(each, FloatDistribution) else len(_values(each))
        for each in keys.values()
    )


def _distribution(override: Override) -> BaseDistribution:
    """What an override says a key may be. Raises ValueError for a range without values, or with too
    many."""
    value = override.value()
    if isinstance(value, IntervalSweep):
        low, high, log = value.start, value.end, "log" in value.tags
        assert low is not None and high is not None
        if isinstance(low, int) and isinstance(high, int) and "int" in value.tags:
            return IntDistribution(low, high, log)
        return FloatDistribution(float(low), float(high), log)
    if isinstance(value, RangeSweep) and not value.shuffle:
        match value.start, value.stop, value.step:
            case int(start), int(stop), int(step) if step > 0:
                return IntDistribution(
                    start, start + ((stop - 1 - start) // step) * step, step=step
                )
    choices = list(override.sweep_string_iterator())
    if not 1 <= len(choices) <= MOST_CHOICES:
        raise ValueError(f"it has {len(choices):,} values")
    return CategoricalDistribution(choices)

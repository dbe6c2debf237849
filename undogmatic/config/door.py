"""The doors to a composed config: as plain data for Python, and as a run, a sweep or a printout for
the command.

The command's own words are read here, and Hydra's parts put together by its public interfaces:
compose, check, and only then build callbacks, launcher and sweeper. What only tells of Hydra itself
is left to `hydra.main`.
"""

import argparse
import copy
import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import configure_log, run_job
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, flag_override
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue

from undogmatic.config import compose
from undogmatic.config.listing import FLAGS, told
from undogmatic.config.messages import combined, explain, typed_wrongly
from undogmatic.config.wall import HYDRA, resolved
from undogmatic.errors import ConfigError
from undogmatic.safety import files
from undogmatic.safety.project import permits
from undogmatic.safety.secrets import check_config, check_words

Folders = str | Path | Sequence[str | Path]
Job = Callable[[DictConfig], Any]
MULTIRUN = "multirun.yaml"
PRIMARY = "config"


def compose_config(
    overrides: Sequence[str] = (), config_dir: Folders = ()
) -> dict[str, Any]:
    """The default config with overrides as on the command line, resolved, as plain data.
    `config_dir` is a folder of config groups of one's own, or several, beside those of the project
    file. Raises ConfigError."""
    return composed(overrides, config_dir)[0]


def composed(
    overrides: Sequence[str], config_dir: Folders
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The config, and which option of each group is in it. Raises ConfigError."""
    dirs = [config_dir] if isinstance(config_dir, str | Path) else config_dir
    if (
        bool(dirs)
        + sum(word.lstrip("+").startswith("hydra.searchpath=") for word in overrides)
        > 1
    ):
        raise ConfigError(
            "`hydra.searchpath` and a config_dir are given; name all folders in one of them."
        )
    check_words(overrides)
    try:
        with compose.opened(overrides, dirs) as loader:
            whole = loader.load_configuration(
                PRIMARY, combined(overrides), RunMode.RUN, from_shell=False
            )
        check_config(whole)
        runtime = whole.hydra.runtime
        return compose.adopt(
            resolved(_without(whole, "job")), runtime.config_sources
        ), dict(runtime.choices)
    except MissingMandatoryValue as error:
        raise ConfigError(
            f"`{error.full_key}` is required. Set it with {error.full_key}=..."
        ) from None
    except Exception as error:
        if not typed_wrongly(error):
            raise
        raise ConfigError(explain(error, overrides)) from None


def command(words: list[str], job: Job) -> None:
    """Do what the words of a command say: run the job, sweep it, or show config or help. Raises
    ConfigError for what may not be, and what Hydra and OmegaConf raise of words that cannot be
    composed."""
    typed = _parser().parse_args(words)
    if typed.experimental_rerun is not None:
        raise ConfigError(
            "`--experimental-rerun` reads a pickle, which can run code. To repeat a run:"
            " run.resume=..."
        )
    if typed.config_path is not None:
        raise ConfigError(
            f"`--config-path` is {typed.config_path!r}; the program's own folder cannot be"
            " replaced. Folders of yours are searched beside it: --config-dir DIR."
        )
    if typed.run + typed.multirun + (typed.cfg is not None) > 1:
        raise ConfigError("--run, --multirun and --cfg are given; give one of them.")
    if typed.resolve and not typed.cfg:
        raise ConfigError("--resolve belongs to --cfg.")
    if typed.help:
        print(told([word for word in typed.overrides if "=" not in word], words))
        return
    name, overrides = typed.config_name or PRIMARY, list(typed.overrides)
    with compose.opened(
        overrides, [typed.config_dir] if typed.config_dir is not None else (), "run"
    ) as loader:
        if typed.cfg:
            config = loader.load_configuration(name, overrides, RunMode.RUN)
            HydraConfig.instance().set_config(config)
            print(_shown(config, typed))
            return
        is_sweep = typed.multirun
        if not is_sweep and (
            name != PRIMARY or any("hydra.mode" in override for override in overrides)
        ):
            tried = loader.load_configuration(
                name, overrides, RunMode.MULTIRUN, validate_sweep_overrides=False
            )
            is_sweep = tried.hydra.mode == RunMode.MULTIRUN
        mode = RunMode.MULTIRUN if is_sweep else RunMode.RUN
        if not any(override.startswith("hydra.mode=") for override in overrides):
            overrides.append(f"hydra.mode={mode.name}")
        config = loader.load_configuration(name, overrides, mode)
        configure_log(config.hydra.hydra_logging, config.hydra.verbose)
        callbacks: Any = Callbacks(
            map(instantiate, (config.hydra.callbacks or {}).values())
        )
        context = HydraContext(config_loader=loader, callbacks=callbacks)
        if is_sweep:
            callbacks.on_multirun_start(config=config, config_name=name)
            _sweep(loader, config, context, job)
            callbacks.on_multirun_end(config=config, config_name=name)
        else:
            callbacks.on_run_start(config=config, config_name=name)
            done = run_job(job, config, "hydra.run.dir", None, context)
            callbacks.on_run_end(config=config, config_name=name, job_return=done)
            _ = done.return_value  # raises what the job has raised


def _parser() -> argparse.ArgumentParser:
    """Hydra's options; those that tell of Hydra alone never come here."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "overrides",
        nargs="*",
        help="KEY=VALUE overrides a value of the config (dots for nested keys)",
    )
    for long, short, text, takes in FLAGS:
        kind: dict[str, Any] = (
            {"action": "store_true"} if takes is None else {"choices": takes or None}
        )
        parser.add_argument(*filter(None, (long, short)), help=text, **kind)
    return parser


def _sweep(
    loader: compose.Loader, config: DictConfig, context: HydraContext, job: Job
) -> None:
    """Run the sweeper that the checked config names: ours, an extension's, Hydra's or a
    plugin's."""
    callbacks: Any = context.callbacks
    words: Any = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
    shown = loader.shown(config)
    # Whoever writes this file finds it there, readable by its owner alone.
    files.write(Path(config.hydra.sweep.dir) / MULTIRUN, "")
    if permits(str(shown.hydra.sweeper._target_)):
        sweeper: Sweeper = instantiate(shown.hydra.sweeper)
        sweeper.setup(hydra_context=context, task_function=job, config=shown)
    else:
        sweeper = Plugins.instance().instantiate_sweeper(
            config=shown, hydra_context=context, task_function=job
        )
    compose_all = loader.looking()(sweeper.validate_batch_is_legal)
    begin = functools.cache(callbacks.on_jobs_composed)

    def check(batch: Any) -> None:
        compose_all(batch)
        begin(config=config)

    sweeper.validate_batch_is_legal = check  # type: ignore[method-assign]
    if permits(str(shown.hydra.sweeper._target_)) and not getattr(
        sweeper, "checks_first", False
    ):
        begin(config=config)
    sweeper.sweep(arguments=words)


class Callbacks(list[Any]):
    """Hydra's callbacks of a command, in their order, at an end in reverse; what one raises is a
    warning."""

    def __getattr__(self, event: str) -> Callable[..., None]:
        if not event.startswith("on_"):
            raise AttributeError(event)

        def notify(**facts: Any) -> None:
            for callback in reversed(self) if event.endswith("_end") else self:
                try:
                    getattr(callback, event, lambda **_: None)(**facts)
                # as Hydra has it; ours end the command by SystemExit
                except Exception as error:
                    name = type(callback).__name__
                    warnings.warn(
                        f"Callback {name}.{event} raised {type(error).__name__}: {error}",
                        stacklevel=2,
                    )

        return notify


def _shown(config: DictConfig, typed: argparse.Namespace) -> str:
    part: Any = _without(_followed(config) if typed.resolve else config, typed.cfg)
    package = typed.package if typed.package != "_global_" else None
    if package is not None and (part := OmegaConf.select(part, package)) is None:
        raise ConfigError(f"package '{package}' not found in config")
    if not OmegaConf.is_config(part):
        return str(part)
    return (
        f"# @package {package}\n" if package is not None else ""
    ) + OmegaConf.to_yaml(part).removesuffix("\n")


def _followed(config: DictConfig) -> DictConfig:
    """Follow every reference of the whole config, so that parts refer to nothing outside of them.

    A reference to a value that only a run sets, or that is still required, is shown as `???`.
    """
    copied = copy.deepcopy(config)
    for node in (copied, copied.hydra):
        OmegaConf.set_readonly(node, False)
        OmegaConf.set_struct(node, False)
    while True:
        try:
            plain = OmegaConf.to_container(copied, resolve=True)
        except InterpolationToMissingValueError as error:
            OmegaConf.update(copied, str(error.full_key), "???")
        else:
            return OmegaConf.create(plain)  # type: ignore[return-value]


def _without(config: DictConfig, what: str) -> DictConfig:
    """The part of a config to show: the job's, Hydra's own, or all."""
    with flag_override(config, ["struct", "readonly"], [False, False]):
        for key in [
            key
            for key in config
            if what in ("job", HYDRA) and (key == HYDRA) == (what == "job")
        ]:
            del config[key]
    if what == HYDRA:
        with flag_override(config.hydra, ["struct", "readonly"], False):
            del config.hydra["hydra_help"], config.hydra["help"]
    return config


def tells_of_hydra(words: Sequence[str]) -> bool:
    """Whether the command only asks about Hydra, so that `hydra.main` answers it."""
    options = ("--hydra-help", "--version", "--info", "-i", "--shell-completion", "-sc")
    return (
        any(word.partition("=")[0] in options for word in words)
        and "--experimental-rerun" not in words
    )

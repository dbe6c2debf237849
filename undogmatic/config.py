"""The composed config: its schema, the allow-list of what it may build, and messages a user can act on."""

from __future__ import annotations

import difflib
import importlib
import inspect
import typing
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from undogmatic.errors import ConfigError
from undogmatic.project import allowed
from undogmatic.secrets import learn
from undogmatic.wordings import languages


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunSection(_Section):
    """`run.*`: how often and how much to judge, and which run to continue."""

    resume: str | None = None
    repeats: int = Field(default=1, ge=1)
    limit: int | None = Field(default=None, ge=1)
    name: str | None = None


class ReportSection(_Section):
    """`report.*`."""

    language: str = "en"

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language not in languages():
            raise ValueError(f"there are reports in {', '.join(languages())}")
        return language


class OptimizerSection(_Section):
    """`optimizer.*`: so far prompts are used as written."""

    name: Literal["none"] = "none"


class Settings(_Section):
    """The whole composed config; the groups stay plain mappings until `build` makes them."""

    seed: int = Field(ge=0)
    run: RunSection
    report: ReportSection
    model: dict[str, Any]
    prompt: dict[str, Any]
    judge: dict[str, Any]
    judges: list[str | dict[str, Any]] | None = None
    steps: list[str | dict[str, Any]] = []
    readout: dict[str, Any]
    rubric: dict[str, Any]
    dataset: dict[str, Any]
    analysis: dict[str, Any]
    optimizer: OptimizerSection
    engine: dict[str, Any]
    tracking: dict[str, Any]
    folders: tuple[str, ...] = ()
    """The user's folders of YAML, for names used inside a group; set when the config is composed (`searchpath`)."""


def settings(config: Mapping[str, Any]) -> Settings:
    """Validate a composed and resolved config. Raises ConfigError for the first few problems, all named."""
    try:
        return Settings.model_validate(config)
    except ValidationError as error:
        raise ConfigError(explain(error, options=list(Settings.model_fields), sections=Settings)) from None


def build(node: Mapping[str, Any], group: str, **parts: Any) -> Any:
    """Make the object that a config node describes: `_target_` with the node's other keys as arguments.

    Args:
        node: The composed node; nested nodes with a `_target_` are built first.
        group: Its key, for messages.
        parts: Further arguments the program supplies (they cannot be set in the config).
    Raises:
        ConfigError: `_target_` missing, outside the allow-list or not importable; an unknown, missing or ill-typed key.
    """
    learn(node, group)
    arguments = {k: v for k, v in node.items() if k != "_target_"}
    target = resolve(node.get("_target_"), group)
    arguments = {k: _nested(v, f"{group}.{k}") for k, v in arguments.items()}
    if inspect.isclass(target) and issubclass(target, BaseModel):
        try:
            return target.model_validate(arguments)
        except ValidationError as error:
            raise ConfigError(explain(error, group, list(target.model_fields))) from None
    return target(**_checked(target, group, arguments, parts), **parts)


def resolve(path: Any, group: str) -> Any:
    """Import what `_target_` names, if its package is allowed. Raises ConfigError."""
    if not isinstance(path, str) or "." not in path:
        raise ConfigError(
            f"`{group}._target_` is {path!r}; it must name a class, e.g. undogmatic.judges.score.ScoreJudge."
        )
    may = allowed()
    hidden = any(part.startswith("_") for part in path.split("."))
    if hidden or not any(path.startswith(f"{package}.") for package in may):
        package = path.partition(".")[0]
        raise ConfigError(
            f"`{group}._target_` is {path!r}; only classes of {', '.join(may)} may be built from a config"
            + (
                ", and no name in it may start with an underscore."
                if hidden
                else f'. If {package} is yours or you trust it: `modules = ["{package}"]` in undogmatic.toml of the '
                f"working directory, or UNDOGMATIC_ALLOW={package} in the environment."
            )
        )
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        said = str(error).rstrip(".")
        raise ConfigError(
            f"`{group}._target_` is {path!r}, which cannot be imported: {said}. A module of yours lies beside "
            "undogmatic.toml, or is installed."
        ) from None
    if not inspect.isclass(found):
        raise ConfigError(f"`{group}._target_` is {path!r}, which is not a class.")
    return found


def _nested(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        if "_target_" in value:
            return build(value, key)
        return {k: _nested(v, f"{key}.{k}") for k, v in value.items()}
    if isinstance(value, list):
        return [_nested(v, f"{key}[{n}]") for n, v in enumerate(value)]
    return value


def _checked(target: Any, group: str, arguments: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Check arguments against the constructor's annotations; returns them with their types coerced."""
    hints = typing.get_type_hints(target.__init__)
    fields: dict[str, Any] = {}
    parameters = inspect.signature(target.__init__).parameters
    for name, parameter in parameters.items():
        if name == "self" or name in parts or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints.get(name, Any), default)
    own = target.__init__ is not object.__init__  # which says that it takes anything, and takes nothing
    any_name = own and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    schema = create_model(
        "Arguments",
        __config__=ConfigDict(
            extra="allow" if any_name else "forbid", arbitrary_types_allowed=True, protected_namespaces=()
        ),
        **fields,
    )
    try:
        checked = schema.model_validate(arguments)
    except ValidationError as error:
        raise ConfigError(explain(error, group, list(fields))) from None
    return {name: getattr(checked, name) for name in arguments}


def explain(error: ValidationError, group: str = "", options: list[str] | None = None, sections: Any = None) -> str:
    """Pydantic's findings as lines that name the key, the value and the options."""
    lines = []
    for problem in error.errors()[:5]:
        path = [str(p) for p in problem["loc"]]
        key = ".".join(([group] if group else []) + path)
        choices = options or []
        if (
            sections is not None
            and len(path) > 1
            and hasattr(sections.model_fields[path[0]].annotation, "model_fields")
        ):
            choices = list(sections.model_fields[path[0]].annotation.model_fields)
        if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            close = difflib.get_close_matches(path[-1], choices, 1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            lines.append(f"`{key}` is not a known key.{hint} Known: {', '.join(choices)}.")
        elif problem["type"] in ("missing", "missing_argument"):
            lines.append(f"`{key}` is required. Set it with `{key}=...`.")
        else:
            message = problem["msg"].removeprefix("Value error, ")
            lines.append(f"`{key}` is {problem['input']!r}: {message[:1].lower() + message[1:]}.")
    return "\n".join(lines)

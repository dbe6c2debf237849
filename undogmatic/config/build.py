"""The composed config: its schema, and how what it describes is built, with messages a user can act
on."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from typing_extensions import get_protocol_members

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.records.limits import LARGEST_SEED
from undogmatic.records.plan import Plan
from undogmatic.records.problems import explain
from undogmatic.records.records import Flat
from undogmatic.records.wordings import languages
from undogmatic.safety.extras import lacking
from undogmatic.safety.imports import imported, raised
from undogmatic.safety.outside import brief, has_halves
from undogmatic.safety.project import allowed, permits
from undogmatic.safety.secrets import learn

OF_OTHERS = ("nli", "embeddings", "precedents")
"""Groups of which a run has one by default, whether anything reads it or not."""


# Unknown keys are refused: Hydra lets `+typo=1` through without a word.
class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RunSection(_Section):
    resume: str | None = None
    repeats: int = Field(default=1, ge=1, le=10_000)
    limit: int | None = Field(default=None, ge=1)
    name: str | None = Field(default=None, max_length=200)


def _known(language: str) -> str:
    if language not in languages():
        raise ValueError(f"there are reports in {', '.join(languages())}")
    return language


class _ReportSection(_Section):
    language: Annotated[str, AfterValidator(_known)] = "en"


class Settings(_Section):
    """The whole composed config; the groups stay plain mappings until `build` makes them."""

    seed: int = Field(ge=0, le=LARGEST_SEED)
    run: _RunSection
    report: _ReportSection
    model: dict[str, Any]
    prompt: dict[str, Any]
    judge: dict[str, Any]
    judges: list[str | dict[str, Any]] | None = Field(default=None, max_length=100)
    steps: list[str | dict[str, Any]] = Field(default=[], max_length=100)
    summarizer: str | dict[str, Any] | list[str | dict[str, Any]] | None = None
    readout: dict[str, Any]
    nli: dict[str, Any] = {}
    embeddings: dict[str, Any] = {}
    precedents: dict[str, Any] = {}
    rubric: dict[str, Any]
    dataset: dict[str, Any]
    analysis: dict[str, Any]
    optimizer: dict[str, Any]
    fit: dict[str, Any] | None = None
    engine: dict[str, Any]
    tracking: dict[str, Any]
    plan: Plan | None = None
    folders: tuple[
        str, ...
    ] = ()  # the user's, for names used inside a group; set when the config is composed

    def unread(self, asked: Set[str]) -> tuple[str, ...]:
        """The keys that nothing reads: of OF_OTHERS what no part `asked` for, no fit reads and no
        group refers to (to hold the same), and the summarizers of a run without steps."""
        asked = asked | ({"embeddings"} if self.fit is not None else set())
        others = json.dumps(self.model_dump(mode="json", exclude=set(OF_OTHERS)))
        unread = [
            name
            for name in OF_OTHERS
            if name not in asked and json.dumps(getattr(self, name)) not in others
        ]
        return (*unread, *(() if self.steps else ("summarizer",)))

    @property
    def optimizes(self) -> bool:
        """Whether an optimiser changes the prompt, so that it must reach the model."""
        return bool(self.optimizer) and bool(
            resolve(self.optimizer.get("_target_"), "optimizer").optimizes
        )


def settings(config: Mapping[str, Any]) -> Settings:
    """Validate a composed and resolved config. Raises ConfigError for the first few problems, all
    named."""
    # Before the types are checked: a text of a gigabyte, or an endless number, would be
    # printed in the message.
    check_values(config, "")
    taken = places(Settings)
    for name, value in config.items():
        check_booleans(value, str(name), taken.get(str(name), []))
    try:
        return Settings.model_validate(config)
    except ValidationError as error:
        raise ConfigError(
            explain(error, options=list(Settings.model_fields), sections=Settings)
        ) from None


def build(node: Mapping[str, Any], group: str, **parts: Any) -> Any:
    """Make the object that a config node describes: `_target_` with the node's other keys as
    arguments.

    Args:
        node: The composed node; nested nodes with a `_target_` are built first.
        group: Its key, for messages; its last word says what must come of it
            (`judge.members[0].prompt`: a prompt).
        parts: Further arguments the program supplies (they cannot be set in the config).
    Raises:
        ConfigError: `_target_` missing, outside the allow-list, not importable or of another kind;
            an unknown, missing or ill-typed key; a number that is none; whatever the constructor
            refuses.
    """
    # What is a secret in this node is known from here on, and struck out of every
    # message and file.
    learn(node, group)
    arguments = {k: v for k, v in node.items() if k != "_target_"}
    # Nothing is imported that may not be: importing a module already runs its code.
    target = resolve(node.get("_target_"), group)
    check_values(arguments, group)
    taken = places(target)
    for name, value in arguments.items():
        check_booleans(value, f"{group}.{name}", taken.get(str(name), []))
    arguments = {
        k: _nested(v, f"{group}.{k}", taken.get(k, taken["**"]))
        for k, v in arguments.items()
    }
    fields: dict[str, Any] = {}
    try:
        if issubclass(target, BaseModel):
            fields = target.model_fields
            return target.model_validate(arguments)
        parameters = [
            parameter
            for parameter in _parameters(target)
            if parameter.name not in parts
        ]
        named = [
            parameter
            for parameter in parameters
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        fields = {
            p.name: (p.annotation, ... if p.default is p.empty else p.default)
            for p in named
        }
        extra: Any = "forbid" if named == parameters else "allow"
        config = ConfigDict(
            extra=extra, arbitrary_types_allowed=True, protected_namespaces=()
        )
        checked = create_model("Arguments", __config__=config, **fields).model_validate(
            arguments
        )
        fields = {}
        supplied = {name: getattr(checked, name) for name in arguments}
        for name, record in flat_records(target).items():
            own = record.model_fields.keys() & supplied.keys()
            parts[name] = record(**{field: supplied.pop(field) for field in own})
        return target(**supplied, **parts)
    except ValidationError as error:
        raise ConfigError(explain(error, group, list(fields))) from None
    except UndogmaticError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(
            lacking(error, group) or f"`{group}` cannot be built: {raised(error)}."
        ) from None


KINDS = {
    "model": ("undogmatic.models.base", "Model"),
    "readout": ("undogmatic.readouts.base", "Readout"),
    "judge": ("undogmatic.judges.base", "Judge"),
    "judges": ("undogmatic.judges.base", "Judge"),
    "steps": ("undogmatic.engine.step", "Step"),
    "prompt": ("undogmatic.readouts.prompt", "Prompt"),
    "rubric": ("undogmatic.records.rubric", "Rubric"),
    "dataset": ("", "load"),
    "analysis": ("", "check", "__call__"),
    "optimizer": ("", "compile"),
    "fit": ("", "__call__"),
    "engine": ("undogmatic.engine.local", "Engine"),
    "tracking": ("", "log"),
}
"""What the class of each group must be: a class to come from, or what it must be able to do."""

# The largest number that means anything in a config; what has a closer bound says so itself
LARGEST = 1e12
LONGEST = 100_000  # Characters of one text: an instruction may be long


def check_values(node: Any, key: str) -> None:
    """Raise ConfigError for a number that is none or absurd, and for a text that cannot be written
    to a file."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            check_values(name, key)
            check_values(value, f"{key}.{name}" if key else str(name))
    elif isinstance(node, list | tuple):
        for n, value in enumerate(node):
            check_values(value, f"{key}[{n}]")
    elif isinstance(node, str):
        if len(node) > LONGEST:
            raise ConfigError(
                f"`{key}` is a text of {len(node):,} characters; {LONGEST:,} are the most."
            )
        if "\0" in node or has_halves(node):
            raise ConfigError(
                f"`{key}` is {node[:80]!r}: it holds a character that no file can hold."
            )
    elif isinstance(node, int | float) and not isinstance(node, bool):
        if isinstance(node, float) and not math.isfinite(node):
            raise ConfigError(f"`{key}` is {node}; it must be a finite number.")
        # A thousand billions is a slip of a key. Later it would be a loop that never
        # ends.
        if abs(node) > LARGEST:
            shown = (
                f"{node:g}"
                if isinstance(node, float) or node.bit_length() < 1000
                else "endless"
            )
            raise ConfigError(
                f"`{key}` is {shown}; no number here may be beyond {LARGEST:g}."
            )


def check_booleans(value: Any, key: str, hints: Sequence[Any]) -> None:
    """Raise ConfigError for true or false where a number is meant (`hints`: what the place takes).
    Python counts them as 1 and 0, so that a slip such as `calls_per_minute: yes` would set a limit
    that nobody wanted.
    """
    if isinstance(value, bool):
        if not {int, float}.isdisjoint(hints) and {bool, object, Any}.isdisjoint(hints):
            shown, number = str(value).lower(), int(value)
            what = f"`{key}` is {shown}; it must be a number, and {shown} is none"
            raise ConfigError(f"{what}. If {number} is meant: `{key}={number}`.")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            check_booleans(inner, f"{key}.{name}", [*inside(hints, str(name))])
    elif isinstance(value, list | tuple):
        for n, inner in enumerate(value):
            check_booleans(inner, f"{key}[{n}]", [*inside(hints, n)])


def resolve(path: Any, group: str, kind: str | type | None = None) -> Any:
    """Import what `_target_` names at the key `group`. `kind` is what it must be, a class or a key
    of KINDS; None: as the key's last word says. Raises ConfigError where it may not be built or
    imported, or is of another kind.
    """
    if not isinstance(path, str) or "." not in path:
        is_what = "missing (is the file empty?)" if path is None else brief(path)
        section = group.partition(".")[0]
        raise ConfigError(
            f"`{group}._target_` is {is_what}; it must name a class, as in the files of"
            f" conf/{section}/."
        )
    target = imported(path, f"{group}._target_")
    if not inspect.isclass(target):
        raise ConfigError(f"`{group}._target_` is {path!r}, which is not a class.")
    # Where it is defined counts, and not where it was found: an allowed module may have
    # imported anything.
    whole_name = f"{target.__module__}.{target.__qualname__}"
    if not permits(f"{target.__module__}.{path.rpartition('.')[2]}"):
        raise ConfigError(
            f"`{group}._target_` is {path!r}, which is {whole_name} under another name; only"
            f" classes of {', '.join(allowed())} may be built from a config."
        )
    kind = kind or _last_word(group)
    if isinstance(kind, str) and kind not in KINDS:
        return target
    module, *names = (
        KINDS[kind] if isinstance(kind, str) else (kind.__module__, kind.__name__)
    )
    able = {
        name
        for each in target.__mro__
        if not each.__module__.startswith("dspy.")
        for name in vars(each)
    }
    is_base = (
        module
        and kind not in ("prompt", "rubric")
        and [target.__module__, target.__name__] == [module, *names]
    )
    if is_base or getattr(target, "_is_protocol", False):
        why = (
            "only says what such a class must be able to do. Name one that does it, as the files of"
            " conf/ do"
        )
    elif module and not issubclass(
        target, getattr(importlib.import_module(module), names[0])
    ):
        why = f"is no {module}.{names[0]}"
    elif not module and (lacking := [name for name in names if name not in able]):
        why = f"has no `{lacking[0]}`"
    else:
        return target
    raise ConfigError(
        f"`{group}._target_` is '{whole_name}', which cannot be used here: it {why}."
    )


def _nested(value: Any, key: str, hints: Sequence[Any]) -> Any:
    """The value at a key with what it describes built. Raises ConfigError for a class that its
    place does not take (`hints`), before anything is built: some classes open files when they are
    made."""
    # The class is held against what its place takes before it is built, since building
    # may open files or connections.
    if isinstance(value, Mapping) and "_target_" in value:
        target = resolve(value["_target_"], key)
        if not any(_takes(hint, target) for hint in hints) and not (
            Any in hints and _last_word(key) in KINDS
        ):
            raise ConfigError(
                f"`{key}._target_` is {value['_target_']!r}, and `{key}` takes no such object."
            )
        return build(value, key)
    if isinstance(value, Mapping):
        return {
            k: _nested(v, f"{key}.{k}", [*inside(hints, str(k))])
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [
            _nested(v, f"{key}[{n}]", [*inside(hints, n)]) for n, v in enumerate(value)
        ]
    return value


def places(target: Any) -> dict[str, list[Any]]:
    """What each key of a class takes: its annotation, or the parts of a union; `**`: any further
    key."""
    if issubclass(target, BaseModel):
        hints = {name: field.annotation for name, field in target.model_fields.items()}
    else:
        hints = {
            "**" if p.kind is p.VAR_KEYWORD else p.name: p.annotation
            for p in _parameters(target)
        }
    return {"**": []} | {name: _alternatives(hint) for name, hint in hints.items()}


def _parameters(target: Any) -> list[inspect.Parameter]:
    """The parameters of a constructor that take a name, with their annotations resolved; in place
    of one that takes a `Flat` record, the fields of the record."""
    # which says that it takes anything, and takes nothing
    if target.__init__ is object.__init__:
        return []
    hints = typing.get_type_hints(target.__init__, include_extras=True)
    records = flat_records(target)
    found = []
    for parameter in list(inspect.signature(target.__init__).parameters.values())[1:]:
        if parameter.name in records:
            found.extend(_fields(records[parameter.name]))
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            found.append(parameter.replace(annotation=hints.get(parameter.name, Any)))
    return found


def flat_records(target: Any) -> dict[str, type[Flat]]:
    """The parameters of a constructor that take a `Flat` record, each with its class."""
    if target.__init__ is object.__init__:
        return {}
    hints = typing.get_type_hints(target.__init__)
    return {
        name: hint
        for name, hint in hints.items()
        if inspect.isclass(hint) and issubclass(hint, Flat) and name != "return"
    }


def _fields(record: type[Flat]) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.is_required() else field.default,
            annotation=hints[name],
        )
        for name, field in record.model_fields.items()
    ]


def _alternatives(hint: Any) -> list[Any]:
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind not in (typing.Annotated, typing.Union, types.UnionType):
        return [hint]
    return [
        one
        for part in (parts[:1] if kind is typing.Annotated else parts)
        for one in _alternatives(part)
    ]


def inside(hints: Sequence[Any], step: str | int) -> Iterator[Any]:
    """What a place inside one that takes these takes, by key or by number."""
    for hint in hints:
        kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
        within = Mapping if isinstance(step, str) else Sequence
        if hint is Any:
            yield hint
        elif inspect.isclass(hint) and issubclass(hint, BaseModel):
            yield from (
                _alternatives(hint.model_fields[str(step)].annotation)
                if step in hint.model_fields
                else ()
            )
        elif inspect.isclass(kind) and kind is not str and issubclass(kind, within):
            yield from _alternatives((inner or (Any,))[-1 if within is Mapping else 0])


def _takes(hint: Any, target: type) -> bool:
    """Whether objects of the class may stand where this is the annotation."""
    if not getattr(hint, "_is_protocol", False):
        return inspect.isclass(hint) and hint is not object and issubclass(target, hint)
    able = [
        name
        for name in get_protocol_members(hint)
        if callable(getattr(hint, name, None))
    ]
    return bool(able) and all(
        any(name in vars(each) for each in target.__mro__) for name in able
    )


def _last_word(key: str) -> str:
    return re.sub(r"\[\d+\]$", "", key).rpartition(".")[2]


def paired_settings(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a run's paired experiment: of several analyses, and of the suite, one level
    down."""
    paired = config.get("analysis")
    for outer in ("suite", "ab"):
        inner = paired.get(outer) if isinstance(paired, Mapping) else None
        paired = inner if isinstance(inner, Mapping) else paired
    return paired if isinstance(paired, Mapping) else {}

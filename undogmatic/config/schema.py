"""Makes a JSON Schema for the files of each config group from what their classes take, so that an
editor completes the keys of a YAML file, shows what they mean, and marks what would be refused.

Keys and types come from the constructors; what a key means comes from the docstring, from the
comment beside the parameter, or from the comment in the shipped file. A value may always be a
reference, such as `${rubric.name}`.
"""

import functools
import inspect
import re
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, BeforeValidator, TypeAdapter
from pydantic.errors import PydanticUserError

from undogmatic.config import listing
from undogmatic.config.build import Settings, _parameters, flat_records, resolve
from undogmatic.config.messages import OF_A_JUDGE, SUPPLIED
from undogmatic.errors import ConfigError
from undogmatic.records.records import Flat
from undogmatic.safety.outside import YAML_BYTES, read_text

WHOLE = ("experiment", "arm")  # groups whose files set keys of the whole config
REFERENCE = {"type": "string", "pattern": r"^(\$\{.*|\?\?\?)$"}
PACKAGES = {
    "type": "array",
    "description": "Files of groups that this one begins with.",
}
_TARGET = re.compile(r"^_target_: *[\"']?([\w.]+\.\w+)", re.MULTILINE)
_BESIDE = re.compile(r"^ *(\w+): *[^#\n]*# +(.+)$", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8,}.+)*)", re.MULTILINE)


def every_group() -> list[str]:
    """The groups that have files, in alphabetical order."""
    inside = {
        folder.name
        for place in listing.folders()
        if place.is_dir()
        for folder in place.iterdir()
    }
    return sorted(name for name in inside - {"hydra"} if _options(name))


def schema(group: str) -> dict[str, Any]:
    """The JSON Schema of a file in `conf/GROUP/`. Raises ConfigError for a group that does not
    exist."""
    if group not in (known := every_group()):
        raise ConfigError(f"there is no group {group!r}. Groups: {', '.join(known)}.")
    made = _whole(known) if group in WHOLE else _of_classes(group)
    head = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"{group} of undogmatic",
        "type": "object",
    }
    return head | made


def _options(group: str) -> dict[str, Path]:
    return listing.options(group, listing.folders())


def _targets(group: str) -> dict[str, dict[str, str]]:
    """The classes that the files of a group build, by their dotted names, with what the files'
    comments say of keys."""
    found: dict[str, dict[str, str]] = {}
    for path in _options(group).values():
        text = read_text(path, YAML_BYTES)
        if target := _TARGET.search(text):  # none where the file goes on from another
            found[target[1]] = dict(_BESIDE.findall(text)) | found.get(target[1], {})
    return found


def _of_classes(group: str) -> dict[str, Any]:
    """A file that builds one of several classes: `_target_` decides which keys there are."""
    definitions: dict[str, Any] = {}
    branches = []
    known = _targets(group)
    for path, told in known.items():
        target = resolve(path, group)
        keys, required, more = _keys(target, told, definitions)
        keys |= {"_target_": True, "defaults": PACKAGES}
        if group == "judge":
            keys = {
                name: _loose({}, f"The {name} of this judge alone.")
                for name in OF_A_JUDGE
            } | keys
        about = {"properties": {"_target_": {"const": path}}, "required": ["_target_"]}
        branches.append(
            {"if": about, "then": {"properties": keys, "additionalProperties": more}}
        )
        if required:  # unless the files that it begins with give them
            whole = about | {"not": {"required": ["defaults"]}}
            branches.append({"if": whole, "then": {"required": required}})
    target = {
        "anyOf": [{"enum": sorted(known)}, {"type": "string"}],
        "description": "The class that is built.",
    }
    begun = [{"required": ["_target_"]}, {"required": ["defaults"]}]
    made = {"properties": {"_target_": target}, "anyOf": begun} | (
        {"allOf": branches} if branches else {}
    )
    return made | ({"definitions": definitions} if definitions else {})


def _keys(
    target: Any, told: Mapping[str, str], definitions: dict[str, Any]
) -> tuple[dict[str, Any], list[str], bool]:
    """The keys that a class takes, those that it must be given, and whether it takes any others."""
    about = _meanings(target)
    if issubclass(target, BaseModel):
        whole = target.model_json_schema(ref_template="#/definitions/{model}")
        definitions |= whole.get("$defs", {})
        keys = {
            name: _loose(each, about.get(name) or told.get(name))
            for name, each in whole["properties"].items()
        }
        return (
            keys,
            whole.get("required", []),
            whole.get("additionalProperties", True) is not False,
        )
    keys, required, more = dict[str, Any](), list[str](), False
    for parameter in _parameters(target):
        kind = getattr(parameter.annotation, "__name__", "")
        if parameter.kind is parameter.VAR_KEYWORD:
            more = True
        if kind in ("Asker", "Readout"):  # what asks has words of its own, by language
            keys["wordings"] = {
                "type": "object",
                "description": "The words that it asks with, by language.",
            }
        if parameter.kind is parameter.VAR_KEYWORD or kind in SUPPLIED:
            continue
        found = _typed(parameter.annotation, definitions)
        if (
            found
            and parameter.default is not parameter.empty
            and isinstance(parameter.default, str | int | float)
        ):
            found = found | {"default": parameter.default}
        elif found and parameter.default is parameter.empty:
            required.append(parameter.name)
        keys[parameter.name] = _loose(
            found, about.get(parameter.name) or told.get(parameter.name)
        )
    return keys, required, more


def _typed(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of one type; {} for what is built from a mapping of its own, such as a judge."""
    if _built(annotation):
        return {}
    try:
        made = TypeAdapter(annotation).json_schema(ref_template="#/definitions/{model}")
    except (PydanticUserError, NameError):
        return {}
    definitions |= made.pop("$defs", {})
    return made


def _built(annotation: Any) -> bool:
    """Whether a class of the program's own that is no record of data stands anywhere in a type."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return not issubclass(annotation, BaseModel) and annotation.__module__ not in (
            "builtins",
            "types",
            "pathlib",
        )
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        # it takes more than its type says
        if any(isinstance(mark, BeforeValidator) for mark in inner[1:]):
            return True
        inner = inner[:1]
    return typing.get_origin(annotation) is not typing.Literal and any(
        map(_built, inner)
    )


def _loose(schema: Mapping[str, Any], about: str | None) -> dict[str, Any]:
    """A key's schema that takes a reference as well, with what the key means."""
    inner = {
        key: value
        for key, value in schema.items()
        if key not in ("title", "default", "description")
    }
    kept = {
        key: value for key, value in schema.items() if key in ("default", "description")
    }
    free = not inner or inner == {"type": "string"}
    return (
        (dict(inner) if free else {"anyOf": [inner, REFERENCE]})
        | kept
        | ({"description": about} if about else {})
    )


def _meanings(target: Any) -> dict[str, str]:
    """What each argument means: by the docstring's list, else by the comment beside it."""
    found: dict[str, str] = {}
    for each in (target, *target.__mro__[1:]):
        found = _comments(each) | found
    if not issubclass(target, BaseModel):
        for record in flat_records(target).values():
            for each in reversed(record.__mro__):
                found |= _meanings(each) if issubclass(each, Flat) else {}
    documented = inspect.getdoc(target) or ""
    for names, text in _ARGUMENT.findall(documented):
        found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


@functools.cache
def _comments(kind: type) -> dict[str, str]:
    if kind.__module__.startswith(("pydantic", "dspy", "builtins", "typing")):
        return {}
    return dict(_BESIDE.findall(inspect.getsource(kind)))


def _whole(known: list[str]) -> dict[str, Any]:
    """A file that chooses options and sets keys of the whole config: an experiment or an arm."""
    own = Settings.model_json_schema(ref_template="#/definitions/{model}")
    definitions = own.pop("$defs", {})
    keys: dict[str, Any] = {
        "hydra": {
            "type": "object",
            "description": "Of Hydra itself: what a sweep goes over.",
        }
    }
    choices = dict[str, Any]()
    for group in known:
        inside: dict[str, Any] = {}
        for path, told in _targets(group).items() if group not in WHOLE else ():
            for name, each in _keys(resolve(path, group), told, {})[0].items():
                inside.setdefault(
                    name, {k: v for k, v in each.items() if k == "description"}
                )
        keys[group] = {"type": ["object", "null"], "properties": inside}
        option = {
            "anyOf": [{"enum": list(_options(group))}, {"type": ["string", "null"]}]
        }
        choices |= {f"override /{group}": option, f"/{group}": option}
    listed = {"type": ["object", "string"], "properties": choices}
    keys |= {
        name: _loose(own["properties"][name], None)
        for name in own["properties"]
        if name not in keys
    }
    return {
        "properties": keys | {"defaults": PACKAGES | {"items": listed}},
        "additionalProperties": False,
        "definitions": definitions,
    }

"""The command line's overrides: lists of analyses, which Hydra would merge into one; and what it could not compose, in
our words: the key, what was typed, what is close or known, the next step."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from hydra.core.config_store import ConfigStore
from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from undogmatic.errors import UndogmaticError
from undogmatic.searchpath import options


def combined(words: Sequence[str]) -> list[str]:
    """The overrides with each list of analyses as one option: analysis=[a,b] becomes analysis=a+b, which is made here.

    The option holds a key per analysis, so that analysis.a.level=0.9 sets it. Hydra hands its store of configs on to
    the processes of a sweep's jobs, whatever the launcher.
    """
    return [_combined(word) if word.partition("=")[0] == "analysis" else word for word in words]


def _combined(word: str) -> str:
    word = re.sub(r"\[([^\[\]]+)\]", lambda found: "+".join(re.split(r"\s*,\s*", found[1].strip())), word)
    for option in re.findall(r"[\w-]+(?:\+[\w-]+)+", word.partition("=")[2]):
        defaults = [f"{name}@{name}" for name in dict.fromkeys(option.split("+"))]
        node = {"defaults": defaults, "_target_": "undogmatic.analyses.several.SeveralAnalyses"}
        ConfigStore.instance().store(option, node, group="analysis")
    return word


def typed_wrongly(error: BaseException) -> bool:
    """Whether it was Hydra or OmegaConf that refused what was given, as against a fault of ours."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_globals["__name__"].partition(".")[0] in ("hydra", "omegaconf")


def ours(error: BaseException) -> UndogmaticError | None:
    """An error of ours that a resolver raised, from inside OmegaConf's."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, UndogmaticError):
        cause = cause.__cause__ or cause.__context__
    return cause


def explain(error: Exception, words: Sequence[str]) -> str:
    """One message for what composing `words` raised.

    Args:
        error: Of Hydra or OmegaConf.
        words: The command line's overrides; other words among them do no harm.
    """
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        return _unknown_option(error, words)
    if isinstance(cause, ConfigAttributeError | ConfigKeyError) and isinstance(cause.parent_node, DictConfig):
        return _unknown_key(cause, words)
    if isinstance(error, OverrideParseException):
        return (
            f"`{error.override}` cannot be read as an override. Write KEY=VALUE, without spaces around the `=`; put "
            f"quotes around a value with brackets, commas or spaces: 'KEY=\"VALUE\"'."
        )
    if isinstance(error, OmegaConfBaseException):
        return str(ours(error) or error).splitlines()[0]
    lines = [line.strip() for line in str(error).partition("Config search path:")[0].splitlines()]
    reason = f" {str(cause).splitlines()[0]}" if isinstance(cause, OmegaConfBaseException) else ""
    return " ".join(filter(None, lines)) + reason


def _unknown_option(error: MissingConfigException, words: Sequence[str]) -> str:
    """A file that is in no group's folder, typed or named in another file's defaults list."""
    group, _, option = str(error.missing_cfg_file).rpartition("/")
    known = sorted(error.options or options(group))
    typed = next((word for word in words if _key(word) == group and option in word.partition("=")[2]), None)
    if not group or typed is None:
        said = str(error).splitlines()[0].rstrip(".") + "."
        return f"{said} Options of {group}: {', '.join(known)}." if group else said
    close = difflib.get_close_matches(option, known, 1)
    before, _, value = typed.partition("=")
    step = f"Did you mean {before}={value.replace(option, close[0], 1)}?" if close else f"Choose one: {group}=OPTION."
    return f"`{group}` has no option {option!r} (you typed {typed}). {step} Options: {', '.join(known)}."


def _unknown_key(cause: ConfigAttributeError | ConfigKeyError, words: Sequence[str]) -> str:
    """A key that the composed config does not have."""
    full, node = str(cause.full_key), cause.parent_node
    section, _, key = full.rpartition(".")
    typed = _typed(full, words)
    said = f"`{full}` is not a known key" + (f" (you typed {typed})." if typed is not None else ".")
    plain = OmegaConf.to_container(node, resolve=False) or {}
    assert isinstance(plain, dict)
    known = [str(k) for k in plain if k not in ("_target_", "hydra")]
    if not section:
        known += [group for group in options("") if group not in known]
    if not known:
        return f"{said} `{section}` is a single value: {section}=VALUE."
    group = section.partition(".")[0]
    if any(_key(word) == group and "," in re.sub(r"\[.*?\]", "", word) for word in words):
        # Hydra checks a sweep's words without the options swept over; one of these may well have the key.
        return f"{said} It was looked up in the default {group}, as {group} is swept over; to set it: ++{full}=VALUE."
    # Else perhaps a name on the way was left out: concurrency=3, analysis.alpha=0.01.
    deeper = [f"{name!s}.{key}" for name, value in plain.items() if isinstance(value, dict) and key in value]
    close = [f"{section}.{name}".lstrip(".") for name in difflib.get_close_matches(key, known, 1) or deeper]
    if close and typed is not None and full in typed:
        step = f"Did you mean {typed.replace(full, close[0], 1)}?"
    elif close:
        step = f"Did you mean `{close[0]}`?"
    else:
        step = f"To add a key that its file does not list: +{full}=VALUE."
    return f"{said} {step} Known{f' in {section}' if section else ''}: {', '.join(known)}."


def _key(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]


def _typed(full: str, words: Sequence[str]) -> str | None:
    """The word that sets this key, one inside it, or a mapping around it."""
    for word in words:
        key = _key(word)
        if f"{key}.".startswith(f"{full}.") or ("{" in word and full.startswith(f"{key}.")):
            return word
    return None

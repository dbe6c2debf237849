"""The command line's overrides: lists of analyses, and what Hydra could not compose, in our
words."""

import difflib
import re
import traceback
from collections.abc import Sequence

from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationKeyError,
    OmegaConfBaseException,
)

from undogmatic.config.groups import keys_of, options
from undogmatic.errors import ConfigError, UndogmaticError, ours
from undogmatic.safety.outside import has_halves

# Characters of a word: reading one takes time that grows with its brackets
LONGEST = 20_000


def combined(words: Sequence[str]) -> list[str]:
    """The overrides with each list of analyses as one option: analysis=[a,b] becomes analysis=a+b,
    which is made here with a key per analysis, so that analysis.a.level=0.9 sets it. Hydra hands
    its store of configs on to the processes of a sweep's jobs, whatever the launcher. Raises
    ConfigError for a word that cannot be read at all.
    """
    for word in words:
        if len(word) > LONGEST:
            raise ConfigError(
                f"`{_key(word)[:80]}` is given in {len(word):,} characters; {LONGEST:,} are the"
                " most."
            )
        if has_halves(word) or "\0" in word:
            raise ConfigError(
                f"{word[:80]!r} is no text in UTF-8, so it cannot be a word of a command."
            )
        if max(word.count(bracket) for bracket in "[{(") > 500:
            raise ConfigError(
                f"`{_key(word)[:80]}` is given with more than 500 brackets; put it into a file."
            )
    joined = list(map(_of_table, words))
    for n, word in enumerate(words):
        if word.partition("=")[0] != "analysis":
            continue
        joined[n] = re.sub(
            r"\[([^\[\]]+)\]",
            lambda names: "+".join(re.split(r"\s*,\s*", names[1].strip())),
            word,
        )
        for option in re.findall(r"[\w/-]+(?:\+[\w/-]+)+", joined[n].partition("=")[2]):
            parts = [
                f"/analysis/{name}@{name.rpartition('/')[2]}"
                for name in dict.fromkeys(option.split("+"))
            ]
            node = {
                "defaults": parts,
                "_target_": "undogmatic.examinations.suite.SeveralAnalyses",
            }
            folder, _, name = f"analysis/{option}".rpartition("/")
            ConfigStore.instance().store(name, node, group=folder)
    return joined


def _of_table(word: str) -> str:
    """A word about the columns of a table as Hydra takes it: names and labels with accents, spaces
    or signs are put into quotes, and `dataset.columns`, whose keys hang on the rubric, takes new
    keys without a plus.
    """
    key, mark, value = word.partition("=")
    if not key.startswith(("dataset.columns.", "dataset.label_scale", "dataset.sheet")):
        return word
    if not re.search(r"[\"'${}\\]", value):
        safe = re.compile(r"[\w./:+-]+", re.ASCII)
        value = re.sub(
            r"[^\[\],]+",
            lambda part: part[0] if safe.fullmatch(part[0]) else f"'{part[0].strip()}'",
            value,
        )
    return f"{'++' if key.startswith('dataset.columns.') else ''}{key}{mark}{value}"


def typed_wrongly(error: BaseException) -> bool:
    """Whether it was Hydra or OmegaConf that refused what was given: neither a fault of ours nor an
    error of ours, which says itself what is wrong."""
    if isinstance(error, UndogmaticError):
        return False
    *_, (frame, _line) = [(None, 0), *traceback.walk_tb(error.__traceback__)]
    name = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    raised_there = (
        name.partition(".")[0] in ("hydra", "omegaconf", "antlr4")
        or name == "logging.config"
    )
    return raised_there or isinstance(error, HydraException | RecursionError)


def explain(error: Exception, words: Sequence[str]) -> str:
    """Return one message for what Hydra or OmegaConf raised of composing `words` (others among them
    do no harm)."""
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        return _unknown_option(error, words)
    if isinstance(cause, ConfigAttributeError | ConfigKeyError) and isinstance(
        cause.parent_node, DictConfig
    ):
        return _unknown_key(cause, words)
    if isinstance(error, OverrideParseException):
        return (
            f"`{error.override}` cannot be read as an override. Write KEY=VALUE, without spaces"
            " around the `=`; put quotes around a value with brackets, commas or spaces:"
            " 'KEY=\"VALUE\"'."
        )
    if isinstance(error, OmegaConfBaseException):
        reason = str(ours(error) or error).splitlines()[0]
        lost = isinstance(error, InterpolationKeyError)
        return (
            f"`{error.full_key}` refers to a key that is not there: {reason}."
            if lost
            else reason
        )
    message = str(error).partition("Config search path:")[0]
    if there := re.match(
        r"Could not append to config\. An item is already at '([^']+)'", message
    ):
        key = there[1]
        remedy = f"To set it whether or not it is there: ++{there[1]}=..."
        typed = next(
            (f"you typed {word}" for word in words if _key(word) == key),
            f"a file that you chose says +{key}",
        )
        message = f"`{key}` is there already, so `+` cannot add it ({typed}). {remedy}"
    message = " ".join(filter(None, (line.strip() for line in message.splitlines())))
    if not message:
        return f"these words cannot be composed ({type(error).__name__}): {' '.join(words)[:300]}"
    reason = (
        f" {str(cause).splitlines()[0]}"
        if isinstance(cause, OmegaConfBaseException)
        else ""
    )
    if str(error).startswith("Unable to configure"):  # what logging says of its config
        levels = "DEBUG, INFO, WARNING, ERROR and CRITICAL"
        reason = f": {cause}. See hydra.job_logging and hydra.hydra_logging; levels are {levels}."
    return (message + reason)[:600]


def _unknown_option(error: MissingConfigException, words: Sequence[str]) -> str:
    """A file that is in no group's folder, typed or named in another file's defaults list."""
    group, _, option = str(error.missing_cfg_file).rpartition("/")
    known = sorted(error.options or options(group))
    # a folder is part of the option's name: judge=FOLDER/NAME
    if "/" in group and group not in map(_key, words):
        group, _, folder = group.partition("/")
        option = f"{folder}/{option}"
        known = [f"{folder}/{name}" for name in options(f"{group}/{folder}")] or known
    typed = next(
        (
            word
            for word in words
            if _key(word) == group and option in word.partition("=")[2]
        ),
        None,
    )
    if not group or typed is None:
        message = str(error).splitlines()[0].rstrip(".") + "."
        return (
            f"{message} Options of {group}: {', '.join(known)}." if group else message
        )
    close = difflib.get_close_matches(option, known, 1)
    before, _, value = typed.partition("=")
    step = (
        f"Did you mean {before}={_with_option(value, option, close[0])}?"
        if close
        else f"Choose one: {group}=OPTION."
    )
    return (
        f"`{group}` has no option {option!r} (you typed {typed}). {step} Options:"
        f" {', '.join(known)}."
    )


def _with_option(value: str, wrong: str, right: str) -> str:
    """A value with the right name of an option in place of a wrong one, of which it may list
    several; what is listed already is not named twice."""
    if "," not in value:
        return value.replace(wrong, right, 1)
    bare = value.strip().removeprefix("[").removesuffix("]")
    names = [right if name.strip() == wrong else name for name in bare.split(",")]
    return value.replace(bare, ",".join(dict.fromkeys(names)), 1)


def _unknown_key(
    cause: ConfigAttributeError | ConfigKeyError, words: Sequence[str]
) -> str:
    full, node = str(cause.full_key), cause.parent_node
    section, _, key = full.rpartition(".")
    # a word sets the key, one inside it, or a mapping around it
    keyed = [(word, f"{_key(word)}.") for word in words]
    setting = (
        word
        for word, k in keyed
        if k.startswith(f"{full}.") or ("{" in word and full.startswith(k))
    )
    typed = next(setting, None)
    what = f"`{full}` is not a known key" + (
        f" (you typed {typed})." if typed is not None else "."
    )
    plain = OmegaConf.to_container(node, resolve=False) or {}
    assert isinstance(plain, dict)
    known = [str(k) for k in plain if k not in ("_target_", "hydra")]
    if not section:
        known += [group for group in options("") if group not in known]
    if not known and "_target_" not in plain:
        takes = section.startswith("hydra.") or accepted(node, section, key)
        step = (
            f"holds nothing yet. To add to it: +{full}=VALUE."
            if takes
            else f"is a single value: {section}=VALUE."
        )
        return f"{what} `{section}` {step}"
    group = section.partition(".")[0]
    if any(
        _key(word) == group and "," in re.sub(r"\[.*?\]", "", word) for word in words
    ):
        # Hydra checks a sweep's words without the options swept over; one of these may well have
        # the key.
        return (
            f"{what} It was looked up in the default {group}, as {group} is swept over; to set it:"
            f" ++{full}=VALUE."
        )
    # Else perhaps a name on the way was left out: concurrency=3, analysis.alpha=0.01.
    deeper = [
        f"{name!s}.{key}"
        for name, value in plain.items()
        if isinstance(value, dict) and key in value
    ]
    close = [
        f"{section}.{name}".lstrip(".")
        for name in difflib.get_close_matches(key, known, 1) or deeper
    ]
    if close:
        corrected = (
            typed.replace(full, close[0], 1)
            if typed is not None and full in typed
            else f"`{close[0]}`"
        )
        step = f"Did you mean {corrected}?"
    elif accepted(node, section, key):
        step = f"To add a key that its file does not list: +{full}=VALUE."
    else:
        options_here = options(group) if section == group else []
        having = [
            f"{group}={name}" for name in options_here if key in keys_of(group, name)
        ]
        step = (
            f"{', '.join(having)} {'has' if len(having) == 1 else 'have'} it."
            if having
            else ""
        )
    listed = (
        f"Known{f' in {section}' if section else ''}: {', '.join(known)}."
        if known
        else ""
    )
    if not known and section.startswith("judge"):
        listed = (
            "Its file lists no keys. To add:"
            f" {', '.join(f'+{section}.{part}=NAME' for part in OF_A_JUDGE)}."
        )
    return " ".join(filter(None, [what, step, listed]))


# What every judge may have of its own (`engine.recipe`).
OF_A_JUDGE = (
    "prompt",
    "model",
    "readout",
)
# What a run hands to a constructor, so that no key may
SUPPLIED = (
    "Asker",
    "Readout",
    "Rubric",
    "Prompt",
)


def accepted(node: DictConfig, section: str, key: str) -> bool:
    """Whether `+SECTION.KEY=VALUE` would be accepted: by the class that the nearest `_target_`
    around it names."""
    from undogmatic.config.build import inside, places, resolve

    way = [key]
    while node is not None and OmegaConf.is_dict(node) and "_target_" not in node:
        way.insert(0, str(node._key()))
        node = node._get_parent()  # type: ignore[assignment]
    if node is None or not OmegaConf.is_dict(node):
        return False  # a section of the program's own, which takes what it lists
    try:
        taken = places(resolve(node["_target_"], section.rsplit(".", len(way) - 1)[0]))
    except (UndogmaticError, OmegaConfBaseException, TypeError):
        return False
    hints = taken.get(way[0], taken["**"])
    if len(way) == 1:
        if section.startswith("judge") and key in OF_A_JUDGE:
            return True
        return bool(hints) and {
            getattr(hint, "__name__", "") for hint in hints
        }.isdisjoint(SUPPLIED)
    for step in way[1:]:
        hints = [*inside(hints, step)]
    return bool(hints)


def _key(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]

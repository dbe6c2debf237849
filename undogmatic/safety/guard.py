"""The doors through which a secret could come in with the words and configs of a run, or go out past `files`.

In: the environment and `.env`, the words of the command line, config files. What would be kept where it is seen by all
who see the run's folder (a key as `model.api_key`, in the user part of an address, in its query) is refused before
anything is written; all else is known from then on and hidden. Out: the terminal and the logs. (The files that Hydra
writes itself: `runs.manifest`.)

Imported by every command, so it stays light.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.outside import read_env, visible
from undogmatic.safety.secrets import has_secret, keep_environment, learn, leaves, scrub, scrub_data, secret_name

_OWN = frozenset({"model", "tracking", "engine"})
"""The sections whose keys are ours, so that a secret's name there is a mistake; `extra` in them is the server's."""
_THEIRS = frozenset({"extra", "options", "rubric", "prompt", "wordings", "texts"})
_WORD = re.compile(r"([+~]{0,2})([\w./-]+)(?:@[\w.]+)?=([\s\S]*)")
_PAIR = re.compile(r"(?<![\w-])([\w-]{1,200})\s{0,9}:\s*('[^']*'|\"[^\"]*\"|[^,{}\[\]]+)")


def know_environment() -> None:
    """Know the secrets in the environment and in `.env`. A damaged `.env` is refused where it is needed."""
    keep_environment(os.environ)
    with contextlib.suppress(DataError):
        keep_environment(read_env(Path(".env")))


def check_words(words: Sequence[str]) -> None:
    """Know the secrets in overrides, and refuse those that would be kept in the open. Raises ConfigError, whose message
    does not repeat them."""
    know_environment()
    for place, value in know_words(words):
        _refuse(place, value)


def know_words(words: Sequence[str]) -> list[tuple[str, str]]:
    """Know the secrets in overrides; what these give, as places and values."""
    given = [pair for word in words for pair in _given(word)]
    for place, value in given:
        learn(value, place)
    return given


def check_config(config: Any) -> None:
    """`check_words` for a composed config, references and all; without Hydra's own part. Raises ConfigError."""
    know_environment()
    from omegaconf import OmegaConf

    plain: Any = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
    plain.pop("hydra", None)
    learn(plain, "")
    for place, value in leaves(plain, ""):
        _refuse(place, value)


def without_secrets(plain: Any) -> Any:
    """What Hydra or we may write down of a config or of a list of overrides, given as plain data."""
    know_environment()
    if isinstance(plain, dict):
        hydra = plain.get("hydra") or {}
        learn({key: value for key, value in plain.items() if key != "hydra"}, "")
        learn(hydra.get("job", {}).get("env_set") or {}, "hydra.env_set")
        know_words([str(word) for words in (hydra.get("overrides") or {}).values() for word in words])
    elif isinstance(plain, list):
        know_words(list(map(str, plain)))
    return scrub_data(plain)


def _given(word: str) -> Iterator[tuple[str, str]]:
    """What an override gives, as places and values; of any other word the word itself."""
    if (found := _WORD.fullmatch(word)) is None:
        yield "", word
        return
    place, value = found[2].replace("/", "."), found[3].strip()
    yield place, value.strip("\"'")
    if not value.startswith(("'", '"')):
        for part in value.split(",") if "," in value else ():  # of a sweep, or of a list
            yield place, part.strip().strip("[]{}()\"'")
        for key, inner in _PAIR.findall(value):  # of a mapping, however deep
            yield f"{place}.{key}", inner.strip().strip("\"'")


def _refuse(place: str, value: str) -> None:
    parts = place.split(".")
    if not value or value in ("null", "???") or "${" in value or not _THEIRS.isdisjoint(parts):
        return
    if secret_name(place) and not _OWN.isdisjoint(parts[:-1]):
        raise ConfigError(
            f"`{place}` holds a secret, which would be kept in the run's folder and, typed, in the shell's history. "
            "Put it into the environment or .env and name the variable with model.key_env=NAME; what belongs into the "
            f"body of a request may be model.extra.{parts[-1]}='${{oc.env:NAME}}'."
        )
    if "://" in value and has_secret(value, also_users=parts[-1] == "api_base"):
        raise ConfigError(
            f"`{place}` holds a password, which would be kept in the run's overrides and reports. Put the address "
            f"into MLFLOW_TRACKING_URI in the environment and leave {place} out."
            if "tracking" in parts
            else f"`{place}` is an address with a user, password or key in it, which would be kept in the run's folder "
            "and reports. Put the key into the environment or .env and name the variable with model.key_env=NAME."
        )


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Nothing that is printed or logged inside holds a known secret; nor does the traceback that ends it."""
    know_environment()
    before = sys.stdout, sys.stderr, logging.getLogRecordFactory()
    guard_worker()
    try:
        yield
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before[:2]
        logging.setLogRecordFactory(before[2])


def guard_worker() -> None:
    """`guarded` for the rest of a process that a launcher started."""

    def clean_record(*arguments: Any, **more: Any) -> logging.LogRecord:
        """A record for the logs whose message and traceback hold no secret, whoever formats it."""
        record = logging.LogRecord(*arguments, **more)
        with contextlib.suppress(Exception):  # a message that does not fit its arguments: logging says so itself
            record.msg, record.args = visible(scrub(record.getMessage())), None
        if record.exc_info is not None and record.exc_info[0] is not None:
            record.exc_text = visible(scrub("".join(traceback.format_exception(*record.exc_info)).rstrip()))
        return record

    if not isinstance(sys.stdout, _Scrubbed):
        for name in ("stdout", "stderr"):
            if not isinstance(stream := getattr(sys, name), _Scrubbed | None):
                setattr(sys, name, _Scrubbed(stream))
        logging.setLogRecordFactory(clean_record)


class _Scrubbed:
    """A stream that writes its text without secrets and is the stream it stands for in all else."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(scrub(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __iter__(self) -> Any:
        return iter(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

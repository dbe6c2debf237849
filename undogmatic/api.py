"""The Python door: `score_text("...")` for a notebook or another program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, computed_field, model_validator

from undogmatic.config.door import Folders, compose_config, composed
from undogmatic.errors import DataError, StorageError, UndogmaticError
from undogmatic.records.records import Failure, Item, Judgment, Verdict, digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety.command import say
from undogmatic.safety.files import Log
from undogmatic.safety.paths import cache_folder
from undogmatic.safety.secrets import scrub_words

if TYPE_CHECKING:
    from undogmatic.config.build import Settings

DEFAULT_MODEL = "local"  # of conf/config.yaml
LOG, LOG_BYTES = "score.log", 10_000_000  # a longer one becomes score.log.1
_MODEL = re.compile(r"[+~]{0,2}model[=.@]")
_unlogged: list[str] = []


class ScoreResult(Verdict):
    """What `score_text` returns: the fields of a verdict, and `error` says why there is none."""

    kind: Literal["verdict"] = Field(default="verdict", exclude=True)
    raw_score: float | None = Field(default=None, exclude=True)
    doubt: float | None = Field(default=None, exclude=True)
    error: str | None = None
    model: str = ""
    readout: str = ""
    overrides: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _says_something(self) -> ScoreResult:
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_uncertain(self) -> bool | None:
        """Whether the level is high; None where the judge gives no level."""
        return super().is_uncertain

    @computed_field  # type: ignore[prop-decorator]
    @property
    def revised_score(self) -> float | None:
        """What a second look at the score came to; None where nothing was looked at again."""
        return super().revised_score


def score_text(text: str | Mapping[str, str], overrides: Sequence[str] = (), config_dir: Folders = ()) -> ScoreResult:
    """Score one text with the composed default, or with Hydra overrides such as ["model=gpt", "prompt=anchored_en"].

    Works with and without a running event loop. Where LLM_PROVIDER is set, and no override chooses a model, the model
    is `model=env`. What came of each text is appended to `score.log` in the cache folder (`paths.cache_folder`).

    Args:
        text: The text, or where the rubric judges several inputs, these by name.
        overrides, config_dir: See `compose_config`.
    Raises:
        ConfigError: An override or a key is wrong.
        DataError: The text is empty, or an input is missing.
    """
    return score_texts([text], overrides, config_dir)[0]


def score_texts(
    texts: Sequence[str | Mapping[str, str]], overrides: Sequence[str] = (), config_dir: Folders = ()
) -> list[ScoreResult]:
    """`score_text` for several texts, in order; the model is loaded once."""
    from undogmatic.config.build import settings

    return score_composed(texts, settings(scoring_config(overrides, config_dir)), overrides)


def scoring_config(overrides: Sequence[str] = (), config_dir: Folders = ()) -> dict[str, Any]:
    """`compose_config` for scoring: with `model=env` where LLM_PROVIDER is set and nothing else chooses a model."""
    from undogmatic.models.keys import setting

    config, choices = composed(overrides, config_dir)
    chosen = choices.get("model") != DEFAULT_MODEL or any(_MODEL.match(word) for word in overrides)
    if chosen or setting("LLM_PROVIDER") is None:
        return config
    return compose_config([*overrides, "model=env"], config_dir)


def score_composed(
    texts: Sequence[str | Mapping[str, str]], chosen: Settings, overrides: Sequence[str] = ()
) -> list[ScoreResult]:
    """`score_texts` with a config that is composed already; `overrides` are noted in the results."""
    from undogmatic.config.build import build
    from undogmatic.engine.recipe import judged

    rubric: Rubric = build(chosen.rubric, "rubric")
    items = [_item(n, text, rubric) for n, text in enumerate(texts, 1)]
    try:
        results = [_result(judgment, overrides) for judgment in judged(items, chosen)]
    except UndogmaticError as error:
        _log([{"error": type(error).__name__}])
        raise
    _log(
        {"text": digest(item.inputs)[:12], "error": None if result.error is None else result.error.partition(":")[0]}
        | result.model_dump(include={"model", "readout", "score", "category"})
        for item, result in zip(items, results, strict=True)
    )
    return results


def _log(lines: Iterable[Mapping[str, Any]]) -> None:
    """Append to the log of scores; one that cannot be written is said once. Its lines hold no judged text, and so of an
    error only the kind: its message may quote a model's answer, which may quote the text."""
    path = cache_folder() / LOG
    try:
        if path.is_file() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_name(f"{LOG}.1"))
        with Log(path) as log:
            for line in lines:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                log.append(json.dumps({"time": now, **line}, ensure_ascii=False))
    except (StorageError, OSError) as error:
        if not _unlogged:
            _unlogged.append(str(error))
            say(f"the log of scores is not written: {error}")


def judge_items(items: Sequence[Item], overrides: Sequence[str] = ()) -> list[Judgment]:
    """Judge items with a composed config, without journal, analysis or tracking. In input order."""
    from undogmatic.config.build import settings
    from undogmatic.engine.recipe import judged

    return judged(items, settings(compose_config(overrides)))


def _item(number: int, text: str | Mapping[str, str], rubric: Rubric) -> Item:
    from undogmatic.datasets.base import make_item

    shown = ", ".join(rubric.inputs)
    if isinstance(text, str):
        if len(rubric.inputs) > 1:
            raise DataError(
                f"rubric={rubric.name} judges several inputs: {shown}. Give each by its name: --input "
                f"{rubric.inputs[0]}=... on the command line, a mapping in Python."
            )
        text = {rubric.inputs[0]: text}
    if wrong := sorted(set(rubric.inputs).symmetric_difference(text)):
        what = "is missing" if wrong[0] in rubric.inputs else "is none of them"
        raise DataError(f"text {number}: rubric={rubric.name} judges {shown}; `{wrong[0]}` {what}.")
    inputs = {name: text[name] for name in rubric.inputs}
    return make_item(f"text {number}", {"id": str(number), "inputs": inputs})


def _result(judgment: Judgment, overrides: Sequence[str]) -> ScoreResult:
    outcome, where = judgment.outcome, judgment.provenance
    if isinstance(outcome, Failure):
        said: dict[str, Any] = {"error": f"{outcome.reason}: {outcome.message}"}
    else:
        said = {name: getattr(outcome, name) for name in Verdict.model_fields}
    return ScoreResult(**said, model=where.model, readout=where.readout, overrides=tuple(map(scrub_words, overrides)))

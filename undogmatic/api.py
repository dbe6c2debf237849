"""The Python door: `score_text("...")` for a notebook or another program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Literal, TypeVar

from pydantic import Field

from undogmatic.errors import ConfigError
from undogmatic.records import Failure, Item, Judgment, Record, ScoreDistribution, Verdict

T = TypeVar("T")


class ScoreResult(Record):
    """What `score_text` returns. `score` is None exactly when `error` says why; the other fields are a verdict's."""

    score: float | None
    confidence: float | None = None
    interval: tuple[float, float] | None = None
    uncertainty: Literal["low", "medium", "high"] | None = None
    review: bool = False
    rationale: str | None = None
    issues: tuple[str, ...] = ()
    details: dict[str, float | str] = Field(default_factory=dict)
    distribution: ScoreDistribution | None = None
    error: str | None = None
    model: str = ""
    readout: str = ""
    overrides: tuple[str, ...] = Field(default=())


def score_text(text: str, overrides: Sequence[str] = ()) -> ScoreResult:
    """Score one text with the composed default, or with Hydra overrides such as ["model=gpt", "prompt=anchored_en"].

    Works with and without a running event loop.

    Raises:
        ConfigError: An override or a key is wrong.
        DataError: The text is empty.
    """
    return score_texts([text], overrides)[0]


def score_texts(texts: Sequence[str], overrides: Sequence[str] = ()) -> list[ScoreResult]:
    """`score_text` for several texts, in order; the model is loaded once."""
    from undogmatic.datasets.base import make_item

    items = [make_item(f"text {n}", {"id": str(n), "text": text}) for n, text in enumerate(texts, 1)]
    judgments = judge_items(items, overrides)
    return [_result(judgment, overrides) for judgment in judgments]


def judge_items(items: Sequence[Item], overrides: Sequence[str] = ()) -> list[Judgment]:
    """Judge items with a composed config, without journal, analysis or tracking. In input order."""
    from undogmatic.config import build, settings
    from undogmatic.engine.journal import Journals
    from undogmatic.engine.recipe import Recipe

    config = compose_config(overrides)
    recipe, engine = Recipe(config), build(settings(config).engine, "engine")
    return _outside_loop(engine.arun(recipe, items, Journals(None, recipe.build().steps)))[1]


def compose_config(overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The default config with overrides, resolved, as plain data. Raises ConfigError."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

    from undogmatic.overrides import explain
    from undogmatic.paths import conf_folder

    try:
        with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
            config = OmegaConf.to_container(compose("config", list(overrides)), resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise ConfigError(f"`{error.full_key}` is required. Set it with {error.full_key}=...") from None
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(explain(error, overrides)) from None
    assert isinstance(config, dict)
    return {str(k): v for k, v in config.items()}


def _result(judgment: Judgment, overrides: Sequence[str]) -> ScoreResult:
    outcome, where = judgment.outcome, judgment.provenance
    if isinstance(outcome, Failure):
        return ScoreResult(
            score=None,
            error=f"{outcome.reason}: {outcome.message}",
            model=where.model,
            readout=where.readout,
            overrides=tuple(overrides),
        )
    assert isinstance(outcome, Verdict)
    return ScoreResult(
        score=outcome.score,
        confidence=outcome.confidence,
        interval=outcome.interval,
        uncertainty=outcome.uncertainty,
        review=outcome.review,
        rationale=outcome.rationale,
        issues=outcome.issues,
        details=outcome.details,
        distribution=outcome.distribution,
        model=where.model,
        readout=where.readout,
        overrides=tuple(overrides),
    )


def _outside_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where a loop is already running (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:  # handed to the caller's thread below
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]

"""The Python door: `judge(frame, ...)` gives a table with a row per judgment, `score_text("...")`
scores one text."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias

from pydantic import Field, computed_field, model_validator

from undogmatic.config.door import Folders, compose_config, composed
from undogmatic.errors import ConfigError, DataError, StorageError, UndogmaticError
from undogmatic.records.records import Failure, Item, Judgment, Verdict, digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety import files
from undogmatic.safety.command import say
from undogmatic.safety.paths import cache_folder
from undogmatic.safety.secrets import scrub_words

if TYPE_CHECKING:
    import pandas as pd

    from undogmatic.config.build import Settings
    from undogmatic.engine.module import JudgeModule
    from undogmatic.examinations.judged import Judgments

LOG, LOG_BYTES = "score.log", 10_000_000
"""In the cache folder: a JSON line for each text that was scored, for its owner's eyes alone; a
longer file becomes `score.log.1`."""
LONGEST_LOCK = 5.0  # seconds that a score waits for other processes that write there
# what of writing went wrong and was said; once in a process is enough
_unlogged: list[str] = []

Items: TypeAlias = (
    "pd.DataFrame | Sequence[str] | Sequence[Mapping[str, Any]] | Sequence[Item]"
)
Asked = ParamSpec("Asked")
Choice: TypeAlias = str | Mapping[str, Any] | None


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

    is_uncertain = computed_field(Verdict.is_uncertain)  # type: ignore[assignment]
    revised_score = computed_field(Verdict.revised_score)  # type: ignore[assignment]


def score_text(
    text: str | Mapping[str, str],
    overrides: Sequence[str] = (),
    config_dir: Folders = (),
    log: bool = True,
) -> ScoreResult:
    """Score one text with the composed default, or with Hydra overrides such as ["model=gpt",
    "prompt=anchored_en"].

    Works with and without a running event loop. Where LLM_PROVIDER is set, and no override chooses
    a model, the model is `model=env`. Prompt, raw answer and result are appended to `score.log` in
    the cache folder (`paths.cache_folder`), which its owner alone may read; with the override
    "tracking.redact=true" hashes take the place of texts there.

    Args:
        text: The text, or where the rubric judges several inputs, these by name.
        overrides, config_dir: See `compose_config`.
        log: False writes no log.
    Raises:
        ConfigError: An override or a key is wrong.
        DataError: The text is empty, or an input is missing.
    """
    return score_texts([text], overrides, config_dir, log)[0]


def score_texts(
    texts: Sequence[str | Mapping[str, str]],
    overrides: Sequence[str] = (),
    config_dir: Folders = (),
    log: bool = True,
) -> list[ScoreResult]:
    """`score_text` for several texts, in order; the model is loaded once."""
    from undogmatic.config.build import settings

    return score_composed(
        texts, settings(scoring_config(overrides, config_dir)), overrides, log
    )


def scoring_config(
    overrides: Sequence[str] = (), config_dir: Folders = ()
) -> dict[str, Any]:
    """`compose_config` for scoring: with `model=env` where LLM_PROVIDER is set and nothing else
    chooses a model."""
    from undogmatic.safety.variables import setting

    config, choices = composed(overrides, config_dir)
    typed = any(re.match(r"[+~]{0,2}model[=.@]", word) for word in overrides)
    # the default of conf/config.yaml
    # Who has chosen a model, in words or in a file, has chosen it; the variable only
    # stands in for the default.
    if typed or choices.get("model") != "local" or setting("LLM_PROVIDER") is None:
        return config
    return compose_config([*overrides, "model=env"], config_dir)


def score_composed(
    texts: Sequence[str | Mapping[str, str]],
    config: Settings,
    overrides: Sequence[str] = (),
    log: bool = True,
) -> list[ScoreResult]:
    """`score_texts` with a config that is composed already; `overrides` are noted in the
    results."""
    from undogmatic.config.build import build
    from undogmatic.engine.recipe import judged

    rubric: Rubric = build(config.rubric, "rubric")
    items = [_item(n, text, rubric) for n, text in enumerate(texts, 1)]
    try:
        judgments = judged(items, _with_a_cache_that_works(config))
    except UndogmaticError as error:
        if log:  # its message may quote a model's answer, which may quote the text
            _log([{"error": type(error).__name__}])
        raise
    noted, results = tuple(map(scrub_words, overrides)), []
    for judgment in judgments:
        outcome, where = judgment.outcome, judgment.provenance
        fields: dict[str, Any] = dict(outcome)
        if isinstance(outcome, Failure):
            fields = {"error": f"{outcome.reason}: {outcome.message}"}
        results.append(
            ScoreResult(
                **fields, model=where.model, readout=where.readout, overrides=noted
            )
        )
    if log:
        # whatever it is: on the safe side
        redact = config.tracking.get("redact") not in (
            False,
            None,
        )
        _log(
            _logged(item, judgment, redact)
            for item, judgment in zip(items, judgments, strict=True)
        )
    return results


def _logged(item: Item, judgment: Judgment, redact: bool) -> dict[str, Any]:
    """What the log says of one text: what was asked and answered, call by call, and what came of
    it."""

    from undogmatic.records import redaction

    mark, where = digest(item.inputs)[:12], judgment.provenance
    inputs = redaction.redact(dict(item.inputs)) if redact else dict(item.inputs)
    judgment = redaction.redact_judgment(judgment) if redact else judgment
    outcome, calls = judgment.outcome, judgment.calls
    return {
        "text": mark,
        "model": where.model,
        "readout": where.readout,
        "score": judgment.score,
        "category": None if isinstance(outcome, Failure) else outcome.category,
        "error": outcome.reason if isinstance(outcome, Failure) else None,
        "cached": bool(calls) and all(call.cached for call in calls),
        "inputs": inputs,
        "calls": [
            {
                "model": call.model,
                "prompt": call.request,
                "answer": call.reply,
                "error": call.error,
                "cached": call.cached,
            }
            for call in calls
        ],
        "result": outcome.model_dump(mode="json"),
    }


def _log(lines: Iterable[Mapping[str, Any]]) -> None:
    """Append to the log of scores. One that cannot be written is said once, and costs no score."""
    from filelock import FileLock

    try:
        path = cache_folder() / LOG
        path.parent.mkdir(parents=True, exist_ok=True)
        # of all processes that score
        with FileLock(f"{path}.lock", timeout=LONGEST_LOCK, mode=files.OWN):
            if path.is_file() and path.stat().st_size > LOG_BYTES:
                path.replace(path.with_name(f"{LOG}.1"))
            files.make_own(path)
            with files.Log(path) as log:
                for line in lines:
                    now = datetime.now(UTC).isoformat(timespec="seconds")
                    log.add(
                        json.dumps(
                            {"time": now, **line}, ensure_ascii=False, default=str
                        )
                    )
    # RuntimeError: there is no home
    except (StorageError, OSError, RuntimeError) as error:
        _say_once(f"the log of scores is not written: {error}")


def _with_a_cache_that_works(config: Settings) -> Settings:
    """The config, without its cache of answers where the usual folder cannot be written to: a score
    does not depend on it. A folder that was named is another matter, as somebody counts on it."""
    from undogmatic.engine.local import check_cache

    if not config.engine.get("cache") or config.engine.get("cache_dir") is not None:
        return config
    try:
        check_cache()
    except (ConfigError, RuntimeError) as error:
        _say_once(f"answers are not kept for the next time: {error}")
        return config.model_copy(update={"engine": {**config.engine, "cache": False}})
    return config


def _say_once(message: str) -> None:
    # one line, whether it is the log or the cache: the reason is the same
    if not _unlogged:
        _unlogged.append(message)
        say(message)


def judge_items(items: Sequence[Item], overrides: Sequence[str] = ()) -> list[Judgment]:
    """Judge items with a composed config, without journal, analysis or tracking. In input order."""
    from undogmatic.config.build import settings
    from undogmatic.engine.recipe import judged

    return judged(items, settings(compose_config(overrides)))


class KeptJudge:
    """Judges items again and again with a composed config; what it builds, the model among it, is
    kept."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        from undogmatic.config.build import build, settings
        from undogmatic.engine.recipe import Recipe

        self.recipe = Recipe(config)
        self.engine = build(settings(config).engine, "engine")
        self.parts = self.recipe.build()

    def judged(
        self, items: Sequence[Item]
    ) -> tuple[Sequence[Judgment], UndogmaticError | None]:
        """What was judged, and what stopped the judge before it was through."""
        from undogmatic.engine.journal import Journals
        from undogmatic.safety.loops import finished

        journals = Journals(None)
        stopped_by = None
        try:
            finished(self.engine.arun(self.recipe, items, journals))
        except UndogmaticError as error:
            stopped_by = error
        return list(journals.judgments.done.values()), stopped_by


def _item(number: int, text: str | Mapping[str, str], rubric: Rubric) -> Item:
    from undogmatic.records.items import make_item

    shown = ", ".join(rubric.inputs)
    if isinstance(text, str):
        if len(rubric.inputs) > 1:
            way = f"--input {rubric.inputs[0]}=... on the command line, a mapping in Python"
            raise DataError(
                f"rubric={rubric.name} judges several inputs: {shown}. Give each by its name:"
                f" {way}."
            )
        text = {rubric.inputs[0]: text}
    if wrong := sorted(set(rubric.inputs).symmetric_difference(text)):
        what = "is missing" if wrong[0] in rubric.inputs else "is none of them"
        raise DataError(
            f"text {number}: rubric={rubric.name} judges {shown}; `{wrong[0]}` {what}."
        )
    return make_item(
        f"text {number}",
        {"id": str(number), "inputs": {name: text[name] for name in rubric.inputs}},
    )


async def ajudge(
    items: Items,
    judge: Choice = None,
    rubric: Choice | Rubric = None,
    model: Choice = None,
    prompt: Choice = None,
    readout: Choice = None,
    overrides: Sequence[str] = (),
    config_dir: Folders = (),
    repeats: int = 1,
    progress: bool = True,
) -> Judgments:
    """Judge a table of items; `judge` is the same without `await`, with and without a running event
    loop.

    Args:
        items: A DataFrame or mappings with a column or key per input of the rubric (`text` by
            default) and optionally id, condition, pair and label; texts; or Items. Without `id`,
            the DataFrame's index or the place counts.
        judge, rubric, model, prompt, readout: An option's name (a file of that group in any search
            path), a mapping {"name": NAME, key: value, ...} of a named one with changes, or None
            for the default. `rubric` also takes the path of a YAML file, or a Rubric.
        overrides: Further overrides as on the command line, e.g. ["engine.max_calls=100"].
        config_dir: Folders of config groups of one's own.
        repeats: Judge everything so many times, each a real call.
        progress: Whether to show a progress bar.
    Returns:
        One row per item, judge, criterion and repeat, in the order of `items`.
    Raises:
        ConfigError: A name, key or value is wrong.
        DataError: An item lacks an input, or a label is off the scale.
        RunStopped: A budget is full or the server is gone; answers that came are in the cache.
    """
    from undogmatic.config.build import build, settings
    from undogmatic.datasets.labels import on_scale
    from undogmatic.engine.journal import Journals
    from undogmatic.engine.recipe import Recipe
    from undogmatic.examinations.judged import judged

    if repeats < 1:
        raise ConfigError(f"`repeats` is {repeats}; it must be at least 1.")
    choices = {"judge": judge, "rubric": rubric, "model": model, "prompt": prompt}
    config = _config(choices | {"readout": readout}, overrides, config_dir)
    recipe, engine = Recipe(config), build(settings(config).engine, "engine")
    parts = recipe.build()
    read = on_scale(_items(items, parts.rubric), parts.rubric)
    with _bar(len(read) * repeats * len(parts.expected()), progress) as step:
        found, judgments = await engine.arun(
            recipe, read, Journals(None, parts.steps), repeats, step
        )
    how = {
        "model": parts.model.name,
        "readout": parts.readout_name,
        "rubric": parts.rubric.name,
    }
    how["scale"] = parts.rubric.scale.span()
    return judged(found, judgments, repeats, parts.expected(), how)


def _without_await(
    ask: Callable[Asked, Coroutine[Any, Any, Judgments]], name: str
) -> Callable[Asked, Judgments]:
    @functools.wraps(ask)
    def asked(*args: Asked.args, **options: Asked.kwargs) -> Judgments:
        from undogmatic.safety.loops import finished

        return finished(ask(*args, **options))

    asked.__name__ = asked.__qualname__ = name
    return asked


judge = _without_await(ajudge, "judge")


def module(
    judge: Choice = None,
    rubric: Choice | Rubric = None,
    model: Choice = None,
    prompt: Choice = None,
    readout: Choice = None,
    adapter: Any = None,
    overrides: Sequence[str] = (),
    config_dir: Folders = (),
) -> JudgeModule:
    """The judge as a DSPy program: `undogmatic.module(judge="debate", model="gpt")(text="...")`.

    Args:
        judge, rubric, model, prompt, readout, overrides, config_dir: See `ajudge`.
        adapter: A `dspy.Adapter` that formats and reads requests in place of the shipped one, which
            fences judged texts.
    Raises:
        ConfigError: A name, key or value is wrong, or the adapter does not fit.
    """
    from undogmatic.engine.module import Composed, JudgeModule

    parts = {"judge": judge, "rubric": rubric, "model": model, "prompt": prompt}
    config = _config(parts | {"readout": readout}, overrides, config_dir)
    return JudgeModule(Composed(config), adapter)


def _config(
    parts: Mapping[str, Choice | Rubric], overrides: Sequence[str], config_dir: Folders
) -> dict[str, Any]:
    """The composed config of these choices, by group."""
    words = [word for group, choice in parts.items() for word in chosen(group, choice)]
    config = compose_config([*words, *overrides], config_dir)
    if isinstance(rubric := parts["rubric"], Rubric):
        config["rubric"] = {
            "_target_": "undogmatic.records.rubric.Rubric",
            **rubric.model_dump(mode="json"),
        }
    return config


def chosen(group: str, choice: Any, key: str | None = None) -> list[str]:
    """A choice for `ajudge` as overrides; `key` names it in messages."""
    if choice is None or isinstance(choice, Rubric):
        return []
    if isinstance(choice, str):
        if group == "rubric" and Path(choice).suffix in (".yaml", ".yml"):
            from undogmatic.config.groups import given_file
            from undogmatic.safety.existing import existing_file

            choice = given_file(
                "rubric", existing_file(choice, key or group, (".yaml", ".yml"))
            )
        return [f"{group}={choice}"]
    if not isinstance(choice, Mapping) or not isinstance(choice.get("name"), str):
        form = "{'name': NAME, 'key': value}"
        raise ConfigError(
            f"`{group}` is {choice!r}; give an option's name, or a mapping with it: {form}."
        )
    changes = {
        k: v if isinstance(v, str) else json.dumps(v)
        for k, v in choice.items()
        if k != "name"
    }
    return [
        f"{group}={choice['name']}",
        *(f"{group}.{k}={v}" for k, v in changes.items()),
    ]


def _items(items: Items, rubric: Rubric) -> Sequence[Item]:
    import pandas as pd

    from undogmatic.datasets.tabular import item_of
    from undogmatic.records.items import unique

    if isinstance(items, str):
        raise DataError(
            "`items` is one text; give a list of texts or a table (for a single one: score_text)."
        )
    rows: list[Any] = list(items)
    if isinstance(items, pd.DataFrame):
        whole = items.astype(object).where(items.notna(), None).to_dict("records")
        rows = [
            {"id": str(place)} | row
            for place, row in zip(items.index, whole, strict=True)
        ]
    made = []
    for n, row in enumerate(rows):
        place = f"items[{n}]"
        fields = {rubric.inputs[0]: row} if isinstance(row, str) else row
        if isinstance(row, Item):
            made.append((place, row.model_copy(update={"place": place})))
        else:
            made.append((place, item_of(place, {"id": str(n)} | fields, rubric.inputs)))
    return unique(made, "`items`")


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[Any], None]]:
    """A progress bar, or nothing; what it yields is to be called with each record that comes."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=not shown) as bar:
        task, failed = bar.add_task("judging", total=total), 0

        def step(record: Any) -> None:
            nonlocal failed
            if isinstance(record, Judgment):
                failed += isinstance(record.outcome, Failure)
                bar.update(
                    task,
                    advance=1,
                    description=f"judging ({failed} failed)" if failed else "judging",
                )

        yield step

"""The door for notebooks: `judge(frame, judge=..., rubric=..., model=...)` gives a table with one row per judgment."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from undogmatic.analyses.base import tabulate
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Failure, Item, Judgment, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.secrets import scrub

if TYPE_CHECKING:
    from undogmatic.engine.recipe import Parts

Items: TypeAlias = "pd.DataFrame | Sequence[str] | Sequence[Mapping[str, Any]] | Sequence[Item]"
Choice: TypeAlias = str | Mapping[str, Any] | None
SHOWN = 20
"""Rows that a notebook shows of a table."""
_HTML = (
    "<div><p><b>{judged} of {total}</b> judged by {model}, readout {readout}, rubric {rubric} ({scale}).{failed}</p>"
    "{table}</div>"
)
COLUMNS = (
    "item_id judge criterion repeat score category low high confidence uncertainty is_uncertain revised_score doubt "
    "review rationale issues error message calls cached input_tokens output_tokens usd seconds pair_id condition label"
).split()


class Judgments(pd.DataFrame):
    """What `judge` returns: an ordinary DataFrame that says in a notebook what was judged, how, and what failed.

    Columns: item_id, judge, criterion, repeat, then score, category, low and high (of the interval), confidence,
    uncertainty, is_uncertain, revised_score (what a second look came to), doubt, review, rationale, issues, error and
    message (both None where there is a verdict), calls, cached, input_tokens, output_tokens, usd, seconds; pair_id,
    condition and label of the item.
    """

    _metadata = ["how"]  # noqa: RUF012  pandas' own protocol: attributes that a slice keeps

    @property
    def _constructor(self) -> type[Judgments]:
        return Judgments

    def _repr_html_(self) -> str:
        how = getattr(self, "how", None)
        shown = pd.DataFrame(self).head(SHOWN).to_html(max_cols=14, escape=True, notebook=True, na_rep="")
        if how is None or "error" not in self:
            return scrub(str(shown))
        errors = self["error"].dropna().value_counts()
        said = {name: html.escape(str(value)) for name, value in how.items()}
        failed = ", ".join(f"{n} {html.escape(str(kind))}" for kind, n in errors.items())
        return scrub(
            _HTML.format(
                **said,
                judged=len(self) - int(errors.sum()),
                total=len(self),
                failed=f" <b>Not judged: {failed}.</b> They have no score; `message` says why." if failed else "",
                table=shown,
            )
        )


def judge(
    items: Items,
    judge: Choice = None,
    rubric: Choice | Rubric = None,
    model: Choice = None,
    prompt: Choice = None,
    readout: Choice = None,
    overrides: Sequence[str] = (),
    config_dir: str | Path | Sequence[str | Path] = (),
    repeats: int = 1,
    progress: bool = True,
) -> Judgments:
    """Judge a table of items, with and without a running event loop.

    Args:
        items: A DataFrame or mappings with a column or key per input of the rubric (`text` by default) and optionally
            id, condition, pair and label; texts; or Items. Without `id`, the DataFrame's index or the place counts.
        judge, rubric, model, prompt, readout: An option's name (a file of that group in any search path), a mapping
            {"name": NAME, key: value, ...} of a named one with changes, or None for the default. `rubric` also takes
            the path of a YAML file, or a Rubric.
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
    from undogmatic.readouts.chat import finished

    chosen = (judge, rubric, model, prompt, readout)
    return finished(ajudge(items, *chosen, overrides, config_dir, repeats, progress))


async def ajudge(
    items: Items,
    judge: Choice = None,
    rubric: Choice | Rubric = None,
    model: Choice = None,
    prompt: Choice = None,
    readout: Choice = None,
    overrides: Sequence[str] = (),
    config_dir: str | Path | Sequence[str | Path] = (),
    repeats: int = 1,
    progress: bool = True,
) -> Judgments:
    """`judge` within an event loop: `await undogmatic.ajudge(...)`."""
    from undogmatic.config.build import build, settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.base import on_scale
    from undogmatic.engine.journal import Journals
    from undogmatic.engine.recipe import Recipe

    if repeats < 1:
        raise ConfigError(f"`repeats` is {repeats}; it must be at least 1.")
    chosen = {"judge": judge, "rubric": rubric, "model": model, "prompt": prompt, "readout": readout}
    words = [word for group, choice in chosen.items() for word in _words(group, choice)]
    config = compose_config([*words, *overrides], config_dir)
    if isinstance(rubric, Rubric):
        config["rubric"] = {"_target_": "undogmatic.records.rubric.Rubric", **rubric.model_dump(mode="json")}
    recipe, engine = Recipe(config), build(settings(config).engine, "engine")
    parts = recipe.build()
    read = on_scale(_items(items, parts.rubric), parts.rubric)
    with _bar(len(read) * repeats * len(parts.expected()), progress) as step:
        found, judgments = await engine.arun(recipe, read, Journals(None, parts.steps), repeats, step)
    return _table(found, judgments, repeats, parts)


def _words(group: str, choice: Any) -> list[str]:
    """A choice as overrides."""
    if choice is None or isinstance(choice, Rubric):
        return []
    if isinstance(choice, str):
        if group == "rubric" and Path(choice).suffix in (".yaml", ".yml"):
            from undogmatic.config.groups import given_file
            from undogmatic.datasets.base import existing_file

            choice = given_file("rubric", existing_file(choice, "rubric", (".yaml", ".yml")))
        return [f"{group}={choice}"]
    if not isinstance(choice, Mapping) or not isinstance(choice.get("name"), str):
        raise ConfigError(
            f"`{group}` is {choice!r}; give an option's name, or a mapping with it: {{'name': NAME, 'key': value}}."
        )
    return [f"{group}={choice['name']}", *(f"{group}.{k}={_typed(v)}" for k, v in choice.items() if k != "name")]


def _typed(value: Any) -> str:
    """A value as one would type it."""
    import json

    return "null" if value is None else value if isinstance(value, str) else json.dumps(value)


def _items(items: Items, rubric: Rubric) -> list[Item]:
    from undogmatic.datasets.base import unique
    from undogmatic.datasets.tabular import item_of

    if isinstance(items, str):
        raise DataError("`items` is one text; give a list of texts or a table (for a single one: score_text).")
    rows: list[Any] = list(items)
    if isinstance(items, pd.DataFrame):
        whole = items.astype(object).where(items.notna(), None).to_dict("records")
        rows = [{"id": str(place)} | row for place, row in zip(items.index, whole, strict=True)]
    made = []
    for n, row in enumerate(rows):
        place = f"items[{n}]"
        if isinstance(row, Item):
            made.append((place, row.model_copy(update={"place": place})))
        else:
            fields = {rubric.inputs[0]: row} if isinstance(row, str) else row
            made.append((place, item_of(place, {"id": str(n)} | fields, rubric.inputs)))
    return unique(made, "`items`")


class _bar:
    """A progress bar, or nothing."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.shown = total, shown

    def __enter__(self) -> Callable[[Any], None]:
        from tqdm.auto import tqdm

        self.bar = tqdm(total=self.total, unit="judgment", disable=not self.shown)
        failed = 0

        def step(record: Any) -> None:
            nonlocal failed
            if isinstance(record, Judgment):
                self.bar.update()
                if isinstance(record.outcome, Failure):
                    failed += 1
                    self.bar.set_postfix(failed=failed)

        return step

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def _table(items: Sequence[Item], judgments: Sequence[Judgment], repeats: int, parts: Parts) -> Judgments:
    frame = tabulate(items, judgments, repeats, parts.expected())
    outcomes = {j.key: j.outcome for j in judgments}
    said: list[dict[str, Any]] = []
    for key in zip(frame["item_id"], frame["judge"], frame["criterion"], frame["repeat"], strict=True):
        outcome = outcomes.get(key)
        if isinstance(outcome, Verdict):
            said.append({"rationale": outcome.rationale, "issues": list(outcome.issues), "message": None})
        else:
            said.append({"rationale": None, "issues": [], "message": getattr(outcome, "message", None)})
    whole = frame.join(pd.DataFrame(said, index=frame.index))
    found = Judgments(whole[COLUMNS])
    found.how = {
        "model": parts.model.name,
        "readout": parts.readout_name,
        "rubric": parts.rubric.name,
        "scale": parts.rubric.scale.span(),
    }
    return found

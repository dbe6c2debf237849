"""Chooses what MLflow shows of a run: its few telling metrics, all its figures in one table, and
the parameters that were set."""

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from undogmatic.records.results import Told, headline_of
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.secrets import scrub_data
from undogmatic.tracking.store import AT_ONCE, Store

LONGEST_PARAM, LONGEST_KEY = 6000, 250  # characters, MLflow's limits
OF_THE_RUN = ("judged", "failed", "usd", "judging_seconds")
MOST_ALONE, MOST_EACH = 5, 3
"""How many figures a run's only analysis with a headline shows at most, and each of several."""
ENDS = ("_low", "_high")
TESTED = ("p", "rank_biserial")
"""Figures without an interval that are shown of each analysis that has them: what was tested, and
the size of the effect."""


def params(run: FinishedRun) -> dict[str, str]:
    """The choice per group under the group's name, and every value that is set under its dotted
    key.

    Left out is what tells nothing of the run: what nothing in it reads, classes (the choice names
    them), wordings (they are in the logged config), where it is logged, what is empty, and names
    that stand for themselves. A group to which others refer stands once, under its own name.
    """
    untold = {*run.unread, "tracking", "wordings"}
    if not run.uses_prompt:
        untold.add("prompt")
    config = scrub_data(
        {name: node for name, node in run.config.items() if name not in untold}
    )
    # Hydra's `${model}` puts the whole group in again where it is referred to, which would double
    # the columns of MLflow's table of runs.
    once = [
        config[name] for name in run.choices if isinstance(config.get(name), Mapping)
    ]
    values = {
        k: v
        for name, node in config.items()
        for k, v in _flat({name: node}, [o for o in once if o is not node])
    }
    return {
        name: chosen for name, chosen in run.choices.items() if name not in untold
    } | values


def _flat(
    config: Mapping[str, Any], others: Sequence[Any] = (), prefix: str = ""
) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if (
            key in ("_target_", "wordings")
            or value in (None, [], {})
            or value in others
            or value == key
        ):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, others, f"{prefix}{key}.")
        elif isinstance(value, str):
            yield f"{prefix}{key}", value
        else:
            # As in the config, true and not Python's True.
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)


def cut(value: str, most: int) -> str:
    """The value, or its beginning and a mark that says how long it was."""
    if len(value) <= most:
        return value
    mark = f" ... [cut: {len(value)} characters]"
    return value[: most - len(mark)] + mark


def telling(run: FinishedRun) -> dict[str, float]:
    """The metrics of a run that MLflow draws and compares: the run's headline first, then by
    analysis its headline and what has an interval, each with the ends of its interval beside it,
    p and effect size of what was tested, then what it cost. All others are in the table of figures.

    Each stands under its own name: a column that held a share for one run and a correlation for
    another would be compared, and must not be. Which one sums the run up is its tag
    `undogmatic.headline`.
    """
    first = headline_of(run.results)
    names = [] if first is None else [first]
    summed_up = [result for result in run.results if result.headline is not None]
    for result in summed_up or run.results:
        most = MOST_ALONE if len(summed_up) < 2 else MOST_EACH
        names += [result.full(name) for name in _key_metrics(result, most)]
    with_ends = [name + end for name in names for end in ("", *ENDS)]
    return {
        name: run.metrics[name]
        for name in (*with_ends, *OF_THE_RUN)
        if name in run.metrics
    }


def _key_metrics(result: Told, most: int) -> list[str]:
    """The figures that are shown of an analysis: `most` that sum it up, and what was tested."""
    plain = [
        name
        for name in result.metrics
        if name.count(".") == 1 and not name.endswith(ENDS)
    ]
    tested = [name for name in plain if name.rpartition(".")[2] in TESTED]
    if result.headline is None:
        return [*plain[:most], *tested]
    # as in the report's key figures: what is shown beside the headline before all others
    others = [
        name
        for name in (*result.beside_headline, *plain)
        if f"{name}_low" in result.metrics
    ]
    return [*list(dict.fromkeys([result.headline, *others]))[:most], *tested]


def rounded(value: float) -> float:
    """Four digits that count, for axes and tables; whole numbers as they are. metrics.json keeps
    them all."""
    if not math.isfinite(value) or value == round(value):
        return value
    # `round` takes places behind the point, of which small numbers need more for four digits.
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def log_all(
    store: Store,
    run_id: str,
    params: Mapping[str, str] = {},
    metrics: Mapping[str, float | Sequence[float]] = {},
    tags: Mapping[str, str] = {},
    about: Mapping[str, str] = {},
) -> None:
    """Log parameters, cut visibly at MLflow's limit; metrics under their own names, rounded, of
    which each of several values is one of a step; and tags. All in as few requests as MLflow takes.
    `about` says of which logged model and dataset the metrics are, in MLflow's own words.
    """
    from mlflow.entities import Metric, Param, RunTag

    # One time for all of them: MLflow draws metrics over time, too.
    now = int(time.time() * 1000)
    courses = {k: [v] if isinstance(v, int | float) else v for k, v in metrics.items()}
    numbers = [
        Metric(plain_key(k), rounded(v), now, n, **about)
        for k, course in courses.items()
        for n, v in enumerate(course)
    ]
    settings = [Param(plain_key(k), cut(v, LONGEST_PARAM)) for k, v in params.items()]
    notes = [RunTag(k, v) for k, v in tags.items()]
    # MLflow takes 1,000 entries in one request, of which 100 may be parameters and 100 tags.
    most = 8 * AT_ONCE
    n_batches = max(
        math.ceil(len(numbers) / most),
        math.ceil(len(settings) / AT_ONCE),
        math.ceil(len(notes) / AT_ONCE),
    )
    for n in range(n_batches):
        few = slice(n * AT_ONCE, (n + 1) * AT_ONCE)
        of_numbers = slice(n * most, (n + 1) * most)
        store.client.log_batch(run_id, numbers[of_numbers], settings[few], notes[few])


def log_tables(store: Store, run_id: str, **tables: pd.DataFrame) -> dict[str, str]:
    """Log tables as artifacts that MLflow shows as tables; the tag that tells it so. Its own way
    (`log_table`) sets the tag anew for each table, and looks first whether there is one to append
    to."""
    from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS

    for name, frame in tables.items():
        # NaN is no JSON: MLflow's page would show no table at all.
        cells = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
        whole = {"columns": [str(column) for column in frame.columns], "data": cells}
        store.client.log_text(run_id, json.dumps(whole), f"{name}.json")
    return {
        MLFLOW_LOGGED_ARTIFACTS: json.dumps(
            [{"path": f"{name}.json", "type": "table"} for name in tables]
        )
    }


def figures(metrics: Mapping[str, float]) -> pd.DataFrame:
    """All metrics as a table, a row each, with the ends of their intervals beside them."""
    rows = []
    for name, value in metrics.items():
        # A metric may itself be called so, such as a share of low scores.
        if name.endswith(ENDS) and name.rpartition("_")[0] in metrics:
            continue
        ends = [metrics.get(f"{name}{end}") for end in ENDS]
        shown = [
            None if number is None or not math.isfinite(number) else rounded(number)
            for number in (value, *ends)
        ]
        rows.append([name, *shown])
    return (
        pd.DataFrame(rows, columns=["metric", "value", "low", "high"])
        .astype(object)
        .where(lambda t: t.notna(), None)
    )


def plain_key(key: str) -> str:
    """A key that MLflow takes: letters, digits, and _ - . / or space; at most LONGEST_KEY."""
    return re.sub(r"[^\w\-. /]", "_", key)[:LONGEST_KEY]

"""Do examples in a rubric's guide help an instruction model, and does `prompt=bare` do as well as the default prompt?

    python -m benchmarks.guide                              # the tables, from the stored scores
    python -m benchmarks.guide --model MODEL.gguf --write   # asks the model again; keeps results/guide.csv

Every text is judged with the default prompt (`anchored`), with the same and examples of each part of the
guide (benchmarks/guide.yaml), and with `prompt=bare`: development texts of the ShameScore, and the
development responses of three traits. Correlations with the labels have intervals over independent groups, and
their differences are paired. A score that failed is left out of the three conditions alike, and counted.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from undogmatic.config.build import settings
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.constructs.traits.responses import LabelledResponsesDataset
from undogmatic.engine.recipe import judged
from undogmatic.examinations.run_rows import tabulate
from undogmatic.examinations.truth import units
from undogmatic.records.records import Item, Verdict
from undogmatic.safety.outside import read_yaml
from undogmatic.stats import jackknife, means, ranking
from undogmatic.stats.estimate import Estimate

RESULTS = Path(__file__).with_name("results") / "guide.csv"
EXAMPLES = Path(__file__).with_suffix(".yaml")
SEED = 20261129
TEXTS = 30
"""Development texts of the ShameScore that are drawn."""
DEFAULT, SHOWN, BARE = "default", "with examples", "bare"
RUBRICS = {
    "shame": "pt",
    "trait/hedging": "en",
    "trait/refusal": "en",
    "trait/verbosity": "en",
}
"""Each rubric with the language in which is asked, which is that of its default prompt."""


def items(rubric: str) -> list[Item]:
    """The development texts that are judged by a rubric."""
    if rubric != "shame":
        own = LabelledResponsesDataset("trait", rubric.partition("/")[2], split="dev")
        return list(own.load())
    every = CuratedDataset(["labelled"], split="development").load()
    return random.Random(SEED).sample(sorted(every, key=lambda item: item.id), TEXTS)


def config(rubric: str, condition: str, model: Path) -> dict[str, Any]:
    """The composed config of one condition."""
    language = RUBRICS[rubric]
    prompt = [f"prompt=anchored_{language}"]
    if condition == BARE:
        prompt = ["prompt=bare", f"prompt.language={language}"]
    composed = compose_config(
        [
            f"rubric={rubric}",
            *prompt,
            "model=local",
            f"model.path={model}",
            "model.base=false",
            "model.threads=1",
            "readout=logprobs",
        ]
    )
    if condition == SHOWN:
        composed["rubric"]["examples"] = read_yaml(EXAMPLES)[rubric]
    return composed


def asked(rubric: str, model: Path) -> pd.DataFrame:
    """The scores of every text under each condition."""
    some = items(rubric)
    groups: np.ndarray | None = None
    rows = []
    for condition in (DEFAULT, SHOWN, BARE):
        judgments = judged(some, settings(config(rubric, condition, model)))
        if groups is None:
            groups = np.asarray(units(tabulate(some, judgments, 1)))
        for item, group, judgment in zip(some, groups, judgments, strict=True):
            outcome = judgment.outcome
            rows.append(
                {
                    "rubric": rubric,
                    "item": item.id,
                    "group": str(group),
                    "condition": condition,
                    "label": item.label,
                    "score": outcome.score if isinstance(outcome, Verdict) else None,
                }
            )
    return pd.DataFrame(rows)


def _left_out(
    own: pd.DataFrame, condition: str, groups: Sequence[str]
) -> jackknife.LeftOut:
    columns = np.column_stack([own[condition], own["label"]])
    rng = np.random.default_rng(SEED)
    return jackknife.LeftOut(
        columns, ranking.weighted_rank_correlation(None), rng, groups
    )


def summary(scores: pd.DataFrame) -> pd.DataFrame:
    """A row per model, rubric and condition: correlation and error, and what sets them apart from
    the default prompt."""
    rows = []
    for (model, rubric), own in scores.groupby(["model", "rubric"], sort=False):
        wide = own.pivot(
            index=["item", "group", "label"], columns="condition", values="score"
        )
        every = len(wide)
        wide = wide.dropna().reset_index()
        groups = wide["group"].astype(str).tolist()
        errors = {
            name: np.abs(wide[name] - wide["label"]).to_numpy()
            for name in (DEFAULT, SHOWN, BARE)
        }
        for name in (DEFAULT, SHOWN, BARE):
            one = _left_out(wide, name, groups)
            row = {
                "model": model,
                "rubric": rubric,
                "condition": name,
                "n": len(wide),
                "failed": every - len(wide),
                "correlation": one.coefficient(0.95),
                "error": means.interval(
                    errors[name], 0.95, groups=groups, bounds=(0.0, 100.0)
                ),
            }
            if name != DEFAULT:
                row["more"] = jackknife.difference(
                    one, _left_out(wide, DEFAULT, groups)
                )
                difference = errors[name] - errors[DEFAULT]
                row["worse"] = means.interval(difference, 0.95, groups=groups)
            rows.append(row)
    return pd.DataFrame(rows)


def table(found: pd.DataFrame) -> list[str]:
    """The rows of the table of docs/judges.md."""
    lines: list[str] = []
    for row in found.to_dict("records"):
        apart = ["", ""]
        if row["condition"] != DEFAULT:
            apart = [_said(row["more"], 2), _said(row["worse"], 1)]
        cells = [row["model"], row["rubric"], row["condition"], str(row["n"])]
        cells += [
            _said(row["correlation"], 2),
            apart[0],
            _said(row["error"], 1),
            apart[1],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _said(number: Estimate, places: int) -> str:
    value, low, high = (
        f"{each:.{places}f}" for each in (number.value, number.low, number.high)
    )
    return f"{value} [{low}, {high}]"


def stored() -> pd.DataFrame:
    """The scores that are kept."""
    return pd.read_csv(RESULTS)


def main() -> None:
    """Print the table, and ask and keep the scores where a model is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", type=Path, help="a GGUF file of an instruction model"
    )
    parser.add_argument(
        "--only", nargs="*", default=[*RUBRICS], help="some of the rubrics"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"keep the scores in {RESULTS.name}"
    )
    given = parser.parse_args()
    if given.model is None:
        scores = stored()
    else:
        digest = hashlib.sha256(given.model.read_bytes()).hexdigest()
        parts = []
        for rubric in given.only:
            own = asked(rubric, given.model).assign(
                model=given.model.stem, sha256=digest
            )
            parts.append(own)
            print(*table(summary(own)), sep="\n", flush=True)
            if given.write:
                kept = stored() if RESULTS.exists() else own.iloc[:0]
                again = (kept["model"] == given.model.stem) & (kept["rubric"] == rubric)
                pd.concat([kept[~again], own]).to_csv(RESULTS, index=False)
        scores = pd.concat(parts)
    print(
        "| model | rubric | prompt | texts | rank correlation | more | error | more |"
    )
    print("|---|---|---|---|---|---|---|---|")
    print(*table(summary(scores)), sep="\n")


if __name__ == "__main__":
    main()

"""The example of docs/other_courts.md, done: other courts and another language by files alone."""

import json
import shutil
from pathlib import Path

import pandas as pd

from tests.conftest import rows_in, typed
from undogmatic.safety.paths import conf_folder

ROOT = conf_folder().parent
EXAMPLE, PAGE = ROOT / "examples" / "european_court", ROOT / "docs" / "other_courts.md"


def test_the_example_says_what_its_page_shows_and_judges_by_its_own_rubric(
    tmp_path: Path,
) -> None:
    here = Path(shutil.copytree(EXAMPLE, tmp_path / "here"))
    own = ["precedents.grammar=citations.yaml", "precedents.path=cases.csv"]
    shown = typed(
        "undogmatic.cli", "precedents", "notes.jsonl", *own, folder=here
    ).stdout
    sample = PAGE.read_text(encoding="utf-8").split("```text\n")[1].partition("```")[0]
    lines = [line for line in sample.splitlines() if line]
    assert len(lines) == 5
    assert [line for line in lines if line not in shown] == []
    run = [
        "run",
        "experiment=european_court",
        "analysis=[labelled,precedents]",
        "model=fake",
        "tracking=none",
    ]
    done = typed("undogmatic.cli", *run, "hydra.run.dir=out", folder=here)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((here / "out" / "metrics.json").read_text(encoding="utf-8"))
    names = ("citations", "found", "other_court", "changed", "not_listed")
    assert [metrics[f"precedents.{name}"] for name in names] == [19, 12, 1, 3, 3]
    scores = pd.read_csv(here / "out" / "scores.csv")["score"]
    assert (
        len(scores) == len(rows_in(EXAMPLE / "notes.jsonl"))
        and scores.between(0, 10).all()
    )

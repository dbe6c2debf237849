"""The pillar of one's own of docs/faithfulness.md, and domains as files."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import put, typed
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness.bucket import severities
from undogmatic.errors import ConfigError
from undogmatic.safety.paths import conf_folder

PAGE = (conf_folder().parent / "docs" / "faithfulness.md").read_text(encoding="utf-8")
FILES = dict(
    re.findall(
        r"^\*\*`(.+?)`\*\*\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
)


def run(folder: Path, *words: str) -> str:
    """A run as typed in the folder, and its journal."""
    done = typed("undogmatic.cli", *words, folder=folder, PYTHONSAFEPATH="1")
    assert done.returncode == 0, done.stderr
    return (folder / "out" / "judgments.jsonl").read_text(encoding="utf-8")


def test_a_fourth_pillar_is_three_files_and_counts_in_the_composite(
    tmp_path: Path,
) -> None:
    for name, content in FILES.items():
        put(tmp_path / name, content)
    put(tmp_path / "undogmatic.toml", 'conf = "my/conf"\nmodules = ["my"]\n')
    few = [
        "run.limit=2",
        "tracking=none",
        "dataset.document=document",
        "hydra.run.dir=out",
    ]
    three = ["judges=[nli,coverage,bucket_rules]", "analysis=composite"]
    before = run(tmp_path, "run", "experiment=faithfulness", *three, *few)
    (line,) = (
        line.strip() for line in PAGE.splitlines() if "analysis=four_pillars" in line
    )
    words = [word.strip("'") for word in line.split()[1:]]
    assert run(tmp_path, *words, *few[:3], "run.resume=out").startswith(before)
    items = pd.read_csv(tmp_path / "out" / "items_composite.csv")
    weights = {"nli": 0.30, "judge": 0.35, "coverage": 0.20, "brevity": 0.15}
    assert items["brevity"].between(0, 1).all()
    composite = sum(weight * items[pillar] for pillar, weight in weights.items())
    assert items["composite"].tolist() == pytest.approx(composite.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    "name", ["faithfulness", "faithfulness_medicine", "faithfulness_research"]
)
def test_a_domain_is_a_file_that_says_what_each_bucket_stands_for(name: str) -> None:
    rubric = build(compose_config([f"rubric={name}"])["rubric"], "rubric")
    for language in ("en", "pt"):
        told = severities(rubric, language)
        meanings = rubric.wordings[language].meanings
        assert (
            list(told.values()) == list(meanings[1:]) and len(set(told.values())) == 5
        )
    judge = "judge=bucket model=gpt prompt=minimal_en".split()
    compose_config([f"rubric={name}", *judge])


def test_a_rubric_without_a_meaning_for_each_bucket_is_refused() -> None:
    rubric = build(compose_config(["rubric=shame"])["rubric"], "rubric")
    with pytest.raises(ConfigError, match="no meaning for 1 of 5"):
        severities(rubric, "pt")

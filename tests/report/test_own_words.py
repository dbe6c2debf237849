"""An analysis, a dataset and a rubric of a user's own: their words are in the report without an edit of the package."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.test_report import written
from undogmatic.analyses.ab import AbAnalysis
from undogmatic.analyses.base import LongTable, analyse
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.constructs.shame.patterns import PatternsModel
from undogmatic.datasets.base import SubsetDataset
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.models.base import Model
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.records.wordings import Licensed, texts_beside
from undogmatic.runs.outcome import FinishedRun

Build = Callable[..., FinishedRun]
MODULE = """
from undogmatic.analyses.ab import AbAnalysis
from undogmatic.records.results import AnalysisResult, Finding

class Spread:
    name = "spread"

    def check(self, judged):
        pass

    def __call__(self, judged, rng):
        said = [Finding("spread.range", {"low": 1.0, "high": 9.5}), Finding("spread.odd", {"n": 3})]
        return [AnalysisResult("spread", {"spread.range": 8.5}, findings=said, headline="spread.range")]

class OwnPairs(AbAnalysis):
    pass
"""
TEXTS = """
en:
  spread:
    question: How far apart does {model} score?
    title: Spread
    range: "From {low:.1f} to {high:.1f} {units}."
    metrics: {range: Range}
pt:
  spread:
    range: "De {low:.1f} a {high:.1f} {units}."
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    """A module in a folder of the user's, with its words beside it."""
    path = tmp_path / "mine.py"
    path.write_text(MODULE)
    (tmp_path / "mine.texts.yaml").write_text(TEXTS)
    spec = importlib.util.spec_from_file_location("mine_of_a_user", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    # `inspect` finds a class's file by its module.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mine_of_a_user", found)
        spec.loader.exec_module(found)
        yield found


def test_an_analysis_brings_its_words_and_an_unworded_finding_shows_its_values(module: Any, finished: Build) -> None:
    run = finished()
    results = analyse(module.Spread(), LongTable(run.frame, run.rubric), np.random.default_rng(0))
    markdown, shown = written(finished(results=results, texts=results[0].texts))
    assert markdown.startswith("# How far apart does local score?\n")
    assert "From 1.0 to 9.5 points." in shown and "[spread.odd] n = 3" in shown and "Range" in shown
    _, shown = written(finished(results=results, texts=results[0].texts, language="pt"))
    assert "De 1,0 a 9,5 pontos." in shown and "Spread" in shown  # a title in English, where there is no other


def test_who_inherits_an_analysis_inherits_its_words(module: Any) -> None:
    beside = texts_beside(module.OwnPairs)
    assert [path.name for path in beside] == ["mine.texts.yaml", "ab.texts.yaml", "base.texts.yaml"]
    assert texts_beside(AbAnalysis) == beside[1:]
    assert texts_beside(dict) == ()


def test_the_shipped_datas_names_are_theirs_alone(finished: Build, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x"}\n')
    own = TextsDataset(str(tmp_path / "a.jsonl"))
    assert texts_beside(own) == () and not isinstance(own, Licensed)
    shipped = CuratedDataset(["controls"])
    part = SubsetDataset(shipped, 5)
    assert texts_beside(part) == texts_beside(shipped) and part.licence == shipped.licence is not None
    assert SubsetDataset(own, 1).licence is None
    assert CuratedDataset(["controls"], path=str(own.path)).licence is None
    assert "Apache-2.0" in (PatternsModel().licence or {})["pt"] and Model.licence is None
    for texts, named in (((), "authority_only"), (texts_beside(shipped), "authority only")):
        assert f":authority_only ({named}): score" in written(finished(results=[], texts=texts))[1]


def rubric(scale: dict[str, Any], wording: dict[str, Any] | None = None, **fields: Any) -> Rubric:
    own = {"definition": "Help.", "question": "Does it help?"} | (wording or {})
    better = {"direction": "higher_is_better"} if scale["kind"] == "numeric" else {}
    return Rubric.model_validate({"name": "own", "scale": scale, "wordings": {"en": own}} | better | fields)


NUMBERS = {"kind": "numeric", "minimum": 1, "maximum": 10, "step": 1}
NAMES = {"kind": "unordered", "categories": ["no", "yes", "partly"]}
BANDS = [{"name": "LOW", "low": 1, "high": 4}, {"name": "HIGH", "low": 5, "high": 10}]
OF_USE = {"meanings": ["of no use", "of use"], "unit": "stars"}
CASES = {
    "step": (rubric(NUMBERS), ["1–10 units in steps of 1.", "A high score is good."]),
    "bands": (
        rubric(NUMBERS, OF_USE, guide={"kind": "bands", "bands": BANDS}),
        ["1–10 stars in steps of 1.", "LOW (1-4) of no use", "HIGH (5-10) of use"],
    ),
    "categories": (
        rubric(NAMES, {"meanings": ["it does not", "it does", "a bit"]}),
        ["Scale: no / yes / partly.", "no it does not", "yes it does"],
    ),
    "inputs": (
        rubric(NUMBERS, {"headings": {"question": "The question"}}, inputs=["question", "response"]),
        ["Judged are: The question; response.", "The question: Why? response: Because."],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_any_rubric_is_shown_with_its_scale_its_meanings_and_its_inputs(case: str, finished: Build) -> None:
    own, said = CASES[case]
    item = Item(id="a", inputs={"question": "Why?", "response": "Because."})
    outcomes = [(item, Verdict(score=1.0, category="yes" if case == "categories" else None))]
    _, shown = written(finished(outcomes, [], rubric=own, texts=()))
    assert [sentence for sentence in said if sentence not in shown] == []
    assert ("category yes" in shown) == (case == "categories")

"""The trait judge: a scoring guide, checked at the start, for a response alone, after a question or in a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import reading_of
from tests.numbers_chat import NumbersChat
from tests.readouts.test_integers import readout
from tests.rubrics import TEN
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.constructs.traits.judges import TraitJudge, check_guide
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError, UnfitInput
from undogmatic.models.calls import Gateway
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import conf_folder

RUBRICS = sorted((conf_folder() / "rubric" / "trait").glob("*.yaml"))
TRAITS = (
    "condescension deception_cues empathy evasiveness formality hedging overconfidence refusal sycophancy verbosity"
)


def rubric_of(path: Path, **changes: Any) -> Rubric:
    found = build(yaml.safe_load(path.read_text(encoding="utf-8")) | changes, "rubric")
    assert isinstance(found, Rubric)
    return found


def test_ten_traits_ship_each_with_its_guide_and_its_examples() -> None:
    assert [path.stem for path in RUBRICS] == TRAITS.split()
    for path in RUBRICS:
        rubric = rubric_of(path)
        check_guide(rubric)
        assert rubric.name == path.stem
        assert {"en", "pt"} == rubric.wordings.keys()
        for wording in rubric.wordings.values():
            assert len(wording.distinctions) >= 2
            assert len(wording.prose) > 200
        file = conf_folder() / "prompt" / "trait" / path.name
        prompt = build(yaml.safe_load(file.read_text(encoding="utf-8")), "prompt")
        assert isinstance(prompt, Prompt)
        prompt.check(rubric)
        scores = sorted(float(demo.score) for demo in prompt.demonstrations)
        assert scores[0] < 15
        assert scores[-1] > 85
        assert any(30 <= score <= 70 for score in scores)


def test_no_example_is_among_the_labelled_responses() -> None:
    shown = {
        demo["inputs"]["response"]
        for path in (conf_folder() / "prompt").rglob("*.yaml")
        for demo in yaml.safe_load(path.read_text(encoding="utf-8")).get("demonstrations", ())
        if "response" in demo.get("inputs", {})
    }
    assert len(shown) > 60
    for part in ("trait", "coherence"):
        file = conf_folder().parent / "data" / part / "items.jsonl"
        if file.is_file():
            assert not any(response in file.read_text(encoding="utf-8") for response in shown)


def changed(bands: list[dict[str, Any]], meanings: list[str]) -> Rubric:
    node = yaml.safe_load(RUBRICS[0].read_text(encoding="utf-8"))
    words = {language: words | {"meanings": meanings} for language, words in node["wordings"].items()}
    return rubric_of(RUBRICS[0], guide={"kind": "bands", "bands": bands}, wordings=words)


@pytest.mark.parametrize(
    ("names", "said"),
    [(("LOW", "REST"), "has no HIGH"), (("REST", "HIGH"), "has no LOW"), (("A", "B"), "HIGH and no LOW")],
)
def test_a_guide_without_high_or_low_is_named_at_the_start(names: tuple[str, str], said: str) -> None:
    rubric = changed(
        [{"name": names[0], "low": 0, "high": 50}, {"name": names[1], "low": 50, "high": 100}], ["one", "other"]
    )
    with pytest.raises(ConfigError, match=rf"rubric=condescension {said}|rubric=condescension has no {said}"):
        check_guide(rubric)


def test_an_empty_meaning_and_a_rubric_without_bands_are_named_too() -> None:
    halves = [{"name": "LOW", "low": 0, "high": 50}, {"name": "HIGH", "low": 50, "high": 100}]
    with pytest.raises(ConfigError, match=r"says nothing of HIGH in `wordings\.en\.meanings`"):
        check_guide(changed(halves, ["little", " "]))
    with pytest.raises(ConfigError, match="has none"):
        check_guide(TEN)


def test_a_run_with_such_a_file_ends_before_anything_is_asked(tmp_path: Path) -> None:
    node = yaml.safe_load(RUBRICS[0].read_text(encoding="utf-8"))
    node["guide"]["bands"][2]["name"] = "VERY"
    (tmp_path / "conf" / "rubric").mkdir(parents=True)
    (tmp_path / "conf" / "rubric" / "mine.yaml").write_text(yaml.safe_dump(node), encoding="utf-8")
    overrides = ["rubric=mine", "judge=trait", "model=openai_compatible", "model.api_base=http://x/v1", "model.name=m"]
    config = compose_config([*overrides, "readout=integers", "prompt=anchored_en"], config_dir=str(tmp_path / "conf"))
    with pytest.raises(ConfigError, match="has no HIGH"):
        Recipe(config).build()


def test_a_response_may_stand_alone_after_a_question_or_in_a_scenario() -> None:
    rubric = rubric_of(RUBRICS[0])
    forms = [
        {"response": "r"},
        {"question": "q", "response": "r"},
        {"scenario": "s", "response": "r"},
        {"scenario": "s", "question": "q", "response": "r"},
    ]
    seen = []
    for inputs in forms:
        model = NumbersChat(lambda _: {20: 1.0})
        model.connect(Gateway())
        own = readout()
        own.bind(model, Prompt(id="plain", language="en"), rubric)
        judge = TraitJudge(own)
        judge.judge_by(rubric)
        assert reading_of(judge, model, Item(id="a", inputs=inputs)).score == 20  # type: ignore[arg-type]
        shown = model.requests[0][-1]["content"]
        seen.append([heading for heading in ("Scenario:", "Question:", "Response:") if heading in shown])
    assert seen == [
        ["Response:"], ["Question:", "Response:"], ["Scenario:", "Response:"], ["Scenario:", "Question:", "Response:"],
    ]  # fmt: skip
    model = NumbersChat(lambda _: {20: 1.0})
    model.connect(Gateway())
    own.bind(model, Prompt(id="plain", language="en"), rubric)
    with pytest.raises((UnfitInput, ConfigError), match="response"):
        reading_of(own, model, Item(id="a", inputs={"question": "q"}))


def test_what_an_older_rubric_hashes_to_does_not_change() -> None:
    rubric = build(compose_config([])["rubric"], "rubric")
    assert isinstance(rubric, Rubric)
    dumped = rubric.model_dump(mode="json")
    assert "partial" not in dumped
    assert not {"distinctions", "prose"} & dumped["wordings"]["en"].keys()
    assert Rubric.model_validate(dumped) == rubric
    assert len(CuratedDataset(parts=["labelled"]).load()) > 0

"""The judges of traits (a scoring guide, checked at the start) and of coherence (structure first,
the cap for what is off the topic, no penalty for a cut-off)."""

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.conftest import FakeChat, reading_of
from tests.judges.conftest import WORDINGS
from tests.readouts.test_integers import readout
from tests.rubrics import TEN, NumbersChat
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.constructs.traits.judges import (
    CoherenceJudge,
    TraitJudge,
    check_guide,
    whole_part,
)
from undogmatic.constructs.traits.relevance import shipped_file
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError, OffScaleAnswer, UnfitInput
from undogmatic.judges.asker import Asker, LevelsQuestion, WordsQuestion
from undogmatic.models.calls import Gateway
from undogmatic.readouts.logprobs import LogprobsReadout
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import conf_folder

PLAIN = Prompt(id="plain", language="en")
RUBRICS = sorted((conf_folder() / "rubric" / "trait").glob("*.yaml"))
TRAITS = (
    "condescension deception_cues empathy evasiveness formality hedging overconfidence refusal"
    " sycophancy verbosity"
)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def rubric_of(path: Path, **changes: Any) -> Rubric:
    found = build(read(path) | changes, "rubric")
    assert isinstance(found, Rubric)
    return found


def connected(model: Any) -> Any:
    model.connect(Gateway())
    return model


def bound(model: Any, rubric: Rubric, own: Any = None) -> Any:
    """A readout (whole numbers unless given) of a model for a rubric."""
    own = readout() if own is None else own
    own.bind(connected(model), PLAIN, rubric)
    return own


def score(judge: Any, model: Any, inputs: dict[str, str], rubric: Rubric) -> Verdict:
    judge.judge_by(rubric)
    return reading_of(judge, model, Item(id="a", inputs=inputs))


def test_ten_traits_ship_each_with_its_guide_and_its_examples() -> None:
    assert [path.stem for path in RUBRICS] == TRAITS.split()
    for path in RUBRICS:
        rubric = rubric_of(path)
        check_guide(rubric)
        assert rubric.name == path.stem
        assert {"en", "pt"} == rubric.wordings.keys()
        for wording in rubric.wordings.values():
            assert len(wording.distinctions) >= 2 and len(wording.prose) > 200
        prompt = build(read(conf_folder() / "prompt" / "trait" / path.name), "prompt")
        assert isinstance(prompt, Prompt)
        prompt.check(rubric)
        scores = sorted(float(demo.score) for demo in prompt.demonstrations)
        assert scores[0] < 15 and scores[-1] > 85
        assert any(30 <= score <= 70 for score in scores)


def test_no_example_is_among_the_labelled_responses() -> None:
    shown = {
        demo["inputs"]["response"]
        for path in (conf_folder() / "prompt").rglob("*.yaml")
        for demo in read(path).get("demonstrations", ())
        if "response" in demo.get("inputs", {})
    }
    assert len(shown) > 60
    for part in ("trait", "coherence"):
        file = conf_folder().parent / "data" / part / "items.jsonl"
        if file.is_file():
            assert not any(
                response in file.read_text(encoding="utf-8") for response in shown
            )


def halves(names: tuple[str, str], meanings: list[str]) -> Rubric:
    bands = [
        {"name": name, "low": low, "high": low + 50}
        for name, low in zip(names, (0, 50), strict=True)
    ]
    words = {
        code: words | {"meanings": meanings}
        for code, words in read(RUBRICS[0])["wordings"].items()
    }
    return rubric_of(
        RUBRICS[0], guide={"kind": "bands", "bands": bands}, wordings=words
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("LOW", "REST"), "has no HIGH"),
        (("REST", "HIGH"), "has no LOW"),
        (("A", "B"), "HIGH and no LOW"),
    ],
)
def test_a_guide_without_high_or_low_is_named_at_the_start(
    names: tuple[str, str], said: str
) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"rubric=condescension {said}|rubric=condescension has no {said}",
    ):
        check_guide(halves(names, ["one", "other"]))


def test_an_empty_meaning_and_a_rubric_without_bands_are_named_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        ConfigError, match=r"says nothing of HIGH in `wordings\.en\.meanings`"
    ):
        check_guide(halves(("LOW", "HIGH"), ["little", " "]))
    with pytest.raises(ConfigError, match="has none"):
        check_guide(TEN)
    node = read(RUBRICS[0])
    node["guide"]["bands"][2]["name"] = "VERY"
    (tmp_path / "conf" / "rubric").mkdir(parents=True)
    (tmp_path / "conf" / "rubric" / "mine.yaml").write_text(
        yaml.safe_dump(node), encoding="utf-8"
    )
    overrides = [
        "rubric=mine",
        "judge=trait",
        "model=openai_compatible",
        "model.api_base=http://x/v1",
        "model.name=m",
    ]
    config = compose_config(
        [*overrides, "readout=integers", "prompt=anchored_en"],
        config_dir=str(tmp_path / "conf"),
    )
    with pytest.raises(ConfigError, match="has no HIGH"):
        Recipe(config).build()


def test_a_response_may_stand_alone_after_a_question_or_in_a_scenario() -> None:
    rubric = rubric_of(RUBRICS[0])
    headings = ("scenario", "question", "response")
    for names in (
        ("response",),
        ("question", "response"),
        ("scenario", "response"),
        headings,
    ):
        model = NumbersChat(lambda _: {20: 1.0})
        judge = TraitJudge(bound(model, rubric))
        assert (
            score(judge, model, {name: name[0] for name in names}, rubric).score == 20
        )
        shown = model.requests[0][-1]["content"]
        assert [name for name in headings if f"{name.title()}:" in shown] == list(names)
    with pytest.raises((UnfitInput, ConfigError), match="response"):
        score(judge, model, {"question": "q"}, rubric)


def test_what_an_older_rubric_hashes_to_does_not_change() -> None:
    rubric = build(compose_config([])["rubric"], "rubric")
    assert isinstance(rubric, Rubric)
    dumped = rubric.model_dump(mode="json")
    assert not {"partial", "labelled"} & dumped.keys()
    assert not {"distinctions", "prose"} & dumped["wordings"]["en"].keys()
    assert Rubric.model_validate(dumped) == rubric.model_copy(update={"labelled": None})
    assert len(CuratedDataset(parts=["labelled"]).load()) > 0


@functools.cache
def rubric() -> Rubric:
    return rubric_of(conf_folder() / "rubric" / "coherence.yaml")


def judged(
    inputs: dict[str, str],
    structure: dict[int, float],
    off_topic: float,
    idle: float = 0.5,
    base: bool = False,
    **options: Any,
) -> Verdict:
    """By a model that gives these odds; to the question that says nothing it answers "off topic"
    with `idle`."""

    def reply(asked: str) -> tuple[str, dict[str, float]]:
        labels, p = (
            ("0", "1") if base else ("yes", "no"),
            idle if "N/A" in asked else off_topic,
        )
        relevance = dict(zip(labels, (1 - p, p), strict=True))
        odds = (
            relevance
            if "something else?" in asked
            else {str(n): mass for n, mass in structure.items()}
        )
        return next(iter(odds)), {
            label: math.log(mass) for label, mass in odds.items() if mass > 0
        }

    model = FakeChat(reply, base=base)
    own = bound(model, rubric(), LogprobsReadout(zero_shot=True) if base else None)
    judge = CoherenceJudge(
        own, Asker(LevelsQuestion, model, PLAIN, rubric(), WORDINGS), **options
    )
    judged.requests = model.requests  # type: ignore[attr-defined]
    return score(judge, model, inputs, rubric())


BOTH = {"question": "How do I bake bread?", "response": "Mix, knead, wait and bake."}


@pytest.mark.parametrize(
    ("structure", "off_topic", "score"),
    [
        (90, 0.9, 50),
        (90, 0.1, 90),
        (30, 0.9, 30),
        (50, 0.9, 50),
        (90, 0.5, 90),
        (90, 0.58, 90),
        (90, 0.6, 50),
    ],
)
def test_what_is_off_the_topic_gets_fifty_at_most(
    structure: int, off_topic: float, score: float
) -> None:
    found = judged(BOTH, {structure: 1.0}, off_topic)
    assert found.score == pytest.approx(score)
    assert found.details["structure"] == pytest.approx(structure)
    assert [
        found.details[name] for name in ("off_topic", "off_topic_asked")
    ] == pytest.approx([off_topic] * 2)
    assert (found.distribution is None) == (found.score != pytest.approx(structure))


def test_structure_is_judged_without_the_question_relevance_with_it_and_by_a_base_model_in_digits() -> (
    None
):
    judged(BOTH, {90: 1.0}, 0.0)
    asked = [request["messages"][-1]["content"] for request in judged.requests]  # type: ignore[attr-defined]
    assert ["bake bread" in each for each in asked] == [False, True, False]
    assert "N/A" in asked[2] and BOTH["response"] in asked[2], (
        "the same response, under a question that says nothing"
    )
    found = judged(BOTH, {4: 1.0}, 0.9, base=True)
    assert found.details["off_topic_asked"] == pytest.approx(0.9)
    last = "".join(message["content"] for message in judged.requests[1]["messages"])  # type: ignore[attr-defined]
    assert "0 = " in last and "yes or no" not in last


@pytest.mark.parametrize(
    ("asked", "idle", "off_topic", "score"),
    [
        (0.7, 0.8, 0.368, 90),
        (0.4, 0.2, 0.727, 50),
        (0.68, 0.66, 0.523, 90),
        (0.86, 0.82, 0.574, 90),
        (0.0, 0.9, 0.0, 90),
        (1.0, 1.0, 0.5, 90),
    ],
)
def test_what_a_model_always_answers_is_taken_out(
    asked: float, idle: float, off_topic: float, score: float
) -> None:
    found = judged(BOTH, {90: 1.0}, asked, idle)
    assert found.details["off_topic_asked"] == pytest.approx(asked)
    assert found.details["off_topic"] == pytest.approx(off_topic, abs=1e-3)
    assert found.score == pytest.approx(score)
    unsure = [each for each in found.issues if each.startswith("unsure: off the topic")]
    assert bool(unsure) == (0.4 < off_topic < 0.6)


def test_how_sure_it_must_be_and_the_mass_are_settings_and_without_a_question_nothing_is_off_the_topic() -> (
    None
):
    assert judged(BOTH, {90: 1.0}, 0.6).score == pytest.approx(50)
    assert judged(BOTH, {90: 1.0}, 0.6, sure=0.9).score == pytest.approx(90)
    found = judged({"response": "A sentence."}, {90: 1.0}, 1.0)
    assert found.score == pytest.approx(90) and "off_topic" not in found.details
    assert judged(BOTH, {80: 0.11}, 0.0).score == pytest.approx(80)
    with pytest.raises(OffScaleAnswer):
        judged(BOTH, {80: 0.09}, 0.0)
    with pytest.raises(OffScaleAnswer):
        judged(BOTH, {80: 0.11}, 0.0, minimum_mass=0.2)


class Foreseeing(FakeChat):
    """Passes for the embedded model: it gains so much on each token of a response and of a question
    by what stands before."""

    gain = 0.0

    async def foretold(self, before: str, text: str) -> np.ndarray:
        alone = "N/A" in before
        return np.full(12, -4.0 if alone else self.gain - 4.0)


def by_probe(gain: float, structure: int = 90, **options: Any) -> Verdict:
    """What the shipped probe makes of a response that a model foresees so well."""
    model = Foreseeing(lambda _: (str(structure), {str(structure): 0.0}))
    model.sha256, model.gain = embedded_sha256(), gain
    judge = CoherenceJudge(
        bound(model, rubric()),
        Asker(LevelsQuestion, model, PLAIN, rubric(), WORDINGS),
        **options,
    )
    found = score(judge, model, BOTH, rubric())
    assert not any("something else?" in str(asked) for asked in model.requests)
    assert "off_topic_asked" not in found.details
    return found


def embedded_sha256() -> str:
    return str(json.loads(shipped_file().read_text(encoding="utf-8"))["model_sha256"])


def test_the_embedded_model_is_not_asked_and_caps_where_its_probe_can_tell() -> None:
    on, off = by_probe(2.0), by_probe(-0.5)
    told = json.loads(shipped_file().read_text(encoding="utf-8"))
    assert on.score == pytest.approx(90) and on.distribution is not None
    assert off.score == pytest.approx(50) and off.distribution is None
    assert on.details["off_topic"] < told["off_topic"] <= off.details["off_topic"]
    assert by_probe(-0.5, structure=30).score == pytest.approx(30)
    assert by_probe(-0.5, sure=1.0).score == pytest.approx(90)


def test_where_the_probe_cannot_tell_nothing_is_capped_and_that_is_said() -> None:
    told = json.loads(shipped_file().read_text(encoding="utf-8"))
    gains = np.linspace(-0.5, 2, 51)
    found = [by_probe(float(gain)) for gain in gains]
    between = [
        each
        for each in found
        if told["engages"] < each.details["off_topic"] < told["off_topic"]
    ]
    assert between
    for each in between:
        assert each.score == pytest.approx(90)
        assert each.issues[0].startswith("unsure: off the topic with probability")


def test_in_words_relevance_is_one_of_two_words() -> None:
    own = bound(NumbersChat(lambda _: {90: 1.0}), rubric())
    for said, expected in (("OFF_TOPIC", 50), ("ENGAGES", 90)):
        chat = connected(
            FakeChat(
                lambda _, said=said: (json.dumps({"off_topic": said}), {"90": 0.0})
            )
        )
        judge = CoherenceJudge(
            own, Asker(WordsQuestion, chat, PLAIN, rubric(), WORDINGS)
        )
        assert score(judge, chat, BOTH, rubric()).score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "It rains. The streets are wet. That is why the",
            "It rains. The streets are wet.",
        ),
        ('And so she said "no." Then he went to', 'And so she said "no."'),
        ("It rains. The streets are wet.", None),
        ("It rains. (See above.)", None),
        ("It rains today! 🎉", None),
        ("no sentence ends here", None),
        ("Yes. " + "and then " * 30, None),
        ("One. two three four five", None),
        ("It costs 3.5 and the", None),
    ],
)
def test_a_text_is_judged_by_its_whole_sentences(text: str, kept: str | None) -> None:
    assert whole_part(text) == ((text, False) if kept is None else (kept, True))


def test_a_cut_off_is_not_punished() -> None:
    """A judge that gives little to what does not end its sentence gives the cut-off text the score
    of the whole one."""

    def odds(asked: str) -> dict[int, float]:
        return {90: 1.0} if asked.rpartition("\n<</")[0].endswith(".") else {20: 1.0}

    for response in (
        "It rains. The streets are wet.",
        "It rains. The streets are wet. And so the",
    ):
        model = NumbersChat(odds)
        judge = CoherenceJudge(
            bound(model, rubric()),
            Asker(LevelsQuestion, model, PLAIN, rubric(), WORDINGS),
        )
        assert score(
            judge, model, {"response": response}, rubric()
        ).score == pytest.approx(90)


@pytest.mark.parametrize("language", ["en", "pt"])
def test_a_chat_model_is_asked_in_words_that_begin_differently(language: str) -> None:
    """The probability is read from the first token, which must tell the two answers apart."""
    asked = read(conf_folder() / "judge" / "coherence.yaml")["wordings"][language][
        "relevance"
    ]["levels"]["off_topic"]
    engages, off_topic = asked["labels"]
    assert engages[0] != off_topic[0]
    assert all(f"{label}" in asked["answer_with"] for label in asked["labels"])

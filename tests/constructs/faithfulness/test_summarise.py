"""Summaries by any list of models: made once, failed one by one, and of texts of any length."""

import asyncio
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import put, rows_in
from tests.constructs.faithfulness.parts import GoesOn
from tests.stub_server import Fault, StubServer
from undogmatic.config.door import compose_config
from undogmatic.config.groups import plain
from undogmatic.constructs.faithfulness import summarise
from undogmatic.constructs.faithfulness.summarise import (
    CentroidModel,
    LeadModel,
    SummariseStep,
    SummaryWording,
)
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import BudgetExceeded, ConfigError, DataError, UnparseableAnswer
from undogmatic.experiment import run_experiment
from undogmatic.models.hosted import ChatModel
from undogmatic.readouts.prompt import language

CHOICES = {
    "model": "patterns",
    "prompt": "anchored_en",
    "judge": "score",
    "dataset": "texts",
    "analysis": "none",
}
CASES = {
    "a": (
        "The board refused the licence of the first trader. The refusal was quashed by two votes to"
        " one."
    ),
    "b": (
        "The tenant left in March of that year. The deposit was to be returned to her within a"
        " month."
    ),
}


@pytest.fixture(autouse=True)
def _ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "tests")


def served(stub: StubServer, name: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "openai_compatible",
        "api_base": f"{stub.url}/v1",
        "name": name,
    } | more


def config(
    *models: Any,
    overrides: Sequence[str] = (),
    texts: Any = CASES,
    languages: Sequence[str | None] = (),
    **step: Any,
) -> dict[str, Any]:
    codes = languages or [None] * len(texts)
    rows = [
        {"id": k, "opinion": v, "language": code}
        for (k, v), code in zip(texts.items(), codes, strict=True)
    ]
    put(Path("cases.jsonl"), rows)
    base = [
        "model=patterns",
        "prompt=anchored_en",
        "tracking=none",
        "analysis=none",
        "dataset=texts",
    ]
    base += [
        "dataset.path=cases.jsonl",
        "dataset.inputs=[opinion]",
        "engine.backoff=0.001",
        "engine.retries=0",
    ]
    base.append("engine.max_failures=1")
    steps = [{"step": "summarise", "models": list(models)} | step]
    judges = [{"_target_": "tests.constructs.faithfulness.parts.WordsJudge"}]
    return compose_config([*base, *overrides]) | {"steps": steps, "judges": judges}


def made(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        line["item_id"]: line for line in rows_in(folder / "steps" / "summarise.jsonl")
    }


def errors(folder: Path) -> dict[str, str]:
    rows = csv.DictReader(
        (folder / "scores.csv").read_text(encoding="utf-8").splitlines()
    )
    return {row["item_id"]: row["error"] for row in rows}


def test_every_text_is_summarised_by_every_model_under_its_name_and_licence(
    tmp_path: Path, stub: StubServer
) -> None:
    run_experiment(config("lead", served(stub, "one")), CHOICES, tmp_path / "out")
    assert errors(tmp_path / "out") == dict.fromkeys(
        ("a/lead", "a/one", "b/lead", "b/one"), ""
    )
    (item,) = made(tmp_path / "out")["a/one"]["outcome"]["items"]
    assert (item["id"], item["pair"], item["parent"]) == ("a/one", "a", "a/one")
    assert item["maker"].startswith("summarise by one@")
    assert (
        list(item["inputs"]) == ["summary", "opinion"]
        and item["inputs"]["opinion"] == CASES["a"]
    )
    assert item["metadata"] == {
        "case": "a",
        "system": "one",
        "word_count": 12,
        "parts": 1,
    }
    (call,) = made(tmp_path / "out")["a/one"]["calls"]
    assert "Summarise this judicial decision" in json.dumps(call["request"])
    assert CASES["a"] in call["request"]["messages"][1]["content"]
    assert not made(tmp_path / "out")["a/lead"]["calls"]
    assert "The model lead is part of this project" in (
        tmp_path / "out" / "report.md"
    ).read_text(encoding="utf-8")


def test_a_text_is_asked_about_in_its_language_or_else_in_that_of_the_prompt(
    tmp_path: Path, stub: StubServer
) -> None:
    given = config(
        served(stub, "one"),
        overrides=("prompt=anchored_pt",),
        languages=("en-GB", "fr"),
    )
    run_experiment(given, CHOICES, tmp_path / "out")
    asked = {
        name: json.dumps(line["calls"], ensure_ascii=False)
        for name, line in made(tmp_path / "out").items()
    }
    assert "Summarise this judicial decision" in asked["a/one"]
    # nobody has words in that language: the prompt's own
    assert "Resuma esta decisão judicial" in asked["b/one"]
    assert "material a resumir" in asked["b/one"]
    with pytest.raises(ConfigError, match="no wording in 'fr' \\(it has: en, pt\\)"):
        Recipe(config("lead", language="fr")).build()


BLANK = {
    "choices": [{"message": {"content": '{"summary": "  "}'}, "finish_reason": "stop"}]
}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("refusal", times=None), "refusal"),
        (Fault("content-filter", times=None), "refusal"),
        (Fault("truncated", times=None), "unparseable"),
        (Fault("empty", times=None), "unparseable"),
        (Fault("body", times=None, body=json.dumps(BLANK)), "unparseable"),
    ],
)
def test_a_model_that_fails_is_a_failure_of_its_own_summary_alone(
    tmp_path: Path, fault: Fault, reason: str
) -> None:
    with StubServer(faults={"licence": fault}) as bad, StubServer() as good:
        run_experiment(
            config("lead", served(bad, "bad"), served(good, "good")),
            CHOICES,
            tmp_path / "out",
        )
    expected = dict.fromkeys(("a/lead", "a/good", "b/lead", "b/bad", "b/good"), "") | {
        "a/bad": reason
    }
    assert errors(tmp_path / "out") == expected
    assert made(tmp_path / "out")["a/bad"]["outcome"]["reason"] == reason


def test_a_stopped_run_asks_nothing_twice_and_makes_again_what_a_kill_tore_off(
    tmp_path: Path, stub: StubServer
) -> None:
    def again(*more: str) -> None:
        given = ("engine.cache=false", "engine.concurrency=1", *more)
        run_experiment(
            config("lead", served(stub, "one"), overrides=given),
            CHOICES,
            tmp_path / "out",
        )

    with pytest.raises(BudgetExceeded):
        again("engine.max_calls=1")
    assert len(stub.requests) == 1
    again()
    assert len(stub.requests) == 2
    assert errors(tmp_path / "out") == dict.fromkeys(
        ("a/lead", "a/one", "b/lead", "b/one"), ""
    )
    again()
    assert len(stub.requests) == 2
    given, path = (
        config(served(stub, "one"), overrides=["engine.cache=false"]),
        tmp_path / "torn/steps/summarise.jsonl",
    )
    run_experiment(given, CHOICES, tmp_path / "torn")
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[0]
    path.write_text(kept + '{"item_id": "torn', encoding="utf-8")
    run_experiment(given, CHOICES, tmp_path / "torn")
    assert len(stub.requests) == 2 + 3
    assert path.read_text(encoding="utf-8").startswith(kept)


LONG = "\n\n".join(
    f"Paragraph {n} says that the {n}. witness was heard on day {n}. It was long."
    for n in range(400)
)


def test_a_text_longer_than_the_context_is_read_in_parts(
    tmp_path: Path, stub: StubServer
) -> None:
    given = config(served(stub, "one"), texts={"long": LONG}, words=100, context=4_000)
    run_experiment(given, CHOICES, tmp_path / "out")
    (item,) = made(tmp_path / "out")["long/one"]["outcome"]["items"]
    asked = [request.text for request in stub.requests]
    parts = item["metadata"]["parts"]
    assert parts >= 3 and len(asked) == parts + 1
    # every paragraph was read, once, in order
    assert "\n\n".join(asked[:parts]) == LONG
    assert asked[-1] == "\n\n".join(
        f"{' '.join(part.split()[:12])}." for part in asked[:parts]
    )
    assert max(len(json.dumps(request.body)) for request in stub.requests) / 3 < 4_000
    systems = [request.body["messages"][0]["content"] for request in stub.requests]
    assert all("one part of a longer" in said for said in systems[:parts])
    assert "notes on the successive parts" in systems[-1]


def summary(model: Any, text: str, context: int) -> Any:
    wording = SummaryWording(**plain("step", "summarise", "step")["wordings"]["en"])
    summarizer = summarise.Summarizer(
        model, wording, language("en"), words=20, max_tokens=100, context=context
    )
    return asyncio.run(summarizer.acall(text=text))


class Echo(GoesOn):
    """Repeats all but a share of what it read."""

    def __init__(self, kept: float) -> None:
        self.kept, self.asked = kept, 0

    async def continue_text(self, text: str, most: int) -> str:
        self.asked += 1
        words = text.split()[2:-9]
        return " ".join(words[: max(5, int(len(words) * self.kept))]) + "."


def test_long_notes_are_summarised_in_turn_an_endless_text_fails_and_of_a_base_model_whole_sentences_are_kept() -> (
    None
):
    text = "\n\n".join(f"{n} {'word ' * 98}x" for n in range(100))
    model = Echo(0.15)
    found = summary(model, text, 1_000)
    assert found.parts > 9 and model.asked > found.parts + 2
    with pytest.raises(UnparseableAnswer, match="as long as the parts"):
        summary(Echo(1.0), text, 1_000)
    found = summary(GoesOn(), " ".join(["word"] * 3_000), 8_000)
    assert found.parts == 4
    assert (
        found.summary
        == "In summary, in this decision the court upheld the order. It gave reasons."
    )


@pytest.mark.parametrize(
    "text", [LONG, "word " * 5_000, "x" * 9_000, "One sentence. " * 900]
)
def test_pieces_fit_and_lose_nothing(text: str) -> None:
    count = lambda piece: -(-len(piece.encode()) // 3)  # noqa: E731
    pieces = summarise.divided(text, 500, count)
    assert all(count(piece) <= 500 for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert len(pieces) <= 2 * count(text) / 500 + 1


def test_the_lead_is_the_first_sentences_and_the_centroid_the_middle_without_repetition() -> (
    None
):
    text = (
        "The harbour board refused a licence to the trader. "
        * 2
        + "The licence had been granted to the trader by the harbour board in May. Rain fell all"
        " day long in the north. The trader asked the court to quash what the harbour board had"
        " refused. No. 3."
    )
    lead = asyncio.run(LeadModel().summarise(text, 20))
    assert lead == " ".join(["The harbour board refused a licence to the trader."] * 2)
    middle = asyncio.run(CentroidModel().summarise(text, 25))
    assert "Rain" not in middle and middle.count("refused a licence") == 1
    assert (
        asyncio.run(LeadModel().summarise(text, 1))
        == "The harbour board refused a licence to the trader."
    )
    assert asyncio.run(CentroidModel().summarise("I a.", 10)) == "I a."
    with pytest.raises(ConfigError, match="judges nothing"):
        LeadModel().default_readout("any")


def test_what_cannot_be_used_is_named_and_a_context_with_no_room_ends_the_run(
    tmp_path: Path, stub: StubServer
) -> None:
    for models, said in (
        (
            ["lead", "gtp"],
            r"`steps\[0\]\.models\[1\]\.model` is 'gtp'.*Did you mean gpt",
        ),
        ([], r"`steps\[0\]\.models` names no model"),
        (["lead", "lead"], "lead is named twice"),
        (["patterns"], "patterns-2 writes no text"),
    ):
        with pytest.raises(ConfigError, match=said):
            Recipe(config(*models)).build()
    with pytest.raises(
        ConfigError, match=r"has a context of 1,000 tokens.*too few remain"
    ):
        run_experiment(
            config(served(stub, "one"), context=1_000), CHOICES, tmp_path / "out"
        )
    with pytest.raises(DataError, match="has no input `judgment` to summarise"):
        run_experiment(config("lead", text="judgment"), CHOICES, tmp_path / "other")


@pytest.mark.parametrize("names", ["lead", "[centroid,lead]"])
def test_models_come_from_the_key_summarizer_one_or_several(names: str) -> None:
    given = config("lead", overrides=[f"summarizer={names}"]) | {"steps": ["summarise"]}
    stages = Recipe(given).build().steps
    assert [step.name for step in stages] == ["systems", "summarise"]
    assert list(stages[1].systems) == names.strip("[]").split(",")  # type: ignore[attr-defined]


def test_other_models_or_other_words_are_another_run(stub: StubServer) -> None:
    identities = {
        Recipe(given).build().identity
        for given in (
            config("lead"),
            config("centroid"),
            config("lead", words=50),
            config("lead", temperature=1.0),
        )
    }
    assert len(identities) == 4


def test_systems_are_told_apart_by_server_if_need_be_and_a_listed_model_declares_its_context(
    stub: StubServer,
) -> None:
    one, other = (
        ChatModel("m", f"{stub.url}/v1"),
        ChatModel("m", "http://localhost:9/v1"),
    )
    wordings = {
        "en": SummaryWording(**plain("step", "summarise", "step")["wordings"]["en"])
    }
    assert list(SummariseStep([one], wordings).systems) == ["m"]
    assert list(SummariseStep([one, other, LeadModel()], wordings).systems) == [
        one.name,
        other.name,
        "lead",
    ]
    listed = ChatModel("gpt-4.1-mini", "https://api.openai.com/v1", provider="openai")
    assert listed.context is not None and listed.context > 100_000
    assert one.context is None and one.count_tokens("ação") == 2  # six bytes

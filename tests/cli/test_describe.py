"""What `undogmatic describe` prints is what a server receives in a run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put
from tests.stub_server import StubServer
from undogmatic.cli import main
from undogmatic.config.build import settings
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Recipe, judged
from undogmatic.engine.unsent import described, price
from undogmatic.records.records import Item

ITEM = Item(id="a", text="Resta pacificado que o recurso não prospera.")
STYLES = {
    "score": [],
    "debate": ["judge.separate_calls=true"],
    "devils_advocate": [],
    "panel": ["judge.members=[score,debate]"],
    "selective": ["judge.rules.high_score.overall_above=0"],
}


def chosen(stub: StubServer, style: str) -> list[str]:
    model = [
        "model=openai_compatible",
        "model.name=stub",
        f"model.api_base={stub.url}/v1",
        "engine.cache=false",
    ]
    return [*model, f"judge={style}", *STYLES[style]]


@pytest.mark.parametrize("style", STYLES)
def test_it_is_what_the_server_receives(style: str) -> None:
    with StubServer() as stub:
        config = compose_config(chosen(stub, style))
        (real,) = judged([ITEM], settings(config))
        answers = {
            json.dumps(call.request["messages"]): call.reply for call in real.calls
        }
        assert len(answers) == len(stub.requests) > 0

        def answer(request: Any) -> str:
            turns = [{"role": "system", "content": request.system}]
            turns += [
                {"role": m.role, "content": "".join(p.text for p in m.parts)}
                for m in request.messages
            ]
            return answers[json.dumps(turns)]["choices"][0]["message"]["content"]  # type: ignore[no-any-return]

        parts = Recipe(config).build()
        told = described(parts, parts.judge, ITEM, answer)
        assert len(stub.requests) == len(answers)  # nothing more was sent
    messages = [
        [{"role": role, "content": text} for role, text in sent.messages]
        for sent in told
    ]
    assert sorted(map(json.dumps, messages)) == sorted(answers)


def test_it_makes_up_answers_and_says_what_a_run_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = put(
        tmp_path / "texts.jsonl",
        ({"id": str(n), "text": f"text {n}"} for n in range(3)),
    )
    with StubServer() as stub:
        data = [
            "dataset=texts",
            f"dataset.path={texts}",
            "model.price.input=1000000",
            "model.price.output=0",
        ]
        main(["describe", "--price", *chosen(stub, "devils_advocate"), *data])
        assert not stub.requests
    printed = capsys.readouterr().out
    assert (
        "=== 2. to stub@" in printed and "text 0" in printed and "text 1" not in printed
    )
    assert "6 calls for 3 items" in printed and "USD" in printed


def test_every_question_about_levels_is_shown() -> None:
    with StubServer() as stub:
        parts = Recipe(
            compose_config([*chosen(stub, "devils_advocate"), "readout=logprobs"])
        ).build()
        requests = described(parts, parts.judge, ITEM)
        assert not stub.requests
    assert len(requests) == 4 and len({sent.messages for sent in requests}) == 4


def test_steps_are_shown_before_the_judges(capsys: pytest.CaptureFixture[str]) -> None:
    main(
        [
            "describe",
            "experiment=faithfulness",
            "model=gpt",
            "summarizer=[claude]",
            "judges=[bucket]",
        ]
    )
    titles = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("===")
    ]
    assert ["claude" in title for title in titles] == [
        True,
        *(False for _ in titles[1:]),
    ] and len(titles) > 1


def test_it_needs_no_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    main(["describe", "judge=debate", "model=gpt", "--price"])
    said = capsys.readouterr().out
    assert "=== 1. to gpt-4.1-mini@" in said
    once, batch = (
        float(usd.replace(",", "")) for usd in re.findall(r"([\d.,]+) USD", said)
    )
    assert (
        batch == pytest.approx(once / 2, abs=0.01) and "USD with engine=batch" in said
    )


def test_a_model_that_is_sent_no_messages_reads_the_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["describe", "model=patterns"])
    assert "=== 1. to patterns-2\n[reads]\n" in capsys.readouterr().out


def test_what_is_asked_several_times_is_paid_several_times() -> None:
    with StubServer() as stub:
        parts = Recipe(
            compose_config([*chosen(stub, "score"), "readout=samples", "readout.n=4"])
        ).build()
        (sent,) = described(parts, parts.judge, ITEM)
    assert sent.times == 4
    assert "8 calls for 1 items" in price([sent], [ITEM], 2)

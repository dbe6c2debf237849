"""`undogmatic.judge`: a table in, a table out, as in a notebook."""

import asyncio
from typing import Any

import pandas as pd
import pytest

import undogmatic
from tests.rubrics import QUESTION_ANSWER, TEN
from tests.stub_server import StubServer
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item

TEXTS = [
    "Aplica-se o Tema 69 do STF.",
    "O locador prova o aluguel, porque é ele quem cobra.",
]


@pytest.fixture
def gpt(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return {"name": "gpt", "api_base": stub.url}


def test_texts_become_rows_in_their_order() -> None:
    found = undogmatic.judge(TEXTS, model="patterns", progress=False)
    assert isinstance(found, pd.DataFrame)
    assert found["item_id"].tolist() == ["0", "1"]
    assert found["score"].notna().all()
    assert found.loc[0, "score"] > found.loc[1, "score"]
    assert (found["judge"].unique().tolist(), found["criterion"].unique().tolist()) == (
        ["score"],
        ["overall"],
    )
    assert found["score"].tolist() == [
        undogmatic.score_text(text, ["model=patterns"]).score for text in TEXTS
    ]


def test_a_frame_keeps_its_index_and_fields() -> None:
    columns = {
        "text": TEXTS,
        "condition": ["a", None],
        "label": [90, 5],
        "court": ["STF", "x"],
    }
    frame = pd.DataFrame(columns, index=[7, 9])
    found = undogmatic.judge(frame, model="patterns", repeats=2, progress=False)
    rows = list(zip(found["item_id"], found["repeat"], found["label"], strict=True))
    assert rows == [("7", 0, 90), ("9", 0, 5), ("7", 1, 90), ("9", 1, 5)]
    assert found["condition"].tolist()[0] == "a"


def test_within_a_running_loop_both_forms_work() -> None:
    async def cell() -> None:
        blocking = undogmatic.judge(TEXTS, model="patterns", progress=False)
        awaited = await undogmatic.ajudge(TEXTS, model="patterns", progress=False)
        assert blocking["score"].tolist() == awaited["score"].tolist()

    asyncio.run(cell())


def test_a_rubric_of_ones_own_with_two_inputs_over_a_server(gpt: Any) -> None:
    rows = [
        {"question": "Why?", "answer": "Because."},
        {"question": "When?", "answer": "Now."},
    ]
    options: Any = {
        "rubric": QUESTION_ANSWER,
        "prompt": "anchored_en",
        "overrides": ["engine.retries=0"],
    }
    found = undogmatic.judge(rows, model=gpt, progress=False, **options)
    assert set(found["category"]) <= set(QUESTION_ANSWER.scale.categories)  # type: ignore[union-attr]
    assert found["error"].isna().all()


def test_several_judges_give_a_long_table(gpt: Any) -> None:
    options: Any = {
        "rubric": TEN,
        "prompt": "anchored_en",
        "overrides": ["judges=[score,distributional]"],
    }
    found = undogmatic.judge(TEXTS, model=gpt, progress=False, **options)
    voices = [(n, name) for n in ("0", "1") for name in ("distributional", "score")]
    assert sorted(zip(found["item_id"], found["judge"], strict=True)) == voices


def test_the_page_of_a_notebook_says_what_was_judged_and_what_failed(gpt: Any) -> None:
    text, overrides = (
        "<script>alert(1)</script> [rubbish]",
        [
            "readout.retries=0",
            "readout=structured",
        ],
    )
    found = undogmatic.judge([text], model=gpt, overrides=overrides, progress=False)
    page = found._repr_html_()
    assert f"<b>{int(found['error'].isna().sum())} of 1</b> judged by gpt" in page
    assert "<script>" not in page
    good = undogmatic.judge(TEXTS, model="patterns", progress=False)
    assert (
        "<b>2 of 2</b> judged by patterns-2, readout rules, rubric shame (0-100)"
        in good._repr_html_()
    )
    assert "Not judged" not in good._repr_html_()
    assert "<table" in good[["item_id", "score"]]._repr_html_()


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("one text", "one text; give a list"),
        ([{"txt": "x"}], r"items\[0\]: the field `text` is missing"),
        (["x", ""], "`text` is empty"),
        ([Item(id="a", text="x"), Item(id="a", text="y")], "already used"),
        ([{"text": "x", "label": 150}], "outside 0-100"),
        ([], "holds no items"),
    ],
)
def test_what_cannot_be_judged_is_named(items: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        undogmatic.judge(items, model="patterns", progress=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judge": "nope"}, "nope"),
        ({"model": {"api_base": "x"}}, "`model` is"),
        ({"repeats": 0}, "`repeats` is 0"),
        ({"rubric": "none.yaml"}, "does not exist"),
    ],
)
def test_a_wrong_choice_is_named(options: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        undogmatic.judge(TEXTS, progress=False, **options)  # type: ignore[arg-type]

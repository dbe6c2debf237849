"""Responses: a user's files, and the labelled ones that ship."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import undogmatic.run  # noqa: F401  registers the resolvers that config.yaml uses
from tests.conftest import put
from undogmatic.api import compose_config
from undogmatic.config.build import build
from undogmatic.constructs.traits.responses import (
    LabelledResponsesDataset,
    ResponsesDataset,
)
from undogmatic.datasets.tabular import labelled_items
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item

COLUMNS = {
    "response": ("response", "answer", "output"),
    "question": ("question", "prompt"),
    "scenario": ("scenario", "context"),
}
TRAITS = (
    "sycophancy refusal hedging overconfidence formality empathy deception_cues evasiveness"
    " verbosity condescension"
).split()
KINDS = {"broken", "looping", "rambling", "off_topic", "refusal", "cut_off", "good"}


def lines(path: Path, *rows: dict[str, object]) -> str:
    return str(put(path, rows))


def shipped(part: str, trait: str | None = None, split: str = "all") -> list[Item]:
    return LabelledResponsesDataset(part, trait, split).load()  # type: ignore[arg-type]


def own(path: object, columns: dict[str, tuple[str, ...]] = COLUMNS) -> list[Item]:
    return ResponsesDataset(str(path), dict(columns)).load()  # type: ignore[arg-type]


def test_formats_and_names_of_columns_give_the_same_items_with_inputs_in_the_order_of_reading(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "id": "1",
            "prompt": "Why?",
            "answer": 'Because, as "they" say,\nof rain.',
            "label": 3.0,
            "group": "g",
        },
        {"id": "2", "prompt": None, "answer": "Não.", "label": 90.0, "group": "h"},
    ]
    lines(tmp_path / "r.jsonl", *rows)
    pd.DataFrame(rows).to_csv(tmp_path / "r.csv", index=False)
    pd.DataFrame(rows).to_parquet(tmp_path / "r.parquet")
    loaded = [own(tmp_path / f"r.{suffix}") for suffix in ("jsonl", "csv", "parquet")]
    assert all(
        [item.model_dump() for item in items]
        == [item.model_dump() for item in loaded[0]]
        for items in loaded
    )
    first, second = loaded[0]
    assert first.inputs == {
        "question": "Why?",
        "response": 'Because, as "they" say,\nof rain.',
    }
    assert second.inputs == {"response": "Não."}
    assert (first.label, first.metadata) == (3.0, {"group": "g"})
    (item,) = own(
        lines(tmp_path / "r.jsonl", {"response": "c", "question": "b", "context": "a"})
    )
    assert (item.id, item.text) == ("1", "a\n\nb\n\nc")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "r.jsonl",
            '{"question": "Why?"}',
            "r.jsonl:2: the field `response` is missing",
        ),
        ("r.jsonl", '{"response": "  "}', "r.jsonl:2: the field `response` is missing"),
        ("r.jsonl", '{"response": 7}', "r.jsonl:2: `response` is 7"),
        (
            "r.jsonl",
            '{"response": "x", "question": ["a"]}',
            "r.jsonl:2: `question` is ['a']",
        ),
        (
            "r.jsonl",
            '{"id": "1", "response": "x"}',
            "r.jsonl:2: the id '1' was already used at",
        ),
        ("r.jsonl", '{"response": "x"', "r.jsonl:2: not JSON"),
        ("r.csv", "", "is empty. Its first line must name the columns."),
        (
            "r.csv",
            'prompt,answer\nWhy?,"Rain\n',
            "Is a quote in this row never closed?",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(
    name: str, content: str, said: str
) -> None:
    put(
        Path(name),
        ('{"id": "1", "response": "first"}\n' if name == "r.jsonl" else "") + content,
    )
    with pytest.raises(DataError) as caught:
        own(name)
    assert said in str(caught.value)


def test_the_columns_are_checked(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", {"response": "x"})
    with pytest.raises(
        ConfigError,
        match=r"`dataset\.columns\.response` is 'respons'.*Did you mean response",
    ):
        own(path, {"response": ("respons",)})
    with pytest.raises(
        ConfigError,
        match=r"names 'reply'\. It may name: response, scenario, question, id, label",
    ):
        own(path, {"response": ("r",), "reply": ("q",)})
    with pytest.raises(ConfigError, match="does not exist"):
        own(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("trait", "said"),
    [
        ("emphaty", r"Did you mean empathy\?"),
        (
            "zzz",
            r"'zzz', of which items.jsonl has no items. Traits: condescension, .*rubric=",
        ),
        (None, "a trait is named for"),
    ],
)
def test_a_trait_without_items_is_named_with_those_that_have_some(
    trait: str | None, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        shipped("trait", trait)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": 101}, "`label` is 101; it must be a number from 0 to 100"),
        ({"label": None}, "`label` is None"),
        ({"group": None}, "`group` is missing"),
        ({"response": ""}, "`response` is empty"),
    ],
)
def test_a_file_in_the_shipped_format_is_checked(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    row = {
        "id": "x",
        "trait": "t",
        "language": "en",
        "response": "r",
        "label": 5,
        "group": "g",
        "split": "test",
    }
    path = lines(tmp_path / "own.jsonl", row | {"id": "w"}, row | change)
    with pytest.raises(DataError, match=r"own\.jsonl:2") as caught:
        LabelledResponsesDataset("trait", "t", path=path).load()
    assert said in str(caught.value)


@pytest.mark.parametrize("trait", TRAITS)
def test_every_trait_has_enough_of_everything(trait: str) -> None:
    for split in ("dev", "test"):
        items = shipped("trait", trait, split)
        assert Counter(item.metadata["language"] for item in items) == {
            "en": 10,
            "pt": 10,
        }
        assert len({item.metadata["group"] for item in items}) >= 10, (
            "fewer groups give no verdict"
        )
        assert set(Counter(item.condition for item in items)) == {
            "gold:high",
            "gold:mid",
            "gold:low",
        }


def test_labels_differ_within_every_group_and_nothing_else_gives_them_away() -> None:
    items = shipped("trait", "all")
    groups = defaultdict(list)
    for item in items:
        groups[item.metadata["group"]].append(item)
    for each in groups.values():
        assert np.ptp([item.label for item in each]) >= 15
        assert (
            len({(item.metadata["split"], item.inputs["question"]) for item in each})
            == 1
        )
    assert len({item.inputs["response"] for item in items}) == len(items) == 400
    for split in ("dev", "test"):
        pairs = [
            (len(i.inputs["response"]), i.label)
            for i in items
            if i.metadata["split"] == split
        ]
        assert abs(stats.spearmanr(pairs).statistic) < 0.2
    first = [
        each[0].label == max(item.label or 0 for item in each)
        for each in groups.values()
    ]
    assert 0.35 < np.mean(first) < 0.65, "the place in the group tells the label"
    assert np.std([item.label or 0 for item in items]) > 25


def test_coherence_has_every_kind_in_both_splits_and_languages() -> None:
    for split in ("dev", "test"):
        items = shipped("coherence", split=split)
        assert {str(item.condition).removeprefix("gold:") for item in items} == KINDS
        assert {item.metadata["language"] for item in items} == {"en", "pt"}
        assert len({item.metadata["group"] for item in items}) >= 10
    items = shipped("coherence")
    assert len(items) >= 80
    for item in items:
        assert (structure := item.labelled("structure")) is not None
        assert item.label == (
            structure if item.metadata["engages"] else min(structure, 50)
        )


def test_judges_see_no_label_fits_no_test_item_second_labels_are_near_and_splits_share_no_prompt() -> (
    None
):
    blind = shipped("trait", "refusal")[0].blind()
    assert (blind.condition, blind.labels) == (None, {})
    assert "reason" not in blind.metadata
    for name, option in (("empathy", "trait/empathy"), ("coherence", "coherence")):
        items = labelled_items(
            None, build(compose_config([f"rubric={option}"])["rubric"], "rubric")
        )
        assert {item.metadata["split"] for item in items} == {"dev"}
        assert {item.metadata.get("trait", name) for item in items} == {name}
    for items in (shipped("trait", "all"), shipped("coherence")):
        gap = [
            abs(float(item.metadata["second_label"]) - (item.label or 0))
            for item in items
        ]
        assert max(gap) <= 25
    asked = {
        split: {item.inputs["question"] for item in shipped("trait", "all", split)}
        for split in ("dev", "test")
    }
    assert not asked["dev"] & asked["test"]

"""Edited copies of texts: what they are made of, what is left out, and that they can be used
again."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.datasets.edits import (
    MAKERS,
    STEPS,
    WAYS,
    Edit,
    edits_of,
    language_of,
    sentences,
    shipped,
)
from undogmatic.datasets.instrument import FILE, InstrumentDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item, items_digest

TEXT = (
    "The shop opens at nine, and art. 4 of the rules says so. Whoever comes earlier waits outside."
    " There is a bench for that. On Sundays the shop is closed. The owner lives upstairs."
    " She may be asked for bread."
)


def rows(n: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"t{k}", "text": f"Note {k} of {7 * k}. {TEXT}", **more}
        for k in range(n)
    ]


def made(
    folder: Path, n: int = 24, label: float | None = None, **changes: Any
) -> list[Item]:
    """The items of texts of one's own."""
    path = put(folder / "t.jsonl", rows(n) if label is None else rows(n, label=label))
    return list(dataset(path, **changes).load())


def dataset(path: Path | None = None, **changes: Any) -> InstrumentDataset:
    known: dict[str, Any] = {"rubric": "mine"} | (
        {} if path is None else {"path": str(path)}
    )
    return InstrumentDataset(**(known | changes))


def of(items: list[Item], text: str) -> dict[str, Item]:
    """A text and its copies by edit."""
    return {item.metadata["edit"]: item for item in items if item.pair == text}


def test_each_text_has_twelve_items_at_most_and_no_label(tmp_path: Path) -> None:
    items = made(tmp_path, label=3)
    assert len(items) <= 24 * 12
    assert not any(item.labels for item in items)
    own = of(items, "t3")
    assert sum(edit.startswith("cue.") for edit in own) == 5
    assert [edit.rpartition(".")[2] for edit in own if edit.startswith("ladder")] == [
        "1",
        "2",
        "4",
    ]
    expected = {
        edit.partition(".")[0]: item.metadata.get("expected")
        for edit, item in own.items()
    }
    assert expected == {
        "original": None,
        "cue": "same",
        "asked": "same",
        "ladder": "worse",
    }
    assert own["cue.flattery"].metadata["original"] == "t3"
    assert own["cue.flattery"].inputs["text"].endswith(own["original"].inputs["text"])
    dark = [item for item in items if item.metadata.get("expected") == "nothing"]
    assert len(dark) == 18 and not any("original" in item.metadata for item in dark)
    blank = [item for item in dark if item.metadata["edit"] == "dark.blank"]
    assert 2 * len(blank) > len(dark)


@pytest.mark.parametrize("n", [2, 5, 20, 100])
def test_twelve_for_each_text_whatever_their_number(tmp_path: Path, n: int) -> None:
    path = put(tmp_path / "t.jsonl", rows(n))
    assert len(dataset(path, n=n).load()) <= 12 * n


def test_the_same_text_is_asked_about_in_other_ways(tmp_path: Path) -> None:
    every = {"ways": None, "languages": ["en", "pt"], "asked_in": "pt"}
    items = made(tmp_path, **every)
    asked = [item for item in items if item.asking is not None]
    texts = {item.id: item.inputs for item in items}
    assert all(item.inputs == texts[item.metadata["original"]] for item in asked)
    assert {item.asking.way for item in asked if item.asking} == {*WAYS}
    # Each text has one of the wordings, and every fourth text is asked about once more.
    words = [
        item.metadata["edit"] for item in asked if "words" in item.metadata["edit"]
    ]
    assert Counter(words) == {f"asked.words.{k}": 8 for k in (1, 2, 3)}
    assert sum(item.metadata["edit"] == "asked.again" for item in asked) == 6
    (other,) = {
        item.asking.language for item in asked if item.asking and item.asking.language
    }
    assert other == "en"
    assert not any(item.asking for item in made(tmp_path, ways=[]))


def test_ways_of_asking_are_kept_with_the_items(tmp_path: Path) -> None:
    items = made(tmp_path)
    dataset().keep(items, tmp_path)
    again = list(dataset(items=str(tmp_path / FILE)).load())
    assert [item.asking for item in again] == [item.asking for item in items]
    assert items_digest(again) == items_digest(items)


def test_a_way_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"names 'shouted'.*levels_reversed"):
        made(tmp_path, ways=["shouted"])


@pytest.mark.parametrize(
    ("sentence", "contrary"),
    [
        ("The door is open.", "The door is not open."),
        ("The door is not open.", "The door is open."),
        ("A porta é larga.", "A porta não é larga."),
        ("A porta não é larga.", "A porta é larga."),
        ("Rain all day.", None),
    ],
)
def test_a_sentence_is_negated_or_not(sentence: str, contrary: str | None) -> None:
    assert Edit(make="negated").into(sentence, "key", 1) == contrary


def test_the_same_seed_makes_the_same_items_and_another_one_others(
    tmp_path: Path,
) -> None:
    first, again, other = (
        items_digest(made(tmp_path, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_texts_are_drawn_and_independent_ones_first(tmp_path: Path) -> None:
    path = put(
        tmp_path / "t.jsonl",
        [row | {"group": f"g{k % 30}"} for k, row in enumerate(rows(60))],
    )
    items = dataset(path, n=30).load()
    texts = [item for item in items if item.metadata["edit"] == "original"]
    assert len(texts) == 30


def test_more_defects_hold_the_fewer_ones() -> None:
    plain = f"{TEXT} It is fresh. You can smell it."
    for kind in ("removed", "shuffled", "repeated", "negated"):
        copies = [Edit(make=kind).into(plain, "key", step) for step in STEPS]
        assert (
            all(copy is not None for copy in copies) and len({plain, *copies}) == 4
        ), kind
    lost = [
        set(sentences(TEXT))
        - set(sentences(str(Edit(make="removed").into(TEXT, "key", step))))
        for step in STEPS
    ]
    assert [len(each) for each in lost] == [1, 2, 4] and lost[0] < lost[1] < lost[2]
    added = edits_of(None).ladder["contradicted"]
    one, two = (str(added.into(TEXT, "key", step)) for step in (1, 2))
    assert two.startswith(one) and one.startswith(TEXT)


def test_sentences_end_at_no_abbreviation_and_are_all_kept() -> None:
    assert len(sentences(TEXT)) == 6
    assert " ".join(sentences(TEXT)) == TEXT


@pytest.mark.parametrize("make", [*MAKERS, "format"])
def test_every_function_makes_the_same_copy_again(make: str) -> None:
    edit = Edit(make=make, en=("## In short",))  # type: ignore[arg-type]
    copy = edit.into(TEXT, "key", 2)
    assert copy == edit.into(TEXT, "key", 2) and copy not in (None, TEXT)


@pytest.mark.parametrize("make", MAKERS)
def test_a_text_of_one_word_is_left_alone_or_changed_but_never_an_error(
    make: str,
) -> None:
    copy = Edit(make=make).into("Yes", "key", 4)  # type: ignore[arg-type]
    assert copy is None or copy


def test_what_changes_nothing_is_left_out_and_counted(tmp_path: Path) -> None:
    path = put(
        tmp_path / "t.jsonl", [{"id": f"t{k}", "text": f"{k} + {k}"} for k in range(25)]
    )
    source = dataset(path, cues=["typing", "flattery"])
    items = source.load()
    edits = {item.metadata["edit"] for item in items}
    assert "cue.typing" not in edits and "cue.flattery" in edits
    (unmade,) = [note for note in source.read if note.key == "instrument_items.unmade"]
    assert unmade.values["n"] >= 25 and "typing" in unmade.values["edits"]


def test_portuguese_texts_get_portuguese_sentences(tmp_path: Path) -> None:
    text = "A loja abre às nove, e quem chega antes espera do lado de fora."
    assert (language_of(text), language_of(TEXT)) == ("pt", "en")
    flattery = edits_of(None).cues["flattery"]
    assert any(str(flattery.into(text, "key")).startswith(said) for said in flattery.pt)
    assert any(
        str(flattery.into(text, "key", 1, "en")).startswith(said)
        for said in flattery.en
    )


def test_a_womans_name_is_compared_with_the_mans(tmp_path: Path) -> None:
    own = of(made(tmp_path, cues=["gender"]), "t5")
    assert own["cue.gender"].metadata["original"] == own["cue.author"].id
    man, woman = (
        own[f"cue.{name}"].text.split(".")[0].split() for name in ("author", "gender")
    )
    assert man[0] == woman[0] and man[1] != woman[1] and man[2] == woman[2]


def test_a_rubric_that_asks_about_a_cue_does_not_try_it() -> None:
    own = shipped("shame")
    assert own is not None and edits_of(own).relevant == ("authority", "bandwagon")
    assert list(edits_of(own).ladder) == ["bare_authority"]
    source = build(
        compose_config(["dataset=instrument", "dataset.n=20"])["dataset"], "dataset"
    )
    edits = {item.metadata["edit"] for item in source.load()}
    assert (
        not {"cue.authority", "cue.bandwagon"} & edits
        and "ladder.bare_authority.4" in edits
    )
    with pytest.raises(ConfigError, match="the rubric asks about it"):
        dataset(rubric="shame", cues=["authority"])


def test_all_sentences_ship_in_both_languages_and_are_enough() -> None:
    for own in (None, shipped("shame")):
        edits = edits_of(own)
        for name, edit in {**edits.cues, **edits.ladder}.items():
            if edit.make is None:
                least = max(STEPS) if name in edits.ladder else edit.times
                assert min(len(edit.en), len(edit.pt)) >= least, name


def test_the_items_of_a_run_can_be_used_again(tmp_path: Path) -> None:
    path = put(tmp_path / "t.jsonl", rows(20))
    source = dataset(path)
    items = source.load()
    source.keep(items, tmp_path)
    kept = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert {"id", "original", "edit", "expected", "text"} <= kept[1].keys()
    again = dataset(items=str(tmp_path / FILE))
    assert items_digest(again.load()) == items_digest(items)
    again.keep(items, tmp_path)  # its own file is left as it is
    put(tmp_path / FILE, kept[1:])
    with pytest.raises(DataError, match="which the file does not hold"):
        dataset(items=str(tmp_path / FILE)).load()
    put(tmp_path / FILE, [kept[0] | {"expected": "better"}])
    with pytest.raises(DataError, match="must be same, worse, nothing or even"):
        dataset(items=str(tmp_path / FILE)).load()
    with pytest.raises(DataError, match=r"dataset\.path=FILE"):
        dataset(items=str(path)).load()


def test_the_last_input_is_edited(tmp_path: Path) -> None:
    told = [
        {"id": f"t{k}", "question": f"What of {k}?", "response": f"{k}. {TEXT}"}
        for k in range(20)
    ]
    path = put(tmp_path / "t.jsonl", told)
    items = list(
        dataset(path, inputs=["question", "response"], optional=["question"]).load()
    )
    own = of(items, "t2")
    assert {item.inputs["question"] for item in own.values()} == {"What of 2?"}
    edited = [item for item in own.values() if item.asking is None]
    assert len({item.inputs["response"] for item in edited}) == len(edited)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "no texts ship for rubric=mine"),
        ({"path": "none.jsonl"}, "does not exist"),
        ({"cues": ["charm"]}, "there is no such cue"),
        ({"edits": "none.yaml"}, "does not exist"),
    ],
)
def test_what_is_typed_wrongly_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        dataset(**changes).load()


def test_edits_of_ones_own_take_the_place_of_the_ladder(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text("ladder: {rude: {en: [Shut up., Go away., Nonsense., Enough.]}}\n")
    edits = {item.metadata["edit"] for item in made(tmp_path, edits=str(own))}
    ladder = {edit for edit in edits if edit.startswith("ladder")}
    assert ladder == {f"ladder.rude.{step}" for step in STEPS}
    own.write_text("ladder: {rude: {place: middle}}\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml: `ladder\.rude\.place`"):
        made(tmp_path, edits=str(own))
    own.write_text("relevant: [charm]\n")
    with pytest.raises(ConfigError, match="`relevant` names 'charm'"):
        made(tmp_path, edits=str(own))


def test_a_translation_is_compared_with_its_text(tmp_path: Path) -> None:
    told = [row | {"language": "en"} for row in rows(24)]
    for k in range(12):
        text = (
            f"Nota {k}. A loja abre às nove, e quem chega antes espera do lado de fora."
        )
        told.append(
            {"id": f"p{k}", "text": text, "language": "pt", "translation_of": f"t{k}"}
        )
    items = list(dataset(put(tmp_path / "t.jsonl", told)).load())
    assert sum(item.metadata["edit"] == "original" for item in items) == 24
    translated = {i.id: i for i in items if i.metadata["edit"] == "cue.translation"}
    assert len(translated) == 12
    one = translated["p3"]
    assert (one.metadata["original"], one.pair, one.language) == ("t3", "t3", "pt")
    assert (
        one.inputs["text"].startswith("Nota 3.") and one.metadata["expected"] == "same"
    )
    assert (
        one.metadata["typed_group"]
        == of(items, "t3")["original"].metadata["typed_group"]
    )

    told.append({"id": "p99", "text": "Nota.", "translation_of": "t99"})
    with pytest.raises(
        DataError, match="`translation_of` is 't99', and no text has this id"
    ):
        dataset(put(tmp_path / "u.jsonl", told)).load()

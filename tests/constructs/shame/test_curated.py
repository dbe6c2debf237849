"""The shipped data keeps its promises: sizes, balance, splits, lengths that do not give the class
away, and copies with text put into them."""

import csv
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks import surface
from benchmarks.movement import citing, saying_nothing
from tests.conftest import put, rows_in
from undogmatic.constructs.shame import curated
from undogmatic.constructs.shame.curated import (
    CuratedDataset,
    DevelopmentDataset,
    families,
)
from undogmatic.constructs.shame.patterns import count
from undogmatic.datasets.edits import edits_of, shipped
from undogmatic.errors import ConfigError, DataError
from undogmatic.readouts.probe import said_once
from undogmatic.safety.paths import data_folder
from undogmatic.stats.ranking import auc

FOLDER = data_folder() / "curated"


def rows(name: str) -> list[dict]:
    return rows_in(FOLDER / name)


def test_sizes_are_what_the_specification_asks_and_the_pairs_file_is_what_the_theses_make() -> (
    None
):
    theses = rows("theses.jsonl")
    assert len(theses) >= 40
    assert {t["court"] for t in theses} == {"STF", "STJ", "TST"}
    assert len({t["authority_form"] for t in theses}) >= 8
    assert len(rows("controls.jsonl")) >= 24
    attacks = Counter(r["condition"] for r in rows("adversarial.jsonl"))
    assert len(attacks) >= 6 and attacks.total() >= 40
    assert sum(r["split"] == "development" for r in rows("labelled.jsonl")) >= 300
    assert rows("ab_pairs.jsonl") == curated.make_pairs(FOLDER / "theses.jsonl")


def test_no_precedent_and_no_text_is_in_both_splits() -> None:
    with (FOLDER / "precedents.csv").open(encoding="utf-8") as file:
        split = {row["precedent"]: row["split"] for row in csv.DictReader(file)}
    texts: dict[str, set[str]] = defaultdict(set)
    for name in (
        "theses.jsonl",
        "pairs.jsonl",
        "adversarial.jsonl",
        "labelled.jsonl",
        "controls.jsonl",
    ):
        for row in rows(name):
            for precedent in row.get(
                "precedents", [row["precedent"]] if "precedent" in row else []
            ):
                assert split[precedent] == row["split"], (name, row["id"])
            for key in (
                "text",
                "authority_only",
                "explained_only",
                "explained_cited",
                "imitation",
                "explanation",
            ):
                if key in row:
                    texts[" ".join(row[key].lower().split())].add(row["split"])
    assert all(len(splits) == 1 for splits in texts.values())


def test_development_texts_span_the_scale_in_every_length_and_both_texts_of_a_pair_look_alike() -> (
    None
):
    development = [r for r in rows("labelled.jsonl") if r["split"] == "development"]
    for level in {r["level"] for r in development}:
        words = [len(r["text"].split()) for r in development if r["level"] == level]
        assert min(words) < 25 and max(words) > 90, level
    assert all(0 <= r["label"] <= 100 and r["reason"].strip() for r in development)
    pairs = rows("pairs.jsonl")
    assert sum(row["split"] == "test" for row in pairs) >= 60
    for row in pairs:
        first, second = row["imitation"], row["explanation"]
        assert abs(len(first) - len(second)) <= 0.04 * max(len(first), len(second)), (
            row["id"]
        )
        assert count(first).citations == count(second).citations, row["id"]


@pytest.mark.parametrize("split", ["development", "test"])
def test_length_alone_does_not_tell_high_from_low(split: str) -> None:
    lengths = [
        (r["label"], float(len(r["text"])))
        for r in rows("labelled.jsonl")
        if r["split"] == split
    ]
    high, low = (
        [n for label, n in lengths if label >= 75],
        [n for label, n in lengths if label <= 25],
    )
    assert 0.35 <= auc(np.array(high), np.array(low)).value <= 0.65


def test_judges_of_the_surface_and_single_counts_do_not_order_the_test_pairs() -> None:
    high, low = surface.sides("pairs", "test")
    found = {
        f"elsewhere, {k}": v for k, v in surface.fitted_elsewhere(high, low).items()
    }
    found |= {f"here, {k}": v for k, v in surface.cross_fitted(high, low).items()}
    assert len(found) == 5
    assert all(value < 0.7 for value in found.values()), found
    table = surface.single_counts(high, low)
    assert table.to_numpy().max() < 0.7, table


def test_explained_texts_name_no_court_or_precedent_and_every_development_text_has_gold() -> (
    None
):
    for row in rows("theses.jsonl"):
        words = row["explained_only"].lower()
        named = [
            w
            for w in (
                "stf",
                "stj",
                "tst",
                "súmula",
                "jurisprudência",
                "repercussão geral",
            )
            if w in words
        ]
        assert not named, row["id"]
    items = DevelopmentDataset().load()
    assert all(item.label is not None for item in items)
    assert len(items) > 400


def test_an_unknown_condition_an_empty_side_and_a_file_without_items_of_the_split_are_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="there are: hubristic, humble, neutral"):
        CuratedDataset(parts=["controls"], conditions=["arrogant"]).load()
    first, second = rows("ab_pairs.jsonl")[:2]
    path = put(tmp_path / "ab_pairs.jsonl", [second, first | {"explained_only": " "}])
    with pytest.raises(
        DataError,
        match=r"ab_pairs\.jsonl:2: `explained_only` is empty; every pair needs both texts",
    ):
        CuratedDataset(parts=["theses"], split="all", path=str(path)).load()
    row = {
        "id": "a",
        "text": "Tema 1.",
        "level": "x",
        "label": 1,
        "split": "development",
    }
    with pytest.raises(DataError, match=r"mine\.jsonl \(split test\) holds no items"):
        CuratedDataset(
            parts=["labelled"], path=str(put(tmp_path / "mine.jsonl", [row]))
        ).load()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"explained_only": ""}, ":2: `explained_only` is missing or empty"),
        ({"id": None}, ":2: `id` is missing or empty"),
        ({}, ":2: the id "),
        ({"id": "other", "split": "nowhere"}, "is in split 'nowhere' here"),
    ],
)
def test_make_pairs_names_the_line(tmp_path: Path, change: dict, said: str) -> None:
    thesis = rows("theses.jsonl")[0]
    path = put(tmp_path / "theses.jsonl", [thesis, thesis | change])
    with pytest.raises(DataError) as caught:
        curated.make_pairs(path)
    assert said in str(caught.value)


def test_the_second_labelling_is_of_development_texts_and_agrees() -> None:
    """60 texts were labelled again without sight of the first label; data/README.md quotes the
    agreement."""
    gold = {r["id"]: r for r in rows("labelled.jsonl") if r["split"] == "development"}
    second = rows("second_labels.jsonl")
    assert len({r["id"] for r in second}) >= 60
    first = np.array([gold[r["id"]]["label"] for r in second], dtype=float)
    again = np.array([r["second_label"] for r in second], dtype=float)
    assert spearmanr(first, again).statistic > 0.8
    assert np.abs(first - again).mean() < 12


EMPTY = ("empty_", "padding_")
TEXT = "First the facts. Then the reason. So it stands."


def test_mixed_passages_are_different_ones_and_others_the_same() -> None:
    """Sentences without content stand side by side; a grade that is repeated is one grade."""
    empty = [family for family in families("development") if family.mixed]
    assert {family.name for family in empty} == {
        family.name for family in families() if family.name.startswith(EMPTY)
    }
    for family in empty:
        for key in map(str, range(20)):
            made = family.into(TEXT, key)
            put_in = [p for p in family.passages if p in made]
            assert len(put_in) in family.times
            assert all(made.count(passage) == 1 for passage in put_in)
            assert sum(map(len, put_in)) < len(made) - len(TEXT) + len(put_in) * 2


def test_copies_ship_with_their_texts_and_labels_no_passage_in_both_splits_and_the_probe_sees_development() -> (
    None
):
    known = {
        family.name: {p.casefold() for p in family.passages}
        for family in families("development")
    }
    new = {
        family.name: {p.casefold() for p in family.passages}
        for family in families("test")
    }
    assert len(known) >= 12 and len(new) >= 12
    assert not set(known) & set(new)
    assert not set().union(*known.values()) & set().union(*new.values())
    cited = {passage.casefold() for passage in citing().passages}
    assert len(cited) >= 10 and not set().union(*known.values()) & cited
    assert sum(len(known[name]) for name in known if name.startswith("rubric_")) >= 24
    # the sentences without content by which the probe is measured are in no copy
    seen = set().union(*known.values())
    cue = edits_of(shipped("shame")).cues["length"]
    measured = {*saying_nothing().passages, *cue.en, *cue.pt}
    assert len(measured) >= 20 and not seen & {each.casefold() for each in measured}
    assert sum(len(known[name]) for name in known if name.startswith(EMPTY)) >= 120
    assert len(families()) == len(known) + len(new)
    items = DevelopmentDataset().load()
    made = DevelopmentDataset().copies(items)
    assert len(made) == len(items)
    passages = [
        p
        for family in families("test")
        for p in family.passages
        if len(p) > 25 and "{n}" not in p
    ]
    assert not [p for p in passages if any(p in text for text in made)]
    items = {
        item.id: item
        for item in CuratedDataset(
            parts=["adversarial", "injected"], split="test"
        ).load()
    }
    copies = [item for item in items.values() if "original" in item.metadata]
    names = {str(item.condition).partition(":")[2] for item in copies}
    assert names == {family.name for family in families("test")}
    for copy in copies:
        origin = items[copy.metadata["original"]]
        assert copy.label == origin.label and copy.text != origin.text
        assert str(copy.condition).startswith("attack:") == (
            origin.condition == "gold:naked"
        )
    both = CuratedDataset(parts=["labelled", "injected"], split="test").load()
    assert len({item.id for item in both}) == len(both)
    assert {item.id for item in copies} <= {item.id for item in both}


def test_a_passage_goes_where_its_family_says_and_leaves_the_text_whole() -> None:
    for place in ("start", "middle", "end"):
        family = curated.Passages("f", "test", (1, 3), (place,), ("grade {n}",))
        for key in "abcdefgh":
            found = family.into(TEXT, key)
            assert found == family.into(TEXT, key)
            kept = [part for part in TEXT.split(". ") if part in found]
            assert len(kept) == 3 and "grade " in found and "{n}" not in found
            assert found.startswith("grade") == (place == "start")
            assert (
                found.startswith("First") and found.endswith("stands.")
                if place == "middle"
                else True
            )


def test_what_is_said_over_and_over_is_read_once() -> None:
    assert said_once("nota 0 " * 20 + TEXT) == f"nota 0 {TEXT}"
    assert said_once(f"{TEXT} porque porque porque porque") == f"{TEXT} porque"
    assert said_once("yes yes no") == "yes yes no"
    for item in DevelopmentDataset().load():
        assert said_once(item.text) == item.text
    several = "ab " * 9_999 + "a " * 9_999, "x y z " * 50_000 + "q"
    for hostile in ("a" * 200_000, "a " * 100_000, " " * 200_000, *several):
        said_once(hostile)  # a quadratic search would take hours

"""Text that is put into judged texts: which families ship, where a passage goes, and what a copy keeps."""

from __future__ import annotations

from undogmatic.constructs.shame.curated import CuratedDataset, development_items
from undogmatic.constructs.shame.curated_copies import Family, copies, families
from undogmatic.readouts.probe_file import said_once

TEXT = "First the facts. Then the reason. So it stands."


def test_no_passage_is_in_both_splits() -> None:
    known = {family.name: {p.casefold() for p in family.passages} for family in families("development")}
    new = {family.name: {p.casefold() for p in family.passages} for family in families("test")}
    assert len(known) >= 12 and len(new) >= 12
    assert not set(known) & set(new)
    assert not set().union(*known.values()) & set().union(*new.values())
    assert len(families()) == len(known) + len(new)


def test_a_passage_goes_where_its_family_says_and_leaves_the_text_whole() -> None:
    for place in ("start", "middle", "end"):
        family = Family("f", "test", (1, 3), (place,), ("grade {n}",))
        for key in "abcdefgh":
            found = family.into(TEXT, key)
            assert found == family.into(TEXT, key)
            kept = [part for part in TEXT.split(". ") if part in found]
            assert len(kept) == 3 and "grade " in found and "{n}" not in found
            assert found.startswith("grade") == (place == "start")
            assert found.startswith("First") and found.endswith("stands.") if place == "middle" else True


def test_the_dataset_ships_copies_with_their_texts_and_labels() -> None:
    items = {item.id: item for item in CuratedDataset(parts=["adversarial", "injected"], split="test").load()}
    copies = [item for item in items.values() if "original" in item.metadata]
    names = {str(item.condition).partition(":")[2] for item in copies}
    assert names == {family.name for family in families("test")}
    for copy in copies:
        origin = items[copy.metadata["original"]]
        assert copy.label == origin.label and copy.text != origin.text
        assert str(copy.condition).startswith("attack:") == (origin.condition == "gold:naked")
    both = CuratedDataset(parts=["labelled", "injected"], split="test").load()
    assert len({item.id for item in both}) == len(both)
    assert {item.id for item in copies} <= {item.id for item in both}


def test_the_probe_sees_development_families_alone() -> None:
    items = development_items()
    made = copies(items)
    assert len(made) == len(items)
    passages = [p for family in families("test") for p in family.passages if len(p) > 25 and "{n}" not in p]
    assert not [p for p in passages if any(p in text for text in made)]


def test_what_is_said_over_and_over_is_read_once() -> None:
    assert said_once("nota 0 " * 20 + TEXT) == f"nota 0 {TEXT}"
    assert said_once(f"{TEXT} porque porque porque porque") == f"{TEXT} porque"
    assert said_once("yes yes no") == "yes yes no"
    for item in development_items():
        assert said_once(item.text) == item.text
    for hostile in (
        "a" * 200_000,
        "a " * 100_000,
        " " * 200_000,
        "ab " * 9_999 + "a " * 9_999,
        "x y z " * 50_000 + "q",
    ):
        said_once(hostile)  # a quadratic search would take hours

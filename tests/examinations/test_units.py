"""What belongs together, and what a run says of it."""

import sys
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import configured, labelled_run
from tests.examinations.conftest import words_of
from tests.stats.test_surface import LONG, edited, words
from undogmatic.datasets import belonging
from undogmatic.datasets.belonging import groups_of
from undogmatic.examinations import independence
from undogmatic.examinations.independence import units
from undogmatic.records.records import TYPED_GROUP, Item


def item(id_: str, text: str | None = None, **fields: Any) -> Item:
    return Item(id=id_, text=text or words(40, id_), **fields)


def together(*items: Item) -> set[frozenset[str]]:
    of = groups_of(items)
    return {frozenset(id_ for id_ in of if of[id_] == name) for name in of.values()}


def sets(*members: str) -> set[frozenset[str]]:
    return {frozenset(group.split()) for group in members}


@pytest.mark.parametrize("key", ["group", "precedent", "source"])
def test_metadata_ties_texts(key: str) -> None:
    items = [
        item(n, metadata={key: value})
        for n, value in (("a", "1"), ("b", 1), ("c", None), ("d", 2))
    ]
    assert together(*items) == sets("a b", "c", "d")


def test_pairs_parents_and_copies_tie_texts_and_ties_are_joined() -> None:
    tied = [
        item("a", pair="p"),
        item("b", LONG, pair="p"),
        item("c", LONG.upper()),
        item("made", parent="c"),
    ]
    items = [
        *tied,
        item("alone"),
        *(item(name, parent="gone") for name in ("orphan", "sibling")),
    ]
    assert together(*items) == sets("a b c made", "alone", "orphan sibling")
    assert groups_of(items)["made"] == "pair p"


@pytest.mark.parametrize("name", ["text", "question"])
def test_what_most_texts_share_ties_nothing(name: str) -> None:
    """A prompt that stands before each text makes no two of them copies, and hides none."""
    prompt = words(120, "prompt")
    texts = [words(30, f"own {n}") for n in range(30)]
    texts[29] = texts[0]

    def items(before: str) -> list[Item]:
        return [
            Item(
                id=str(n),
                inputs={name: f"{before} {text}".strip(), "answer": f"yes, {n}"},
            )
            for n, text in enumerate(texts)
        ]

    apart = [{str(n)} for n in range(1, 29)]
    assert together(*items(prompt)) == {frozenset({"0", "29"}), *map(frozenset, apart)}
    assert together(*items(prompt)) == together(*items(""))


def test_many_copies_of_one_text_take_no_more_steps_than_as_many_texts_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = [Item(id=str(n), text=f"text {n}") for n in range(1_500)]
    steps, before = [0, 0], sys.gettrace()
    for place, found in enumerate((tuple(range(len(items))), (0,) * len(items))):
        monkeypatch.setattr(belonging, "copies", lambda texts, found=found: found)

        def count(frame: Any, event: str, argument: Any, place: int = place) -> Any:
            steps[place] += event == "line"
            return count

        sys.settrace(count)
        try:
            groups_of(items)
        finally:
            sys.settrace(before)
    assert 10 * len(items) < steps[0] and steps[1] < 2 * steps[0]


def test_what_all_items_share_ties_nothing_and_a_source_that_some_share_does() -> None:
    rules, sources = words(80, "rules"), [words(50, ("source", n)) for n in range(2)]
    fields = [
        {"rules": rules, "summary": words(20, n), "language": "pt"} for n in range(4)
    ]
    items = [
        Item(id=str(n), inputs=each | {"source": sources[n // 2]})
        for n, each in enumerate(fields)
    ]
    assert together(*items) == sets("0 1", "2 3")
    assert together(
        *(Item(id=str(n), inputs=each) for n, each in enumerate(fields))
    ) == sets(*"0123")
    assert together(*(item(n, LONG) for n in "ab")) == sets("a b")


def said(*items: Item) -> str:
    findings = units(items).findings
    english, other = (
        " ".join(map(words_of(language).say, findings)) for language in ("en", "pt")
    )
    assert english != other
    return english


def test_copies_are_counted_and_named_and_minimal_pairs_are_none() -> None:
    pairs = [
        item(f"{n}{side}", f"{words(40, n)} {side}", pair=str(n))
        for n in range(12)
        for side in "xy"
    ]
    assert "The 24 texts form 12 independent groups." in said(*pairs)
    assert "No text is a copy" in said(*pairs)
    copied = [*pairs, item("z", edited(pairs[0].text, 0.1, 0))]
    result = units(copied)
    assert result.metrics == {"units.texts": 25, "units.groups": 12, "units.copies": 3}
    assert "3 texts are copies or near-copies of others, e.g. 0x and z" in said(*copied)
    (row,) = result.tables["largest"].to_dict("records")
    assert (row["n"], row["tied_by"], row["texts"]) == (3, "copies", "0x, 0y, z")


def test_texts_that_stand_alone_and_one_group() -> None:
    assert "Each of the 3 texts counts for itself" in said(*map(item, "abc"))
    one_source = (item(name, metadata={"source": 1}) for name in "ab")
    assert "nothing can be said about others" in said(*one_source)


@pytest.mark.parametrize(
    ("probabilities", "standing", "in_view"),
    [
        ((None, None), "supported", False),
        ((0.2, 0.2), "supported", False),
        ((1.0, 1.0), "undecided", False),
        ((1.0, 0.2), "undecided", False),
        ((0.2, 0.2), "undecided", True),
    ],
)
def test_labels_of_a_review_queue_that_was_chosen_support_nothing(
    probabilities: Any, standing: str, in_view: bool
) -> None:
    """What the judge flagged came in for certain; what was drawn at random is a sample."""
    rows = [
        (
            n / 10,
            n / 10 + n % 3,
            {
                "metadata": (
                    {}
                    if p is None
                    else {"inclusion_probability": p, "label_in_view": in_view}
                )
            },
        )
        for n, p in zip(range(1000), probabilities * 500, strict=True)
    ]
    judged = labelled_run([*rows, (None, 5.0, {})])
    results = configured("conformal", by=None)(judged, np.random.default_rng(0))
    assert [each.standing for each in results] == ["supported"]
    (result,) = independence.of_chosen_labels(results, judged.frame)
    assert result.standing == standing
    if standing == "undecided":
        counts = (
            {"seen": 1000} if in_view else {"certain": 500 * probabilities.count(1.0)}
        )
        assert result.verdict is not None and result.verdict.values == counts | {
            "labels": 1000
        }
        assert all(
            words_of(language).answered(result.verdict) for language in ("en", "pt")
        )


def test_a_group_that_somebody_named_is_final() -> None:
    """Neither copies nor pairs join such groups, and an empty name stands alone."""
    named = [
        item("a", LONG, metadata={TYPED_GROUP: "x"}),
        item("b", LONG, metadata={TYPED_GROUP: "y"}, pair="p"),
        item("c", metadata={TYPED_GROUP: "x", "source": "s"}),
        item("d", LONG, metadata={TYPED_GROUP: "", "source": "s"}, pair="p"),
    ]
    assert together(*named) == sets("a c", "b", "d")
    assert "units.typed" in {found.key for found in units(named).findings}
    alone = [item(name, LONG, metadata={TYPED_GROUP: ""}) for name in "abcd"]
    told = units(alone)
    said = {found.key for found in told.findings}
    assert (told.metrics["units.groups"], said) == (4, {"units.typed_none"})
    assert len(groups_of(alone)) == 4 and len(set(groups_of(alone).values())) == 4


def test_groups_that_somebody_named_are_final_among_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(belonging, "many", lambda items: True)
    monkeypatch.setattr(belonging, "_last", [])
    items = _Kept(
        item(f"n{n}", LONG, metadata={TYPED_GROUP: f"g{n % 3}"}) for n in range(9)
    )
    of = groups_of(items)
    assert {
        frozenset(id_ for id_ in of if of[id_] == name) for name in of.values()
    } == {frozenset(f"n{n}" for n in range(k, 9, 3)) for k in range(3)}
    monkeypatch.setattr(belonging, "_last", [])
    alone = _Kept(item(f"n{n}", LONG, metadata={TYPED_GROUP: ""}) for n in range(5))
    assert belonging.grouped(alone) == ([], 5)


class _Kept(list[Item]):
    """Items that can be referred to weakly, as those on disk are."""

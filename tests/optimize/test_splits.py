"""Groups stay whole, strata are alike on all sides, and what is known from two sides is refused;
and what an optimiser is given for answers at the ends of the scale, for none, and for a cheaper
program."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.optimize.conftest import composed
from tests.rubrics import HUNDRED
from undogmatic.config.build import settings
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.datasets.belonging import groups_of
from undogmatic.datasets.sides import apart, blocks, check_leaks, deal, some
from undogmatic.errors import DataError
from undogmatic.optimize.metrics import METRICS, Terms
from undogmatic.optimize.optimizers import Bootstrap, Known, Measure, example
from undogmatic.optimize.splits import Splits, gather
from undogmatic.records.records import Item, Verdict

LONG = (
    "the miller of the lower valley keeps his accounts in a green book that nobody else may open"
    " before easter "
)


def items(n: int, **more: object) -> list[Item]:
    return [
        Item(
            id=f"i{k}",
            text=f"text {k} {k**3 * 7919:x}",
            pair=f"p{k // 2}",
            condition="ab"[k % 2],
            label=k,
            **more,
        )  # type: ignore[arg-type]
        for k in range(n)
    ]


def test_pairs_stay_whole_shares_are_kept_and_the_seed_decides() -> None:
    shares = {"train": 0.5, "validation": 0.3, "test": 0.2}
    dealt = deal(items(80), shares, np.random.default_rng(1))
    assert sorted(i.id for side in dealt.values() for i in side) == sorted(
        i.id for i in items(80)
    )
    for side, own in dealt.items():
        assert abs(len(own) - 80 * shares[side]) <= 4
        pairs = [item.pair for item in own]
        assert all(pairs.count(pair) == 2 for pair in pairs)
        assert {
            np.digitize(float(item.label or 0), [80 / 3, 160 / 3]) for item in own
        } == {0, 1, 2}
    one, same, other = (
        deal(items(40), {"a": 0.5, "b": 0.5}, np.random.default_rng(seed))
        for seed in (3, 3, 4)
    )
    assert one == same and one["a"] != other["a"]


@pytest.mark.parametrize(
    "other",
    [
        Item(id="x", text="another text altogether", pair="p1"),
        Item(
            id="x",
            text="another text altogether",
            metadata={"precedent": ["T 1", "T 2"]},
        ),
        Item(id="x", text="TEXT 3: own words!"),
        Item(id="x", text=LONG.replace("green", "blue") * 2),
    ],
    ids=["pair", "precedent", "copy", "near-copy"],
)
def test_what_is_on_both_sides_is_named(other: Item) -> None:
    test = [
        Item(id="t1", text="some words", pair="p1"),
        Item(id="t2", text="more words", metadata={"precedent": "T 2"}),
        Item(id="t3", text="Text 3, own words"),
        Item(id="t4", text=LONG * 2),
    ]
    check_leaks([Item(id="y", text="nothing of these")], test)
    with pytest.raises(DataError, match=r"test text 't\d' and development text 'x'"):
        check_leaks([Item(id="y", text="nothing of these"), other], test)
    assert apart([other], test) == []


def test_ids_say_nothing_of_texts_in_two_files_that_number_alike() -> None:
    own = items(8)
    for leaked in (
        own,
        [Item(id=item.id, text=own[7 - k].text) for k, item in enumerate(own)],
    ):
        with pytest.raises(DataError, match=r"\d groups of texts lie on both sides"):
            check_leaks(leaked, own)
        assert apart(leaked, own) == []
    words = "apples boats candles drums engines feathers gloves hammers".split()
    others = [
        Item(id=item.id, text=f"{word} {word[::-1]}")
        for item, word in zip(own, words, strict=True)
    ]
    check_leaks(others, own)
    assert apart(others, own) == others
    with pytest.raises(
        DataError, match=r"test text 'i[23]' and development text 'i0' .*copies"
    ):
        check_leaks([*others[1:], Item(id="i0", text=own[3].text)], own)


def test_the_shipped_split_has_no_leaks() -> None:
    parts = ["pairs", "theses", "labelled"]
    test = CuratedDataset(parts).load()  # type: ignore[arg-type]
    check_leaks(CuratedDataset(parts, split="development").load(), test)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="both sides"):
        check_leaks(test[:2], test[1:])


def test_a_part_keeps_groups_and_strata_and_blocks_hold_everything_once_and_some_of_every_stratum() -> (
    None
):
    kept = some(items(80), 20, np.random.default_rng(0))
    assert len(kept) == 20 and len(set(groups_of(kept).values())) == 10
    labels = [float(i.label or 0) for i in kept]
    assert max(labels) > 60 and min(labels) < 20
    found = blocks(items(40), 8, np.random.default_rng(0))
    assert sorted(i.id for block in found for i in block) == sorted(
        i.id for i in items(40)
    )
    assert all(
        max(i.label or 0 for i in block) - min(i.label or 0 for i in block) > 20
        for block in found
    )


def test_what_is_written_names_every_item_and_the_seed() -> None:
    own = items(6)
    said = json.loads(Splits(own[:2], own[2:4], own[4:]).form(7))
    assert said["seed"] == 7
    assert said["test"]["ids"] == ["i4", "i5"]
    assert said["train"]["digest"] != said["test"]["digest"]


TERMS = Terms(HUNDRED, "overall", ("bad",), ("good",))
BLOCK = [
    Item(id=f"{n}", text=f"text {n}").with_label(label)
    for n, label in enumerate((0, 30, 60, 90))
]
PAIR = [Item(id=name, text=name, pair="p", condition=name) for name in ("bad", "good")]


@pytest.mark.parametrize("name", ["auc", "rank_correlation"])
def test_a_score_of_nought_is_a_score_and_no_answer_is_none(name: str) -> None:
    value = METRICS[name].value
    assert (
        value(BLOCK, [Verdict(score=score) for score in (0.0, 30.0, 60.0, 90.0)], TERMS)
        == 1
    )
    assert (
        value(BLOCK, [Verdict(score=score) for score in (90.0, 60.0, 30.0, 0.0)], TERMS)
        == 0
    )
    assert value(BLOCK, [Verdict(score=0.0)] * 4, TERMS) == 0.5
    assert (
        value(BLOCK, [Verdict(score=0.0), None, Verdict(score=60.0), None], TERMS)
        == 0.5
    )


def test_pairs_and_texts_at_the_ends_of_the_scale() -> None:
    ends = [Verdict(score=0.0), Verdict(score=100.0)]  # the rubric's high is the better
    assert METRICS["pair_order"].value(PAIR, ends, TERMS) == 1
    assert METRICS["pair_margin"].value(PAIR, ends, TERMS) == 1
    assert METRICS["pair_order"].value(PAIR, ends[::-1], TERMS) == 0
    assert METRICS["pair_order"].value(PAIR, [Verdict(score=0.0)] * 2, TERMS) == 0.5
    assert METRICS["error"].value(BLOCK[:1], [Verdict(score=0.0)], TERMS) == 1
    assert METRICS["error"].value(BLOCK[:1], [Verdict(score=100.0)], TERMS) == 0
    for name, items in (
        ("pair_order", PAIR),
        ("pair_margin", PAIR),
        ("error", BLOCK[:1]),
    ):
        assert METRICS[name].value(items, [None] * len(items), TERMS) == 0


def test_what_is_sent_costs_what_was_said_and_nothing_falls_below_nought() -> None:
    one = example(BLOCK[:1], METRICS["error"], TERMS)
    said = SimpleNamespace(verdicts=[Verdict(score=0.0)], sent=2.0)
    assert Measure(TERMS, "en", Known())(one, said) == 1
    assert Measure(TERMS, "en", Known(), cost_weight=0.1)(one, said) == pytest.approx(
        0.8
    )
    assert Measure(TERMS, "en", Known(), cost_weight=1)(one, said) == 0


@pytest.mark.parametrize(
    ("n", "set_to", "said"),
    [
        (
            16,
            {},
            (
                "of the 16 texts, of which 8 are kept to test; 4 are the fewest. Give more texts,"
                " or test fewer: op"
            ),
        ),
        (9, {}, "4 are the fewest. Give more texts, or optimizer.development=DATASET"),
        (
            60,
            {"validation": 2},
            "4 are the fewest. Give a larger number: optimizer.validation=4.",
        ),
    ],
)
def test_too_few_texts_are_counted_by_side_and_the_way_out_is_named(
    n: int, set_to: dict[str, int], said: str
) -> None:
    texts = [
        Item(
            id=f"s{k}",
            text=f"text {k} {k**3 * 7919:x}",
            labels={"overall": {"": k * 5 % 100}},
        )
        for k in range(n)
    ]
    with pytest.raises(DataError, match=re.escape(said)):
        gather(
            Bootstrap(**set_to),
            settings(composed("bootstrap")),
            Terms(HUNDRED, "overall"),
            texts,
        )

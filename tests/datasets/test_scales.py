"""The kind and scale of verdicts and labels: recognised where values leave no doubt, mapped, or
asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from undogmatic.datasets.cells import read_cells
from undogmatic.datasets.doors import CHECK
from undogmatic.datasets.scales import Scales, TableOptions, find_scales
from undogmatic.datasets.table import read_table
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import Evidence


def scales(
    verdicts: Sequence[Any],
    labels: Sequence[Any] = (),
    pairwise: bool = False,
    **declared: Any,
) -> Scales:
    return find_scales(
        read_cells(verdicts),
        read_cells(labels),
        TableOptions(**declared),
        pairwise,
        CHECK,
    )


def label(found: Scales, written: Any) -> float:
    """Where a label lies on the scale of the verdicts."""
    value = float(read_cells([written]).values(found.of_labels)[0][0])
    return (
        value
        if found.of_labels is not None
        else value * found.mapped[0] + found.mapped[1]
    )


@pytest.mark.parametrize(
    ("numbers", "ends"),
    [
        ([0.2, 0.9, 0.5], (0, 1)),
        ([1, 2, 5], (1, 5)),
        ([1.5, 3, 4.5], (1, 5)),
        ([1, 2, 3, 4], (1, 4)),
        ([1, 2, 3], (1, 3)),
        ([2, 3, 4], (1, 5)),
        ([1, 9], (1, 10)),
        ([0, 4, 9], (0, 10)),
        ([0, 55], (0, 100)),
        ([12, 55.5], (0, 100)),
        ([-0.5, 0.5], (-1, 1)),
        ([-30, 250], (-30, 250)),
    ],
)
def test_the_ends_of_numbers(numbers: list[float], ends: tuple[float, float]) -> None:
    found = scales(numbers)
    assert (found.kind, found.ends) == ("numeric", ends)


@pytest.mark.parametrize(
    ("verdicts", "labels", "kind", "categories"),
    [
        (["Pass", "fail"], ["PASS", "fail"], "pass_fail", ("fail", "Pass")),
        (["Sim", "Não"], [0, 1], "pass_fail", ("Não", "Sim")),
        ([0, 1], ["no", "yes"], "pass_fail", ("no", "yes")),
        ([1, 0], [], "pass_fail", ("fail", "pass")),
        (["ótimo", "ruim", "bom"], ["bom", "Bom"], "ordered", ("ruim", "bom", "ótimo")),
        (["low", "high"], ["médio", "low"], "ordered", ("low", "médio", "high")),
        (
            ["correct", "partially correct", "incorrect"],
            [],
            "ordered",
            ("incorrect", "partially correct", "correct"),
        ),
        (["cat", "dog", "bird"], ["dog"], "unordered", ("bird", "cat", "dog")),
    ],
)
def test_kinds_from_words(
    verdicts: list[Any], labels: list[Any], kind: str, categories: tuple[str, ...]
) -> None:
    found = scales(verdicts, labels)
    assert (found.kind, found.categories) == (kind, categories)


def test_labels_and_verdicts_of_pass_and_fail_meet_whatever_their_words() -> None:
    found = scales(["Sim", "Não", "Sim"], [1, 0])
    assert [label(found, written) for written in (1, 0)] == [1, 0]


def test_shares_and_percentages_are_mapped_without_asking() -> None:
    found = scales([0.1, 0.95], [10, 95])
    assert (found.ends, label(found, 95)) == ((0, 1), pytest.approx(0.95))
    assert "table.mapped" in {note.key for note in found.notes}


def test_other_unlike_scales_ask_and_are_mapped_when_declared() -> None:
    with pytest.raises(ConfigError, match=r"--scale 0-1 --human-scale 1-5"):
        scales([0.1, 0.95], [1, 5, 3])
    found = scales([0.1, 0.95], [1, 5, 3], scale="0-1", human_scale="1-5")
    assert [label(found, written) for written in (1, 3, 5)] == pytest.approx(
        [0, 0.5, 1]
    )
    same = scales([1, 2, 10], [1, 5, 3], scale="1-10", human_scale="1-10")
    assert label(same, 3) == 3


def test_a_stray_number_does_not_widen_the_scale_that_the_labels_confirm() -> None:
    assert scales([*([1, 2, 3, 4, 5] * 20), 99], [1, 2, 5]).ends == (1, 5)


def test_a_constant_is_on_the_scale_of_the_others() -> None:
    assert scales([1, 1, 1], [1, 4, 5]).ends == scales([1, 4, 5], [1, 1]).ends == (1, 5)


def test_labels_on_the_same_scale_show_it() -> None:
    """A judge that says the mean of people stays away from the ends, which people reach."""
    assert [note.key for note in scales([2, 2.5, 3.5, 4], [1, 2, 3, 4, 5]).notes] == [
        "table.numeric"
    ]
    assert [note.key for note in scales([2, 2.5, 3.5, 4], [2, 3, 4]).notes] == [
        "table.numeric_guess"
    ]


def test_ordered_categories_of_both_are_mapped_by_their_places() -> None:
    found = scales(["bad", "good"], [1, 2, 3], scale="bad<ok<good", human_scale="1<2<3")
    assert (found.kind, found.categories) == ("ordered", ("bad", "ok", "good"))
    assert [label(found, written) for written in (1, 2, 3)] == [0, 1, 2]


def test_whole_numbers_can_be_ordered_categories() -> None:
    assert scales([1, 2, 5], [2], kind="ordered").categories == (
        "1",
        "2",
        "3",
        "4",
        "5",
    )


def test_which_category_passes_can_be_declared() -> None:
    found = scales(["toxic", "fine"], ["fine"], passes="fine")
    assert (found.kind, found.categories) == ("pass_fail", ("toxic", "fine"))
    with pytest.raises(ConfigError, match="--passes"):
        scales(["toxic", "fine"], ["fine"], kind="pass_fail")


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("A", 0),
        ("[[B]]", 1),
        ("model_b", 1),
        ("tie", 2),
        ("Empate", 2),
        (2, 1),
        ("first", 0),
        ("tie (bothbad)", 2),
    ],
)
def test_choices(written: Any, place: int) -> None:
    found = scales(["A", "B", "tie", written], pairwise=True)
    assert (found.kind, found.categories) == ("pairwise", ("1", "2", "tie"))
    assert label(found, written) == place


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"scale": "5-1"}, "two ends"),
        ({"scale": "low<low"}, "two ends"),
        ({"kind": "numeric", "scale": "a<b"}, "--kind is numeric"),
        ({"kind": "ordered"}, "order of the categories"),
        ({"scale": "a<b<c", "human_scale": "1<2"}, "as many"),
    ],
)
def test_what_is_declared_wrongly_is_named(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        scales(["xx", "yy"], ["xx"], **kwargs)


@pytest.mark.parametrize(
    ("verdicts", "labels", "words"),
    [
        ([1, 2, 5], ["good", "bad"], "numbers.*words"),
        (["cat", "dog"], ["Berlin", "Paris"], "no category in common"),
        ([1, 2, 5], [1, 3, 90], "--human-scale 0-100"),
    ],
)
def test_what_cannot_be_compared_asks(
    verdicts: list[Any], labels: list[Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        scales(verdicts, labels)


def test_labels_off_the_declared_scale_ask_for_theirs() -> None:
    with pytest.raises(ConfigError, match="--human-scale 1-10"):
        scales([1, 5], [9, 2], scale="1-5")


def test_words_of_pass_and_fail_are_the_ends_of_shares() -> None:
    found = scales([0.2, 0.9], ["fail", "pass"])
    assert (found.kind, label(found, "pass"), label(found, "fail")) == ("numeric", 1, 0)
    assert np.isnan(label(found, "perhaps"))


def coded(verdicts: Sequence[Any], labels: Sequence[Any], **options: Any) -> Evidence:
    """A table of pairs with two outputs each, on which one number or word says which is chosen."""
    table = pd.DataFrame(
        {
            "id": range(len(verdicts)),
            "response_a": [
                f"the one answer says {n} of it" for n in range(len(verdicts))
            ],
            "response_b": [
                f"the other answer says {n} too" for n in range(len(verdicts))
            ],
            "judge": verdicts,
            "human": labels,
        }
    )
    return read_table(table, TableOptions(**options))


ZERO_ONE = [n % 3 % 2 for n in range(30)]


@pytest.mark.parametrize(
    ("verdicts", "labels", "likely"),
    [
        (
            ZERO_ONE,
            ZERO_ONE,
            "If 0 chooses the first one, type --kind pairwise --scale '0<1', if 1",
        ),
        (ZERO_ONE, ["AB"[n] for n in ZERO_ONE], "If 0 chooses .* if 1 does"),
        (
            ZERO_ONE,
            ["BA"[n] for n in ZERO_ONE],
            "If 1 chooses .* '1<0', if 0 does: .* '0<1'",
        ),
        (
            ["BA"[n] for n in ZERO_ONE],
            ZERO_ONE,
            "If 1 chooses .* --human-scale '1<0', if 0",
        ),
        (ZERO_ONE, [n + 1 for n in ZERO_ONE], "If 0 chooses"),
        (
            [*ZERO_ONE[:-3], 0.5, 0.5, 1],
            ZERO_ONE,
            "If 1 chooses .* --scale '1<0<0.5', if 0",
        ),
        (
            [2 * n - 1 for n in ZERO_ONE],
            ZERO_ONE,
            "--scale=-1<1|--scale='-1<1' --human-scale",
        ),
    ],
)
def test_which_number_chooses_the_first_output_is_asked(
    verdicts: list[Any], labels: list[Any], likely: str
) -> None:
    with pytest.raises(ConfigError, match=likely):
        coded(verdicts, labels)


def test_the_typed_numbers_of_two_outputs_are_choices() -> None:
    said = coded(ZERO_ONE, ZERO_ONE, kind="pairwise", scale="0<1")
    assert (said.kind, said.categories) == ("pairwise", ("1", "2"))
    assert (
        said.verdicts["verdict"].tolist() == said.labels["label"].tolist() == ZERO_ONE
    )
    turned = coded(ZERO_ONE, ["BA"[n] for n in ZERO_ONE], scale="1<0")
    assert turned.verdicts["verdict"].tolist() == [1 - n for n in ZERO_ONE]
    assert turned.labels["label"].tolist() == [1 - n for n in ZERO_ONE]
    halves = coded([*ZERO_ONE[:-1], 0.5], ZERO_ONE, scale="1<0<0.5")
    assert (
        halves.categories == ("1", "2", "tie")
        and halves.verdicts["verdict"].iloc[-1] == 2
    )
    assert coded(ZERO_ONE, ZERO_ONE, kind="pass_fail").kind == "pass_fail"
    with pytest.raises(
        ConfigError, match="--scale is '0-1'; of choices between two outputs give"
    ):
        coded(ZERO_ONE, ZERO_ONE, kind="pairwise", scale="0-1")


def test_passing_beside_two_texts_is_no_choice() -> None:
    assert coded(["no", "yes"] * 10, ["yes", "no"] * 10).kind == "pass_fail"
    assert coded(ZERO_ONE, ["yes" if n else "no" for n in ZERO_ONE]).kind == "pass_fail"

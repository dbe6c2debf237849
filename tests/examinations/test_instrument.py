"""A judge without labels: faults of a known size are found, a clean judge is called so, and one
that says always the same is not."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import (
    Reading,
    Score,
    analysed,
    labelled_run,
    made_up,
    refuses,
)
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.run_evidence import RunEvidence

analyse = partial(analysed, "instrument")

CUES = ("flattery", "orders", "length")
WAYS = ("levels_reversed", "words.1", "again")
Judge = Callable[[int, str], Score]
"""The score of a text's copy, by the text's number and the edit."""


def run(
    judge: Judge,
    n: int = 60,
    margin: float | None = 10.0,
    defects_of: str = "rubric",
    ways: Sequence[str] = (),
    blanks: int = 2,
    **fields: Any,
) -> RunEvidence:
    """Texts, their copies with three cues and with 1, 2 and 4 defects, the texts asked about in
    other ways, and blank pages."""
    rows: list[Any] = []
    for k in range(n):
        edits = [f"cue.{cue}" for cue in CUES] + [
            f"ladder.repeated.{step}" for step in (1, 2, 4)
        ]
        edits += [f"asked.{way}" for way in ways]
        for edit in ("original", *edits):
            told: dict[str, Any] = {"edit": edit, "typed_group": f"t{k}"}
            if edit != "original":
                expected = "worse" if edit.startswith("ladder") else "same"
                told |= {"original": f"t{k}", "expected": expected}
                told |= {"defects_of": defects_of} if expected == "worse" else {}
            name = f"t{k}" if edit == "original" else f"t{k}+{edit}"
            place = {"id": name, "text": made_up(9, name), "metadata": told}
            rows.append((None, judge(k, edit), place))
    for k in range(blanks):
        told = {"edit": "dark.blank", "expected": "nothing", "typed_group": f"d{k}"}
        place = {"id": f"d{k}", "text": made_up(9, f"d{k}"), "metadata": told}
        rows.append((None, judge(k, "dark.blank"), place))
    return labelled_run(rows, margin=margin, **fields)


def base(k: int) -> float:
    return 15.0 + (37 * k) % 41


def clean(k: int, edit: str, noise: float = 3.0) -> float:
    """Each defect makes a text worse by five points; nothing else matters but noise."""
    if edit == "dark.blank":
        return 4.0
    defects = int(edit.rpartition(".")[2]) if edit.startswith("ladder") else 0
    draw = np.random.default_rng([k, sum(map(ord, edit))])
    return float(base(k) + 5 * defects + draw.normal(0, noise))


def moved(by: float, edits: str = "cue.flattery") -> Judge:
    """A clean judge that these edits move."""
    return lambda k, edit: clean(k, edit) + (by if edit in edits.split() else 0)


def spoilt(edit_of: str, score: Score) -> Judge:
    """A clean judge that says this of an edit."""
    return lambda k, edit: score if edit == edit_of else clean(k, edit)


def test_a_clean_judge_is_called_so_and_not_believed() -> None:
    said = analyse(run(clean))
    assert said.ruled == ("clean", "undecided")
    told = {"n": 3, "margin": 10.0, "texts": 60, "half": 30, "smallest": 1}
    values = dict(said.says["verdict_clean"])
    most = {key: values.pop(key) for key in ("cue", "given", "moved")}
    assert values == told
    assert most["moved"] < 10 and most["given"] == 1
    assert most["cue"] == said.tables["cues"]["cue"].iloc[0]  # the worst first
    assert [sentence.partition(". ")[0] for sentence in said.sentences()] == [
        "Not yet",
        "Ainda não",
    ]
    assert (said["effect"], said["no_effect"], said["open"]) == (0, 3, 0)
    assert set(said.tables["cues"]["outcome"]) == {"no_effect"}


@pytest.mark.parametrize(("by", "up"), [(18.0, 1), (-18.0, 0)])
def test_a_cue_that_moves_the_score_beyond_the_margin_is_named_first(
    by: float, up: int
) -> None:
    said = analyse(run(moved(by)))
    assert said.ruled == ("effect", "refuted")
    told = said.says["verdict_effect"]
    assert (told["cue"], told["up"]) == ("flattery", up)
    assert told["moved"] == pytest.approx(18, abs=2)
    assert said["worst"] == pytest.approx(by, abs=2) == said["cue.flattery"]
    table = said.tables["cues"]
    assert table["cue"].iloc[0] == "flattery" and table["outcome"].iloc[0] == "effect"
    assert min(abs(table["low"].iloc[0]), abs(table["high"].iloc[0])) > 10
    (figure,) = said.drawings
    assert figure.kind == "forest" and figure.data["within"] == [-10.0, 10.0]
    assert figure.data["labels"][0] == "flattery"


def test_the_first_sentence_says_what_is_wrong() -> None:
    english, portuguese = analyse(run(moved(18))).sentences()
    assert (
        "nobody can say whether it is right. It is not fit to be asked yet" in english
    )
    assert "rises by" in english and "flattery" in english
    assert (
        "Ainda não serve para ser consultado" in portuguese and "lisonja" in portuguese
    )


def test_several_cues_are_told_together() -> None:
    said = analyse(run(moved(18, "cue.flattery cue.orders")))
    assert said.ruled == ("effects", "refuted")
    told = said.says["verdict_effects"]
    assert {told["cue"], *told["others"]} == {"flattery", "orders"}


def test_an_effect_within_the_margin_is_none_and_one_at_the_margin_is_open() -> None:
    assert analyse(run(moved(5))).ruled[0] == "clean"
    said = analyse(run(moved(11)))
    assert said.ruled[0].startswith("open"), said.numbers
    assert said.says[f"verdict_{said.ruled[0]}"]["cues"] == ["flattery"]


def test_a_judge_that_says_always_the_same_is_not_clean() -> None:
    said = analyse(run(lambda k, edit: 50.0))
    assert said.ruled == ("constant", "refuted")
    assert said["ladder.right_orders"] == 0.5


def test_a_judge_that_sees_no_defect_is_not_clean() -> None:
    def blind(k: int, edit: str) -> float:
        return clean(k, "cue.flattery" if edit == "original" else "original")

    said = analyse(run(blind))
    assert said.ruled == ("unseen", "undecided")
    assert "ladder.smallest" not in said.numbers


def backwards(k: int, edit: str) -> float:
    return 100 - clean(k, edit) if edit != "dark.blank" else 4.0


def test_a_judge_to_whom_defects_are_merits_is_reversed() -> None:
    said = analyse(run(backwards))
    assert said.ruled == ("reversed", "refuted")
    assert said.says["verdict_reversed"]["rise"] == pytest.approx(20, abs=2)
    assert analyse(run(backwards, direction="higher_is_better")).ruled[0] == "clean"
    # What spoils any text may be no defect for the rubric.
    assert analyse(run(backwards, defects_of="any")).ruled == (
        "other_defects",
        "undecided",
    )
    assert analyse(run(clean, defects_of="any")).ruled[0] == "clean"


def test_a_blank_page_with_a_high_score_speaks_against_the_judge() -> None:
    said = analyse(run(spoilt("dark.blank", 70.0)))
    assert said.ruled == ("nothing_there", "refuted")
    assert said.says["verdict_nothing_there"] == {"blank": 70.0, "middle": 50.0}
    abstains = analyse(run(spoilt("dark.blank", "refusal")))
    assert abstains.ruled[0] == "clean" and abstains["dark.abstained"] == 1


def test_the_smallest_defect_that_is_seen() -> None:
    def dull(k: int, edit: str) -> float:
        return (
            clean(k, "original")
            + (20 if edit.endswith(".4") else 0)
            + 0.1 * clean(k, edit)
        )

    assert analyse(run(dull))["ladder.smallest"] == 4


def test_without_a_margin_nothing_is_called_none() -> None:
    said = analyse(run(clean, margin=None))
    assert said.ruled == ("no_margin", "undecided") and said["no_effect"] == 0
    assert analyse(run(moved(30), margin=None)).ruled[0] == "effect"
    assert analyse(run(clean, margin=None), margin=10.0).ruled[0] == "clean"


def test_few_texts_cannot_speak_for_a_judge() -> None:
    assert analyse(run(clean, n=6)).ruled == ("few", "undecided")


def test_failed_copies_cannot_hide_what_they_would_show() -> None:
    def fails(k: int, edit: str) -> Score:
        return "refusal" if edit == "cue.orders" and k % 2 else clean(k, edit)

    said = analyse(run(fails))
    row = said.tables["cues"].set_index("cue").loc["orders"]
    assert (row["outcome"], row["n"], row["failed"]) == ("open", 30, 30)
    never = analyse(run(spoilt("cue.orders", "refusal")))
    assert never.says["not_judged"]["cues"] == ["orders"]
    assert (
        never.tables["cues"].set_index("cue").loc["orders", "outcome"] == "not_examined"
    )
    # All that was examined says nothing against it, and what was not is told beside that.
    assert never.ruled[0] == "clean"


def test_other_items_are_refused() -> None:
    plain: Reading | RunEvidence = labelled_run([(None, 5.0, {}) for _ in range(3)])
    refuses(Unsuited, "dataset=instrument makes", "instrument", plain)


def test_a_way_of_asking_that_moves_the_score_is_named() -> None:
    said = analyse(run(moved(18, "asked.levels_reversed"), ways=WAYS))
    assert said.ruled == ("effect", "refuted")
    english, portuguese = said.sentences()
    assert "when the judge is given the levels in the other order" in english
    assert "quando o juiz recebe os níveis na outra ordem" in portuguese
    assert said["cue.levels_reversed"] == pytest.approx(18, abs=2)
    # The same question once more is no change: it says how far scores vary by themselves.
    assert "cue.again" not in said.numbers
    assert said["spread.again"] == pytest.approx(3, abs=1)


def test_wordings_are_told_together() -> None:
    def judge(k: int, edit: str) -> float:
        """One wording each for half of the texts, each moved elsewhere."""
        return clean(k, edit) + (12 if edit.startswith("asked.words") else 0)

    said = analyse(run(judge, ways=("words.1", "words.2")))
    table = said.tables["cues"].set_index("cue")
    assert table.loc["words", "n"] == 120
    assert "words.1" not in table.index


def wavers(k: int, edit: str) -> float:
    """As often up as down by three margins, where the question is put in other words."""
    swing = 30 if k % 2 else -30
    return float(
        np.clip(clean(k, edit) + (swing if edit == "asked.words.1" else 0), 0, 100)
    )


def test_a_judge_that_other_words_throw_about_is_not_fit() -> None:
    said = analyse(run(wavers, ways=WAYS))
    assert said.ruled == ("unsteady", "refuted")
    assert said.says["verdict_unsteady"]["cue"] == "words"
    assert said["stays.words"] < 0.2 and said["stays.again"] > 0.9
    assert said["spread.words"] > 15
    # Noise of a margin is told, and no reason to refuse.
    noisy = analyse(run(partial(clean, noise=10.0), ways=WAYS))
    assert noisy.ruled[0] != "unsteady" and 0.3 < noisy["stays.again"] < 0.8


def test_a_judge_that_reads_no_instructions_is_not_asked_otherwise() -> None:
    said = analyse(run(clean))
    assert "no_ways" in said.says
    assert "no_ways" not in analyse(run(clean, ways=WAYS)).says


@pytest.mark.parametrize(
    ("blank", "word"), [(25.0, "dark_effect"), (10.0, "dark_open"), ("undecided", "")]
)
def test_how_far_a_blank_page_stands_above_the_lowest_score(
    blank: Score, word: str
) -> None:
    def judge(k: int, edit: str) -> Score:
        if edit != "dark.blank":
            return clean(k, edit)
        return blank if isinstance(blank, str) else blank + (k % 5 - 2)

    said = analyse(run(judge, blanks=14))
    assert [key for key in said.says if key.startswith("dark_")] == (
        [word] if word else ["dark_abstains"]
    )
    # It is told, and decides only above the middle of the scale.
    assert said.ruled[0] == "clean"


def test_reasons_that_name_the_cue_are_counted() -> None:
    frame = run(moved(18), ways=())
    names = frame.frame["metadata.edit"].eq("cue.flattery") & frame.frame[
        "item_id"
    ].str.contains("1")
    named = frame.frame.assign(
        **{"details.reason_names": np.where(names, "flattery", "")}
    )
    said = analyse(frame.with_rows(named))
    told = said.says["reasons"]
    assert 0 < told["named"] < 1 and told["anyway"] == 0
    assert said["reasons.named"] == pytest.approx(told["named"])
    # Without reasons nothing is said of them.
    assert "reasons" not in analyse(frame).says

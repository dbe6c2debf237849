"""What a file says of its items beside the texts: judges that go by it are not believed, and good
ones in the same file are."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from benchmarks.structures import STRUCTURES, columns, one
from undogmatic import check
from undogmatic.examinations import structure
from undogmatic.examinations.structure import OF_JUDGE
from undogmatic.report.check import words_of

NAMED = {
    "id_letter": "a letter of the item's id",
    "order_every_other": "modulo 2",
    "date_month": "the month of `created`",
    "number_band": "how large `amount` is",
    "category_of_many": "the column `office`",
    "overlap_with_reference": "the text shares with `reference`",
    "rater": "who labelled the item",
    "column_36": "`x35`",
    "two_columns": "these together",
    "two_columns_crossed": "these together",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_judge_that_goes_by_what_stands_beside_the_text_is_not_believed(
    name: str,
) -> None:
    rng = np.random.default_rng([1, 120, len(name)])
    frame = columns(120, rng).drop(columns="meaning")
    verdict = STRUCTURES[name](frame)
    frame = frame.assign(
        verdict=verdict, label=np.where(rng.random(120) < 0.1, 1 - verdict, verdict)
    )
    options = {
        "judge": "verdict",
        "human": "label",
        "text": "text",
        "item": "id",
        "passes": "1",
    }
    (answer,) = check(frame, kind="pass_fail", system="model", **options).judges
    assert answer.verdict.key == "check.verdict_column"
    said = words_of("en").say(answer.verdict) + words_of("en").say(answer.rival)
    assert NAMED[name] in said, said
    assert "{" not in said + words_of("pt").say(answer.rival)


@pytest.mark.parametrize("raters", [1, 2])
def test_a_good_judge_in_the_same_file_is_believed(raters: int) -> None:
    assert one(("good", 120, raters), 0)[0]


def _good(n: int = 150) -> pd.DataFrame:
    """A file with a good judge and one person."""
    rng = np.random.default_rng(8)
    frame = columns(n, rng)[["id", "text", "meaning"]]
    meaning = frame.pop("meaning").to_numpy()
    for name in ("verdict", "label"):
        frame[name] = np.where(rng.random(n) < 0.05, 1 - meaning, meaning)
    return frame


def _standing(frame: pd.DataFrame) -> str:
    options = {
        "judge": "verdict",
        "human": "label",
        "text": "text",
        "item": "id",
        "passes": "1",
    }
    return check(frame, kind="pass_fail", **options).judges[0].standing


@pytest.mark.parametrize("by", ["verdict", "label"])
def test_a_file_that_is_sorted_by_its_verdicts_or_labels_does_not_speak_against_the_judge(
    by: str,
) -> None:
    assert (
        _standing(_good().sort_values(by, kind="stable").reset_index(drop=True))
        == "supported"
    )


def test_reasons_that_follow_from_the_verdict_are_no_rival() -> None:
    frame = _good()
    frame["judge_reason"] = [
        f"{'Fine, as' if verdict else 'It fails, since'} {text[:60]}"
        for verdict, text in zip(frame["verdict"], frame["text"], strict=True)
    ]
    assert OF_JUDGE.search("judge_reason") and _standing(frame) == "supported"


@pytest.mark.parametrize(
    "written",
    ["\n".join, " | ".join, "; ".join, lambda names: json.dumps([*names]), str],
)
def test_a_judge_that_looks_for_one_of_the_right_answers_is_named(
    written: Callable[[list[str]], str],
) -> None:
    """A program that looks whether an answer of the reference stands in the text does not read."""
    rng = np.random.default_rng(6)
    frame = columns(160, rng)[["id", "text"]]
    hit = rng.random(len(frame)) < 0.5
    answers = [[f"Place {k}", f"the town {k}"] for k in range(len(frame))]
    place = rng.integers(0, 2, len(frame))
    frame["text"] = [
        f"{text} {answers[k if right else k - 1][which]}."
        for k, (text, right, which) in enumerate(
            zip(frame["text"], hit, place, strict=True)
        )
    ]
    frame["answers"] = [written(names) for names in answers]
    frame["verdict"] = hit.astype(int)
    frame["label"] = np.where(rng.random(len(frame)) < 0.1, 1 - hit, hit).astype(int)
    options = {
        "judge": "verdict",
        "human": "label",
        "text": "text",
        "item": "id",
        "passes": "1",
    }
    (answer,) = check(frame, kind="pass_fail", **options).judges
    assert answer.verdict.key == "check.verdict_column"
    said = words_of("en").say(answer.verdict)
    assert "`answers`, or one of the answers that it lists, stands in the text" in said


def test_what_is_listed_is_read_in_linear_time() -> None:
    for odd in ('["' + "\\" * 100_000, "['" + "a" * 100_000, "|" * 100_000):
        assert list(structure._listed(odd))

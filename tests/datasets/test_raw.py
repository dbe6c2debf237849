"""Columns of raw answers: the verdicts that they state stand in their place, and a note says so;
texts stay texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from undogmatic.datasets.frames import read_frame
from undogmatic.datasets.table import read_table

WORDS = "river lamp table garden paper winter stone letter bridge song".split()
FORMS = {
    "fenced": '```json\n{{"score": {v}, "reason": "it is \\"fine\\""}}\n```',
    "object": '{{"reasoning": "score: 1?", "score": {v}}}',
    "stated": "Score: {v}",
    "behind": "It is fair, in the main.\n\n**Final score:** {v}/5",
    "thought": "<think>Perhaps score: 1</think>\n{v}",
    "marked": "My rating: [[{v}]]",
}


def table_with(tmp_path: Path, answers: list[str], **more: Any) -> Any:
    drawn = random.Random(1)
    rows = {
        "id": [f"i{n}" for n in range(len(answers))],
        "text": [
            " ".join(drawn.choices(WORDS, k=9)) + f" {n}" for n in range(len(answers))
        ],
        "judge": answers,
        "human": [1 + n % 5 for n in range(len(answers))],
    }
    path = tmp_path / "verdicts.csv"
    pd.DataFrame(rows | more).to_csv(path, index=False)
    return read_table(path)


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_raw_answers_is_its_verdicts(form: str, tmp_path: Path) -> None:
    values = [1 + (n * 7) % 5 for n in range(40)]
    table = table_with(tmp_path, [FORMS[form].format(v=v) for v in values])
    assert table.judges == ["judge"]
    assert table.verdicts["verdict"].tolist() == values
    (note,) = (one for one in table.read if one.key == "table.raw_answers")
    assert (note.values["column"], note.values["silent"]) == ("judge", 0)


def test_answers_with_several_readings_are_missing_verdicts_and_counted(
    tmp_path: Path,
) -> None:
    answers = [f'{{"score": {1 + n % 5}}}' for n in range(40)]
    answers[3] += ' or {"score": 0}'
    answers[4] = '{"score": 2, "reas'
    table = table_with(tmp_path, answers)
    lost = table.verdicts[table.verdicts["verdict"].isna()]["item"].tolist()
    assert lost == ["i3", "i4"]
    (note,) = (one for one in table.read if one.key == "table.raw_answers")
    assert note.values["silent"] == 2


def test_several_verdicts_in_an_answer_are_criteria(tmp_path: Path) -> None:
    answers = [
        f'{{"clarity": {1 + n % 5}, "tone": {5 - n % 5}, "reason": "r"}}'
        for n in range(40)
    ]
    rows = {"id": [f"i{n}" for n in range(40)], "judge": answers}
    path = tmp_path / "verdicts.csv"
    pd.DataFrame(rows | {"human_clarity": [1 + n % 5 for n in range(40)]}).to_csv(
        path, index=False
    )
    cells = read_frame(path).cells
    assert list(cells) == ["id", "judge.clarity", "judge.tone", "human_clarity"]
    assert cells["judge.tone"].tolist()[:3] == [5, 4, 3]


def test_answers_beside_their_own_verdicts_are_no_other_judge(tmp_path: Path) -> None:
    values = [1 + (n * 7) % 5 for n in range(40)]
    raw = [f"It is fine.\nScore: {v}" for v in values]
    table = table_with(tmp_path, [str(v) for v in values], raw_output=raw)
    assert table.judges == ["judge"]
    assert "slice.raw_output" not in table.items
    assert [
        one.values["other"] for one in table.read if one.key == "table.raw_twin"
    ] == ["judge"]


def test_texts_that_look_like_answers_stay_texts(tmp_path: Path) -> None:
    values = [str(1 + n % 5) for n in range(40)]
    sums = [f"First {n} and then {n}.\nAnswer: {2 * n}" for n in range(40)]
    objects = [f'{{"name": "Ana {n}", "city": "Porto"}}' for n in range(40)]
    table = table_with(tmp_path, values, response=sums, document=objects)
    assert not [one.key for one in table.read if one.key.startswith("table.raw")]
    path = tmp_path / "verdicts.csv"
    cells = read_frame(path).cells
    assert cells["response"].tolist() == sums
    assert cells["document"].tolist() == objects

"""What is asked in benchmarks/guide.py, and the arithmetic of what is kept."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.guide import DEFAULT, EXAMPLES, RUBRICS, SHOWN, config, stored, summary
from undogmatic.config.build import build
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import read_yaml


@pytest.mark.parametrize("name", RUBRICS)
def test_the_examples_fit_the_guide_and_are_shown_in_one_condition_alone(
    name: str,
) -> None:
    language = RUBRICS[name]
    with_examples = build(config(name, SHOWN, Path("m.gguf"))["rubric"], "rubric")
    without = build(config(name, DEFAULT, Path("m.gguf"))["rubric"], "rubric")
    assert isinstance(with_examples, Rubric) and isinstance(without, Rubric)
    listed = read_yaml(EXAMPLES)[name][language]
    assert [list(each) for each in with_examples.shown_examples(language)] == listed
    assert not any(without.shown_examples(language))


def test_a_score_that_failed_is_left_out_of_all_conditions_and_counted() -> None:
    own = stored()
    one = own[own["rubric"] == own["rubric"].iloc[0]].copy()
    before = summary(one)
    place = one[one["score"].notna() & (one["condition"] == SHOWN)].index[0]
    one.loc[place, "score"] = float("nan")
    after = summary(one)
    assert (after["n"] == before["n"] - 1).all()
    assert (after["failed"] == before["failed"] + 1).all()
    same = pd.concat([one.assign(score=one["label"])])
    assert all(row.value == pytest.approx(1) for row in summary(same)["correlation"])

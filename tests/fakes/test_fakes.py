"""No judge without merit is believed, and good ones are. `python -m benchmarks.fakes` does so over many seeds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakes.judges import FAKES, GOOD
from tests.fakes.worlds import made_up, shipped, verdict_of
from undogmatic.models.fake import KINDS
from undogmatic.paths import conf_folder


@pytest.mark.parametrize("name", FAKES)
def test_a_fake_is_not_believed_on_the_shipped_pairs(name: str) -> None:
    items = shipped("pairs")
    assert verdict_of(items, FAKES[name](items, np.random.default_rng(1))).standing != "supported"


@pytest.mark.parametrize(
    "name", ["capitals", "share_of_capitals", "citations", "length_from_340", "word_length", "good"]
)
def test_on_texts_whose_surface_gives_them_away_nobody_is_believed(name: str) -> None:
    items = shipped("theses")
    judge = FAKES.get(name) or GOOD[name]
    assert verdict_of(items, judge(items, np.random.default_rng(1))).standing != "supported"


@pytest.mark.parametrize("name", ["length", "capitals", "commas", "capitals_and_commas", "mostly_length"])
@pytest.mark.parametrize("n", [12, 46])
def test_a_counter_is_not_believed_where_the_counts_differ(name: str, n: int) -> None:
    items = made_up(n, seed=3, apart=1.5)
    assert verdict_of(items, FAKES[name](items, np.random.default_rng(1))).standing != "supported"


@pytest.mark.parametrize("name", GOOD)
def test_a_good_judge_is_believed_on_46_pairs(name: str) -> None:
    items = made_up(46, seed=4)
    found = [verdict_of(items, GOOD[name](items, np.random.default_rng(seed))).standing for seed in range(6)]
    assert found.count("supported") >= 5


def test_eight_pairs_copied_are_eight_pairs() -> None:
    few = made_up(8, seed=5)
    items = [
        item.model_copy(update={"id": f"{item.id} {copy}", "pair": f"{item.pair} {copy}"})
        for copy in range(8)
        for item in few
    ]
    for seed in range(10):
        draw = np.random.default_rng(seed)
        score = {item.text: float(draw.uniform(0, 100)) for item in few}
        result = verdict_of(items, [score[item.text] for item in items])
        assert result.standing != "supported"
        assert result.metrics["ab.groups"] == 8


def test_there_are_forty_and_the_experiment_has_all_that_read_the_text_alone() -> None:
    assert len(FAKES) >= 40
    listed = (conf_folder() / "experiment" / "fakes.yaml").read_text(encoding="utf-8")
    assert set(KINDS) == set(listed.rsplit("model.kind: ", 1)[1].strip().split(","))

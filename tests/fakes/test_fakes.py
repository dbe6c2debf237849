"""Good judges are believed, copies are no evidence, and the list of fakes is whole."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakes.judges import FAKES, GOOD
from tests.fakes.worlds import made_up, verdict_of
from undogmatic.models.fake import KINDS
from undogmatic.paths import conf_folder


@pytest.mark.parametrize("name", ["good"])
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

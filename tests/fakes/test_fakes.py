"""Good judges are believed, copies are no evidence, fakes are found out, and the list of them is
whole."""

import numpy as np
import pytest

from benchmarks import arranged
from benchmarks.fakes import WORLDS, on_items, one_world
from tests.fakes.judges import EXPRESSIONS, FAKES, GOOD
from tests.fakes.worlds import made_up, shipped, verdict_of
from undogmatic.models.fake import KINDS
from undogmatic.safety.paths import conf_folder

pytestmark = pytest.mark.slow


def test_good_judges_are_believed_on_46_pairs() -> None:
    found = [
        standing
        for seed in range(2)
        for standing in one_world(list(GOOD), "alike", 46, seed)
    ]
    assert found.count("supported") >= 5


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [12, 46])
def test_no_judge_without_merit_is_believed(world: str, n: int) -> None:
    """One draw of texts and scores; `python -m benchmarks.fakes` has 400 and more sizes."""
    found = dict(zip(FAKES, one_world(list(FAKES), world, n, seed=n), strict=True))
    assert not [name for name, standing in found.items() if standing == "supported"]


def test_none_is_believed_on_the_shipped_pairs() -> None:
    found = on_items(list(FAKES), shipped("pairs"), seed=1)
    assert "supported" not in found


def test_on_theses_whose_surface_gives_them_away_not_even_good_judges_are_believed() -> (
    None
):
    found = on_items([*FAKES, *GOOD], shipped("theses"), seed=2)
    assert "supported" not in found


@pytest.mark.parametrize("name", ["good", "refusing_what_is_wrong", "capitals"])
def test_the_ruling_alone_is_that_of_the_whole_analysis(name: str) -> None:
    items = made_up(24, seed=3, apart=1.5)
    (alone,) = on_items([name], items, seed=24)
    assert (
        verdict_of(
            items, (FAKES | GOOD)[name](items, np.random.default_rng((24, len(items))))
        ).standing
        == alone
    )


def test_eight_pairs_copied_are_eight_pairs() -> None:
    few = made_up(8, seed=5)
    copies = [(item, f" {copy}") for copy in range(8) for item in few]
    items = [
        item.model_copy(update={"id": item.id + end, "pair": f"{item.pair}{end}"})
        for item, end in copies
    ]
    draw = np.random.default_rng(0)
    score = {item.text: float(draw.uniform(0, 100)) for item in few}
    result = verdict_of(items, [score[item.text] for item in items])
    assert result.standing != "supported"
    assert result.metrics["ab.groups"] == 8


def test_there_are_forty_and_the_experiment_has_all_that_read_the_text_alone() -> None:
    assert len(FAKES) >= 40
    listed = (conf_folder() / "experiment" / "fakes.yaml").read_text(encoding="utf-8")
    assert {*KINDS, *EXPRESSIONS} == set(
        listed.rsplit("model.kind: ", 1)[1].strip().split(",")
    )


@pytest.mark.parametrize("kind", arranged.KINDS)
def test_a_judge_that_reads_one_arrangement_is_not_believed(kind: str) -> None:
    assert {arranged.verdict(kind, 46, seed) for seed in range(2)} <= {
        "surface_as_good",
        "surface_explains",
    }

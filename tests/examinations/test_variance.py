"""Sources of variance within a run, over runs and in a sweep's table."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import (
    Score,
    analysed,
    refuses,
    repeated_run,
    scored_folder,
)
from tests.examinations.conftest import words_of
from undogmatic.errors import ConfigError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import differing, settings
from undogmatic.examinations.variance import of_scores
from undogmatic.records.records import Cost
from undogmatic.records.results import Finding

analyse = partial(analysed, "variance")
EN = words_of("en")

SHROUT = np.array(
    [
        [9, 2, 5, 8],
        [6, 1, 3, 2],
        [8, 4, 6, 8],
        [7, 1, 2, 6],
        [10, 5, 6, 9],
        [6, 2, 4, 7.0],
    ]
)


def repeated(
    scores: Sequence[Sequence[Score]], cost: Cost | None = None, **fields: Any
) -> RunEvidence:
    """A row of repeats per item."""
    return repeated_run(
        list(zip(*scores, strict=True)), [None, *[cost] * len(scores[0])], **fields
    )


def long(scores: np.ndarray, **facets: Sequence[str]) -> pd.DataFrame:
    rows = []
    for place in np.ndindex(scores.shape):
        values = {
            name: own[k]
            for (name, own), k in zip(facets.items(), place[1:], strict=True)
        }
        rows.append(
            {"item_id": f"t{place[0]}", "group": f"g{place[0]}", "score": scores[place]}
            | values
        )
    return pd.DataFrame(rows)


class TestWithinARun:
    def test_published_numbers(self) -> None:
        result = analyse(repeated(SHROUT.tolist()))
        # ICC(2,1) and ICC(3,1) of Shrout and Fleiss (1979).
        assert result.of("phi relative phi_of_all") == pytest.approx(
            [0.29, 0.71, 0.62], abs=0.005
        )
        assert (result.headline, result.standing) == ("variance.phi", None)
        assert result.tables["components"]["source"].tolist() == [
            "item",
            "repeat",
            "item × repeat",
        ]
        assert result.says["needed"]["order"] == 2
        assert (
            EN.say(result.says["verdict_average"]["design"])
            == f"{result['needed.repeat']} repeats"
        )
        assert EN.say(result.says["few_levels"]["facets"]) == "4 repeats"
        averaged = result.tables["averaged"].set_index("n")["phi"]
        assert averaged.loc[1] == result["phi"] < averaged.loc[10]

    def test_a_text_with_a_failure_is_left_out_whole(self) -> None:
        result = analyse(repeated([*SHROUT.tolist(), [5.0, "refusal", 5.0, 5.0]]))
        assert result.says["left_out"] == {"n": 1, "total": 7}
        assert result["phi"] == analyse(repeated(SHROUT.tolist()))["phi"]

    def test_what_cannot_be_said_and_repeats_from_the_cache_are_said(self) -> None:
        refuses(
            Unsuited,
            r"one score per text. Set run.repeats=3",
            "variance",
            repeated([[1.0], [2.0], [3.0]]),
        )
        refuses(ConfigError, "target", "variance", target=1.0)
        assert "constant" in analyse(repeated([[50.0, 50]] * 5)).says
        assert analyse(repeated([[1.0, 2]] * 2)).says["too_few"]["groups"] == 2
        judged = repeated(
            [[10.0, 10], [20.0, 20], [30.0, 30]], cost=Cost(calls=0, cached=1)
        )
        assert analyse(judged).says["cached"] == {"n": 3, "total": 3}


def labelled_by(said: np.ndarray, scores: Sequence[Sequence[Score]]) -> RunEvidence:
    """Scores as `repeated`, and a column of labels per rater; NaN: that rater did not see the
    text."""
    people = [
        {f"rater {k}": float(v) for k, v in enumerate(row) if not np.isnan(v)}
        for row in said
    ]
    return repeated(scores, said=people)


class TestRaters:
    def test_people_are_divided_like_repeats(self) -> None:
        once = [[50.0]] * 6
        result = analyse(labelled_by(SHROUT, once))
        assert result.of("phi.people relative.people") == pytest.approx(
            [0.29, 0.71], abs=0.005
        )
        assert (
            result.headline == "variance.phi.people"
            and "nothing_varies" not in result.says
        )
        assert result.tables["people_components"]["source"].tolist() == [
            "item",
            "rater",
            "item × rater",
        ]
        assert result.says["people_average"]["design"].values["n"] > 1
        refuses(
            Unsuited, "one score per text", "variance", labelled_by(SHROUT[:, :1], once)
        )

    def test_beside_the_repeats_of_a_judge(self) -> None:
        labels = SHROUT.copy()
        labels[2, 1] = np.nan
        result = analyse(labelled_by(labels, SHROUT[::-1].tolist()))
        assert result["phi.people"] != result["phi"] == pytest.approx(0.29, abs=0.005)
        assert result.says["people"] == {"n": 4} and result.ruled[0] == "average"

    def test_raters_who_saw_different_texts_are_not_divided(self) -> None:
        labels = np.full((6, 2), np.nan)
        labels[:3, 0], labels[3:, 1] = 10, 90
        refuses(
            Unsuited,
            "one score per text",
            "variance",
            labelled_by(labels, [[50.0]] * 6),
        )
        labels[0, 1] = 20
        result = analyse(labelled_by(labels, [[50.0]] * 6))
        assert result.says["too_few"]["n"] == 1 and result.result.verdict is None


def test_a_point_above_the_target_is_not_enough() -> None:
    draw = np.random.default_rng(0)
    rows = (draw.normal(0, 20, 8)[:, None] + draw.normal(50, 8, (8, 2))).tolist()
    result = analyse(repeated(rows), target=0.8)
    assert result["phi"] > 0.8 > result["phi_low"]
    assert result.says["verdict_open"]["groups"] == 8


class TestOverRuns:
    def test_the_settings_that_differ_are_the_facets(self, tmp_path: Path) -> None:
        draw = np.random.default_rng(1)
        scores = (
            50
            + draw.normal(0, 10, (12, 1, 1))
            + draw.normal(0, 8, (1, 1, 3))
            + draw.normal(0, 2, (12, 2, 3))
        )
        models, prompts = ["a", "b"], ["p", "q", "r"]
        own = repeated(
            [[float(s)] for s in scores[:, 0, 0]],
            name="own",
            set_to={"model": "a", "prompt": "p"},
        )
        facets = {
            (m, p): (i, k) for i, m in enumerate(models) for k, p in enumerate(prompts)
        }
        others = [
            scored_folder(
                tmp_path / f"{m}{p}",
                scores[:, *place],
                name=f"{m}{p}",
                choices={"model": m, "prompt": p},
            )
            for (m, p), place in facets.items()
            if any(place)
        ]
        result = analyse(own, against=others)
        expected = of_scores(
            long(scores, model=models, prompt=prompts), ["model", "prompt"]
        ).table
        found = result.tables["components"].set_index("source")["share"]
        assert found.to_dict() == pytest.approx(
            expected.set_index("source")["share"].to_dict()
        )
        assert (
            EN.say(result.says["sources"]["first"])
            == "differences between the prompts on all texts alike"
        )
        # Without one of them the settings are not crossed any more, so that runs are what varies.
        fewer = analyse(own, against=others[:-1])
        assert fewer.says["runs_as_one"] == {"facets": ["model", "prompt"], "runs": 5}
        assert fewer.tables["components"]["source"].tolist() == [
            "item",
            "run",
            "item × run",
        ]

    def test_two_models_do_not_tell_how_many_would_be_needed(
        self, tmp_path: Path
    ) -> None:
        draw = np.random.default_rng(4)
        scores = 50 + draw.normal(0, 10, (40, 1)) + draw.normal(0, 12, (40, 2))
        own = repeated(
            [[float(s)] for s in scores[:, 0]], name="own", set_to={"model": "a"}
        )
        result = analyse(
            own,
            against=[
                scored_folder(
                    tmp_path / "b", scores[:, 1], name="b", choices={"model": "b"}
                )
            ],
        )
        assert result.ruled[0] == "average_few" and result.says["verdict_average_few"][
            "names"
        ] == [
            "a",
            "b",
        ]
        assert (
            "needed" not in result.says
            and EN.say(result.says["verdict_average_few"]["few"]) == "2 models"
        )

    def test_which_settings_differ(self) -> None:
        one = settings(
            {"model": "a", "prompt": "demos"},
            {"prompt": {"demo_order": 0}, "model": {"t": 1}, "seed": 0},
        )
        other = settings(
            {"model": "b", "prompt": "demos"},
            {"prompt": {"demo_order": 3}, "model": {"t": 2}, "seed": 0},
        )
        assert differing([one, other]) == ["model", "prompt.demo_order"]
        assert settings({}, {"model": {"key": "${oc.env:KEY}"}}) == {}


class TestScoresOfASweep:
    def test_order_of_demonstrations(self) -> None:
        draw = np.random.default_rng(2)
        scores = draw.normal(50, 5, (20, 1)) + draw.normal(0, 15, (20, 6))
        found = of_scores(
            long(scores, **{"prompt.demo_order": list("012345")}), ["prompt.demo_order"]
        )
        assert found.study is not None
        keys = {f.key: f.values for f in found.findings}
        needed = keys["variance.needed"]
        assert (EN.say(needed["facet"]), needed["target"]) == (
            "orders of the demonstrations",
            0.8,
        )
        assert needed["n"] > 10
        source = "differences between the orders of the demonstrations on single texts, chance included"
        assert EN.say(keys["variance.sources_one"]["first"]) == source

    def test_what_changes_together_is_one_facet(self) -> None:
        draw = np.random.default_rng(3)
        frame = long(draw.normal(50, 5, (8, 3)), model=["a", "b", "c"])
        frame["readout"] = frame["model"].map({"a": "x", "b": "y", "c": "z"})
        found = of_scores(frame.assign(seed="0"), ["seed", "model", "readout"])
        assert found.table["source"].tolist() == [
            "item",
            "model + readout",
            "item × model + readout",
        ]
        assert "values of `model + readout`" in EN.say(found.findings[0])

    def test_what_is_not_crossed_is_not_divided(self) -> None:
        frame = long(
            np.random.default_rng(4).normal(50, 5, (8, 2, 2)),
            model=["a", "b"],
            prompt=["p", "q"],
        )
        found = of_scores(
            frame[(frame["model"] == "a") | (frame["prompt"] == "p")],
            ["model", "prompt"],
        )
        assert (found.study, len(found.table)) == (None, 0)
        values = {"facets": ["model", "prompt"], "there": 3, "needed": 4}
        assert found.findings == [Finding("variance.not_crossed", values)]
        assert of_scores(frame, []).findings == [Finding("variance.nothing_varies")]

"""A locked plan: what it tests, what it refuses, and that it cannot be changed afterwards."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import configured, repeated_run
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError
from undogmatic.examinations.plan import check_plan, of_plan
from undogmatic.experiment import run_experiment
from undogmatic.records.plan import Plan
from undogmatic.records.results import Told
from undogmatic.records.words import Words


def plan(*hypotheses: dict[str, Any]) -> Plan:
    return Plan.model_validate(
        {"hypotheses": [{"name": f"h{n}", **each} for n, each in enumerate(hypotheses)]}
    )


def found(made: Plan, **metrics: float) -> Told:
    given = {key.replace("__", "."): value for key, value in metrics.items()}
    return of_plan(made, [Told("ab", given)], 0.95, "d" * 64)


def shown(result: Told) -> list[str]:
    return list(result.tables["hypotheses"]["shown"])


INTERVAL = {"ab__x": 20.0, "ab__x_low": 12.0, "ab__x_high": 28.0}


class TestOfPlan:
    def test_limits_decide_not_the_estimate(self) -> None:
        made = plan(
            {"test": "ab.x", "above": 10},
            {"test": "ab.x", "above": 13},
            {"test": "ab.x", "above": 30},
        )
        result = found(made, **INTERVAL)
        assert shown(result) == ["supported", "undecided", "refuted"]
        assert result.standing == "refuted"
        said = Words("en", result.texts, strict=True).answered(result.verdict)  # type: ignore[arg-type]
        assert said.startswith("No. ")

    def test_the_interval_and_its_p_value_agree_at_the_limit(self) -> None:
        row = (
            found(plan({"test": "ab.x", "differs": 12}), **INTERVAL)
            .tables["hypotheses"]
            .iloc[0]
        )
        assert row["p"] == pytest.approx(0.05, abs=1e-6)

    def test_below_mirrors_above(self) -> None:
        mirrored = {"ab__x": -20.0, "ab__x_low": -28.0, "ab__x_high": -12.0}
        up = found(plan({"test": "ab.x", "above": 10}), **INTERVAL).tables[
            "hypotheses"
        ]["p"]
        down = found(plan({"test": "ab.x", "below": -10}), **mirrored).tables[
            "hypotheses"
        ]["p"]
        assert up.tolist() == pytest.approx(down.tolist())

    def test_the_family_is_corrected_and_what_could_not_be_tested_stays_in_it(
        self,
    ) -> None:
        alone = found(plan({"test": "ab.p"}), ab__p=0.03)
        family = found(
            plan({"test": "ab.p"}, {"test": "ab.gone", "above": 0}), ab__p=0.03
        )
        assert (shown(alone), shown(family)) == (
            ["supported"],
            ["undecided", "undecided"],
        )
        assert "plan.untested" in [finding.key for finding in family.findings]

    def test_noise_is_supported_in_at_most_five_of_a_hundred_plans(self) -> None:
        rng = np.random.default_rng(0)
        hits = 0
        for values in rng.normal(size=(400, 4)):
            numbers = {
                f"ab__m{n}{end}": v + w
                for n, v in enumerate(values)
                for end, w in ENDS.items()
            }
            hits += "supported" in shown(
                found(
                    plan(*({"test": f"ab.m{n}", "above": 0} for n in range(4))),
                    **numbers,
                )
            )
        assert hits <= 0.07 * 400

    def test_every_sentence_has_words_in_both_languages(self) -> None:
        for above in (10, 13, 30):
            result = found(
                plan(
                    {"test": "ab.x", "above": above, "says": "s"}, {"test": "ab.gone"}
                ),
                **INTERVAL,
            )
            for language in ("en", "pt"):
                words = Words(language, result.texts, strict=True)
                assert all(
                    words.say(each)
                    for each in [*result.findings, result.verdict]
                    if each is not None
                )


ENDS = {"": 0.0, "_low": -1.959964, "_high": 1.959964}
CHOICES = {
    "model": "patterns",
    "prompt": "anchored_pt",
    "judge": "score",
    "dataset": "theses",
    "analysis": "ab",
}


def run(folder: Path, *words: str) -> None:
    given = [
        "model=patterns",
        "dataset=theses",
        "analysis=none",
        "tracking=none",
        "run.limit=6",
        *words,
    ]
    run_experiment(compose_config(given), CHOICES, folder)


def test_a_plan_is_locked_and_what_is_not_given_is_refused_at_the_start(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        ConfigError,
        match=r"hypotheses\[0\].test` is 'none.p', and analysis=none gives no such number",
    ):
        run(tmp_path / "refused", "plan={hypotheses:[{name:h,test:none.p}]}")
    assert not list(tmp_path.rglob("judgments.jsonl"))
    run(tmp_path / "o")
    with pytest.raises(ConfigError, match="a plan is no plan after the fact"):
        run(
            tmp_path / "o",
            "analysis=ab",
            "plan={hypotheses:[{name:h,test:ab.auc,above:0.5}]}",
        )


def test_two_bounds_or_names_are_refused() -> None:
    for wrong in ({"test": "a.p", "above": 1, "below": 2}, {"test": "a.p", "name": ""}):
        with pytest.raises(ValueError, match=r"one of above|at least 1"):
            plan(wrong)
    with pytest.raises(ValueError, match="two hypotheses"):
        Plan.model_validate({"hypotheses": [{"name": "h", "test": "a.p"}] * 2})


def test_a_number_about_what_people_said_can_be_planned() -> None:
    """The rehearsal has everybody's labels, as the run will."""
    rng = np.random.default_rng(1)
    said = [
        {name: float(rng.integers(0, 100)) for name in ("ana", "rui")}
        for _ in range(12)
    ]
    judged, analysis = (
        repeated_run([[50.0] * 12] * 2, said=said),
        configured("variance"),
    )
    check_plan(plan({"test": "variance.phi.people", "above": 0.5}), analysis, judged, 0)
    with pytest.raises(ConfigError, match=r"variance\.phi\.people"):
        check_plan(
            plan({"test": "variance.phi.nobody", "above": 0.5}), analysis, judged, 0
        )

"""Variance components: by hand, against mixed models, by symmetry, and the coverage of their
intervals."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tests.stats.conftest import Rng, sure, width
from undogmatic.stats.variance import FEWEST_FOR_LIMITS, Study

# Six items under four prompts: Shrout and Fleiss (1979), table 2, doi:10.1037/0033-2909.86.2.420.
# Mean squares of items 11.24, of judges 32.49, residual 1.02; ICC(2,1) is phi of one judge,
# ICC(3,1) is E rho squared of one, and with k = 4 they are the two of the mean.
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


def variances(study: Study) -> dict[str, float]:
    return {" ".join(c.source): c.estimated for c in study.components()}


class TestPublished:
    def test_shrout_and_fleiss(self) -> None:
        study = Study(SHROUT, ["judge"])
        squares = {" ".join(c.source): c.mean_square for c in study.components()}
        assert squares == pytest.approx(
            {"item": 11.24, "judge": 32.49, "item judge": 1.02}, abs=0.005
        )
        assert [c.degrees for c in study.components()] == [5, 3, 15]
        found = [
            (each.phi.value, each.relative.value)
            for each in (study.reliability({}), study.reliability())
        ]
        assert np.array(found) == pytest.approx(
            np.array([(0.29, 0.71), (0.62, 0.91)]), abs=0.005
        )

    def test_by_hand_with_a_negative_estimate(self) -> None:
        # Item means 0.5, 2.5, 4.5: MS 8; prompt means 8/3, 7/3: MS 1/6; rest: residuals of +-1/3
        # and 2/3, MS 2/3.
        study = Study([[1, 0], [2, 3], [5, 4]], ["prompt"])
        assert variances(study) == pytest.approx(
            {"item": 11 / 3, "prompt": -1 / 6, "item prompt": 2 / 3}
        )
        assert [c.variance.value for c in study.components()][1] == 0
        assert sum(c.share for c in study.components()) == pytest.approx(1)
        # A negative one counts as 0: phi = (11/3) / (11/3 + 2/3).
        assert study.reliability({}).phi.value == pytest.approx(11 / 13)


def test_two_facets_against_a_mixed_model(rng: Rng) -> None:
    """p x i x o, balanced: restricted maximum likelihood is the analysis of variance where nothing
    is negative."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    n, prompts, models = 12, 4, 3
    effects = {
        "item": (n, 1, 1),
        "prompt": (1, prompts, 1),
        "model": (1, 1, models),
        "item prompt": (n, prompts, 1),
    }
    effects |= {
        "item model": (n, 1, models),
        "prompt model": (1, prompts, models),
        "rest": (n, prompts, models),
    }
    sds = [10, 5, 4, 4, 5, 5, 3]
    scores = sum(
        rng.normal(0, sd, shape)
        for sd, shape in zip(sds, effects.values(), strict=True)
    )
    study = Study(scores, ["prompt", "model"])
    estimated = variances(study)
    assert min(estimated.values()) > 0
    frame = pd.DataFrame(
        [[*place, y] for place, y in np.ndenumerate(scores)],
        columns=["item", "prompt", "model", "y"],
    )
    formulas = {
        name: "0 + " + ":".join(f"C({facet})" for facet in name.split())
        for name in effects
        if name != "rest"
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MixedLM.from_formula(
            "y ~ 1", frame, groups=np.ones(len(frame)), vc_formula=formulas
        )
        fitted = model.fit(reml=True)
    found = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True)) | {
        "item prompt model": fitted.scale
    }
    assert found == pytest.approx(estimated, rel=0.02)


class TestHowMany:
    def test_what_is_needed_reaches_the_target_and_one_fewer_does_not(self) -> None:
        study = Study(SHROUT, ["judge"])
        needed = sure(study.needed("judge", 0.8))
        enough, fewer = (
            study.reliability({"judge": n}).phi.value for n in (needed, needed - 1)
        )
        assert enough >= 0.8 > fewer
        # Spearman-Brown of .71: 4 (1 - .71) / .71 = 1.6
        assert study.needed("judge", 0.8, absolute=False) == 2
        assert study.cheapest(0.8) == {"judge": needed}
        phis = [study.reliability({"judge": n}).phi.value for n in range(1, 20)]
        assert phis == sorted(phis), "more is never less reliable"

    def test_what_no_number_reaches_is_none(self, rng: Rng) -> None:
        # The model moves items apart; prompts cannot average that away.
        scores = (
            rng.normal(0, 5, (30, 1, 1))
            + rng.normal(0, 8, (30, 3, 1))
            + rng.normal(0, 1, (30, 3, 4))
        )
        study = Study(scores, ["model", "prompt"])
        assert (
            study.needed("prompt", 0.8) is None and sure(study.needed("model", 0.8)) > 3
        )
        assert sure(study.cheapest(0.8))["prompt"] <= 2
        assert Study(rng.normal(0, 1, (30, 3)), ["repeat"]).cheapest(0.99) is None


class TestIntervals:
    def test_coverage_over_items(self, rng: Rng) -> None:
        """For the prompts at hand: what other prompts would give is not in the interval, and is
        said so."""
        prompts = np.array([-5.0, 0, 7])
        of_prompts = prompts.var(ddof=1)
        truth = {
            "phi": 100 / (136 + of_prompts),
            "relative": 100 / 136,
            "item": 100.0,
            "prompt": of_prompts,
        }
        truth["item prompt"] = 36.0
        for n in (10, 40):
            hits = dict.fromkeys(
                truth if n >= FEWEST_FOR_LIMITS else ("phi", "relative"), 0
            )
            for _ in range(200):
                study = Study(
                    rng.normal(50, 10, n)[:, None] + prompts + rng.normal(0, 6, (n, 3)),
                    ["prompt"],
                )
                one = study.reliability({})
                ends = {"phi": one.phi.interval, "relative": one.relative.interval}
                ends |= {
                    " ".join(c.source): c.variance.interval for c in study.components()
                }
                for key in hits:
                    hits[key] += ends[key][0] <= truth[key] <= ends[key][1]
            assert all(0.915 <= hit / 200 <= 0.995 for hit in hits.values()), hits

    def test_few_texts_say_nothing_of_a_component_and_something_of_a_reliability(
        self,
    ) -> None:
        study = Study(SHROUT, ["judge"])
        assert all(np.isnan(c.variance.interval).all() for c in study.components())
        phi = study.reliability({}).phi
        assert 0 <= phi.low < phi.value < phi.high <= 1
        # An estimate of no variance between items is not a reliability that is known to be 0.
        alike = Study([[49, 51, 50], [51, 49, 50], [50, 50, 50]] * 2, ["prompt"])
        assert alike.components()[0].estimated < 0
        phi = alike.reliability({}).phi
        assert (phi.value, phi.low) == (0, 0) and phi.high > 0.3

    def test_groups_are_the_units(self, rng: Rng) -> None:
        scores = rng.normal(50, 10, (20, 1)) + rng.normal(0, 4, (20, 3))
        times = np.repeat(scores, 4, axis=0)
        studies = ((scores, None), (times, np.repeat(range(20), 4)), (times, None))
        once, copies, blind = (
            width(Study(own, ["prompt"], groups=g).reliability({}).phi)
            for own, g in studies
        )
        assert copies == pytest.approx(once, rel=0.1) and blind < 0.7 * once

    def test_moving_and_stretching_the_scale(self, rng: Rng) -> None:
        scores = rng.normal(50, 10, (30, 1)) + rng.normal(0, 5, (30, 3))
        # judges that are alike: their variance is estimated to be below 0
        scores -= scores.mean(axis=0)
        one, other = Study(scores, ["judge"]), Study(20 + 3 * scores, ["judge"])
        assert other.reliability({}).phi.low == pytest.approx(
            one.reliability({}).phi.low
        )
        for a, b in zip(one.components(), other.components(), strict=True):
            assert b.variance.metrics("") == pytest.approx(
                {k: 9 * v for k, v in a.variance.metrics("").items()}
            )


def test_items_that_do_not_differ_have_no_reliability(rng: Rng) -> None:
    same = np.tile([10.0, 20, 40], (8, 1))
    study = Study(same, ["prompt"])
    assert (
        study.reliability({}).phi.value,
        study.needed("prompt", 0.8),
        study.cheapest(0.8),
    ) == (
        0,
        None,
        None,
    )
    assert Study(np.full((8, 3), 50.0), ["prompt"]).constant
    assert not Study(rng.normal(size=(8, 3)), ["prompt"]).constant
    # A judge that repeats itself exactly: nothing but items.
    exact = Study(np.repeat(rng.normal(size=(8, 1)), 3, axis=1), ["repeat"])
    assert (exact.reliability({}).phi.value, exact.needed("repeat", 0.8)) == (1, 1)

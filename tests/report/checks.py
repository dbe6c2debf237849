"""Results of a check, made by hand: what the parts of a check would tell, without running them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.examinations.builders import evidence_of
from undogmatic.records.checked import CheckOptions, CheckResult
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Finding, Standing, Subject, Told, Weight
from undogmatic.records.words import Words
from undogmatic.stats.estimate import Estimate

TRIAL = Path(__file__).with_name("checks.texts.yaml")


def words(language: str = "en") -> Words:
    """The words of these results; a sentence without wording is an error."""
    from undogmatic.report.check import OWN_TEXTS

    return Words(language, [OWN_TEXTS, TRIAL], strict=True)


def table(
    kind: Any = "pass_fail", judges: int = 1, n: int = 60, **fields: Any
) -> Evidence:
    """Verdicts of judges that agree with two people on most items."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, n).astype(float)
    noisy = [np.where(rng.random(n) < 0.1, 1 - truth, truth) for _ in range(judges + 2)]
    said = {f"judge{k}" if k else "judge": values for k, values in enumerate(noisy[2:])}
    items = {"text": [f"text number {k}" for k in range(n)]}
    made = evidence_of(kind, said, {"anna": noisy[0], "ben": noisy[1]}, items)
    read = (Finding("trial.read", {"file": "verdicts.csv", "n": n}),)
    return replace(made, read=read, sources={"data/verdicts.csv": "ab" * 32}, **fields)


KAPPA = Estimate(0.78, 0.61, 0.9, n=60, n_groups=58)


def judge_check(
    judge: str = "judge", standing: Standing = "supported", kappa: Estimate = KAPPA
) -> Told:
    """The answer about one judge, with a finding of each weight."""
    told = Told()
    told.number(kappa, "agreement.kappa", subject=Subject.HEADLINE)
    told.number(
        Estimate(float("nan"), float("-inf"), 0.2, n=60, n_groups=58), "bias.mean"
    )
    told.say("trial.detail", weight=Weight.DETAIL, value=1)
    told.say("trial.qualifies", weight=Weight.QUALIFIES, value=0.25)
    told.say(
        "trial.limits",
        weight=Weight.LIMITS,
        settle=Finding("trial.settle", {"n": 40}),
        slice="<b>long</b>",
    )
    slices = pd.DataFrame({"slice": ["long", "short"], "share": [0.5, 0.75]})
    told.table("slices", slices, share="share")
    told.lacks("ceiling", "trial.lacks", n=1)
    answer = Finding(f"trial.answer_{standing}", {"judge": judge})
    return told.result(
        answer,
        standing,
        judge=judge,
        criterion="quality",
        rival=Finding("trial.rival", {"share": 0.7}),
        n=60,
        groups=58,
    )


def result(*answers: Told, verdicts: Evidence | None = None) -> CheckResult:
    """A check of these judges, else of one that may be trusted."""
    judges = answers or (judge_check(),)
    verdicts = verdicts or table(judges=len(judges))
    return CheckResult(verdicts, judges, Told(), CheckOptions())

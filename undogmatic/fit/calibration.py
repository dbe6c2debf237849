"""`undogmatic calibrate`: fit the map from raw scores to the rubric's scale, on labelled
development texts."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.marks import text_marks
from undogmatic.records.records import Failure, Item, Judgment, Verdict, digest
from undogmatic.records.results import Finding
from undogmatic.records.rubric import Rubric
from undogmatic.records.words import Words
from undogmatic.safety import files

Method = Literal["linear", "isotonic", "platt", "content_free"]
TEXTS = Path(__file__).with_name("calibration.texts.yaml")
LEAST = 20
CONTENT_FREE = ("N/A", "...", "texto", "[vazio]")
"""Texts without content; what the prompt alone makes of them is divided out by `content_free`."""


def calibrate_from_config(
    data: str | None,
    method: Method,
    out: Path,
    overrides: Sequence[str],
    judge: Callable[[Sequence[Item], Sequence[str]], Sequence[Judgment]],
) -> str:
    """Judge labelled texts with the composed config, fit a calibration and write it.

    Args:
        judge: Judges items with the config that these overrides compose (`api.judge_items`).
    Returns:
        A summary for the terminal: error before and after, by cross-validation.
    Raises:
        ConfigError: The composed readout is not `logprobs`, or already calibrated.
        DataError: There are too few labelled texts, or too few of them could be judged.
    """
    from undogmatic.config.build import build, settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.tabular import check_labels, labelled_items

    config = compose_config(overrides)
    if not str(config["readout"]["_target_"]).endswith("LogprobsReadout"):
        raise ConfigError(
            "a calibration is for the log-probability readout: add readout=logprobs."
        )
    if config["readout"].get("calibration") is not None:
        raise ConfigError(
            "`readout.calibration` is set; fit on raw scores: leave it out."
        )
    files.check_writable(out)  # before anything is asked and paid for
    rubric: Rubric = build(config["rubric"], "rubric")
    chosen = settings(config)
    words = Words.about(rubric, chosen.report.language, [TEXTS])
    if method == "content_free":
        empty = [
            Item(id=str(n), inputs=dict.fromkeys(rubric.inputs, text))
            for n, text in enumerate(CONTENT_FREE)
        ]
        fitted, told = fit_content_free(empty, judge(empty, overrides))
    else:
        items = labelled_items(data, rubric)
        if len(items) < LEAST:
            raise DataError(
                f"{data} holds {len(items)} labelled texts; a calibration needs at least {LEAST}."
            )
        check_labels(items, rubric)
        fitted, told = fit(
            items, judge(items, overrides), method, (rubric.minimum, rubric.maximum)
        )
    files.write(out, json.dumps(fitted, indent=2, ensure_ascii=False) + "\n", files.ALL)
    return f"{words.say(told)}\n{words.text('calibrate.written', out=str(out))}"


def fit(
    items: Sequence[Item],
    judgments: Sequence[Judgment],
    method: Method,
    scale: tuple[float, float],
) -> tuple[dict[str, Any], Finding]:
    """Judged labelled items -> the calibration to `scale` as plain data, and the sentence on what
    it gains.

    The gain is measured by 5-fold cross-validation. Texts with the same `pair` are in the same
    fold; a text without a pair stands alone, whatever else it has in common with others.

    Raises:
        DataError: Fewer than LEAST were judged; the first failure says why.
    """
    from undogmatic.stats import calibration as calibrators

    rows = [
        (i, j.outcome.score)
        for i, j in zip(items, judgments, strict=True)
        if isinstance(j.outcome, Verdict)
    ]
    if len(rows) < LEAST:
        raise DataError(
            f"{len(rows)} of {len(items)} texts were judged; a calibration needs at least"
            f" {LEAST}.{_why(judgments)}"
        )
    known = [item for item, _ in rows]
    raw, gold = (
        np.array([score for _, score in rows]),
        np.array([float(i.label) for i in known if i.label is not None]),
    )
    # By a digest of what belongs together: the texts of a pair are never on both sides,
    # and a text stays in its fold when others are added.
    folds = np.array(
        [int(digest(i.pair if i.pair is not None else i.id)[:8], 16) % 5 for i in known]
    )
    held_out = np.empty_like(raw)
    for fold in np.unique(folds):
        inside = folds == fold
        fitted = calibrators.fit(method, raw[~inside], gold[~inside], scale)
        held_out[inside] = calibrators.apply(fitted, raw[inside])
    before, after = (
        float(np.abs(raw - gold).mean()),
        float(np.abs(held_out - gold).mean()),
    )
    first = next(j for j in judgments if isinstance(j.outcome, Verdict))
    data = _origin(first, method) | {
        "labels": digest([[i.id, i.text, i.label] for i in known])
    }
    data |= {"texts": sorted(text_marks(i.text for i in known)), "n": len(rows)}
    data |= {"mean_absolute_error": {"raw": before, "cross_validated": after}}
    told = Finding(
        "calibrate.fitted",
        {"method": method, "n": len(rows), "before": before, "after": after},
    )
    # What is written is fitted to all texts; the error that is told is of texts that a
    # fit had not seen.
    return data | {"parameters": calibrators.fit(method, raw, gold, scale)}, told


def fit_content_free(
    items: Sequence[Item], judgments: Sequence[Judgment]
) -> tuple[dict[str, Any], Finding]:
    """Judgments of texts without content -> a calibration that divides out what the prompt alone
    favours. No labels."""
    from undogmatic.stats import calibration as calibrators

    spreads = [
        j.outcome.distribution
        for j in judgments
        if isinstance(j.outcome, Verdict) and j.outcome.distribution
    ]
    if not spreads:
        raise DataError(
            f"none of the {len(items)} content-free texts was judged; lower"
            f" readout.minimum_mass.{_why(judgments)}"
        )
    parameters = calibrators.fit_content_free(
        np.array([d.probabilities for d in spreads])
    )
    data = {"texts": [], "n": len(spreads), "parameters": parameters}
    return _origin(judgments[0], "content_free") | data, Finding(
        "calibrate.content_free", {"n": len(spreads)}
    )


def _origin(judgment: Judgment, method: Method) -> dict[str, Any]:
    """What the file says of how the texts were judged and what was fitted."""
    names = ("model", "prompt", "prompt_hash", "readout")
    return {name: getattr(judgment.provenance, name) for name in names} | {
        "method": method
    }


def _why(judgments: Sequence[Judgment]) -> str:
    """The first failure in words."""
    failed = (
        (j.item_id, j.outcome) for j in judgments if isinstance(j.outcome, Failure)
    )
    return next(
        (
            f" The first failure, for {name!r}: {why.reason}: {why.message}"
            for name, why in failed
        ),
        "",
    )

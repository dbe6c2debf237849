"""`undogmatic calibrate`: what it refuses, and how the folds of its cross-validation are drawn."""

import json
from pathlib import Path

import numpy as np
import pytest

from undogmatic.api import judge_items
from undogmatic.errors import DataError
from undogmatic.fit.calibration import (
    LEAST,
    calibrate_from_config,
    fit,
    fit_content_free,
)
from undogmatic.records.records import (
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    Verdict,
)


def item(number: int, pair: str | None = None) -> Item:
    return Item(
        id=f"t{number}", text=f"text {number}", pair=pair, label=float(number % 5 * 25)
    )


def judged(item: Item, score: float | None) -> Judgment:
    """A judgment with this score, or a failure."""
    failure = Failure(
        reason="off_scale", message="the answers carry 0.1 of the probability"
    )
    return Judgment(
        item_id=item.id,
        judge="score",
        outcome=failure if score is None else Verdict(score=score),
        cost=Cost(calls=1),
        provenance=Provenance(
            model="m",
            readout="logprobs",
            prompt="p",
            prompt_hash="h",
            program_hash="g",
            config_hash="c",
        ),
    )


def test_too_few_labelled_texts_are_refused_before_judging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    data = tmp_path / "few.jsonl"
    data.write_text(
        "".join(
            json.dumps({"text": f"t{n}", "label": 1}) + "\n" for n in range(LEAST - 1)
        )
    )
    with pytest.raises(
        DataError,
        match=rf"few.jsonl holds {LEAST - 1} labelled texts; .* at least {LEAST}",
    ):
        # Building this model would end with the key that is missing.
        calibrate_from_config(
            str(data),
            "linear",
            tmp_path / "out.json",
            ["model=gpt", "readout=logprobs"],
            judge_items,
        )
    assert not (tmp_path / "out.json").exists()


def test_where_nothing_is_judged_the_first_reason_is_given() -> None:
    items = [item(n) for n in range(LEAST)]
    failed = [judged(i, None) for i in items]
    with pytest.raises(DataError) as caught:
        fit(items, failed, "linear", (0, 100))
    assert (
        f"0 of {LEAST} texts were judged; a calibration needs at least {LEAST}."
        in str(caught.value)
    )
    said = "The first failure, for 't0': off_scale: the answers carry 0.1 of the probability"
    assert said in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit_content_free(items, failed)
    assert said in str(caught.value)


def test_texts_of_a_pair_are_held_out_together() -> None:
    # Two pairs of twenty texts, and the score tells only within a pair: with pairs split, the
    # held-out error would be that of a perfect fit.
    items = [item(n, pair="ab"[n % 2]) for n in range(40)]
    labels = np.array([float(i.label) for i in items if i.label is not None])
    shifted = np.where(np.arange(40) % 2, labels / 2, 50 + labels / 2)
    scores = [judged(i, float(score)) for i, score in zip(items, shifted, strict=True)]
    alone = [i.model_copy(update={"pair": None}) for i in items]
    together, _ = fit(items, scores, "linear", (0, 100))
    apart, _ = fit(alone, scores, "linear", (0, 100))
    errors = [
        found["mean_absolute_error"]["cross_validated"] for found in (together, apart)
    ]
    assert errors[0] > errors[1] + 5

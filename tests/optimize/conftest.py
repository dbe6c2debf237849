"""Optimisations of a scripted model on texts that only one instruction judges well."""

import copy
import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import put
from tests.optimize import scripted
from undogmatic.config.door import compose_config
from undogmatic.experiment import run_experiment

CHOICES = {
    "model": "scripted",
    "prompt": "anchored_en",
    "judge": "score",
    "dataset": "texts",
    "analysis": "none",
}
NOUNS = "barn harbour lantern meadow orchard pebble quarry river saddle timber valley window".split()


def texts(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Labelled texts about nothing; half of them hold the word, and people gave these a high
    score."""
    draw = random.Random(seed)
    rows = []
    for k in range(n):
        high = k % 2
        words = [*draw.choices(NOUNS, k=6), *draw.sample(f"{draw.random():.16f}", 6)]
        rows.append(
            {
                "id": f"t{k}",
                "text": " ".join([*words, *(["kestrel"] if high else [])]),
                "label": 90 * high + 5,
            }
        )
    return rows


@functools.cache
def composed(optimizer: str) -> dict[str, Any]:
    """The config of an optimisation, composed once: that takes longer than the optimisation."""
    return compose_config(
        [
            "model=patterns",
            "prompt=anchored_en",
            "analysis=none",
            "tracking=none",
            "dataset=texts",
            "dataset.path=x.jsonl",
            f"optimizer={optimizer}",
        ]
    )


@pytest.fixture
def optimise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """Run `optimizer=NAME` on the scripted model; the metrics of the run. `folder` and `model` may
    be given."""
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "tests")
    scripted.REQUESTS.clear()
    file = tmp_path / "texts.jsonl"
    put(file, texts(60))

    def run(
        optimizer: str,
        *overrides: str,
        folder: str = "outputs/a/b",
        rows: list[Any] | None = None,
        **model: Any,
    ) -> dict[str, Any]:
        if rows is not None:
            put(file, rows)
        config = copy.deepcopy(composed(optimizer))
        config["dataset"]["path"] = str(file)
        for override in overrides:
            key, _, value = override.lstrip("+").partition("=")
            *groups, last = key.split(".")
            functools.reduce(dict.__getitem__, groups, config)[last] = yaml.safe_load(
                value
            )
        config["model"] = {"_target_": "tests.optimize.scripted.Scripted", **model}
        run_experiment(config, CHOICES | {"optimizer": optimizer}, tmp_path / folder)
        return dict(
            json.loads((tmp_path / folder / "metrics.json").read_text(encoding="utf-8"))
        )

    return run

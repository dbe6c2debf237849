"""`probe`: a regression on the hidden states of the judged text. It never asks the model anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.errors import ConfigError
from undogmatic.models.base import Embeds, EmbedsPieces, Model, Pieces, View
from undogmatic.readouts.base import Readout, entropy_verdict, shown_text
from undogmatic.readouts.chat import served_model
from undogmatic.readouts.probe_file import Probe, load, rubric_digest, said_once
from undogmatic.records.records import Item, ScoreDistribution, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import data_folder
from undogmatic.stats.distribution import discretised_normal

if TYPE_CHECKING:
    from undogmatic.readouts.prompt import Prompt


class ProbeReadout(Readout):
    """Score, distribution and interval from the model's hidden states; the prompt variant plays no part.

    The score is the calibrated regression, clipped to the scale. The distribution is a normal of the held-out residual
    spread cut into the rubric's levels, with the score as its expectation. The interval adds held-out residual
    quantiles to the score; `probe.about` says what it is meant to cover and what it covered on held-out texts.

    Args:
        path: A probe file, or None for the one shipped for the rubric.
    """

    name = "probe"
    needs = "probe"
    uses_prompt = False

    def __init__(self, path: str | None = None) -> None:
        super().__init__()
        self.path = Path(path) if path is not None else None

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        path = self.path or shipped_probe(rubric)
        self.probe = fitting_probe(path, model, rubric)

    async def read(self, item: Item) -> Verdict:
        states = served_model()
        if not isinstance(states, Embeds):
            raise ConfigError(f"{states.name} gives no hidden states; a probe needs model=local.")
        features = await text_features(self.probe, states, shown_text(item, self.rubric))
        found = self.probe.estimate(features, self.rubric.minimum, self.rubric.maximum)
        probabilities = discretised_normal(found.score, found.sd, self.rubric.levels)
        distribution = ScoreDistribution(values=self.rubric.levels, probabilities=tuple(probabilities.tolist()))
        return entropy_verdict(
            distribution, score=found.score, interval=(found.low, found.high), raw_score=self.rubric.units(found.raw)
        )

    def fitted_on(self) -> frozenset[str]:
        return frozenset(self.probe.about.texts)

    def settings(self) -> dict[str, Any]:
        about = self.probe.about
        return super().settings() | {"probe": about.arrays, "views": [v.model_dump() for v in about.views]}


async def text_features(probe: Probe, states: Any, text: str) -> np.ndarray:
    """What the probe reads of a text in a model's hidden states, shape (n_features,)."""
    text = said_once(text) if probe.about.said_once else text
    if probe.sieve is None:
        return np.concatenate([await states.pooled(text, view) for view in probe.about.views])
    return probe.sieve.features(await text_pieces(states, text, probe.about.views))


async def text_pieces(states: Any, text: str, views: Sequence[View]) -> Pieces:
    """The pieces of a text, with the states of all views beside one another."""
    read = [await states.pieces(text, view) for view in views]
    return Pieces(read[0].tokens, np.hstack([each.states for each in read]))


def shipped_probe(rubric: Rubric) -> Path:
    """The probe file that ships for a rubric. Raises ConfigError if none does."""
    folder = data_folder() / "probes"
    path = folder / f"{rubric.name}.safetensors"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.safetensors"))) or "none"
        raise ConfigError(
            f"no probe ships for the rubric {rubric.name!r} (shipped: {known}). Fit one on texts labelled by it: "
            "undogmatic probe fit --data FILE --out FILE.safetensors rubric=..., then readout=probe "
            "readout.path=FILE.safetensors; or ask the model itself: readout=logprobs."
        )
    return path


def fitting_probe(path: Path, model: Model, rubric: Rubric) -> Probe:
    """Load a probe and check that it was fitted on this model and this rubric's scale. Raises ConfigError."""
    probe = load(path)
    about = probe.about
    found = model.sha256
    if found is None or not isinstance(model, Embeds):
        raise ConfigError(f"{model.name} gives no hidden states; a probe needs model=local.")
    again = (
        f"Fit one for it: undogmatic probe fit --out FILE.safetensors, then readout.path=FILE.safetensors (now {path})."
    )
    if about.model_sha256 != found:
        raise ConfigError(
            f"the probe was fitted on a model with SHA-256 {about.model_sha256[:12]} ({about.model}), and this model "
            f"({model.name}) has {found[:12]}. {again}"
        )
    if probe.sieve is not None and not isinstance(model, EmbedsPieces):
        raise ConfigError(f"{model.name} gives no hidden states of a text's pieces, which this probe reads. {again}")
    if about.rubric != rubric.name:
        raise ConfigError(
            f"the probe was fitted for the rubric {about.rubric!r}, and this run uses {rubric.name!r}. {again}"
        )
    if about.rubric_digest != rubric_digest(rubric):
        raise ConfigError(
            f"the scale of the rubric {rubric.name!r} is another than when the probe was fitted (digest "
            f"{about.rubric_digest[:12]}, now {rubric_digest(rubric)[:12]}). {again}"
        )
    return probe

"""`probe`: a regression on the hidden states of the judged text, which never asks the model
anything.

A probe is plain arrays in a safetensors file, with one JSON record beside them (`load`, `save`);
`fit.probe` makes one.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from undogmatic.errors import ConfigError
from undogmatic.models import fitted
from undogmatic.models.base import Embeds, EmbedsPieces, Model, Pieces, View
from undogmatic.models.fitted import KERNEL_AXES, Calibration, Regression, rubric_digest
from undogmatic.models.language_model import served_model
from undogmatic.readouts.base import Readout, normal_verdict, written_text
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.folding import Folding
from undogmatic.records.records import Item, Record, Verdict, digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import data_folder

FORMAT = 1
SMOOTHING = 0.3
KEPT = 1 / 3
_REPEATED = re.compile(r"(?<!\S)(\S+(?:\s+\S+){0,11}?)(?:\s+\1){2,}(?!\S)")


def said_once(text: str) -> str:
    """The text with every passage of at most twelve words that is said three times or more in a row
    said once. A probe averages over all tokens of a text, so that a grade said twenty times would
    be most of what it reads.
    """
    return _REPEATED.sub(r"\1", text)


def as_read(text: str, folding: Folding | None, once: bool) -> str:
    """The text as a probe reads it that was fitted with this folding, and with what is repeated
    said once or not."""
    folded = text if folding is None else folding.read(text)
    return said_once(folded) if once else folded


class About(Record):
    """Where a probe comes from and what it reached on texts of held-out authors."""

    format: int
    rubric: str
    rubric_digest: str
    model: str
    model_sha256: str
    # the feature vector is their pooled states, one after another
    views: tuple[View, ...]
    penalty: float  # ridge penalty of the regression
    labels: str  # digest of ids, texts and labels it was fitted on
    texts: tuple[str, ...]  # marks of the texts it was fitted on, sorted
    n: int
    authors: tuple[str, ...]
    held_out: str  # how texts were held out for `figures` and for the residuals
    # cross-validated: spearman, mean_absolute_error, coverage and width of the interval
    figures: dict[str, float]
    coverage: float  # what the interval is meant to cover
    versions: dict[str, str]
    # how many copies of these texts, with other text put into them, it was also fitted on
    injected: int = 0
    # whether a passage said three times or more in a row is read once (`said_once`)
    said_once: bool = False
    # how it reads a text; None: as it was written, as probes did before there was any
    folding: Folding | None = None
    arrays: str = ""  # digest of the arrays, against damage


class Sieve(NamedTuple):
    """Weighs the pieces of a text (`models.base.cut`) by how likely they are its own and not put
    into it.

    A logistic regression on the states of a piece and on their mean over the whole text. Its log
    odds are smoothed over neighbouring pieces, because what is put in seldom is a single piece.
    """

    # one weight per feature for the states of the piece, shape (n_features,)
    piece: np.ndarray
    whole: np.ndarray  # and for those of the whole text, shape (n_features,)
    offset: np.ndarray  # shape (1,)

    def features(self, read: Pieces) -> np.ndarray:
        """The mean states of the text over its own tokens, shape (n_features,)."""
        return np.average(
            read.states.astype(np.float64),
            axis=0,
            weights=read.tokens * self.weights(read),
        )

    def weights(self, read: Pieces) -> np.ndarray:
        """Share of each piece's tokens that counts, shape (n_pieces,); KEPT of the text always
        counts."""
        states = read.states.astype(np.float64)
        odds = (
            states @ self.piece
            + np.average(states, axis=0, weights=read.tokens) @ self.whole
            + self.offset[0]
        )
        for _ in range(2):
            before = np.append(odds[:1], odds[:-1])
            after = np.append(odds[1:], odds[-1:])
            odds = (1 - SMOOTHING) * odds + SMOOTHING * (before + after) / 2
        weights = special.expit(odds)
        order = np.argsort(-odds, kind="stable")
        reached = np.cumsum(read.tokens[order]) / read.tokens.sum()
        weights[order[: np.searchsorted(reached, KEPT) + 1]] = 1.0
        return np.asarray(weights)


class ProbeScore(NamedTuple):
    """What a probe says about one text, in the rubric's units. `raw` is the regression's value
    before calibration."""

    score: float
    interval: tuple[float, float]
    sd: float
    raw: float


KIND = fitted.Kind(
    what="probe",
    option="readout.path",
    make="undogmatic probe fit",
    record=About,
    format=FORMAT,
    axes=KERNEL_AXES | {"piece": "f", "whole": "f", "offset": "1"},
    sets=(Regression._fields, (*Regression._fields, *Sieve._fields)),
)


class Probe(NamedTuple):
    """A fitted probe; one that was fitted without copies has no sieve, and reads the mean over all
    tokens."""

    about: About
    regression: Regression
    calibration: Calibration
    sieve: Sieve | None = None

    def estimate(
        self, features: np.ndarray, minimum: float, maximum: float
    ) -> ProbeScore:
        """Features of one text, shape (n_features,), to a score within [minimum, maximum] and its
        interval."""
        raw = self.regression.raw(features[None])
        score, low, high, sd = self.calibration.placed(raw, (minimum, maximum)).first()
        return ProbeScore(score, (low, high), sd, float(raw[0]))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything fitted, by its name in the file, in the types of the file."""
        return fitted.in_types(
            self.calibration,
            self.regression,
            *([] if self.sieve is None else [self.sieve]),
        )


def save(probe: Probe, path: Path) -> None:
    """Write the file; the same probe gives the same bytes."""
    fitted.save(KIND, probe.about, probe.arrays(), path)


def load(path: Path) -> Probe:
    """Read and check a probe file. Raises ConfigError for one that is missing, not a probe, of
    another format, damaged, or holds wrong shapes or numbers."""
    about, arrays = fitted.load(KIND, path)
    return Probe(
        about,
        Regression(*(arrays[name] for name in Regression._fields)),
        fitted.calibration(arrays),
        Sieve(*(arrays[name] for name in Sieve._fields))
        if "offset" in arrays
        else None,
    )


class ProbeReadout(Readout):
    """Score, distribution and interval from the model's hidden states; the prompt variant plays no
    part.

    The score is the calibrated regression, clipped to the scale. The distribution is a normal of
    the held-out residual spread cut into the rubric's levels, with the score as its expectation.
    The interval adds held-out residual quantiles to the score; `probe.about` says what it is meant
    to cover and what it covered on held-out texts. Without a `path` the probe is the one that ships
    for the rubric.
    """

    name = "probe"
    needs = "probe"
    uses_prompt = False

    def __init__(self, path: str | None = None) -> None:
        super().__init__()
        self.path = Path(path) if path is not None else None

    def bind(self, model: Model, prompt: Prompt, rubric: Rubric) -> None:
        super().bind(model, prompt, rubric)
        self.probe = fitting_probe(self.path or shipped_probe(rubric), model, rubric)
        about = self.probe.about
        folding = [] if about.folding is None else [digest(about.folding.model_dump())]
        self.contents = {
            "path": [
                about.arrays,
                [view.model_dump() for view in about.views],
                *folding,
            ]
        }

    async def read(self, item: Item) -> Verdict:
        states = served_model()
        if not isinstance(states, Embeds):
            raise ConfigError(
                f"{states.name} gives no hidden states; a probe needs model=local."
            )
        features = await text_features(
            self.probe, states, written_text(item, self.rubric)
        )
        score, interval, sd, raw = self.probe.estimate(
            features, self.rubric.minimum, self.rubric.maximum
        )
        return normal_verdict(
            self.rubric, score, sd, interval=interval, raw_score=self.rubric.units(raw)
        )

    def fitted_on(self) -> frozenset[str]:
        return frozenset(self.probe.about.texts)


async def text_features(probe: Probe, states: Any, text: str) -> np.ndarray:
    """What the probe reads of a text in a model's hidden states, shape (n_features,)."""
    text = as_read(text, probe.about.folding, probe.about.said_once)
    if probe.sieve is None:
        return np.concatenate(
            [await states.pooled(text, view) for view in probe.about.views]
        )
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
        known = (
            ", ".join(sorted(p.stem for p in folder.glob("*.safetensors"))) or "none"
        )
        raise ConfigError(
            f"no probe ships for the rubric {rubric.name!r} (shipped: {known}). Fit one on texts"
            " labelled by it: undogmatic probe fit --data FILE --out FILE.safetensors rubric=...,"
            " then readout=probe readout.path=FILE.safetensors; or ask the model itself:"
            " readout=logprobs."
        )
    return path


def fitting_probe(path: Path, model: Model, rubric: Rubric) -> Probe:
    """Load a probe and check that it was fitted on this model and this rubric's scale. Raises
    ConfigError."""
    probe = load(path)
    about, sha256, scale = probe.about, model.sha256, rubric_digest(rubric)
    if sha256 is None or not isinstance(model, Embeds):
        raise ConfigError(
            f"{model.name} gives no hidden states; a probe needs model=local."
        )
    if about.model_sha256 != sha256:
        problem = (
            f"the probe was fitted on a model with SHA-256 {about.model_sha256[:12]}"
            f" ({about.model}), and this model ({model.name}) has {sha256[:12]}"
        )
    elif probe.sieve is not None and not isinstance(model, EmbedsPieces):
        problem = f"{model.name} gives no hidden states of a text's pieces, which this probe reads"
    elif about.rubric != rubric.name:
        problem = (
            f"the probe was fitted for the rubric {about.rubric!r}, and this run uses"
            f" {rubric.name!r}"
        )
    elif about.rubric_digest != scale:
        problem = (
            f"the scale of the rubric {rubric.name!r} is another than when the probe was fitted"
            f" (digest {about.rubric_digest[:12]}, now {scale[:12]})"
        )
    else:
        return probe
    again = (
        "Fit one for it: undogmatic probe fit --out FILE.safetensors, then"
        " readout.path=FILE.safetensors"
    )
    raise ConfigError(f"{problem}. {again} (now {path}).")

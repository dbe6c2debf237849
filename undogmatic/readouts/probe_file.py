"""What a probe is, and how it is kept: plain arrays in a safetensors file, with one JSON record beside them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import ValidationError

from undogmatic.config import explain
from undogmatic.errors import ConfigError
from undogmatic.models.views import View
from undogmatic.records import Record, Rubric, digest

FORMAT = 1
KEY = "probe"
_NAMES = ("mean", "scale", "weights", "bias", "raw_knots", "score_knots", "score_bins", "low", "high", "spread")


class About(Record):
    """Where a probe comes from and what it reached on texts of held-out authors.

    Attributes:
        views: The feature vector is their pooled states, one after another.
        penalty: Ridge penalty per feature.
        labels: Digest of ids, texts and labels it was fitted on.
        held_out: How texts were held out for `figures` and for the residuals.
        figures: Cross-validated: spearman, mean_absolute_error, coverage (of the interval), width (its mean).
        coverage: What the interval is meant to cover.
        arrays: Digest of the arrays, against damage.
    """

    format: int
    rubric: str
    rubric_digest: str
    model: str
    model_sha256: str
    views: tuple[View, ...]
    penalty: float
    labels: str
    n: int
    authors: tuple[str, ...]
    held_out: str
    figures: dict[str, float]
    coverage: float
    versions: dict[str, str]
    arrays: str = ""


class Estimate(NamedTuple):
    """What a probe says about one text, in the rubric's units. `raw` is the regression's value before calibration."""

    score: float
    low: float
    high: float
    sd: float
    raw: float


class Arrays(NamedTuple):
    """The fitted numbers, float64.

    Shapes: `mean`, `scale`, `weights` (n_features,); `bias` (1,); `raw_knots`, `score_knots` (n_knots,), both ascending;
    `score_bins` (n_bins,) ascending scores at which `low`, `high` (held-out residual quantiles, label minus score) and
    `spread` (held-out residual standard deviation) hold; in between they are interpolated.
    """

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    raw_knots: np.ndarray
    score_knots: np.ndarray
    score_bins: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray


class Probe(NamedTuple):
    """A fitted probe."""

    about: About
    arrays: Arrays

    def estimate(self, features: np.ndarray, minimum: float, maximum: float) -> Estimate:
        """Features of one text, shape (n_features,), to a score within [minimum, maximum] and its interval."""
        a = self.arrays
        raw = float(((features - a.mean) / a.scale) @ a.weights + a.bias[0])
        score = float(np.clip(np.interp(raw, a.raw_knots, a.score_knots), minimum, maximum))
        low, high, sd = (float(np.interp(score, a.score_bins, values)) for values in (a.low, a.high, a.spread))
        # Residuals near an end can lie all on one side; the score itself stays inside its interval.
        return Estimate(score, max(minimum, min(score, score + low)), min(maximum, max(score, score + high)), sd, raw)


def rubric_digest(rubric: Rubric) -> str:
    """What must not change between fitting and using: the scale, not the words (the probe never sees them)."""
    return digest([rubric.name, rubric.minimum, rubric.maximum, list(rubric.levels), rubric.direction])


def save(probe: Probe, path: Path) -> None:
    """Write the file; the same probe gives the same bytes."""
    from safetensors.numpy import save_file

    arrays = {name: np.ascontiguousarray(value, dtype=np.float64) for name, value in probe.arrays._asdict().items()}
    about = probe.about.model_copy(update={"arrays": _digest(arrays)})
    path.parent.mkdir(parents=True, exist_ok=True)
    # One metadata key: safetensors writes several in the order of a hash map, which changes from run to run.
    save_file(arrays, path, {KEY: about.model_dump_json()})


def load(path: Path) -> Probe:
    """Read and check a probe file.

    Raises:
        ConfigError: It is missing, not a probe, of another format, damaged, or holds wrong shapes or numbers.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ConfigError(f"`readout.path` is '{path}', which does not exist. Fit one: undogmatic probe fit --out {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} is not a safetensors file ({error}). {_AGAIN}") from None
    if KEY not in metadata:
        raise ConfigError(f"{path} is not a probe: its metadata lacks `{KEY}`. {_AGAIN}")
    try:
        about = About.model_validate_json(metadata[KEY])
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, KEY)}\n{_AGAIN}") from None
    if about.format != FORMAT:
        raise ConfigError(f"{path} has format {about.format}; this version reads format {FORMAT}. {_AGAIN}")
    problem = _problem(found)
    if problem is None and about.arrays != _digest(found):
        problem = f"its arrays do not match their digest (written {about.arrays[:12]}, found {_digest(found)[:12]})"
    if problem is not None:
        raise ConfigError(f"{path} is damaged: {problem}. {_AGAIN}")
    return Probe(about, Arrays(**found))


_AGAIN = "Fit it again: undogmatic probe fit."


def _problem(found: dict[str, np.ndarray]) -> str | None:
    if set(found) != set(_NAMES):
        return f"it holds the arrays {', '.join(sorted(found))}; expected {', '.join(_NAMES)}"
    for name, value in found.items():
        if value.dtype != np.float64 or value.ndim != 1 or value.size == 0:
            return f"`{name}` has type {value.dtype} and shape {value.shape}; expected float64 and one dimension"
        if not np.isfinite(value).all():
            return f"`{name}` holds a value that is not finite"
    for group in (("mean", "scale", "weights"), ("raw_knots", "score_knots"), ("score_bins", "low", "high", "spread")):
        sizes = {name: found[name].size for name in group}
        if len(set(sizes.values())) != 1:
            return "these differ in length: " + ", ".join(f"`{name}` {size}" for name, size in sizes.items())
    if found["bias"].size != 1 or (found["scale"] <= 0).any() or (found["spread"] < 0).any():
        return "`bias` must hold one number, `scale` positive ones and `spread` none below 0"
    if any((np.diff(found[name]) < 0).any() for name in ("raw_knots", "score_knots", "score_bins")):
        return "`raw_knots`, `score_knots` and `score_bins` must ascend"
    return None


def _digest(arrays: dict[str, np.ndarray]) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        whole.update(f"{name}{arrays[name].shape}".encode())
        whole.update(np.ascontiguousarray(arrays[name]).tobytes())
    return whole.hexdigest()

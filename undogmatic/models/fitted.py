"""Saves and loads what was fitted on texts: named arrays in a safetensors file, with one JSON
record beside them.

A probe (`readouts.probe`) and a student (`models.distilled`) are such files, and share the map from
a raw score to the scale.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError
from scipy import special

from undogmatic.errors import ConfigError
from undogmatic.records.problems import explain
from undogmatic.records.records import Record, digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety import files
from undogmatic.safety.outside import Unreadable, brief, json_value, opened

HEADER_BYTES = 20_000_000
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    TypeError,
    ValueError,
)


class Placed(NamedTuple):
    """Scores on a scale, their intervals, and the spread of the labels around them."""

    scores: np.ndarray
    limits: np.ndarray  # lower and upper, shape (2, n)
    sd: np.ndarray

    def first(self) -> tuple[float, float, float, float]:
        """Score, both limits and spread of the first."""
        low, high = self.limits[:, 0]
        return float(self.scores[0]), float(low), float(high), float(self.sd[0])


class Calibration(NamedTuple):
    """From the raw score to the scale, learnt on held-out texts."""

    # of the monotone map, linear in between, shape (n_knots,), ascending
    raw_knots: np.ndarray
    score_knots: np.ndarray  # where it leads from these, shape (n_knots,), ascending
    # ascending scores at which the following three hold; in between they are interpolated
    score_bins: np.ndarray
    # lower limit of the interval, relative to the score; `low` in the file
    below: np.ndarray
    # upper limit of the interval, relative to the score; `high` in the file
    above: np.ndarray
    spread: np.ndarray  # root mean square of label minus score

    def placed(self, raw: np.ndarray, ends: tuple[float, float]) -> Placed:
        """Raw scores, shape (n,), on the scale between `ends`, each with its interval; a score that
        is beyond them is at them. Residuals near an end can lie all on one side: the score itself
        stays inside its interval.
        """
        scores = np.clip(np.interp(raw, self.raw_knots, self.score_knots), *ends)
        below, above, sd = (
            np.interp(scores, self.score_bins, own)
            for own in (self.below, self.above, self.spread)
        )
        low = np.minimum(scores, scores + below)
        high = np.maximum(scores, scores + above)
        return Placed(scores, np.clip([low, high], *ends), sd)


class Regression(NamedTuple):
    """Ordinal kernel ridge regression on the main directions of the features.

    For each of several thresholds it predicts whether the label lies above; each prediction is
    sharpened by a logistic curve, and their mean, between 0 and 1, is the raw score: the expected
    rank of the text among the fitted ones.
    """

    mean: np.ndarray  # of the features, shape (n_features,)
    scale: np.ndarray  # of the features, shape (n_features,)
    # main directions of the standardised features, (n_components, n_features), half precision;
    components: np.ndarray
    # where they are given in single precision, it is calculated in it
    # the fitted texts in these directions, shape (n, n_components), half precision
    supports: np.ndarray
    # one weight per fitted text and threshold, shape (n, n_thresholds)
    dual: np.ndarray
    # share of labels above each threshold, (n_thresholds,); predicted far from every fitted text
    bias: np.ndarray
    decay: np.ndarray  # shape (1,); the kernel is exp(-decay x squared distance)
    steepness: np.ndarray  # of the logistic curve, shape (1,)

    def raw(self, features: np.ndarray) -> np.ndarray:
        """Features (n, n_features) -> raw scores (n,) in (0, 1)."""
        components = (
            self.components
            if self.components.dtype == np.float32
            else self.components.astype(np.float64)
        )
        standard = (features - self.mean) / self.scale
        rows = (standard.astype(components.dtype) @ components.T).astype(np.float64)
        supports = self.supports.astype(np.float64, copy=False)
        above = kernel(rows, supports, self.decay[0]) @ self.dual + self.bias
        return np.asarray(special.expit(self.steepness[0] * (above - 0.5)).mean(axis=1))


def kernel(a: np.ndarray, b: np.ndarray, decay: float) -> np.ndarray:
    """Gaussian kernel between rows: (n, k) and (m, k) -> (n, m)."""
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2 * a @ b.T
    return np.asarray(np.exp(-decay * np.maximum(squared, 0)))


KERNEL_AXES = {
    "components": "cf",
    "dual": "nt",
    "supports": "nc",
    "bias": "t",
    "decay": "1",
    "steepness": "1",
}
KERNEL_AXES |= {"mean": "f", "scale": "f"}
"""The arrays of a `Regression` and the letters of their axes (see `Kind.axes`)."""
_HALVES, _POSITIVE = ("components", "supports"), ("scale", "decay")
_CALIBRATION = ("raw_knots", "score_knots", "score_bins", "low", "high", "spread")
"""The fields of `Calibration` by their names in the file."""
_AXES = dict.fromkeys(_CALIBRATION[:2], "k") | dict.fromkeys(_CALIBRATION[2:], "b")


class Kind(NamedTuple):
    """What is in the files of one kind beside a calibration, and how messages speak of them."""

    what: str  # its name, which is also the key of its record in the file
    option: str  # the key of the config that names such a file
    make: str  # the command that makes one
    # what is told of it; it has `format`, and `arrays` for the digest of the arrays
    record: type[Record]
    format: int
    # the arrays, and the letter of each of their axes: those of one letter are equally long
    axes: Mapping[str, str]
    sets: tuple[tuple[str, ...], ...]  # which of them a file holds together


def _type(name: str) -> type:
    """The type of an array in the file."""
    return np.float16 if name in _HALVES else np.float64


def rubric_digest(rubric: Rubric) -> str:
    """What must not change between fitting and using: the scale, not the words (the probe never
    sees them)."""
    return digest(
        [
            rubric.name,
            rubric.minimum,
            rubric.maximum,
            list(rubric.levels),
            rubric.direction,
        ]
    )


def in_types(calibration: Calibration, *parts: Any) -> dict[str, np.ndarray]:
    """The arrays of a calibration and of other named tuples, by their names in the file and in its
    types."""
    named = dict(zip(_CALIBRATION, calibration, strict=True))
    for part in parts:
        named |= part._asdict()
    return {
        name: np.ascontiguousarray(value, dtype=_type(name))
        for name, value in named.items()
    }


def calibration(arrays: Mapping[str, np.ndarray]) -> Calibration:
    """The calibration among the arrays of a file."""
    return Calibration(*(arrays[name] for name in _CALIBRATION))


def save(kind: Kind, about: Any, arrays: dict[str, np.ndarray], path: Path) -> None:
    """Write the file; the same contents give the same bytes."""
    from safetensors.numpy import save as as_bytes

    about = about.model_copy(update={"arrays": _digest(arrays)})
    # One metadata key: safetensors writes several in the order of a hash map, which changes from
    # run to run.
    files.write_bytes(
        path, as_bytes(arrays, {kind.what: about.model_dump_json()}), files.ALL
    )


def load(kind: Kind, path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """Read and check a file: its record and its arrays. Raises ConfigError for one that is missing,
    of another kind or format, damaged, or holds wrong shapes or numbers."""
    from safetensors import SafetensorError, safe_open

    again, axes = f"Fit it again: {kind.make}.", {**kind.axes, **_AXES}
    if not path.exists():
        raise ConfigError(
            f"`{kind.option}` is '{path}', which does not exist. Fit one: {kind.make} --out {path}"
        )
    with opened(path) as start:
        header = int.from_bytes(start.read(8), "little")
        if header > min(HEADER_BYTES, os.fstat(start.fileno()).st_size):
            raise ConfigError(
                f"{path} is not a safetensors file (a header of {header:,} bytes). {again}"
            )
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            there = set(file.keys())  # the file is no mapping
            arrays = {name: file.get_tensor(name) for name in axes if name in there}
            # named, not read
            arrays |= dict.fromkeys(there - axes.keys(), np.empty(0))
    except (SafetensorError, *_UNREADABLE) as error:
        raise ConfigError(
            f"{path} is not a safetensors file ({str(error)[:200]}). {again}"
        ) from None
    if kind.what not in metadata:
        raise ConfigError(
            f"{path} is not a {kind.what}: its metadata lacks `{kind.what}`. {again}"
        )
    try:
        about: Any = kind.record.model_validate(json_value(metadata[kind.what]))
    except (Unreadable, ValidationError) as error:
        why = (
            f"{explain(error, kind.what)}\n"
            if isinstance(error, ValidationError)
            else f"its metadata is {error}. "
        )
        raise ConfigError(f"{path}: {why}{again}") from None
    if about.format != kind.format:
        raise ConfigError(
            f"{path} has format {about.format}; this version reads format {kind.format}. {again}"
        )
    if (problem := next(_problems(kind, axes, arrays, about), None)) is not None:
        raise ConfigError(f"{path} is damaged: {problem}. {again}")
    return about, arrays


def _problems(
    kind: Kind, axes: Mapping[str, str], arrays: dict[str, np.ndarray], about: Any
) -> Iterator[str]:
    """What is wrong with the arrays of a file; what comes after the first relies on that not being
    so."""
    if all(set(arrays) != {*own, *_CALIBRATION} for own in kind.sets):
        needed = ", ".join((*kind.sets[0], *_CALIBRATION))
        yield f"it holds the arrays {brief(', '.join(sorted(arrays)))}; expected {needed}"
    for name, value in arrays.items():
        dimensions, own = len(axes[name]), _type(name)
        if value.dtype != own or value.ndim != dimensions or value.size == 0:
            yield (
                f"`{name}` has type {value.dtype} and shape {value.shape}; expected {np.dtype(own)}"
                f" and {dimensions} dimension(s)"
            )
        if not np.isfinite(value).all():
            yield f"`{name}` holds a value that is not finite"
    lengths = {"1": 1}
    for name, value in arrays.items():
        shape = tuple(
            lengths.setdefault(axis, n)
            for axis, n in zip(axes[name], value.shape, strict=True)
        )
        if value.shape != shape:
            yield f"`{name}` has shape {value.shape}; the other arrays need {shape}"
    if (
        any((arrays[name] <= 0).any() for name in _POSITIVE if name in arrays)
        or (arrays["spread"] < 0).any()
    ):
        yield "`scale` and `decay` must be positive, and `spread` not negative"
    if any((np.diff(arrays[name]) < 0).any() for name in _CALIBRATION[:3]):
        yield "`raw_knots`, `score_knots` and `score_bins` must ascend"
    if about.arrays != (there := _digest(arrays)):
        yield (
            f"its arrays do not match their digest (written {about.arrays[:12]}, found"
            f" {there[:12]})"
        )


def _digest(arrays: dict[str, np.ndarray]) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        whole.update(f"{name}{arrays[name].shape}".encode())
        whole.update(np.ascontiguousarray(arrays[name]).tobytes())
    return whole.hexdigest()

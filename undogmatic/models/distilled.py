"""Judges texts by a student: a regression on embeddings that was fitted to another judge's scores
(`fit.student`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.config.build import build, resolve
from undogmatic.errors import ConfigError, UnfitInput
from undogmatic.models import fitted
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.models.embeddings import Embeddings
from undogmatic.models.fitted import Calibration, Placed, rubric_digest
from undogmatic.records.folding import Folding
from undogmatic.records.records import Record
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import without_halves
from undogmatic.safety.paths import cache_folder

Array = NDArray[np.float64]
FORMAT = 1


class About(Record):
    """Where a student comes from and what it reached on texts that it was not fitted to."""

    format: int
    rubric: str
    rubric_digest: str
    scale: tuple[float, float]
    teacher: str  # judge and model
    teacher_digest: str  # of the ids of the texts and what the teacher said of them
    embeddings: dict[str, Any]  # the config that makes them
    embeddings_name: str
    embeddings_digest: str
    method: Literal["ridge", "elastic net", "kernel ridge"]
    penalty: float
    texts: tuple[str, ...]  # marks of the texts that it was fitted to, sorted
    n: int
    held_out: str  # how texts were held out for `figures` and the intervals
    # whose scores the intervals are to cover
    intervals_of: Literal["people", "teacher"]
    coverage: float
    figures: dict[str, float]
    versions: dict[str, str]
    folding: Folding | None = None  # how it reads a text; None: as it was written
    arrays: str = ""  # digest of the arrays, against damage


class Linear(NamedTuple):
    """What is linear in the embeddings; its raw score is in units of the rubric's scale."""

    weights: np.ndarray  # shape (width,)
    offset: np.ndarray  # shape (1,)

    def raw(self, features: np.ndarray) -> Array:
        """Vectors (n, width) -> raw scores (n,)."""
        return np.asarray(features.astype(np.float64) @ self.weights + self.offset[0])


KIND = fitted.Kind(
    what="student",
    option="model.path",
    make="undogmatic distill RUN",
    record=About,
    format=FORMAT,
    axes=fitted.KERNEL_AXES | {"weights": "f", "offset": "1"},
    sets=(Linear._fields, fitted.Regression._fields),
)


@dataclass(frozen=True)
class Student:
    """A fitted student with its embeddings."""

    about: About
    regression: Linear | fitted.Regression
    calibration: Calibration
    embeddings: Embeddings

    @classmethod
    def load(cls, path: str | Path, cache: bool = True) -> Student:
        """Read a student's file and make its embeddings, whose vectors are kept on disk with
        `cache`.

        Raises:
            ConfigError: The file is missing, damaged or no student's, or the embeddings are not
                those it was fitted on.
        """
        file = Path(path).expanduser()
        about, arrays = fitted.load(KIND, file)
        kind: Any = Linear if "weights" in arrays else fitted.Regression
        made = cls(
            about,
            kind(*(_unpacked(name, arrays[name]) for name in kind._fields)),
            fitted.calibration(arrays),
            embeddings_of(about.embeddings, f"{file}: embeddings"),
        )
        if (now := made.embeddings.digest) != about.embeddings_digest:
            fitted_on = (
                f"{about.embeddings_name} (digest {about.embeddings_digest[:12]})"
            )
            raise ConfigError(
                f"{file} was fitted on the embeddings {fitted_on}, and those here are"
                f" {made.embeddings.name} (digest {now[:12]}). Install the package and the model"
                " that it was fitted with, or fit it again: undogmatic distill RUN."
            )
        if cache:
            made.embeddings.connect(Gateway(ReplyCache(cache_folder() / "replies")))
        return made

    def save(self, path: Path) -> None:
        """Write the file; the same student gives the same bytes."""
        fitted.save(
            KIND, self.about, fitted.in_types(self.calibration, self.regression), path
        )

    def check(self, rubric: Rubric, where: str = "this student") -> None:
        """Raise ConfigError if it was fitted for another rubric, or for another scale of this
        one."""
        about = self.about
        if about.rubric == rubric.name and about.rubric_digest == rubric_digest(rubric):
            return
        what = f"the rubric {about.rubric!r}, and this run uses {rubric.name!r}"
        if about.rubric == rubric.name:
            what = f"another scale of the rubric {rubric.name!r} than it has now"
        raise ConfigError(
            f"{where} was fitted for {what}. Fit one on a run with it: undogmatic distill RUN."
        )

    def score(self, texts: Sequence[str]) -> Array:
        """The scores of texts, shape (n,), in units of the rubric's scale; NaN for what is blank or
        no text."""
        return self.placed(texts).scores

    def placed(self, texts: Sequence[str]) -> Placed:
        """The scores of texts with their intervals; NaN for what is blank or no text."""
        read = [
            n for n, text in enumerate(texts) if isinstance(text, str) and text.strip()
        ]
        found = Placed(
            *(
                np.full(shape, np.nan)
                for shape in (len(texts), (2, len(texts)), len(texts))
            )
        )
        if read:
            folding = self.about.folding
            as_read = [without_halves(texts[n]) for n in read]
            as_read = as_read if folding is None else list(map(folding.read, as_read))
            raw = self.regression.raw(self.embeddings.vectors(as_read))
            for whole, own in zip(
                found, self.calibration.placed(raw, self.about.scale), strict=True
            ):
                whole[..., read] = own
        return found


def _unpacked(name: str, array: np.ndarray) -> np.ndarray:
    """An array of the file in the type in which it is calculated, converted once and not for every
    text."""
    return array.astype(np.float32 if name == "components" else np.float64)


def embeddings_of(node: Mapping[str, Any], key: str) -> Embeddings:
    """The embeddings that a config describes. Raises ConfigError for what describes none."""
    resolve(node.get("_target_"), key, Embeddings)
    made: Embeddings = build(node, key)
    return made


class DistilledModel(Model):
    """A student as a model.

    Args:
        path: The student's file, as `undogmatic distill` writes it.
    """

    readouts = ("student",)

    def __init__(self, path: str) -> None:
        self.student = Student.load(path, cache=False)
        about = self.student.about
        self.name = f"student-{about.arrays[:12]}"
        self.path = path
        self.rubric = about.rubric
        self.fitted_on = frozenset(about.texts)
        self.licence = self.student.embeddings.licence

    def connect(self, gateway: Gateway) -> None:
        super().connect(gateway)
        self.student.embeddings.connect(gateway)

    async def estimate(self, text: str) -> tuple[float, float, float, float]:
        """The score of a text, both ends of its interval, and the spread around it. Raises
        UnfitInput for a blank."""
        placed = await asyncio.to_thread(self.student.placed, [text])
        score, low, high, sd = placed.first()
        if np.isnan(score):
            raise UnfitInput("the text is blank, so that there is nothing to judge")
        return score, low, high, sd

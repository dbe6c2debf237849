"""Fitting what weighs the pieces of a text, from texts and copies in which it is known what was put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from undogmatic.models.base import Pieces, cut
from undogmatic.readouts.probe import Sieve

COMPONENTS = 128
PENALTY = 30.0
DOUBT = 2.0  # taken from the log odds that a piece belongs to the text
FOLDS = 5


class Basis(NamedTuple):
    """The main directions of the pieces' states, shape (n_features, n_directions), from their mean, (n_features,)."""

    mean: np.ndarray
    directions: np.ndarray

    def rows(self, read: Pieces) -> np.ndarray:
        """What each piece is, and how it differs from the whole text; shape (n_pieces, 2 * n_directions)."""
        alone = (read.states.astype(np.float64) - self.mean) @ self.directions
        return np.hstack([alone, alone - np.average(alone, axis=0, weights=read.tokens)])


def find_basis(readings: Sequence[Pieces]) -> Basis:
    """The directions are scaled so that the pieces spread alike in each of them."""
    states = np.concatenate([read.states for read in readings]).astype(np.float64)
    mean, scale = states.mean(axis=0), states.std(axis=0) + 1e-6
    standard = (states - mean) / scale
    n, width = standard.shape
    values, directions = linalg.eigh(standard.T @ standard, subset_by_index=(max(0, width - COMPONENTS), width - 1))
    kept = values > 1e-8 * values[-1]
    return Basis(mean, directions[:, kept] / np.sqrt(values[kept] / n) / scale[:, None])


def fit_sieve(basis: Basis, rows: np.ndarray, foreign: np.ndarray) -> Sieve:
    """Logistic regression of "this piece belongs to the text".

    Args:
        basis: What the rows were made with.
        rows: Of pieces (`Basis.rows`), shape (n, 2 * n_directions).
        foreign: The share of each piece that was put in, shape (n,); pieces of both kinds are left out.
    """
    from sklearn.linear_model import LogisticRegression

    clear = (foreign < 0.2) | (foreign > 0.8)
    model = LogisticRegression(C=1 / PENALTY, max_iter=500).fit(rows[clear], foreign[clear] < 0.5)
    alone, beside = np.split(model.coef_[0], 2)
    piece, whole = basis.directions @ (alone + beside), -basis.directions @ beside
    return Sieve(piece, whole, np.array([model.intercept_[0] - basis.mean @ (piece + whole) - DOUBT]))


class Sifted(NamedTuple):
    """A sieve fitted on all texts, and features by sieves that have not seen them, shape (n_texts, n_features) each."""

    sieve: Sieve
    texts: np.ndarray
    copies: np.ndarray


def sift(own: Sequence[Pieces], copied: Sequence[Pieces], foreign: Sequence[np.ndarray], folds: np.ndarray) -> Sifted:
    """Fits a sieve, and gives the features of texts and copies by sieves that were fitted without them.

    Args:
        own, copied: The texts and a copy of each, as they were read.
        foreign: The share of each piece of the copies that was put in, shape (n_pieces,) per copy.
        folds: One code per text, shape (n_texts,); every fifth code is left out together.
    """
    readings = [*own, *copied]
    basis = find_basis(readings)
    rows = np.vstack([basis.rows(read) for read in readings])
    share = np.concatenate([*(np.zeros(len(read.tokens)) for read in own), *foreign])
    turns = np.tile(folds % FOLDS, 2)
    of_pieces = np.repeat(turns, [len(read.tokens) for read in readings])
    sieves = {}
    for turn in np.unique(turns).tolist():
        seen = of_pieces != turn
        sieves[turn] = fit_sieve(basis, rows[seen], share[seen])
    features = np.stack([sieves[turn].features(read) for turn, read in zip(turns.tolist(), readings, strict=True)])
    return Sifted(fit_sieve(basis, rows, share), features[: len(own)], features[len(own) :])


def put_in(text: str, copy: str) -> np.ndarray:
    """The share of each piece of the copy that does not come from the text, shape (n_pieces,)."""
    start = _alike(text, copy)
    end = len(copy) - min(_alike(text[::-1], copy[::-1]), min(len(text), len(copy)) - start)
    borders = np.cumsum([0, *map(len, cut(copy))])
    inside = np.clip(borders[1:], start, end) - np.clip(borders[:-1], start, end)
    return np.asarray(inside / np.diff(borders))


def _alike(a: str, b: str) -> int:
    """How many characters two texts have in common from the start on."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))

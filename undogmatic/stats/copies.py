"""Copies and near-copies among texts, found in time and memory that grow with the texts, not with their pairs."""

from __future__ import annotations

import functools
import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

SHINGLE = 8
"""Letters and digits in a row that are compared at a time."""
ALIKE = 0.4
"""Least resemblance of a near-copy. A copy in which one word in five was replaced has about 0.41, one in ten 0.63 (200
curated texts); the most alike of the 1.3 million pairs of curated texts, two formulas of one office, have 0.38,
and 99.99 % of them at most 0.10."""
FEWEST = 40
"""A text with fewer different shingles says too little for likeness to mean copying; it must be the same."""

_BAND, _BANDS = 3, 42  # texts of resemblance 0.4 fall together in at least one band with probability 0.94, 0.5: 0.996
_NEIGHBOURS = 3  # in a band, a text is compared with so many of those that fall together with it
_AT_ONCE = 2**15
_NOT_LETTERS = re.compile(r"[\W_]+")

Hashes = NDArray[np.uint32]


def letters(text: str) -> str:
    """The text without case, accents, spaces and punctuation; where nothing is left, as it is."""
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFKD", text).casefold()) or text.strip()


@functools.lru_cache(maxsize=8)
def copies(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Which texts are copies or near-copies of which: for each the place of the first text of its cluster.

    Texts with the same letters and digits are copies. Near-copies share at least ALIKE of their shingles, each counted
    once, estimated by MinHash with a standard error of 0.044; the order of sentences hardly matters, and what is added
    to one counts against it. Clusters are joined: a near-copy of a near-copy belongs to both. The order of the texts
    has no influence on who belongs together.

    Args:
        texts: Any number; the answers to the last few calls are kept.
    References:
        Broder (1997), On the resemblance and containment of documents. doi:10.1109/SEQUEN.1997.666900
    """
    from scipy import sparse

    forms = [letters(text) for text in texts]
    distinct = sorted(set(forms))
    shingles = {place: own for place, form in enumerate(distinct) if len(own := _shingles(form)) >= FEWEST}
    cluster = np.arange(len(distinct))
    if len(shingles) > 1:
        # The smallest shingle of each text in each of several orders of all shingles.
        pairs = _alike(np.stack([(_FACTORS * own).min(axis=1) for own in shingles.values()]))
        places = np.array(list(shingles))[pairs]
        links = sparse.coo_matrix((np.ones(len(places)), places.T), shape=(len(distinct), len(distinct)))
        cluster = sparse.csgraph.connected_components(links, directed=False)[1]
    of_form = dict(zip(distinct, cluster.tolist(), strict=True))
    first: dict[int, int] = {}
    return tuple(first.setdefault(of_form[form], place) for place, form in enumerate(forms))


def enough(text: str) -> bool:
    """Whether a text says enough for likeness to mean copying: it has FEWEST different shingles."""
    return len(_shingles(letters(text))) >= FEWEST


def _shingles(form: str) -> Hashes:
    """A hash of every different shingle of a text, in order."""
    codes = np.frombuffer(form.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    hashes = np.zeros(max(0, codes.size - SHINGLE + 1), dtype=np.uint32)
    for place in range(SHINGLE if hashes.size else 0):
        hashes = hashes * np.uint32(0x01000193) + codes[place : place + hashes.size]
    # The last steps of MurmurHash3: what differs little shall not be near in order.
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
    hashes = np.sort(hashes ^ (hashes >> np.uint32(16)))
    return hashes[np.diff(hashes, prepend=hashes[:1] + np.uint32(1)) != 0]


_FACTORS: Hashes = np.random.default_rng(0).integers(2**31, size=(_BAND * _BANDS, 1), dtype=np.uint32) * 2 + 1


def _alike(signatures: Hashes) -> NDArray[np.intp]:
    """Pairs of rows that agree in ALIKE of their columns, enough of them to join all clusters; shape (n_pairs, 2)."""
    n = np.uint64(len(signatures))
    candidates = []
    for start in range(0, signatures.shape[1], _BAND):
        band = np.zeros(len(signatures), dtype=np.uint64)
        for column in signatures[:, start : start + _BAND].T:
            band = band * np.uint64(0x100000001B3) + column
        order = np.argsort(band, kind="stable")
        for step in range(1, _NEIGHBOURS + 1):
            together = band[order[step:]] == band[order[:-step]]
            candidates.append(order[:-step][together].astype(np.uint64) * n + order[step:][together].astype(np.uint64))
    found = np.unique(np.concatenate(candidates))
    pairs = np.stack([found // n, found % n], axis=1).astype(np.intp)
    kept = [
        part[np.mean(signatures[part[:, 0]] == signatures[part[:, 1]], axis=1) >= ALIKE]
        for part in np.array_split(pairs, len(pairs) // _AT_ONCE + 1)
    ]
    return np.concatenate(kept)

"""What turns sentences into vectors: `embeddings=minilm` (in this process, no torch), `minilm_int8`, or any other model
of sentence-transformers (`hub`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undogmatic.constructs.faithfulness.minilm import Precision, load, package_folder
from undogmatic.errors import ConfigError
from undogmatic.models.base import Model
from undogmatic.records.wordings import Licence

MOST_KEPT = 100_000
"""Sentences whose vectors are kept (150 MB of them with MiniLM); then it begins anew."""

MINILM_LICENCE: Licence = {
    "en": "all-MiniLM-L6-v2 is by sentence-transformers (Apache-2.0).",
    "pt": "all-MiniLM-L6-v2 é de sentence-transformers (Apache-2.0).",
}


class Embeddings(Model):
    """Base of all embeddings. A sentence is read once in a run, whoever asks for it: judges share one object.

    A subclass sets `name` and has `read`.
    """

    readouts = ()

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()
        self.sentences_read = 0

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length 1 per text. Shape (n_texts, width)."""
        return await asyncio.to_thread(self._vectors, texts)

    async def similarities(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Cosine of every text of the first list with every one of the second. Shape (n_first, n_second)."""
        both = await self.vectors([*first, *second])
        made: NDArray[np.float64] = (both[: len(first)] @ both[len(first) :].T).astype(np.float64)
        return made

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._lock:  # two at once would only slow one another, and might read a sentence twice
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            if len(self._kept) + len(new) > MOST_KEPT:
                self._kept.clear()
                new = list(dict.fromkeys(texts))
            if new:
                self._kept.update(zip(new, self.read(new), strict=True))
                self.sentences_read += len(new)
            return np.stack([self._kept[text] for text in texts])

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts that were not read before, of length 1. Shape (n_texts, width)."""
        raise NotImplementedError


class MiniLMEmbeddings(Embeddings):
    """all-MiniLM-L6-v2: English above all. Mean pooling over at most 256 tokens.

    Args:
        precision: fp32 as published, or int8 (a quarter of the size; similarities differ by up to 0.02).
    """

    licence = MINILM_LICENCE

    def __init__(self, precision: Precision = "fp32") -> None:
        super().__init__()
        package_folder(precision)
        self.precision: Precision = precision
        self.name = f"all-MiniLM-L6-v2-{precision}"

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return load(self.precision).vectors(texts)


class HubEmbeddings(Embeddings):
    """Any model of sentence-transformers, by its hub id or its folder: for Portuguese, or to compare.

    Args:
        path: Hub id or local folder.
        prefix: Stands before every sentence, where the model wants one ("query: " for the E5 family).
    """

    def __init__(self, path: str, prefix: str = "") -> None:
        super().__init__()
        self.path, self.prefix = path, prefix
        self.name = f"{Path(path).name or path}{f' after {prefix!r}' if prefix else ''}"
        self.licence = {
            "en": f"The model embeddings.path={path} is under its publisher's own licence.",
            "pt": f"O modelo embeddings.path={path} segue a licença de quem o publicou.",
        }
        self._model: Any = None

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._model is None:
            self._model = self._loaded()
        given = [self.prefix + text for text in texts]
        made: NDArray[np.float32] = self._model.encode(given, normalize_embeddings=True, show_progress_bar=False)
        return made

    def _loaded(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise ConfigError(
                f"`embeddings.path` is {self.path!r}, which needs sentence-transformers: pip install "
                "'undogmatic[nli]'. Without it: embeddings=minilm."
            ) from None
        try:
            return SentenceTransformer(self.path)
        except (OSError, ValueError) as error:
            why = str(error).partition("\n")[0]
            raise ConfigError(
                f"`embeddings.path` is {self.path!r}, which cannot be loaded: {why} Give a hub id (with a network) or "
                "the folder of a downloaded model. Without either: embeddings=minilm."
            ) from None

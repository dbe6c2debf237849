"""Files given by path that a run computes with: a probe, a calibration, a model."""

import functools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from safetensors.numpy import save

from tests.fuzzing._values import one_message
from tests.fuzzing.jsonl import odd
from undogmatic.models.gguf_file import known_sha256, require_gguf
from undogmatic.readouts.logprobs import load_calibration
from undogmatic.readouts.probe import load
from undogmatic.safety.paths import data_folder

Case = tuple[str, bytes]
"""Which kind of file, by its suffix; its bytes."""


@functools.cache
def shipped() -> bytes:
    """A probe as it ships."""
    return (data_folder() / "probes" / "shame.safetensors").read_bytes()


def calibration(**changed: Any) -> bytes:
    """A calibration file with some keys changed."""
    parameters = {
        "kind": "linear",
        "slope": 1.0,
        "intercept": 0.0,
        "low": 0.0,
        "high": 100.0,
    }
    whole = {
        "model": "m",
        "prompt_hash": "p",
        "method": "linear",
        "texts": [],
        "parameters": parameters,
    }
    return json.dumps(whole | changed).encode()


@st.composite
def damaged_probes(draw: st.DrawFn) -> bytes:
    """The shipped probe with bytes of its header, or any, changed, or cut off."""
    content = bytearray(shipped())
    for _ in range(draw(st.integers(1, 3))):
        content[draw(st.integers(0, 2000) | st.integers(0, len(content) - 1))] = draw(
            st.integers(0, 255)
        )
    return bytes(
        content[
            : draw(
                st.sampled_from([len(content), len(content), 7, 100, len(content) - 1])
            )
        ]
    )


def strategy() -> st.SearchStrategy[Case]:
    keys = st.sampled_from(["model", "prompt_hash", "method", "texts", "parameters"])
    methods = st.sampled_from(["content_free", "isotonic", "platt", "linear"])
    names = st.sampled_from(
        "kind slope intercept x y weights low high scale a b n".split()
    )
    parameters = st.dictionaries(names, odd | methods, max_size=6)
    fitted = st.builds(
        lambda m, p: calibration(method=m, parameters={"kind": m} | p),
        methods,
        parameters,
    )
    changed = st.dictionaries(keys, odd, max_size=3).map(
        lambda changed: calibration(**changed)
    )
    raw = st.tuples(
        st.sampled_from([".safetensors", ".json", ".gguf"]), st.binary(max_size=200)
    )
    kinds = {".safetensors": damaged_probes(), ".json": fitted | changed}
    return st.one_of(
        *(st.tuples(st.just(suffix), content) for suffix, content in kinds.items()), raw
    )


def enter(case: Case) -> None:
    """The file is read, or one message names it."""
    suffix, content = case
    path = Path(f"fuzzed{suffix}")
    path.write_bytes(content)
    note = Path("fuzzed.gguf.sha256.json")
    note.unlink(missing_ok=True)
    with one_message([path]):
        if suffix == ".safetensors":
            load(path)
        elif suffix == ".json":
            load_calibration(str(path), "m", "p")
            note.write_bytes(content)  # a model's note of its hash is JSON as well
            Path("fuzzed.gguf").write_bytes(b"x")
            assert len(known_sha256(Path("fuzzed.gguf"))) == 64
        else:
            require_gguf(path)


def _tensors(header: dict[str, Any], rest: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + rest


_MEAN = {"mean": np.zeros(3)}
_FREE = {"method": "content_free"}
EXAMPLES: list[Case] = [
    *((suffix, b"") for suffix in (".safetensors", ".json", ".gguf")),
    *(
        (".safetensors", raw)
        for raw in (b"\xff" * 8, shipped()[:-1], b"\x80\x04\x95\x1a", save(_MEAN))
    ),
    *((".safetensors", save(_MEAN, {"probe": note})) for note in ("{}", "[" * 10_000)),
    (".safetensors", struct.pack("<Q", 2**40) + b"{}"),
    (".safetensors", struct.pack("<Q", 90_000_000) + b" " * 1000),
    (
        ".safetensors",
        _tensors(
            {"mean": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, b"\0\0"
        ),
    ),
    (
        ".safetensors",
        _tensors({"mean": {"dtype": "F64", "shape": [2**60], "data_offsets": [0, 0]}}),
    ),
    *(
        (".json", raw)
        for raw in (b"[]", b"[" * 100_000, '{"model": "é"}'.encode("latin-1"))
    ),
    *((".json", calibration(texts=texts)) for texts in ([{}], {"a": 1})),
    (".json", calibration(parameters=[])),
    *(
        (
            ".json",
            calibration(**_FREE, parameters={"kind": "content_free", "weights": each}),
        )
        for each in ([0], [])
    ),
    *(
        (".json", calibration(**changed))
        for changed in ({"method": {"a": 1}}, {"model": "x" * 100_000})
    ),
    (".gguf", b"GGUF"),
]

"""llama.cpp through the C interface that xllamacpp's library exports: hidden states of any block,
and next-token odds.

xllamacpp's own server cannot give either the way a judge needs it. It has the last block's states
only, and multiplies every token by the 262,144-row output matrix on the way, which costs more than
all blocks together; and its prefix cache makes log-probabilities depend on what was asked before
(by up to 0.25 nats where measured). Here a pass stops after the last block that is wanted, and a
prompt is evaluated in parts with fixed borders: the state after each beginning is kept and every
question continues from exactly that, so the same question gives the same bits, whatever came before
it.

The version of xllamacpp is pinned, and the one structure offset used is checked against its
surroundings before use.
"""

import contextlib
import ctypes
import ctypes.util
import os
import struct
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from undogmatic.errors import ConfigError, ModelError


class _Opaque(ctypes.Structure):
    """A parameter structure passed by value; larger than any real one, so that its size need not be
    known."""

    _fields_ = (("bytes", ctypes.c_uint8 * 512),)


class _Batch(ctypes.Structure):
    _fields_ = (
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        # None of these four is given: llama.cpp counts the places itself, in the one sequence.
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.c_void_p),
        ("n_seq_id", ctypes.c_void_p),
        ("seq_id", ctypes.c_void_p),
        ("logits", ctypes.c_void_p),
    )


_EVALUATED = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p
)
_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_silence = _LOG(lambda level, text, data: None)
_P, _I, _B, _S = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_size_t
_TOKENS = ctypes.POINTER(ctypes.c_int32)
# of states after prompts' beginnings; Gemma 3 270M takes about 18 KiB per token
KEPT_BYTES = 256 * 2**20
AT_ONCE = 32
"""Tokens whose odds are had at once: 34 MB of logits, where each token of Gemma's takes 1 MB."""
_CALLBACK_OFFSET = 88  # of llama_context_params.cb_eval
_INTERFACE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_log_set": (None, (_LOG, _P)),
    "llama_model_default_params llama_context_default_params": (_Opaque, ()),
    "llama_model_load_from_file": (_P, (ctypes.c_char_p, _Opaque)),
    "llama_init_from_model": (_P, (_P, _Opaque)),
    "llama_model_get_vocab llama_get_memory": (_P, (_P,)),
    "llama_model_n_embd llama_model_n_layer llama_vocab_n_tokens": (_I, (_P,)),
    "llama_vocab_is_eog": (_B, (_P, _I)),
    "llama_set_n_threads": (None, (_P, _I, _I)),
    "llama_set_abort_callback": (None, (_P, _P, _P)),
    "llama_memory_clear": (None, (_P, _B)),
    "llama_state_seq_get_size": (_S, (_P, _I)),
    "llama_state_seq_get_data llama_state_seq_set_data": (
        _S,
        (_P, ctypes.c_char_p, _S, _I),
    ),
    "llama_decode": (_I, (_P, _Batch)),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), (_P, _I)),
    "llama_token_to_piece": (_I, (_P, _I, ctypes.c_char_p, _I, _I, _B)),
    "llama_tokenize": (_I, (_P, ctypes.c_char_p, _I, _TOKENS, _I, _B, _B)),
    "llama_free llama_model_free": (None, (_P,)),
    "ggml_get_name": (ctypes.c_char_p, (_P,)),
    "ggml_nbytes": (_S, (_P,)),
    "ggml_backend_tensor_get": (None, (_P, _P, _S, _S)),
}


def library() -> Any:
    """Import xllamacpp, with threads that soon sleep while they wait for one another.

    OpenMP lets them spin for milliseconds. Where other programs need the cores, each spins while
    the one that it waits for has no core: with two threads on two busy cores, twelve short prompts
    took 30 to 70 s instead of 3.
    """
    # Whoever set a policy has measured it.
    if "OMP_WAIT_POLICY" not in os.environ:
        # read once, when the library is loaded
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import xllamacpp.xllamacpp as extension

    return extension


class Ended:
    """A flag that says that nobody waits for an evaluation any more, where llama.cpp can read it by
    itself.

    Between two steps of a pass llama.cpp asks an abort callback whether to go on. A function of
    Python would have to wait for the interpreter each time, hundreds of times a pass, and a pass
    would come to a halt wherever another thread computes. So the callback is C's own `strlen`, and
    the flag a text of C: an empty one has the length 0, which says "go on"; one of a single
    character has the length 1, which says "give up".
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        self.address = ctypes.addressof(self._text)

    def set(self) -> None:
        """Nobody waits any more; whatever is evaluated is given up within a fraction of a
        second."""
        self._text[0] = b"!"

    def is_set(self) -> bool:
        """Whether nobody waits any more."""
        return self._text.value != b""


_ABORT = ctypes.CFUNCTYPE(_S, _P)
_given_up = _ABORT(
    (
        "strlen",
        ctypes.CDLL(ctypes.util.find_library("msvcrt") if os.name == "nt" else None),
    )
)


class Llama:
    """One GGUF file in memory with one sequence of at most `context` tokens. Not thread-safe: the
    caller holds a lock. Raises ConfigError where the file cannot be loaded, or this build of
    xllamacpp has another interface.
    """

    def __init__(self, path: Path, threads: int = 2, context: int = 4096) -> None:
        extension = library()
        self._model = self._context = None
        try:
            self._c = ctypes.CDLL(extension.__file__)
            for names, (result, arguments) in _INTERFACE.items():
                for function in (getattr(self._c, name) for name in names.split()):
                    function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise ConfigError(
                f"this build of xllamacpp does not export llama.cpp's C interface ({error})."
                " Install the pinned version: pip install undogmatic --force-reinstall."
            ) from None
        self.limit = context
        self._ended = Ended()
        self._wanted: dict[str, np.ndarray | None] = {}
        self._last = ""
        self._kept: OrderedDict[tuple[str, ...], tuple[Any, int]] = OrderedDict()
        self._callback = _EVALUATED(self._evaluated)
        self._c.llama_log_set(_silence, None)
        self._model = self._c.llama_model_load_from_file(
            str(path).encode(), self._c.llama_model_default_params()
        )
        if not self._model:
            raise ConfigError(
                f"llama.cpp cannot load {path}; `model.path` must be a GGUF file it supports."
            )
        self._context = self._c.llama_init_from_model(
            self._model, self._parameters(context)
        )
        if not self._context:
            self.close()
            raise ConfigError(
                f"llama.cpp cannot make a context of {context} tokens for {path}."
            )
        self._memory = self._c.llama_get_memory(self._context)
        self._vocabulary = self._c.llama_model_get_vocab(self._model)
        self._width = self._c.llama_model_n_embd(self._model)
        self.blocks = int(self._c.llama_model_n_layer(self._model))
        self._c.llama_set_n_threads(self._context, threads, threads)
        self._c.llama_set_abort_callback(self._context, _given_up, self._ended.address)

    @contextlib.contextmanager
    def until(self, ended: Ended) -> Iterator[None]:
        """Whatever is evaluated inside is given up soon after `ended` is set, also in the middle of
        a long prompt, with ModelError."""
        before, self._ended = self._ended, ended
        self._c.llama_set_abort_callback(self._context, _given_up, ended.address)
        try:
            yield
        finally:
            self._ended = before
            self._c.llama_set_abort_callback(self._context, _given_up, before.address)

    def tokenize(self, text: str, begin: bool = True) -> list[int]:
        """Token ids, with the begin-of-text token in front if `begin`; markup inside the text stays
        text."""
        raw = text.encode()
        # A token takes a byte at least, and the one that begins the text comes before all.
        room = len(raw) + 8
        tokens = (ctypes.c_int32 * room)()
        count = self._c.llama_tokenize(
            self._vocabulary, raw, len(raw), tokens, room, begin, False
        )
        return list(tokens[:count])

    def states(self, tokens: Sequence[int], blocks: Sequence[int]) -> list[np.ndarray]:
        """States after each of `blocks` (counted from 1) in one causal pass that ends at the last
        of them: per block an array (n_tokens, width), every row divided by its root mean square.
        Raises ModelError where llama.cpp gave no states, or the tokens do not fit the context."""
        names = [f"l_out-{block - 1}" for block in blocks]
        self._wanted, self._last = dict.fromkeys(names), f"l_out-{max(blocks) - 1}"
        self._c.llama_memory_clear(self._memory, False)
        # asked for every token's output, which only the last block needs, llama.cpp lays out 110 MB
        # of logits
        try:
            status = self._decode(tokens, every=max(blocks) == self.blocks)
            states = [
                rows
                for name in names
                if (rows := self._wanted[name]) is not None and len(rows) == len(tokens)
            ]
        finally:  # or the next pass would end where this one should have
            self._wanted, self._last = {}, ""
        if status or len(states) != len(names):
            raise ModelError(
                f"llama.cpp gave no states for the blocks {list(blocks)} (status {status})"
            )
        scales = [
            np.sqrt(np.mean(rows.astype(np.float64) ** 2, axis=1, keepdims=True) + 1e-6)
            for rows in states
        ]
        return [
            (rows / scale).astype(np.float32)
            for rows, scale in zip(states, scales, strict=True)
        ]

    def next_token(self, parts: Sequence[str], top: int) -> tuple[list[list[Any]], int]:
        """The `top` most probable next tokens after a prompt, with their natural log-probabilities,
        best first; and how many tokens the prompt has. Its `parts` (demonstrations, a text, a
        question about it) are divided where prompts begin to differ; all but the last are kept.
        Raises ModelError where it does not fit the context.
        """
        count = self.read(parts)
        # A sum over 262,144 numbers of 32 bits would lose digits of the odds.
        logits = self._logits().astype(np.float64)
        logprobs = logits - logits.max()
        logprobs -= np.log(np.exp(logprobs).sum())
        best = np.argpartition(-logprobs, top)[:top]
        # Of two with the same odds the one with the lower number first, so that the order is the
        # same each time.
        best = best[np.lexsort((best, -logprobs[best]))]
        return [
            [self._piece(int(token)).decode(errors="replace"), float(logprobs[token])]
            for token in best
        ], count

    def logprobs(self, before: Sequence[int], tokens: Sequence[int]) -> np.ndarray:
        """Natural log-probability of each of `tokens` after `before` and those that stand before
        it, shape (n_tokens,). Raises ModelError where they do not fit the context."""
        if len(before) + len(tokens) > self.limit:
            raise ModelError(
                f"{len(before) + len(tokens)} tokens do not fit the context of {self.limit}; raise"
                " model.context"
            )
        self._c.llama_memory_clear(self._memory, False)
        found: list[float] = []
        steps = [list(before)]
        steps += [
            list(tokens[at : at + AT_ONCE]) for at in range(0, len(tokens), AT_ONCE)
        ]
        following = [token for step in steps[1:] for token in step]
        for n, step in enumerate(steps):
            if status := self._decode(step, every=n > 0):
                raise ModelError(
                    f"llama.cpp could not evaluate {len(step)} tokens (status {status})"
                )
            for place in range(len(step)) if n else [-1]:
                if len(found) < len(following):
                    logits = self._logits(place).astype(np.float64)
                    top = logits.max()
                    found.append(
                        logits[following[len(found)]]
                        - top
                        - np.log(np.exp(logits - top).sum())
                    )
        return np.array(found)

    def continued(
        self, parts: Sequence[str], most: int, until: str = ""
    ) -> tuple[str, int, int]:
        """The likeliest continuation of a text (divided as in `next_token`), token by token, to the
        text's end, `until` (which is left out; nothing ends it where it is empty) or `most` tokens;
        and how many tokens the text and the continuation have. Raises ModelError where both do not
        fit the context."""
        count, written, raw = self.read(parts, most), 0, b""
        while written < most:
            token = int(self._logits().argmax())
            if self._c.llama_vocab_is_eog(self._vocabulary, token):
                break
            written += 1
            raw += self._piece(token)
            if until and until.encode() in raw.lstrip():
                break
            if status := self._decode([token], every=False):
                raise ModelError(
                    f"llama.cpp could not go on after {written} tokens (status {status})"
                )
        text = raw.decode("utf-8", errors="replace")
        return (text.strip().partition(until)[0] if until else text), count, written

    def read(self, parts: Sequence[str], room: int = 0) -> int:
        """Evaluate a text, all parts but the last once for all texts that begin the same; its
        number of tokens."""
        last = len(parts) - 1
        known = next(
            (n for n in range(last, 0, -1) if tuple(parts[:n]) in self._kept), 0
        )
        # what is marked as unused is never read
        self._c.llama_memory_clear(self._memory, False)
        count = 0
        if known:
            self._kept.move_to_end(tuple(parts[:known]))
            state, count = self._kept[tuple(parts[:known])]
            if not self._c.llama_state_seq_set_data(
                self._context, state, len(state), 0
            ):
                raise ModelError("llama.cpp could not return to a prompt's beginning")
        for n in range(known, len(parts)):
            tokens = self.tokenize(parts[n], begin=n == 0)
            count += len(tokens)
            if n == last and count + room > self.limit:
                raise ModelError(
                    f"{count + room} tokens do not fit the context of {self.limit}; raise"
                    " model.context"
                )
            if status := self._decode(tokens, every=False):
                raise ModelError(
                    f"llama.cpp could not evaluate {len(tokens)} tokens (status {status})"
                )
            if n < last:
                size = self._c.llama_state_seq_get_size(self._context, 0)
                state = ctypes.create_string_buffer(size)
                if (
                    self._c.llama_state_seq_get_data(self._context, state, size, 0)
                    != size
                ):
                    raise ModelError("llama.cpp gave no copy of its state")
                self._kept[tuple(parts[: n + 1])] = state, count
                # Beyond KEPT_BYTES those used longest ago go.
                while (
                    len(self._kept) > 1
                    and sum(len(kept) for kept, _ in self._kept.values()) > KEPT_BYTES
                ):
                    self._kept.popitem(last=False)
        return count

    def close(self) -> None:
        if self._context:
            self._c.llama_free(self._context)
        if self._model:
            self._c.llama_model_free(self._model)
        self._context = self._model = None

    def _decode(self, tokens: Sequence[int], every: bool) -> int:
        count = len(tokens)
        if count > self.limit:
            raise ModelError(
                f"{count} tokens do not fit the context of {self.limit}; raise model.context"
            )
        wanted = (ctypes.c_int8 * count)(*([int(every)] * (count - 1) + [1]))
        ids = (ctypes.c_int32 * count)(*tokens)
        batch = _Batch(
            count, ids, None, None, None, None, ctypes.cast(wanted, ctypes.c_void_p)
        )
        status = int(self._c.llama_decode(self._context, batch))
        if self._ended.is_set():  # what the pass left behind is no state to go on from
            raise ModelError(
                "the evaluation was given up, because nobody waits for it any more"
            )
        return status

    def _logits(self, place: int = -1) -> np.ndarray:
        """The logits after a token of those that were evaluated last, shape (n_vocabulary,), as
        they lie in llama.cpp; -1 is the last of them."""
        size = self._c.llama_vocab_n_tokens(self._vocabulary)
        return np.ctypeslib.as_array(
            self._c.llama_get_logits_ith(self._context, place), (size,)
        )

    def _piece(self, token: int) -> bytes:
        room = ctypes.create_string_buffer(256)
        count = self._c.llama_token_to_piece(
            self._vocabulary, token, room, len(room), 0, True
        )
        return room.raw[: max(count, 0)]

    def _evaluated(self, tensor: int, asking: bool, _: int | None) -> bool:
        """llama.cpp's callback: "do you want this tensor?" (asking), then "here it is"; False ends
        the pass."""
        if self._ended.is_set():
            return asking
        name = self._c.ggml_get_name(tensor).decode(errors="replace")
        if name not in self._wanted:
            return not asking
        if not asking:
            values = np.empty(self._c.ggml_nbytes(tensor) // 4, dtype=np.float32)
            self._c.ggml_backend_tensor_get(
                tensor, values.ctypes.data, 0, values.nbytes
            )
            self._wanted[name] = values.reshape(-1, self._width)
            return bool(name != self._last)
        return True

    def _parameters(self, context: int) -> _Opaque:
        parameters: _Opaque = self._c.llama_context_default_params()
        raw = bytes(parameters.bytes)
        as_expected = (
            struct.unpack_from("<4I", raw, 0)
            == (512, 2048, 512, 1)  # n_ctx, n_batch, n_ubatch, n_seq_max
            and struct.unpack_from("<4i", raw, 40)
            == (-1, -1, -1, -1)  # rope, pooling, attention, flash attention
            and struct.unpack_from("<f", raw, 84) == (-1.0,)  # defrag_thold
            and struct.unpack_from("<2Q", raw, _CALLBACK_OFFSET)
            == (0, 0)  # cb_eval, cb_eval_user_data
            and struct.unpack_from("<2i", raw, _CALLBACK_OFFSET + 16)
            == (1, 1)  # type_k, type_v: half precision
        )
        if not as_expected:
            raise ConfigError(
                "this version of xllamacpp lays out llama.cpp's parameters differently; install the"
                " pinned version: pip install undogmatic --force-reinstall."
            )
        struct.pack_into("<3I", parameters.bytes, 0, context, context, context)
        struct.pack_into(
            "<Q",
            parameters.bytes,
            _CALLBACK_OFFSET,
            ctypes.cast(self._callback, ctypes.c_void_p).value,
        )
        return parameters

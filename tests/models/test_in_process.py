"""An instruction model in this process: what is put together from its pieces, and that an interrupt
ends it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from undogmatic.errors import ModelError
from undogmatic.models.embedded import InProcessChat

TOKENS = ("Um", " dois", " três")


class Pieces:
    """`xllamacpp.Server` as far as it is used: it hands over one piece per token until it is told
    to stop."""

    def __init__(
        self,
        pieces: Iterator[dict[str, Any]],
        at: Callable[[int], None] = lambda n: None,
    ) -> None:
        self.pieces, self.at, self.given = pieces, at, 0

    def handle_chat_completions(
        self, payload: dict[str, Any], add: Callable[[dict[str, Any]], bool]
    ) -> None:
        assert payload["stream"] and payload["return_progress"]
        for piece in self.pieces:
            self.given += 1
            self.at(self.given)
            if add(piece):
                return


def piece(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    logprobs = (
        {"content": [{"token": delta["content"], "logprob": -0.5}]}
        if delta.get("content")
        else None
    )
    return {
        "id": "1",
        "choices": [
            {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": logprobs}
        ],
    }


def chat(server: Pieces) -> InProcessChat:
    made = InProcessChat("fake", Path("fake.gguf"), 1, 512)
    made._server = server
    return made


def test_an_answer_in_pieces_is_the_answer_in_one_and_an_error_is_one() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    said = [
        piece(role="assistant", content=None),
        *(piece(content=token) for token in TOKENS),
        piece("stop"),
    ]
    read = [
        piece(role="assistant", content=None)
        | {"prompt_progress": {"processed": n, "total": 7}}
        for n in (0, 7)
    ]
    reply = asyncio.run(
        chat(
            Pieces(iter([*read, *said, {"id": "1", "choices": [], "usage": usage}]))
        ).send({})
    )
    assert "prompt_progress" not in reply.data
    (choice,) = reply.data["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Um dois três"}
    assert choice["finish_reason"] == "stop"
    assert [token["token"] for token in choice["logprobs"]["content"]] == list(TOKENS)
    assert (reply.input_tokens, reply.output_tokens) == (7, 3)
    with pytest.raises(ModelError, match=r"llama.cpp: too long"):
        asyncio.run(chat(Pieces(iter([{"error": {"message": "too long"}}]))).send({}))


@pytest.mark.parametrize(
    "each",
    [
        piece(content=" e"),
        piece(role="assistant", content=None) | {"prompt_progress": {}},
    ],
)
def test_an_interrupt_ends_the_answer_at_the_next_token_and_the_prompt_at_its_next_part(
    each: dict[str, Any],
) -> None:
    third, interrupted = threading.Event(), threading.Event()

    def at(n: int) -> None:
        if n == 3:
            third.set()
            assert interrupted.wait(30)

    server = Pieces((each for _ in range(10_000)), at)

    async def cut() -> None:
        task = asyncio.create_task(chat(server).send({}))
        await asyncio.to_thread(third.wait, 30)
        task.cancel()
        await asyncio.wait({task})
        interrupted.set()

    asyncio.run(cut())  # it ends when its threads have ended
    assert server.given == 3

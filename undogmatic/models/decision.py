"""Decision models: typed questions in, probabilities out (System One, `POST /v1/systemone`)."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from undogmatic.errors import UnparseableAnswer
from undogmatic.models.calls import shown
from undogmatic.models.hosted import HostedModel, Price, Tokens
from undogmatic.models.http import checked_base, is_local, setting


class DecisionModel(HostedModel):
    """A System One server. It serves our decision readout, and DSPy's `Predict` as a decision-request client.

    Answers to questions that were not asked, and answer types we do not know, are kept in the journal and left alone.

    Args:
        name: The model or an alias; the reply's own `model` (in the journal) is what the alias stood for.
        api_base: The server's origin, without /v1.
        endpoint: Path of the endpoint; "" where `api_base` is already the full address (Cloudflare).
        key_env: Environment variable with the key; on this machine an unset one means no key.
        price: USD per million tokens, or None where unknown.
    """

    readouts = ("decision",)
    supports_decision_requests = True

    def __init__(
        self,
        name: str = "jev-latest",
        api_base: str = "https://api.typesafe.ai",
        endpoint: str = "/v1/systemone",
        key_env: str | None = "TYPESAFE_API_KEY",
        price: Price | None = None,
    ) -> None:
        self.path = endpoint
        if key_env is not None and is_local(checked_base(api_base)) and setting(key_env) is None:
            key_env = None
        super().__init__(
            name, api_base, key_env, price, None, {"endpoint": endpoint} if endpoint != "/v1/systemone" else None
        )
        self.resolved: set[str] = set()

    async def decide(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """Ask typed questions about `state` (text, object or array): one answer per question, in their order. Raises
        UnparseableAnswer where one is missing or of another type than its question."""

        def read(body: dict[str, Any]) -> dict[str, Any]:
            data = _unwrapped(body)
            if isinstance(data.get("model"), str):
                self.resolved.add(data["model"])
            for name, question in questions.items():
                answer, wanted = data["answers"].get(name), question["type"]
                if not isinstance(answer, dict):
                    raise UnparseableAnswer(f"no answer to {name!r} came back", shown(data))
                if answer.get("type") != wanted or answer.get(wanted) is None:
                    raise UnparseableAnswer(
                        f"the answer to {name!r} is of type {answer.get('type')!r}, not a {wanted} answer", shown(data)
                    )
            return {name: data["answers"][name] for name in questions}

        return await self.exchange({"model": self.model_name, "state": state, "questions": questions}, read)

    async def acall(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """What DSPy's `Predict` calls when this model is its `lm`."""
        return copy.deepcopy(await self.decide(state, questions))  # DSPy edits the answers; the journal keeps them

    def __call__(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """`acall` for synchronous programs, e.g. optimisers. Not for use inside a running event loop."""

        async def once() -> dict[str, Any]:
            try:
                return await self.acall(state, questions)
            finally:
                await self.close()

        return asyncio.run(once())

    def _check(self, data: dict[str, Any]) -> None:
        inner = _unwrapped(data)
        if data.get("success") is False:
            self._client.embedded_fault({"error": data.get("errors")})
        if not isinstance(inner.get("answers"), dict):
            self._client.embedded_fault(inner)
            raise UnparseableAnswer("the reply has no `answers`", shown(data))

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        return super()._tokens(_unwrapped(data))


def _unwrapped(data: dict[str, Any]) -> dict[str, Any]:
    """The body inside Cloudflare's envelope, or the body itself."""
    inner = data.get("result")
    return inner if isinstance(inner, dict) and "answers" not in data else data

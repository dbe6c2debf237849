"""A chat model by script: as a judge it is right only under one instruction, as a writer it may
propose that one."""

import json
import re
from typing import Any

from undogmatic.models.base import Model
from undogmatic.models.calls import Reply

MAGIC = "Look for the word kestrel; a text with it is at the top of the scale."
WORD = "kestrel"


class Scripted(Model):
    """Judges texts by `WORD` if its instruction is MAGIC or it is shown two examples, and else by
    their length.

    Args:
        kind: Which of several.
        writes: What it proposes where an instruction is to be written.
        dies_after: It is gone after so many calls; None: never.
    """

    readouts = ("structured",)
    max_concurrency = 2

    def __init__(
        self, kind: int = 0, writes: str = MAGIC, dies_after: int | None = None
    ) -> None:
        self.name, self.writes, self.dies_after = f"scripted-{kind}", writes, dies_after
        self.calls = 0

    async def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        messages = [{"role": m.role, "content": m.text or ""} for m in request.messages]
        payload = {
            "system": request.system,
            "messages": messages,
            "temperature": request.config.temperature,
        }

        async def send() -> Reply:
            self.calls += 1
            REQUESTS.append(json.dumps(payload, sort_keys=True))
            if self.dies_after is not None and self.calls > self.dies_after:
                raise KeyboardInterrupt
            judging = (
                "<<text-" in messages[-1]["content"]
                and "Respond with" not in messages[-1]["content"]
            )
            return Reply(
                self._judged(payload) if judging else self._written(payload),
                input_tokens=9,
                output_tokens=3,
            )

        reply = await self.gateway.call(self.name, payload, send)
        text = Message.assistant([TextPart(reply.data)])
        usage = Usage(input_tokens=9, output_tokens=3, total_tokens=12)
        return Response(
            id=None, model=self.name, message=text, finish_reason="stop", usage=usage
        )

    def _judged(self, payload: dict[str, Any]) -> str:
        text = payload["messages"][-1]["content"]
        shown = sum(message["role"] == "assistant" for message in payload["messages"])
        knows = MAGIC in str(payload["system"]) or shown > 1
        score = (95 if WORD in text else 5) if knows else (len(text) * 37) % 100
        return json.dumps(
            {"shame_score": score, "confidence": 50, "rationale": "so it is"}
        )

    def _written(self, payload: dict[str, Any]) -> str:
        """What DSPy's adapters ask for: fields under headings, or a JSON object with them."""
        last = payload["messages"][-1]["content"]
        asked = last[last.rfind("Respond with") :]
        said = {"module_advice": {"judge.readout.predict": self.writes}}
        if asked.startswith("Respond with a JSON object"):
            return json.dumps(
                {
                    name: said.get(name, self.writes)
                    for name in re.findall(r"`(\w+)`", asked)
                }
            )
        names = [
            name
            for name in dict.fromkeys(re.findall(r"\[\[ ## (\w+) ## \]\]", asked))
            if name != "completed"
        ]
        parts = [
            f"[[ ## {name} ## ]]\n{_plain(said.get(name, self.writes))}"
            for name in names
        ]
        return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


REQUESTS: list[str] = []
"""What was sent, in this process."""

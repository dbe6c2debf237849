"""OpenAI's own client with its own retries, in as many tasks as are in flight."""

import asyncio
import json
import sys
from pathlib import Path

from openai import AsyncOpenAI, OpenAIError

url, file, in_flight, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
texts = [
    json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()
]
INSTRUCTION = (
    'Rate the text from 0 to 1. Answer with JSON: {"score": number, "reason": text}.'
)


async def main() -> None:
    """Ask about each text."""
    client, queue, scores = (
        AsyncOpenAI(base_url=url, api_key="none"),
        list(reversed(texts)),
        {},
    )

    async def work() -> None:
        while queue:
            item = queue.pop()
            messages = [{"role": "system", "content": INSTRUCTION}]
            messages += [{"role": "user", "content": item["text"]}]
            try:
                told = await client.chat.completions.create(
                    model="gpt-4.1-mini", messages=messages
                )
                scores[item["id"]] = json.loads(told.choices[0].message.content)[
                    "score"
                ]
            except (OpenAIError, KeyError, ValueError):
                scores[item["id"]] = None

    await asyncio.gather(*(work() for _ in range(in_flight)))
    Path(out).write_text(json.dumps(scores), encoding="utf-8")


asyncio.run(main())

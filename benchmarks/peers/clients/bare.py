"""aiohttp alone: posts, reads JSON, and asks nothing a second time."""

import asyncio
import json
import sys
from pathlib import Path

import aiohttp

url, file, in_flight, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
texts = [
    json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()
]
INSTRUCTION = (
    'Rate the text from 0 to 1. Answer with JSON: {"score": number, "reason": text}.'
)


async def main() -> None:
    """Ask about each text."""
    queue, scores = list(reversed(texts)), {}
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0)
    ) as session:

        async def work() -> None:
            while queue:
                item = queue.pop()
                messages = [{"role": "system", "content": INSTRUCTION}]
                messages += [{"role": "user", "content": item["text"]}]
                body = {"model": "gpt-4.1-mini", "messages": messages}
                async with session.post(f"{url}/chat/completions", json=body) as reply:
                    told = await reply.json()
                    try:
                        answer = told["choices"][0]["message"]["content"]
                        scores[item["id"]] = json.loads(answer)["score"]
                    except (KeyError, ValueError):
                        scores[item["id"]] = None

        await asyncio.gather(*(work() for _ in range(in_flight)))
    Path(out).write_text(json.dumps(scores), encoding="utf-8")


asyncio.run(main())

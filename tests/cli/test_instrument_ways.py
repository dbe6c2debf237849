"""`undogmatic instrument` beside a server with one fault each: an order of levels, names, words of
the question, and answers that vary; the server reads what it is asked."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import put, typed
from tests.stub_server import judged_text
from undogmatic.datasets.instrument import FILE

LITTLE = ("tracking=none", "engine.cache=false", "prompt=anchored_en")
LEVELS = [
    "keeps to the matter",
    "leaves it at times",
    "leaves it mostly",
    "speaks of other things",
]
RENAMED = ["ABCD", ["lowest", "low", "high", "highest"], ["#1", "#2", "#3", "#4"]]
MINE = """\
_target_: undogmatic.records.rubric.Rubric
name: mine
scale: {kind: numeric, minimum: 0, maximum: 90}
guide: {kind: anchors, at: [0, 30, 60, 90]}
inputs: [text]
direction: higher_is_worse
margin: 10
wordings:
  en:
    domain: You read minutes of meetings.
    definition: How far the minutes leave the matter.
    question: How far do they leave it?
    meanings: [keeps to the matter, leaves it at times, leaves it mostly, speaks of other things]
"""
Fault = Callable[[str, float], float]
"""What becomes of a score, from all that was asked and the score."""


def texts(folder: Path, n: int = 40) -> None:
    draw = random.Random(5)
    words = "harbour ledger window basket copper meadow lantern timber saddle barrel".split()
    rows = [
        {
            "text": " ".join(
                f"{' '.join(draw.sample(words, 5)).capitalize()}." for _ in range(7)
            )
        }
        for _ in range(n)
    ]
    put(folder / "notes.jsonl", rows)


def plain(text: str) -> float:
    """A score that rises with contradictions, sentences that are missing, moved or said twice."""
    found = re.findall(r"[^.]+\.", text)
    lost = 7 - len([part for part in found if len(part.split()) == 5])
    twice = len(found) - len(set(found))
    return 30 + 5 * (max(0, lost) + twice) if found else 0


def answering(stub: Any, fault: Fault) -> None:
    def answer(path: str, body: dict[str, Any], text: str, _: Any) -> dict[str, Any]:
        asked = json.dumps(body["messages"])
        score = min(90, max(0, fault(asked, plain(judged_text(body)))))
        said: Any = score
        form = json.dumps(body.get("response_format"))
        if names := next((each for each in RENAMED if f'"{each[0]}"' in form), None):
            listed = [asked.index(level) for level in LEVELS]
            order = LEVELS if listed == sorted(listed) else LEVELS[::-1]
            said = names[order.index(LEVELS[min(3, round(score / 30))])]
        content = json.dumps(
            {"score": said, "confidence": 80, "rationale": "It leaves it."}
        )
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": "x",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
        } | {"usage": usage}

    stub._answer = answer


def first_of_levels(asked: str, score: float) -> float:
    """Prefers what is listed first."""
    return score + (25 if asked.index(LEVELS[3]) < asked.index(LEVELS[0]) else 0)


def other_words(asked: str, score: float) -> float:
    """Is moved by the instructions in other words."""
    return score + (0 if "\\nHow far do they leave it?" in asked else 25)


def clean(asked: str, score: float) -> float:
    return score


def wavering() -> Fault:
    """Says something else each time."""
    draw = random.Random(3)
    return lambda asked, score: score + draw.choice((-30, 0, 40))


@pytest.mark.parametrize(
    ("fault", "ways", "said"),
    [
        (first_of_levels, "levels_reversed", "is given the levels in the other order"),
        (other_words, "words", "is given the instructions in other words"),
        (wavering(), "again,words", "of its scores stay within 10"),
        (
            clean,
            "levels_reversed,words,again,letters,letters_turned,named,numbers_turned",
            "Nothing of this kind",
        ),
    ],
    ids=["order", "words", "wavering", "clean"],
)
def test_a_fault_of_asking_is_named(
    tmp_path: Path, stub: Any, fault: Fault, ways: str, said: str
) -> None:
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    texts(tmp_path, 60)
    answering(stub, fault)
    hosted = [
        "model=openai_compatible",
        f"model.api_base={stub.url}/v1",
        "model.name=m",
    ]
    words = [
        "mine.yaml",
        "--texts",
        "notes.jsonl",
        "hydra.run.dir=run",
        "dataset.cues=[flattery]",
    ]
    command = ["instrument", *words, f"dataset.ways=[{ways}]", *hosted, *LITTLE]
    done = typed("undogmatic.cli", *command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout, done.stdout
    stated = int(re.match(r"(\d+) items", done.stdout)[1])  # type: ignore[index]
    kept = [
        json.loads(line) for line in (tmp_path / "run" / FILE).read_text().splitlines()
    ]
    assert len(stub.requests) == stated == len(kept)
    asked = [row["asking"]["way"] for row in kept if "asking" in row]
    assert {*asked} == {*ways.split(",")}


def writing(stub: Any) -> None:
    """The server writes: whatever fields are asked for, each answer another one."""

    def answer(path: str, body: dict[str, Any], text: str, _: Any) -> dict[str, Any]:
        fields = body["response_format"]["json_schema"]["schema"]["properties"]
        n = len(stub.requests)
        content = json.dumps(
            {name: f"{name} said in other words, {n}. It is so." for name in fields}
        )
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        about = {"id": "x", "object": "chat.completion", "model": "m"}
        return {**about, "choices": [choice], "usage": usage}

    stub._answer = answer


def test_a_model_writes_wordings_that_are_asked_with_afterwards(
    tmp_path: Path, stub: Any
) -> None:
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    texts(tmp_path, 20)
    writing(stub)
    hosted = [
        "model=openai_compatible",
        f"model.api_base={stub.url}/v1",
        "model.name=m",
    ]
    quiet = ["engine.cache=false", "prompt=anchored_en"]
    command = [
        "instrument",
        "mine.yaml",
        "--write-wordings",
        "mine.edits.yaml",
        *hosted,
        *quiet,
    ]
    done = typed("undogmatic.cli", *command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "instrument mine.yaml dataset.edits=mine.edits.yaml" in done.stdout
    assert len(stub.requests) == 3
    kept = yaml.safe_load((tmp_path / "mine.edits.yaml").read_text(encoding="utf-8"))
    assert len({each["question"] for each in kept["wordings"]["en"]}) == 3

    again = typed("undogmatic.cli", *command, folder=tmp_path)
    assert again.returncode == 2 and "nothing is written over it" in again.stderr

    answering(stub, lambda asked, score: score)
    asked = [
        "dataset.edits=mine.edits.yaml",
        "dataset.ways=[words]",
        "dataset.cues=[flattery]",
    ]
    words = ["mine.yaml", "--texts", "notes.jsonl", "hydra.run.dir=run", *asked]
    done = typed(
        "undogmatic.cli", "instrument", *words, *hosted, *LITTLE, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    sent = [json.dumps(request.body) for request in stub.requests[3:]]
    assert sum("question said in other words" in each for each in sent) == 20


def test_a_model_writes_texts_and_the_run_says_so(tmp_path: Path, stub: Any) -> None:
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    writing(stub)
    hosted = [
        "model=openai_compatible",
        f"model.api_base={stub.url}/v1",
        "model.name=m",
    ]
    command = [
        "mine.yaml",
        "--write-texts",
        "made.jsonl",
        "--n",
        "6",
        "prompt=anchored_en",
    ]
    done = typed("undogmatic.cli", "instrument", *command, *hosted, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [
        json.loads(line) for line in (tmp_path / "made.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 6 == len({row["text"] for row in rows})
    assert all(row["made_by"].startswith("m") for row in rows)
    told = [json.dumps(request.body) for request in stub.requests]
    assert all(any(level in each for each in told) for level in LEVELS)

    used = [
        "mine.yaml",
        "--texts",
        "made.jsonl",
        "model=fake",
        "model.kind=length",
        *LITTLE,
    ]
    done = typed("undogmatic.cli", "instrument", *used, folder=tmp_path)
    assert "The texts were written by m" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--write-wordings", "x.txt", "model=fake"], "it must end in .yaml"),
        (
            ["--write-wordings", "x.yaml", "model=patterns"],
            "writes no answers in words",
        ),
        (
            ["--write-texts", "x.jsonl", "--items", "y"],
            "`--write-texts` and `--items` are given",
        ),
    ],
)
def test_what_cannot_be_written_is_named(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = typed("undogmatic.cli", "instrument", "shame", *words, folder=tmp_path)
    assert (
        done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    )

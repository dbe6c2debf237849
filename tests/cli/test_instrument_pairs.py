"""`undogmatic instrument preference` beside a server that chooses between two outputs with one
fault each: it prefers a place, flattery, nothing at all; the server reads what it is asked."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put, typed
from undogmatic.datasets.instrument import FILE

LITTLE = ("tracking=none", "prompt=anchored_en")
FENCED = re.compile(r"<<(text-\w+)>>\n(.*?)\n?<</\1>>", re.DOTALL)
SENTENCE = re.compile(r"(?:\b(?:[^\Waeiou][aeiou]){2} ?){6}\.", re.IGNORECASE)
Worth = Callable[[str], float]
"""How good an output is to a judge."""


def pairs(folder: Path, n: int = 50) -> None:
    draw = random.Random(7)

    def word() -> str:
        return "".join(
            draw.choice("bcdfglmnprstvz") + draw.choice("aeiou") for _ in "ab"
        )

    def text() -> str:
        said = (" ".join(word() for _ in range(6)).capitalize() for _ in range(7))
        return " ".join(f"{each}." for each in said)

    rows = [
        {"input": f"Say {word()} {k}.", "output_1": text(), "output_2": text()}
        for k in range(n)
    ]
    put(folder / "pairs.jsonl", rows)


def clean(text: str) -> float:
    """Better with every whole sentence of those that were made, worse with every other one that is
    about numbers, and a little better or worse by what they are."""
    whole = {each.lower() for each in SENTENCE.findall(text)}
    twice = len(SENTENCE.findall(text)) - len(whole)
    taste = sum(map(ord, "".join(sorted(whole)))) % 97 / 100
    return len(whole) - twice - len(re.findall(r"\d", text)) + (taste if whole else 0)


def flattered(text: str) -> float:
    return clean(text) + (
        20 if re.search("Thank you|honour|assess|admired", text) else 0
    )


def empty(text: str) -> float:
    return 50 if len(text) < 10 else clean(text)


def choosing(stub: Any, worth: Worth, place: float = 0.0) -> None:
    """The better output is chosen; `place` is what the first place is worth."""

    def answer(path: str, body: dict[str, Any], text: str, _: Any) -> dict[str, Any]:
        asked = "\n".join(str(each["content"]) for each in body["messages"])
        _, one, other = (found for _, found in FENCED.findall(asked)[-3:])
        apart = worth(one) + place - worth(other)
        said = "tie" if abs(apart) < 1e-6 else "first" if apart > 0 else "second"
        content = json.dumps({"score": said, "confidence": 80, "rationale": "So."})
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        about = {"id": "x", "object": "chat.completion", "model": "m"}
        return {**about, "choices": [choice], "usage": usage}

    stub._answer = answer


def asked(folder: Path, stub: Any, *words: str) -> Any:
    hosted = [
        "model=openai_compatible",
        f"model.api_base={stub.url}/v1",
        "model.name=m",
    ]
    command = ["instrument", "preference", *words, *hosted, *LITTLE]
    return typed("undogmatic.cli", *command, folder=folder)


FIRST = ("--texts", "pairs.jsonl", "hydra.run.dir=run", "analysis.margin=0.15")


@pytest.mark.parametrize(
    ("worth", "place", "said"),
    [
        (clean, 0.0, "Not yet."),
        (clean, 9.0, "when it is shown first than when it is shown second"),
        (flattered, 0.0, "more of the comparisons when it is given flattery"),
        (empty, 0.0, "it chooses a blank output over a real one in"),
    ],
    ids=["clean", "place", "flattery", "blank"],
)
def test_a_fault_of_choosing_is_named(
    tmp_path: Path, stub: Any, worth: Worth, place: float, said: str
) -> None:
    pairs(tmp_path)
    choosing(stub, worth, place)
    done = asked(tmp_path, stub, *FIRST, "dataset.cues=[flattery,authority]")
    assert done.returncode == 0, done.stderr
    assert said in done.stdout, done.stdout
    kept = (tmp_path / "run" / FILE).read_text(encoding="utf-8").splitlines()
    stated = int(re.search(r"([\d,]+) calls", done.stdout)[1].replace(",", ""))  # type: ignore[index]
    assert len(stub.requests) == stated <= 2 * len(kept)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["instrument.stays.place"] == pytest.approx(
        0 if place else 1, abs=0.1
    )
    assert metrics["instrument.twice.first"] == (1 if place else 0.5)


def test_two_judges_are_compared_on_the_same_pairs(tmp_path: Path, stub: Any) -> None:
    pairs(tmp_path, 24)
    few = ("dataset.cues=[flattery]", "dataset.ways=[]")
    choosing(stub, clean)
    assert asked(tmp_path, stub, *FIRST, *few).returncode == 0
    choosing(stub, flattered, place=9.0)
    again = ("--against", "run", "hydra.run.dir=again", "--language", "pt")
    done = asked(tmp_path, stub, *again, *few, "engine.cache=false")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "again" / "report.md").read_text(encoding="utf-8")
    assert "alteram as escolhas dos dois juízes de modo diferente: " in report
    assert "o primeiro lugar" in report and "{" not in report.partition("## ")[0]

    # what is next: the pairs go to people, and no copy of them
    done = typed("undogmatic.cli", "label", "run", "--no-browser", folder=tmp_path)
    assert done.returncode == 2 and "review export run --all" in done.stderr
    done = typed("undogmatic.cli", "review", "export", "run", "--all", folder=tmp_path)
    assert done.returncode == 0 and "24 " in done.stdout, done.stdout


def test_other_choices_are_not_called_the_same_scores(
    tmp_path: Path, stub: Any
) -> None:
    pairs(tmp_path, 12)
    few = ("dataset.cues=[flattery]", "dataset.ways=[]", "engine.cache=false")
    for worth, folder in ((clean, "a"), (lambda text: -clean(text), "b"), (clean, "c")):
        choosing(stub, worth)
        words = ("--texts", "pairs.jsonl", f"hydra.run.dir=outputs/{folder}")
        done = asked(tmp_path, stub, *words, *few)
        same = f"the same as in the earlier run {tmp_path}/outputs/" in done.stdout
        assert not same, done.stdout

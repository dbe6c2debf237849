"""`undogmatic instrument` as a user types it: the price first, both answers, the items again, and a
hosted model."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Capture, Patch, put, typed
from tests.examinations.builders import made_up
from undogmatic.cli import main
from undogmatic.datasets.instrument import FILE

LITTLE = ("tracking=none",)
MINE = """\
_target_: undogmatic.records.rubric.Rubric
name: mine
scale: {kind: numeric, minimum: 1, maximum: 5, step: 1}
inputs: [text]
direction: higher_is_better
margin: 0.5
wordings:
  en: {definition: How clear a note is., question: How clear is it?}
  pt: {definition: Quão clara é a nota., question: Quão clara é?}
"""


def asked(folder: Path, *words: str) -> Any:
    return typed("undogmatic.cli", "instrument", *words, *LITTLE, folder=folder)


def texts(folder: Path, n: int = 24) -> Path:
    rows = [
        {"text": ". ".join(made_up(12, f"{k} {s}").strip() for s in range(6))}
        for k in range(n)
    ]
    return put(folder / "notes.jsonl", rows)


def test_a_shipped_rubric_says_the_price_and_the_answer_first(tmp_path: Path) -> None:
    done = asked(tmp_path, "shame", "model=patterns", "hydra.run.dir=run")
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    assert first.startswith("568 items, each judged 1 time: 568 judgments")
    assert "135 further items put the question in another way" in done.stdout
    assert "Without labels nobody can say whether it is right." in done.stdout
    judged = (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
    kept = (tmp_path / "run" / FILE).read_text().splitlines()
    assert len(judged) == len(kept) == 568
    assert (tmp_path / "run" / "figures" / "instrument_cues.png").is_file()
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert {"instrument.worst", "instrument.ladder.right_orders"} <= metrics.keys()

    # the same items by another judge, in Portuguese
    items = ["--against", "run", "--language", "pt"]
    again = asked(tmp_path, "shame", *items, "model=tfidf", "hydra.run.dir=again")
    assert again.returncode == 0, again.stderr
    assert "Mudanças que alteram as notas deste juiz e as do outro" in again.stdout
    assert "Sem rótulos, ninguém pode dizer se ele acerta." in again.stdout
    runs = [
        json.loads((tmp_path / name / "run.json").read_text())
        for name in ("run", "again")
    ]
    assert runs[0]["dataset_digest"] == runs[1]["dataset_digest"]


def test_a_rubric_and_texts_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    texts(tmp_path)
    words = ("mine.yaml", "--texts", "notes.jsonl", "--n", "20", "hydra.run.dir=run")
    done = asked(tmp_path, *words, "model=fake", "model.kind=length")
    assert done.returncode == 0, done.stderr
    assert re.match(r"\d+ items", done.stdout)
    assert "Without labels nobody can say" in done.stdout
    # The command that it prints works for a rubric in a file.
    (line,) = re.findall(r"undogmatic (instrument mine\.yaml .*)", done.stdout)
    following = [word for word in shlex.split(line) if not word.startswith("model")]
    again = asked(
        tmp_path,
        *following[1:],
        "model=fake",
        "model.kind=capitals",
        "hydra.run.dir=next",
    )
    assert again.returncode == 0, again.stderr


def test_of_too_few_texts_the_next_command_asks_for_more(tmp_path: Path) -> None:
    few = ("dataset.cues=[flattery]", "model=patterns")
    done = asked(tmp_path, "shame", "--n", "3", *few)
    assert done.returncode == 0, done.stderr
    assert "10 independent texts or more" in done.stdout
    assert "experiment=instrument" in done.stdout and "dataset.n=" not in done.stdout


def test_texts_that_are_copies_of_each_other_count_as_one(tmp_path: Path) -> None:
    text = "It says where to go. It says when to come. It names what to bring. Nobody waits. Done."
    put(tmp_path / "notes.jsonl", [{"text": f"Note {k}: {text}"} for k in range(24)])
    done = asked(tmp_path, "shame", "--texts", "notes.jsonl", "model=patterns")
    assert done.returncode == 0, done.stderr
    assert "1 independent group" in done.stdout


def test_of_pairs_a_judge_that_does_not_compare_is_refused(tmp_path: Path) -> None:
    pairs = [
        {
            "input": f"Say {k}.",
            "output_1": made_up(9, f"a{k}"),
            "output_2": made_up(9, f"b{k}"),
        }
        for k in range(20)
    ]
    put(tmp_path / "pairs.jsonl", pairs)
    done = asked(
        tmp_path, "preference", "--texts", "pairs.jsonl", "judge=score", "model=fake"
    )
    assert done.returncode == 2
    assert "Add judge=compare" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model=gpt",), "Name the rubric first"),
        (("faithfulness", "model=patterns"), "--texts FILE"),
        (("shame", "--items", "x.jsonl", "--n", "30"), "`--items` and `--n` are given"),
        (("shame", "--against", "x", "--n", "30"), "`--against` and `--n` are given"),
        (("shame", "--against", "x", "model=patterns"), "x/instrument.jsonl"),
        (("shame", "--n", "1"), "--n"),
        (("shame", "--texts", "none.jsonl"), "does not exist"),
        (("preference", "--texts", "none.jsonl"), "does not exist"),
        (("nosuch", "model=patterns"), "nosuch"),
    ],
)
def test_what_is_typed_wrongly_is_named(
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: Capture,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["instrument", *words])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_a_hosted_model_is_asked_once_per_item(tmp_path: Path, stub: Any) -> None:
    texts(tmp_path)
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    hosted = [
        "model=openai_compatible",
        f"model.api_base={stub.url}/v1",
        "model.name=stub",
    ]
    words = ("mine.yaml", "--texts", "notes.jsonl", "--n", "20", "hydra.run.dir=run")
    done = asked(tmp_path, *words, *hosted, "prompt=anchored_en", "engine.cache=false")
    assert done.returncode == 0, done.stderr
    stated = int(re.match(r"(\d+) items", done.stdout)[1])  # type: ignore[index]
    assert 200 < stated <= 240
    assert len(stub.requests) == stated


@pytest.mark.parametrize(
    ("judge", "cache"),
    [
        (["judge=devils_advocate"], "false"),
        (["judge=debate", "judge.separate_calls=true"], "true"),
        (["judge=panel", "judge.members=[score,red_blue]"], "false"),
        (["judge=score", "readout=samples"], "true"),
        (["judges=[score,distributional]", "run.repeats=2"], "false"),
    ],
    ids=lambda words: words[0],
)
def test_the_calls_of_judges_that_ask_several_times_are_stated(
    tmp_path: Path, stub: Any, judge: list[str], cache: str
) -> None:
    texts(tmp_path, 3)
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    hosted = ["model=openai_compatible", f"model.api_base={stub.url}/v1"]
    few = ["dataset.cues=[flattery]", "dataset.ways=[words,again]"]
    quiet = ["prompt=anchored_en", f"engine.cache={cache}"]
    words = ["mine.yaml", "--texts", "notes.jsonl", *hosted, "model.name=stub"]
    done = asked(
        tmp_path, *words, *few, *quiet, *judge, f"engine.cache_dir={tmp_path}/c"
    )
    stated = re.search(r"judgments in ([\d,]+) calls", done.stdout)
    assert stated is not None, done.stdout + done.stderr
    assert len(stub.requests) == int(stated[1].replace(",", "")), done.stderr
    assert len(stub.requests) > 20


def test_of_a_judge_that_asks_another_one_now_and_then_the_most_calls_are_stated(
    tmp_path: Path, stub: Any
) -> None:
    texts(tmp_path, 3)
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    hosted = ["model=openai_compatible", f"model.api_base={stub.url}/v1"]
    few = ["dataset.cues=[flattery]", "dataset.ways=[]", "prompt=anchored_en"]
    words = ["mine.yaml", "--texts", "notes.jsonl", *hosted, "model.name=stub"]
    done = asked(tmp_path, *words, *few, "judge=selective", "engine.cache=false")
    stated = re.search(r"in at most ([\d,]+) calls", done.stdout)
    assert stated is not None, done.stdout + done.stderr
    assert 0 < len(stub.requests) <= int(stated[1].replace(",", ""))

"""`undogmatic mcp`, asked by a real client over stdio: the tools say what the commands say."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pandas as pd
import pytest

from tests.conftest import environment, put, typed
from undogmatic.cli import mcp as door
from undogmatic.config.door import composed
from undogmatic.experiment import run_experiment
from undogmatic.review.kept import COLUMNS
from undogmatic.safety.paths import data_folder

pytest.importorskip("mcp")
CAREFUL = {"files": ["demo.csv"], "options": {"judge": "judge_careful"}}
GATE = "figures: {agreement.kappa: {at_least: 0.6}}\n"


def ask(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What a server that is started in a folder answers to calls, one after the other."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    words = ["-m", "undogmatic.cli", "mcp"]
    server = StdioServerParameters(
        command=sys.executable, args=words, env=environment(), cwd=str(folder)
    )

    async def talk() -> list[Any]:
        with open(folder / "said.log", "w", encoding="utf-8") as log:
            async with Client(stdio_client(server, errlog=log)) as client:
                tools = (await client.list_tools()).tools
                return [tools, *[await client.call_tool(*call) for call in calls]]

    found = anyio.run(talk)
    assert "Traceback" not in (folder / "said.log").read_text(encoding="utf-8")
    return found


def text_of(answer: Any) -> str:
    (content,) = answer.content
    return str(content.text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    shutil.copy(data_folder() / "check" / "demo.csv", place)
    put(place / "undogmatic-gate.yaml", GATE)
    put(tmp_path / "secret.csv", "text,label\nnobody reads this,1\n")
    return place


def test_check_and_gate_say_what_the_commands_say(folder: Path) -> None:
    tools, check, made, again, passed, other, void = ask(
        folder,
        ("check", CAREFUL),
        ("check", CAREFUL | {"card": "card.json", "language": "pt"}),
        ("check", CAREFUL | {"card": "card.json"}),
        ("gate", {"card": "card.json", "language": "en"}),
        ("gate", {"card": "card.json", "judge": {"model": "gpt-5"}, "language": "en"}),
        ("gate", {"card": "demo.csv"}),
    )
    assert [tool.name for tool in tools] == ["check", "gate", "label_queue"]
    assert all(tool.description and "\n" not in tool.description for tool in tools)

    words = ["undogmatic.cli", "check", "demo.csv", "--judge", "judge_careful"]
    printed = typed(*words, folder=folder).stdout
    first, *rest = text_of(check).splitlines()
    assert first.startswith("✓ Yes. You may trust judge_careful") and first in printed
    assert rest[0].startswith("Use it for: ") and all(
        line in printed for line in rest[:5]
    )
    as_json = json.loads(typed(*words, "--json", folder=folder).stdout)
    assert check.structured_content == as_json
    assert text_of(made).startswith("✓ Sim.")
    assert made.structured_content["cards"] == ["card.json"]
    assert again.is_error and "which is there already" in text_of(again)

    done = typed(
        "undogmatic.cli", "gate", "card.json", "--language", "en", folder=folder
    )
    assert done.returncode == 0
    assert text_of(passed).split() == done.stdout.split()
    assert passed.structured_content["outcome"] == "pass"
    done = typed("undogmatic.cli", "gate", "card.json", "model=gpt-5", "--language", "en", "--json",
                 folder=folder)  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)) == (3, other.structured_content)
    assert not void.is_error and void.structured_content["outcome"] == "void"
    assert "exit status 3" in text_of(void)


@pytest.mark.parametrize("link", [False, True])
def test_nothing_outside_of_the_folder_is_read_and_nothing_in_it_is_written_over(
    link: bool, folder: Path
) -> None:
    outside = "link.csv" if link else "../secret.csv"
    if link:
        (folder / "link.csv").symlink_to("../secret.csv")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    put(folder / "drift.yaml", f"drift: {outside}\n")
    _, *answers = ask(
        folder,
        ("check", {"files": [outside]}),
        ("check", {"files": ["demo.csv"], "against": outside}),
        ("check", {"files": ["~/.bashrc"]}),
        ("label_queue", {"source": outside}),
        ("gate", {"card": outside}),
        ("gate", {"card": "demo.csv", "config": outside}),
        ("gate", {"card": "demo.csv", "config": "drift.yaml"}),
        ("gate", {"card": "demo.csv", "data": [outside]}),
        ("gate", {"card": "demo.csv", "judge": {"prompt": f"@{outside}"}}),
        ("check", CAREFUL | {"card": "../card.json"}),
    )
    for answer in answers:
        assert "lies outside of" in text_of(answer) and "nobody reads" not in text_of(
            answer
        )
    _, taken, wrong = ask(
        folder,
        ("check", CAREFUL | {"card": "undogmatic-gate.yaml"}),
        ("check", CAREFUL | {"card": "demo.csv"}),
    )
    assert taken.is_error and wrong.is_error
    assert (
        before.items()
        <= {path.name: path.read_bytes() for path in folder.iterdir()}.items()
    )
    assert not (folder.parent / "card.json").exists()


def test_what_is_wrong_is_said_in_a_sentence(folder: Path) -> None:
    put(folder / "broken.jsonl", '{"a": \n')
    _, missing, option, broken, none, too_many = ask(
        folder,
        ("check", {"files": ["dmeo.csv"]}),
        ("check", CAREFUL | {"options": {"jduge": "x"}}),
        ("check", {"files": ["broken.jsonl"]}),
        ("label_queue", {"source": "demo.csv", "by": "nope"}),
        ("label_queue", {"source": "demo.csv", "n": 101}),
    )
    assert missing.is_error and "Did you mean demo.csv?" in text_of(missing)
    assert option.is_error and "`jduge` is no option of a check" in text_of(option)
    assert broken.is_error and "broken.jsonl: the file holds no rows" in text_of(broken)
    assert none.is_error and "which is no column of demo.csv" in text_of(none)
    assert too_many.is_error and "less than or equal to 100" in text_of(too_many)


def labelled(path: Path, items: Iterable[str]) -> None:
    """Write labels as the page keeps them."""
    rows = [{"item": item, "rater": "ana", "label": "pass"} for item in items]
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(path, index=False)


def test_a_queue_is_that_of_the_label_page_without_what_has_a_label(
    folder: Path,
) -> None:
    frame = pd.read_csv(folder / "demo.csv")
    call = ("label_queue", {"source": "demo.csv", "n": 4, "by": "judge_careful"})
    _, answer = ask(folder, call)
    queue = answer.structured_content
    ids = [item["item"] for item in queue["items"]]
    of_judge = frame.set_index("item")["judge_careful"]
    assert sorted(of_judge[ids]) == ["fail", "fail", "pass", "pass"]
    assert queue["items"][0]["texts"] == {
        "text": frame.set_index("item")["text"][ids[0]]
    }
    assert "judge" not in json.dumps(queue["items"])
    assert queue["command"] == "undogmatic label demo.csv --random 4 --by judge_careful"
    assert queue["command"] in text_of(answer) and all(
        name in text_of(answer) for name in ids
    )

    labelled(folder / "demo.labels.csv", ids[:3])
    _, again = ask(folder, call)
    after = [item["item"] for item in again.structured_content["items"]]
    assert len(after) >= 4 and not set(ids[:3]) & set(after) and ids[3] in after
    assert again.structured_content["without_label"] == len(frame) - 3
    labelled(folder / "demo.labels.csv", frame["item"])
    _, nothing = ask(folder, call)
    assert nothing.structured_content["items"] == []
    assert text_of(nothing).endswith("Every item has a label already.")


def test_the_queue_of_an_instrument_test_has_no_copies(folder: Path) -> None:
    words = ["experiment=instrument", "model=patterns", "dataset.n=12", "tracking=none"]
    done = typed("undogmatic.run", *words, "hydra.run.dir=test", folder=folder)
    assert done.returncode == 0, done.stderr
    _, answer = ask(folder, ("label_queue", {"source": "test", "n": 5}))
    assert not answer.is_error, text_of(answer)
    queue = answer.structured_content
    assert queue["command"] == "undogmatic label test --random 5"
    assert queue["without_label"] == 12 and len(queue["items"]) == 5
    assert not any("+" in item["item"] for item in queue["items"])
    assert not (folder / "test" / "label_5_seed_0.jsonl").exists()


def test_the_queue_of_a_run_hides_what_the_run_hides(folder: Path) -> None:
    for name, redact in (("open", "false"), ("closed", "true")):
        words = ["model=patterns", "dataset=curated_development", "run.limit=20"]
        words += ["analysis=labelled", "tracking=none", f"tracking.redact={redact}"]
        config, choices = composed(words, ())
        run_experiment(config, choices, folder / name)
        put(folder / name / ".hydra" / "config.yaml", json.dumps(config))
    calls = [("label_queue", {"source": name, "n": 2}) for name in ("open", "closed")]
    _, shown, hidden = ask(folder, *calls)
    assert "score" not in json.dumps(shown.structured_content)
    assert "review export open --blind --all --budget 2" in text_of(shown)
    texts = [
        each.structured_content["items"][0]["texts"]["text"] for each in (shown, hidden)
    ]
    assert not texts[0].startswith("sha256:") and texts[1].startswith("sha256:")


def test_a_person_who_types_it_is_told_where_it_belongs(folder: Path) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "undogmatic.cli", "mcp"],
        cwd=folder, env=environment(), stdin=theirs, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "mcpServers" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_signal_ends_the_server_at_once(folder: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "undogmatic.cli", "mcp"],
        cwd=folder, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}}
    asked |= {"clientInfo": {"name": "test", "version": "0"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    server.stdin.write(f"{json.dumps(message)}\n")
    server.stdin.flush()
    assert (
        json.loads(server.stdout.readline())["result"]["serverInfo"]["name"]
        == "undogmatic"
    )
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == -signal.SIGTERM
    server.stdin.close()
    server.stdout.close()


def test_the_server_is_small() -> None:
    lines = Path(door.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 200

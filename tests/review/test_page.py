"""The page on which people label: what it tells, whom it answers, what it keeps; and a real browser on it."""

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.browser import CHROMIUM, browsing
from tests.conftest import Capture
from undogmatic.cli import main
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.rubric import NumericScale
from undogmatic.review.page import COLUMNS, Entry, Server, Sheet, read_entries, read_rubric, scale_of
from undogmatic.safety.paths import conf_folder


def sheet(tmp_path: Path, scale: str = "pass,fail", rater: str = "ana", n: int = 3) -> Sheet:
    entries = [Entry(f"i{k}", {"text": f"Text <b>{k}</b> & more"}, {"judge": "pass"}) for k in range(n)]
    return Sheet(entries, scale_of(scale), tmp_path / "labels.csv", rater)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(sheet(tmp_path)) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server: Server, path: str, body: Any = None, **headers: str | None) -> tuple[int, Any]:
    own: dict[str, str | None] = {"X-Token": server.token, "Host": f"127.0.0.1:{server.server_port}"}
    if body is not None:
        own["Origin"] = f"http://127.0.0.1:{server.server_port}"
    own |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in own.items() if value is not None}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", path, raw, sent)
    answer = connection.getresponse()
    told, kind = answer.read().decode(), answer.headers["Content-Type"]
    connection.close()
    return answer.status, json.loads(told) if "json" in kind else told


def test_what_the_judge_said_is_told_only_after_the_label(server: Server) -> None:
    before = ask(server, "/item?place=1")[1]
    assert before["said"] == {} and "pass" not in json.dumps(before)
    assert "said" not in ask(server, "/about")[1]
    status, after = ask(server, "/label", {"item": "i1", "label": "fail", "comment": "unsure"})
    assert status == 200 and after["item"]["said"] == {"judge": "pass"} and after["about"]["done"] == 1
    kept = pd.read_csv(server.sheet.out)
    assert kept[["item", "rater", "label", "comment"]].to_numpy().tolist() == [["i1", "ana", "fail", "unsure"]]
    assert ask(server, "/label", {"item": "i1", "label": None})[1]["about"]["done"] == 0
    assert len(pd.read_csv(server.sheet.out)) == 0


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/about", None, {"X_Token": "wrong"}),
        ("/about", None, {"X_Token": None}),
        ("/item?place=0", None, {"Host": "evil.example"}),
        ("/?token=wrong", None, {}),
        ("/label", {"item": "i0", "label": "pass"}, {"Origin": "http://evil.example"}),
        ("/label", {"item": "i0", "label": "pass"}, {"Origin": None}),
        ("/label", {"item": "i0", "label": "pass"}, {"Origin": "null"}),
        ("/label", {"item": "i0", "label": "pass"}, {"X_Token": None}),
    ],
)
def test_it_answers_to_its_own_page_alone(server: Server, path: str, body: Any, headers: dict[str, Any]) -> None:
    status, told = ask(server, path, body, **headers)
    assert status == 403 and "Text" not in json.dumps(told)
    assert not server.sheet.out.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"item": "i0", "label": "perhaps"}, "not one of"),
        ({"item": "nobody", "label": "pass"}, "there is no item"),
        ({"item": 3, "label": "pass"}, "no label"),
        (b"{", "not kept"),
        (b"\xff", "not kept"),
        ({"item": "i0", "label": "pass", "comment": [1]}, "comment"),
    ],
)
def test_what_is_no_label_is_refused_and_said(server: Server, body: Any, said: str) -> None:
    status, told = ask(server, "/label", body)
    assert status == 400 and said in told["error"]
    assert not server.sheet.out.exists()


def test_the_page_is_one_file_that_may_load_nothing(server: Server) -> None:
    status, page = ask(server, f"/?token={server.token}", X_Token=None)
    assert status == 200 and "NONCE" not in page and "http://" not in page and "https://" not in page
    assert ask(server, "/nothing")[0] == 404 and ask(server, "/item?place=3")[0] == 404


def test_a_second_rater_and_a_second_sitting_keep_what_is_there(tmp_path: Path) -> None:
    first = sheet(tmp_path)
    first.label("i0", "pass", '=1+1, "quoted"\nand a second line')
    second = sheet(tmp_path, rater="ben")
    second.label("i0", "fail")
    again = sheet(tmp_path)
    assert again.done == ["i0"] and again.shown(0)["comment"] == '=1+1, "quoted"\nand a second line'
    assert again.about()["next"] == 1
    again.label("i0", "fail")
    assert sorted(pd.read_csv(again.out)["label"]) == ["fail", "fail"]
    with pytest.raises(DataError, match=r"labels.csv:2.*not one of"):
        sheet(tmp_path, scale="good,bad")
    (tmp_path / "labels.csv").write_text("id,x\n1,2\n")
    with pytest.raises(DataError, match="no file of labels that this command wrote"):
        sheet(tmp_path)


def test_a_label_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    own = sheet(tmp_path)
    own.out = tmp_path / "gone" / "labels.csv"
    (tmp_path / "gone").write_text("a file where a folder should be")
    with pytest.raises(Exception, match="gone"):
        own.label("i0", "pass")
    assert own.done == []


@pytest.mark.parametrize(
    ("typed_scale", "span"),
    [("1-5", "1-5 in steps of 1"), ("0..100", "0-100"), ("bad<ok<good", "bad"), ("pass,fail", "pass")],
)
def test_scales_are_typed_in_a_word(typed_scale: str, span: str) -> None:
    assert span in scale_of(typed_scale).span()


@pytest.mark.parametrize("wrong", ["5-1", "a-b", "", "pass", "a,a", "<", "1..x"])
def test_what_is_no_scale_is_said_with_the_ways_to_write_one(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"--scale is .* Write it like one of these: 1-5"):
        scale_of(wrong)


def test_numbers_are_held_to_the_scale_and_kept_with_their_digits(tmp_path: Path) -> None:
    own = sheet(tmp_path, scale="0..1")
    own.label("i0", 0.123456)
    assert sheet(tmp_path, scale="0..1").shown(0)["label"] == "0.123456"
    with pytest.raises(ValueError, match="outside"):
        own.label("i1", 2)


def test_a_rubric_brings_scale_and_question() -> None:
    scale, questions = read_rubric(str(conf_folder() / "rubric" / "shame.yaml"))
    assert isinstance(scale, NumericScale) and set(questions) == {"en", "pt"}


def test_items_are_read_once_and_what_is_doubtful_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,question,response,judge\na,Why?,Because.,pass\na,Why?,Because.,fail\nb,How?,So.,pass\n")
    entries, said = read_entries(str(file), None, (), ["judge"])
    assert [finding.key for finding in said] == ["items.columns"]
    assert [entry.id for entry in entries] == ["a", "b"]
    assert list(entries[0].texts) == ["question", "response"] and entries[0].said == {"judge": "pass"}
    with pytest.raises(ConfigError, match=r"--text is 'x'.*Columns: id, question"):
        read_entries(str(file), None, ["x"], [])
    file.write_text("id,text\na,One.\na,Two.\n")
    with pytest.raises(DataError, match=r"t.csv:3.*a second time with other texts"):
        read_entries(str(file), None, (), [])
    file.write_text("x,y\n1,2\n")
    with pytest.raises(ConfigError, match=r"no column `text`, and none that seems to be it.*--text COLUMN"):
        read_entries(str(file), None, (), [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "t.csv"], "the file with the texts itself"),
        (["--scale", "1-5", "--rubric", "x.yaml"], "Leave one out"),
        (["--rubric", "x.yaml"], "does not exist"),
        (["--random", "7"], "--random is 7"),
        (["--port", "99999999"], "--port is 99999999"),
    ],
)
def test_what_was_typed_wrongly_is_said(words: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "t.csv").write_text("text\nOne text.\n")
    with contextlib.chdir(tmp_path), pytest.raises(SystemExit):
        main(["label", "t.csv", "--no-browser", *words])
    assert said in capsys.readouterr().err


async def _person(url: str) -> None:
    async with browsing(url) as browser:
        await browser.until("document.title === 'Item i0'")
        assert await browser.js("document.querySelector('article div').textContent") == "Text <b>0</b> & more"
        assert "pass" not in await browser.js("document.getElementById('said').textContent")
        await browser.key("1")
        await browser.until("document.getElementById('said').textContent.includes('judge: pass')")
        await browser.key("Enter")
        await browser.until("document.title === 'Item i1'")
        await browser.key("c")
        for letter in "c2":  # inside the comment keys are letters
            await browser.key(letter)
        await browser.key("Escape")
        await browser.key("2")
        await browser.until("document.getElementById('count').textContent === '2 of 3'")
        await browser.key("ArrowLeft")
        await browser.until("document.title === 'Item i0'")
        await browser.call("Page.reload")
        await browser.until("document.title === 'Item i2'")
        await browser.key("1")
        await browser.until("document.getElementById('message').textContent.startsWith('All items')")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian's package chromium)")
def test_a_person_labels_by_keyboard_in_chromium(server: Server) -> None:
    asyncio.run(_person(server.url))
    kept = pd.read_csv(server.sheet.out, keep_default_na=False)
    assert list(kept.columns) == list(COLUMNS)
    assert kept[["item", "label", "comment"]].to_numpy().tolist() == [
        ["i0", "pass", ""], ["i1", "fail", "c2"], ["i2", "pass", ""],
    ]  # fmt: skip

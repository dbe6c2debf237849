"""Several people and processes label into one file: nothing that one wrote is lost to another."""

import csv
import io
import multiprocessing
import socket
import stat
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import Capture, Patch, environment, put
from tests.review.test_page import serving, sheet
from undogmatic.cli import main
from undogmatic.errors import DataError, StorageError
from undogmatic.review import kept
from undogmatic.review.kept import COLUMNS

EACH = 20


def _label(folder: Path, rater: str, items: Sequence[int], start: Any) -> None:
    own = sheet(folder, rater=rater, n=2 * EACH)
    start.wait()
    for n in items:
        own.label(f"i{n}", "pass" if n % 2 else "fail")


@pytest.mark.parametrize(
    ("raters", "items"),
    [
        (("ana", "ben"), (range(EACH), range(EACH))),
        # one person in two windows
        (("ana", "ana"), (range(EACH), range(EACH, 2 * EACH))),
        (("ana", "ana"), (range(EACH), range(EACH))),  # who answers the same in both
    ],
)
def test_two_processes_lose_nothing(
    raters: Sequence[str], items: Sequence[range], tmp_path: Path
) -> None:
    context = multiprocessing.get_context(
        "fork" if sys.platform == "linux" else "spawn"
    )
    start = context.Barrier(2)
    pairs = zip(raters, items, strict=True)
    both = [
        context.Process(target=_label, args=(tmp_path, who, n, start))
        for who, n in pairs
    ]
    for each in both:
        each.start()
    for each in both:
        each.join(60)
        assert each.exitcode == 0
    rows = pd.read_csv(tmp_path / "labels.csv")
    wanted = {
        (f"i{n}", who) for who, own in zip(raters, items, strict=True) for n in own
    }
    assert sorted(zip(rows["item"], rows["rater"], strict=True)) == sorted(wanted)
    assert all(
        (label == "pass") == (int(item[1:]) % 2 == 1)
        for item, label in zip(rows["item"], rows["label"], strict=True)
    )


def test_rows_and_columns_that_a_colleague_adds_meanwhile_stay(tmp_path: Path) -> None:
    own = sheet(tmp_path)
    own.label("i0", "pass")
    file = tmp_path / "labels.csv"
    with file.open("a", encoding="utf-8") as added:
        # without an end
        added.write("i0,ben,fail\ni1,ben,pass,unsure,2026-01-01T00:00:00+00:00,,")
    own.label("i1", "fail")
    own.label("i0", "fail")  # another answer: the file is written anew
    rows = pd.read_csv(file, keep_default_na=False)
    assert list(rows.columns) == list(COLUMNS)
    assert rows[["item", "rater", "label", "comment"]].to_numpy().tolist() == [
        ["i0", "ana", "fail", ""],
        ["i0", "ben", "fail", ""],
        ["i1", "ben", "pass", "unsure"],
        ["i1", "ana", "fail", ""],
    ]


def test_a_spreadsheet_may_have_saved_the_file_in_its_own_way(tmp_path: Path) -> None:
    own = sheet(tmp_path)
    own.label("i0", "pass", "as it was")
    file = tmp_path / "labels.csv"
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    told = io.StringIO()
    names = ["label", "item", "rater", "comment", "labelled_at", "group of ben"]
    writer = csv.DictWriter(
        told, names, delimiter=";", extrasaction="ignore", lineterminator="\r\n"
    )
    writer.writeheader()
    writer.writerows(
        [
            rows[0] | {"group of ben": "3"},
            {"label": "fail", "item": "i2", "rater": "ben"},
        ]
    )
    file.write_text("\ufeff" + told.getvalue(), encoding="utf-8", newline="")
    own.label("i1", "fail")
    own.label("i0", "fail")
    now = pd.read_csv(file, keep_default_na=False)
    assert list(now.columns) == [*names, "text_digest", "text_columns"]
    assert now[["item", "rater", "label", "group of ben"]].to_numpy().tolist() == [
        ["i0", "ana", "fail", "3"],
        ["i2", "ben", "fail", ""],
        ["i1", "ana", "fail", ""],
    ]


def test_what_another_program_saved_over_is_written_again(tmp_path: Path) -> None:
    own = sheet(tmp_path)
    own.label("i0", "pass")
    file = tmp_path / "labels.csv"
    older = file.read_bytes()
    own.label("i1", "pass")
    file.write_bytes(older)  # a spreadsheet that had opened the file before
    own.label("i2", "fail")
    assert pd.read_csv(file)["item"].tolist() == ["i0", "i1", "i2"]


def test_what_is_taken_back_in_one_window_is_not_brought_back_by_the_other(
    tmp_path: Path,
) -> None:
    one, other = sheet(tmp_path), sheet(tmp_path)
    one.label("i0", "pass")
    other.label("i0", None)
    one.label("i1", "pass")
    assert sheet(tmp_path).done == ["i1"]
    assert pd.read_csv(tmp_path / "labels.csv")["item"].tolist() == ["i0", "i1"]


def test_the_last_answer_of_one_rater_counts_and_it_is_said(tmp_path: Path) -> None:
    one, other = sheet(tmp_path), sheet(tmp_path)
    assert one.label("i0", "pass").replaced is None
    assert other.label("i0", "fail").replaced == "pass"
    # the page has seen what it replaces
    assert one.label("i0", "pass", was="fail").replaced is None
    assert other.label("i0", "pass").replaced is None  # it is the same answer
    assert (one.replaced, other.replaced) == (0, 1)
    # that of another
    assert sheet(tmp_path, rater="ben").label("i0", "fail").replaced is None
    numbers = sheet(tmp_path / "numbers", scale="1-5")
    numbers.label("i0", 3)
    assert numbers.label("i0", 4, was="3.0").replaced is None


def test_a_file_whose_name_is_a_link_and_its_mode_stay(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "labels.csv").symlink_to(shared / "labels.csv")
    own = sheet(tmp_path)
    own.label("i0", "pass")
    (shared / "labels.csv").chmod(0o664)
    own.label("i0", "fail")
    assert (tmp_path / "labels.csv").is_symlink()
    assert pd.read_csv(shared / "labels.csv")["label"].tolist() == ["fail"]
    assert stat.S_IMODE((shared / "labels.csv").stat().st_mode) == 0o664


def test_a_lock_that_is_never_let_go_is_said(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    own, other = sheet(tmp_path), sheet(tmp_path)
    monkeypatch.setattr(kept, "SECONDS", 0.05)
    with (
        own.file._locked(),
        pytest.raises(StorageError, match=r"another process has held .*lock"),
    ):
        other.label("i0", "pass")
    other.label("i0", "pass")
    assert sheet(tmp_path).done == ["i0"]


def test_a_file_that_is_no_sheet_any_more_takes_no_label(tmp_path: Path) -> None:
    own = sheet(tmp_path)
    own.label("i0", "pass")
    put(tmp_path / "labels.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match="no file of labels that this command wrote"):
        own.label("i1", "pass")
    assert (tmp_path / "labels.csv").read_text() == "a,b\n1,2\n" and own.done == ["i0"]


def test_a_browser_that_goes_away_prints_no_traceback(
    tmp_path: Path, capfd: Capture
) -> None:
    with serving(sheet(tmp_path)) as server:
        for request in (
            b"GET /about HTTP/1.1\r\n",
            b"GET /?token=x HTTP/1.0\r\n\r\n",
            b"POST /label",
        ):
            with socket.create_connection(("127.0.0.1", server.server_port)) as browser:
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # it is reset, not closed
                browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                browser.sendall(request)
        time.sleep(0.2)
        for error in (BrokenPipeError(), ConnectionResetError(), TimeoutError()):
            try:
                raise error
            except OSError:
                server.handle_error(None, ("127.0.0.1", 1))
    assert capfd.readouterr().err == ""
    with serving(sheet(tmp_path)) as server:
        try:
            raise KeyError("a fault of ours")
        except KeyError:
            server.handle_error(None, ("127.0.0.1", 1))
    assert "a fault of ours" in capfd.readouterr().err


def test_the_token_is_on_no_command_line(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    """A browser's command line can be read by everybody on the machine."""
    monkeypatch.chdir(tmp_path)
    put(Path("t.csv"), "text\nOne text.\n")
    opened = list[str]()
    told = list[str]()

    def browser(url: str) -> bool:
        opened.append(url)
        door = Path(url.removeprefix("file://"))
        told.append(door.read_text())
        assert stat.S_IMODE(door.stat().st_mode) == 0o600
        return True

    monkeypatch.setattr(webbrowser, "open_new_tab", browser)
    monkeypatch.setattr(
        "undogmatic.review.page.Server.serve_forever", lambda server: None
    )
    main(["label", "t.csv"])
    (url,) = opened
    token = told[0].partition("token=")[2].partition('"')[0]
    assert url.startswith("file://") and len(token) > 30 and token not in url
    # on the terminal alone, for a browser that is opened by hand
    assert token in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


def test_the_file_that_leads_to_the_page_is_gone_once_it_is_open(
    tmp_path: Path,
) -> None:
    from tests.review.test_page import ask

    with serving(sheet(tmp_path)) as server:
        door = server.open_door()
        assert ask(server, "/?token=wrong", X_Token=None)[0] == 403 and door.exists()
        assert ask(server, f"/?token={server.token}", X_Token=None)[0] == 200
        until = time.monotonic() + 20  # it is removed once the page is sent
        while door.exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert not door.exists()


def test_two_commands_at_once_keep_what_both_are_told(tmp_path: Path) -> None:
    """As two people do it: two commands, two pages, one file."""
    import http.client
    import json

    rows = "".join(f"Text {n}.\n" for n in range(2 * EACH))
    put(tmp_path / "t.csv", "text\n" + rows)
    tool = [
        sys.executable,
        "-m",
        "undogmatic.cli",
        "label",
        "t.csv",
        "--no-browser",
        "--rater",
    ]
    commands = [
        subprocess.Popen(
            [*tool, who],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in ("ana", "ben")
    ]
    try:
        addresses = []
        for command in commands:
            assert command.stdout is not None
            line = next(line.strip() for line in command.stdout if "http://" in line)
            addresses.append(line)

        def send(address: str) -> None:
            host, _, token = address.removeprefix("http://").partition("/?token=")
            for n in range(EACH):
                connection = http.client.HTTPConnection(host, timeout=30)
                headers = {"X-Token": token, "Origin": f"http://{host}"}
                body = json.dumps({"item": f"row {n + 1}", "label": "pass"})
                connection.request("POST", "/label", body, headers)
                assert connection.getresponse().status == 200
                connection.close()

        people = [
            threading.Thread(target=send, args=(address,)) for address in addresses
        ]
        for each in people:
            each.start()
        for each in people:
            each.join()
    finally:
        for command in commands:
            command.terminate()
        told = [command.communicate(timeout=30)[0] for command in commands]
    for each in told:
        assert (
            "20 of 40 items are labelled" in each
            and "No judge can be checked by them yet" in each
        ), each
    kept_rows = pd.read_csv(tmp_path / "t.labels.csv")
    assert kept_rows.groupby("rater")["item"].nunique().to_dict() == {
        "ana": EACH,
        "ben": EACH,
    }
    assert len(kept_rows) == 2 * EACH

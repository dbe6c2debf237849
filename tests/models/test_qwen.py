import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from undogmatic.errors import ConfigError, StorageError
from undogmatic.models import qwen
from undogmatic.models.qwen import File, Published, downloaded, published
from undogmatic.safety.paths import cache_folder

REVISION = "0" * 40
CONTENT = {
    "a-1.gguf": b"GGUF" + bytes(range(256)) * 4000,
    "a-2.gguf": b"GGUF" + b"second part",
}


class Hub(ThreadingHTTPServer):
    """Serves files as the hub does, by ranges as well; `cut` breaks the first answer off in the
    middle."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.cut, self.ranges = dict(CONTENT), False, list[str]()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def do_HEAD(self) -> None:
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(None)

    def answer(self, instead: bytes | None) -> None:
        name = self.path.rpartition("/")[2]
        if f"/resolve/{REVISION}/" not in self.path or name not in self.server.content:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        whole = self.server.content[name]
        start = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
        body = whole[int(start[1]) :] if start else whole
        self.send_response(206 if start else 200)
        if start:
            self.server.ranges.append(start[1])
            self.send_header(
                "Content-Range", f"bytes {start[1]}-{len(whole) - 1}/{len(whole)}"
            )
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha256(whole).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if instead is None:
            if self.server.cut and not start:
                self.server.cut = False
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
                return
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on this machine, with a model of two files."""
    parts = tuple(
        File(n, len(c), hashlib.sha256(c).hexdigest()) for n, c in CONTENT.items()
    )
    monkeypatch.setattr(
        qwen,
        "published",
        lambda: {"0.5b": Published("0.5b", "Qwen/Small", REVISION, parts)},
    )
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        yield server
        server.shutdown()
        thread.join()


def test_all_files_are_downloaded_once_with_progress(
    hub: Hub, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TQDM_POSITION", "-1")  # shows it without a terminal, too
    first = downloaded("0.5b")
    assert first == cache_folder() / "qwen" / "a-1.gguf"
    assert {name: (first.parent / name).read_bytes() for name in CONTENT} == CONTENT
    told = capfd.readouterr().err
    assert "Downloading a-1.gguf" in told and "no key is needed" in told
    assert "100%" in told
    hub.content.clear()  # nothing is asked for a second time
    assert downloaded("0.5b") == first
    assert capfd.readouterr().err == ""


def test_a_download_that_broke_off_goes_on_where_it_ended(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.cut = True
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    assert downloaded("0.5b").read_bytes() == CONTENT["a-1.gguf"]
    assert [int(start) > 0 for start in hub.ranges] == [True]


def test_another_file_than_expected_is_removed_and_the_next_try_may_succeed(
    hub: Hub,
) -> None:
    hub.content["a-2.gguf"] = b"GGUF" + b"SECOND PART"
    with pytest.raises(
        ConfigError,
        match=r"a-2.gguf is not the file .* SHA-256 expected \w+, found \w+. It was removed",
    ):
        downloaded("0.5b")
    assert sorted(path.name for path in (cache_folder() / "qwen").glob("a-*")) == [
        "a-1.gguf",
        "a-1.gguf.sha256.json",
    ]
    hub.content["a-2.gguf"] = CONTENT["a-2.gguf"]
    assert downloaded("0.5b").is_file()


@pytest.mark.parametrize("case", ["gone", "offline"])
def test_what_cannot_be_downloaded_is_said_once_with_the_ways_on(
    hub: Hub, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.content.clear()
    if case == "offline":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError) as caught:
        downloaded("0.5b")
    told = str(caught.value)
    assert {"gone": "404", "offline": "offline mode"}[case] in told
    assert f"hf download Qwen/Small a-1.gguf a-2.gguf --revision {REVISION}" in told
    assert "model.path=FILE" in told and "model=local" in told


def test_a_full_disk_is_told_before_the_download(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(StorageError, match="choose a smaller"):
        downloaded("0.5b")


@pytest.mark.parametrize(
    ("size", "why"),
    [("3b", "Qwen Research licence"), ("14b", "there are 0.5b, 1.5b, 7b")],
)
def test_other_sizes_are_refused(size: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        downloaded(size)


def test_every_size_is_pinned() -> None:
    for size in published().values():
        assert re.fullmatch("[0-9a-f]{40}", size.revision)
        assert all(
            re.fullmatch("[0-9a-f]{64}", f.sha256) and f.bytes > 10**8
            for f in size.files
        )


def test_the_file_of_another_path_is_loaded_and_asked_as_a_chat(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`model.path` is .* does not exist"):
        qwen.QwenModel(path=str(tmp_path / "nowhere.gguf"))

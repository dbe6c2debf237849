"""A fake chat model and small builders that most tests share. Nothing here touches the network or
the user's cache."""

from tests import bytecode, scratch  # first, for what follows is compiled and may write

# isort: split
import asyncio
import functools
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dspy
import pytest
from threadpoolctl import threadpool_limits

from undogmatic.models import pace
from undogmatic.models.base import Model
from undogmatic.models.calls import Reply, rollout
from undogmatic.models.hosted import Tokens, settled
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.base import Readout
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Provenance, Verdict
from undogmatic.records.rubric import Anchors, NumericScale, Rubric, Wording
from undogmatic.runs import claim
from undogmatic.safety import command, secrets
from undogmatic.safety.paths import conf_folder

Patch, Capture = pytest.MonkeyPatch, pytest.CaptureFixture[str]


# what is imported and collected stays to the end: looking through it takes a third of the time it
# takes
gc.disable()


GARBAGE = (20_000, 20, 20)  # Python's own are 700, 10, 10


def pytest_unconfigure() -> None:
    bytecode.forget()
    scratch.forget()


def pytest_collection_finish() -> None:
    """What is there by now is never looked through again for what nobody needs any more, and what
    comes later less often than usual: each config that is composed makes ten thousands of objects
    that live on for a moment, and looking through them took a quarter of the time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.fixture(autouse=True, scope="session")
def _one_thread_of_linear_algebra() -> Iterator[None]:
    """Two workers with two threads each wait for one another; what tests start in other processes
    inherits it. Embeddings read with as many threads as OpenMP has."""
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever a server refuses waits a hundredth of what a real one is given, and then asks a
    hundred times as often: the waits double and the rates halve as ever, and the tests do not spend
    minutes in them."""
    monkeypatch.setattr(pace, "_FIRST_WAIT", pace._FIRST_WAIT / 100)
    monkeypatch.setattr(pace, "_LONGEST_WAIT", pace._LONGEST_WAIT / 100)
    monkeypatch.setattr(pace, "_LOWEST", pace._LOWEST * 100)


@pytest.fixture
def stub(short_waits: None) -> Iterator[Any]:
    """A server that judges, and misbehaves as it is told to."""
    from tests.stub_server import StubServer

    with StubServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _nothing_known_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test knows its own secrets alone and begins with exit status 0: both are for the life of
    a process."""
    monkeypatch.setattr(secrets, "_kept", {})
    monkeypatch.setattr(secrets, "_forms", {})
    monkeypatch.setattr(command, "_noted", [])


@pytest.fixture(autouse=True)
def _no_claims_left() -> Iterator[None]:
    """What a test has claimed in this process it lets go, as a command does at its end."""
    yield
    for each in list(claim._held.values()):
        claim.let_go(each.folder)


@pytest.fixture(autouse=True)
def _own_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Every test has its own folder and cache; only tests of the embedded model share the assembled
    file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LLM_PROVIDER", raising=False)
    if request.node.get_closest_marker("local_model") is None:
        monkeypatch.setenv("UNDOGMATIC_CACHE", str(tmp_path / "cache"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2 --dist loadgroup` one worker alone gets all tests of the embedded model, which
    takes both cores."""
    for item in items:
        if item.get_closest_marker("local_model") is not None:
            item.add_marker(pytest.mark.xdist_group("local_model"))


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh MLflow database; making one takes seconds, copying it none."""
    from undogmatic.tracking.store import prepare_environment

    prepare_environment()
    from mlflow import MlflowClient

    file = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{file}", f"sqlite:///{file}")
    return file


def environment(**more: str) -> dict[str, str]:
    """Says no more to a command than where the package lies."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("UNDOGMATIC_ALLOW", "HYDRA"))
    }
    return (
        inherited | {"PYTHONPATH": str(conf_folder().parent), "COLUMNS": "120"} | more
    )


def typed(*words: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """`python -m WORDS` in a folder, to its end; of this package in a process that has the
    libraries already."""
    known, line = environment(**more), [sys.executable, "-m", *words]
    if not words[0].startswith("undogmatic.") or "PYTHONPATH" in more:
        return subprocess.run(
            line,
            cwd=folder,
            env=known,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as made:
        printed = [Path(made, name) for name in ("stdout", "stderr")]
        order = [words, str(folder.absolute()), known, list(map(str, printed))]
        server.stdin.write(f"{json.dumps(order)}\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], 300)[0]:
            os.killpg(server.pid, signal.SIGKILL)
            _server.cache_clear()
            raise subprocess.TimeoutExpired(line, 300)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(
            line, status, *(path.read_text("utf-8") for path in printed)
        )


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The process from which commands are forked; it ends when its input is closed, as at the end
    of the tests."""
    line, pipe = (
        [sys.executable, "-P", str(Path(__file__).with_name("forked.py"))],
        subprocess.PIPE,
    )
    return subprocess.Popen(
        line,
        env=environment(),
        stdin=pipe,
        stdout=pipe,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(autouse=True, scope="session")
def _end_of_the_server() -> Iterator[None]:
    yield
    if _server.cache_info().currsize:
        server = _server()
        server.communicate(timeout=60)


def put(path: Path, content: str | Iterable[Mapping[str, Any]]) -> Path:
    """A file with this text or with these rows, as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (
        content
        if isinstance(content, str)
        else "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in content)
    )
    path.write_text(text, encoding="utf-8")
    return path


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


REFERENCE = Path(__file__).parents[2] / "shared" / "data"
_UNREAD = "no reference data: "


def reference(name: str) -> Path:
    """A file of the reference data, which is no part of the repository; without it the test is
    skipped, and the last lines of the run say so."""
    path = REFERENCE / name
    if not path.is_file():
        pytest.skip(f"{_UNREAD}{name}")
    return path


def reference_rows(name: str) -> list[dict[str, Any]]:
    """The rows of one of its files of JSON Lines."""
    return rows_in(reference(name))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the checks that were skipped for want of reference data, and say where it belongs."""
    reasons = [
        report.longrepr[2]
        for report in terminalreporter.stats.get("skipped", ())
        if report.longrepr
    ]
    unread = [reason.partition(_UNREAD)[2] for reason in reasons if _UNREAD in reason]
    if unread:
        terminalreporter.write_line(
            f"Skipped for want of reference data ({len(unread)}): {', '.join(sorted(set(unread)))}"
            f" not found. The cases are not published; with a copy of them in {REFERENCE} the"
            " checks run."
        )


class FakeChat(Model):
    """Answers by a function of the judged text; counts what it was asked. Goes through the gateway
    like any model.

    Args:
        answer: Last user message -> (text, logprobs of the first token or None).
    """

    name = "fake-chat"
    readouts: tuple[str, ...] = ("structured", "logprobs", "samples")
    tokens = Tokens(10, 5)

    def __init__(
        self,
        answer: Callable[[str], tuple[str, dict[str, float] | None]] | None = None,
        base: bool = False,
    ) -> None:
        self.answer, self.base = answer, base
        self.requests: list[dict[str, Any]] = []

    async def complete(self, request: Any) -> Any:
        messages = [{"role": m.role, "content": m.text or ""} for m in request.messages]
        payload = {
            "system": request.system,
            "messages": messages,
            "config": repr(request.config),
        }

        async def send() -> Reply:
            self.requests.append(payload)
            text, odds = self.answered(payload, request)
            return Reply(
                {"text": text, "odds": odds},
                input_tokens=self.tokens.input,
                output_tokens=self.tokens.output,
            )

        said = (await self.gateway.call(self.name, payload, send)).data
        return settled(
            {},
            "fake",
            said["text"],
            self.tokens,
            logprobs=tuple(map(token, said["odds"])) or None,
        )

    def answered(
        self, payload: dict[str, Any], request: Any
    ) -> tuple[str, list[dict[str, float]]]:
        """What it says, and the log-probabilities at each of its tokens."""
        assert self.answer is not None
        text, odds = self.answer(payload["messages"][-1]["content"])
        return text, [odds] if odds else []


def token(odds: Mapping[str, float]) -> Any:
    """The likeliest of some tokens, as a model tells of it: with the log-probabilities of all."""
    from dspy.lm15 import TokenLogprob, TopLogprob

    top = tuple(
        TopLogprob(token=each, logprob=logprob) for each, logprob in odds.items()
    )
    best = max(top, key=lambda each: each.logprob)
    return TokenLogprob(token=best.token, logprob=best.logprob, top=top)


def reading_of(
    readout: Readout, model: Model, item: Item | None = None, repeat: int = 0
) -> Verdict:
    """What a bound readout reads of an item, with this model in charge."""

    async def ask() -> Verdict:
        with rollout(repeat):
            found: Verdict = (
                await readout.acall(item=item or Item(id="a", text="t"))
            ).verdict
            return found

    with dspy.context(lm=LanguageModel(model)):
        return asyncio.run(ask())


def good_answer(
    score: float, confidence: float = 80, rationale: str = "porque sim"
) -> str:
    """A valid structured answer."""
    return json.dumps(
        {"shame_score": score, "confidence": confidence, "rationale": rationale}
    )


WORDING = Wording(
    definition="what it is",
    question="how much?",
    meanings=("none", "little", "half", "much", "all"),
)
RUBRIC = Rubric(
    name="toy",
    scale=NumericScale(minimum=0, maximum=100),
    guide=Anchors(at=(0, 25, 50, 75, 100)),
    direction="higher_is_worse",
    score_field="shame_score",
    wordings={"pt": WORDING, "en": WORDING},
)
PROMPT = Prompt(id="toy", language="en", instructions="Judge the text.")


@pytest.fixture
def rubric() -> Rubric:
    return RUBRIC


@pytest.fixture
def prompt() -> Prompt:
    return PROMPT


@pytest.fixture
def provenance() -> Provenance:
    return Provenance(
        model="fake-chat",
        readout="structured",
        prompt="toy",
        prompt_hash="p",
        program_hash="g",
        config_hash="c",
    )

"""The `undogmatic` command and `python -m undogmatic.run` as a user types them, and `undogmatic
ui`."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import Capture, Patch, environment, put, typed
from tests.stub_server import KEY, Fault, StubServer
from undogmatic.api import ScoreResult
from undogmatic.cli import main
from undogmatic.cli.doors import serve, server_command
from undogmatic.cli.score import _in_words, in_language
from undogmatic.errors import ConfigError
from undogmatic.safety.paths import data_folder


@pytest.fixture(autouse=True)
def _key(monkeypatch: Patch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_score_prints_a_number_for_a_text_and_for_a_file(
    tmp_path: Path, capsys: Capture
) -> None:
    main(["score", "Aplica-se o Tema 69 do STF.", "model=patterns"])
    assert 60 < float(capsys.readouterr().out.split()[0]) <= 100
    put(tmp_path / "t.csv", "id,text\na,Tema 69.\nb,Não deve porque pagou.\n")
    main(["score", "--file", "t.csv", "--json", "model=patterns"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"]
    assert rows[0]["score"] > rows[1]["score"]


def test_pairs_writes_the_shipped_pairs(tmp_path: Path, capsys: Capture) -> None:
    main(["pairs", "--out", "mine.jsonl"])
    assert "pairs" in capsys.readouterr().out
    assert (tmp_path / "mine.jsonl").read_text() == (
        data_folder() / "curated" / "ab_pairs.jsonl"
    ).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score"], "nothing to score"),
        (
            ["score", "--file", "none.jsonl"],
            "`--file` is 'none.jsonl', which does not exist",
        ),
        (["score", "x", "model=nope"], "`model` has no option 'nope'"),
        (["score", "  ", "model=patterns"], "`text` is empty"),
        (
            ["score", "notas.csv"],
            "looks like a file's name. To score what is in it: undogmatic score --file notas.csv",
        ),
        (
            ["score", "notas.docx"],
            "save it as .csv, .tsv, .xlsx, .ods, .xls, .jsonl, .json, .parquet or .txt first",
        ),
        (["score", "."], "is the name of a folder"),
        (
            ["score", "model=gpt"],
            'Put the text first: undogmatic score "text" model=gpt',
        ),
        (
            ["score", "--input", "text=notas.txt"],
            "To judge what is in the file: --input text=@notas.txt",
        ),
        (["pairs", "none.jsonl"], "does not exist"),
        (
            ["review", "import", "run"],
            "no labels are named; give one of them: a filled file, or --from-mlflow",
        ),
        (
            ["review", "import", "run", "--from-mlflow", "f.csv"],
            "LABELS is 'f.csv' and --from-mlflow is given",
        ),
        (
            ["review", "import", "nowhere", "--from-mlflow"],
            "RUN is 'nowhere', which is not a folder",
        ),
    ],
)
def test_what_a_user_mistypes_is_one_message(
    words: list[str], said: str, capsys: Capture
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(words)
    printed = capsys.readouterr().err
    assert said in printed and "Traceback" not in printed


def test_version_names_what_it_runs_on(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])
    assert "undogmatic" in capsys.readouterr().out


MISTAKES = {
    "model=nope": "`model` has no option 'nope' (you typed model=nope)",
    "+typo=1 model=patterns": "`typo` is not a known key",
    "dataset=texts dataset.path=none.jsonl model=patterns": "which does not exist",
    "dataset=texts dataset.path=broken.jsonl model=patterns": "Every line must be one JSON object",
    "dataset=texts model=patterns": "`dataset.path` is required",
    "model=patterns hydra.job_logging.root.level=NOPE": "Unknown level: 'NOPE'",
    "model=patterns ++judge._target_=undogmatic.judges.base.Judge": (
        "only says what such a class must"
    ),
    "++model._target_=undogmatic.models.base.Model": (
        "only says what such a class must be able to do"
    ),
    "++dataset._target_=undogmatic.datasets.base.Dataset model=patterns": (
        "only says what such a class must"
    ),
    "-m model=nope,patterns": "`model` has no option 'nope' (you typed model=nope,patterns)",
    "-m model=patterns model.typo=1,2": "`model.typo` is not a known key",
    "-m model=patterns,tfidf dataset=texts dataset.path=none.jsonl": "which does not exist",
    "-m model=patterns,tfidf dataset=texts": "`dataset.path` is required",
    "-m model=patterns dataset=texts,my dataset.path=none.jsonl": "which does not exist",
    "-m model=nope,patterns hydra/sweeper=optuna dataset=labelled": "`model` has no option 'nope'",
    "-m model=patterns,nope hydra/sweeper=optuna dataset=labelled": "`model` has no option 'nope'",
    "-m model=patterns,tfidf hydra/sweeper=optuna dataset.split=test": (
        "a search takes development texts"
    ),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_run_with_a_mistake_ends_without_a_traceback_and_leaves_nothing(
    words: str, tmp_path: Path
) -> None:
    put(tmp_path / "broken.jsonl", "no JSON")
    done = typed("undogmatic.run", *words.split(), folder=tmp_path)
    left = [path.name for path in tmp_path.iterdir()]
    assert (done.returncode, "Traceback" in done.stderr, left) == (
        2,
        False,
        ["broken.jsonl"],
    ), done.stderr
    assert MISTAKES[words] in done.stderr


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_terminated_and_a_killed_run_resume_to_the_same_scores(
    stub: StubServer, tmp_path: Path
) -> None:
    """SIGTERM, then `run.resume`; meanwhile nobody else may; kill -9, then again: same scores,
    nothing judged twice."""
    stub.latency = 0.03
    words = [
        "undogmatic.run",
        "model=gpt",
        f"model.api_base={stub.url}/v1",
        "run.limit=24",
        "analysis=none",
    ]
    words += ["tracking=none", "engine.cache=false", "engine.concurrency=1"]
    folder, journal = tmp_path / "cut", tmp_path / "cut" / "judgments.jsonl"

    def start(lines: int, *more: str) -> subprocess.Popen[str]:
        line, quiet = [sys.executable, "-m", *words, *more], subprocess.DEVNULL
        known = environment()
        process = subprocess.Popen(
            line,
            cwd=tmp_path,
            env=known,
            text=True,
            stdout=quiet,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 120
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= lines):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        return process

    terminated = start(3, "hydra.run.dir=cut")
    terminated.send_signal(signal.SIGTERM)
    said = terminated.communicate()[1]
    assert terminated.returncode == 143
    assert said.endswith(
        "interrupted: continue with the same command and run.resume=cut\n"
    ), said

    killed = start(8, "run.resume=cut")
    killed.send_signal(signal.SIGSTOP)
    before = contents(folder)
    second = typed(*words, "run.resume=cut", folder=tmp_path)
    assert second.returncode == 2 and second.stderr.startswith(
        "error: another process is at work in cut."
    )
    assert contents(folder) == before
    killed.kill()
    killed.communicate()
    assert journal.read_bytes().count(b"\n") < 24

    resumed = typed(*words, "run.resume=cut", folder=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert len(journal.read_text().splitlines()) == 24
    whole = typed(*words, "hydra.run.dir=whole", folder=tmp_path)
    assert whole.returncode == 0, whole.stderr
    tables = [
        (tmp_path / name / "scores.csv").read_text().splitlines()
        for name in ("whole", "cut")
    ]
    # without `seconds`
    whole_run, cut_run = ([line.split(",")[:6] for line in table] for table in tables)
    assert whole_run == cut_run


def test_whoever_reads_what_is_printed_may_go_away(tmp_path: Path) -> None:
    words = f"{sys.executable} -m undogmatic.run model=patterns tracking=none analysis=none run.limit=3"
    for shell, status in (
        (f"{words} hydra.run.dir=a 2>&1 | true", 0),
        (f"{words} hydra.run.dir=b >/dev/full", 3),
    ):
        line = ["bash", "-o", "pipefail", "-c", shell]
        done = subprocess.run(
            line, cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert (
            done.returncode,
            "Traceback" in done.stderr,
            "Exception ignored" in done.stderr,
        ) == (status, 0, 0)
    assert json.loads((tmp_path / "a" / "run.json").read_text())["status"] == "finished"
    assert "stdout cannot be written" in done.stderr


def test_a_score_comes_with_what_the_style_says_of_its_doubt(capsys: Capture) -> None:
    overrides = ["model=patterns", "judge=panel", "judge.members=[score]"]
    main(["score", "Aplica-se o Tema 69 do STF.", *overrides])
    assert "uncertainty low" in capsys.readouterr().out
    main(["score", "Aplica-se o Tema 69 do STF.", "--json", *overrides])
    found = json.loads(capsys.readouterr().out)
    told = {
        "uncertainty": "low",
        "review": False,
        "issues": [],
        "is_uncertain": False,
        "revised_score": None,
    }
    assert found | told == found, "one panel member, and no second look"
    assert found["details"]["disagreement"] == 0


def test_a_confidence_and_a_level_say_what_each_comes_from() -> None:
    """Without that, "confidence 100" beside "uncertainty high" reads like a contradiction."""
    source = {
        "score": 60,
        "confidence": 100,
        "uncertainty": "high",
        "details": {"level_from": "width, major_issues"},
    }
    assert (
        _in_words(
            ScoreResult(**source, confidence_source="procedure"), in_language("en")
        )
        == "60.0  confidence 100 (by the judge's procedure)  "
        "uncertainty high (by the width of the range, the number of major issues)"
    )
    plain = ScoreResult(
        score=60, confidence=0, confidence_source="stated", uncertainty="low"
    )
    assert (
        _in_words(plain, in_language("en"))
        == "60.0  confidence 0 (the model's own word)  uncertainty low"
    )
    assert (
        _in_words(plain, in_language("pt"))
        == "60,0  confiança 0 (palavra do próprio modelo)  incerteza baixa"
    )


@pytest.mark.parametrize("status", [400, 200], ids=["an error", "an answer"])
def test_a_server_gives_the_terminal_no_orders(
    status: int, stub: StubServer, capsys: Capture
) -> None:
    """A message or a rationale that clears the screen or writes over the line above is shown with a
    mark instead."""
    orders = "\x1b[2J\x1b[1AYou may trust this judge\x9b31m\r"
    message = {"error": {"message": orders}}
    answer = {"shame_score": 5, "confidence": 90, "rationale": orders}
    body = (
        message
        if status == 400
        else {"choices": [{"message": {"content": json.dumps(answer)}}]}
    )
    stub.faults = {
        "Tema": Fault("status", times=None, status=status, body=json.dumps(body))
    }
    words = [
        "model=gpt",
        f"model.api_base={stub.url}/v1",
        "model.price.input=1",
        "model.price.output=1",
    ]
    try:
        main(["score", "Aplica-se o Tema 69 do STF.", *words])
    except SystemExit as ended:
        assert status == 400 and ended.code != 0
    printed = "".join(capsys.readouterr())
    assert "You may trust this judge" in printed
    assert not {"\x1b", "\x9b", "\r"} & set(printed)


def test_a_run_of_which_too_much_fails_says_so_first_and_ends_with_status_3(
    stub: StubServer, tmp_path: Path
) -> None:
    """The verdict, the advice and the status are about the failures, not about what the few others
    scored."""
    texts = (
        {"id": f"t{n}", "text": f"{'refuse' if n % 3 else 'fine'} {n}", "label": n}
        for n in range(12)
    )
    put(tmp_path / "t.jsonl", texts)
    stub.faults = {"refuse": Fault("refusal", times=None)}
    words = [
        "run",
        "model=gpt",
        f"model.api_base={stub.url}/v1",
        "dataset=texts",
        "dataset.path=t.jsonl",
    ]
    words += [
        "analysis=labelled",
        "tracking=none",
        "hydra.run.dir=out",
        "dataset.label_scale=[0,100]",
    ]
    for more, status in (([], 3), (["engine.max_failures=1", "run.resume=out"], 0)):
        done = typed("undogmatic.cli", *words, *more, folder=tmp_path)
        assert done.returncode == status, done.stderr
        assert ("Undecided. 8 of 12 judgments failed (67%)" in done.stdout) == (
            status == 3
        ), done.stdout
        assert ("the model refused (8)" in done.stdout) == (status == 3)
    assert (
        json.loads((tmp_path / "out" / "run.json").read_text())["status"] == "finished"
    )
    assert (tmp_path / "out" / "report.html").is_file()


def test_what_was_changed_in_a_journal_is_named_with_its_item(tmp_path: Path) -> None:
    put(
        tmp_path / "t.jsonl",
        [{"id": "a", "text": "Tema 69."}, {"id": "b", "text": "Porque."}],
    )
    words = (
        "undogmatic.run model=patterns dataset=texts dataset.path=t.jsonl analysis=none"
        " tracking=none".split()
    )
    assert typed(*words, "hydra.run.dir=out", folder=tmp_path).returncode == 0
    journal = tmp_path / "out" / "judgments.jsonl"
    first, rest = journal.read_text(encoding="utf-8").split("\n", 1)
    off = "has the score 1e+09 there, and the scale of rubric=shame is 0-100"
    for score, said in ((1e9, off), (None, "needs a score")):
        changed = json.loads(first)
        changed["outcome"]["score"] = score
        journal.write_text(f"{json.dumps(changed)}\n{rest}", encoding="utf-8")
        done = typed(*words, "run.resume=out", folder=tmp_path)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_runs_on_two_scales_are_not_compared(tmp_path: Path) -> None:
    put(tmp_path / "t.jsonl", ({"id": f"t{n}", "text": f"Tema {n}."} for n in range(8)))
    words = [
        "undogmatic.run",
        "model=patterns",
        "dataset=texts",
        "dataset.path=t.jsonl",
        "tracking=none",
    ]
    ten = [
        "rubric.scale.maximum=10",
        "rubric.margin=1",
        "rubric.guide.at=[0,2.5,5,7.5,10]",
    ]
    assert (
        typed(
            *words, *ten, "analysis=none", "hydra.run.dir=ten", folder=tmp_path
        ).returncode
        == 0
    )
    done = typed(
        *words, "analysis=reliability", "analysis.against=[ten]", folder=tmp_path
    )
    assert (
        done.returncode == 2
        and "was judged on the scale 0-10, and this run on 0-100" in done.stderr
    ), done.stderr


PATIENCE = 120.0  # seconds; it takes some ten on an idle machine


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def store(migrated: Path) -> None:
    """A fresh local store."""
    Path("mlruns").mkdir()
    shutil.copy(migrated, "mlruns")


def test_without_a_store_it_says_where_it_looked_and_a_server_needs_no_serving() -> (
    None
):
    with pytest.raises(
        ConfigError, match=r"There is no store at .*mlruns/mlflow\.db yet"
    ):
        serve(None, free_port(), "127.0.0.1")
    with pytest.raises(ConfigError, match="a server already"):
        server_command("http://127.0.0.1:5000", 5001, "127.0.0.1")


@pytest.mark.usefixtures("store")
def test_a_taken_port_is_named_and_the_server_is_kept_offline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--port is {port}"):
            server_command(None, port, "127.0.0.1")
    _, kept = server_command(None, free_port(), "127.0.0.1")
    names = (
        "LITELLM_LOCAL_MODEL_COST_MAP",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION",
        "MLFLOW_DISABLE_TELEMETRY",
    )
    assert [kept[name] for name in names] == ["True", "false", "true"]


@pytest.mark.usefixtures("store")
def test_it_comes_up_and_ends_with_its_group() -> None:
    # A proxy that nobody answers: whatever wanted the network would fail or hang.
    nobody = {
        name: "http://127.0.0.1:9"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    }
    offline, port, quiet = (
        environment(**nobody, NO_PROXY="127.0.0.1"),
        free_port(),
        subprocess.DEVNULL,
    )
    command = [sys.executable, "-m", "undogmatic.cli", "ui", "--port", str(port)]
    server = subprocess.Popen(
        command, env=offline, start_new_session=True, stdout=quiet, stderr=quiet
    )
    try:
        assert answers(f"http://127.0.0.1:{port}/health", server) == b"OK"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def answers(url: str, server: subprocess.Popen[bytes]) -> bytes:
    """What the server says, as soon as it says something."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the server ended with {server.returncode}"
        try:
            with opener.open(url, timeout=5) as reply:
                return bytes(reply.read())
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"no answer within {PATIENCE:g} s")


def test_to_score_a_text_imports_neither_tables_nor_optimisers() -> None:
    heavy = (
        "pandas pyarrow scipy.optimize scipy.stats mlflow sklearn matplotlib".split()
    )
    code = (
        "import sys, undogmatic.cli.score, undogmatic.api, undogmatic.engine.recipe,"
        f" undogmatic.readouts.probe; import undogmatic.engine.local; print([m for m in {heavy} if"
        " m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_the_version_that_is_printed_is_still_known_afterwards(capsys: Capture) -> None:
    for _ in range(2):
        with pytest.raises(SystemExit):
            main(["--version"])
        assert capsys.readouterr().out.startswith("undogmatic 0.")

"""Whose a run's folder is: commands of one second, a second process, a sweep and its jobs, and what
fails early."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from filelock import FileLock

from tests.conftest import environment
from tests.faults import run
from undogmatic.errors import ConfigError
from undogmatic.runs.claim import LOCK, claim, held, let_go, own
from undogmatic.tracking.store import address_of, check_store, database

TEXTS = "".join(
    json.dumps({"id": f"t{n}", "text": f"Conforme o Tema {n} do STF."}) + "\n"
    for n in range(3)
)
WORDS = [
    "model=patterns",
    "dataset=texts",
    "dataset.path=texts.jsonl",
    "analysis=none",
    "tracking=none",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def test_a_fresh_folder_is_nobody_elses_and_is_taken_away_where_nothing_was_judged() -> (
    None
):
    wanted = Path("outputs/2026-01-01/10-00-00")
    folders = [claim(wanted, fresh=True) for _ in range(3)]
    assert [folder.name for folder in folders] == [
        "10-00-00",
        "10-00-00-2",
        "10-00-00-3",
    ]
    assert own() == wanted
    (folders[1] / "judgments.jsonl").write_text("{}\n")
    (folders[2] / "judgments.jsonl").write_text("")
    assert [let_go(folder) for folder in folders] == [False, True, False]
    assert [path.name for path in wanted.parent.iterdir()] == ["10-00-00-2"]
    (folders[1] / "judgments.jsonl").unlink()
    assert not let_go(claim(wanted, fresh=True))
    assert Path("outputs").is_dir(), "a folder with another one in it stays"


def test_a_folder_that_was_there_before_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with held(tmp_path / "mine"), held(tmp_path / "mine"):
        pass
    assert own() is None and (tmp_path / "mine").is_dir()
    (tmp_path / "file").write_text("x")
    for taken in ("file", "file/run"):
        with pytest.raises(
            ConfigError, match="file is a file, so no run can be kept there"
        ):
            claim(tmp_path / taken)


def test_a_pipe_where_a_log_shall_be_is_refused(tmp_path: Path) -> None:
    """Opening it would wait until somebody reads it."""
    Path("texts.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    for name in ("run.log", ".hydra/config.yaml"):
        folder = tmp_path / name.replace("/", "")
        (folder / name).parent.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        os.mkfifo(folder / name)
        done = run(["run", *WORDS, f"run.resume={folder}"], tmp_path)
        assert done.status == 2 and "is a pipe, a socket or a device" in done.stderr, (
            done.stderr
        )


def test_a_sweep_and_its_jobs_keep_others_out(tmp_path: Path) -> None:
    job = tmp_path / "0"
    job.mkdir()
    (tmp_path / "sweep.json").write_text("{}")
    for locked, wanted in (
        (tmp_path, job),
        (job, tmp_path),
        (job, job),
        (tmp_path, tmp_path),
    ):
        # flock is between open files, so this one stands for another process
        with (
            FileLock(locked / LOCK),
            pytest.raises(ConfigError, match="another process is at work in"),
        ):
            claim(wanted)
        assert own() is None
    let_go(claim(job))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dataset.path=none.jsonl"], "which does not exist"),
        (["nokey=1"], "`nokey` is not a known key"),
        (["dataset.path=???"], "`dataset.path` is required"),
        (
            ["-m", "model=patterns,tfidf", "dataset.typo=1"],
            "`dataset.typo` is not a known key",
        ),
    ],
)
def test_a_command_that_judges_nothing_leaves_nothing(
    folder: Path, words: list[str], said: str
) -> None:
    ended = run(
        ["run", *words[:1], *WORDS, *words[1:]]
        if words[0] == "-m"
        else ["run", *WORDS, *words],
        folder,
    )
    assert (ended.status, said in ended.stderr, "Traceback" in ended.stderr) == (
        2,
        True,
        False,
    ), ended.stderr
    assert list(folder.iterdir()) == []


def test_a_resume_that_is_another_run_changes_nothing_there(folder: Path) -> None:
    (folder / "texts.jsonl").write_text(TEXTS)
    assert run(["run", *WORDS, "hydra.run.dir=r"], folder).status == 0

    def content() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }

    before = content()
    for word in ("seed=1", "model=tfidf", "run.limit=2", "dataset.path=none.jsonl"):
        words = [
            each for each in WORDS if each.partition("=")[0] != word.partition("=")[0]
        ]
        ended = run(["run", *words, "run.resume=r", word], folder)
        assert ended.status == 2, ended.stderr
        assert content() == before, word
    assert (
        run(["run", *WORDS, "run.resume=r", "report.language=pt"], folder).status == 0
    )
    assert b"language: pt" in content()[str(folder / "r" / ".hydra" / "config.yaml")]


def test_what_only_shows_a_config_makes_nothing(folder: Path) -> None:
    for words in (
        ["--cfg", "job"],
        ["--cfg", "all"],
        ["--info", "searchpath"],
        ["--help"],
    ):
        ended = run(["run", *WORDS, *words], folder)
        assert (ended.status, ended.places, list(folder.iterdir())) == (0, [], []), (
            ended.stderr
        )


def test_four_runs_of_one_second_share_no_folder_and_one_store(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text(TEXTS)
    program = textwrap.dedent("""
        import datetime, os, sys, time
        from undogmatic.tracking.store import prepare_environment
        prepare_environment()
        # Once, before the forks: it takes seconds.
        import mlflow, mlflow.store.tracking.sqlalchemy_store, mlflow.store.model_registry.sqlalchemy_store
        import undogmatic.run, undogmatic.experiment, undogmatic.report.terminal
        from undogmatic.cli import main
        children = []
        for n in range(4):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    main(sys.argv[1:])
                except SystemExit as ended:
                    status = ended.code
                finally:
                    os._exit(status)
            children.append(child)
        sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
        """)
    words = [*WORDS[:-1], "tracking.traces=0"]
    command = [sys.executable, "-c", program, "run", *words]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    folders = [path.parent for path in tmp_path.glob("outputs/*/*/run.json")]
    assert len(folders) == 4
    for folder in folders:
        assert json.loads((folder / "run.json").read_text())["status"] == "finished"
        assert len((folder / "judgments.jsonl").read_text().splitlines()) == 3
    assert (
        len(
            {
                json.loads((folder / "mlflow.json").read_text())["run_id"]
                for folder in folders
            }
        )
        == 4
    )


OLD = (
    "CREATE TABLE experiments (a); CREATE TABLE alembic_version (n); INSERT INTO alembic_version"
    " VALUES ('old')"
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not a database " * 100, "which cannot be used"),
        (
            "CREATE TABLE cats (name)",
            r"a database of another program \(it holds cats\)",
        ),
        (
            OLD.replace("(n)", "(version_num)"),
            r"a store of another version of MLflow \(schema old, here \w+\)",
        ),
    ],
)
def test_a_store_that_cannot_be_used_is_found_before_anything_is_judged(
    content: bytes | str, said: str
) -> None:
    import sqlite3
    from contextlib import closing

    if isinstance(content, bytes):
        Path("it.db").write_bytes(content)
    else:
        with closing(sqlite3.connect("it.db")) as database:
            database.executescript(content)
    with pytest.raises(ConfigError, match=said):
        check_store("sqlite:///it.db")


@pytest.mark.parametrize("name", ["a%ceb", "100%", "why?", "a#b c", "ação", "%2F"])
def test_the_store_of_a_folder_of_any_name_is_found(tmp_path: Path, name: str) -> None:
    from sqlalchemy.engine import make_url

    file = tmp_path / name / "mlflow.db"
    assert database(address_of(file)) == file
    assert make_url(address_of(file)).database == str(file)


def test_a_store_that_is_yet_to_be_made_needs_a_folder_and_a_database_a_driver() -> (
    None
):
    Path("file").write_text("x")
    check_store("sqlite:///new/deep/it.db")
    assert not Path("new").exists()
    with pytest.raises(ConfigError, match=r"but .*file is a file"):
        check_store("sqlite:///file/it.db")
    with pytest.raises(
        ConfigError, match="driver of this kind of database is not installed"
    ):
        check_store("mssql+pymssql://host/db")

"""What a command writes is never a file that it reads, by whichever name it is reached; each
door is tried."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_gate import KAPPA, a_card
from tests.conftest import Capture, environment, put
from undogmatic.cli import main
from undogmatic.errors import ConfigError
from undogmatic.safety.apart import free, keep_apart, named, report_files
from undogmatic.safety.paths import data_folder

DEMO = data_folder() / "check" / "demo.csv"


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Iterator[Path]:
    """A folder with a table, a card, a gate's file, texts and a prompt, in which commands are
    typed."""
    shutil.copy(DEMO, tmp_path / "a.csv")
    with contextlib.chdir(tmp_path):
        main(
            [
                "export",
                "a.csv",
                "--to",
                "inspect",
                "--out",
                "a.json",
                "--judge",
                "judge_careful",
            ]
        )
        put(Path("card.json"), a_card(model="gpt-5", prompt="Judge this.").text())
        put(Path("undogmatic-gate.yaml"), KAPPA % 0.6)
        put(Path("prompt.md"), "Judge this.")
        put(Path("r.safetensors"), "weights")
        put(Path("notes.txt"), "A text.")
        Path("sub").mkdir()
        for name, source in {
            "link.json": "a.json",
            "link.csv": "a.csv",
            "sub/notes.txt": "notes.txt",
        }.items():
            Path(name).symlink_to(Path(source).resolve())
        os.link("a.json", "hard.json")
        yield tmp_path


CARELESS = ["--judge", "judge_careful"]


@pytest.mark.parametrize(
    ("line", "option", "kept"),
    [
        (
            ["check", "a.json", "--card", "a.json"],
            "--card is a.json, and FILE is the same",
            "a.json",
        ),
        (["check", "a.json", "--card", "./a.json"], "FILE is the same", "a.json"),
        (["check", "a.json", "--card", "sub/../a.json"], "FILE is the same", "a.json"),
        (
            ["check", "a.json", "--card", "link.json"],
            "--card is link.json, and FILE is a.json",
            "a.json",
        ),
        (["check", "link.json", "--card", "a.json"], "FILE is link.json", "a.json"),
        (
            ["check", "a.json", "--card", "hard.json"],
            "--card is hard.json, and FILE is a.json",
            "a.json",
        ),
        (
            ["check", "a.csv", *CARELESS, "--against", "a.json", "--card", "a.json"],
            "--against is the same",
            "a.json",
        ),
        (
            [
                "check",
                "a.csv",
                *CARELESS,
                "--card",
                "prompt.md",
                "--judge-config",
                "prompt=@prompt.md",
            ],
            "prompt is the same",
            "prompt.md",
        ),
        (
            ["export", "a.csv", *CARELESS, "--to", "csv", "--out", "a.csv"],
            "--out is a.csv, and FILE",
            "a.csv",
        ),
        (
            ["export", "a.csv", *CARELESS, "--to", "csv", "--out", "link.csv"],
            "--out is link.csv",
            "a.csv",
        ),
        (
            ["label", "a.csv", "--no-browser", "--out", "link.csv"],
            "--out is link.csv, and FILE is a.csv",
            "a.csv",
        ),
        (
            ["distill", "r.safetensors", "--out", "r.safetensors"],
            "--out is r.safetensors",
            "r.safetensors",
        ),
        (
            ["probe", "fit", "--data", "a.csv", "--out", "a.csv"],
            "--out is a.csv, and --data",
            "a.csv",
        ),
        (
            ["probe", "fit", "model.path=r.safetensors", "--out", "r.safetensors"],
            "and model.path is",
            "r.safetensors",
        ),
        (
            ["calibrate", "--data", "a.json", "--out", "./a.json"],
            "--data is the same",
            "a.json",
        ),
        (
            ["extract", "notes.txt", "--to", "sub", "--overwrite"],
            "--to is sub/notes.txt",
            "notes.txt",
        ),
    ],
)
def test_no_door_writes_over_what_it_reads(
    line: list[str], option: str, kept: str, capsys: Capture
) -> None:
    before = Path(kept).read_bytes()
    with pytest.raises(SystemExit) as ended:
        main(line)
    said = capsys.readouterr().err
    assert (
        ended.value.code == 2
        and option in said
        and "One would be written over the other. Name another: " in said
    )
    assert Path(kept).read_bytes() == before
    suggested = said.rsplit(maxsplit=1)[-1]
    assert not Path(suggested).exists() and Path(suggested).suffix in (
        "",
        Path(kept).suffix,
    )


def test_an_export_by_its_default_name_is_not_written_over_its_source(
    capsys: Capture,
) -> None:
    shutil.copy("a.csv", "verdicts.csv")
    before = Path("verdicts.csv").read_bytes()
    with pytest.raises(SystemExit):
        main(["export", "verdicts.csv", *CARELESS, "--to", "csv"])
    assert "Name another: --out verdicts-2.csv" in capsys.readouterr().err
    assert Path("verdicts.csv").read_bytes() == before
    # another table by that name was no source of this one
    main(["export", "a.csv", *CARELESS, "--to", "csv"])


def test_a_report_is_not_written_over_a_table_in_its_folder_nor_over_that_of_a_run(
    capsys: Capture,
) -> None:
    main(["check", "a.csv", *CARELESS, "--report", "out"])
    made = sorted(path for path in Path("out").rglob("*") if path.is_file())
    assert made
    table = put(Path("out/tables/x.csv"), Path("a.csv").read_bytes())
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["check", str(table), *CARELESS, "--report", "out"])
    assert "Name another: --report out-2" in capsys.readouterr().err
    main(["check", "a.csv", *CARELESS, "--report", "out"])  # the same report anew
    run = named("FILE", "out")
    with pytest.raises(
        ConfigError,
        match=r"--report is out, and FILE is the same, which is read.*--report out-2",
    ):
        keep_apart(run, report_files(Path("out"), run, "--report"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["card.json", "--markdown", "card.json"], "CARD|RUN is the same"),
        (["card.json", "--junit", "./card.json"], "CARD|RUN is the same"),
        (["card.json", "--junit", "undogmatic-gate.yaml"], "--config is the same"),
        (["card.json", "--data", "a.csv", "--junit", "link.csv"], "--data is a.csv"),
        (
            ["card.json", "prompt=@prompt.md", "--markdown", "prompt.md"],
            "prompt is the same",
        ),
        (
            ["card.json", "--junit", "o.xml", "--markdown", "o.xml"],
            "which is written too",
        ),
    ],
)
def test_a_gate_is_void_and_writes_nothing_where_it_would_write_over_what_it_reads(
    words: list[str], said: str, here: Path, capsys: Capture
) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit) as ended:
        main(["gate", *words])
    assert ended.value.code == 3 and said in " ".join(capsys.readouterr().out.split())
    assert {
        path: path.read_bytes() for path in here.rglob("*") if path.is_file()
    } == before


@pytest.mark.parametrize("redirect", [">", ">>"])
def test_what_is_printed_does_not_go_into_what_is_read(
    redirect: str, here: Path
) -> None:
    put(Path("texts.csv"), "text\nA text.\n")
    tool = f'"{sys.executable}" -m undogmatic.cli'
    line = f"{tool} score --file texts.csv --json model=patterns {redirect} ./texts.csv"
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=here,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        done.returncode == 2 and "and --file is the same, which is read" in done.stderr
    )
    assert "> texts-2.csv" in done.stderr
    if redirect == ">>":
        assert Path("texts.csv").read_text() == "text\nA text.\n"


def test_a_new_file_may_lie_in_a_folder_that_is_read_and_what_is_there_stays(
    here: Path,
) -> None:
    folder = Path("logs")
    put(folder / "one.json", "{}")
    put(folder / "report.md", "of the run")
    read = named("FILE", folder)
    keep_apart(read, named("--card", folder / "card.json"))
    put(folder / "gate.xml", "<old/>")
    keep_apart(read, named("--junit", folder / "gate.xml"))  # made anew by each gate
    for name in ("one.json", "report.md"):
        with pytest.raises(
            ConfigError, match="a folder that is read, and has this file already"
        ):
            keep_apart(read, named("--card", folder / name))


def test_other_files_by_like_names_are_written(here: Path) -> None:
    read = named("FILE", "a.csv")
    keep_apart(
        read,
        [
            *named("--card", "a.md"),
            *named("--report", "a"),
            *named("--out", "sub/a.csv"),
        ],
    )
    # that it is not there is said by its reader
    keep_apart(named("FILE", "gone.csv"), named("--out", "gone.csv"))
    if not Path("A.csv").exists():  # a disk that tells capitals apart
        keep_apart(read, named("--out", "A.csv"))
    assert free(Path("a.csv")) == Path("a-2.csv")
    put(Path("a-2.csv"), "x")
    assert free(Path("a.csv")) == Path("a-3.csv")


def test_a_circle_of_links_and_a_pipe_end_nothing(here: Path) -> None:
    Path("x").symlink_to("y")
    Path("y").symlink_to("x")
    keep_apart(named("FILE", "a.csv"), named("--out", "x"))
    keep_apart(named("FILE", "x"), named("--out", "a.csv"))


def test_a_run_does_not_write_over_its_own_texts() -> None:
    texts = put(Path("RUN/labels.csv"), "text,label\nA text.,10\nAnother text.,90\n")
    tool = [
        sys.executable,
        "-m",
        "undogmatic.run",
        "model=patterns",
        "tracking=none",
        "run.limit=2",
    ]
    words = [*tool, "dataset=my", "dataset.path=RUN/labels.csv", "hydra.run.dir=RUN"]
    done = subprocess.run(
        words, env=environment(), capture_output=True, text=True, check=False
    )
    assert (
        done.returncode == 2
        and "dataset.path is the same, which is read" in done.stderr
    ), done.stderr
    assert "name the copy: dataset.path=labels-2.csv" in done.stderr
    assert texts.read_text() == "text,label\nA text.,10\nAnother text.,90\n"
    assert (
        sorted(path.name for path in texts.parent.iterdir() if path.suffix == ".html")
        == []
    )

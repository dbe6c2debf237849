"""`undogmatic completion`: what may follow the words of a command; and the scripts of the
shells."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import environment, put
from tests.test_light import light
from undogmatic.cli import completion, main
from undogmatic.cli.completion import SHELLS
from undogmatic.config.door import compose_config
from undogmatic.config.listing import (
    about,
    chosen,
    folders,
    keys,
    main_keys,
    options,
    told,
)
from undogmatic.errors import ConfigError
from undogmatic.safety.paths import conf_folder

MINE = "# Mine. And more.\n_target_: undogmatic.models.fake.Fake\nsharp: 3  # how\n"
CONF = [conf_folder()]
SHELL_FILES = Path(completion.__file__).parent / "shells"


def follows(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    main(["completion", "--words", *words])
    return [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("words", "some", "none"),
    [
        ("", "run check completion", "model= fit"),
        ("ch", "check", "run"),
        ("check --j", "--judge --json --judge-config", "--human"),
        ("check --", "--judge", "check"),
        ("demo --language ", "en pt", "--help"),
        ("probe ", "fit", "--data"),
        ("probe fit --o", "--out", "--data"),
        ("run mo", "model=", "prompt= step="),
        (
            "run dataset=texts dataset.",
            "dataset.path= dataset.columns.label= dataset.label_scale=",
            "dataset.defaults=",
        ),
        ("run --mul", "--multirun", "--run"),
        ("run --cfg ", "job hydra all", "model="),
        ("run model=g", "model=gpt model=gemini", "model=local"),
        ("run model.", "model.path= model.threads=", "model.name="),
        ("run model=gpt model.", "model.name= model.price.input=", "model.path="),
        ("run experiment=trait dataset.", "dataset.trait=", "dataset.n="),
        ("run rubric=trait/he", "rubric=trait/hedging", "rubric=shame"),
        (
            "run analysis=[labelled,c",
            "analysis=[labelled,controls",
            "analysis=[labelled,labelled analysis=calibration",
        ),
        ("run judges=[score,de", "judges=[score,debate", "judges=[score,score"),
        ("run -m model=local,p", "model=local,patterns", "model=patterns"),
        ("run +mod", "+model=", "model="),
        ("run run.", "run.resume= run.limit=", "report.language="),
        (
            "run tracking.redact=",
            "tracking.redact=true tracking.redact=false",
            "tracking.redact=null",
        ),
        ("run dataset=texts dataset.path=", "", "dataset.path=texts"),
        ("describe judge=deb", "judge=debate", "judge=score"),
        ("check FILE mod", "", "model="),
    ],
)
def test_what_may_follow(
    words: str, some: str, none: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = follows(capsys, *words.split(" "))
    assert set(some.split()) <= set(found) and not set(none.split()) & set(found)
    assert bool(found) == bool(some)


def test_groups_of_one_s_own_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(
        tmp_path / "own" / "model" / "mine.yaml",
        "# Mine. And more.\n_target_: undogmatic.models.fake.Fake\nsharp: 3  # how\n",
    )
    put(tmp_path / "undogmatic.toml", 'conf = "own"\n')
    assert follows(
        capsys, "run", "--config-dir", str(tmp_path / "own"), "model=mi"
    ) == ["model=mine"]
    monkeypatch.chdir(tmp_path)
    assert follows(capsys, "run", "model=mine", "model.s") == ["model.sharp="]
    assert about(tmp_path / "own" / "model" / "mine.yaml") == "Mine"
    assert "  * mine " in told(["model"], ["model=mine"]) and "how" in told(
        ["model"], []
    )
    put(tmp_path / "undogmatic.toml", "conf = 3\n")  # whoever runs something is told
    assert follows(capsys, "run", "model=mi") == []


def test_every_option_has_a_line_in_help_that_says_what_it_is() -> None:
    groups = chosen([], CONF)
    assert {"model", "analysis", "experiment"} <= groups.keys()
    whole = told([], []).splitlines()
    assert len(whole) <= 60
    for group, option in groups.items():
        assert any(line.strip().split(" ")[0] == f"{group}={option}" for line in whole)
        lines = told([group], []).splitlines()
        for name, path in options(group, CONF).items():
            assert about(path), path
            assert any(
                line[4:].split(" ")[0] == name and about(path) in line for line in lines
            )
        assert sum(line.startswith("  * ") for line in lines) == bool(option)
    assert {
        key.split(".")[0] for key in main_keys()
    } == compose_config().keys() - groups.keys()
    with pytest.raises(
        ConfigError, match=r"`--help modle`.*undogmatic run --help model"
    ):
        told(["modle"], [])


def test_keys_and_choices_are_those_that_are_composed() -> None:
    words = ["experiment=demo_orders", "model=gpt"]
    config, now = (
        compose_config([*words, "tracking=none"]),
        chosen([*words, "tracking=none"], CONF),
    )
    assert (now["model"], now["tracking"]) == ("gpt", "none") and now[
        "readout"
    ] == "logprobs"
    assert keys(options("model", CONF)["gpt"])["price.input"] == (
        config["model"]["price"]["input"],
        "",
    )
    assert folders(["-cd", "x", "--config-dir=y"])[-2:] == [Path("x"), Path("y")]


def test_it_needs_no_extra(tmp_path: Path) -> None:
    done = light(
        tmp_path, "undogmatic.cli", "completion", "--words", "run", "model=loc"
    )
    assert done.stdout.startswith("model=local\t") and not done.stderr


DRIVEN = {
    "bash": (
        'COMP_LINE="undogmatic {0}" COMP_POINT=${{#COMP_LINE}}; _undogmatic; printf "%s\\n"'
        ' "${{COMPREPLY[@]}}"'
    ),
    "fish": 'complete -C "undogmatic {0}" | string split -f 1 \\t',
}


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ch", "check"),
        ("run model=pat", "patterns"),
        ("run prompt=trait/", "trait/hedging"),
    ],
)
@pytest.mark.parametrize("shell", DRIVEN)
def test_a_shell_completes(
    shell: str, typed: str, offered: str, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    tool = put(
        tmp_path / "undogmatic",
        f'#!/bin/sh\nexec {sys.executable} -m undogmatic.cli "$@"\n',
    )
    tool.chmod(0o755)
    found = {
        **environment(),
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "HOME": str(tmp_path),
    }
    driver = (SHELL_FILES / f"undogmatic.{shell}").read_text() + DRIVEN[shell].format(
        typed
    )
    done = subprocess.run(
        [shell, "-c", driver],
        env=found,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert offered in [line.rpartition("=")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_and_read_by_its_shell(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["completion", shell])
    script = capsys.readouterr().out
    assert "undogmatic completion --words" in script
    if shutil.which(shell):
        subprocess.run(
            [shell, "-n"], input=script, text=True, check=True, capture_output=True
        )


def test_a_shell_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion"])
    assert "undogmatic completion bash|zsh|fish" in capsys.readouterr().err

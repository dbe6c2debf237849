"""What docs/add_your_own.md says, done: its files are written and its commands run, as a newcomer
would."""

import functools
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.conftest import Capture, Patch, put, rows_in, typed
from undogmatic.api import judge, score_text
from undogmatic.cli import main
from undogmatic.config.build import resolve, settings
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError
from undogmatic.safety.paths import conf_folder

PACKAGE = conf_folder().parent
PAGE = (PACKAGE / "docs" / "add_your_own.md").read_text(encoding="utf-8")
FILES = dict(
    re.findall(
        r"^\*\*`(.+?)`\*\*\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
)
COMMANDS = "".join(
    re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
).splitlines()


def write_files(folder: Path) -> None:
    for name, content in FILES.items():
        put(folder / name, content)


def command(
    line: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command of the page, as typed in `folder`."""
    first, *words = shlex.split(line)
    assert first == "undogmatic"
    kept = {"PYTHONSAFEPATH": "1", "UNDOGMATIC_CACHE": str(folder / "cache")}
    return typed("undogmatic.cli", *words, folder=folder, **kept | environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's files."""
    made = tmp_path_factory.mktemp("newcomer")
    write_files(made)
    return made


@functools.cache
def ran(part: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The page's command that holds `part`."""
    line = next(line for line in COMMANDS if part in line)
    done = command(line, folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def scores(folder: Path, name: str) -> list[float]:
    return list(pd.read_csv(folder / "out" / name / "scores.csv")["score"])


def journal(folder: Path, name: str) -> list[dict]:
    return rows_in(folder / "out" / name / "judgments.jsonl")


def test_the_page_has_a_file_for_each_kind_and_three_at_most() -> None:
    assert {
        Path(name).parent.name for name in FILES if name.startswith("my/conf/")
    } == set("rubric prompt model dataset experiment readout judge analysis".split())
    stems = [
        Path(name).name.split(".")[0] for name in FILES if not name.endswith(".txt")
    ]
    assert max(stems.count(stem) for stem in stems) <= 3
    assert len(COMMANDS) == 9


def test_a_rubric_from_1_to_10_with_two_inputs_a_prompt_and_a_model(
    folder: Path,
) -> None:
    done = ran("undogmatic score", folder)
    assert 1 <= float(done.stdout.split()[0]) <= 10
    assert "words" in done.stdout  # the stand-in's rationale
    assert (
        "1 = does not help at all / 10 = answers the question completely" in done.stderr
    )
    assert "team-1@" in done.stderr


def test_a_dataset(folder: Path) -> None:
    ran("out/dataset", folder)
    rows = sorted(journal(folder, "dataset"), key=lambda row: str(row["item_id"]))
    assert [row["item_id"] for row in rows] == ["2", "4", "6"]
    asked = json.dumps(rows[1]["calls"], ensure_ascii=False)
    assert "You judge answers given to customers." in asked  # the page's prompt
    # the page's rubric
    assert "the person who asked" in asked and "helps, with gaps" in asked
    assert "return the shoes" in asked and "thirty days" in asked  # both inputs


def test_a_readout(folder: Path) -> None:
    ran("out/dataset", folder)
    ran("out/readout", folder)
    plain, cautious = scores(folder, "dataset"), scores(folder, "readout")
    # confidence 70, pull 0.5, middle 5.5
    assert cautious == pytest.approx(
        [score + 0.5 * 0.3 * (5.5 - score) for score in plain]
    )
    assert cautious != plain


def test_a_judge_with_one_question(folder: Path) -> None:
    ran("out/reader", folder)
    rows = journal(folder, "reader")
    assert all(
        1 <= row["outcome"]["score"] <= 10 and "words" in row["outcome"]["rationale"]
        for row in rows
    )
    told = ran("undogmatic describe", folder).stdout
    first = min(rows, key=lambda row: int(row["item_id"]))
    for message in first["calls"][0]["request"]["messages"]:
        assert message["content"] in told


def test_a_changed_argument_of_ones_own_judge_is_another_run(here: Path) -> None:
    chosen = [
        "rubric=helpful",
        "prompt=helpful_en",
        "model=team",
        "readout=structured",
        "judge=first_half",
    ]
    identities = [
        Recipe(compose_config([*chosen, *more])).build().identity
        for more in (
            [],
            ["judge.tolerance=0.3"],
            ["readout=cautious"],
            ["readout=cautious", "readout.pull=0.4"],
            [],
        )
    ]
    assert len(set(identities)) == 4 and identities[0] == identities[-1]


def test_a_judge_style_and_its_name_inside_a_shipped_one(folder: Path) -> None:
    ran("out/judge", folder)
    verdicts = [row["outcome"] for row in journal(folder, "judge")]
    assert all(
        verdict["details"]["first_half"] <= verdict["score"] for verdict in verdicts
    )
    assert {verdict["review"] for verdict in verdicts} == {True, False}
    # Its name may stand inside a shipped one.
    ran("out/dataset", folder)
    ran("out/panel", folder)
    assert scores(folder, "panel") == pytest.approx(scores(folder, "dataset"))


def test_a_sweep_over_a_judge_style_and_an_analysis(folder: Path) -> None:
    done = ran("out/sweep", folder)
    jobs = [
        json.loads(
            (folder / "out" / "sweep" / n / "run.json").read_text(encoding="utf-8")
        )
        for n in "01"
    ]
    assert [job["choices"]["judge"] for job in jobs] == ["first_half", "score"]
    assert "first_half" in done.stdout
    ran("out/analysis", folder)
    metrics = json.loads(
        (folder / "out" / "analysis" / "metrics.json").read_text(encoding="utf-8")
    )
    assert metrics["by_length.long"] > metrics["by_length.short"]
    assert "by_length" in (folder / "out" / "analysis" / "report.md").read_text(
        encoding="utf-8"
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    """The page's files in the working directory; what is imported of them is forgotten
    afterwards."""
    write_files(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "my"]:
        del sys.modules[name]


DEFAULTS = yaml.safe_load((conf_folder() / "config.yaml").read_text(encoding="utf-8"))[
    "defaults"
]
GROUPS = sorted(
    group for default in DEFAULTS if isinstance(default, dict) for group in default
)


def test_a_judge_of_two_criteria_is_held_against_the_labels_of_each(here: Path) -> None:
    rows = "".join(f"{n},Q,{'word ' * 8 * n}.,{1 + n},{9 - n}\n" for n in range(1, 7))
    put(
        here / "rated.csv",
        f"id,question,answer,label.accuracy,label.completeness\n{rows}",
    )
    own = "experiment=support dataset=texts dataset.path=rated.csv judge=sides analysis=labelled"
    # Once the folder is the project file's, and then that of the one command.
    for where in ("", "--config-dir my/conf ", "'hydra.searchpath=[file://my/conf]' "):
        done = command(f"undogmatic run {where}{own} hydra.run.dir=out/sides", here)
        assert done.returncode == 0, done.stderr
        assert f"undogmatic.run {where}{own}" in (
            here / "out/sides/report.md"
        ).read_text(encoding="utf-8")
        put(here / "undogmatic.toml", 'modules = ["my"]\n')
    write_files(here)
    assert "sides.accuracy: " in done.stdout and "sides.completeness: " in done.stdout
    found = json.loads((here / "out/sides/metrics.json").read_text(encoding="utf-8"))
    assert found["sides.accuracy.labelled.agreement.spearman"] > 0.9
    assert found["sides.completeness.labelled.agreement.spearman"] < -0.9
    words = ["experiment=support", "judges=[sides,score]"]
    table = judge(
        pd.DataFrame({"question": ["Q"], "answer": ["word " * 30]}),
        overrides=words,
        progress=False,
    )
    voices = [("sides", "accuracy"), ("sides", "completeness"), ("score", "overall")]
    assert list(zip(table["judge"], table["criterion"], strict=True)) == voices
    assert table["score"].iloc[0] == table["score"].iloc[2] > table["score"].iloc[1]


def test_every_group_is_searched_in_the_users_folders(here: Path) -> None:
    overrides = []
    for group in GROUPS:
        shipped = next((conf_folder() / group).glob("*.yaml"))
        put(here / "other" / group / "mine.yaml", shipped.read_text(encoding="utf-8"))
        overrides.append(f"{group}=mine")
    assert {
        "judge",
        "readout",
        "model",
        "analysis",
        "dataset",
        "rubric",
        "prompt",
        "arm",
        "experiment",
    } <= set(GROUPS)
    # Each alone: arms and experiments change other groups.
    for override in overrides:
        assert settings(compose_config([override], config_dir="other")).seed == 0
    assert (
        settings(compose_config(["hydra.searchpath=[file://other]", "judge=mine"]))
        .folders[0]
        .endswith("other")
    )


def test_a_folder_for_one_command_serves_every_door(
    here: Path, capsys: Capture
) -> None:
    put(here / "undogmatic.toml", 'modules = ["my"]\n')
    own = [
        "--config-dir",
        "my/conf",
        "model=team",
        "rubric=helpful",
        "prompt=helpful_en",
    ]
    main(["score", "--input", "question=Q", "--input", "answer=A", "--json", *own])
    assert json.loads(capsys.readouterr().out)["rationale"].endswith(" words")
    for door, said in (
        (["probe", "fit"], "needs its own: give --data FILE"),
        (["calibrate"], "readout=logprobs"),
    ):
        with pytest.raises(SystemExit):
            main([*door, *own])
        printed = capsys.readouterr().err
        assert said in printed and "has no option" not in printed
    for flag in ("--config-dir my/conf", "'hydra.searchpath=[file://my/conf]'"):
        done = command(
            f"undogmatic run {flag} experiment=support --cfg job --package model", here
        )
        assert done.stdout.splitlines()[-2:] == [
            "_target_: my.team.TeamChat",
            "version: 1",
        ]


@pytest.mark.parametrize(
    ("overrides", "config_dir", "said"),
    [
        (
            ["judge=first_haf"],
            (),
            "`judge` has no option 'first_haf' (you typed judge=first_haf). Did you mean judge=",
        ),
        (["judge=xyz"], (), "first_half, nli, panel"),
        (["model=teem"], "my/conf", "Did you mean model=team?"),
        (["rubrik=helpful"], (), "Did you mean rubric=helpful?"),
        ([], "nowhere", "`--config-dir` is 'nowhere', which is not a folder."),
        (["hydra.searchpath=[file://x]"], "my/conf", "name all folders in one of them"),
        (["+folders=[x]"], (), "`folders` is set by the program."),
    ],
)
def test_a_typing_error_is_named_with_own_options(
    here: Path, overrides: list[str], config_dir: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        compose_config(overrides, config_dir=config_dir)


def test_a_name_inside_a_judge_is_looked_up_in_the_same_folders(here: Path) -> None:
    put(
        here / "my/conf/prompt/brief.yaml",
        FILES["my/conf/prompt/helpful_en.yaml"].replace("helpful_en", "brief"),
    )
    chosen = [
        "rubric=helpful",
        "prompt=helpful_en",
        "model=team",
        "readout=structured",
        "judge=panel",
    ]
    panel = (
        Recipe(
            compose_config(
                [*chosen, "judge.members=[score,{judge:score,prompt:brief}]"]
            )
        )
        .build()
        .judge
    )
    assert [source.prompt.id for source in panel.readouts()] == ["helpful_en", "brief"]
    with pytest.raises(
        ConfigError,
        match=r"`judge.members\[0\].judge` is 'first_haf'.* Did you mean first_half\?",
    ):
        Recipe(compose_config([*chosen, "judge.members=[first_haf]"])).build()
    put(here / "my/conf/judge/broken.yaml", "tolerance: [1\n_target_: x\n")
    with pytest.raises(ConfigError, match=r"^my/conf/judge/broken.yaml:2: not YAML: "):
        Recipe(compose_config([*chosen, "judge.members=[broken]"])).build()


def test_a_file_that_is_not_yaml_is_named_with_its_line(here: Path) -> None:
    put(here / "my/conf/judge/broken.yaml", "a: 1\nb: [\n")
    said = "my/conf/judge/broken.yaml:3: not YAML: "
    with pytest.raises(ConfigError, match=f"^{said}"):
        compose_config(["judge=broken"])
    done = command("undogmatic run judge=broken", here)
    assert (done.returncode, len(done.stderr.splitlines())) == (
        2,
        1,
    ) and done.stderr.startswith(f"error: {said}")


def test_a_file_with_a_shipped_name_is_refused_with_both_places(here: Path) -> None:
    """Else it would be at work unasked, and the shipped one gone; it may lie in any of the user's
    folders."""
    for name, words, config_dir in (
        ("my/conf/config.yaml", [], ()),
        ("my/conf/judge/score.yaml", ["judge=panel"], ()),
        ("other/prompt/trait/hedging.yaml", [], "other"),
        ("other/prompt/trait/hedging.yaml", ["hydra.searchpath=[file://other]"], ()),
    ):
        put(here / name, "seed: 3\n")
        shipped = conf_folder() / Path(name).relative_to(
            "my/conf" if name.startswith("my") else "other"
        )
        with pytest.raises(ConfigError) as caught:
            compose_config(words, config_dir=config_dir)
        assert str(caught.value).startswith(
            f"{name} would take the place of the program's own {shipped}. Give it a name"
        )
        done = (
            command("undogmatic run --cfg job", here) if name.startswith("my") else None
        )
        assert done is None or (
            done.returncode,
            done.stdout,
            len(done.stderr.splitlines()),
        ) == (
            2,
            "",
            1,
        )
        (here / name).unlink()
    assert compose_config()["seed"] == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("undogmatic.toml", "conf = [", "undogmatic.toml: not TOML"),
        (
            "undogmatic.toml",
            "config = 'my'",
            "undogmatic.toml: `config` is not a known key. Known: conf, modules.",
        ),
        (
            "undogmatic.toml",
            "conf = 3",
            "undogmatic.toml: `conf` is 3; it must be a text, or a list of texts",
        ),
        ("undogmatic.toml", "conf = 'mine'", "undogmatic.toml: `conf` names '"),
        (
            "undogmatic.toml",
            "modules = ['my-code']",
            "undogmatic.toml: `modules` names 'my-code'",
        ),
        (
            "pyproject.toml",
            "[tool.undogmatic]\nmodule = 'my'",
            "pyproject.toml: `module` is not a known key.",
        ),
        (
            "pyproject.toml",
            "[tool]\nundogmatic = 'my'",
            "pyproject.toml: `tool.undogmatic` is 'my'",
        ),
    ],
)
def test_a_mistake_in_the_project_file_is_named(
    here: Path, name: str, content: str, said: str
) -> None:
    (here / "undogmatic.toml").unlink()
    put(here / name, content)
    with pytest.raises(ConfigError, match=f"^{re.escape(said)}"):
        compose_config()


def test_only_what_is_named_outside_the_yaml_may_be_built(here: Path) -> None:
    put(here / "my/team.py", "open('ran', 'w')\n")
    put(here / "undogmatic.toml", 'conf = "my/conf"\nmodules = ["my.chats"]\n')
    assert resolve("my.chats.ChatsDataset", "dataset").__name__ == "ChatsDataset"
    with pytest.raises(
        ConfigError, match=r"only classes of undogmatic, my.chats may be built"
    ) as caught:
        resolve("my.team.TeamChat", "model")
    assert '`modules = ["my"]` in undogmatic.toml' in str(caught.value)
    (here / "undogmatic.toml").unlink()
    put(here / "pyproject.toml", '[tool.undogmatic]\nconf = "my/conf"\n')
    with pytest.raises(ConfigError, match="only classes of undogmatic may be built"):
        score_text("x", ["model=team"])
    assert not (here / "ran").exists()


def test_an_installed_package_brings_its_folder_and_its_classes(here: Path) -> None:
    site, away = here / "site", here / "away"
    for path, content in (
        (
            "theirs_undogmatic-1.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: theirs-undogmatic\nVersion: 1\n",
        ),
        (
            "theirs_undogmatic-1.dist-info/entry_points.txt",
            "[undogmatic]\nanything = theirs\n",
        ),
        ("theirs/__init__.py", ""),
        ("theirs/rater.py", FILES["my/team.py"]),
        ("theirs/conf/model/theirs.yaml", "_target_: theirs.rater.TeamChat\n"),
        (away / "helpful.yaml", FILES["my/conf/rubric/helpful.yaml"]),
    ):
        put(site / path, content)
    line = (
        "undogmatic score --rubric helpful.yaml --prompt minimal_en --input question=Q --input"
        " answer=A --json"
    )
    done = command(
        f"{line} model=theirs",
        away,
        PYTHONPATH=os.pathsep.join([str(PACKAGE), str(site)]),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"].startswith("team-1@")


class TestScore:
    """`undogmatic score` with a rubric of several inputs."""

    WORDS = ("model=team", "prompt=helpful_en")

    def test_inputs_come_from_files_and_standard_input(
        self, here: Path, capsys: Capture, monkeypatch: Patch
    ) -> None:
        answer = "word " * 30
        put(
            here / "chats.csv",
            f"id,question,answer,label\na,Q,No.,900\nb,Q,{answer},none\n",
        )
        main(
            [
                "score",
                "--rubric",
                "helpful",
                "--file",
                "chats.csv",
                "--json",
                *self.WORDS,
            ]
        )
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["id"] for row in rows] == ["a", "b"]
        assert rows[0]["score"] < rows[1]["score"] <= 10
        monkeypatch.setattr(sys, "stdin", io.StringIO("Where?"))
        given = ["--input", "question=-", "--input", "answer=@my/chats.txt"]
        main(["score", "--rubric", "my/conf/rubric/helpful.yaml", *given, *self.WORDS])
        assert capsys.readouterr().out.startswith("10.0  confidence 70")

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["one text"], "rubric=helpful judges several inputs: question, answer."),
            (
                ["--input", "question=Q"],
                "rubric=helpful judges question, answer; `answer` is missing",
            ),
            (
                ["--input", "question=Q", "--input", "answer=A", "--input", "x=y"],
                "`x` is none of them",
            ),
            (
                ["--input", "question=Q", "--input", "question=A"],
                "names its input a second time",
            ),
            (["--input", "question"], "has no `=`"),
            (
                ["--input", "question=@none.txt", "--input", "answer=A"],
                "`--input question` is 'none.txt'",
            ),
            (
                ["--input", "question=Q", "--file", "chats.csv"],
                "`--file` and `--input` are given",
            ),
            (
                ["--rubric", "none.yaml", "x"],
                "`--rubric` is 'none.yaml', which does not exist",
            ),
            (["--rubric", "broken.yaml", "x"], "broken.yaml:2: not YAML"),
        ],
    )
    def test_what_is_mistyped_is_one_message(
        self, here: Path, words: list[str], said: str, capsys: Capture
    ) -> None:
        put(here / "broken.yaml", "name: [\n")
        with pytest.raises(SystemExit, match=r"^2$"):
            main(
                [
                    "score",
                    *([] if "--rubric" in words else ["--rubric", "helpful"]),
                    *words,
                    *self.WORDS,
                ]
            )
        assert said in capsys.readouterr().err


def test_an_analysis_in_a_folder_of_its_group_is_one_of_several(here: Path) -> None:
    put(
        here / "my/conf/analysis/mine/few.yaml",
        "_target_: undogmatic.examinations.costs.CostsAnalysis\nbaseline: null\nlevel: 0.9\n",
    )
    for words in (
        ["analysis=[mine/few,none]"],
        ["analysis=[none,mine/few]", "analysis.few.level=0.9"],
    ):
        chosen = compose_config(words)["analysis"]
        assert (chosen["few"]["level"], set(chosen)) == (
            0.9,
            {"few", "none", "_target_"},
        )

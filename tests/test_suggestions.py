"""Every command and setting that a message, a report or a verdict suggests is accepted when it is
typed; and every command that a door prints as the next one is run, on tables with ids and
without."""

import ast
import contextlib
import functools
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.conftest import put, typed
from tests.printed import Person, commands_in, written_in
from tests.test_documented_commands import (
    LEFT_OPEN,
    SETTINGS,
    composes,
    jobs,
    run,
    start,
    words_of,
)
from undogmatic.cli import _parser, main
from undogmatic.config.door import compose_config
from undogmatic.config.groups import keys_of, options
from undogmatic.errors import ConfigError
from undogmatic.safety.paths import conf_folder

pytestmark = pytest.mark.slow

PACKAGE = conf_folder().parent / "undogmatic"
FILLED = "…"  # stands where a message puts a value in
WORD = rf'(?:[A-Z]+|--?[a-z-]+|-|{FILLED}|"text"|\w+\.(?:json|csv|jsonl|txt)|fit|import|export|bash)'
DOORS = re.compile(rf"\b(?:undogmatic) ([a-z]+)((?: {WORD}(?![\w=.…]))*)")
NO_COMMAND = {"undogmatic verdicts", "undogmatic dspy"}
"""The name of a run in MLflow, and a list of packages."""

NO_SETTING = {"model=gpt-5 prompt=@prompt.txt", "hydra/launcher=submitit_local"}
"""What a card is bound to, and a launcher whose plugin is not installed with the tests."""


def sentences(file: Path) -> Iterator[str]:
    """The sentences that a file can say, without docstrings."""
    if file.suffix == ".yaml":
        waiting: list[Any] = [
            yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        ]
        while waiting:
            node = waiting.pop()
            waiting += (
                node.values()
                if isinstance(node, dict)
                else node
                if isinstance(node, list)
                else []
            )
            if isinstance(node, str):
                yield re.sub(r"\{[^{}]*\}", FILLED, node)
        return
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    whole = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    apart = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    apart |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) not in apart and isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else FILLED
                for part in node.values
            )
        elif (
            id(node) not in apart
            and isinstance(node, ast.Constant)
            and isinstance(node.value, str)
        ):
            yield node.value


@functools.cache
def suggested() -> tuple[dict[str, str], dict[str, str]]:
    """The settings and the commands, each with the file that suggests it."""
    settings: dict[str, str] = {}
    commands: dict[str, str] = {}
    roots = {*options(""), *compose_config()}
    for file in sorted(
        file
        for kind in ("*.py", "*.texts.yaml", "texts/*.yaml")
        for file in PACKAGE.rglob(kind)
    ):
        name = file.relative_to(PACKAGE).as_posix()
        for sentence in sentences(file):
            for found in DOORS.finditer(sentence):
                commands.setdefault(found[0], name)
            for found in (
                () if SETTINGS.fullmatch(sentence) else SETTINGS.finditer(sentence)
            ):
                setting = found[0].rstrip(".:`")
                setting = setting.strip("'") if setting.count("'") % 2 else setting
                root = re.split("[./=]", setting.removeprefix("-m ").lstrip("'+"))[0]
                is_open = (
                    FILLED in setting
                    or setting.endswith("=")
                    or any(map(setting.count, LEFT_OPEN))
                )
                if (
                    root in roots
                    and not is_open
                    and not re.search(r"=\[?\.\.\.|[\[{]\.\.\.|[({]$|\([^)]*$", setting)
                ):
                    settings.setdefault(setting, name)
    return settings, {
        command: name for command, name in commands.items() if command not in NO_COMMAND
    }


def listed(words: Sequence[str]) -> bool:
    """Whether this is one word that sets a key of an option of its group, which is known without
    composing."""
    group, _, key = words[0].partition("=")[0].lstrip("+").partition(".")
    return len(words) == 1 and any(
        key.split(".")[0] in keys_of(group, name) for name in options(group)
    )


def test_every_setting_that_is_suggested_composes() -> None:
    refused, said = {}, suggested()[0]
    assert len(said) > 100
    for setting, name in said.items():
        if setting in NO_SETTING:
            continue
        try:
            words = words_of(setting)
            accepted = listed(words) or all(
                map(composes, jobs(words) if "," in setting else [words])
            )
        except Exception as error:
            refused[setting] = f"{name}: {error}"
        else:
            refused |= {} if accepted else {setting: name}
    assert not refused, "\n".join(
        f"{setting}  # {said}" for setting, said in refused.items()
    )


def test_every_command_that_is_suggested_has_its_door(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said, parser = suggested()[1], _parser()
    assert len(said) > 20
    for command, file in said.items():
        # a number that the reader chooses
        filled = re.sub(r"\bN\b", "3", command.replace(FILLED, "RUN"))
        _, door, *words = filled.replace('"text"', "text").split()
        try:
            # the words of `run` are read by Hydra
            _ = door == "run" or parser.parse_args([door, *words])
        except SystemExit as ended:
            printed = "".join(capsys.readouterr())
            left_open = any(
                map(
                    printed.count,
                    ("arguments are required", " argument", "invalid choice: 'RUN'"),
                )
            )
            assert ended.code == 0 or left_open, f"{file}: {printed}"
        except ConfigError as error:  # of a number that the sentence fills in
            assert "'RUN'" in str(error), f"{file}: {error}"


def tables(folder: Path) -> None:
    """Tables as people have them: with ids and without, of each kind, with and without labels."""
    rng = np.random.default_rng(0)
    words = "apple river stone cloud engine paper garden window bottle music train coffee".split()
    texts = [" ".join(rng.choice(words, 9)) + f" {n}." for n in range(60)]
    passed = np.where(rng.random(60) < 0.6, "pass", "fail")
    people = np.where(rng.random(60) < 0.9, passed, "fail")
    plain = pd.DataFrame({"text": texts, "verdict": passed})
    grades = pd.DataFrame({"text": texts, "score": rng.integers(1, 6, 60)})
    pairs = pd.DataFrame(
        {"prompt": "Which?", "response_a": texts, "response_b": texts[::-1]}
    )
    kinds = {
        "plain": plain,
        "grades": grades,
        "shares": grades.assign(score=rng.random(60).round(3)),
        "words": plain.assign(verdict=rng.choice(["poor", "fair", "good"], 60)),
        "pairs": pairs.assign(winner=rng.choice(["a", "b"], 60)),
        "long": pd.concat([plain.assign(judge="x"), plain.assign(judge="y")]),
        "labelled": plain.assign(human=people),
        "with space": plain,
    }
    for name, table in kinds.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        ids = [f"i{n % 60}" for n in range(len(table))]
        table.assign(id=ids).to_csv(folder / f"{name} ids.csv", index=False)
    with pd.ExcelWriter(folder / "book.xlsx") as book:
        pd.DataFrame({"note": ["nothing"]}).to_excel(
            book, sheet_name="first", index=False
        )
        plain.to_excel(book, sheet_name="the verdicts", index=False)
    pd.DataFrame({"text": texts}).to_csv(folder / "texts.csv", index=False)
    runs = [
        {
            "run": f"r{n}",
            "steps": [
                {"kind": "user", "text": text},
                {"kind": "assistant", "text": text[::-1]},
            ],
            "assessments": [{"by": "judge", "value": said, "step": 1}],
        }
        for n, (text, said) in enumerate(zip(texts, passed.tolist(), strict=True))
    ]
    put(folder / "runs.jsonl", "".join(json.dumps(run) + "\n" for run in runs))
    put(folder / "undogmatic-gate.yaml", "figures: {agreement.kappa: {at_least: 0.1}}")


class TestWhatIsPrintedNextIsTyped:
    """Every command that a door prints as the next is run, and those that it prints, and so on."""

    @pytest.fixture
    def person(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> Person:
        monkeypatch.chdir(tmp_path)
        tables(tmp_path)
        return Person(capsys, monkeypatch)

    @pytest.mark.parametrize(
        ("begins", "then"),
        [
            (
                "check plain.csv",
                ["label plain.csv", "check plain.csv plain.labels.csv"],
            ),
            ("check 'plain ids.csv'", ["label", "check"]),
            (
                "check 'with space.csv'",
                ["label 'with space.csv'", "check 'with space.csv'"],
            ),
            ("check grades.csv", ["label grades.csv --scale=1-5", "check grades.csv"]),
            ("check shares.csv", ["label shares.csv --scale=0..1", "check shares.csv"]),
            (
                "check words.csv",
                ["label words.csv --scale='poor<fair<good'", "check words.csv"],
            ),
            ("check pairs.csv", ["label pairs.csv --scale=1,2", "check pairs.csv"]),
            ("check 'long.csv' --judge x", ["label long.csv", "check long.csv"]),
            (
                "check book.xlsx --sheet 'the verdicts'",
                ["label book.xlsx --sheet", "check book"],
            ),
            ("check labelled.csv", ["check labelled.csv --card card.json"]),
            (
                "check runs.jsonl --unit step",
                [
                    "label runs.jsonl --unit step",
                    "check runs.jsonl runs.labels.csv --unit step",
                ],
            ),
            ("check 'labelled ids.csv'", ["check 'labelled ids.csv' --card card.json"]),
            ("check labelled.csv --all", ["label labelled.csv", "check labelled.csv"]),
            ("label plain.csv", ["check plain.csv plain.labels.csv"]),
            (
                "label plain.csv --random 30 --rater 'a b'",
                ["check plain.csv plain.labels.csv --labels"],
            ),
            (
                "label plain.csv --language pt",
                ["check plain.csv plain.labels.csv --language pt"],
            ),
            (
                "label 'plain ids.csv' --item id --out l.csv",
                ["check 'plain ids.csv' l.csv --item id"],
            ),
            (
                "check plain.csv --language pt",
                ["label plain.csv", "check plain.csv plain.labels"],
            ),
        ],
    )
    def test_from_verdicts_to_labels_and_back(
        self, begins: str, then: Sequence[str], person: Person
    ) -> None:
        typed = person.follows(f"undogmatic {begins}", 4)[1:]
        assert len(typed) >= len(then), typed
        for command, wanted in zip(typed, then, strict=False):
            assert command.startswith(f"undogmatic {wanted}")

    def test_a_card_and_its_gate(self, person: Person) -> None:
        cards = (
            "--card cards/trust.json --card cards/trust.md --card 'cards/my trust.json'"
        )
        person.types(
            f"undogmatic check labelled.csv {cards} --card 'cards/my trust.md' --report out"
        )
        printed = list(
            dict.fromkeys([*written_in(Path("out")), *written_in(Path("cards"))])
        )
        gates = ["undogmatic gate trust.json", "undogmatic gate 'my trust.json'"]
        # besides the command that makes the report again
        assert set(gates) < set(printed)
        for command in printed:
            folder = Path("cards") if command in gates else Path()
            shutil.copy("undogmatic-gate.yaml", "cards")
            with contextlib.chdir(folder):
                person.types(command)
        for bound in (0.99, 0.75, 0.1):
            demanded = f"figures: {{agreement.kappa: {{at_least: {bound}}}}}"
            put(Path("undogmatic-gate.yaml"), demanded)
            for command in commands_in(
                person.types("undogmatic gate cards/trust.json --data labelled.csv")
            ):
                person.types(command)

    def test_where_nothing_can_be_checked_no_command_is_printed(
        self, person: Person
    ) -> None:
        told = person.types("undogmatic label texts.csv")
        assert (
            "no column seems to hold the verdicts of the judge" in told
            and not commands_in(told)
        )

    def test_a_page_on_which_nothing_was_labelled_comes_again(
        self, person: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nobody = "undogmatic.review.page.Server.serve_forever"
        monkeypatch.setattr(nobody, lambda server: None)
        (again,) = commands_in(person.types("undogmatic label plain.csv --rater ana"))
        assert again == "undogmatic label plain.csv --rater ana --no-browser"
        person.types(again.removesuffix(" --no-browser"))

    def test_a_free_name_that_is_suggested_is_taken(
        self, person: Person, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            main(
                [
                    "check",
                    "labelled.csv",
                    "--card",
                    "undogmatic-gate.yaml/../labelled.csv",
                ]
            )
        shutil.copy("labelled.csv", "verdicts.csv")
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main(["export", "verdicts.csv", "--to", "csv"])
        option = capsys.readouterr().err.rpartition("Name another: ")[2].strip()
        person.types(f"undogmatic export verdicts.csv --to csv {option}")

    def test_a_run_its_review_and_its_labels(
        self, person: Person, tmp_path: Path
    ) -> None:
        rows = [
            {"text": f"Aplica-se o Tema {n} do STF.", "label": 90 * (n % 2)}
            for n in range(8)
        ]
        put(tmp_path / "mine.jsonl", rows)
        run(
            ["model=patterns", "dataset=my", "dataset.path=mine.jsonl"],
            tmp_path / "RUN_1",
        )
        printed = [
            each
            for each in written_in(tmp_path / "RUN_1")
            if each.startswith("undogmatic ")
        ]
        told = person.types("undogmatic review export RUN_1 --all --out q")
        (take,) = commands_in(told)
        pd.read_csv("q.csv", dtype=str).assign(label="50").to_csv("q.csv", index=False)
        imported = person.types(take)
        assert "dataset=texts dataset.path=RUN_1/with_labels.jsonl" in imported
        for command in printed:
            if command.startswith("undogmatic run"):
                start(words_of(command))
            else:
                person.types(f"{command} --out another")

    def test_the_demo_and_a_rubric_of_ones_own(
        self, person: Person, tmp_path: Path
    ) -> None:
        demo = person.types("undogmatic demo")
        path = re.search(r"\(this one is (.*?)\)", demo)
        assert path is not None and "undogmatic check FILE.csv" in demo
        person.types(f"undogmatic check {path[1]} --judge judge_careful")
        own = [
            "--rubric",
            "how polite is the answer",
            "--scale",
            "1-5",
            "--inputs",
            "text",
        ]
        (begins,) = commands_in(person.types(shlex.join(["undogmatic", "init", *own])))
        assert (
            begins == "undogmatic run experiment=how_polite_is_the_answer"
            or "polite" in begins
        )
        started = typed(
            "undogmatic.run", *begins.split()[2:], "--cfg", "job", folder=tmp_path
        )
        assert started.returncode == 0, started.stderr


def test_commands_are_found_in_sentences_on_lines_and_behind_colons() -> None:
    told = (
        "Next, see `undogmatic check a.csv --report r`.\nNext: undogmatic run x=y\n\n  undogmatic"
        " label 'a b.csv'\n"
    )
    told += "What each takes: undogmatic check --help\nSay it: `undogmatic gate card.json model=...`\n"
    assert commands_in(told) == [
        "undogmatic check a.csv --report r",
        "undogmatic run x=y",
        "undogmatic label 'a b.csv'",
    ]

"""Does with every command in README.md, docs/ and the comments of conf/ what a reader would: runs
it on little data where nothing slow is asked, and else takes it to where the first question would
be asked."""

import functools
import itertools
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser

from tests.conftest import put
from tests.stub_server import KEY, StubServer
from undogmatic.cli import main
from undogmatic.config.door import compose_config
from undogmatic.config.groups import keys_of, options
from undogmatic.config.messages import combined
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.runs.manifest import Manifest
from undogmatic.safety.paths import conf_folder, data_folder

pytestmark = pytest.mark.slow

ROOT = conf_folder().parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGE_WITH_A_TEST_OF_ITS_OWN = "add_your_own.md"
"""tests/test_extend.py writes the files of this page and runs its commands."""

KEYS = ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "AZURE_OPENAI")
CHOICES = dict.fromkeys(
    ("model", "prompt", "judge", "dataset", "analysis", "readout", "optimizer"), "x"
)
COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:python -m undogmatic\.run|undogmatic)(?: .*)?"
)
SETTING = re.compile(
    r"'?\+{0,2}[a-z_]+(?:[./][\w-]+)*=(?:\"[^\"]*\"|\{[^}]*\}|[^\s,;)]|,(?=\S))+'?"
)
SETTINGS = re.compile(rf"(?:-m )?{SETTING.pattern}(?: {SETTING.pattern})*")

STANDS_FOR = {
    "outputs/.../program.json": str(data_folder() / "programs" / "shame_pt.json"),
    "outputs/2026-01-31/12-00-00": "RUN",
    "RUN_FOLDER": "RUN",
    "RUN/with_labels.jsonl": "my.jsonl",
    "dataset.path=notas.csv dataset.columns.text=texto dataset.columns.label=nota": (
        "dataset.path=my.jsonl"
    ),
    "dataset.path=notas.csv": "dataset.path=my.jsonl",
    "dataset.path=notas.xlsx": "dataset.path=verdicts.xlsx",
    "rubric=mine": "rubric=shame",
    "outputs/DATE/TIME": "RUN",
    "dataset=quotes dataset.path=RUN": "dataset=quotes dataset.path=BUCKETS",
    "experiment=error_classes dataset.path=RUN": "experiment=error_classes dataset.path=BUCKETS",
    "FILE-OR-FOLDER": "scores.csv",
    "dataset.summaries=FILE": f"dataset.summaries={data_folder() / 'faith' / 'summaries.jsonl'}",
    "dataset.path=FILE": "dataset.path=scores.csv",
    "dataset.path=FOLDER": f"dataset.path={data_folder() / 'gating'}",
    "dataset.path=...": "dataset.path=my.jsonl",
    "extract FILES": f"extract {data_folder() / 'faith' / 'us-ferry' / 'opinion.md'} --to texts",
    "http://HOST:PORT/v1": "http://127.0.0.1:9/v1",
    "model.api_base=URL": "model.api_base=http://127.0.0.1:9/v1",
    "rubric=trait/NAME": "rubric=trait/hedging",
    "question=... --input answer=...": "question='Where is it?' --input answer='On its way.'",
    "analysis=...": "analysis=labelled",
    "arm=...,": "arm=",
}
"""What a page leaves to the reader, and what stands there in this test."""

LITTLE = ("model=patterns", "run.limit=8")
RUN: dict[str, Sequence[str]] = {
    "python -m undogmatic.run": LITTLE,
    "python -m undogmatic.run dataset=curated": LITTLE,
    "python -m undogmatic.run dataset=my dataset.path=my.jsonl": LITTLE,
    "python -m undogmatic.run run.repeats=2 analysis=variance": LITTLE,
    "python -m undogmatic.run run.repeats=2 analysis=reliability analysis.against=[RUN_FOLDER]": (
        LITTLE
    ),
    "python -m undogmatic.run dataset=labelled analysis=escalation": LITTLE,
    "python -m undogmatic.run model=fake model.kind=capitals model.reverse=true": [
        "run.limit=8"
    ],
    "python -m undogmatic.run experiment=faithfulness": ["run.limit=1"],
    "python -m undogmatic.run experiment=faithfulness dataset.summaries=shipped 'steps=[]'": [
        "run.limit=8"
    ],
    "python -m undogmatic.run experiment=faithfulness dataset.summaries=shipped steps=[] analysis=taxonomy": [
        "run.limit=8"
    ],
    "python -m undogmatic.run experiment=faithfulness_meta dataset=verdicts dataset.path=FILE": [],
    "python -m undogmatic.run rubric=faithfulness judge=coverage dataset=texts dataset.path=mine.jsonl": [],
    "python -m undogmatic.run rubric=faithfulness 'judges=[nli, coverage, bucket_rules]' dataset=texts dataset.path=mine.jsonl": [],
    "experiment=error_classes dataset.path=RUN model=gpt": [],
    'undogmatic score "Aplica-se o Tema 69 do STF."': ["model=patterns"],
    "undogmatic score --file texts.jsonl --json": ["model=patterns"],
    "undogmatic describe judge=debate model=gpt --price": [],
    "undogmatic describe model=gpt --price": [],
    "undogmatic describe judge=devils_advocate model=gpt": [],
    "undogmatic extract FILES": [],
    "undogmatic precedents my.jsonl": [],
    "undogmatic precedents my.jsonl precedents.describes=words": [],
    "undogmatic demo": [],
    "undogmatic probe list": [],
    "undogmatic demo --language pt": [],
    "undogmatic plan --prevalence .1 --agreement .9": [],
    'undogmatic init --rubric "how polite is the answer" --scale 1-5 --inputs question,answer': [],
    "undogmatic report RUN --language pt --format pdf": ["--format", "md"],
    "undogmatic check verdicts.csv": [],
    "undogmatic check verdicts.xlsx": [],
    "undogmatic check verdicts.xlsx --sheet May": [],
    "undogmatic check verdicts.xlsx verdicts.labels.csv": [],
    "undogmatic review export RUN --budget 40 --random 20 --redact": [],
    "undogmatic check capitals.eval": [],
    "undogmatic check traces.json --unit run": [],
    "undogmatic check traces.json --unit step --language pt": [],
    "undogmatic check session.jsonl steps.csv --unit step": [],
    "undogmatic check capitals.eval labels.csv": [],
    "undogmatic export verdicts.csv --to inspect --out verdicts.json": [],
    "undogmatic review export outputs/2026-01-31/12-00-00 --budget 40 --random 20": [],
    "undogmatic review import outputs/2026-01-31/12-00-00 queue.csv": [],
}
"""Commands that are truly run, with what is typed besides, so that they take a second."""

WHY_NOT = {
    "the same as that of docs/review.md": [
        "undogmatic review export RUN --budget 40 --random 20",
        "undogmatic review import RUN queue.csv",
    ],
    "short for hydra.sweeper.n_jobs=1": ["n_jobs=1"],
    "tests/constructs/precedents/test_published.py": [
        "undogmatic precedents import temas.csv --court STJ --out precedents.csv",
        "undogmatic precedents my.jsonl precedents.path=precedents.csv",
    ],
    "tests/constructs/faithfulness/test_pillar.py": [
        "undogmatic run experiment=faithfulness analysis=four_pillars 'judges=[nli,coverage,bucket_rules,brevity]'"
    ],
    "tests/test_one_answer.py": [
        "undogmatic check RUN",
        "undogmatic check RUN_FOLDER",
        "undogmatic export RUN_FOLDER --to csv",
    ],
    "tests/tracking/test_exchange.py": [
        "undogmatic check mlflow:RUN_ID",
        "undogmatic export verdicts.csv --to mlflow",
    ],
    "names the command": [
        "undogmatic",
        "undogmatic check",
        "undogmatic export",
        "undogmatic label",
        "undogmatic precedents",
        "undogmatic score",
    ],
    "tests/constructs/precedents": [
        "undogmatic precedents -",
        "undogmatic precedents my.jsonl precedents.describes=judge model=gpt",
        "undogmatic precedents my.jsonl precedents.path=mine.csv precedents.columns.number=nr",
        (
            "undogmatic precedents notes.jsonl precedents.grammar=citations.yaml"
            " precedents.path=cases.csv"
        ),
        "undogmatic run experiment=european_court 'analysis=[labelled,precedents]'",
    ],
    "serves pages until it is stopped; tests/test_cli.py": ["undogmatic ui"],
    "serves an assistant until it is stopped; tests/cli/test_mcp.py": [
        "undogmatic mcp"
    ],
    "sends to a collector; tests/tracking/test_otel.py": [
        "undogmatic check verdicts.csv --otel",
    ],
    "tests/test_cli.py": ["python -m undogmatic.run --help"],
    "tests/test_tasks.py, tests/cli/test_init.py": [
        "undogmatic init",
        "undogmatic run experiment=polite",
        "undogmatic run experiment=polite model=fake model.kind=length",
    ],
    "a page that serves until it is stopped": [
        "undogmatic label my/polite.csv",
        "undogmatic label FILE --unit step",
    ],
    "asks the embedded model for minutes; tests/fit": [
        "undogmatic calibrate readout=logprobs ...",
        "undogmatic calibrate --data",
    ],
    "reads hidden states for minutes; tests/fit": [
        "undogmatic probe fit",
        "undogmatic probe fit --data",
        "undogmatic probe fit --data my.jsonl rubric=...",
        "undogmatic probe fit rubric=trait/hedging --out hedging.safetensors",
        "undogmatic probe fit rubric=trait/NAME",
    ],
    "needs a run that was logged to MLflow; tests/review": [
        "undogmatic review import RUN --from-mlflow",
        "undogmatic review import outputs/2026-01-31/12-00-00 --from-mlflow",
    ],
    "needs a key, and a prompt of the reader's; tests/test_generic.py": [
        "undogmatic score --rubric mine.yaml --input question=... --input answer=... --prompt mine"
        " model=gpt"
    ],
    "needs a program in the prompt registry, which an optimisation puts there; tests/optimize": [
        "optimizer=gepa prompt=program prompt.registry=shame-score-program prompt.alias=best",
        (
            "python -m undogmatic.run prompt=program prompt.registry=shame-score-program"
            " prompt.alias=best"
        ),
    ],
    "tests/cli/test_check.py": [
        "undogmatic check",
        "undogmatic check FILE",
        "undogmatic check FILE --report DIR",
        "undogmatic check data/check/demo.csv --judge judge_careful",
        "undogmatic check verdicts.csv labels.csv",
        "undogmatic check new.csv --against old.csv",
        "undogmatic check new.csv --against card.json",
        "undogmatic check new.csv --over date",
        "undogmatic check planted.csv",
        "undogmatic check planted.csv --injected what --parent of",
        "undogmatic check planted.csv --worse high",
        "undogmatic check verdicts.csv --report out --card card.json",
        (
            "undogmatic check data/check/demo.csv --judge judge_careful --card card.json --card"
            " card.svg --judge-config model=gpt-5 prompt=@prompt.txt"
        ),
    ],
    "serves a page until it is stopped; tests/review/test_page.py": [
        "undogmatic label FILE",
        "undogmatic label FILE --by COLUMN --random 130",
        "undogmatic label verdicts.xlsx",
    ],
    "serves a page until it is stopped; tests/review/test_unsteady.py": [
        "undogmatic label FILE --random 198",
        "undogmatic label RUN --random 30",
        "undogmatic check RUN/label_30_seed_0.jsonl RUN/label_30_seed_0.labels.csv --labels"
        " probabilities:inclusion_probability --instrument RUN",
    ],
    "serves a page until it is stopped; tests/review/test_align.py": [
        "undogmatic align RUN",
    ],
    "needs a run of some hundred texts, and embeddings; tests/fit/test_distill.py": [
        "undogmatic distill",
        "undogmatic distill RUN --out student.safetensors",
        "undogmatic distill RUN embeddings=e5 --judge NAME",
        "undogmatic distill verdicts.csv rubric=shame",
        "python -m undogmatic.run dataset=labelled model=distilled model.path=student.safetensors",
        "python -m undogmatic.run -m dataset=labelled model=local,tfidf,patterns,distilled",
    ],
    "tests/cli/test_datasheet.py": [
        "undogmatic check RUN --card card.json",
        "undogmatic check verdicts.csv --instrument RUN --card card.json",
    ],
    "tests/datasets/test_inject.py, tests/examinations/test_steps.py": [
        "undogmatic inject",
        "undogmatic inject --out injected.jsonl",
        "undogmatic inject my_runs.jsonl",
        "undogmatic inject my_runs.jsonl --out injected.jsonl",
        "undogmatic check injected.jsonl verdicts.csv --unit run",
        "python -m undogmatic.run experiment=traces dataset.path=injected.jsonl model=patterns",
    ],
    "tests/cli/test_instrument.py": [
        "undogmatic instrument shame model=patterns",
        "undogmatic instrument shame --texts notas.csv model=gpt",
        "undogmatic instrument shame --items RUN/instrument.jsonl model=tfidf",
        "undogmatic instrument shame --against RUN model=tfidf",
    ],
    "tests/cli/test_instrument_ways.py": [
        "undogmatic instrument preference --texts pairs.csv model=gpt analysis.margin=0.1",
        "undogmatic review export RUN --all --blind",
        "undogmatic instrument mine.yaml --write-wordings mine.edits.yaml model=gpt",
        "undogmatic instrument mine.yaml --write-texts made.jsonl --n 40 model=gpt",
    ],
    "judges a run again; tests/cli/test_rejudge.py": [
        "undogmatic rejudge RUN model=gpt"
    ],
    "ends with the status of the gate; tests/cli/test_gate.py": [
        "undogmatic gate",
        "undogmatic gate card.json --init",
        "undogmatic gate card.json",
        "undogmatic gate card.json model=gpt-5 prompt=@prompt.txt",
        "undogmatic gate card.json --data new.csv --junit gate.xml --markdown gate.md",
        "undogmatic gate card.json --json",
        "undogmatic gate RUN --config undogmatic-gate.yaml",
    ],
    "needs two runs; tests/judges/test_history.py": [
        "python -m undogmatic.run judge=panel judge.aggregate=weighted 'judge.members=[score,"
        " {judge: score, model: patterns}]' judge.history=[outputs/probe,outputs/patterns]"
    ],
}
"""Why some commands are not done here."""

NOT_STARTED = {command for commands in WHY_NOT.values() for command in commands}


def typed_in(page: Path) -> Iterator[str]:
    """Every command of a page, and every setting: in code blocks, in indented blocks, and in code
    within a sentence."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"(?:^    .*\n)+", prose, re.MULTILINE)
    lines = [
        line for block in blocks for line in block.replace("\\\n", " ").splitlines()
    ]
    for line in [
        *(part for each in lines for part in each.split(" && ")),
        *re.findall(r"`([^`\n]+)`", prose),
    ]:
        command = re.sub(r"\s+", " ", re.split(r"\s+#\s", line.strip())[0])
        if COMMAND.fullmatch(command) or SETTINGS.fullmatch(command):
            yield command


def commented_in(file: Path) -> Iterator[str]:
    """The settings that the first comment of a file under conf/ names, each with the choice of the
    file itself."""
    lines = file.read_text(encoding="utf-8").splitlines()
    end = next(
        (n for n, line in enumerate(lines) if not line.startswith("#")), len(lines)
    )
    comment = " ".join(line.lstrip("# ") for line in lines[:end])
    folder, _, option = (
        file.relative_to(conf_folder()).with_suffix("").as_posix().partition("/")
    )
    if folder == "hydra":
        folder, _, option = f"hydra/{option}".rpartition("/")
    own = (
        f"experiment=uncertainty_bakeoff arm={option}"
        if folder == "arm"
        else f"{folder}={option}"
    )
    for found in SETTINGS.finditer(comment):
        settings = found[0].rstrip(".:")
        yield (
            settings
            if settings.startswith(f"{folder}=") or folder == "arm"
            else f"{own} {settings}"
        )


TYPED = list(
    dict.fromkeys(
        c
        for page in PAGES
        if page.name != PAGE_WITH_A_TEST_OF_ITS_OWN
        for c in typed_in(page)
    )
)
COMMANDS = [command for command in TYPED if COMMAND.fullmatch(command)]
LEFT_OPEN = ("=...", "/...", "<", "NAME=", "=NAME", "RUN,", "[extract, ")
SETTINGS_TYPED = [
    command
    for command in TYPED
    if not COMMAND.fullmatch(command)
    and command not in (*RUN, *NOT_STARTED)
    and not any(map(command.count, LEFT_OPEN))
]
COMMENTED = list(
    dict.fromkeys(
        c for file in sorted(conf_folder().rglob("*.yaml")) for c in commented_in(file)
    )
)
COMMENTED = [
    command
    for command in COMMENTED
    if command not in RUN and not any(map(command.count, LEFT_OPEN[1:]))
]


def words_of(command: str) -> list[str]:
    """The words after the program's name, with something in the place of what the page leaves
    open."""
    for left_open, stands in STANDS_FOR.items():
        command = command.replace(left_open, stands)
    words = [
        word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=\S+", word)
    ]
    begins = (
        2
        if words[:2] == ["undogmatic", "run"]
        else 1
        if words[:1] == ["undogmatic"]
        else 0
    )
    return words[3 if words[:1] == ["python"] else begins :]


def workbook(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A workbook of verdicts on the texts of the rows, with two sheets, and labels beside it as
    `undogmatic label` writes them."""
    table = pd.DataFrame(rows)[["id", "text"]].assign(
        judge=[n % 2 for n in range(len(rows))]
    )
    with pd.ExcelWriter(folder / "verdicts.xlsx") as sheets:
        for name in ("April", "May"):
            table.to_excel(sheets, sheet_name=name, index=False)
    labels = table[["id"]].assign(human_ana=[n % 3 % 2 for n in range(len(rows))])
    labels.to_csv(folder / "verdicts.labels.csv", index=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages name: files of texts, a table of scores, a run, and one that
    quotes errors."""
    made = tmp_path_factory.mktemp("reader")
    long = (
        "O valor é devido, porque a obrigação venceu em 3 de maio e o devedor foi avisado antes do"
        " prazo."
    )
    rows: list[dict[str, Any]] = []
    for pair, side in itertools.product("123456", "ab"):
        case, high = f"{long} Caso {pair}.", side == "a"
        row = {
            "id": f"{pair}{side}",
            "pair": pair,
            "condition": "imitation" if high else "explanation",
        }
        row |= {
            "text": f"Aplica-se o Tema {pair} do STF." if high else case,
            "question": "Deve pagar?",
        }
        rows.append(
            row
            | {
                "response": "Sim, porque venceu.",
                "summary": case,
                "reference": f"{case} Houve recurso.",
            }
        )
    for name in ("mine.jsonl", "texts.jsonl"):
        put(made / name, rows)
    put(
        made / "my.jsonl",
        (
            row | {"label": 90 if row["condition"] == "imitation" else 10}
            for row in rows
        ),
    )
    pair = {
        "input": "Which court decides?",
        "output_1": "STF.",
        "output_2": "STJ.",
        "label": "first",
    }
    put(made / "pairs.jsonl", [pair])
    options = {
        "question": "Who decides an extraordinary appeal?",
        "options": ["STF", "STJ", "TST", "TSE"],
    }
    put(made / "questions.jsonl", [{"id": "1", "label": "A"} | options])
    scores = ["case,system,judge,factual_accuracy,completeness,nli,coverage"]
    scores += [
        f"{k},{name},j,{3 + (name == 'b')},{2 + k % 3},.{5 + k},.{4 + k}"
        for k in range(6)
        for name in "ab"
    ]
    put(made / "scores.csv", "\n".join(scores) + "\n")
    verdicts = "item,judge,verdict,label\n" + "".join(
        f"{n},j,{n % 5},{n % 4}\n" for n in range(9)
    )
    put(made / "verdicts.csv", verdicts)
    workbook(made, rows)
    put(
        made / "labels.csv",
        "item,label\nfr,correct\nde,incorrect\nit,correct\nit (2),correct\n",
    )
    shutil.copy(
        next((ROOT / "tests" / "fixtures").glob("inspect_ai-*/capitals.eval")), made
    )
    runs = ROOT / "tests" / "fixtures" / "traces"
    shutil.copy(runs / "langfuse.json", made / "traces.json")
    shutil.copy(runs / "agents_session.jsonl", made / "session.jsonl")
    put(made / "steps.csv", "item,judge,human\nsession/2,1,1\nsession/3,0,1\n")
    run(LITTLE, made / "RUN")
    buckets = [
        "experiment=faithfulness",
        "dataset.summaries=shipped",
        "steps=[]",
        "judges=[bucket_rules]",
    ]
    run([*buckets, "analysis=none", "run.limit=8"], made / "BUCKETS")
    return made


@pytest.fixture(autouse=True)
def _at_home(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a reader with all keys, the files that the pages name and a cache, in which the embedded
    model's file is put together once."""
    monkeypatch.setenv("UNDOGMATIC_CACHE", str(place.parent / "cache"))
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    for each in KEYS:
        monkeypatch.setenv(f"{each}_API_KEY", KEY)
    monkeypatch.setenv("DECISION_API_BASE", "http://127.0.0.1:9")


MOST_JOBS = 4


def jobs(words: Sequence[str]) -> list[list[str]]:
    """The jobs of a command: one, or as many as give each value that is swept over a turn, up to
    MOST_JOBS."""
    words = [
        word
        for word in combined(words)
        if not word.startswith(("hydra/launcher", "hydra.launcher"))
    ]
    own = [word for word in words if word != "-m"]
    params: dict[str, Any] = {}
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        if "-m" in words:
            plain = [
                word
                for word in own
                if not OverridesParser.create().parse_override(word).is_sweep_override()
            ]
            params = dict(
                compose("config", plain, return_hydra_config=True).hydra.sweeper.get(
                    "params"
                )
                or {}
            )
        given = {word.lstrip("+").partition("=")[0] for word in own}
        own = [
            f"{key}={value}"
            for key, value in params.items()
            if key.lstrip("+") not in given
        ] + own
        values = [
            (
                [
                    f"{each.get_key_element()}={value}"
                    for value in each.sweep_string_iterator()
                ]
                if each.is_sweep_override()
                else [word]
            )
            for word, each in zip(
                own, OverridesParser.create().parse_overrides(own), strict=True
            )
        ]
    return [
        [each[n % len(each)] for each in values]
        for n in range(min(MOST_JOBS, max(map(len, values), default=1)))
    ]


class Reached(Exception):
    """The run would now ask its first question."""


def start(words: Sequence[str]) -> None:
    """Do a run until its first question."""

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Reached):
        patch.setattr(Manifest, "open", Mock(side_effect=Reached))
        run_experiment(compose_config([*words, "tracking=none"]), CHOICES, Path("out"))


def run(words: Sequence[str], folder: Path) -> None:
    """Do a run to its end, with the config in its folder as Hydra leaves it."""
    config = compose_config([*words, "tracking=none", "engine.cache=false"])
    put(folder / ".hydra" / "config.yaml", json.dumps(config))
    run_experiment(config, CHOICES, folder)


BESIDE = (
    "analysis=meta",
    "analysis=suite",
    "experiment=gating",
    "hydra/sweeper=optuna",
    "optimizer=random_search",
)


@functools.cache
def _keys() -> set[str]:
    """All keys of a default run, and of one with each of BESIDE, with dots."""
    found: set[str] = set()

    def walk(node: Any, way: str) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                found.add(f"{way}{key}")
                walk(value, f"{way}{key}.")

    for context in ([], *([each] for each in BESIDE)):
        walk(compose_config(context), "")
    return found


def composes(words: Sequence[str]) -> bool:
    """Whether the words can be typed: alone, beside a choice that has their keys, or beside one of
    BESIDE."""
    group, _, option = words[0].partition("=")
    if len(words) == 1 and (
        option in options(group)
        or (re.fullmatch(r"[\w.]+=[^{]*", words[0]) and group in _keys())
    ):
        return True
    keys = [word.lstrip("+").partition("=")[0].split(".") for word in words]
    groups = [(key[0], key[1]) for key in keys if len(key) > 1]
    having = [
        f"{group}={name}"
        for group, key in groups
        for name in options(group)[:60]
        if key in keys_of(group, name)
    ]
    # The likeliest first, for each composition takes a quarter of a second: what has the keys.
    contexts = [*([each] for each in having[:3]), [], *([each] for each in BESIDE)]
    for context in contexts:
        try:
            compose_config([*context, *words])
        except ConfigError as error:
            if "is required" in str(error):
                return True
        else:
            return True
    return False


RUNS = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:python -m undogmatic\.run|undogmatic run)(?: .*)?"
)
STARTED = [
    each
    for each in COMMANDS
    if RUNS.fullmatch(each) and each not in RUN and each not in NOT_STARTED
]


def test_each_command_is_run_or_started_or_it_is_said_why_not() -> None:
    assert len(COMMANDS) > 80
    done = {*STARTED, *RUN, *NOT_STARTED}
    assert set(COMMANDS) - done == set(), "neither run nor named in WHY_NOT"
    assert (RUN.keys() | NOT_STARTED) - set(TYPED) == set(), "no longer documented"


@pytest.mark.parametrize("command", STARTED)
def test_a_command_starts(command: str) -> None:
    for job in jobs(words_of(command)):
        start(job)


@pytest.mark.parametrize("command", dict.fromkeys([*SETTINGS_TYPED, *COMMENTED]))
def test_a_setting_composes(command: str) -> None:
    for job in jobs(words_of(command)):
        assert composes(job)


@pytest.mark.parametrize("command", RUN)
def test_a_command_runs_to_its_end(
    command: str, stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words_of(command), *RUN[command]]
    if command.startswith("undogmatic"):
        if "import" in words:
            main(["review", "export", "RUN", "--all"])
            queue = pd.read_csv("queue.csv", dtype=str)
            queue.assign(label="50").to_csv("queue.csv", index=False)
        main(words)
        assert capsys.readouterr().out
        return
    run(
        [*words, *([f"model.api_base={stub.url}/v1"] if "model=gpt" in words else [])],
        Path("out"),
    )
    assert Path("out/report.html").is_file()

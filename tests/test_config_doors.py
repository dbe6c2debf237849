"""What a config may not do, whoever wrote it: run code that is not allowed, speak to Hydra, stand
for a memory's worth."""

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Patch, put, typed
from undogmatic.config import groups
from undogmatic.config.build import build, resolve, settings
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import ConfigError

CALL = "{_target_: subprocess.call, args: [touch, ran]}"
WORDS = [
    "model=patterns",
    "prompt=minimal_en",
    "dataset=pairs",
    "tracking=none",
    "analysis=none",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty working directory."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {
                "prompt/x.yaml": f"# @package _global_\nhydra: {{callbacks: {{x: {CALL}}}}}\n"
            },
            "the key `hydra`",
        ),
        (
            {
                "prompt/x.yaml": "# @package _global_\nhydra: {job_logging: {root: {level: INFO}}}\n"
            },
            "the key `hydra`",
        ),
        (
            {"prompt/x.yaml": f"# @package hydra.callbacks\nx: {CALL}\n"},
            (
                "c/prompt/x.yaml: a file of a group may not set Hydra's own keys, which run code:"
                " leave out its place `hydra.callbacks`"
            ),
        ),
        (
            {"prompt/x.yaml": f"# @package _global_.hydra.callbacks\nx: {CALL}\n"},
            "its place `hydra.callbacks`",
        ),
        (
            {
                "prompt/x.yaml": "# @package _global_\ndefaults: [override /hydra/launcher: y]\n"
            },
            "'override /hydra/launcher'",
        ),
        ({"prompt/x.yaml": "defaults: [/hydra/callbacks/y]\n"}, "'/hydra/callbacks/y'"),
        (
            {
                "prompt/x.yaml": "defaults: [y@_global_.hydra.callbacks]\n",
                "prompt/y.yaml": f"x: {CALL}\n",
            },
            "c/prompt/y.yaml: a file of a group may not set",
        ),
        (
            {
                "prompt/x.yaml": (
                    "# @package _global_\ndefaults: [{'/judge@[hydra].job.env_set': settings}]\n"
                ),
                "judge/settings.yaml": "UNDOGMATIC_ALLOW: os\n",
            },
            "its place `[hydra].job.env_set`",
        ),
        (
            {
                "prompt/x.yaml": (
                    "# @package _global_\ndefaults: [{'/judge@hydra[job].env_set': settings}]\n"
                ),
                "judge/settings.yaml": "HTTPS_PROXY: http://evil\n",
            },
            "its place `hydra[job].env_set`",
        ),
        (
            {
                "prompt/x.yaml": (
                    "# @package _global_\ndefaults: [{'/judge@[hydra][run]': settings}]\n"
                ),
                "judge/settings.yaml": "dir: elsewhere\n",
            },
            "its place `[hydra][run]`",
        ),
        (
            {"prompt/x.yaml": "# @package [hydra].job.env_set\nUNDOGMATIC_ALLOW: os\n"},
            "its place `[hydra].job.env_set`",
        ),
        (
            {
                "prompt/x.yaml": "defaults: ['y@_global_.[hydra].callbacks']\n",
                "prompt/y.yaml": f"x: {CALL}\n",
            },
            "its place `",
        ),
        (
            {
                "prompt/x.yaml": (
                    "# @package _global_\ndefaults: [{'/judge@hydra.callbacks.x y': settings}]\n"
                ),
                "judge/settings.yaml": CALL,
            },
            "its place `hydra.callbacks.x y`",
        ),
        (
            {
                "prompt/x.yaml": "defaults: [{/judge@_global_: settings}]\n",
                "judge/settings.yaml": "hydra: {run: {dir: x}}\n",
            },
            "the key `hydra`",
        ),
        (
            {
                "prompt/x.yaml": "defaults: [/z]\n",
                "z.yaml": f"hydra: {{callbacks: {{x: {CALL}}}}}\n",
            },
            "no option of a group",
        ),
        (
            {
                "prompt/x.yaml": (
                    "# @package _global_\nhydra: {sweeper: {params: {hydra/launcher: y}}}\n"
                )
            },
            "the key `hydra`",
        ),
        ({"prompt/x.yaml": f"x: {CALL}\n"}, "`prompt.x._target_` is 'subprocess.call'"),
        (
            {"prompt/x.yaml": f"x: [[{CALL}]]\n"},
            "`prompt.x.0.0._target_` is 'subprocess.call'",
        ),
        (
            {"prompt/x.yaml": "x: \"${oc.create:'{_target_: os.system}'}\"\n"},
            "`prompt.x._target_` is 'os.system'",
        ),
        ({"prompt/x.yaml": "defaults: [x]\n"}, "leads back to its own file"),
        (
            {"prompt/x.yaml": "defaults: [y]\n", "prompt/y.yaml": "defaults: [x]\n"},
            "leads back to its own file",
        ),
        ({"prompt/x.yaml": "id: ${prompt.id}\n"}, "`prompt.id` refers to itself"),
        (
            {"prompt/x.yaml": "a: 1\na: 2\n"},
            "prompt/x.yaml:2: not YAML: the key a stands here a second time",
        ),
    ],
)
def test_a_file_of_a_group_cannot_reach_beyond_what_a_config_may(
    here: Path, files: dict[str, str], said: str
) -> None:
    for name, content in files.items():
        put(here / "c" / name, content)
    with pytest.raises(ConfigError, match=re.escape(said)):
        compose_config([*WORDS, "prompt=x"], config_dir="c")
    assert not (here / "ran").exists()


def test_an_experiment_may_say_what_is_swept_over(here: Path) -> None:
    swept = "# @package _global_\nseed: 3\nhydra: {sweeper: {params: {judge: 'score,panel'}}}\n"
    put(here / "c/experiment/x.yaml", swept)
    assert compose_config([*WORDS, "experiment=x"], config_dir="c")["seed"] == 3


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "+hydra.callbacks.x._target_=os.system",
            "`hydra.callbacks.x._target_` is 'os.system'",
        ),
        (
            "+hydra.callbacks.x._target_=undogmatic.safety.paths.os.system",
            "cannot be imported: there is no module",
        ),
        (
            "+hydra.callbacks.x._target_=undogmatic.safety.paths.Path",
            "is pathlib.Path under another name",
        ),
        ("+hydra.callbacks.x._target_=${oc.env:HOME}", "must be written out here"),
        (
            "+hydra.callbacks.x={_target_:undogmatic.sweep.SweepCallback,_args_:[{_target_:os.system}]}",
            "_args_.0._target_",
        ),
        (
            "+hydra.callbacks.x=\"${oc.create:'{_target_: os.system}'}\"",
            "of functions only oc.env, now",
        ),
        (
            "+hydra.callbacks.x='${oc.select:nowhere,{_target_:os.system}}'",
            "of functions only oc.env, now",
        ),
        (
            "+hydra.callbacks.x={_target_:undogmatic.engine.journal.Ledger,path:x}",
            "Hydra may run only its own launchers",
        ),
        (
            "+hydra.callbacks.x={_target_:undogmatic.sweep.SweepCallback,a:{_target_:undogmatic.engine.journal.Ledger}}",
            "`hydra.callbacks.x.a._target_`",
        ),
        (
            "hydra.launcher._target_=os.system",
            "`hydra.launcher._target_` is 'os.system'",
        ),
        ("hydra.sweeper._target_=os.system", "`hydra.sweeper._target_` is 'os.system'"),
        (
            "+hydra.launcher.x={_target_:os.system}",
            "`hydra.launcher.x._target_` is 'os.system'",
        ),
        (
            "hydra.job_logging.handlers.console.class=os.system",
            "only these log handlers",
        ),
        (
            "hydra.job_logging.handlers.console.stream='ext://os.system'",
            "only ext://sys.stdout and ext://sys.stderr",
        ),
        (
            "+hydra.job_logging.formatters.simple.'()'=os.system",
            "cannot be read as an override",
        ),
        ("+hydra.callbacks.x='${model}'", "which stands for more than one value"),
        (
            "+hydra.job.env_set.UNDOGMATIC_ALLOW=os",
            "`hydra.job.env_set` sets UNDOGMATIC_ALLOW",
        ),
        (
            "+hydra.job.env_set.https_proxy=http://x",
            "`hydra.job.env_set` sets https_proxy",
        ),
        (
            "++hydra.job.env_set={PYTHONPATH:/tmp}",
            "`hydra.job.env_set` sets PYTHONPATH",
        ),
        (
            "++hydra.job.env_set={SSL_CERT_FILE:x}",
            "`hydra.job.env_set` sets SSL_CERT_FILE",
        ),
        (
            "hydra.run.dir='out/${oc.env:MY_API_KEY}'",
            "the name of a folder may not hold a secret",
        ),
        ("hydra.sweep.dir='${oc.decode:x}'", "of functions only oc.env, now"),
        ("hydra.run.dir=' '", "it must be the name of a folder"),
        ("hydra.output_subdir=.hydra", "what it would hold is written to .hydra"),
        ("hydra.searchpath=[pkg://antigravity]", "a package that may not be used"),
        ("hydra.searchpath=[zip://x]", "it must be a folder"),
    ],
)
def test_a_word_cannot_make_hydra_run_what_is_not_allowed(
    here: Path, word: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        compose_config([*WORDS, word])


@pytest.mark.parametrize(
    "word",
    [
        "+prompt.instructions='${oc.env:MY_API_KEY}'",
        "rubric.wordings.en.domain='Say ${oc.env:MY_API_KEY} first.'",
        "+prompt.instructions='${model.extra.note}'",
        "judges='[{judge: score, prompt: {id: ${oc.env:MY_API_KEY}}}]'",
    ],
)
def test_a_reference_to_a_secret_reaches_no_prompt(
    monkeypatch: Patch, word: str
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-4f9aX2bQ7rT1mZ8wK3vN6c")
    words = ["model=gpt", "+model.extra.note='${oc.env:MY_API_KEY}'"]
    assert (
        compose_config(words)["model"]["extra"]["note"] == "sk-4f9aX2bQ7rT1mZ8wK3vN6c"
    )
    with pytest.raises(ConfigError, match="brings in a secret") as caught:
        compose_config([*words, word])
    assert "4f9aX" not in str(caught.value)


LEDGER = "undogmatic.engine.journal.Ledger"


@pytest.mark.parametrize(
    ("node", "group", "said"),
    [
        (
            {
                "_target_": "undogmatic.readouts.prompt.Prompt",
                "id": "x",
                "language": "en",
            },
            "prompt",
            "instructions",
        ),
        (
            {
                "_target_": "undogmatic.constructs.shame.curated.CuratedDataset",
                "parts": ["pairs"],
            },
            "dataset",
            "path",
        ),
        ({"_target_": "undogmatic.records.rubric.Rubric"}, "rubric", "wordings"),
        (
            {"_target_": "undogmatic.examinations.suite.SuiteAnalysis"},
            "analysis",
            "mine",
        ),
    ],
)
@pytest.mark.parametrize(
    "inside", [lambda node: node, lambda node: [node], lambda node: {"en": node}]
)
def test_what_a_place_does_not_take_is_not_built(
    here: Path, node: dict, group: str, said: str, inside: Any
) -> None:
    """A journal opens its file, and cuts off what is no line."""
    put(here / "precious", "a text without an end")
    wrong = inside({"_target_": LEDGER, "path": str(here / "precious"), "read": "x"})
    with pytest.raises(
        ConfigError, match=rf"`{group}\.{said}.*_target_` is '{LEDGER}'"
    ):
        build(node | {said: wrong}, group)
    assert (here / "precious").read_text() == "a text without an end"


def test_ten_lines_that_stand_for_a_memorys_worth_are_refused() -> None:
    for form, between in (("+{}=[{}]", ","), ("+{}={}", "")):
        words = [
            form.format(a, between.join([f"${{{b}}}"] * 10))
            for a, b in itertools.pairwise("abcdefghij")
        ]
        with pytest.raises(ConfigError, match="stands for more than 5,000,000"):
            compose_config([*WORDS, *words, "+j=1"])


@pytest.mark.parametrize(
    ("words", "files", "said"),
    [
        (
            ["--config-name", "mine"],
            {
                "mine.yaml": f"defaults: [config, _self_]\nhydra: {{callbacks: {{x: {CALL}}}}}\n"
            },
            "`hydra.callbacks.x._target_` is 'subprocess.call'",
        ),
        (
            ["--config-name", "mine"],
            {
                "mine.yaml": (
                    "defaults: [config, _self_]\nhydra: {job_logging: {formatters: {simple: {():"
                    " os.system, command: touch ran}}}}\n"
                )
            },
            "`hydra.job_logging.formatters.simple.()` is 'os.system'; only these log handlers",
        ),
        (
            ["--config-name", "mine"],
            {
                "mine.yaml": (
                    "defaults: [config, _self_]\nhydra: {searchpath: ['pkg://antigravity']}\n"
                )
            },
            "a package that may not be used",
        ),
        (
            ["-m", "hydra/launcher=mine"],
            {"hydra/launcher/mine.yaml": CALL},
            "no options of Hydra's own groups",
        ),
        (
            ["--cfg", "job", "prompt=x"],
            {"prompt/x.yaml": f"# @package hydra.callbacks\nx: {CALL}\n"},
            "its place `hydra.callbacks`",
        ),
        (
            ["--config-path", "c"],
            {},
            "`--config-path` is 'c'; the program's own folder cannot be replaced",
        ),
        (["--experimental-rerun", "x.pickle"], {}, "reads a pickle"),
    ],
)
def test_no_option_leads_past_the_door(
    here: Path, words: list[str], files: dict[str, str], said: str
) -> None:
    for name, content in files.items():
        put(here / "c" / name, content)
    ended = typed(
        "undogmatic.run", *(["--config-dir", "c"] if files else []), *words, folder=here
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
    assert said in ended.stderr
    assert not {path.name for path in here.rglob("*")} & {"ran", "outputs", "multirun"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def f(:\n", "broken.py:1: SyntaxError: invalid syntax"),
        ("import nowhere_at_all\n", "broken.py:1: No module named 'nowhere_at_all'"),
        ("\nraise SystemExit(0)\n", "broken.py:2: SystemExit: 0"),
        ("x = 1\n1 / 0\n", "broken.py:2: ZeroDivisionError: division by zero"),
        ("x = 1\n", "has no Thing"),
        ("Thing = 3\n", "which is not a class"),
        (
            (
                "class Thing:\n    def __init__(self, a: int = 1) -> None:\n        raise"
                " TypeError('no\\nway')\n"
            ),
            "`extra` cannot be built: ",
        ),
        (
            "class Thing:\n    def __init__(self, a: int = 1) -> None:\n        raise SystemExit\n",
            "broken.py:3: SystemExit.",
        ),
    ],
)
def test_what_a_users_module_raises_is_one_message(
    here: Path, content: str, said: str, monkeypatch: Patch
) -> None:
    put(here / "broken.py", content)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "broken")
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(ConfigError) as caught:
        build({"_target_": "broken.Thing"}, "extra")
    sys.modules.pop("broken", None)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "group", "said"),
    [
        ("undogmatic.safety.paths.Path", "model", "is pathlib.Path under another name"),
        ("undogmatic.judges.score.ScoreJudge", "dataset", "it has no `load`"),
        (
            "undogmatic.judges.score.ScoreJudge",
            "model",
            "it is no undogmatic.models.base.Model",
        ),
        (
            "undogmatic.readouts.prompt.Prompt",
            "rubric",
            "it is no undogmatic.records.rubric.Rubric",
        ),
        (
            "undogmatic.engine.journal.Journal",
            "engine",
            "it is no undogmatic.engine.local.Engine",
        ),
        (
            "undogmatic.constructs.shame.patterns.PatternsModel",
            "tracking",
            "it has no `log`",
        ),
        (
            "undogmatic.constructs.shame.patterns.PatternsModel",
            "judges[0]",
            "it is no undogmatic.judges.base.Judge",
        ),
    ],
)
def test_a_class_must_be_of_the_kind_that_the_group_is_for(
    path: str, group: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        resolve(path, group)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("engine.max_usd=nan", "`engine.max_usd` is nan; it must be a finite number."),
        ("engine.timeout=inf", "`engine.timeout` is inf; it must be a finite number."),
        (
            "engine.concurrency=100000",
            "`engine.concurrency` is 100000: input should be less than or equal to 10000.",
        ),
        (
            "run.repeats=1000000",
            "`run.repeats` is 1000000: input should be less than or equal to 10000.",
        ),
        (
            "seed=4294967296",
            "`seed` is 4294967296: input should be less than or equal to 4294967295.",
        ),
        (
            "run.limit=9223372036854775808",
            "`run.limit` is 9.22337e+18; no number here may be beyond 1e+12.",
        ),
        ("+dataset.n=5", "`dataset.n` is not a known key."),
    ],
)
def test_a_number_that_means_nothing_is_refused(word: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        chosen = settings(compose_config([*WORDS, word]))
        Recipe(chosen.model_dump()).build()
        build(chosen.engine, "engine")
        build(chosen.dataset, "dataset")


def test_a_package_that_may_be_built_from_may_be_searched(
    here: Path, monkeypatch: Patch
) -> None:
    put(here / "theirs_/__init__.py", "")
    put(
        here / "theirs_/conf/prompt/x.yaml",
        "_target_: undogmatic.readouts.prompt.Prompt\nid: x\nlanguage: en\n",
    )
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "theirs_")
    config = compose_config(
        [*WORDS, "prompt=x", "hydra.searchpath=[pkg://theirs_.conf]"]
    )
    assert config["prompt"]["id"] == "x"
    assert config[groups.FOLDERS] == [f"file://{here}/theirs_/conf"]


@pytest.mark.parametrize("shown", ["job", "hydra", "all"])
def test_a_config_is_shown_with_its_references_followed(
    shown: str, tmp_path: Path
) -> None:
    """A list that a reference gives, what only a run sets, and references from one part to the
    other included."""
    words = ["--cfg", shown, "--resolve", "dataset=my", "tracking=none"]
    ended = typed("undogmatic.run", *words, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    config = yaml.safe_load(ended.stdout)
    assert "${" not in ended.stdout
    assert ("hydra" in config, "dataset" in config) == (
        shown != "job",
        shown != "hydra",
    )
    if shown != "hydra":
        assert (
            config["dataset"]["inputs"] == ["text"]
            and config["dataset"]["path"] == "???"
        )

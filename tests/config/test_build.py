import re

import pytest

from tests.rubrics import TEN
from undogmatic.config.build import build, resolve, settings
from undogmatic.errors import ConfigError
from undogmatic.judges.score import ScoreJudge
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.structured import SamplesReadout

SAMPLES = "undogmatic.readouts.structured.SamplesReadout"
PROMPT = "undogmatic.readouts.prompt.Prompt"


def whole(**change: object) -> dict[str, object]:
    nodes = "model prompt judge readout rubric dataset analysis optimizer engine tracking".split()
    config: dict[str, object] = {name: {} for name in nodes}
    return config | {"seed": 0, "run": {}, "report": {}} | change


def test_defaults_are_filled_in() -> None:
    chosen = settings(whole())
    assert (chosen.run.repeats, chosen.run.resume, chosen.report.language) == (
        1,
        None,
        "en",
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"typo": 1}, "`typo` is not a known key"),
        ({"tracing": {}}, "Did you mean `tracking`?"),
        ({"seed": -1}, "`seed` is -1"),
        ({"seed": "abc"}, "`seed` is 'abc'"),
        ({"run": {"repeats": 0}}, "`run.repeats` is 0"),
        (
            {"run": {"repeat": 2}},
            "`run.repeat` is not a known key. Did you mean `repeats`?",
        ),
        ({"report": {"language": "fr"}}, "`report.language` is 'fr'"),
    ],
)
def test_a_wrong_key_or_value_is_named(change: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        settings(whole(**change))


def test_build_coerces_types_and_keeps_zero() -> None:
    readout = build({"_target_": SAMPLES, "n": "3", "retries": 0}, "readout")
    assert isinstance(readout, SamplesReadout)
    assert (readout.n, readout.inner.retries) == (3, 0)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"_target_": SAMPLES, "m": 3}, "`readout.m` is not a known key."),
        ({"_target_": SAMPLES, "n": "three"}, "`readout.n` is 'three'"),
        ({"_target_": SAMPLES, "n": 1.5}, "`readout.n` is 1.5"),
        ({"_target_": PROMPT, "id": "x"}, "`prompt.language` is required"),
        (
            {"_target_": PROMPT, "id": "x", "language": "pt", "instructions": ""},
            "`prompt.instructions` is ''",
        ),
        ({"n": 3}, "`readout._target_` is missing"),
    ],
)
def test_build_names_what_is_wrong(node: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        build(node, "prompt" if PROMPT in node.values() else "readout")


def test_what_an_extra_would_bring_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(package: str) -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr("undogmatic.engine.ray.needs", needs)
    with pytest.raises(
        ConfigError,
        match=r'^`engine` needs what `pip install "undogmatic\[scale\]"` brings \(ray',
    ):
        build({"_target_": "undogmatic.engine.ray.RayEngine"}, "engine")


def test_a_text_in_place_of_a_list_is_shown_as_a_list() -> None:
    node = {
        "_target_": "undogmatic.examinations.reliability.ReliabilityAnalysis",
        "against": "outputs/a",
    }
    with pytest.raises(
        ConfigError,
        match=r"it must be a list\. In brackets: analysis\.against=\[outputs/a\]\.",
    ):
        build(node, "analysis")


@pytest.mark.parametrize(
    "path",
    [
        "os.system",
        "subprocess.Popen",
        "builtins.eval",
        "undogmatic_evil.Thing",
        "undogmatic.config.build.build",
        "undogmatic.readouts.structured._hidden",
        "undogmatic.nowhere.Thing",
        "undogmatic.safety.paths.os.system",
    ],
)
def test_only_classes_of_allowed_packages_are_built(path: str) -> None:
    with pytest.raises(ConfigError, match="_target_"):
        resolve(path, "judge")


def test_a_package_of_ones_own_can_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="UNDOGMATIC_ALLOW=rich"):
        resolve("rich.text.Text", "extra")
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "rich")
    assert resolve("rich.text.Text", "extra").__name__ == "Text"


def test_parts_supplied_by_the_program_cannot_be_set_in_the_config() -> None:
    readout = SamplesReadout()
    readout.rubric = TEN
    assert (
        build(
            {"_target_": "undogmatic.judges.score.ScoreJudge"}, "judge", readout=readout
        ).readout
        is readout
    )
    with pytest.raises(ConfigError, match=r"`judge.readout` is not a known key"):
        build(
            {"_target_": "undogmatic.judges.score.ScoreJudge", "readout": "x"},
            "judge",
            readout=readout,
        )
    assert ScoreJudge.name == "score"


def test_records_are_validated_in_place() -> None:
    node = {"_target_": PROMPT, "id": "x", "language": "pt", "instructions": "i"}
    built = build(
        node | {"demonstrations": [{"text": "t", "score": 1, "rationale": "r"}]},
        "prompt",
    )
    assert isinstance(built, Prompt)
    with pytest.raises(
        ConfigError, match=r"`prompt.demonstrations.0.inputs.text` is ''"
    ):
        build(
            node | {"demonstrations": [{"text": "", "score": 1, "rationale": "r"}]},
            "prompt",
        )


@pytest.mark.parametrize(
    ("target", "arguments", "key"),
    [
        (
            "undogmatic.engine.local.LocalEngine",
            {"calls_per_minute": True},
            "calls_per_minute",
        ),
        ("undogmatic.engine.local.LocalEngine", {"max_usd": False}, "max_usd"),
        ("undogmatic.engine.local.LocalEngine", {"concurrency": True}, "concurrency"),
        ("undogmatic.engine.batch.BatchEngine", {"size": True}, "size"),
        ("undogmatic.models.hosted.Price", {"input": True, "output": 1}, "input"),
        (
            "undogmatic.models.hosted.ChatModel",
            {
                "name": "m",
                "api_base": "http://localhost/v1",
                "price": {"input": 1, "output": True},
            },
            "price.output",
        ),
    ],
)
def test_true_is_no_number(target: str, arguments: dict[str, object], key: str) -> None:
    """Python counts it as 1."""
    group = "engine" if "Engine" in target else "model" if "Chat" in target else "price"
    with pytest.raises(
        ConfigError,
        match=rf"`{group}\.{re.escape(key)}` is (true|false); it must be a number",
    ):
        build({"_target_": target, **arguments}, group)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seed": True}, "seed"),
        ({"run": {"repeats": True}}, "run.repeats"),
        ({"run": {"limit": False}}, "run.limit"),
        ({"plan": {"alpha": True}}, "plan.alpha"),
    ],
)
def test_true_is_no_number_of_the_whole_config_either(
    change: dict[str, object], key: str
) -> None:
    with pytest.raises(
        ConfigError, match=rf"`{re.escape(key)}` is (true|false); it must be a number"
    ):
        settings(whole(**change))


def test_true_stays_what_it_is_where_it_is_meant() -> None:
    assert (
        build(
            {"_target_": "undogmatic.engine.local.LocalEngine", "cache": True}, "engine"
        ).cache
        is True
    )
    extra = {"thinking": True, "deep": {"on": False}}
    model = {
        "_target_": "undogmatic.models.hosted.ChatModel",
        "name": "m",
        "api_base": "http://localhost/v1",
    }
    assert build(model | {"extra": extra, "sampling": False, "batch": True}, "model")

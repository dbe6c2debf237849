import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from undogmatic.config.schema import every_group, schema
from undogmatic.errors import ConfigError
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import conf_folder

GROUPS = sorted(
    path.name
    for path in conf_folder().iterdir()
    if path.is_dir() and path.name != "hydra"
)


def problems(group: str, content: Any) -> list[str]:
    checker = jsonschema.Draft7Validator(schema(group))
    checker.check_schema(checker.schema)
    return [
        f"{'.'.join(map(str, each.path))}: {each.message}"
        for each in checker.iter_errors(content)
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_the_shipped_files_fit_the_schema_of_their_group(group: str) -> None:
    checker = jsonschema.Draft7Validator(schema(group))
    checker.check_schema(checker.schema)
    for file in sorted((conf_folder() / group).rglob("*.yaml")):
        assert not [each.message for each in checker.iter_errors(read_yaml(file))], file


def test_every_folder_of_conf_is_a_group() -> None:
    assert every_group() == GROUPS
    with pytest.raises(ConfigError, match="no group 'judgee'"):
        schema("judgee")


@pytest.mark.parametrize(
    ("group", "content", "told"),
    [
        (
            "readout",
            {"_target_": "undogmatic.readouts.logprobs.LogprobsReadout", "topp": 3},
            "'topp' was unexpected",
        ),
        (
            "readout",
            {"_target_": "undogmatic.readouts.logprobs.LogprobsReadout", "top": "many"},
            "top: ",
        ),
        (
            "model",
            {"_target_": "undogmatic.models.qwen.QwenModel", "threads": 0},
            "threads: ",
        ),
        (
            "dataset",
            {"_target_": "undogmatic.datasets.tabular.TextsDataset"},
            "'path' is a required property",
        ),
        ("rubric", {"name": "x"}, "is not valid under any"),
        ("experiment", {"judgge": {}}, "'judgge' was unexpected"),
        ("experiment", {"run": {"repeats": 0}}, "run: "),
    ],
)
def test_what_would_be_refused_is_marked(group: str, content: Any, told: str) -> None:
    assert any(told in each for each in problems(group, content)), problems(
        group, content
    )


def test_a_reference_may_stand_for_any_value_and_an_own_class_takes_any_key() -> None:
    referring = {
        "_target_": "undogmatic.readouts.logprobs.LogprobsReadout",
        "top": "${readout.top}",
    }
    assert not problems("readout", referring)
    assert not problems("judge", {"_target_": "my.judge.Own", "anything": 1})


def test_keys_say_what_they_mean() -> None:
    branches = {
        b["if"]["properties"]["_target_"]["const"]: b
        for b in schema("readout")["allOf"]
        if "then" in b
    }
    keys = branches["undogmatic.readouts.structured.SamplesReadout"]["then"][
        "properties"
    ]
    assert keys["n"]["default"] == 5
    assert json.dumps(schema("rubric")).count("What a score can be.") == 1
    options = schema("experiment")["properties"]["defaults"]["items"]["properties"][
        "override /judge"
    ]
    assert "gating/uncertainty" in options["anyOf"][0]["enum"]


def test_an_option_in_the_users_folder_is_offered(tmp_path: Path) -> None:
    (tmp_path / "undogmatic.toml").write_text('conf = "mine"\n')
    (tmp_path / "mine" / "rubric").mkdir(parents=True)
    (tmp_path / "mine" / "rubric" / "kind.yaml").write_text(
        "_target_: undogmatic.records.rubric.Rubric\nname: kind\n"
    )
    options = schema("arm")["properties"]["defaults"]["items"]["properties"]["/rubric"]
    assert {"kind", "shame"} <= set(options["anyOf"][0]["enum"])

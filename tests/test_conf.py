"""Every file under conf/ composes, passes the schema and names only what may be built."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from undogmatic.config.build import Settings, build, resolve, settings
from undogmatic.safety.paths import conf_folder

FILES = sorted(p for p in conf_folder().rglob("*.yaml") if p.name != "config.yaml")


def group(path: Path) -> str:
    """The group of a file: the first folder; a folder in it is part of the option's name
    (judge=gating/default)."""
    return path.relative_to(conf_folder()).parts[0]


def option(path: Path) -> str:
    """The name by which a file is chosen within its group."""
    return path.relative_to(conf_folder() / group(path)).with_suffix("").as_posix()


CHOICES = [
    f"{group(p)}={option(p)}" for p in FILES if group(p) in Settings.model_fields
]
EXPERIMENTS = [p.stem for p in FILES if p.parent.name == "experiment"]
A_FILE = ["dataset.path=x.jsonl"]
REQUIRED = {f"dataset={name}": A_FILE for name in ("texts", "verdicts", "quotes")}
REQUIRED |= {
    f"experiment={name}": A_FILE for name in ("faithfulness_meta", "error_classes")
}
REQUIRED["model=openai_compatible"] = ["model.api_base=http://x/v1", "model.name=m"]


def composed(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        return OmegaConf.to_container(compose("config", list(overrides)), resolve=True)  # type: ignore[return-value]


def targets(node: Any) -> list[str]:
    if isinstance(node, dict):
        here = [node["_target_"]] if "_target_" in node else []
        return here + [t for value in node.values() for t in targets(value)]
    return (
        [t for value in node for t in targets(value)] if isinstance(node, list) else []
    )


@pytest.mark.parametrize(
    "choice", [*CHOICES, *(f"experiment={name}" for name in EXPERIMENTS)]
)
def test_every_choice_and_experiment_composes_into_the_schema(choice: str) -> None:
    assert settings(composed(choice, *REQUIRED.get(choice, []))).seed == 0


@pytest.mark.parametrize(
    "experiment", ["uncertainty_bakeoff", "uncertainty_bakeoff_words"]
)
@pytest.mark.parametrize("name", [p.stem for p in FILES if p.parent.name == "arm"])
def test_every_arm_composes_into_the_bakeoffs_and_keeps_its_own_readout(
    name: str, experiment: str
) -> None:
    config = composed(f"experiment={experiment}", f"arm={name}")
    assert settings(config).dataset["n"] == config["dataset"]["n"]
    assert config["analysis"]["_target_"].endswith("CalibrationAnalysis")
    own = {
        "probe": "Probe",
        "samples": "Samples",
        "decision": "Decision",
        "stated": "Structured",
    }
    own |= {"entropy": "Logprobs", "repeats": "Logprobs"}
    other = "Structured" if experiment.endswith("words") else "Logprobs"
    assert config["readout"]["_target_"].endswith(f"{own.get(name, other)}Readout")


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{group(p)}/{option(p)}")
def test_every_file_says_what_it_is_and_every_target_is_allowed_and_exists(
    path: Path,
) -> None:
    first = next(
        x
        for x in path.read_text(encoding="utf-8").splitlines()
        if not x.startswith("# @package")
    )
    assert first.startswith("# ")
    found = targets(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    for target in found:
        if target != "auto":
            assert resolve(target, group(path)).__name__ == target.rsplit(".", 1)[1]
    assert found or group(path) in ("arm", "experiment", "hydra")


WRITTEN = [p for p in FILES if p.parent.name == "prompt" and p.stem != "program"]
"""Prompts that say something themselves; the other reads a program."""


def test_a_prompts_id_is_its_file_name_and_its_hash_is_its_own() -> None:
    rubric = build(composed()["rubric"], "rubric")
    prompts = {
        p.stem: build(composed(f"prompt={p.stem}")["prompt"], "prompt") for p in WRITTEN
    }
    assert {name: prompt.id for name, prompt in prompts.items()} == {
        name: name for name in prompts
    }
    assert {"anchored_pt", "anchored_en", "demos_pt", "demos_en"} <= prompts.keys()
    assert len({prompt.hash(rubric) for prompt in prompts.values()}) == len(WRITTEN)

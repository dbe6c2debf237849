"""What stands at the root for other tools and for those who arrive: it agrees with the code."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import undogmatic
from benchmarks.llms import PAGE, llms
from benchmarks.skill import questions, skill
from tests.conftest import environment
from undogmatic.safety.paths import conf_folder

ROOT = conf_folder().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_version_stands_in_one_place_and_is_told_by_what_cannot_read_it() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "undogmatic/__init__.py"
    assert yaml.safe_load(page("CITATION.cff"))["version"] == undogmatic.__version__
    assert f"## {undogmatic.__version__} (" in page("CHANGELOG.md")


def test_the_changelog_names_every_command() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "undogmatic.cli", "completion", "--words", ""],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    # of the run, and of the data
    commands = {line.split("\t")[0] for line in listed.splitlines()} - {
        "ui",
        "pairs",
    }
    assert {"check", "run", "distill"} <= commands
    assert {
        name for name in commands if f"undogmatic {name}" not in page("CHANGELOG.md")
    } == set()


def test_the_skill_holds_the_questions_of_readme_and_no_other_command() -> None:
    assert len(questions(page("README.md"))) > 20
    assert page("SKILL.md") == skill(page("README.md")), (
        "python -m benchmarks.skill writes it again"
    )


def test_what_a_language_model_is_told_is_what_the_site_has() -> None:
    told = PAGE.read_text("utf-8")
    assert told == llms(), "python -m benchmarks.llms writes it again"
    lines = [line for line in told.splitlines() if line.startswith("- ")]
    assert len(lines) > 50 and all(
        re.fullmatch(r"- \[.+\]\([\w./]+/\): .+[.?]", x) for x in lines
    )


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "SKILL.md"]
)
def test_every_link_leads_to_a_file(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page(name))
    assert [
        link
        for link in links
        if not link.startswith("https://") and not (ROOT / link).exists()
    ] == []


def test_the_image_holds_what_the_installation_needs_and_runs_the_main_job() -> None:
    steps = [
        line.split(maxsplit=1)
        for line in page("Dockerfile").splitlines()
        if re.match(r"[A-Z]+ ", line)
    ]
    copied = [
        path for kind, rest in steps if kind == "COPY" for path in rest.split()[:-1]
    ]
    asked = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *asked["packages"],
        *asked["force-include"],
        "pyproject.toml",
        PROJECT["project"]["readme"],
        "LICENSE",
    }
    assert set(copied) == needed
    kept = {
        line[1:] for line in page(".dockerignore").splitlines() if line.startswith("!")
    }
    assert kept == needed and all((ROOT / path).exists() for path in copied)
    assert [rest for kind, rest in steps if kind in ("ENTRYPOINT", "CMD")] == [
        '["undogmatic"]',
        '["run"]',
    ]


def test_the_release_is_tested_and_uploaded_without_a_token_and_holds_the_tag_to_the_version(
    tmp_path: Path,
) -> None:
    flow = yaml.safe_load(page(".github/workflows/release.yml"))
    build, publish = flow["jobs"]["build"], flow["jobs"]["publish"]
    assert (
        publish["permissions"] == {"id-token": "write"} and publish["needs"] == "build"
    )
    assert "secrets." not in page(".github/workflows/release.yml")

    told = {step["name"]: step["run"] for step in build["steps"] if "name" in step}
    assert told["Test"] == ".ci/run"
    brings = told["List what an installation brings"]
    assert "sha256sum" in brings and "cyclonedx-py environment" in brings
    signs = [
        step.get("uses", "").partition("@")[0] for step in flow["jobs"]["sign"]["steps"]
    ]
    assert {"actions/attest-build-provenance", "actions/attest-sbom"} <= {*signs}
    heading = page("CHANGELOG.md").partition("\n## ")[2].partition("\n")[0]
    assert re.fullmatch(
        rf"Unreleased|{undogmatic.__version__} \(\d{{4}}-\d\d-\d\d\)", heading
    )
    assert f"version: {undogmatic.__version__}" in page("CITATION.cff")
    for tag, status in ((f"v{undogmatic.__version__}", 0), ("v9.9.9", 1)):
        assert (
            subprocess.run(
                ["bash", "-c", told["Hold the tag to the version"]],
                cwd=ROOT,
                env={"TAG": tag},
            ).returncode
            == status
        )
    for name in ("pyproject.toml", "CITATION.cff", "README.md"):
        (tmp_path / name).write_text(page(name))
        assert "OWNER" not in page(name)
    known = {"GITHUB_REPOSITORY": "some/where", "PATH": os.environ["PATH"]}
    named = told["Name the repository, which no file of it does"]
    subprocess.run(["bash", "-ec", named], cwd=tmp_path, env=known, check=True)
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["urls"]
    urls["citation"] = yaml.safe_load((tmp_path / "CITATION.cff").read_text())[
        "repository-code"
    ]
    assert len(urls) == 5
    assert all(url.startswith("https://github.com/some/where") for url in urls.values())
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "README.md").read_text())
    assert (
        len(links) > 40
        and [link for link in links if not link.startswith("https://")] == []
    )
    colab = "https://colab.research.google.com/github/some/where/blob/main/docs/notebooks/check.ipynb"
    assert colab in links
    raw = "https://raw.githubusercontent.com/some/where/main/docs/"
    assert {raw + "pictures/answer_en_light.webp", raw + "assets/colab.svg"} <= {*links}


def test_every_version_that_is_held_back_is_explained() -> None:
    declared = [*PROJECT["project"]["dependencies"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        declared += extra
    bounds = {
        re.split(r"[<>=]", one)[0]: found[0]
        for one in declared
        if (found := re.search(r"<[\d.]+", one))
    }
    explained = dict(
        re.findall(
            r"(?m)^\| ([\w-]+) \| `(<[\d.]+)` \| .+ \| .+ \|$", page("CONTRIBUTING.md")
        )
    )
    assert explained == bounds


def test_every_push_and_every_pull_request_passes_the_one_check() -> None:
    flow = yaml.safe_load(page(".github/workflows/ci.yml"))
    # YAML reads the key `on` as true
    assert set(flow[True]) == {"push", "pull_request"}
    commands = [step.get("run") for step in flow["jobs"]["check"]["steps"]]
    assert ".ci/run" in commands and flow["permissions"] == {"contents": "read"}
    promised = [
        line.rpartition(" :: ")[2]
        for line in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    ]
    assert flow["jobs"]["pythons"]["strategy"]["matrix"]["python"] == promised
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"
    assert "pip-audit" in flow["jobs"]["audit"]["steps"][-1]["run"]
    assert "secrets." not in page(".github/workflows/ci.yml")


def test_what_is_checked_before_a_commit_is_what_ci_checks() -> None:
    hooks = yaml.safe_load(page(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    told = [hook["entry"].replace(" --force-exclude", "") for hook in hooks]
    assert told == ["ruff format", "ruff check", "mypy undogmatic"]
    for hook in told:
        assert hook in page(".ci/run") and hook in page("CONTRIBUTING.md")

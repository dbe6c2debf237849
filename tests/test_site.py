"""The documentation as a site: its notebooks give what they store, its languages have the same
pages and commands."""

import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from undogmatic.safety.paths import conf_folder, data_folder

DOCS = conf_folder().parent / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
TWINS = sorted(path for path in DOCS.rglob("*.pt.md"))


def loaded(name: str) -> ModuleType:
    """A program of docs/site."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_it_stores(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = loaded("run_notebooks")
    # on Colab a notebook lies in a folder without anything else
    monkeypatch.chdir(tmp_path)
    cells = program.code_cells(json.loads(path.read_text(encoding="utf-8")))
    assert any(cell["outputs"] for cell in cells)
    assert program.outputs(cells) == [cell["outputs"] for cell in cells]


@pytest.mark.parametrize("twin", TWINS, ids=lambda path: path.stem)
def test_a_page_and_its_portuguese_twin_have_the_same_commands(twin: Path) -> None:
    page = twin.with_name(twin.name.replace(".pt.md", ".md"))

    def commands(path: Path) -> list[str]:
        return re.findall(
            r"^```(?:sh|python)\n(.*?)^```$",
            path.read_text(encoding="utf-8").replace(" --language pt", ""),
            re.DOTALL | re.MULTILINE,
        )

    assert commands(twin) == commands(page)


def test_the_pages_of_the_site_exist() -> None:
    site = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    named = re.findall(r"[\w/.]+\.md", json.dumps(site["nav"]))
    missing = [name for name in named if not (DOCS / name).is_file()]
    assert missing == []
    pages = {
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.md")
        if not path.name.endswith(".pt.md")
    }
    assert pages - set(named) == set(), "in no place of the site"


def test_the_code_of_the_page_on_notebooks_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(data_folder() / "check" / "demo.csv", tmp_path / "verdicts.csv")
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "howto" / "notebook.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    for block in blocks:
        exec(block, names)
    result = names["result"]
    assert len(blocks) == 2 and result.answer.startswith("Yes.")
    assert capsys.readouterr().out.startswith("✓ Yes.")
    assert len(result.largest) == 150 and "agreement.kappa" in set(
        result.to_frame()["figure"]
    )


def test_links_of_a_built_site_lead_to_the_repository_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("mkdocs")
    hooks = loaded("hooks")
    page = SimpleNamespace(
        is_homepage=False, meta={}, file=SimpleNamespace(src_uri="howto/notebook.md")
    )
    text = f"[Colab]({hooks.COLAB}), [code](../../undogmatic/api.py), [beside](../check.md)"

    def shown() -> str:
        config = SimpleNamespace(repo_url="")
        return str(hooks.on_page_markdown(text, page=page, config=config, files=[]))

    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert shown() == text.replace("[code](../../undogmatic/api.py)", "code")
    monkeypatch.setenv("GITHUB_REPOSITORY", "some/where")
    assert f"({hooks.COLAB}some/where/blob/main/docs/notebooks/check.ipynb)" in shown()
    assert "(https://github.com/some/where/blob/main/undogmatic/api.py)" in shown()

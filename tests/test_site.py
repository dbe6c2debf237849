"""The documentation as a site: its notebooks give what they store, its languages have the same
pages and commands."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from undogmatic.safety.paths import conf_folder

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
def test_a_notebook_gives_what_it_stores(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = loaded("run_notebooks")
    monkeypatch.chdir(DOCS / "notebooks")
    cells = program.code_cells(json.loads(path.read_text(encoding="utf-8")))
    assert any(cell["outputs"] for cell in cells)
    assert program.outputs(cells) == [cell["outputs"] for cell in cells]


@pytest.mark.parametrize("twin", TWINS, ids=lambda path: path.stem)
def test_a_page_and_its_portuguese_twin_have_the_same_commands(twin: Path) -> None:
    page = twin.with_name(twin.name.replace(".pt.md", ".md"))

    def commands(path: Path) -> list[str]:
        return re.findall(
            r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
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

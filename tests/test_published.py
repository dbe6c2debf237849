"""Every place that quotes measured figures is listed, and says what is stored."""

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import published, stale

NO_HISTORY = not stale.git("rev-parse", "HEAD")


def test_every_place_with_measured_figures_is_listed() -> None:
    assert published.unlisted() == []


def test_what_is_listed_stands_there_and_says_what_is_stored() -> None:
    assert published.astray() == []
    held = [one for one in published.LISTED if one.says is not None]
    assert len(held) >= 10 and all(one.says() for one in held if one.says is not None)


def test_every_stored_result_has_a_command_and_every_listed_one_is_there() -> None:
    there = {path.name for path in published.RESULTS.glob("*.csv")}
    assert there - set(published.MADE_BY) == {"repeated.csv"}  # of benchmarks.stale
    listed = {name for one in published.LISTED for name in one.stored}
    assert listed - there == set()
    modules = {f"benchmarks.{words.split()[0]}" for words in published.MADE_BY.values()}
    modules |= {
        one.command.split()[2]
        for one in published.LISTED
        if one.command.startswith("python -m benchmarks.")
    }
    assert [module for module in sorted(modules) if not stale.files_of(module)] == []
    assert all(
        re.fullmatch(r"\d{4}-\d{2}-\d{2}", one.measured) for one in published.LISTED
    )


def test_a_figure_that_differs_from_what_is_stored_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "docs" / "verdicts_in_detail.md"
    page.parent.mkdir()
    text = (published.ROOT / "docs" / "verdicts_in_detail.md").read_text(
        encoding="utf-8"
    )
    said = published._promises()[0]
    assert said in text
    page.write_text(text.replace(said, said.replace("5.", "6.")), encoding="utf-8")
    (tmp_path / "README.md").write_text("")
    own = [one for one in published.LISTED if one.page == "docs/verdicts_in_detail.md"]
    monkeypatch.setattr(published, "LISTED", own)
    monkeypatch.setattr(published, "ROOT", tmp_path)
    assert [line.split(": ")[0] for line in published.astray()] == [
        "docs/verdicts_in_detail.md, What the judge may decide alone"
    ]
    page.write_text(
        text + "\n## New\n\nIt holds in 93.4 % of samples.\n", encoding="utf-8"
    )
    assert len(published.unlisted()) == 1 and "93.4 %" in published.unlisted()[0]


def test_comments_and_formatting_make_no_result_older_and_other_code_does() -> None:
    before = '"""One."""\n\ndef f(a):\n    """Two."""\n    return a + 1\n'
    assert stale.code(before) == stale.code(
        "def f(\n    a,\n):\n    # why\n    return a + 1\n"
    )
    assert stale.code(before) != stale.code(before.replace("+ 1", "+ 2"))
    told = 'LEAST = 1\n"""How {}."""\n'
    assert stale.code(told.format("few")) == stale.code(told.format("many"))


def test_a_benchmark_is_as_old_as_what_it_imports() -> None:
    names = {
        file.relative_to(stale.ROOT).as_posix()
        for file in stale.sources("benchmarks.faults", False)
    }
    assert {"benchmarks/faults.py", "benchmarks/hosted.py", "tests/hostile.py"} <= names
    assert (
        "undogmatic/engine/local.py" in names
        and "undogmatic/stats/paired.py" not in names
    )
    deep = {
        file.relative_to(stale.ROOT).as_posix()
        for file in stale.sources("benchmarks.faults", True)
    }
    assert "undogmatic/models/hosted.py" in names and len(deep) > len(names)


@pytest.mark.skipif(NO_HISTORY, reason="no history of the repository")
def test_a_result_is_stale_where_its_code_says_something_else_since() -> None:
    file = stale.ROOT / "benchmarks" / "pages.py"
    first = subprocess.run(
        ["git", "log", "--format=%H", "--reverse", "--", "benchmarks/pages.py"],
        cwd=stale.ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()[0]
    assert (
        stale.changed(file, first)
        or stale.git("rev-parse", "--is-shallow-repository") == "true\n"
    )
    assert not stale.changed(stale.ROOT / "tests" / "__init__.py", "HEAD")

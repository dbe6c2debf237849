"""Names stored results that are older than the code that they measure.

    python -m benchmarks.stale [RESULT ...] [--deep]
    python -m benchmarks.stale --same RESULT ...     # measured again here, and it came out the same

A result is as old as the commit that last changed it, or at which it was measured again and came out
the same to the byte (results/repeated.csv). It is named where the code of the benchmark
that makes it, of another benchmark or test that this one imports, or of a module of undogmatic that
one of these imports says something else than it did at that commit: comments, docstrings and
formatting do not count. `--deep` also follows what those modules import, which names nearly
everything. That code has changed does not mean that a figure has: whoever changes what it measures
runs it again. The list of results is that of `benchmarks.published`. Needs the repository's history.
"""

from __future__ import annotations

import argparse
import ast
import functools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import stored
from benchmarks.published import MADE_BY, ROOT

REPEATED = "repeated"
FOLLOWED = ("benchmarks", "tests")
OURS = (*FOLLOWED, "undogmatic")


def git(*words: str) -> str:
    """What git says; nothing where it ends badly."""
    done = subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else ""


@functools.cache
def files_of(module: str) -> tuple[Path, ...]:
    """The file of a module; all files of a package that is run (`benchmarks.coverage`)."""
    path = ROOT.joinpath(*module.split("."))
    if path.with_suffix(".py").is_file():
        return (path.with_suffix(".py"),)
    if (path / "__main__.py").is_file():
        return tuple(sorted(path.glob("*.py")))
    return (path / "__init__.py",) if (path / "__init__.py").is_file() else ()


@functools.cache
def imported(file: Path) -> frozenset[str]:
    """Our modules that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if files_of(name) else node.module for name in named}
    return frozenset(name for name in found if name.split(".")[0] in OURS)


def sources(module: str, deep: bool) -> set[Path]:
    """The files whose code a benchmark measures with."""
    found, open_ = set[Path](), [module]
    while open_:
        for file in files_of(open_.pop()):
            if file in found:
                continue
            found.add(file)
            follows = deep or file.relative_to(ROOT).parts[0] in FOLLOWED
            open_ += imported(file) if follows else ()
    return found


def code(text: str) -> str:
    """What a file does, without comments, docstrings (those of attributes, too) and formatting."""
    return ast.dump(_WithoutText().visit(ast.parse(text)))


class _WithoutText(ast.NodeTransformer):
    """Leaves out texts that stand by themselves."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        value = node.value
        text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return None if text else node


@functools.cache
def changed(file: Path, since: str) -> bool:
    """Whether a file does something else than at a commit."""
    name = file.relative_to(ROOT).as_posix()
    if not git("cat-file", "-t", f"{since}:{name}"):
        return True
    before = git("show", f"{since}:{name}")
    return code(before) != code(file.read_text(encoding="utf-8"))


def repeat(names: Sequence[str]) -> None:
    """Note that results were measured again at this commit and came out the same."""
    _, commit, day = measured("HEAD").split()
    rows = [{"result": name, "commit": commit, "day": day} for name in names]
    stored.keep(REPEATED, ["result"], rows)


def measured(*of: str) -> str:
    """Seconds, hash and day of the last commit of what is named."""
    return git("log", "-1", "--format=%ct %H %as", *of).strip()


def last_measured() -> dict[str, str]:
    """For each result that was measured again and came out the same, when (as `measured`)."""
    return {row["result"]: measured(row["commit"]) for row in stored.rows(REPEATED)}


def stale(deep: bool = False) -> Iterator[tuple[str, str, str, list[str]]]:
    """Each result that is older than its code: name, day, command, and the files that changed."""
    again = last_measured()
    for name, words in sorted(MADE_BY.items()):
        path, module = f"benchmarks/results/{name}", f"benchmarks.{words.split()[0]}"
        when = max(measured("--", str(path)), again.get(name, ""))
        if not when or git("status", "--porcelain", "--", str(path)):
            continue  # not there, or made since the last commit
        _, commit, day = when.split()
        files = sorted(file for file in sources(module, deep) if changed(file, commit))
        if files:
            named = [file.relative_to(ROOT).as_posix() for file in files]
            yield name, day, f"python -m benchmarks.{words}", named


def main() -> None:
    """Print what is stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "results", nargs="*", metavar="RESULT", help="only these, e.g. kills.csv"
    )
    parser.add_argument("--deep", action="store_true", help="follow imports of imports")
    parser.add_argument(
        "--same",
        action="store_true",
        help="note that these were measured again at this commit, and came out the same",
    )
    given = parser.parse_args()
    known = sorted(MADE_BY)
    if unknown := [name for name in given.results if name not in known]:
        parser.error(
            f"no such result: {', '.join(unknown)}. There are: {', '.join(known)}."
        )
    if not git("rev-parse", "HEAD"):
        sys.exit("This is no git repository: how old results are cannot be told.")
    if given.same:
        if not given.results:
            parser.error("--same needs the names of the results, e.g. check_alone.csv")
        repeat(given.results)
    count = 0
    for name, day, command, files in stale(given.deep):
        if given.results and name not in given.results:
            continue
        count += 1
        print(f"{name} of {day} ({command})\n  changed since: {', '.join(files)}")
    print(
        f"{count} of {len(given.results or known)} results are older than code that they measure"
    )


if __name__ == "__main__":
    main()

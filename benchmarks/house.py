"""Prints the size and the order of the package: lines, modules, circles, imports upward, and what else makes it hard.

    python -m benchmarks.house              the table, and the rooms with their lines
    python -m benchmarks.house --walk       also follow the config through a run of `model=patterns` (seconds)
    python -m benchmarks.house --seconds    also measure a table at both doors (half a minute)
    python -m benchmarks.house --picture    only draw docs/architecture.svg, and write the table of rooms beside it
    python -m benchmarks.house --beside httpx dspy   also measure how dense other packages are

The test of the architecture reads the same functions; `tests/house.yaml` has the rooms and their order.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import io
import os
import resource
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import yaml
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "undogmatic"
HOUSE: dict[str, Any] = yaml.safe_load(
    (ROOT / "tests" / "house.yaml").read_text(encoding="utf-8")
)
ABOUT: dict[str, str] = HOUSE["rooms"]
"""What each room is for."""
ROOMS: list[str] = list(ABOUT)
"""From the ground up: a room, or a module that lies beside the rooms, imports from those before
it."""
NOUNS = "undogmatic.stats.estimate"
"""The one module whose types may have the ends of an interval as fields."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name without `undogmatic.`, the package's own
    `__init__` left out."""
    paths = (path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
    return {_name(path): path for path in sorted(paths)}


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every module."""
    return {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for name, path in modules().items()
    }


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The modules and names that are imported, with their lines: at the top, inside functions, for
    the type checker.

    A text that `import_module` is called with counts too.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            yield from (
                (f"{node.module}.{alias.name}", node.lineno) for alias in node.names
            )
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {
            "import_module",
            "__import__",
        }:
            texts = (x.value for x in node.args if isinstance(x, ast.Constant))
            yield from ((text, node.lineno) for text in texts if isinstance(text, str))


def upward(tree: ast.AST, module: str) -> dict[str, str]:
    """Each import of a room above the module's own: `module:room` -> where it stands."""
    above = {}
    room = module.split(".", maxsplit=1)[0]
    for name, line in imported(tree):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if (
            package == "undogmatic"
            and other != room
            and ROOMS.index(other) > ROOMS.index(room)
        ):
            above[f"{module}:{other}"] = (
                f"line {line} of {module} imports {name}: {other} lies above {room}"
            )
    return above


def arrows(parsed: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports."""
    found = {}
    for module, tree in parsed.items():
        names = {name.removeprefix("undogmatic.") for name, _ in imported(tree)}
        targets = {
            name if name in parsed else name.rpartition(".")[0] for name in names
        }
        found[module] = {
            target for target in targets if target in parsed and target != module
        }
    return found


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that can all be reached from each other."""
    count, groups = connected_components(
        csr_array(
            [[other in arrows[name] for other in arrows] for name in arrows], dtype=int
        ),
        connection="strong",
    )
    together: list[list[str]] = [[] for _ in range(count)]
    for name, group in zip(arrows, groups, strict=True):
        together[group].append(name)
    return [circle for circle in together if len(circle) > 1]


def patches(tree: ast.Module) -> list[str]:
    """Attributes of other people's modules and classes that are set, with their lines."""
    foreign = {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and not (getattr(node, "module", None) or "").startswith("undogmatic")
        for alias in node.names
        if not alias.name.startswith("undogmatic")
    } - {"sys"}
    targets = [
        target
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    targets += [
        ast.Attribute(
            node.args[0],
            ast.unparse(node.args[1]),
            ast.Store(),
            lineno=node.lineno,
            col_offset=0,
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "setattr"
        and len(node.args) == 3
    ]
    return [
        f"{ast.unparse(target)}, line {target.lineno}"
        for target in targets
        if isinstance(target, ast.Attribute)
        and ast.unparse(target).split(".")[0] in foreign
    ]


def with_ends(tree: ast.AST) -> list[str]:
    """Types that have a field `low` or `high`."""
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and {"low", "high"}
        & {
            field.target.id
            for field in node.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        }
    ]


def functions(tree: ast.AST, name: str) -> int:
    """How many functions and methods have this name."""
    return sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
        for node in ast.walk(tree)
    )


def lines(folder: Path) -> int:
    """Lines of all Python files below a folder."""
    return sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.py"))


LONG = 100
"""Characters of a line from which on it is counted as long, where it has more."""
LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Density(NamedTuple):
    """How dense some source is. A line of code is one that is neither blank nor part of a docstring
    nor a comment alone; shares are of the lines that are not blank."""

    nodes: int
    comprehensions: int
    filled: int
    code: int
    comments: int
    long: int

    @classmethod
    def of(cls, source: str) -> Density:
        """Counted in the source of a module."""
        nodes = list(ast.walk(ast.parse(source)))
        texts = source.splitlines()
        comments: set[int] = set()
        covered: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                comments.add(token.start[0])
            elif token.type not in LAYOUT:
                covered |= set(range(token.start[0], token.end[0] + 1))
        return cls(
            nodes=len(nodes),
            comprehensions=sum(isinstance(node, COMPREHENSIONS) for node in nodes),
            filled=sum(bool(text.strip()) for text in texts),
            code=len(covered - _documented(nodes)),
            # behind code on its line, it is no line of its own
            comments=len(comments - covered),
            long=sum(len(text) > LONG for text in texts),
        )

    def __add__(self, other: tuple[int, ...]) -> Density:  # type: ignore[override]
        return Density(*(one + two for one, two in zip(self, other, strict=True)))


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _documented(nodes: list[ast.AST]) -> set[int]:
    """The lines of texts that stand alone: docstrings, also those of attributes."""
    found: set[int] = set()
    for node in nodes:
        alone = node.value if isinstance(node, ast.Expr) else None
        if isinstance(alone, ast.Constant) and isinstance(alone.value, str):
            found |= set(range(alone.lineno, (alone.end_lineno or alone.lineno) + 1))
    return found


@functools.cache
def density(folder: Path = PACKAGE) -> Density:
    """How dense the modules below a folder are."""
    counted = Density(0, 0, 0, 0, 0, 0)
    for path in folder.rglob("*.py"):
        counted += Density.of(path.read_text(encoding="utf-8"))
    return counted


def dense(counted: Density) -> dict[str, float]:
    """What says how hard some code is to read."""
    return {
        "nodes per line of code": counted.nodes / counted.code,
        f"lines past {LONG} characters, in 100": 100 * counted.long / counted.filled,
        "comments, in 100 lines": 100 * counted.comments / counted.filled,
        "comprehensions, in 100 lines of code": 100
        * counted.comprehensions
        / counted.code,
    }


def beside(names: list[str]) -> None:
    """Print the same of other installed packages, as a measure.

    Raises:
        SystemExit: A package is not installed.
    """
    for name in names:
        found = importlib.util.find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise SystemExit(f"the package {name} is not installed here.")
        print()
        for what, number in dense(
            density(Path(found.submodule_search_locations[0]))
        ).items():
            print(f"{f'{name}: {what}':53} {number:7.1f}")


def room_arrows(arrows: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """The pairs of rooms of which one imports the other; each construct is a room of its own."""

    def room(module: str) -> str:
        parts = module.split(".")
        return ".".join(parts[:2]) if parts[0] == "constructs" else parts[0]

    pairs = {
        (room(module), room(other))
        for module, others in arrows.items()
        for other in others
    }
    return {(one, other) for one, other in pairs if one != other}


TABLE = "data/check/demo.csv"
DOORS = {
    "seconds of `check` on a table": [
        "undogmatic.cli",
        "check",
        TABLE,
        "--judge",
        "judge_keyword",
    ],
    "seconds of `run dataset=verdicts` on it": [
        "undogmatic.run",
        "dataset=verdicts",
        f"dataset.path={TABLE}",
        "dataset.columns.judge=judge_keyword",
        "dataset.kind=pass_fail",
        "analysis=labelled",
        "tracking=none",
    ],
}
"""The same table and the same question at both doors."""
LOADING = "seconds of loading Hydra and MLflow"


def seconds() -> dict[str, float]:
    """Measure what a table costs at both doors, beside what loading libraries costs there.

    Seconds are those of a processor. Each command is a process of its own, as when it is typed.
    """
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for what, words in DOORS.items():
            own = [f"hydra.run.dir={folder}"] if "run" in words[0] else []
            measured[what] = _processor("-m", *words, *own)
    return measured | {LOADING: _processor("-c", "import hydra, mlflow")}


def _processor(*words: str) -> float:
    """Seconds of a processor that `python WORDS` takes.

    Raises:
        subprocess.CalledProcessError: It did not end well.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    known = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=known, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def room_lines() -> dict[str, int]:
    """Lines per room."""
    counted = dict.fromkeys(ROOMS, 0)
    for name, path in modules().items():
        counted[name.split(".")[0]] += len(path.read_bytes().splitlines())
    return counted


def walk() -> tuple[list[str], int]:
    """The modules that hold the config or a mapping in it while a run of `model=patterns` goes, in
    order, and how often one of them is called by a room below its own: coming back to who called is
    no climb."""
    from undogmatic.config.door import compose_config
    from undogmatic.experiment import run_experiment

    with tempfile.TemporaryDirectory() as folder:
        config = compose_config(["model=patterns", "tracking=none", "run.limit=6"])
        held = set(_parts(config))
        stays: list[str] = []
        climbs = 0

        def enter(frame: FrameType, event: str, _: Any) -> None:
            nonlocal climbs
            if event == "call" and str(PACKAGE) in frame.f_code.co_filename:
                given = frame.f_code.co_varnames[
                    : frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
                ]
                if any(id(frame.f_locals.get(name)) in held for name in given):
                    stays.append(_name(Path(frame.f_code.co_filename)))
                    climbs += len(stays) > 1 and _room(frame) > _room(_caller(frame))

        sys.setprofile(enter)
        try:
            run_experiment(config, dict.fromkeys(config, "any"), Path(folder))
        finally:
            sys.setprofile(None)
    return list(dict.fromkeys(stays)), climbs


def _caller(frame: FrameType) -> FrameType:
    """The nearest frame of the package that called this one."""
    caller = frame.f_back
    while caller is not None and str(PACKAGE) not in caller.f_code.co_filename:
        caller = caller.f_back
    return caller or frame


def _room(frame: FrameType) -> int:
    return ROOMS.index(_name(Path(frame.f_code.co_filename)).split(".")[0])


def _parts(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list):
        yield id(value)
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _parts(inner)


def table() -> dict[str, float]:
    """What the goals of the house speak of, counted."""
    parsed = trees()
    counted = density()
    return {
        "lines of the package": lines(PACKAGE),
        "syntax nodes of the package": counted.nodes,
        f"lines past {LONG} characters": counted.long,
        **dense(counted),
        "arrows between rooms": len(room_arrows(arrows(parsed))),
        "lines of the tests": lines(ROOT / "tests"),
        "modules": len(list(PACKAGE.rglob("*.py"))),
        "modules at the root": len(list(PACKAGE.glob("*.py"))),
        "files that import each other in a circle": len(circles(arrows(parsed))),
        "imports upward": sum(len(upward(tree, name)) for name, tree in parsed.items()),
        "modules outside that import a construct": sum(
            not name.startswith("constructs")
            and any("constructs" in other for other, _ in imported(tree))
            for name, tree in parsed.items()
        ),
        "patches of other people's code": sum(
            len(patches(tree)) for tree in parsed.values()
        ),
        "types with ends outside stats/estimate.py": sum(
            len(with_ends(tree))
            for name, tree in parsed.items()
            if f"undogmatic.{name}" != NOUNS
        ),
        "functions called verdict": sum(
            functions(tree, "verdict") for tree in parsed.values()
        ),
        "functions called measured": sum(
            functions(tree, "measured") for tree in parsed.values()
        ),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--walk", action="store_true", help="also follow the config through a run"
    )
    parser.add_argument(
        "--seconds", action="store_true", help="also measure both doors"
    )
    others = "also measure these installed packages, e.g. httpx dspy"
    parser.add_argument(
        "--beside", nargs="+", default=[], metavar="PACKAGE", help=others
    )
    draw = "only draw the picture of the rooms, and write their table"
    parser.add_argument("--picture", action="store_true", help=draw)
    typed = parser.parse_args()
    if typed.picture:
        from benchmarks import house_picture

        for path in house_picture.write():
            print(f"wrote {path.relative_to(ROOT)}")
        return
    counted = table()
    if typed.walk:
        rooms, climbs = walk()
        counted |= {
            "modules that the config passes": len(rooms),
            "climbs on its way": climbs,
        }
    if typed.seconds:
        counted |= seconds()
    print(f"{'':45} {'now':>7} {'at most':>8}")
    for name, number in counted.items():
        shown = f"{number:7,}" if isinstance(number, int) else f"{number:7.1f}"
        print(f"{name:45} {shown} {HOUSE['goals'].get(name, ''):>8}")
    print(f"\n{'room':45} {'lines':>7}")
    for room, number in room_lines().items():
        print(f"{room:45} {number:7,}")
    beside(typed.beside)


if __name__ == "__main__":
    main()

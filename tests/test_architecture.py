"""The rooms in their order: imports point one way, and no module grows beyond what can be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

PACKAGE = Path(__file__).parents[1] / "undogmatic"
LONGEST = 400
ROOMS = """
    errors stats safety records config datasets runs models readouts analyses judges report engine optimize constructs
    tracking fit sweep api experiment review run notebook ui cli
""".split()
"""From the ground up: a room, or a module that lies beside the rooms, imports from those before it."""
STILL_UPWARD = """
    analyses.rivals:constructs datasets.labels:constructs engine.composition:constructs models.fake:constructs
    optimize.prompt:tracking runs.outcome:analyses runs.outcome:judges runs.outcome:optimize runs.resume:engine
""".split()
"""What is left to turn round, module:room; the list only gets shorter."""


def _modules() -> dict[str, Path]:
    paths = (path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
    return {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in paths}


def _imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The modules and names that are imported, with their lines: at the top, inside functions, for the type checker.

    A text that `import_module` is called with counts too.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}:
            texts = (x.value for x in node.args if isinstance(x, ast.Constant))
            yield from ((text, node.lineno) for text in texts if isinstance(text, str))


def _upward(source: str, module: str) -> dict[str, str]:
    """Each import of a room above the module's own: `module:room` -> where it stands."""
    above = {}
    room = module.split(".", maxsplit=1)[0]
    for name, line in _imported(ast.parse(source)):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package == "undogmatic" and other != room and ROOMS.index(other) > ROOMS.index(room):
            above[f"{module}:{other}"] = f"line {line} of {module} imports {name}: {other} lies above {room}"
    return above


def test_every_room_has_its_place() -> None:
    assert {name.split(".")[1] for name in _modules()} == set(ROOMS)


def test_imports_point_one_way() -> None:
    """As every import goes down a single order, there is no circle between rooms either."""
    above: dict[str, str] = {}
    for name, path in _modules().items():
        above |= _upward(path.read_text(encoding="utf-8"), name.removeprefix("undogmatic."))
    assert not above.keys() - set(STILL_UPWARD), "\n".join(above.values())
    assert above.keys() == set(STILL_UPWARD), "the list of what is still upward is longer than it need be"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for the type checker count."""
    modules = _modules()
    arrows = {name: set(_own(path.read_text(encoding="utf-8"), modules)) for name, path in modules.items()}
    assert not _circles(arrows)


def _own(source: str, modules: Mapping[str, Path]) -> Iterator[str]:
    for name, _ in _imported(ast.parse(source)):
        yield from (module for module in (name, name.rpartition(".")[0]) if module in modules)


def _circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that can all be reached from each other; a module's import of itself is not counted."""
    count, groups = connected_components(
        csr_array([[other in arrows[name] for other in arrows] for name in arrows], dtype=int), connection="strong"
    )
    circles: list[list[str]] = [[] for _ in range(count)]
    for name, group in zip(arrows, groups, strict=True):
        circles[group].append(name)
    return [circle for circle in circles if len(circle) > 1]


def test_a_circle_is_seen() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from undogmatic.engine.journal import Journal", 1),
        ("import undogmatic.engine", 1),
        ("def f():\n    from undogmatic import engine, errors", 1),
        ("from undogmatic.judges.base import Judge\nfrom undogmatic.errors import ConfigError\nimport os", 0),
        ("if TYPE_CHECKING:\n    from undogmatic.engine.journal import Journal", 1),
        ("importlib.import_module('undogmatic.engine')", 1),
    ],
)
def test_an_import_upward_is_seen(source: str, count: int) -> None:
    assert len(_upward(source, "judges.it")) == count


def test_no_module_is_too_long() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in _modules().items()}
    assert not {name: n for name, n in lengths.items() if n > LONGEST}


DOORS = {"safety.outside", "safety.files"}
"""Who reads what comes from outside, and who writes to disk; nobody else does, but for"""
PAST_THE_DOORS = {
    "safety.command": "closes streams",
    "datasets.rows": "looks for keys that come twice in what was read already",
    "engine.ledger": "cuts a torn line off",
    "engine.replay": "reads what it has just written",
    "models.cache": "makes the database's file its owner's before SQLite opens it",
    "models.gguf_file": "hashes and joins files of 250 MB in pieces",
    "models.prices": "reads a file of litellm's",
    "readouts.adapter": "tells whether a text is JSON at all",
    "readouts.probe_file": "hands a file that it has measured to safetensors",
    "report.document": "reads a picture that it has drawn",
    "review.labels": "looks at the last byte of a file",
    "runs.runfolder": "hands a text that was read to pandas",
    "tracking.store": "makes the database's file its owner's, and reads files of MLflow's",
    "tracking.tracker": "reads what pandas has just written",
}
METHODS = (
    "open read_text read_bytes write_text write_bytes savefig to_csv to_parquet read_csv read_parquet fdopen mkstemp"
).split()
FUNCTIONS = (
    "open safe_open from_json dotenv_values json.load json.loads yaml.load yaml.safe_load OmegaConf.load pickle.load "
    "pickle.loads np.load joblib.load"
).split()
OURS = {"RunFolder", "Manifest", "files"}
"""What has a method of such a name and reads or writes at a door."""


def _past_the_doors(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            owner, _, name = called.rpartition(".")
            if called in FUNCTIONS or (owner and name in METHODS and owner not in OURS):
                found.append(called)
    return found


def test_files_are_read_and_written_at_their_doors() -> None:
    found = {
        name.removeprefix("undogmatic."): past
        for name, path in _modules().items()
        if (past := _past_the_doors(path.read_text(encoding="utf-8")))
    }
    assert found.keys() - DOORS - PAST_THE_DOORS.keys() == set(), found
    assert PAST_THE_DOORS.keys() <= found.keys(), "no longer needed here"


@pytest.mark.parametrize(
    "source", ["json.loads(x)", "open('f')", "path.read_text()", "yaml.safe_load(x)", "frame.to_csv('x')"]
)
def test_a_way_past_the_doors_is_seen(source: str) -> None:
    assert _past_the_doors(source)

"""The rooms in their order: imports point one way, and no module grows beyond what can be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "undogmatic"
LONGEST = 400
ROOMS = """
    errors disguises secrets outside files guard paths versions command scale rubric records wordings sentences
    documents hierarchies project config configfiles composed searchpath overrides prompts progress datasets stats
    models readouts runfolder hydrafiles claim facts judges steps engine api fit analyses outcome resume report
    tracking optimize review sweep experiment notebook run cli
""".split()
"""From the ground up: a room, or a module that lies beside the rooms, imports from those before it."""


def _modules() -> dict[str, Path]:
    paths = (path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
    return {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in paths}


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all in it, what is only for the type checker left out."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield from _nodes(child)


def _imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The package's modules and names that are imported, at the top or inside functions, with their lines."""
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def _upward(source: str, room: str, place: str) -> list[str]:
    found = []
    for name, line in _imported(ast.parse(source)):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package == "undogmatic" and other != room and ROOMS.index(other) > ROOMS.index(room):
            found.append(f"{place}:{line} imports {name}: {other} lies above {room}")
    return found


def test_every_room_has_its_place() -> None:
    assert {name.split(".")[1] for name in _modules()} == set(ROOMS)


def test_imports_point_one_way() -> None:
    """As every import goes down a single order, there is no circle between rooms either."""
    found = []
    for name, path in _modules().items():
        found += _upward(path.read_text(encoding="utf-8"), name.split(".")[1], str(path.relative_to(PACKAGE.parent)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from undogmatic.engine.journal import Journal", 1),
        ("import undogmatic.engine", 1),
        ("def f():\n    from undogmatic import engine, errors", 1),
        ("from undogmatic.judges.base import Judge\nfrom undogmatic.errors import ConfigError\nimport os", 0),
        ("if TYPE_CHECKING:\n    from undogmatic.engine.journal import Journal", 0),
    ],
)
def test_an_import_upward_is_seen(source: str, count: int) -> None:
    assert len(_upward(source, "judges", "it")) == count


def test_no_module_is_too_long() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in _modules().items()}
    assert not {name: n for name, n in lengths.items() if n > LONGEST}


DOORS = {"outside", "files"}
"""Who reads what comes from outside, and who writes to disk; nobody else does, but for"""
PAST_THE_DOORS = {
    "command": "closes streams",
    "configfiles": "reads a file of the package",
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
    "runfolder": "hands a text that was read to pandas",
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

"""The rooms in their order: imports point one way."""

import ast
import re

import pytest

from benchmarks import house, house_picture
from benchmarks.mutations import FAULTS


def test_every_room_has_its_place() -> None:
    assert {name.split(".")[0] for name in house.trees()} == set(house.ROOMS)


def test_the_picture_and_the_page_name_the_rooms_that_exist() -> None:
    """Where this fails: `python -m benchmarks.house --picture`."""
    rooms = {house_picture.called(room) for room in house.ROOMS}
    picture = house_picture.PICTURE.read_text(encoding="utf-8")
    assert picture == house_picture.picture()
    shown = set(re.findall(r">([a-z]+(?:/|\.py))</text>", picture))
    assert shown == rooms
    page = house_picture.PAGE.read_text(encoding="utf-8")
    assert page == house_picture.page(page)
    assert set(re.findall(r"^\| \d+ \| `([^`]+)` \|", page, re.MULTILINE)) == rooms
    # In its sentences a folder of the package is written in bold.
    assert set(re.findall(r"\*\*`([a-z]+/)`", page)) <= rooms


def test_a_room_lies_right_above_the_highest_that_it_imports() -> None:
    imports = house_picture.room_imports()
    floor_of = {
        room: floor
        for floor, rooms in enumerate(house_picture.floors(imports))
        for room in rooms
    }
    assert set(floor_of) == set(house.ROOMS)
    for room, below in imports.items():
        assert floor_of[room] == 1 + max((floor_of[each] for each in below), default=-1)


def test_imports_point_one_way() -> None:
    """As every import goes down a single order, there is no circle between rooms either."""
    assert {
        at: text
        for name, tree in house.trees().items()
        for at, text in house.upward(tree, name).items()
    } == {}


def test_nothing_imports_a_construct() -> None:
    """What is measured stands on the other rooms; none of them knows it."""
    others = {
        name: tree
        for name, tree in house.trees().items()
        if not name.startswith("constructs")
    }
    inside = "undogmatic.constructs"
    assert [
        name
        for name, tree in others.items()
        if any(x.startswith(inside) for x, _ in house.imported(tree))
    ] == []


def _facts_of_rules(tree: ast.Module) -> dict[str, str]:
    """The tables of rules that a module makes, each with the class of the facts that it reads."""
    facts = {}
    for node in tree.body:
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call) or not ast.unparse(value.func).startswith(
            "Rules"
        ):
            continue
        if isinstance(node, ast.AnnAssign):
            facts[ast.unparse(node.target)] = ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign):
            facts[ast.unparse(node.targets[0])] = ast.unparse(value.func)
    return {
        table: typed.removeprefix("Rules").removeprefix("[").removesuffix("]")
        for table, typed in facts.items()
    }


def _frozen(tree: ast.AST) -> set[str]:
    """The frozen dataclasses of a module."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {
        each.name
        for each in classes
        if any(
            "frozen=True" in ast.unparse(decorator) for decorator in each.decorator_list
        )
    }


def test_rules_read_the_fields_of_a_frozen_dataclass() -> None:
    """So the type checker sees every name in them, and no rule changes what the next one reads."""
    trees = house.trees()
    tables = {name: _facts_of_rules(tree) for name, tree in trees.items()}
    untyped = {
        f"{name}.{table}": facts
        for name, own in tables.items()
        for table, facts in own.items()
        if facts not in _frozen(trees[name])
    }
    assert untyped == {}
    assert sum(map(len, tables.values())) >= 40


@pytest.mark.parametrize(
    ("source", "facts"),
    [
        ("TASTE = Rules[TasteFacts]('taste.', ())", "TasteFacts"),
        ("TASTE: Rules[TasteFacts] = Rules('taste.', ())", "TasteFacts"),
        ("TASTE = Rules('taste.', ())", ""),
    ],
)
def test_the_facts_of_rules_are_seen(source: str, facts: str) -> None:
    assert _facts_of_rules(ast.parse(source)) == {"TASTE": facts}


QUESTIONS = {
    "What",
    "Whose",
    "How",
    "Which",
    "Where",
    "When",
    "Whether",
    "Who",
    "Why",
    "That",
}


def test_the_docstring_of_a_module_says_what_it_does() -> None:
    """It begins with a verb or a noun, not with a question or a relative clause."""
    first = {
        name: (ast.get_docstring(tree) or "Marks a package.").split()[0]
        for name, tree in house.trees().items()
    }
    assert {name: word for name, word in first.items() if word in QUESTIONS} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for the type checker count."""
    assert house.circles(house.arrows(house.trees())) == []


def test_a_circle_is_seen() -> None:
    assert house.circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [
        ["a", "b", "c"]
    ]


def test_lines_nodes_and_comments_are_counted() -> None:
    source = '''"""Says what it is.\n\nAnd more."""\n\n# why\nx = [n for n in y]  # behind code\n'''
    long = f"z = '{'a' * 100}'\n"
    counted = house.Density.of(source + long)
    assert (counted.filled, counted.code, counted.comments, counted.long) == (
        5,
        2,
        1,
        1,
    )
    assert counted.comprehensions == 1
    assert counted.nodes == len(list(ast.walk(ast.parse(source + long))))
    assert counted + counted == house.Density(*(2 * number for number in counted))


def test_arrows_are_counted_between_rooms() -> None:
    imports = {
        "a.x": {"b.y", "b.z", "a.w"},
        "constructs.p.q": {"constructs.r.s", "b.y"},
    }
    others = {("constructs.p", "constructs.r"), ("constructs.p", "b")}
    assert house.room_arrows(imports) == {("a", "b"), *others}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from undogmatic.engine.journal import Journal", 1),
        ("import undogmatic.engine", 1),
        ("def f():\n    from undogmatic import engine, errors", 1),
        (
            (
                "from undogmatic.judges.base import Judge\nfrom undogmatic.errors import"
                " ConfigError\nimport os"
            ),
            0,
        ),
        ("if TYPE_CHECKING:\n    from undogmatic.engine.journal import Journal", 1),
        ("importlib.import_module('undogmatic.engine')", 1),
    ],
)
def test_an_import_upward_is_seen(source: str, count: int) -> None:
    assert len(house.upward(ast.parse(source), "judges.it")) == count


DOORS = {"safety.outside", "safety.files", "safety.spool"}
"""Who reads what comes from outside, who writes to disk, and who keeps there what is too much for
memory; nobody else does, but for"""
PAST_THE_DOORS = {
    "safety.command": "closes streams",
    "engine.cluster": "holds the folder of the Ray that it has started",
    "engine.journal": "cuts a torn line off",
    "engine.ray": "looks at the program's own code",
    "models.gguf_file": "hashes and joins files of 250 MB in pieces",
    "models.hosted": "reads a file of litellm's",
    "records.stored": "reads the parts of a table that it has written itself",
    "readouts.adapter": "tells whether a text is JSON at all",
    "models.fitted": "hands a file that it has measured to safetensors",
    "report.document": "reads a picture that it has drawn",
    "runs.folder": "hands a text that was read to pandas",
    "tracking.template": "reads the migrations of MLflow, a few dozen files of its package",
    "tracking.tracker": "reads what pandas has just written",
}
METHODS = (
    "open read_text read_bytes write_text write_bytes savefig to_csv to_parquet read_csv"
    " read_parquet fdopen mkstemp"
).split()
FUNCTIONS = (
    "open safe_open from_json dotenv_values json.load json.loads yaml.load yaml.safe_load"
    " OmegaConf.load pickle.load pickle.loads np.load joblib.load"
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
    sources = {
        name: path.read_text(encoding="utf-8") for name, path in house.modules().items()
    }
    found = {
        name: past
        for name, source in sources.items()
        if (past := _past_the_doors(source))
    }
    assert found.keys() - DOORS - PAST_THE_DOORS.keys() == set(), found
    assert PAST_THE_DOORS.keys() <= found.keys(), "no longer needed here"


@pytest.mark.parametrize(
    "source",
    [
        "json.loads(x)",
        "open('f')",
        "path.read_text()",
        "yaml.safe_load(x)",
        "frame.to_csv('x')",
    ],
)
def test_a_way_past_the_doors_is_seen(source: str) -> None:
    assert _past_the_doors(source)


def test_every_fault_of_the_mutations_can_still_be_put_in() -> None:
    for name, fault in FAULTS.items():
        assert fault.old in (house.ROOT / fault.path).read_text(encoding="utf-8"), name
        assert all((house.ROOT / test).exists() for test in fault.tests), name

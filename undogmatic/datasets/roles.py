"""Describes the roles of columns: what they are called, what they hold, and the option that names
each at each door.

A role is a record here, and nothing of it is written anywhere else. The names are in `words.yaml`,
in English and Portuguese; they count in any case, with or without accents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from undogmatic.datasets.cells import LEXICON, alternatives
from undogmatic.datasets.contents import Contents
from undogmatic.datasets.names import side_of
from undogmatic.datasets.vocabulary import FAILS, PASSES, planted
from undogmatic.records.evidence import DEFECT

# A name alone is not believed: `label` may hold a file's category, and `id` the id of a
# batch.
Test = Callable[[Contents, str], bool]
"""Whether a column, by its name, can have a role by what it and the others hold."""


@dataclass(frozen=True, eq=False)
class Option:
    """Something that a person may say of how a table is read. It is called `name`, but at the doors
    of `at`, where it has another one."""

    name: str
    at: Mapping[str, str] = field(default_factory=dict)


def anything(table: Contents, name: str) -> bool:
    """A name that is known is enough."""
    return True


@dataclass(frozen=True, eq=False)
class Role(Option):
    """What a column may be. A column that has one of the `names`, the most telling first, has the
    role if what it `holds` allows that.

    Attributes:
        holds: What it must hold in a table of verdicts, where an item may have several rows.
        of_items: What it must hold in a table of items, where a row is one, or one label of it.
        side: Whose the column is, where parts of its name tell that (`names.side_of`).
    """

    names: Sequence[str] = ()
    holds: Test = anything
    of_items: Test = anything
    side: int | None = None


def _called(key: str) -> tuple[str, ...]:
    return alternatives(LEXICON["columns"][key])


def _holds_ids(table: Contents, name: str) -> bool:
    # What is called an id may be a sentence, as where items are keyed by their texts.
    named = "id" in table.names[name]
    return table.sample(name).said > 0 and (named or not table.is_prose(name))


def _holds_groups(table: Contents, name: str) -> bool:
    # A document that is another in each row is what was judged.
    return table.cells[name].duplicated().any() or not table.is_prose(name)


def _is_rater(table: Contents, name: str) -> bool:
    # Numbers are the ids of raters only where it is clear that they are not the labels: another
    # column holds these, by its name or because it says what the judge says.
    if table.says_what_judges_say(name):
        # a column `annotator` beside `judge`, with what the annotator said
        return False
    return (
        table.is_names(name)
        or table.has_labels_beside(name, RATER.names)
        or table.numbers_raters(name)
    )


def _says_failed(table: Contents, name: str) -> bool:
    # What else stands in such a column is a message of an error, which says that
    # something failed and not what.
    return table.sample(name).distinct_words().keys() <= PASSES | FAILS | {"0", "1"}


def _says_what_was_planted(table: Contents, name: str) -> bool:
    # A column `kind` may say anything; one that mostly names defects and other kinds says this.
    kinds = [planted(cell) for cell in table.cells[name].dropna().unique()]
    known = [kind for kind in kinds if kind is not None]
    return 2 * len(known) > len(kinds) and any(
        kind.startswith(DEFECT) for kind in known
    )


def _is_judge(table: Contents, name: str) -> bool:
    # Judges are often called by an id, which looks like a number.
    return table.is_names(name) or "id" in table.names[name]


def _is_label_of_item(table: Contents, name: str) -> bool:
    # Nobody judges here, so a column such as `category` may be a fact about the item: words are
    # labels only where the name says that a person gave them.
    return table.is_value(name, loose=side_of(name) == LABEL.side)


# A judge and a person are known by parts of names, and all other roles by whole ones:
# who judged is called in a thousand ways (`gpt4_score`), and what an item is called in
# twenty.
ITEM = Role(
    "item",
    {"run": "id", "import": "item_id"},
    _called("item"),
    _holds_ids,
    of_items=Contents.identifies,
)
TEXT = Role("text", {}, _called("text"), Contents.is_text)
CONTEXT = Role("context", {}, _called("context"))
GROUP = Role("group", {}, _called("group"), _holds_groups, of_items=Contents.repeats)
SYSTEM = Role("system", {}, _called("system"), Contents.is_names)
CRITERION = Role("criterion", {}, _called("criterion"), Contents.is_names)
REPEAT = Role("repeat", {}, _called("repeat"))
ORDER = Role("order", {}, _called("order"), Contents.is_order)
CONFIDENCE = Role(
    "confidence",
    {},
    _called("confidence"),
    lambda table, name: table.sample(name).numeric > 0.5,
)
RATER = Role(
    "rater",
    {"import": "labeller"},
    _called("rater"),
    _is_rater,
    of_items=Contents.repeats,
)
FAILED = Role("failed", {}, _called("failed"), _says_failed)
REMARK = Role("remark", {}, _called("remark"))
SETTING = Role("setting", {}, _called("setting"))
"""What is known of the judge: its model, its prompt."""
CONDITION = Role("condition", {}, _called("condition"), of_items=Contents.repeats)
PAIR = Role("pair", {}, _called("pair"), of_items=Contents.repeats)
INJECTED = Role("injected", {}, _called("injected"), _says_what_was_planted)
"""What was planted in an item: nothing, a known defect, or an edit that must not matter."""
PARENT, MAKER = Role("parent", {}, _called("parent")), Role("maker")
JUDGE = Role("judge", {}, _called("judge"), _is_judge)
"""The column with the names of judges, or a judge's own column of verdicts."""
VERDICT = Role("verdict", holds=Contents.is_value, side=1)
LABEL = Role(
    "label",
    {"check": "human"},
    holds=Contents.is_value,
    of_items=_is_label_of_item,
    side=-1,
)
"""Columns of verdicts and labels are known by parts of their names."""
MODEL = Role("model", {}, _called("model"))
"""Names of models, which may be judges or makers."""

EVERY: Sequence[Role] = (
    ITEM,
    TEXT,
    CONTEXT,
    GROUP,
    SYSTEM,
    CRITERION,
    REPEAT,
    ORDER,
    CONFIDENCE,
    RATER,
    FAILED,
    REMARK,
    SETTING,
    CONDITION,
    PAIR,
    INJECTED,
    PARENT,
    MAKER,
    JUDGE,
    VERDICT,
    LABEL,
    MODEL,
)

KIND, SCALE, PASSING = Option("kind"), Option("scale"), Option("passes")
LABEL_SCALE = Option("label_scale", {"check": "human_scale"})
SHEET = Option("sheet")
NUMBERING = Option("choices")
"""Whether a choice numbers two outputs as they are given or as they were shown."""
CHOSEN = Option("labels")
"""How the items with a label were chosen."""

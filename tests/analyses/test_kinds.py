"""The numbers of a judge's agreement by kind of verdict, its preference for a position, and their words."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.analyses.conftest import placeholders, words_of
from tests.conftest import reference
from undogmatic.analyses import kinds, position
from undogmatic.analyses.kinds import Agreement
from undogmatic.records.checked import CheckOptions, Told
from undogmatic.records.verdict_table import AS_GIVEN, LABEL_COLUMNS, VerdictTable


def told(table: VerdictTable, judge: str = "judge", **options: object) -> tuple[Agreement, Told]:
    """What is told of a judge, every sentence put into words of both languages with exactly the values it uses."""
    own, chosen = table.of(judge, table.criteria[0]), CheckOptions.model_validate(options)
    found, all_told = kinds.agreement(own, chosen), Told()
    kinds.tell(own, all_told, chosen, found)
    notes = [part for note in all_told.notes for part in (note.finding, note.settle) if part is not None]
    for words in map(words_of, ("en", "pt")):
        for finding in [*notes, *all_told.not_examined.values()]:
            assert placeholders(words.find(finding.key) or "") <= set(finding.values), finding.key
            assert "[" + finding.key not in words.say(finding)
        for name, frame in all_told.tables.items():
            section, _, own_name = name.partition(".")
            assert words.text(f"{section}.table_{own_name}")
            for column in frame.columns:
                assert column in frame.attrs.get("names", ()) or words.heading(column, section) != column, column
        for figure in all_told.figures:
            assert words.metric(figure), figure
    return found, all_told


def keys(all_told: Told) -> set[str]:
    return {note.finding.key.removeprefix("kinds.") for note in all_told.notes}


def test_the_choices_of_real_judges_give_the_expected_figures() -> None:
    expected = json.loads(reference("audit/llmbar_natural_expected.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(reference("audit/llmbar_natural.csv"))
    rows["name"] = rows["set"] + "|" + rows["judge"]
    items = rows.drop_duplicates("item_id").set_index("item_id")
    labels = pd.DataFrame({"item": items.index, "criterion": "c", "rater": "gold", "label": items["label"] - 1.0})
    verdicts = pd.DataFrame({"item": rows["item_id"], "judge": rows["name"], "criterion": "c", "repeat": 0})
    verdicts = verdicts.assign(order=rows["order"], verdict=rows["choice"] - 1.0, confidence=np.nan)
    groups = pd.DataFrame({"group": items.index}, index=items.index)
    table = VerdictTable("pairwise", verdicts, labels[list(LABEL_COLUMNS)], groups, categories=("1", "2"))
    assert len(expected) == 54
    found = {judge: position.Orders(table.of(judge, "c"), 0.95) for judge in table.judges}
    for judge, figures in expected.items():
        own = {name: getattr(found[judge], name) for name in figures}
        assert own == pytest.approx(figures, abs=1e-9), judge
    unreadable = [judge for judge in found if judge not in expected]
    assert len(unreadable) == 11 and all(found[judge].n < 100 or found[judge].accuracy < 1 for judge in unreadable)
    one, all_told = told(table, next(iter(expected)))
    assert one.raw and one.raw.value == pytest.approx(found[next(iter(expected))].accuracy, abs=1e-12)
    assert AS_GIVEN in set(rows["order"]) and "position.first" in all_told.figures

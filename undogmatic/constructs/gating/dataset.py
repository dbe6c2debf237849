"""Reads predicted gating hierarchies beside the true ones, and measures of them what needs no
judge."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.constructs.gating.hierarchy import (
    Gate,
    Malformed,
    from_value,
    gate_name,
    names,
    outline,
    parse,
)
from undogmatic.constructs.gating.metrics import metrics
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.items import make_item, unique
from undogmatic.records.records import Item
from undogmatic.records.wordings import Licence
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import brief, json_lines, listed, without_halves
from undogmatic.safety.paths import data_folder

TRUTH, PREDICTIONS = "ground_truth.jsonl", "predictions.jsonl"
# the input that stands in the place of a prediction that is no hierarchy
UNPARSED = "unparsed"
_ABOUT = (
    "species",
    "sample_type",
    "tissue",
    "disease_state",
    "application",
    "additional_notes",
)
_LICENCE = {
    "en": (
        "The shipped gating hierarchies are part of this project (CC BY 4.0); their faults are"
        " planted."
    ),
    "pt": (
        "As hierarquias de gates que acompanham o programa são parte deste projeto (CC BY 4.0); as"
        " falhas são plantadas."
    ),
}
TrueCase = tuple[Gate, tuple[str, ...], dict[str, str]]
"""A true hierarchy, the markers of its panel, and what judges are shown of it besides: sample and
panel."""


class GatingDataset:
    """A prediction per item, in the form in which its hierarchy was read, with its case's panel and
    true hierarchy.

    A prediction that is no hierarchy has no input `prediction` but `unparsed`, so that no judge can
    score it; its `metadata.defect` is the reason. The others carry their metrics (0-1) as metadata,
    where the rules of `judge=selective` and `analysis=gating` read them; judges are not shown them.

    Args:
        path: A folder with ground_truth.jsonl and predictions.jsonl, or a file of predictions;
            None: the shipped ones. A line of predictions has test_case_id and prediction (an
            object, or the model's answer as a text), and may have id, model and condition.
        truth: The file of true hierarchies (test_case_id, panel, gating_hierarchy, context); None:
            ground_truth.jsonl beside the predictions.
    """

    name = "gating"

    def __init__(self, path: str | None = None, truth: str | None = None) -> None:
        # none is known of the user's
        self.licence: Licence | None = _LICENCE if path is None else None
        folder = data_folder() / "gating" if path is None else Path(path).expanduser()
        self.path = existing_file(
            str(folder / PREDICTIONS if os.path.isdir(folder) else folder),
            "dataset.path",
            (".jsonl",),
        )
        beside = str(self.path.with_name(TRUTH)) if truth is None else truth
        self.truth = existing_file(beside, "dataset.truth", (".jsonl",))
        for key, file in (("path", str(self.path)), ("truth", beside)):
            if not file.endswith(".jsonl"):
                raise ConfigError(
                    f"`dataset.{key}` is {brief(file)}; it must be JSON Lines (.jsonl)."
                )
        self.about = (
            "shipped predictions with planted faults"
            if path is None
            else self.path.name
        )

    def load(self) -> Sequence[Item]:
        """The predictions in file order. Raises DataError naming file and line."""
        cases: dict[str, TrueCase] = {}
        for number, row in json_lines(self.truth):
            place = f"{self.truth}:{number}"
            if (name := _case_name(place, row)) in cases:
                raise DataError(
                    f"{place}: the case {brief(name)} stands here a second time."
                )
            cases[name] = _case(place, row)
        return unique(self._items(cases), str(self.path))

    def _items(self, cases: Mapping[str, TrueCase]) -> Iterator[tuple[str, Item]]:
        for number, row in json_lines(self.path):
            place = f"{self.path}:{number}"
            if (name := _case_name(place, row)) not in cases:
                raise DataError(
                    f"{place}: `test_case_id` is {brief(name)}, which is not in {self.truth} (it"
                    f" has: {listed(list(cases))}). Add its true hierarchy, or name another file:"
                    " dataset.truth=FILE."
                )
            if "prediction" not in row:
                raise DataError(
                    f"{place}: the field `prediction` is missing. Fields: test_case_id, prediction,"
                    " id, model."
                )
            inputs, about = _read(place, row, name, cases[name])
            known = {
                key: str(row[key])
                for key in ("id", "condition")
                if row.get(key) is not None
            }
            told = {
                "id": str(number),
                "inputs": inputs,
                "pair": name,
                "metadata": about,
            } | known
            yield place, make_item(place, told)


def _case_name(place: str, row: Mapping[str, Any]) -> str:
    name = row.get("test_case_id", row.get("case"))
    name = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
    if not isinstance(name, str) or not name.strip():
        raise DataError(
            f"{place}: `test_case_id` is {brief(name)}; it must name a case."
        )
    return name.strip()


def _case(place: str, row: Mapping[str, Any]) -> TrueCase:
    try:
        truth = from_value(row.get("gating_hierarchy", row.get("truth")))
    except Malformed as error:
        raise DataError(
            f"{place}: `gating_hierarchy` is not a hierarchy ({error})."
        ) from None
    panel, context = row.get("panel"), row.get("context")
    if not isinstance(panel, list | None):
        raise DataError(
            f"{place}: `panel` is {brief(panel)}; it must be a list of markers, or of {{marker,"
            " fluorophore}."
        )
    markers, shown = [], []
    for entry in panel or ():
        stain = entry if isinstance(entry, Mapping) else {"marker": entry}
        try:
            markers.append(gate_name(stain.get("marker")))
        except Malformed:
            raise DataError(
                f"{place}: `panel` holds {brief(entry)}, which names no marker."
            ) from None
        dye = stain.get("fluorophore")
        shown.append(
            f"{markers[-1]} ({dye.strip()})"
            if isinstance(dye, str) and dye.strip()
            else markers[-1]
        )
    if isinstance(context, Mapping):
        # Without the names of the fields, which would make samples of different cases near-copies
        # of one another.
        sample = "; ".join(
            str(context[key])
            for key in _ABOUT
            if context.get(key) not in (None, "", "unknown")
        )
    elif context is None or (isinstance(context, str) and context.strip()):
        sample = (context or "").strip()
    else:
        raise DataError(
            f"{place}: `context` is {brief(context)}; it must be an object (species, sample_type,"
            " ...)."
        )
    # Without a marker nobody can say what the panel cannot show: such a case has no hallucination
    # rate.
    about = {
        "sample": sample or "not stated",
        "panel": ", ".join(shown) or "not stated",
    }
    return truth, tuple(markers), about


def _read(
    place: str, row: Mapping[str, Any], name: str, case: TrueCase
) -> tuple[dict[str, str], dict[str, Any]]:
    """The inputs and the metadata of a prediction, by the names that the rules of `judge=selective`
    have for them."""
    truth, markers, shown = case
    inputs, answer = shown | {"truth": outline(truth)}, row["prediction"]
    about: dict[str, Any] = {"case": name, "truth_gates": len(names(truth))}
    about |= {
        key: row[key]
        for key in ("model", "note", "bootstrap_run")
        if row.get(key) is not None
    }
    about |= {"system": str(about["model"])} if "model" in about else {}
    try:
        predicted = parse(answer)
    except Malformed as error:
        text = (
            answer
            if isinstance(answer, str)
            else json.dumps(answer, ensure_ascii=False)
        )
        text = without_halves(text).replace("\0", "\ufffd")
        inputs[UNPARSED] = text if text.strip() else "(empty)"
        return inputs, about | {"defect": error.defect, "defect_message": str(error)}
    # A root alone is shown as JSON, since an outline of one line would be no hierarchy.
    alone = json.dumps({"name": predicted.name, "children": []})
    inputs["prediction"] = outline(predicted) if predicted.children else alone
    measured = metrics(predicted, truth, markers)._asdict()
    about["automatic_f1"] = measured.pop("f1")
    gates = {
        key: ", ".join(measured.pop(key))
        for key in ("missing_critical", "hallucinated")
    }
    about |= {
        key: value for key, value in measured.items() if value is not None
    } | gates
    about["gates"] = len(names(predicted))
    if not markers:
        about["hallucination_unknown"] = (
            f"{place}: the case {name} names no marker in `panel`"
        )
    return inputs, about

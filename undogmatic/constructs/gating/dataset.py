"""Reads predicted gating hierarchies beside the true ones, and measures of them what needs no judge."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.constructs.gating.hierarchy import Gate, Malformed, from_value, gate_name, names, outline, parse
from undogmatic.constructs.gating.metrics import Metrics, metrics
from undogmatic.datasets.base import existing_file, make_item, unique
from undogmatic.datasets.rows import json_lines, listed
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.records.wordings import Licence
from undogmatic.safety.outside import brief, without_halves
from undogmatic.safety.paths import data_folder

TRUTH, PREDICTIONS = "ground_truth.jsonl", "predictions.jsonl"
UNPARSED = "unparsed"
"""The input that stands in the place of a prediction that is no hierarchy."""
_ABOUT = ("species", "sample_type", "tissue", "disease_state", "application", "additional_notes")
_LICENCE = {
    "en": "The shipped gating hierarchies are part of this project (CC BY 4.0); their faults are planted.",
    "pt": "As hierarquias de gates que acompanham o programa são parte deste projeto (CC BY 4.0); as falhas são "
    "plantadas.",
}


class Case(NamedTuple):
    """A true hierarchy with its panel (markers, and what dyes are known) and what is known of the sample."""

    name: str
    truth: Gate
    markers: tuple[str, ...]
    panel: str
    sample: str


class GatingDataset:
    """A prediction per item, in the form in which its hierarchy was read, with its case's panel and true hierarchy.

    A prediction that is no hierarchy has no input `prediction` but `unparsed`, so that no judge can score it; its
    `metadata.defect` is the reason. The others carry their metrics (0-1) as metadata, where the rules of
    `judge=selective` and `analysis=gating` read them; judges are not shown them.

    Args:
        path: A folder with ground_truth.jsonl and predictions.jsonl, or a file of predictions; None: the shipped ones.
            A line of predictions has test_case_id and prediction (an object, or the model's answer as a text), and may
            have id, model and condition.
        truth: The file of true hierarchies (test_case_id, panel, gating_hierarchy, context); None: ground_truth.jsonl
            beside the predictions.
    """

    name = "gating"

    def __init__(self, path: str | None = None, truth: str | None = None) -> None:
        self._shipped = path is None
        folder = data_folder() / "gating" if path is None else Path(path).expanduser()
        given = str(folder / PREDICTIONS if _is_folder(folder) else folder)
        self.path = existing_file(given, "dataset.path", (".jsonl",))
        self.truth = existing_file(
            str(self.path.with_name(TRUTH)) if truth is None else truth, "dataset.truth", (".jsonl",)
        )
        for key, file in (("path", self.path), ("truth", self.truth)):
            if file.suffix != ".jsonl":
                raise ConfigError(f"`dataset.{key}` is {brief(str(file))}; it must be JSON Lines (.jsonl).")
        self.about = "shipped predictions with planted faults" if path is None else self.path.name

    @property
    def licence(self) -> Licence | None:
        """That of the shipped hierarchies; none is known of the user's."""
        return _LICENCE if self._shipped else None

    def load(self) -> list[Item]:
        """The predictions in file order. Raises DataError naming file and line."""
        cases: dict[str, Case] = {}
        for number, row in json_lines(self.truth):
            case = _case(f"{self.truth}:{number}", row)
            if case.name in cases:
                raise DataError(f"{self.truth}:{number}: the case {brief(case.name)} stands here a second time.")
            cases[case.name] = case
        return unique(self._items(cases), str(self.path))

    def _items(self, cases: Mapping[str, Case]) -> Iterator[tuple[str, Item]]:
        for number, row in json_lines(self.path):
            place = f"{self.path}:{number}"
            name = _case_name(place, row)
            if name not in cases:
                raise DataError(
                    f"{place}: `test_case_id` is {brief(name)}, which is not in {self.truth} (it has: "
                    f"{listed(list(cases))}). Add its true hierarchy, or name another file: dataset.truth=FILE."
                )
            if "prediction" not in row:
                raise DataError(
                    f"{place}: the field `prediction` is missing. Fields: test_case_id, prediction, id, model."
                )
            yield place, _item(place, str(number), row, cases[name])


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # said by existing_file


def _case_name(place: str, row: Mapping[str, Any]) -> str:
    name = row.get("test_case_id", row.get("case"))
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name.strip():
        raise DataError(f"{place}: `test_case_id` is {brief(name)}; it must name a case.")
    return name.strip()


def _case(place: str, row: Mapping[str, Any]) -> Case:
    name = _case_name(place, row)
    try:
        truth = from_value(row.get("gating_hierarchy", row.get("truth")))
    except Malformed as error:
        raise DataError(f"{place}: `gating_hierarchy` is not a hierarchy ({error}).") from None
    panel = row.get("panel")
    panel = [] if panel is None else panel
    if not isinstance(panel, list):
        raise DataError(
            f"{place}: `panel` is {brief(panel)}; it must be a list of markers, or of {{marker, fluorophore}}."
        )
    markers, shown = [], []
    for each in panel:
        given = each if isinstance(each, Mapping) else {"marker": each}
        try:
            marker = gate_name(given.get("marker"))
        except Malformed:
            raise DataError(f"{place}: `panel` holds {brief(each)}, which names no marker.") from None
        dye = given.get("fluorophore")
        markers.append(marker)
        shown.append(f"{marker} ({dye.strip()})" if isinstance(dye, str) and dye.strip() else marker)
    # Without a marker nobody can say what the panel cannot show: such a case has no hallucination rate.
    return Case(name, truth, tuple(markers), ", ".join(shown) or "not stated", _sample(place, row.get("context")))


def _sample(place: str, context: Any) -> str:
    if context is None:
        return "not stated"
    if isinstance(context, str) and context.strip():
        return context.strip()
    if not isinstance(context, Mapping):
        raise DataError(f"{place}: `context` is {brief(context)}; it must be an object (species, sample_type, ...).")
    # Without the names of the fields, which would make samples of different cases near-copies of one another.
    said = [str(context[key]) for key in _ABOUT if context.get(key) not in (None, "", "unknown")]
    return "; ".join(said) or "not stated"


def _item(place: str, number: str, row: Mapping[str, Any], case: Case) -> Item:
    inputs = {"sample": case.sample, "panel": case.panel, "truth": outline(case.truth)}
    about: dict[str, Any] = {"case": case.name, "truth_gates": len(names(case.truth))}
    about |= {key: row[key] for key in ("model", "note", "bootstrap_run") if row.get(key) is not None}
    if "model" in about:
        about["system"] = str(about["model"])
    try:
        predicted = parse(row["prediction"])
    except Malformed as error:
        inputs[UNPARSED] = _raw(row["prediction"])
        about |= {"defect": error.defect, "defect_message": str(error)}
    else:
        inputs["prediction"] = _shown(predicted)
        about |= _measured(metrics(predicted, case.truth, case.markers)) | {"gates": len(names(predicted))}
        if not case.markers:
            about["hallucination_unknown"] = f"{place}: the case {case.name} names no marker in `panel`"
    given = row.get("id")
    fields = {
        "id": number if given is None else str(given),
        "inputs": inputs,
        "pair": case.name,
        "condition": None if row.get("condition") is None else str(row["condition"]),
        "metadata": about,
    }
    return make_item(place, fields)


def _shown(predicted: Gate) -> str:
    """A hierarchy as judges read it: an outline; a root alone as JSON, since one line would be no hierarchy."""
    return outline(predicted) if predicted.children else json.dumps({"name": predicted.name, "children": []})


def _measured(found: Metrics) -> dict[str, Any]:
    """The metrics as metadata; F1 and hallucination rate under the names that `judge=selective` knows."""
    numbers: dict[str, Any] = {"automatic_f1": found.f1} | found._asdict()
    said = {name: ", ".join(numbers.pop(name)) for name in ("missing_critical", "hallucinated")}
    del numbers["f1"]
    return {k: v for k, v in numbers.items() if v is not None and math.isfinite(v)} | said


def _raw(given: Any) -> str:
    """The answer as it was, for the record; what is empty has a word in its place."""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    text = without_halves(text).replace("\0", "\ufffd")
    return text if text.strip() else "(empty)"

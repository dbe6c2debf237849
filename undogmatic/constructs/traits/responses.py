"""Reads responses of assistants: a user's table of questions and answers, or the labelled ones that
ship."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from undogmatic.datasets.rows import Names
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.items import make_item, unique
from undogmatic.records.records import UNNAMED, Item
from undogmatic.records.wordings import Licence
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import brief, json_lines, listed
from undogmatic.safety.paths import data_folder

RESPONSE = "response"
INPUTS = ("scenario", "question", RESPONSE)
"""What a response comes with, in the order in which it is read; only the response must be there."""
# of all labels that ship: those of one trait may well lie at one end of it
LABEL_SCALE = (
    0.0,
    100.0,
)
_LICENCE = {
    "en": (
        "The labelled responses are part of this project (CC BY 4.0); people, firms and places in"
        " them are invented."
    ),
    "pt": (
        "As respostas rotuladas são parte deste projeto (CC BY 4.0); pessoas, empresas e lugares"
        " são inventados."
    ),
}


class ResponsesDataset(TextsDataset):
    """A user's questions and responses, a row per response: only the response must be there."""

    name = "responses"

    def __init__(
        self,
        path: str,
        columns: dict[str, Names | None],
        label_scale: str | tuple[float | str, ...] | None = None,
        sheet: str | None = None,
    ) -> None:
        super().__init__(
            path,
            (RESPONSE,),
            label_scale,
            optional=INPUTS[:2],
            columns=columns,
            sheet=sheet,
        )

    def load(self) -> Sequence[Item]:
        """The items in file order, their inputs in the order of reading. Raises DataError naming
        file and line."""
        kept = (
            (item, {name: item.inputs[name] for name in INPUTS if name in item.inputs})
            for item in super().load()
        )
        return [
            item.model_copy(update={"inputs": inputs | item.inputs})
            for item, inputs in kept
        ]


class LabelledResponsesDataset:
    """Responses that ship with labels: of a trait, or of coherence.

    Conditions are `gold:high`, `gold:mid`, `gold:low` for a trait, `gold:<kind>` for coherence;
    responses to one prompt have one metadata `group` and lie in one split. `second_label` is what
    the second, blind labelling gave.

    Args:
        part: Which file.
        trait: The trait; needed for `part=trait`. "all" takes the items of every trait, each with
            its own labels.
        split: "test" (nothing was fitted to it or chosen on it), "dev" or "all".
        language: Only responses in this language.
        path: A file of your own in the same format.
    """

    def __init__(
        self,
        part: Literal["trait", "coherence"],
        trait: str | None = None,
        split: Literal["test", "dev", "all"] = "test",
        language: Literal["en", "pt"] | None = None,
        path: str | None = None,
    ) -> None:
        if (trait is None) == (part == "trait"):
            raise ConfigError(
                f"`dataset.trait` is {trait}; a trait is named for `dataset.part=trait`, and only"
                " there."
            )
        self.part, self.trait, self.split, self.language = part, trait, split, language
        # none is known of a file of the user's
        self.licence: Licence | None = _LICENCE if path is None else None
        shipped = data_folder() / part / "items.jsonl"
        self.path = (
            shipped
            if path is None
            else existing_file(path, "dataset.path", (".jsonl",))
        )
        self.name = "coherence" if trait is None else f"traits-{trait}"
        self.about = f"{trait or part}, {split} split" + (
            f", {language}" if language else ""
        )

    def load(self) -> Sequence[Item]:
        """The items in file order. Raises DataError naming file and line, ConfigError for a trait
        that has none."""
        rows = list(json_lines(self.path))
        known = sorted({str(row.get("trait")) for _, row in rows})
        if self.trait not in (None, "all", *known):
            close = difflib.get_close_matches(str(self.trait), known, 1)
            hint = f"Choose one, e.g. rubric=trait/{known[0]}." if known else ""
            raise ConfigError(
                f"`dataset.trait` (by default the rubric's name) is {brief(self.trait)}, of which"
                f" {self.path.name} has no items. Traits: {listed(known)}."
                f" {f'Did you mean {close[0]}?' if close else hint}"
            )
        wanted = {"trait": self.trait, "split": self.split, "language": self.language}
        kept = [
            row
            for row in rows
            if all(
                value in (None, "all", row[1].get(key)) for key, value in wanted.items()
            )
        ]
        places = [(f"{self.path}:{number}", row) for number, row in kept]
        return unique(
            ((place, self._item(place, row)) for place, row in places),
            f"{self.path} ({self.about})",
        )

    def _item(self, place: str, row: Mapping[str, Any]) -> Item:
        """A row as an item, its label as the overall one. Raises DataError."""
        label, (low, high) = row.get("label"), LABEL_SCALE
        if (
            isinstance(label, bool)
            or not isinstance(label, int | float)
            or not low <= label <= high
        ):
            raise DataError(
                f"{place}: `label` is {brief(label)}; it must be a number from 0 to {high:g}."
            )
        if not row.get("group"):
            raise DataError(
                f"{place}: `group` is missing: the prompt that the response answers."
            )
        band = "high" if label >= 70 else "mid" if label >= 30 else "low"
        if not (kind := row.get("kind") if self.part == "coherence" else band):
            raise DataError(f"{place}: `kind` is missing, e.g. good or cut_off.")
        given = {"overall": label, "structure": row.get("structure")}
        labels = {
            name: {UNNAMED: each}
            for name, each in given.items()
            if isinstance(each, int | float)
        }
        about = ("group", "split", "language", "trait", "engages", "second_label")
        fields = {
            "id": row.get("id"),
            "inputs": {name: row[name] for name in INPUTS if row.get(name) is not None},
        }
        fields |= {
            "condition": f"gold:{kind}",
            "labels": labels,
            "label_scale": LABEL_SCALE,
        }
        return make_item(
            place, fields | {"metadata": {key: row[key] for key in about if key in row}}
        )

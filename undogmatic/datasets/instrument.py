"""Makes the items of the instrument test: texts, and copies of them whose score is known relative
to theirs without a label.

A copy with a cue that should not matter ought to score as its text does (`same`), and so ought the
text where the judge is asked in another way; one with planted defects worse (`worse`), and where
there is nothing to judge a score says nothing (`nothing`).
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from undogmatic.datasets.base import SubsetDataset
from undogmatic.datasets.edits import (
    STEPS,
    WAYS,
    Edits,
    Language,
    chosen,
    chosen_ways,
    edits_of,
    shipped,
)
from undogmatic.datasets.tabular import TextsDataset, shipped_dataset
from undogmatic.datasets.together import heads_of
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.items import unique
from undogmatic.records.limits import INSTRUMENT_TEXTS, LARGEST_SEED
from undogmatic.records.records import (
    NAMED,
    TYPED_GROUP,
    WATCHED,
    Asking,
    Item,
    Way,
    digest,
    first_problem,
)
from undogmatic.records.results import Finding
from undogmatic.records.rubric import OUTPUTS
from undogmatic.records.wordings import Licence, Licensed
from undogmatic.safety import files
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import json_lines
from undogmatic.stats.surface import copies

ORIGINAL, CUE, ASKED, LADDER, DARK = "original", "cue", "asked", "ladder", "dark"
TWICE = "twice"
"""The edit by which both outputs of a pair are the same text."""
EXPECTED = ("same", "worse", "nothing", "even")
FILE = "instrument.jsonl"
"""What a run calls its items in its folder: `dataset.items=` reads them again."""
FEWEST = 20
AGAIN_EVERY = 4
"""Of so many texts one is asked about again, in the same words; it says how far answers vary by
themselves, for which fewer texts do. The others bring a text in which there is nothing to judge."""
TRANSLATION_OF = "translation_of"
"""Metadata of a text: the id of the one of which it is a translation."""
TOGETHER = ("group", "precedent", "source")
"""Metadata that says that texts belong together (`examinations.independence`)."""
MOST_LOOKED_AT = 20
"""So many times the texts that are wanted are looked at to find independent ones."""
_ROW = ("original", "edit", "expected")


class InstrumentDataset:
    """Texts, drawn with a seed, and their edited copies.

    Metadata of each item: `edit` (`original`, `cue.flattery`, `asked.words.2`, `ladder.repeated.2`,
    `dark.blank`), `original` (of a copy the item that it is compared with) and `expected` (of all
    but the texts as they were: `same`, `worse`, `nothing`). An item of `asked` is its text as it
    was, and names in `asking` how the question is put. A text has twelve items at most with five
    cues and the first three ways. The copies of a text share its pair, so that they are
    judged one after the other, and its group. Labels are left out: nothing is held against them.
    Of a rubric of pairs `watched` is the output that is edited, the first and the second in turn.

    Args:
        rubric: Its name: the file `data/instrument/RUBRIC.yaml` is read, if there is one.
        inputs, optional: What is judged; the last of the inputs that a text has is edited.
        shipped: The dataset option from which texts are drawn where no `path` is given.
        path: A table with texts of one's own. A row with `translation_of`, the id of another text,
            is its translation, and is judged in place of it once more.
        n: How many texts are drawn at most.
        seed: Of the draw.
        cues: How many cues are tried, the most telling first; names of cues; or None for all.
        ways: Other ways of putting the question that are tried (`edits.WAYS`); None for all.
        languages: The rubric's languages, and `asked_in` that of the run's prompt; another one is
            asked in where `ways` has `language`.
        language: Of the sentences that are added; None: as each text.
        edits: A file of edits of one's own, in place of the rubric's.
        items: Made items to use again, a file that an earlier run wrote; all but `inputs` and
            `optional` is then without meaning.
    """

    name = "instrument"

    def __init__(
        self,
        rubric: str,
        inputs: Sequence[str] = ("text",),
        optional: Sequence[str] = (),
        shipped: str | None = None,
        path: str | None = None,
        n: Annotated[int, Field(ge=2, le=1000)] = INSTRUMENT_TEXTS,
        seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0,
        cues: Annotated[int, Field(ge=1)] | list[str] | None = 5,
        ways: list[str] | None = WAYS[:3],  # type: ignore[assignment]
        languages: Sequence[str] = (),
        asked_in: str | None = None,
        language: Language | None = None,
        edits: str | None = None,
        items: str | None = None,
    ) -> None:
        self.rubric, self.inputs, self.optional = rubric, tuple(inputs), tuple(optional)
        self.path, self.n, self.seed = path, n, seed
        self.language = language
        self.made = (
            None
            if items is None
            else existing_file(items, "dataset.items", (".jsonl",))
        )
        self.edits, self.own = self._edits(edits)
        # A rubric's own file of edits knows the texts that its edits fit.
        self.shipped = self.edits.texts or shipped
        self.cues, self.ways = chosen(self.edits, cues), chosen_ways(ways)
        self.languages, self.asked_in = tuple(languages), asked_in
        self.of_pairs = {*OUTPUTS} <= {*self.inputs}
        self.about = "texts and their edited copies"
        self.read: Sequence[Finding] = ()
        self.licence: Licence | None = None

    def load(self) -> Sequence[Item]:
        """The items, text by text. Raises ConfigError where no texts are at hand, DataError naming
        file and line."""
        if self.made is not None:
            return self._again(self.made)
        texts, translations, notes = self._texts()
        made = list[Item]()
        unmade = dict[str, int]()
        nothings = self._nothings()
        for place, text in enumerate(texts):
            made += self._copies(text, place, unmade)
            made += self._askings(text, place)
            if text.id in translations:
                made.append(_translated(text, translations[text.id]))
            if self.of_pairs and place % AGAIN_EVERY == AGAIN_EVERY - 1:
                made.append(_twice(text))
            elif place % AGAIN_EVERY and nothings:
                made.append(self._dark(text, *nothings.pop(0)))
        told = {
            "texts": len(texts),
            "n": len(made),
            "cues": self.cues,
            "ways": self.ways,
        }
        notes.append(Finding("instrument_items.made", told))
        if unmade:
            told = {"n": sum(unmade.values()), "edits": sorted(unmade)}
            notes.append(Finding("instrument_items.unmade", told))
        relevant = [name for name in self.edits.relevant if name in self.edits.cues]
        if relevant:
            told = {"cues": relevant, "rubric": self.rubric, "n": len(relevant)}
            notes.append(Finding("instrument_items.relevant", told))
        left = [name for name in self.edits.cues if name not in [*self.cues, *relevant]]
        if left:
            notes.append(Finding("instrument_items.left_out", {"cues": left}))
        self.read = notes
        return unique(((str(item.place), item) for item in made), self.about)

    def keep(self, items: Sequence[Item], folder: Path) -> None:
        """Write the items into a run's folder, a row each with original, edit and expectation."""
        path = folder / FILE
        if self.made is not None and path.is_file() and path.samefile(self.made):
            return
        lines = (json.dumps(_row(item), ensure_ascii=False) + "\n" for item in items)
        files.write(path, lines)

    def _edits(self, typed: str | None) -> tuple[Edits, Path | None]:
        own = (
            shipped(self.rubric)
            if typed is None
            else existing_file(typed, "dataset.edits", (".yaml", ".yml"))
        )
        return edits_of(own), own

    def _texts(self) -> tuple[list[Item], Mapping[str, Item], list[Finding]]:
        """The texts that are edited, translations by the id of their texts, and what is said of how
        they were read. Raises DataError where a translation is of a text that is not there."""
        if self.path is not None:
            dataset: Any = TextsDataset(
                self.path, self.inputs, optional=self.optional, columns={"label": ()}
            )
        elif self.shipped is not None:
            dataset = shipped_dataset(self.shipped, self.rubric)
            self.licence = dataset.licence if isinstance(dataset, Licensed) else None
        else:
            raise ConfigError(
                f"no texts ship for rubric={self.rubric}, so the instrument test needs 20 to 60 of"
                " yours, without labels: dataset.path=FILE (undogmatic instrument: --texts FILE)."
            )
        every = list(dataset.load())
        notes = list(getattr(dataset, "read", ()))
        translations = _translations(every)
        items = [item for item in every if TRANSLATION_OF not in item.metadata]
        if len(items) < 2:
            raise DataError(
                f"{dataset.about} holds {len(items)} text; the instrument test needs at least 2,"
                f" and {FEWEST} to say much."
            )
        drawn = _drawn(items, self.n, self.seed)
        if len(drawn) < FEWEST:
            notes.append(
                Finding("instrument_items.few", {"n": len(drawn), "least": FEWEST})
            )
        if makers := sorted(
            {str(i.metadata["made_by"]) for i in drawn if "made_by" in i.metadata}
        ):
            notes.append(Finding("instrument_items.made_by", {"makers": makers}))
        cues = {cue: [*self.edits.cues[cue].named] for cue in self.cues}
        grouped = zip(drawn, _groups(drawn), strict=True)
        texts = [_plain(item, group, cues) for item, group in grouped]
        if self.of_pairs:
            texts = [_watched(text, OUTPUTS[n % 2]) for n, text in enumerate(texts)]
        return texts, translations, notes

    def _copies(self, text: Item, place: int, unmade: dict[str, int]) -> Iterator[Item]:
        """A text and its edited copies; `unmade` counts those that change nothing or cannot be
        made."""
        yield text
        target = self._target(text)
        seen = {digest(text.inputs[target])}
        ids = dict[str, str]()
        for edit, expected, against, changed in self._changes(
            text.inputs[target], text, place
        ):
            before = text.id if against is None else ids.get(against)
            if changed is None or before is None or digest(changed) in seen:
                kind = edit.split(".")[1]
                unmade[kind] = unmade.get(kind, 0) + 1
                continue
            seen.add(digest(changed))
            made = ids[edit.split(".")[1]] = f"{text.id}+{edit}"
            own = "rubric" if self.edits.own_ladder else "any"
            told: dict[str, Any] = {
                "edit": edit,
                "expected": expected,
                "original": before,
            }
            told |= {"defects_of": own} if expected == "worse" else {}
            cue = self.edits.cues.get(edit.partition(".")[2])
            told |= (
                {NAMED: {edit.partition(".")[2]: [*cue.named]}}
                if cue and cue.named
                else {}
            )
            inputs = {target: changed}
            if self.of_pairs and expected == "worse":
                inputs |= {_rival(target): text.inputs[target]}
            yield _item(text, made, inputs, told)

    def _changes(
        self, whole: str, text: Item, place: int
    ) -> Iterator[tuple[str, str, str | None, str | None]]:
        """Each edit of a text: its name, what is expected, the cue it is compared with, and what it
        makes of it."""
        spoken = self.language or _spoken(text)
        for name in self.cues:
            edit = self.edits.cues[name]
            key = f"{self.seed} {text.id} {edit.against or name}"
            yield (
                f"{CUE}.{name}",
                "same",
                edit.against,
                edit.into(whole, key, 1, spoken),
            )
        kinds = [*self.edits.ladder]
        # A text has one kind of defect: the first, from its own on, that it is long enough for.
        for kind in (
            [*kinds[place % len(kinds) :], *kinds[: place % len(kinds)]]
            if kinds
            else ()
        ):
            edit, key = self.edits.ladder[kind], f"{self.seed} {text.id} {kind}"
            steps = [(step, edit.into(whole, key, step, spoken)) for step in STEPS]
            if all(changed is not None for _, changed in steps):
                for step, changed in steps:
                    yield f"{LADDER}.{kind}.{step}", "worse", None, changed
                return
        if kinds:
            yield f"{LADDER}.{kinds[0]}.1", "worse", None, None

    def _askings(self, text: Item, place: int) -> Iterator[Item]:
        """The text as it was, asked about in other ways."""
        for way in self.ways:
            if way == "again" and place % AGAIN_EVERY:
                continue
            asking, name = self._asking(way, text, place)
            if asking is not None:
                told = {
                    "edit": f"{ASKED}.{name}",
                    "expected": "same",
                    "original": text.id,
                }
                made = _item(text, f"{text.id}+{ASKED}.{name}", {}, told)
                yield made.model_copy(update={"asking": asking})

    def _asking(self, way: Way, text: Item, place: int) -> tuple[Asking | None, str]:
        """Another way of asking about a text, and its name; None where there is none."""
        if way == "words":
            most = max((len(each) for each in self.edits.wordings.values()), default=0)
            if not most:
                return None, way
            # Each text has one wording, in turn.
            words = {
                code: each[place % len(each)]
                for code, each in self.edits.wordings.items()
                if each
            }
            return Asking(way=way, words=words), f"{way}.{place % most + 1}"
        if way == "language":
            own = text.language if text.language in self.languages else self.asked_in
            others = [code for code in self.languages if code != own]
            return (Asking(way=way, language=others[0]) if others else None), way
        return Asking(way=way), way

    def _nothings(self) -> list[tuple[str, int, str]]:
        """What there is to put in place of a text, so that nothing is left to judge: kind, number
        and text; every other one a blank page as long as there are some."""
        kinds = {
            name: [(name, number, said) for number, said in enumerate(each, 1)]
            for name, each in self.edits.dark.items()
        }
        blank = kinds.pop("blank", [])
        # The first of every kind, then the second of every kind.
        several = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
        pairs = itertools.zip_longest(
            blank, (each for each in several if each is not None)
        )
        return [each for pair in pairs for each in pair if each is not None]

    def _dark(self, text: Item, kind: str, number: int, nothing: str) -> Item:
        """An item in which there is nothing to judge, beside the other inputs of a text."""
        told = {"edit": f"{DARK}.{kind}", "expected": "nothing"}
        made = _item(
            text, f"{DARK}.{kind}.{number}", {self._target(text): nothing}, told
        )
        return made.model_copy(update={"pair": made.id})

    def _target(self, text: Item) -> str:
        """The input that is edited: the output that is watched, else the last that the rubric
        shows and the text has."""
        if self.of_pairs:
            return str(text.metadata[WATCHED])
        names = [
            *(name for name in self.optional if name not in self.inputs),
            *self.inputs,
        ]
        return next(name for name in reversed(names) if name in text.inputs)

    def _again(self, file: Path) -> Sequence[Item]:
        """The items that an earlier run made. Raises DataError where a row is none of them."""

        def rows() -> Iterator[tuple[str, Item]]:
            for number, row in json_lines(file):
                place = f"{file}:{number}"
                item = _item_of(place, row)
                if item.metadata.get("expected") not in (None, *EXPECTED):
                    raise DataError(
                        f"{place}: `expected` is {item.metadata['expected']!r}; it must be same,"
                        " worse, nothing or even, and null of a text as it was."
                    )
                watched = item.metadata.get(WATCHED)
                if self.of_pairs and watched not in OUTPUTS:
                    raise DataError(
                        f"{place}: `watched` is {watched!r}; of two outputs that are compared it"
                        f" must be {' or '.join(OUTPUTS)}."
                    )
                if not isinstance(item.metadata.get("edit"), str):
                    raise DataError(
                        f"{place}: `metadata.edit` is missing. `dataset.items` takes the file"
                        f" {FILE} of an earlier run; texts of your own are given with"
                        " dataset.path=FILE."
                    )
                yield place, item

        items = unique(rows(), str(file))
        known = {item.id for item in items}
        for item in items:
            original = item.metadata.get("original")
            if original is not None and original not in known:
                raise DataError(
                    f"{item.place}: `metadata.original` is {original!r}, which the file does not"
                    " hold. Copies are compared with what they were made of: add it, or leave this"
                    " row out."
                )
        self.read = [
            Finding("instrument_items.again", {"n": len(items), "file": file.name})
        ]
        return items


def is_copy(item: Item) -> bool:
    """Whether an item was made for the test: a copy of a text, the text asked about in another way,
    or one in which there is nothing to judge. It is nothing for people to label."""
    return "edit" in item.metadata and item.metadata.get("expected") is not None


def _row(item: Item) -> dict[str, Any]:
    """An item as a row of the file that keeps it."""
    told = {name: item.metadata.get(name) for name in _ROW}
    more = {name: value for name, value in item.metadata.items() if name not in _ROW}
    texts: dict[str, Any] = dict(item.inputs) if "text" in item.inputs else {}
    if len(item.inputs) != 1 or not texts:
        texts = {"inputs": item.inputs}
    placed: dict[str, Any] = {"condition": item.condition, "pair": item.pair}
    if item.asking is not None:
        placed["asking"] = item.asking.model_dump(mode="json", exclude_defaults=True)
    return {"id": item.id, **told, **texts, **placed, **more}


def _item_of(place: str, row: Mapping[str, Any]) -> Item:
    """The item of such a row, whose text may be blank. Raises DataError naming the place."""
    known = {
        name: row[name] for name in ("id", "condition", "pair", "asking") if name in row
    }
    inputs = row.get("inputs", {"text": row.get("text")})
    others = {
        k: v
        for k, v in row.items()
        if k not in {*known, "inputs", "text"} and v is not None
    }
    try:
        return Item.model_validate(
            known | {"inputs": inputs, "metadata": others, "place": place}
        )
    except ValidationError as error:
        raise DataError(f"{place}: {first_problem(error)}.") from None


class _Held:
    """Items that are read already, as a dataset."""

    name, about = "texts", "texts"

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items

    def load(self) -> Sequence[Item]:
        return self.items


def _drawn(items: Sequence[Item], n: int, seed: int) -> list[Item]:
    """So many of the texts, of every condition in turn, and of every group one before any gives a
    second."""
    of_all = SubsetDataset(
        _Held(items), min(len(items), MOST_LOOKED_AT * n), seed
    ).load()
    firsts, others, known = list[Item](), list[Item](), set[str]()
    for item, group in zip(of_all, _groups(of_all), strict=True):
        (others if group in known else firsts).append(item)
        known.add(group)
    return [*firsts, *others][:n]


def _groups(texts: Sequence[Item]) -> list[str]:
    """The group of each text, as it is found among the texts alone: the sentences that are added to
    short ones would make them near-copies of one another."""
    marks: list[list[tuple[str, str]]] = []
    for item, copied in zip(
        texts, copies(tuple(item.text for item in texts)), strict=True
    ):
        typed = item.metadata.get(TYPED_GROUP)
        if typed is not None:  # what somebody named is final
            marks.append([("typed", str(typed))] if typed else [("item", item.id)])
            continue
        own = [("item", item.id), ("copies", str(copied))]
        own += [("pair", item.pair)] if item.pair is not None else []
        for key in TOGETHER:
            value = item.metadata.get(key) or []
            own += [
                (key, str(each))
                for each in (value if isinstance(value, list) else [value])
            ]
        marks.append(own)
    heads = heads_of(marks)
    first = {
        head: item.id for head, item in reversed([*zip(heads, texts, strict=True)])
    }
    return [first[head] for head in heads]


def _translations(items: Sequence[Item]) -> Mapping[str, Item]:
    """The items that say of which text they are a translation, by its id. Raises DataError."""
    known = {item.id for item in items if TRANSLATION_OF not in item.metadata}
    found = dict[str, Item]()
    for item in items:
        if TRANSLATION_OF in item.metadata:
            of = str(item.metadata[TRANSLATION_OF])
            if of not in known:
                raise DataError(
                    f"{item.place}: `{TRANSLATION_OF}` is {of!r}, and no text has this id. Name a"
                    " text of the same file, or leave the row out."
                )
            found[of] = item
    return found


def _translated(text: Item, translation: Item) -> Item:
    """The translation of a text, which ought to score as the text does."""
    told = {"edit": f"{CUE}.translation", "expected": "same", "original": text.id}
    made = _item(text, translation.id, dict(translation.inputs), told)
    spoken = translation.metadata.get("language")
    known = {key: value for key, value in made.metadata.items() if key != "language"}
    known |= {} if spoken is None else {"language": spoken}
    return made.model_copy(update={"metadata": known})


def _plain(item: Item, group: str, named: Mapping[str, list[str]]) -> Item:
    """A text without its labels, in its group; `named` is how a reason would name the cues."""
    known: dict[str, Any] = (
        {"language": item.metadata["language"]} if "language" in item.metadata else {}
    )
    return item.model_copy(
        update={
            "labels": {},
            "label_scale": None,
            "parent": None,
            "maker": None,
            "condition": ORIGINAL,
            "pair": item.id,  # its copies are judged one after the other
            "metadata": known | {TYPED_GROUP: group, "edit": ORIGINAL, NAMED: named},
        }
    )


def _watched(pair: Item, output: str) -> Item:
    """A pair with the name of the output that is edited in its copies."""
    return pair.model_copy(update={"metadata": {**pair.metadata, WATCHED: output}})


def _rival(output: str) -> str:
    return OUTPUTS[1 - OUTPUTS.index(output)]


def _twice(pair: Item) -> Item:
    """A pair whose outputs are both the one that is watched."""
    watched = str(pair.metadata[WATCHED])
    told = {"edit": TWICE, "expected": "even"}
    same = {_rival(watched): pair.inputs[watched]}
    return _item(pair, f"{pair.id}+{TWICE}", same, told)


def _spoken(text: Item) -> Language | None:
    known = text.language
    return "pt" if known == "pt" else "en" if known == "en" else None


def _item(
    text: Item, name: str, changed: dict[str, str], told: Mapping[str, Any]
) -> Item:
    """A copy of a text with an edit in it, and what is told of that."""
    kind, _, rest = told["edit"].partition(".")
    known = {key: value for key, value in text.metadata.items() if key != NAMED}
    return text.model_copy(
        update={
            "id": name,
            "inputs": text.inputs | changed,
            "condition": f"{kind}:{rest}",
            "metadata": {**known, **told},
        }
    )

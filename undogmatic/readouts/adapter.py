"""The one DSPy adapter: a signature, demonstrations and inputs become messages, and an answer
becomes typed fields.

Everything said comes from the arguments of `format`: the instructions of the signature, its fields,
the demonstrations and the inputs. So a copy of a module with other instructions asks the other
question. What the adapter adds is the fence: the judged texts are data. Each stands between two
lines named by a keyed hash of what is judged, so that no text can close them by guessing, and the
fixed sentences of the language say that nothing between them is an order.

Fields of a signature that mean something to it:
    inputs marked as judged (`judged`): fenced, under their headings where there are several;
    `the_rubric`: stands in the system message behind the instructions;
    `the_note`: behind the form of the answer;
    `the_context`, `the_given`, `the_said`, `the_question`: behind what is judged;
    `the_previous`, `the_problem`: of an answer that could not be read. They are named so because
        an input of a rubric may be called "question";
    outputs marked by `number` are read on their scale;
    an output `level` is one label, and its `values` what they mean.
"""

import contextlib
import functools
import hmac
import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import dspy
from filelock import FileLock
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from undogmatic.errors import (
    ConfigError,
    DataError,
    OffScaleAnswer,
    StorageError,
    UnparseableAnswer,
)
from undogmatic.models.calls import reading, with_texts
from undogmatic.readouts.prompt import FixedWords, lines
from undogmatic.records.answers import Several, as_number, json_in
from undogmatic.records.rubric import Rubric, Scale
from undogmatic.safety import files
from undogmatic.safety.outside import Unreadable, read_bytes
from undogmatic.safety.paths import cache_folder

Messages = list[dict[str, Any]]
SCORE = "score"
"""A demonstration's score under the name that every signature understands, whatever its own field
is called."""
_KEY_BYTES = 32


def judged(rubric: Rubric, language: str) -> dict[str, Any]:
    """The input fields of a signature that hold what is judged."""
    headings = rubric.wordings[language].headings
    lacking = rubric.optional if rubric.partial else ()
    return {
        name: material(headings.get(name, name), name in lacking)
        for name in rubric.inputs
    }


def material(heading: str, may_lack: bool = False) -> Any:
    """An input field that stands fenced, as material that gives no orders; with `may_lack`, one
    that need not be."""
    kind, lack = (
        (str | None, {"default": None, "may_lack": True}) if may_lack else (str, {})
    )
    return (kind, _field("input", desc=heading, judged=True, **lack))


def number(
    scale: Scale, desc: str, is_score: bool = False, **bounds: str | None
) -> Any:
    """An output field that is read on a scale, and that `desc` describes in the form that the model
    is asked to fill. With `is_score` a demonstration's score is its value. It cannot lie below or
    above the fields that `bounds` name as `at_least` and `at_most`."""
    return (
        float,
        _field("output", desc=desc, scale=scale, is_score=is_score, **bounds),
    )


def level(
    labels: Sequence[str],
    meanings: Sequence[str],
    values: Sequence[float],
    is_score: bool = False,
) -> Any:
    """An output field that is one of `labels`; `values` are the numbers they stand for."""
    kind = Literal[tuple(labels)]  # type: ignore[valid-type]
    marks = {
        "labels": tuple(labels),
        "meanings": list(meanings),
        "values": tuple(values),
        "is_score": is_score,
    }
    return (kind, _field("output", desc="", **marks))


def words(kind: Any, desc: str) -> Any:
    """Any other output field; `desc` is its place in the form."""
    return (kind, _field("output", desc=desc))


def signature(
    instructions: str, *parts: Mapping[str, Any], helpers: Sequence[str] = ()
) -> Any:
    """A DSPy signature of the fields in `parts`, and of optional inputs, the `helpers`, named
    without "the_". DSPy writes instructions of its own where there are none, so a blank stands for
    none. Raises ConfigError where an input of the rubric has the name of a field of the answer."""
    fields: dict[str, Any] = {}
    for part in parts:
        if twice := fields.keys() & part.keys():
            raise ConfigError(
                f"the rubric shows an input `{min(twice)}`, which is also the name of a field of"
                " the answer. Rename the input (rubric.inputs and the column of the dataset) or"
                " the score (rubric.score_field)."
            )
        fields |= part
    optional = {
        f"the_{name}": (str | None, dspy.InputField(default=None, desc=name))
        for name in helpers
    }
    inputs = {
        name: field
        for name, field in fields.items()
        if _mark(field[1], "__dspy_field_type") == "input"
    }
    return dspy.Signature(inputs | optional | fields, instructions or " ")


class _Fields(NamedTuple):
    """The fields of a signature by name, which DSPy looks for anew whenever they are named."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    defaults: dict[str, Any]  # of inputs that need not be given
    judged: Mapping[str, Any]  # inputs that are judged


@functools.lru_cache(256)
def _fields(signature: Any) -> _Fields:
    inputs = signature.input_fields
    defaults = {
        name: field.default for name, field in inputs.items() if not field.is_required()
    }
    judged = {name: field for name, field in inputs.items() if _mark(field, "judged")}
    return _Fields(inputs, signature.output_fields, defaults, judged)


def covered(signature: Any, inputs: dict[str, Any]) -> dict[str, Any] | None:
    """All inputs of a signature, with their defaults where they are not given; None where one is
    missing, or is one too many."""
    given = _fields(signature).defaults | inputs
    return given if given.keys() == _fields(signature).inputs.keys() else None


def _field(way: str, default: Any = ..., **marks: Any) -> Any:
    # dspy.InputField and OutputField drop marks they do not know; the signature keeps those of the
    # JSON schema.
    return Field(default, json_schema_extra={"__dspy_field_type": way, **marks})


def _mark(field: Any, name: str) -> Any:
    return (field.json_schema_extra or {}).get(name)


class JudgeAdapter(dspy.Adapter):
    """See the module's docstring. A `base` model continues a text instead of answering a chat; an
    `exact` one refuses an answer with a field that was not asked for."""

    def __init__(
        self, words: FixedWords, base: bool = False, exact: bool = False
    ) -> None:
        super().__init__()
        self.words, self.base, self.exact = words, base, exact

    def format(
        self, signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> Messages:
        # A demonstration that lacks what is judged, or any answer, would show the model
        # a form that it is not asked for.
        usable = [demo for demo in map(dict, demos) if not lacking(signature, demo)]
        if self.base:
            return [
                {"role": "user", "content": part}
                for part in self._continued(signature, usable, inputs)
            ]
        turns = [("system", self.system(signature, inputs))]
        label = _fields(signature).outputs.get("level")
        for demo in usable:
            plain = (
                to_jsonable_python(_answers(signature, demo)) if label is None else None
            )
            answer = (
                json.dumps(plain, ensure_ascii=False)
                if label is None
                else _label(label, demo)
            )
            turns += [("user", self._asked(signature, demo)), ("assistant", answer)]
        turns.append(("user", self._asked(signature, inputs)))
        if inputs.get("the_problem"):
            turns.append(("assistant", inputs.get("the_previous") or self.words.empty))
            turns.append(
                ("user", self.words.retry.format(reason=inputs["the_problem"]))
            )
        return [{"role": role, "content": content} for role, content in turns]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        if "level" in _fields(signature).outputs:
            return {"level": completion}
        with reading(completion):
            return read_fields(_fields(signature).outputs, completion, self.exact)

    def system(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        fence = self.words.fences if _several(signature) else self.words.fence
        if "level" in _fields(signature).outputs:
            contract = (
                ""
                if "the_question" in _fields(signature).inputs
                else self._labels_only(signature)
            )
        else:
            form = ", ".join(
                f'"{name}": {_mark(field, "desc")}'
                for name, field in _fields(signature).outputs.items()
            )
            contract = _joined(
                self.words.json_only.format(form=f"{{{form}}}"), inputs.get("the_note")
            )
        return _joined(
            signature.instructions, inputs.get("the_rubric"), fence, contract, by="\n\n"
        )

    def _labels_only(self, signature: Any) -> str:
        labels = _mark(_fields(signature).outputs["level"], "labels")
        if len(labels[0]) > 1:  # words: their own wording asks for one of them
            return ""
        sentence = self.words.level if labels[0].isdigit() else self.words.letter
        return sentence.format(labels=", ".join(labels))

    def _asked(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        texts = _judged_texts(signature, inputs)
        fence = f"{self.words.fence_name}-{_code(texts.values())}"
        parts = [f"<<{fence}>>\n{text}\n<</{fence}>>" for text in texts.values()]
        if len(parts) != 1 or _several(signature):
            parts = [
                f"{heading}:\n{part}"
                for heading, part in zip(texts, parts, strict=True)
            ]
        behind = inputs.get("the_context")
        if "the_question" in _fields(signature).inputs:
            asked = (
                inputs.get(name) for name in ("the_given", "the_said", "the_question")
            )
            behind = _joined(*asked, choice(signature), self._labels_only(signature))
        return _joined(*parts, behind, by="\n\n")

    def _continued(
        self,
        signature: Any,
        demos: Sequence[Mapping[str, Any]],
        inputs: Mapping[str, Any],
    ) -> list[str]:
        """A text for a base model, in parts that many requests begin with; it ends where the label
        is to follow. Line breaks in the judged texts are folded, so that each stays on its line."""
        answer, field = self.words.answer, _fields(signature).outputs["level"]
        # Without a demonstration a base model puts a space after the colon; the label is read after
        # that space.
        if "the_said" not in _fields(signature).inputs:
            shots = [
                f"{self._line(signature, demo)}\n{answer}:{_label(field, demo)}"
                for demo in demos
            ]
            last = self._line(signature, inputs)
            # the line's beginning is the same for every item
            opened = last[: last.index(":") + 1]
            head = _joined(signature.instructions, *shots, opened, by="\n\n")
            return [head, f"{last[len(opened) :]}\n{answer}:{'' if shots else ' '}"]

        def question(given: Mapping[str, Any]) -> str:
            asked = [
                given.get("the_given") or "",
                given.get("the_said"),
                signature.instructions,
                choice(signature),
            ]
            return "\n".join(
                part for part in [*asked, f"{answer}: "] if part is not None
            )

        shots = [
            f"{self._line(signature, demo)}\n\n{question(demo)}{_label(field, demo)}\n\n"
            for demo in demos
        ]
        return [
            part
            for part in (
                "".join(shots),
                f"{self._line(signature, inputs)}\n\n",
                question(inputs),
            )
            if part
        ]

    def _line(self, signature: Any, inputs: Mapping[str, Any]) -> str:
        texts = _judged_texts(signature, inputs)
        named = (
            texts
            if _several(signature)
            else dict.fromkeys([self.words.text], *texts.values())
        )
        return "\n".join(
            f"{heading}: {' '.join(text.split())}" for heading, text in named.items()
        )


def _code(texts: Collection[str]) -> str:
    """16 hexadecimal digits that name the fence of texts: always the same for whoever has the key,
    unknown to whoever wrote the texts, and in none of them."""
    key = _fence_key(cache_folder())
    judged = "\n\n".join(texts).encode("utf-8", "replace")
    codes = (
        hmac.digest(key, b"%d\n%s" % (n, judged), "sha256").hex()[:16] for n in count()
    )
    return next(code for code in codes if not any(code in text for text in texts))


@functools.cache
def _fence_key(folder: Path) -> bytes:
    """The secret of this user's runs: always the same, because a request that differed in it would
    be paid again; where it cannot be kept, one for this process alone."""
    place = folder / "fence.key"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{place}.lock"):
            if not place.exists():
                files.write_bytes(place, secrets.token_bytes(_KEY_BYTES))
            key = read_bytes(place, _KEY_BYTES)
    except (OSError, DataError, StorageError):
        key = b""
    return key if len(key) == _KEY_BYTES else secrets.token_bytes(_KEY_BYTES)


def read_fields(
    fields: Mapping[str, Any], text: str | None, exact: bool = False
) -> dict[str, Any]:
    """A JSON answer, with whatever talk around it (`records.answers`), as the typed output fields
    of a signature; with `exact`, others are refused. Raises OffScaleAnswer for a number or category
    that is not on its scale, UnparseableAnswer for what is not the object asked for, and for a
    field that is missing, empty or of another type."""
    raw = (text or "").strip()
    try:
        answer = json_in(raw, fields)
    except Several as error:
        raise UnparseableAnswer(str(error), raw) from None
    except Unreadable as error:
        problem = str(error)
        with contextlib.suppress(RecursionError, ValueError):
            try:
                json.loads(raw)
            except json.JSONDecodeError as fault:
                # a retry's request holds these words, and its answer is in the cache
                problem = f"not a JSON object ({fault.msg} at character {fault.pos})"
        raise UnparseableAnswer(problem, raw) from None
    if "\\u0000" in raw:  # what no table and no database takes
        answer = with_texts(answer, lambda part: part.replace("\0", "\ufffd"))
    if not isinstance(answer, dict):
        raise UnparseableAnswer(f"a JSON {type(answer).__name__}, not an object", raw)
    if missing := [name for name in fields if name not in answer]:
        raise UnparseableAnswer(f"the field `{missing[0]}` is missing", raw)
    if exact and (unknown := [name for name in answer if name not in fields]):
        raise UnparseableAnswer(f"`{unknown[0]}` was not asked for", raw)
    typed = {
        name: _typed(name, field, answer[name], raw) for name, field in fields.items()
    }
    for name, field in fields.items():
        if against := contradiction(
            name, typed[name], typed, _mark(field, "at_least"), _mark(field, "at_most")
        ):
            raise UnparseableAnswer(against, raw)
    for name, value in answer.items():
        parts = value if isinstance(value, list) else [value]
        if any(
            part is None or (isinstance(part, str) and not part.strip())
            for part in parts
        ):
            raise UnparseableAnswer(f"`{name}` is empty", raw)
    return typed


def worded(signature: Any) -> Any:
    """The signature for an adapter that knows no scales: a category is one of its words."""
    for name, field in _fields(signature).outputs.items():
        scale: Scale | None = _mark(field, "scale")
        if scale is not None and scale.kind != "numeric":
            kind = Literal[tuple(scale.categories)]  # type: ignore[valid-type]
            signature = signature.with_updated_fields(name, type_=kind)
    return signature


def read_again(signature: Any, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that another adapter read, held against their scales. Raises as `read_fields`."""
    plain = to_jsonable_python(answer)
    return read_fields(
        _fields(signature).outputs, json.dumps(plain, ensure_ascii=False)
    )


def contradiction(
    name: str, value: float, others: Mapping[str, Any], *bounds: str | None
) -> str | None:
    """Why a number contradicts its `bounds`, the fields below and above which it cannot lie, or
    None."""
    for other, sign, where in zip(bounds, (1, -1), ("below", "above"), strict=True):
        if other is not None and sign * value < sign * others[other]:
            return f"`{name}` is {value:g}, {where} `{other}` {others[other]:g}"
    return None


@functools.lru_cache(256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """One for all answers of a kind: making it takes a twentieth of a hosted call's time in this
    process."""
    return TypeAdapter(kind)


def _typed(name: str, field: Any, value: Any, raw: str) -> Any:
    scale: Scale | None = _mark(field, "scale")
    if scale is not None and scale.kind == "numeric":
        number = as_number(value, scale.maximum)
        if number is None:
            raise UnparseableAnswer(f"`{name}` is {value!r:.200}, not a number", raw)
        value = number
    try:
        return (
            _adapter(field.annotation).validate_json(json.dumps(value))
            if scale is None
            else scale.read(value)
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in (name, *first["loc"]))
        raise UnparseableAnswer(
            f"`{where}`: {first['msg'][:1].lower() + first['msg'][1:]}", raw
        ) from None
    except ValueError as error:
        raise OffScaleAnswer(f"`{name}` {error}", raw) from None


def _joined(*parts: str | None, by: str = "\n") -> str:
    return by.join(part for part in parts if part)


def choice(signature: Any) -> str:
    """The labels of a level and what they mean, one a line."""
    field = _fields(signature).outputs["level"]
    return lines(_mark(field, "labels"), _mark(field, "meanings"))


def offered(signature: Any) -> tuple[Sequence[str], Sequence[float]]:
    """The labels of a level and the numbers they stand for."""
    field = _fields(signature).outputs["level"]
    return _mark(field, "labels"), _mark(field, "values")


def _several(signature: Any) -> bool:
    """Whether what is judged may stand in several parts."""
    return len(_fields(signature).judged) > 1


def _judged_texts(signature: Any, inputs: Mapping[str, Any]) -> dict[str, str]:
    """What is judged, by heading."""
    return {
        str(_mark(field, "desc")): str(inputs[name])
        for name, field in _fields(signature).judged.items()
        if not (_mark(field, "may_lack") and inputs.get(name) is None)
    }


def judged_text(signature: Any, inputs: Mapping[str, Any]) -> str:
    """All that is judged, as one text."""
    names = [name for name in _fields(signature).judged if inputs.get(name) is not None]
    return "\n\n".join(str(inputs[name]) for name in names)


def lacking(signature: Any, demo: Mapping[str, Any]) -> list[str]:
    """What a demonstration lacks to be shown: inputs that are judged, or all that this signature
    answers."""
    needed = [
        name
        for name, field in _fields(signature).judged.items()
        if not _mark(field, "may_lack")
    ]
    missing = [name for name in needed if name not in demo]
    return (
        missing
        if _answers(signature, demo)
        else [*missing, *_fields(signature).outputs]
    )


def _answers(signature: Any, demo: Mapping[str, Any]) -> dict[str, Any]:
    fields = _fields(signature).outputs.items()
    values = {
        name: demo.get(name, demo.get(SCORE) if _mark(field, "is_score") else None)
        for name, field in fields
    }
    return {name: value for name, value in values.items() if value is not None}


def _label(field: Any, demo: Mapping[str, Any]) -> str:
    """The label of a demonstration: its own, or that of the level nearest to its score (the lower
    one at a tie)."""
    if demo.get("level") is not None:
        return str(demo["level"])
    labels, values = _mark(field, "labels"), _mark(field, "values")
    return str(
        min(
            zip(values, labels, strict=True),
            key=lambda pair: abs(pair[0] - float(demo[SCORE])),
        )[1]
    )

"""Reads what a model's raw answer says: the one parser for readouts, batch files and cells.

An answer is read where it has exactly one reading, however much talk stands around it. Reasoning
that a server did not strip is no part of the answer. Several different objects in one answer are
several readings, and the answer is then unreadable; of statements in prose the last one counts,
because people and models correct themselves forwards.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from undogmatic.safety.outside import (
    Unreadable,
    doubled_key,
    json_value,
    json_with_doubled,
)

LONGEST_WORD, MOST_WORDS = 30, 3
"""Of a verdict that is a word: more is talk."""
_MOST_BRACES, _MOST_CLOSINGS = 500, 20
"""Places at which an object is looked for, and at which its end is looked for by its braces: each
costs a look at the rest of the answer."""
_LONGEST_LITERAL = 20_000

_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_REASONED = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_REASONS = re.compile(rf"<(?:{_TAGS})>", re.IGNORECASE)
_FINAL = "<|channel|>final<|message|>"
"""Where the answer begins in a format with channels, of which the others hold reasoning."""
_CONTROL = re.compile(r"<\|(?:end|return|im_end|eot_id|endoftext)\|>\s*\Z")

# A quantifier with a second plus gives nothing back: two that may take the same blanks would else
# try every way to share them, which of a hundred thousand takes minutes.
_FENCED = re.compile(r"```[ \t]*+\w*+[ \t]*+\n?(.*)```", re.DOTALL)
_OPENS = re.compile(r"\{\s*[\"'}]")
_QUOTED = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
"""A text in double quotes, or from a quote on to the end: were a quote that is never closed left
out, each quote behind it would be looked for to the end again."""
_SPARE_COMMA = re.compile(rf"({_QUOTED})|,(?=\s*[\]}}])", re.DOTALL)
_BRACE = re.compile(rf"{_QUOTED}|[{{}}]", re.DOTALL)
_LITERAL = re.compile(r"\{\s*'.*\}", re.DOTALL)
_FIELD = re.compile(
    r"(?P<number>[-+]?\d{1,15}(?:[.,]\d{1,15})?)\s?"
    r"(?:(?P<percent>%)|(?:/|out of)\s?(?P<of>\d{1,15}(?:\.\d{1,15})?))?"
)


class Several(Unreadable):
    """An answer with several readings that differ."""


# JSON, wherever it stands


def without_reasoning(text: str) -> str:
    """The answer behind the reasoning of a model, which may be closed, only closed (the template
    opened it) or open (then nothing behind it is an answer)."""
    text = _CONTROL.sub("", text)
    if _FINAL in text:
        text = text.rpartition(_FINAL)[2]
    text = _without_closed(text)
    if closed := list(_REASONED.finditer(text)):
        text = text[closed[-1].end() :]
    if begun := _REASONS.search(text):
        text = text[: begun.start()]
    return text.strip()


def _without_closed(text: str) -> str:
    """The text without what stands between an opening tag and the closing one of its name."""
    kept, place, never = list[str](), 0, set[str]()
    lower = text.lower() if _REASONED.search(text) else ""
    # A lower-case letter of another length would move all places behind it.
    if len(lower) != len(text):
        lower = text
    for begun in _REASONS.finditer(text):
        closing = f"</{begun[0][1:].lower()}"
        if begun.start() < place or closing in never:
            continue
        closed = lower.find(closing, begun.end())
        if closed < 0:
            never.add(closing)
            continue
        kept.append(text[place : begun.start()])
        place = closed + len(closing)
    return " ".join([*kept, text[place:]])


def json_in(text: str, wanted: Collection[str] = ()) -> Any:
    """The one JSON value of an answer: all of it, in a fence, or the only object among words; a
    list of one object, or an object that wraps the `wanted` keys, is that object. Equal objects
    are one. Raises Several for objects that differ, Unreadable where there is none."""
    bare = text.strip().removeprefix("\ufeff").strip()
    try:
        return _unwrapped(_json(bare), wanted)
    except Several:
        raise
    except Unreadable as error:
        fault = error
    answer = without_reasoning(bare)
    if answer != bare:
        try:
            return _unwrapped(_json(answer), wanted)
        except Several:
            raise
        except Unreadable:
            pass
    found = _different(_objects(answer))
    if (
        not found
        and (begun := _REASONS.search(bare))
        and _REASONED.search(bare) is None
    ):
        # Reasoning that was never closed, and then the answer: only what ends the text is one.
        found = [
            value
            for value, end in _placed(bare, begun.end())
            if not bare[end:].strip("` \n")
        ]
    if wanted:
        # An object with none of the keys is quoted, not answered.
        whole = [_unwrapped(value, wanted) for value in found]
        found = [value for value in whole if set(value) & set(wanted)] or whole
    if len(found) > 1:
        raise Several(
            f"it holds {len(found)} different JSON objects, and only one can be meant"
        )
    if not found:
        raise fault
    return found[0]


def _json(text: str) -> Any:
    """The value of a text that is JSON but for what models get wrong: a comma before a closing
    bracket, single quotes, a fence around it, a JSON text within a string. Raises Unreadable."""
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1].strip()
    try:
        value = json_value(text)
    except Unreadable:
        if _LITERAL.fullmatch(text) and len(text) <= _LONGEST_LITERAL:
            return _literal(text)
        without = _SPARE_COMMA.sub(lambda found: found[1] or "", text)
        if without == text:
            raise
        text = without
        value = json_value(text)
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        return _json(value.strip())
    if isinstance(value, Mapping | list) and (
        twice := doubled_key(json_with_doubled(text))
    ):
        raise Several(f"the key `{twice}` stands in it a second time")
    return value


def _literal(text: str) -> Any:
    """An object in the quotes of Python. Raises Unreadable."""
    try:
        value = ast.literal_eval(text)
        return json_value(json.dumps(value))
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
        raise Unreadable(
            "not JSON (single quotes, and no object of Python either)"
        ) from None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among words."""
    return (value for value, _ in _placed(text))


def _placed(text: str, start: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects that begin at or behind a place and do not lie in another, with their ends."""
    decoder, tries, closings = json.JSONDecoder(), 0, 0
    while (begins := _OPENS.search(text, start)) is not None and tries < _MOST_BRACES:
        tries += 1
        place = begins.start()
        start = place + 1
        try:
            _, end = decoder.raw_decode(text, place)
            value = _json(text[place:end])
        except Several:
            raise
        except (RecursionError, ValueError):
            closings += 1
            closed = _closing(text, place) if closings <= _MOST_CLOSINGS else None
            if closed is None:
                continue
            try:
                value, end = _json(text[place:closed]), closed
            except Several:
                raise
            except Unreadable:
                continue
        if isinstance(value, dict):
            yield value, end
            start = end


def _closing(text: str, place: int) -> int | None:
    """The end of an object that begins at a place, by its braces outside of double quotes."""
    depth = 0
    for found in _BRACE.finditer(text[place:]):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return place + found.end()
    return None


def _different(values: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = list[dict[str, Any]]()
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


def _unwrapped(value: Any, wanted: Collection[str]) -> Any:
    """A value without what is wrapped around it: a list of one, an object whose fields hold the
    one object with the wanted keys. Raises Several where several do."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, Mapping) for one in value)
    ):
        several = _different(one for one in value if isinstance(one, dict))
        if len(several) > 1:
            raise Several(
                f"it holds {len(several)} different JSON objects, and only one can be meant"
            )
        value = several[0]
    if not wanted or not isinstance(value, dict) or set(value) & set(wanted):
        return value
    inside = [one for one in value.values() if isinstance(one, dict | list)]
    whole = [
        one
        for one in (_unwrapped(held, wanted) for held in inside)
        if _has(one, wanted)
    ]
    if len(_different(iter(whole))) > 1:
        raise Several(f"{len(whole)} parts of it answer, and differently")
    return whole[0] if whole else value


def _has(value: Any, wanted: Collection[str]) -> bool:
    return isinstance(value, dict) and set(wanted) <= set(value)


def as_number(value: Any, maximum: float) -> int | float | None:
    """The number that a field of an answer is, on a scale that ends at the `maximum`: itself, or as
    text ("72", "7,5", "4/5" where 5 is the maximum, "72%" where 100 is); None where it is none."""
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else value
    found = _FIELD.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or (found["of"] is not None and float(found["of"]) != maximum):
        return None
    # 80% on a scale from 1 to 5 may be 4 or 4.2 or no grade at all; nobody said which,
    # so it is read as none.
    if found["percent"] and maximum != 100:
        return None
    number = float(found["number"].replace(",", "."))
    return int(number) if number.is_integer() else number


# Verdicts, by what they are called

_REMARKS = set(
    "reason reasons reasoning explanation rationale critique analysis comment comments evidence"
    " thought thoughts thinking feedback justification justificativa explicacao explicação motivo"
    " razao razão comentario comentário confidence confiança confianca max_score maximum min_score"
    " minimum max_points scale escala out_of model id index".split()
)
"""Fields of an answer that are no verdicts."""
_BARE = set(
    "score rating grade verdict label answer choice winner decision judgment judgement preference"
    " result results evaluation output response value overall nota veredito pontuação pontuacao"
    " resposta rótulo rotulo classificação classificacao decisão decisao avaliação avaliacao"
    " escolha vencedor scores ratings".split()
)
"""Fields that say that this is the verdict, and no criterion."""
_KEY = (
    "score|rating|grade|verdict|answer|label|choice|winner|decision|judge?ment|preference|nota"
    "|veredito|pontuação|classificação|decisão|resposta|rótulo|avaliação|escolha|vencedor"
)
_MARKED = re.compile(r"\[\[\s*+([^\[\]\s](?:[^\[\]]{0,28}?[^\[\]\s])?)\s*+\]\]")
_TELLS = re.compile(
    rf"(?:\b(?P<of>[^\W\d_]+)[ _-])?\b(?P<key>{_KEY})\b(?:\s?\([^()\n]{{1,30}}\)|\sout of \d+)?"
    r"[*_\"'`)\]]{0,4}\s{0,2}"
    r"(?:(?P<mark>[:=])|(?P<verb>\bis\b|\bwas\b|\bé\b|\bfoi\b)"
    r"|(?P<link>\bof\b|\bde\b|[-–—]\s|(?=\d)))"
    r"\s{0,2}(?P<rest>[^\n]{1,200})",
    re.IGNORECASE,
)
_OTHER = set(
    "confidence certainty maximum max minimum min highest lowest possible example".split()
)
"""What stands before "score" where another number is told."""
_WHOLE = set(
    "final overall total my the a an this your new revised updated corrected resulting and so"
    " nota minha a o final geral".split()
)
_TALK = set(
    "between not that the a an based to of for from in on by with as because given about either or"
    " and i we it this these there none-of entre não nao que o os as um uma de para por com".split()
)
"""Words with which no verdict begins."""
_LETTERS = set("ABCDEFGH")
_BEHIND_LETTER = set("is was over because since wins é vence".split())
"""A choice by its letter, which "a" is not."""
_NUMBER = re.compile(
    r"[-+]?\d+(?:[.,]\d+)?\s?%?(?:\s*(?:/|\bout of\b|\bof\b|\bde\b|\bem\b)\s*\d+(?:[.,]\d+)?)?"
    r"(?![\w/])"
)
_RANGE = re.compile(r"\s*(?:-|–|\bto\b|\bor\b|\ba\b|\bou\b)\s*\d", re.IGNORECASE)
_NONE = re.compile(r"n\s?/\s?a\b|n\.a\.", re.IGNORECASE)
_COUNT = {
    word: number
    for words in (
        "zero one two three four five six seven eight nine ten",
        "zero um dois três quatro cinco seis sete oito nove dez",
    )
    for number, word in enumerate(words.split())
}


def verdicts_of(text: str) -> dict[str | None, Any]:
    """The verdicts in an answer, by criterion (None: there is one and it names none); {} where
    there is none, or where there are several readings."""
    # Reasoning weighs scores and drops them again; only what comes behind it is said.
    answer = without_reasoning(text.strip().removeprefix("\ufeff"))
    marked = _MARKED.findall(answer)
    if not (marked and "{" not in answer):
        try:
            return _of_json(json_in(text))
        except Several:
            return {}
        except Unreadable:
            pass  # then it may be prose
    # The last one: models quote the form that they were asked for before they fill it.
    said = marked[-1] if marked else _of_prose(answer)
    return {None: said} if said else {}


def _of_prose(answer: str) -> str | None:
    """The verdict of an answer in words; None where there is none."""
    if _OPENS.search(answer):
        return None  # JSON that breaks off, or is none
    told = _told(answer)
    if told is not None:
        return told
    word = _bare(answer)
    if (number := _NUMBER.fullmatch(word)) is not None:
        return number[0]
    fits = (
        len(word) <= LONGEST_WORD
        and len(word.split()) <= MOST_WORDS
        and "\n" not in word
    )
    return word if fits and ":" not in word and "=" not in word else None


def _of_json(value: Any) -> dict[str | None, Any]:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        said = isinstance(value, int | float | str) and str(value).strip() != ""
        return {None: value} if said else {}
    found = _named(value)
    if len(found) == 1:
        name, told = next(iter(found.items()))
        nested = any(isinstance(inner, Mapping) for inner in value.values())
        if not nested or name.lower() in _BARE:
            return {None: told}
    return {name: told for name, told in found.items()}


def _named(value: Mapping[str, Any]) -> dict[str, Any]:
    """The verdicts in an object by the names of their fields."""
    found: dict[str, Any] = {}
    for name, inner in value.items():
        if name.lower() in _REMARKS:
            continue
        if isinstance(inner, Mapping):
            held = _named(inner)
            alone = len(held) == 1 and next(iter(held)).lower() in _BARE
            found |= {name: next(iter(held.values()))} if alone else held
        elif isinstance(inner, int | float) or (
            isinstance(inner, str) and 0 < len(inner) <= LONGEST_WORD
        ):
            found[name] = inner
    return found


def _told(text: str) -> str | None:
    """The last verdict that a text states in words; "" where it states several of different
    things or marks what is none, None where it states none. What is marked ("Score: 4") stands
    before what is told ("the score is 4"), and that before what is mentioned ("a score of 4")."""
    ways: dict[str, list[tuple[str, str]]] = {"mark": [], "verb": [], "link": []}
    place, is_marked = 0, False
    while (found := _TELLS.search(text, place)) is not None:
        place = found.start("rest")
        before = (found["of"] or "").lower()
        value = _value(found["rest"])
        way = next(way for way in ways if found[way] is not None)
        if (
            value is None
            or before in _OTHER
            or (way == "link" and not value[:1].isdigit())
        ):
            is_marked |= value is None and way == "mark"
            continue
        ways[way].append((before if before not in _WHOLE else "", value))
    for stated in ways.values():
        if not stated:
            continue
        whole = [value for before, value in stated if not before]
        if whole:
            return whole[-1]
        return stated[-1][1] if len({value for _, value in stated}) == 1 else ""
    return "" if is_marked else None


def _value(rest: str) -> str | None:
    """The verdict with which the rest of a line begins; None where it begins with none."""
    rest = rest.strip().lstrip("*_\"'`[(<{ ")
    if _NONE.match(rest):
        return "N/A"
    # "Score: 1-5" names the scale, and "3 or 4" cannot decide: neither is a verdict.
    if number := _NUMBER.match(rest):
        return None if _RANGE.match(rest, number.end()) else number[0].strip()
    phrase = re.split(
        r"[.;,\n(]|\s[-–—]\s|\bbecause\b|\bsince\b|\bporque\b", rest, maxsplit=1
    )[0]
    words = _bare(phrase).split()
    if (
        words
        and words[0] in _LETTERS
        and (len(words) == 1 or words[1].lower() in _BEHIND_LETTER)
    ):
        return words[0]
    if not words or words[0].lower() in _TALK or _bare(words[0]).lower() in _BARE:
        return None
    # A verdict with a sentence behind it and no sign between: its first word is the
    # verdict, if any is.
    if len(words) > MOST_WORDS or len(" ".join(words)) > LONGEST_WORD:
        words = [_bare(words[0])]
    word = " ".join(words)
    return str(_COUNT.get(word.lower(), word)) if len(word) <= LONGEST_WORD else None


def _bare(text: str) -> str:
    return text.strip().strip("*_`\"'[](){}<> .!:").strip()


# Cells that hold an answer as the model gave it

_RAW = re.compile(
    rf"\s*+(?:\ufeff|\{{|```|<(?:{_TAGS})>|\[\["
    rf"|[*_\"'# ]*+(?:[^\W\d_]+ )?(?:{_KEY})\b[*_\"' ]*+[:=])",
    re.IGNORECASE,
)
_RAW_AT_END = re.compile(
    rf"\n[*_\"'# ]*(?:[^\W\d_]+ )?(?:{_KEY})\b[*_\"' ]*[:=][^\n]{{1,60}}\s*\Z|\]\]\W*\Z|```\s*\Z",
    re.IGNORECASE,
)


def is_raw(text: str) -> bool:
    """Whether a text is an answer as a model gives it, not a verdict by itself: it begins with
    JSON, a fence, reasoning or "Score:", or ends in its verdict."""
    return bool(
        _RAW.match(text)
        or _RAW_AT_END.search(text[-200:])
        or _REASONED.search(text[:100_000])
    )

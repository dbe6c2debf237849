"""Tells what the name of a column says, and how it is typed."""

from __future__ import annotations

import re

from undogmatic.datasets.cells import LEXICON, alternatives, fold

PARTS = {of: set(alternatives(words)) for of, words in LEXICON["parts"].items()}
"""Words in the names of columns, by what they say of the column."""
MODEL_NAME = re.compile(
    r"(gpt|chatgpt|claude|gemini|llama|mistral|mixtral|qwen|deepseek|palm|sabia|phi|gemma|grok"
    r"|nemotron|vicuna|alpaca|prometheus|davinci|jamba|granite|olmo|glm|chatglm|falcon|starling"
    r"|zephyr|gemba|opus|sonnet|haiku)"
)
"""How the name of a model begins."""


def tokens(name: str) -> tuple[str, ...]:
    """The words of a column's name: "humanScore_1" is human, score, 1."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2}|Id\b)", " ", name)
    return tuple(_TOKEN.findall(fold(parted.replace(".", " "))))


_TOKEN = re.compile(r"[^\W\d_]+|\d+")


def side_of(name: str) -> int | None:
    """Whose a column is by its name: 1 a judge's, -1 a person's, 0 one of them, None no verdict or
    label."""
    parts = set(tokens(name))
    has = {of: bool(parts & words) for of, words in PARTS.items()}
    if is_measured(name):
        return None
    judge = (
        2 * (has["judge"] or any(MODEL_NAME.match(part) for part in parts))
        + has["perhaps_judge"]
    )
    human = 2 * has["human"] + has["perhaps_human"]
    if judge or human:
        if has["no_value"] and not (
            has["neutral"] or has["perhaps_judge"] or has["perhaps_human"]
        ):
            return None
        return 1 if judge >= human else -1
    return 0 if has["neutral"] and not has["no_value"] else None


def is_measured(name: str) -> bool:
    """Whether a column's name says that it holds what was measured beside a verdict, such as the
    judge's confidence or how long it took, or the reason that was given."""
    words = [part for part in tokens(name) if not part.isdigit()]
    if not words:
        return False
    return bool(set(words) & PARTS["measured"]) or words[-1] in PARTS["measured_last"]


def may_be_id(name: str) -> bool:
    """Whether a column's name says that it holds ids, and not whose or of what a group they are:
    `id_resposta`, `HITId`, `nº processo`."""
    words = set(tokens(name))
    return (
        bool(words & PARTS["id"])
        and not words & PARTS["id_of_others"]
        and side_of(name) is None
    )


_PERSON = re.compile(
    r"[A-ZÀ-Ý][a-zà-ÿ]+(?: [A-ZÀ-Ý][a-zà-ÿ]*\.?)*|(?:author|autor|autora|participant|participante"
    r"|subject|user|usuario|student|aluno|p|r|a|w)[_ -]?\d+",
)


def may_be_person(name: str) -> bool:
    """Whether a name among those of judges may be that of a person: Ana, author_1."""
    return _PERSON.fullmatch(name) is not None


def is_aggregate(name: str) -> bool:
    """Whether a column's name says that it holds what several labels come to: `majority_label`."""
    return bool(set(tokens(name)) & PARTS["aggregate"])


def names_a_role(name: str) -> bool:
    """Whether a column's name says by a word, and not by the name of a model alone, that it is a
    judge's."""
    return bool(set(tokens(name)) & (PARTS["judge"] | PARTS["perhaps_judge"]))


def own_words(name: str) -> set[str]:
    """The words of a column's name that say neither whose it is nor what it is."""
    known = set().union(
        *(PARTS[of] for of in ("human", "perhaps_human", "neutral", "no_value"))
    )
    return {part for part in tokens(name) if not part.isdigit()} - known


def is_fact(name: str) -> bool:
    """Whether a column's name says that it holds a fact: `has_citation`, `is_long`."""
    parts = tokens(name)
    return len(parts) > 1 and parts[0] in PARTS["fact"]


def typed_as(name: str) -> str:
    """A column's name as it can be typed in an option: without accents, spaces and signs."""
    return (
        name
        if name.isascii() and name.isidentifier()
        else "_".join(tokens(name)) or name
    )


def quoted(name: str) -> str:
    """A name as it is typed in a shell."""
    return (
        name
        if re.fullmatch(r"[\w.-]+", name)
        else "'" + name.replace("'", "'\\''") + "'"
    )

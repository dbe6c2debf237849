"""Every finding that an analysis can make has words, and no wording is left over."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import undogmatic.examinations
from undogmatic.examinations import gate, ruling
from undogmatic.records.wordings import REPORT_TEXTS, read

FOLDER = Path(undogmatic.examinations.__path__[0])
NOT_FINDINGS = (
    "question",
    "question_sides",
    "question_file",
    "title",
    "names",
    "metrics",
    "said",
    "short",
    "brief",
    "face",
    "use_for",
    "not_for",
    "not_known",
)
SAYING = ("Finding", "tell.say", "self.tell.say")
TELLS_FOR = {"independence": "units"}
"""Of a module that tells for an analysis of another name: whose."""
CODE = re.compile(
    r"`[^`]*`|“[^”]*”|\S*[=_/]\S*|--\S+|\b\w+\.\w[\w.]*|\bunless \w+|\bpip install \S+"
)
HOLE = re.compile(r"\{\w+:[^{}]*\{\w+\}[^{}]*\}|\{\w+(?::([^{}|]*\|[^{}]*))?[^{}]*\}")
BOTH = """altman auc aurc bertscore bland bonferroni bootstrap bradley brier cache chance chances chatbot cite classes cohen
commit compare continue crps ctrl data decide declare drift euros for gate gates git grave gwet gzip hash hodges holm idf
ids install item json judge kappa kappas kendall krippendorff lehmann lin mail manual material matplotlib min mlflow mondrian move nli
normal order ordinal original pareto pearson phi pip platt pratt prompt prompts real ridge roc rouge sha spearman
system súmula tau terminal terry token tokens trec true undogmatic untied usd use usual utf wilcoxon zsplit"""
"""Words that Portuguese has too, names, and the terms of the trade that it takes from English
(prompt, tokens)."""


def trees() -> Iterator[tuple[str, ast.AST]]:
    """The code of every module, with the name of the analysis that it tells for."""
    for path in FOLDER.rglob("*.py"):
        yield (
            TELLS_FOR.get(path.stem, path.stem),
            ast.parse(path.read_text(encoding="utf-8")),
        )


def told() -> Iterator[tuple[str, ast.expr]]:
    """Analysis and first argument of every `Finding(...)` and `tell.say(...)`; of a choice,
    both."""
    for name, tree in trees():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and node.args
                and ast.unparse(node.func) in SAYING
            ):
                first = node.args[0]
                both = (
                    (first.body, first.orelse)
                    if isinstance(first, ast.IfExp)
                    else (first,)
                )
                yield from ((name, key) for key in both)


def full(analysis: str, key: object) -> str:
    return str(key) if "." in str(key) else f"{analysis}.{key}"


def keys_in_code() -> tuple[set[str], set[str]]:
    """Whole keys, and beginnings of keys that end in a value."""
    written = [node for _, tree in trees() for node in ast.walk(tree)]
    whole = {
        node.value
        for node in written
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    openings = [("", node) for node in written if isinstance(node, ast.JoinedStr)]
    openings += [(name, key) for name, key in told() if isinstance(key, ast.JoinedStr)]
    beginnings = {
        full(name, key.values[0].value)
        for name, key in openings
        if isinstance(key.values[0], ast.Constant)
    }
    sections = tuple({f"{key.partition('.')[0]}." for key in wordings()})
    return finding_keys() | {k for k in whole if k.startswith(sections)}, {
        b for b in beginnings if b.startswith(sections) and "_" in b
    }


def wordings() -> set[str]:
    """The keys of the findings' wordings beside the analyses."""
    return {
        f"{section}.{key}"
        for path in FOLDER.glob("*.texts.yaml")
        for section, texts in read(path)["en"].items()
        for key in within(texts)
    }


def within(texts: dict[str, Any], head: str = "") -> Iterator[str]:
    """The keys of the findings' wordings in a section, and in a section within it."""
    for key, said in texts.items():
        if key in NOT_FINDINGS or key.startswith(("caption_", "table_", "next_")):
            continue
        if isinstance(said, dict):
            yield from within(said, f"{head}{key}.")
        else:
            yield f"{head}{key}"


def modules_of_rules() -> list[str]:
    """The modules that hold the tables of rules of the analyses."""
    folder = Path(ruling.__path__[0])
    return [f"{ruling.__name__}.{path.stem}" for path in folder.glob("[a-z]*.py")]


def ruled() -> set[str]:
    """The keys of the rules of all verdicts."""
    modules = [gate, ruling, *map(importlib.import_module, modules_of_rules())]
    named = [value for module in modules for value in vars(module).values()]
    tables = [
        table for table in named if isinstance(table, ruling.Rules) and table.prefix
    ]
    return {f"{table.prefix}{rule.key}" for table in tables for rule in table.rules}


def finding_keys() -> set[str]:
    """Keys that are told, as far as they are written out."""
    return {
        full(name, key.value) for name, key in told() if isinstance(key, ast.Constant)
    }


def test_every_finding_in_the_code_has_words() -> None:
    assert len(finding_keys()) > 40
    assert finding_keys() | ruled() <= wordings()


def test_no_wording_is_left_over() -> None:
    whole, beginnings = keys_in_code()
    # Of pairs the same is told in words of their own.
    unused = {
        k
        for k in wordings()
        for known in (k, k.replace("instrument.pairs.", "instrument."))
        if known in whole | ruled() or known.startswith(tuple(beginnings))
    } ^ wordings()
    assert not unused, sorted(unused)


ONE_TERM = {
    "en": {
        "trust": r"\bbeliev\w*",
        "judge": r"\b(?:evaluators?|graders?)\b",
        "person": r"(?<!alternative )\bannotators?\b|\bhumans\b",
        "label": r"\bannotations?\b|\bground truth\b|\bgold labels?\b",
        "interval": r"confidence interval|margin of error",
        "Undecided": r"\binconclusive\b|\bunclear\b",
        "verdict": r"\bjudge?ments? of the judge\b",
    },
    "pt": {
        "confiar": r"\bcrédito\b|acredit\w*|\bcrer\b",
        "veredito": r"veredict\w*",
        "juiz": r"\bavaliador(?:es)?\b(?! alternativo)",
        "pessoa": r"\banotador\w*",
        "rótulo": r"\bgabarito\b|\betiqueta\w*",
        "intervalo": r"margem de erro|intervalo de confiança",
        "Em aberto": r"inconclus\w*|indecis\w*",
        "execução": r"\brodadas?\b",
    },
}
"""For each thing its one term, and words that would be a second one."""
MAY_STAND = {
    "names.grader_orders": "what a text tries on whoever grades it, whoever that is",
    "common.one": "the singular of words that names of columns may hold",
}


def sentences_of(language: str) -> Iterator[tuple[str, str]]:
    """All wordings of a language, with their keys, without code and the names of values."""

    def within(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
        if isinstance(tree, dict):
            for name, each in tree.items():
                yield from within(each, f"{key}.{name}".removeprefix("."))
        elif isinstance(tree, str):
            yield key, CODE.sub(" ", HOLE.sub(lambda hole: " " + (hole[1] or ""), tree))

    for path in sorted(FOLDER.parent.rglob("*.texts.yaml")):
        yield from within(read(path)[language])
    yield from within(read(REPORT_TEXTS / f"{language}.yaml"))


@pytest.mark.parametrize("language", ["en", "pt"])
def test_each_thing_has_one_term(language: str) -> None:
    """Lists where a second term is used: what is trusted is not believed elsewhere."""
    second = [
        f"{key}: {found[0]!r} beside {term!r}"
        for key, said in sentences_of(language)
        if key not in MAY_STAND
        for term, others in ONE_TERM[language].items()
        if (found := re.search(others, said, re.IGNORECASE))
    ]
    assert second == []


def test_a_second_term_is_seen() -> None:
    assert re.search(ONE_TERM["en"]["trust"], "Do not believe it.", re.IGNORECASE)
    assert re.search(ONE_TERM["pt"]["veredito"], "Os veredictos", re.IGNORECASE)
    assert len([*sentences_of("pt")]) > 1000


def test_the_four_answers_are_the_same_words_everywhere() -> None:
    for language, words in {
        "en": ("Yes", "Not yet", "No", "Undecided"),
        "pt": ("Sim", "Ainda não", "Não", "Em aberto"),
    }.items():
        answers = read(REPORT_TEXTS / f"{language}.yaml")["common"]["answer"]
        assert (
            tuple(answers[name] for name in ("yes", "not_yet", "no", "undecided"))
            == words
        )


def words_in(tree: Any) -> Iterator[str]:
    """The words of all wordings in a tree; no code, and of a placeholder only what it may write."""
    if isinstance(tree, dict):
        for each in tree.values():
            yield from words_in(each)
    elif isinstance(tree, str):
        bare = CODE.sub(" ", HOLE.sub(lambda hole: " " + (hole[1] or ""), tree))
        yield from (word.lower() for word in re.findall(r"[^\W\d_]{3,}", bare))


def test_the_portuguese_wordings_have_no_english_words() -> None:
    # which holds files
    paths = [
        path
        for path in FOLDER.parent.rglob("*.texts.yaml")
        if path.name != "init.texts.yaml"
    ]
    trees = [(read(path)["en"], read(path)["pt"]) for path in paths]
    trees.append((read(REPORT_TEXTS / "en.yaml"), read(REPORT_TEXTS / "pt.yaml")))
    english, portuguese = (
        set(words_in(dict(enumerate(each)))) for each in zip(*trees, strict=True)
    )
    assert len(english) > 1000 and (english & portuguese) - set(BOTH.split()) == set()

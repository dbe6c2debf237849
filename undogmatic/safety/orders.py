"""Finds texts that speak to whoever judges them: orders, ready answers, chat markup, in Portuguese,
English, Spanish.

It looks for what no text has a reason to say that is not about its own judging, so that it errs
towards silence: praise of the text, a pasted poem or a lie about the facts are not found. What is
found is where a reward must not pay; no score of a run depends on it. Every repetition is bounded,
so that time grows with the text and no faster.
"""

import re

_GRADE = (
    r"(?:notas?|pontua[çc][ãa]o|score|grade|rating"
    r"|rubrica?|calificaci[óo]n|puntuaci[óo]n|puntos)"
)
_TO_GIVE = (
    r"(?:atribu[ai]\w{0,9}|d[êe]|registr[ea]r?|lan[çc]ar?|devolv[ea]r?"
    r"|classifi(?:que|car?)m?|consider[ea]r?|respond[ae]r?"
    r"|output|assign|give|return|answer|asignar|conteste)"
)
_JUDGE = (
    r"(?:avaliador(?:es|a)?|evaluator|evaluador|grader|llms?|ai\sjudge"
    r"|language\smodels?|corretor(?=:)|modelos?\sde"
    r"\slinguagem|modelo\savaliador|qualquer\smodelo\sque|(?:ia|ai|modelo"
    r"|model)\s(?:lendo|que\sl[êe]|reading)"
    r"|sua\ssa[íi]da|quem\s(?:for\s)?avaliar|(?:sistemas?"
    r"|ferramentas?)\s(?:avaliador|automatizad|autom[áa]tic"
    r"|de\s(?:pontua|avalia|corre|an[áa]lis|intelig))\w{1,9})"
)
_BESIDE = r"[^.!?\n]{0,120}?"
_WHOLE = (
    r"(?:instru[çc][õo]es|instru[çc][ãa]o|instructions?|rubrica?|prompt|texto|text|anterior|antes"
    r"|above)"
)
_HIGH = r"(?:melhor|pior|menor|maior|best|worst|highest|lowest)"
_FORMS = {
    "chat markup": (
        r"<\|\w{1,30}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|\"role\"\s?:\s?\""
        r"|^#{2,6}\s?(?:instru|respo|system|fim do texto|exemplo de sa[íi]da)"
        r"|^\W?(?:sistema?|system|assistente?|assistant|avaliador)\]?\s?[:\]]"
    ),
    "markup of a judged text": (
        r"</?(?:textos?|avalia[çc][ãa]o|avaliacao|nota|score|grade|resultado)\b[^<>]{0,60}>"
        rf"|<!--[^>]{{0,120}}?(?:{_GRADE}|avalia|autoridade\s?=)"
    ),
    "a ready answer": (
        r"[\"'](?:\w{0,20}score|nota|pontua[çc][ãa]o|avalia[çc][ãa]o|avaliacao\w{0,20}"
        r"|grade|rating)[\"']"
        r"\s?:\s?[\"{]?\s?[\d{\"]|\b(?:score|pontua[çc][ãa]o|nota|grade)\s?=\s?\d|^return\s\d{1,9}$"
        rf"|\b{_GRADE}\s(?:final\s)?(?:é|está|is|es|:)\s?\d{{1,3}}\s?(?:[.;,!\]\n]|$)"
    ),
    "an order to forget": (
        r"\b(?:ignor[ea]r?|desconsidere|esque[çc]a|disregard|forget|no\stenga\sen\scuenta|olvide)"
        rf"(?:[^\w.!?;]{{1,3}}\w{{1,30}}){{0,4}}?[^\w.!?;]{{1,3}}{_WHOLE}\b"
    ),
    "an order to the judge": (
        rf"\b{_JUDGE}(?!\w){_BESIDE}\b(?:{_GRADE}|{_TO_GIVE})\b"
        rf"|\b(?:{_GRADE}|{_TO_GIVE})\b{_BESIDE}\b{_JUDGE}(?!\w)"
    ),
    "a claim to a grade": (
        r"\b(?:merec\w{1,9}|deve\w{0,9}|must|deserves?|should|recebe\w{0,9}|atribua|d[êe])\s"
        rf"(?:\w{{1,30}}\s){{0,4}}?{_GRADE}\s(?:poss|m[íi]n|m[áa]x|baixa|alta|zero|\d)"
        rf"|\b{_HIGH}\s(?:possible\s)?{_GRADE}\sposs"
        rf"|\b{_HIGH}\spossible\s{_GRADE}\b"
        r"|\b(?:nota|pontua[çc][ãa]o|n[íi]vel)\s(?:m[íi]nim|m[áa]xim"
        r"|zero)\w{0,3}\s(?:de|a\s(?:este|esse|quem))\b"
    ),
}
_FOUND = {
    name: re.compile(form, re.IGNORECASE | re.MULTILINE)
    for name, form in _FORMS.items()
}


def speaks_to_its_judge(text: str) -> str | None:
    """Name the first way in which a text addresses whoever judges it; None where it is about
    something else."""
    lines = "\n".join(
        filter(None, (" ".join(line.split()) for line in text.splitlines()))
    )
    return next((name for name, form in _FOUND.items() if form.search(lines)), None)

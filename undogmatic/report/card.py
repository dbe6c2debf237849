"""Makes trust cards from a check, and renders a card as JSON, Markdown, HTML or a small SVG, all
from one source."""

import datetime
import importlib.metadata
import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.card import (
    CardData,
    TrustCard,
    is_card,
    read_card,
    sealed,
    setting,
    table_digests,
)
from undogmatic.records.checked import CheckResult
from undogmatic.records.evidence import Evidence, JudgeView
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Answer, Standing, Subject, Told, Weight
from undogmatic.records.words import Words
from undogmatic.report.check import (
    figure_name,
    numbers_of,
    sentences,
    slug,
    uses_of,
    words_of,
)
from undogmatic.report.datasheet import on_card
from undogmatic.report.document import (
    MARKS,
    Answered,
    Block,
    Bullets,
    Document,
    Heading,
    Paragraph,
    Table,
    rendered,
    xml,
)
from undogmatic.report.uses import Uses, titled
from undogmatic.safety import files
from undogmatic.safety.outside import brief
from undogmatic.safety.secrets import scrub
from undogmatic.stats.estimate import Estimate

DAYS = 180
ANSWERS: Mapping[Standing, Answer] = {
    "supported": "yes",
    "undecided": "undecided",
    "refuted": "no",
}
COLOURS = {"supported": "#1b7f4b", "undecided": "#b35900", "refuted": "#a3262a"}
_SHOWN = 62  # characters of a line of the SVG
HEIGHTS = {"title": 24, "judge": 28, "standing": 26, "use": 20, "small": 22}
"""Pixels of the SVG down to each kind of line from the line above it."""


def checked_path(path: str) -> Path:
    """A path that a card can be written to. Raises ConfigError."""
    if Path(path).suffix not in RENDERINGS:
        raise ConfigError(
            f"--card is {brief(path)}; its name must end in one of {', '.join(RENDERINGS)}."
        )
    return Path(path)


def cards_of(
    result: CheckResult,
    words: Words,
    options: Mapping[str, Any],
    use: str | None = None,
    days: int = DAYS,
    today: datetime.date | None = None,
) -> dict[str, TrustCard]:
    """A card for each judge and criterion, under what is added to the name of its file. `options`:
    how the files were read; `use`: what the judge is to be used for; `days`: for how long. Raises
    ConfigError."""
    if not 1 <= days <= 3650:
        raise ConfigError(f"--expires is {days}; a card may be for 1 to 3650 days.")
    # Everywhere the same day: a card that is made in one zone and held in another is neither old
    # nor of the future.
    today = today or datetime.datetime.now(datetime.UTC).date()
    return {
        slug(each, result.judges): _card(result, each, words, options, use, days, today)
        for each in result.judges
    }


def _card(
    result: CheckResult,
    each: Told,
    words: Words,
    options: Mapping[str, Any],
    use: str | None,
    days: int,
    today: datetime.date,
) -> TrustCard:
    table, own = result.table, result.table.of(each.judge, each.criterion)
    notes = [*each.ordered(), *result.together.ordered()]
    names = [Path(name).name for name in table.sources]
    fit = "fit" if each.standing == "supported" else "unfit"
    derived = words.text(f"card.{fit}", files=", ".join(names[:4]) or "—")
    stated = (
        use if use is None or fit == "fit" else words.text("card.unfit_for", use=use)
    )
    labels = own.labels.dropna(subset=["label"])
    headline = each.number_about(Subject.HEADLINE)
    data = CardData(
        files={
            name: table.sources[path]
            for name, path in zip(names, table.sources, strict=True)
        },
        options=dict(options),
        kind=table.kind,
        n=int(each.n),
        groups=int(each.groups),
        labels=len(labels),
        raters=int(labels["rater"].nunique()),
        selection=table.selection,
        span=_span(own),
    )
    return sealed(
        judge=each.judge,
        criterion=each.criterion,
        use=stated or derived,
        standing=each.standing,
        answer=words.answered(each.answer),
        **uses_of(result, each, words)._asdict(),
        rival=words.say(each.rival),
        figures=each.estimates,
        headline=None if headline is None else headline[0],
        promises=tuple(name for name in each.promises if name in each.estimates),
        limits=tuple(
            dict.fromkeys(words.say(n) for n in notes if n.weight <= Weight.LIMITS)
        ),
        not_examined=tuple(sentences(each, words, each).not_examined),
        data=data,
        settings={
            key: setting(scrub(value))
            for key, value in table.settings.get(each.judge, {}).items()
        },
        digests=table_digests(table, each.judge, each.criterion),
        made=today,
        expires=today + datetime.timedelta(days),
        version=_version(),
        language=words.language,
        instrument=on_card(table.instrument),
        unasked=tuple(each.unasked),
        answers=max(1, len(result.judges)) * result.options.tried,
    )


def _span(own: JudgeView) -> float | None:
    """How far apart two numbers may lie, by the scale and by what was said; None of categories."""
    if own.table.kind != "numeric":
        return None
    said = pd.concat(
        [
            own.verdicts["verdict"],
            own.labels["label"],
            pd.Series(own.table.scale or (), dtype=float),
        ]
    )
    said = said.dropna().astype(float)
    return float(said.max() - said.min()) if len(said) else None


def _version() -> str:
    try:
        return importlib.metadata.version("undogmatic")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def answers_before(table: Evidence, paths: Sequence[Path]) -> int:
    """How many answers were asked of these labels or items before this one, as the trust cards say
    that are about to be written over. A card of these very verdicts is no other answer."""
    asked = table.verdicts[["judge", "criterion"]].drop_duplicates()
    own = [table_digests(table, str(judge), str(one)) for judge, one in asked.values]
    before = 0
    for path in paths:
        kept = [path, *sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))]
        for each in filter(is_card, kept):
            try:
                card = read_card(each)
            except DataError:  # damaged, and about to be written anew
                continue
            digests = card.digests
            same = any(
                digests.labels == each.labels or digests.items == each.items
                for each in own
            )
            again = any(digests.verdicts == each.verdicts for each in own)
            if same:
                before = max(before, card.answers - (len(own) if again else 0))
    return before


def write(cards: Mapping[str, TrustCard], path: Path) -> list[Path]:
    """Write each card in the form that the path's ending names; the paths. Raises StorageError."""
    paths = []
    for added, card in cards.items():
        paths.append(path.with_stem(f"{path.stem}{added}"))
        text = RENDERINGS[path.suffix](card, paths[-1].with_suffix(".json").name)
        files.write(paths[-1], text, files.ALL)  # it quotes no judged text
    return paths


def document(card: TrustCard, file: str = "card.json") -> Document:
    """The card as a document; `file` is what the card that a gate reads is called."""
    words = words_of(card.language)
    named = "card.lead" if card.settings else "card.lead_name_only"
    lead = words.text(named, made=str(card.made), expires=str(card.expires))
    sealed_as = {
        "seal": card.seal[:16],
        "version": card.version,
        "file": shlex.quote(file),
    }
    foot = words.text("card.foot", **sealed_as)
    return Document(
        card.language,
        words.text("card.title", judge=card.judge),
        lead,
        list(_blocks(card, words)),
        foot,
    )


def _blocks(card: TrustCard, words: Words) -> Iterator[Block]:
    text = words.text
    yield _opening(card, words)
    bound = ", ".join(f"{key} {value}" for key, value in card.settings.items()) or text(
        "card.name_only"
    )
    facts = {
        "use": card.use,
        "standing": text(f"checked.standing_{card.standing}"),
        "judge": card.judge,
        "settings": bound,
    } | ({} if card.criterion == OVERALL else {"criterion": card.criterion})
    yield Table(
        (), [(text(f"card.field.{key}"), value) for key, value in facts.items()]
    )
    if card.figures:
        yield Heading(text("card.figures"))
        rows = [_figure(name, figure, words) for name, figure in card.figures.items()]
        headers = [
            words.heading(name, "checked")
            for name in ("name", "metric", "value", "interval", "level", "n", "groups")
        ]
        yield Table(headers, rows, (False, False, *[True] * 5), text("checked.counted"))
    if (sheet := card.instrument) is not None:
        yield Heading(text("card.instrument"))
        yield Paragraph(
            text("card.instrument_answer", made=str(sheet.made), answer=sheet.answer)
        )
        rows = [
            (words.name(name, "instrument"), words.value(word, "instrument"))
            for name, word in sheet.shown.items()
        ]
        rows += [
            (text(f"card.digest.instrument_{of}"), getattr(sheet, of))
            for of in ("judge", "items")
        ]
        yield Table((), rows)
    yield Heading(text("card.limits"))
    limits = [
        text("checked.limit", n=n, said=said) for n, said in enumerate(card.limits, 1)
    ]
    yield Bullets([*limits, *card.not_examined] or [text("card.no_limits")])
    yield Heading(text("card.data"))
    data = card.data
    counts = {
        "n": data.n,
        "groups": data.groups,
        "labels": data.labels,
        "raters": data.raters,
    }
    rows = [(text("card.field.counts"), text("card.counts", **counts))]
    rows += [(text("card.field.answers"), words.number(card.answers, "d"))]
    rows += [(text("card.field.selection"), text(f"card.selection.{data.selection}"))]
    rows += [(name, f"SHA-256 {digest}") for name, digest in data.files.items()]
    rows += [
        (text(f"card.digest.{key}"), value)
        for key, value in card.digests.model_dump().items()
    ]
    yield Table((), rows)
    yield Paragraph(text("common.not_applicable"), "small")


def _opening(card: TrustCard, words: Words) -> Answered:
    """The answer as every report begins with it; a card holds it as a sentence, with its word
    first."""
    known: dict[Answer, str] = {
        answer: words.text(f"common.answer.{answer}") for answer in MARKS
    }
    found = next(
        (
            answer
            for answer, word in known.items()
            if card.answer.startswith(f"{word}. ")
        ),
        None,
    )
    sentence = (
        card.answer.removeprefix(f"{known[found]}. ")
        if found is not None
        else card.answer
    )
    answer = found or ANSWERS[card.standing]
    return Answered(
        answer, known[answer], sentence, [*titled(_uses(card), words), card.rival]
    )


def _uses(card: TrustCard) -> Uses:
    """What the card says of uses; nothing where it was made before cards did."""
    return Uses(card.use_for or "", card.not_for or "", card.not_known or "")


def _figure(name: str, figure: Estimate, words: Words) -> tuple[str, ...]:
    counts = (words.number(n, "d") if n else "" for n in (figure.n, figure.n_groups))
    called = figure_name(name, figure, words)
    level = words.number(figure.level, ".0%")
    return (name, called, *numbers_of(figure, words), level, *counts)


def svg(card: TrustCard) -> str:
    """A small picture of the card: judge, standing, what it may be used for, what not and what is
    not known, agreement, until when and the seal."""
    words = words_of(card.language)
    found = None if card.headline is None else card.figures.get(card.headline)
    limited = len(card.limits) if card.standing == "supported" else 0
    standing = words.text(
        "card.limited" if limited else f"checked.standing_{card.standing}",
        limits=limited,
    )
    told = ""
    if found is not None:
        told = "{}: {} {}".format(*_figure(str(card.headline), found, words)[1:4])
    until = words.text("card.until", expires=str(card.expires), seal=card.seal[:12])
    lines = [
        ("title", words.text("card.badge")),
        ("judge", _shortened(card.judge, 1, 38)[0]),
        ("standing", standing),
        *(
            ("use", line)
            for said in titled(_uses(card), words)
            for line in _shortened(said)
        ),
        ("small", told),
        ("small", until),
    ]
    drawn, y = [], 0
    for look, line in lines:
        y += HEIGHTS[look]
        drawn.append(f'<text class="{look}" x="24" y="{y}">{xml(line)}</text>')
    height = y + 16
    style = (
        "text{font-family:system-ui,'DejaVu"
        " Sans',Arial,sans-serif;fill:#1f2328}.title{font-size:12px;fill:#5b636d}"
        ".judge{font-size:20px;font-weight:600}"
        f".standing{{font-size:17px;fill:{COLOURS[card.standing]}}}"
        ".use{font-size:13px}.small{font-size:13px;fill:#5b636d}"
    )
    about = xml(f"{card.judge}: {standing}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="480" height="{height}"'
        f' viewBox="0 0 480 {height}" role="img" aria-label="{about}"><title>{about}</title>'
        f'<style>{style}</style><rect x="0.5" y="0.5" width="479" height="{height - 1}" rx="8"'
        f' fill="#fff" stroke="#d9dde2"/><rect width="8" height="{height}" rx="4"'
        f' fill="{COLOURS[card.standing]}"/>{"".join(drawn)}</svg>\n'
    )


def _shortened(text: str, lines: int = 3, width: int = _SHOWN) -> list[str]:
    """The text in at most so many lines of the picture."""
    return textwrap.wrap(text, width, max_lines=lines, placeholder="…") or [""]


RENDERINGS: dict[str, Callable[[TrustCard, str], str]] = {
    ".json": lambda card, _: card.text(),
    ".md": lambda card, file: rendered(document(card, file), "report.md"),
    ".html": lambda card, file: rendered(document(card, file), "report.html"),
    ".svg": lambda card, _: svg(card),
}

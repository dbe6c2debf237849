"""Sends what was found to an OpenTelemetry collector: `tracking.otel=true` of a run, and
`undogmatic check --otel`.

Each answer about a judge, and in a run each verdict of a judge, is a span with the attributes of
the event `gen_ai.evaluation.result` of OpenTelemetry's conventions for generative AI. It is a span
because most collectors draw spans, and few draw events. What the conventions have no name for
(interval, digests of the trust card) stands under `undogmatic.`. Where it is sent is for the
standard variables to say (`OTEL_EXPORTER_OTLP_ENDPOINT`, `..._HEADERS`).
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.errors import ConfigError
from undogmatic.records.card import table_digests
from undogmatic.records.checked import CheckResult
from undogmatic.records.evidence import settings_of_judges
from undogmatic.records.records import OVERALL, Failure, Judgment
from undogmatic.records.redaction import redact_judgment
from undogmatic.records.results import Number, Subject, Told
from undogmatic.records.words import Words
from undogmatic.report.check import uses_of
from undogmatic.report.uses import Uses, uses
from undogmatic.report.words import words_for
from undogmatic.runs.outcome import FinishedRun
from undogmatic.runs.versions import versions
from undogmatic.safety.extras import needs
from undogmatic.safety.secrets import keep, scrub, shown_address

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

EXPORTER = "opentelemetry.exporter.otlp.proto.http"
VARIABLE = "OTEL_EXPORTER_OTLP_"
"""How the names of the variables begin that say where and how it is sent."""
EVALUATION = "gen_ai.evaluation.result"
AT_ONCE = 500
"""Evaluations that are sent in one request."""
_NANO = 1_000_000_000


class Evaluation(NamedTuple):
    """Something that was evaluated: what the conventions say of it, and what they have no name
    for; `began` and `ended` are seconds since 1970."""

    said: Mapping[str, Any]
    more: Mapping[str, Any]
    began: float
    ended: float


def check_installed() -> None:
    """Raise ModuleNotFoundError where what sends evaluations is not installed."""
    needs(EXPORTER)


def of_check(result: CheckResult, words: Words) -> Iterator[Evaluation]:
    """The answer about each judge of a check, with the digests that its trust card is bound to."""
    # A table says nothing of when its verdicts were given.
    now = time.time()
    for each in result.judges:
        headline = each.number_about(Subject.HEADLINE)
        name, figure = headline or ("agreement", None)
        digests = _digests(result.table, each.judge, each.criterion)
        of_uses = uses_of(result, each, words)
        yield _of_answer(each, name, figure, of_uses, words, digests, (now, now))


def of_run(run: FinishedRun, hide: bool) -> Iterator[Evaluation]:
    """The answers of a run, and then what each judge said of each item. With `hide` the texts of
    judges are hashes, as in everything else that the run keeps."""
    words, times = words_for(run), (run.started, run.started + run.seconds)
    digests: dict[tuple[str, str], Mapping[str, str]] = {}
    settings = _settings(run)
    for told in run.results:
        if told.verdict is None:
            continue
        own: Mapping[str, str] = {}
        if told.evidence is not None:
            # A redacted run keeps no texts, and a card that is made from its folder speaks of that.
            evidence = told.evidence.without_texts() if hide else told.evidence
            evidence = evidence.changed(settings=settings)
            own = _digests(evidence, told.judge, told.criterion)
            digests[told.judge, told.criterion] = own
        figure = told.numbers.get(told.headline or "")
        name = told.headline or told.name
        yield _of_answer(told, name, figure, uses(told, words), words, own, times)
    for judgment in run.judgments:
        shown = redact_judgment(judgment) if hide else judgment
        yield _of_judgment(
            shown, run, digests.get((judgment.judge, judgment.criterion), {})
        )


def _settings(run: FinishedRun) -> dict[str, dict[str, str]]:
    """What each judge was set to, as a check of the run's folder reads it."""
    known = settings_of_judges(
        (j.judge, j.provenance.model_dump()) for j in run.judgments
    )
    return {
        judge: {name.removeprefix("settings."): value for name, value in own.items()}
        for judge, own in known.items()
    }


def _digests(evidence: Any, judge: str, criterion: str) -> Mapping[str, str]:
    found = table_digests(evidence, judge, criterion)
    return {f"card.{name}": value for name, value in found.model_dump().items()}


def _of_answer(
    told: Told,
    name: str,
    figure: Number | None,
    of_uses: Uses | None,
    words: Words,
    digests: Mapping[str, str],
    times: tuple[float, float],
) -> Evaluation:
    """An answer in its word, with the figure that sums it up and its interval."""
    said: dict[str, Any] = {"name": name}
    more: dict[str, Any] = {"about": "judge", "judge": told.judge or told.part}
    if told.criterion not in ("", OVERALL):
        more["criterion"] = told.criterion
    if figure is None or isinstance(figure, float | int):
        said["score.value"] = figure
    else:
        said["score.value"] = figure.value
        more |= {
            "score.low": figure.low,
            "score.high": figure.high,
            "score.level": figure.level,
            "n": figure.n,
            "groups": figure.n_groups,
        }
    said |= {
        "score.label": told.answer.answer,
        "explanation": words.answered(told.answer),
    }
    more |= {} if of_uses is None else of_uses._asdict()
    return Evaluation(said, {**more, **digests}, *times)


def _of_judgment(
    judgment: Judgment, run: FinishedRun, digests: Mapping[str, str]
) -> Evaluation:
    """What a judge said of an item, with the digests of the card that says whether to believe
    it."""
    outcome, calls = judgment.outcome, judgment.calls
    named = run.rubric.name if judgment.criterion == OVERALL else judgment.criterion
    said: dict[str, Any] = {"name": named}
    more: dict[str, Any] = {
        "about": "item",
        "item": judgment.item_id,
        "judge": judgment.judge,
    }
    more |= {"repeat": judgment.repeat, "model": judgment.provenance.model}
    if isinstance(outcome, Failure):
        said |= {"error.type": outcome.reason, "explanation": outcome.message}
    else:
        low, high = outcome.interval or (None, None)
        why = "\n".join(filter(None, [outcome.rationale, *outcome.issues]))
        said |= {"score.value": outcome.score, "score.label": outcome.category}
        said["explanation"] = why or None
        more |= {"score.low": low, "score.high": high, "confidence": outcome.confidence}
    # Calls that came from the cache have no time; the beginning of the run stands in for it.
    began = min((call.started for call in calls if call.started), default=run.started)
    ended = began + judgment.cost.seconds
    return Evaluation(said, {**more, **digests}, began, ended)


def send(
    what: str,
    evaluations: Iterable[Evaluation],
    times: tuple[float, float],
    exporter: SpanExporter | None = None,
) -> str:
    """Send evaluations, as the children of one span that is called `what`.

    Args:
        times: When that began and ended, in seconds since 1970.
        exporter: What sends them; None speaks OTLP over HTTP to where the environment says.
    Returns:
        Where they were sent to, and how many.
    Raises:
        ConfigError: The collector cannot be reached, or refuses them.
    """
    from opentelemetry.sdk.trace.export import SpanExportResult

    check_installed()
    count, place = 0, "the collector"
    spans = _spans(what, evaluations, times)
    with _heard() as told:
        if exporter is None:
            exporter, place = _over_http()
        try:
            while some := tuple(itertools.islice(spans, AT_ONCE)):
                if exporter.export(some) is not SpanExportResult.SUCCESS:
                    raise ConfigError(_not_sent(place, count, told))
                count += len(some)
        finally:
            exporter.shutdown()
    # the first is the one that they belong to
    return f"OpenTelemetry: {place} ({count - 1} {EVALUATION})"


def _not_sent(place: str, count: int, told: list[str]) -> str:
    """What to say where a collector did not take what it was sent; `told` is what the exporter
    says of it, `count` how many spans it had taken before."""
    # The system's own words say what is wrong ("Connection refused"); around them stand three
    # libraries' wrappings.
    of_system = re.findall(r"\[Errno -?\d+\] ([^\"'()]+)", " ".join(told))
    why = (of_system or told or ["it gives no reason"])[-1]
    why = scrub(why).rstrip(". ")
    before = f" It had taken the first {count - 1} of them." if count > 1 else ""
    way = f"Name one that speaks OTLP over HTTP, e.g. {VARIABLE}ENDPOINT=http://localhost:4318"
    return (
        f"The OpenTelemetry collector at {place} did not take the evaluations ({why}).{before}"
        f" Nothing else is lost by that. {way}, or leave the switch out."
    )


def _over_http() -> tuple[SpanExporter, str]:
    """What sends to where the environment says, and where that is, without secrets. Raises
    ConfigError where the environment is wrong."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    base = os.environ.get(f"{VARIABLE}ENDPOINT") or "http://localhost:4318"
    place = os.environ.get(f"{VARIABLE}TRACES_ENDPOINT") or base
    for name in (f"{VARIABLE}HEADERS", f"{VARIABLE}TRACES_HEADERS"):
        for header in os.environ.get(name, "").split(","):
            # What stands in the headers is a key, which no message may repeat.
            keep(header.partition("=")[2] or header, name)
    try:
        return OTLPSpanExporter(), shown_address(place)
    except (ValueError, OSError) as error:
        raise ConfigError(
            f"The {VARIABLE}... variables cannot be used: {scrub(str(error))}. Correct"
            " them, or leave the switch out."
        ) from None


def _spans(
    what: str, evaluations: Iterable[Evaluation], times: tuple[float, float]
) -> Iterator[ReadableSpan]:
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

    made, sampled = RandomIdGenerator(), TraceFlags(TraceFlags.SAMPLED)
    trace = made.generate_trace_id()
    parent = SpanContext(trace, made.generate_span_id(), False, sampled)
    # What the environment says of the service counts before ours.
    version = versions()["undogmatic"]
    ours = Resource({"service.name": "undogmatic", "service.version": version})
    shared: dict[str, Any] = {
        "resource": ours.merge(OTELResourceDetector().detect()),
        "instrumentation_scope": InstrumentationScope("undogmatic", version),
    }
    began, ended = (int(each * _NANO) for each in times)
    yield ReadableSpan(scrub(what), parent, start_time=began, end_time=ended, **shared)
    for each in evaluations:
        own = SpanContext(trace, made.generate_span_id(), False, sampled)
        yield ReadableSpan(
            EVALUATION,
            own,
            parent,
            attributes=_attributes(each),
            status=Status(
                StatusCode.ERROR if "error.type" in each.said else StatusCode.UNSET
            ),
            start_time=int(each.began * _NANO),
            end_time=int(each.ended * _NANO),
            **shared,
        )


def _attributes(each: Evaluation) -> dict[str, str | bool | int | float]:
    """The attributes of a span: without what is not known, and without secrets."""
    named = {
        name if name == "error.type" else f"gen_ai.evaluation.{name}": value
        for name, value in each.said.items()
    }
    named |= {f"undogmatic.{name}": value for name, value in each.more.items()}
    return {
        name: scrub(value) if isinstance(value, str) else value
        for name, value in named.items()
        if value not in (None, "")
        and not (isinstance(value, float) and not math.isfinite(value))
    }


@contextlib.contextmanager
def _heard() -> Iterator[list[str]]:
    """Takes up what the exporter would log on the terminal, so that one sentence can say it."""
    told: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    # The exporter logs its errors and returns no reason.
    logger, ear = logging.getLogger("opentelemetry"), Ear()
    spoken, logger.propagate = logger.propagate, False
    logger.addHandler(ear)
    try:
        yield told
    finally:
        logger.removeHandler(ear)
        logger.propagate = spoken

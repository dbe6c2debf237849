"""Evaluations for OpenTelemetry: what a check and a run send, where to, and what never."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Capture, Patch
from tests.tracking.test_tracking import SECRET_TEXT, Make, finished, only_run, reported  # noqa: F401
from undogmatic.cli import main
from undogmatic.cli.checked import check
from undogmatic.config.build import settings
from undogmatic.config.door import composed
from undogmatic.datasets.labels import load
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.report.check import words_of
from undogmatic.safety.paths import data_folder
from undogmatic.tracking import MlflowTracker, NoTracker, otel

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
DEMO = str(data_folder() / "check" / "demo.csv")
HEADER = "api-key-of-a-collector-1234567"


class Collector:
    """A server that takes what is sent over OTLP/HTTP, and what it was sent."""

    def __init__(self, status: int = 200) -> None:
        self.status, self.bodies = status, list[bytes]()
        self.headers = list[dict[str, str]]()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/traces"
                length = int(self.headers["content-length"])
                collector.bodies.append(self.rfile.read(length))
                collector.headers.append(dict(self.headers))
                self.send_response(collector.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def told(self) -> list[dict[str, Any]]:
        """The attributes of each evaluation."""
        return [
            {
                pair.key: getattr(pair.value, str(pair.value.WhichOneof("value")))
                for pair in each
            }
            for each in (
                span.attributes for span in self.spans if span.name == otel.EVALUATION
            )
        ]


@pytest.fixture
def collector(monkeypatch: Patch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_check_is_told_in_the_words_of_the_conventions_with_the_digests_of_its_card(
    tmp_path: Path,
) -> None:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
        InMemorySpanExporter,
    )

    taken = InMemorySpanExporter()
    result = check(DEMO, judge=["judge_careful", "judge_generous"])
    told = otel.of_check(result, words_of("en"))
    otel.send("undogmatic check", told, (1_800_000_000.0, 1_800_000_001.5), taken)
    whole, *each = taken.get_finished_spans()
    assert (whole.name, whole.end_time - whole.start_time) == (
        "undogmatic check",
        1_500_000_000,
    )
    assert whole.resource.attributes["service.name"] == "undogmatic"
    assert {span.parent.span_id for span in each} == {whole.context.span_id}
    assert {span.context.trace_id for span in taken.get_finished_spans()} == {
        whole.context.trace_id
    }
    both = ["--judge", "judge_careful", "--judge", "judge_generous"]
    main(["check", DEMO, *both, "--card", str(tmp_path / "c.json")])
    cards = [
        json.loads(path.read_text("utf-8")) for path in sorted(tmp_path.glob("*.json"))
    ]
    assert len(cards) == len(each) == 2
    for card, span in zip(cards, each, strict=True):
        said, figure = dict(span.attributes), card["figures"][card["headline"]]
        assert span.name == "gen_ai.evaluation.result"
        assert said["gen_ai.evaluation.name"] == card["headline"] == "agreement.kappa"
        assert said["gen_ai.evaluation.explanation"] == card["answer"]
        assert said["gen_ai.evaluation.score.value"] == figure["value"]
        ends = [said["undogmatic.score.low"], said["undogmatic.score.high"]]
        assert [*ends, said["undogmatic.score.level"]] == [
            *figure["interval"],
            figure["level"],
        ]
        assert said["undogmatic.judge"] == card["judge"]
        assert said["undogmatic.not_for"] == card["not_for"]
        digests = {name: said[f"undogmatic.card.{name}"] for name in card["digests"]}
        assert digests == card["digests"]
    labels = {span.attributes["gen_ai.evaluation.score.label"] for span in each}
    assert labels <= {"yes", "not_yet", "no", "undecided"} and "yes" in labels


def test_the_command_sends_where_the_environment_says(
    collector: Collector, capsys: Capture
) -> None:
    main(["check", DEMO, "--judge", "judge_careful", "--otel", "--json"])
    printed = capsys.readouterr()
    assert json.loads(printed.out)["judges"][0]["judge"] == "judge_careful"
    assert printed.err.splitlines()[-1] == (
        f"OpenTelemetry: {collector.url} (1 gen_ai.evaluation.result)"
    )
    (told,) = collector.told
    assert told["gen_ai.evaluation.score.label"] == "yes"


def test_without_the_switch_nothing_is_sent(collector: Collector) -> None:
    main(["check", DEMO, "--judge", "judge_careful"])
    assert collector.bodies == []


def words(*more: str) -> list[str]:
    few = [
        "dataset=curated_development",
        "run.limit=60",
        "analysis=labelled",
        "model=patterns",
    ]
    return [*few, "tracking=none", "tracking.otel=true", *more]


@pytest.mark.parametrize("redact", [False, True])
def test_a_run_sends_its_answer_and_each_verdict_and_no_text_where_it_keeps_none(
    redact: bool, collector: Collector, tmp_path: Path, capsys: Capture
) -> None:
    config, choices = composed(words(f"tracking.redact={str(redact).lower()}"), ())
    run_experiment(config, choices, tmp_path / "run")
    assert f"OpenTelemetry: {collector.url} (61 gen_ai" in capsys.readouterr().out
    answer, *verdicts = collector.told
    assert answer["gen_ai.evaluation.name"] == "labelled.agreement.spearman"
    assert answer["undogmatic.score.low"] < answer["gen_ai.evaluation.score.value"]
    lines = (tmp_path / "run" / "judgments.jsonl").read_text("utf-8").splitlines()
    kept = {one["item_id"]: one["outcome"] for one in map(json.loads, lines)}
    assert {told["undogmatic.item"] for told in verdicts} == kept.keys()
    for told in verdicts:
        outcome = kept[told["undogmatic.item"]]
        assert told["gen_ai.evaluation.score.value"] == outcome["score"]
        assert told["gen_ai.evaluation.explanation"] == outcome["rationale"]
        assert told["gen_ai.evaluation.explanation"].startswith("sha256:") == redact
        assert told["undogmatic.card.labels"] == answer["undogmatic.card.labels"]
    main(["check", str(tmp_path / "run"), "--card", str(tmp_path / "card.json")])
    card = json.loads((tmp_path / "card.json").read_text("utf-8"))
    assert {
        f"undogmatic.card.{k}": v for k, v in card["digests"].items()
    }.items() <= answer.items()
    sent = b"".join(collector.bodies)
    _, (items, *_) = load(settings(config))
    assert not [item.id for item in items if item.text.encode() in sent]


def test_a_failure_is_an_error_and_no_score(
    finished: Make,  # noqa: F811
    collector: Collector,
) -> None:
    said = NoTracker(otel=True).log(finished())
    assert said == f"OpenTelemetry: {collector.url} (3 gen_ai.evaluation.result)"
    *judged, failed = collector.told
    assert [told["gen_ai.evaluation.score.value"] for told in judged] == [0.0, 10.0]
    assert SECRET_TEXT in judged[0]["gen_ai.evaluation.explanation"]
    assert failed["error.type"] and "gen_ai.evaluation.score.value" not in failed
    assert [span.status.code for span in collector.spans] == [0, 0, 0, 2]


def test_mlflow_has_all_as_ever_beside_it(
    finished: Make,  # noqa: F811
    client: Any,
    collector: Collector,
) -> None:
    said = MlflowTracker(otel=True, redact=True).log(finished())
    run = only_run(client)
    assert run.info.run_id in said and said.endswith(
        f"{collector.url} (3 {otel.EVALUATION})"
    )
    traces = client.search_traces([run.info.experiment_id])
    assert len(traces) == 3 and len(collector.told) == 3
    assert SECRET_TEXT.encode() not in b"".join(collector.bodies)


def test_many_are_sent_in_parts(collector: Collector, monkeypatch: Patch) -> None:
    monkeypatch.setattr(otel, "AT_ONCE", 2)
    made = (otel.Evaluation({"name": str(n)}, {}, 1.0, 2.0) for n in range(5))
    assert "(5 " in otel.send("many", made, (1.0, 2.0))
    assert [told["gen_ai.evaluation.name"] for told in collector.told] == list("01234")
    assert len(collector.bodies) == 3


def test_a_header_of_the_collector_is_sent_and_stands_nowhere_else(
    collector: Collector, monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={HEADER}")
    made = [
        otel.Evaluation({"name": "n", "explanation": f"it is {HEADER}"}, {}, 1.0, 2.0)
    ]
    assert HEADER not in otel.send("x", made, (1.0, 2.0))
    assert collector.headers[0]["api-key"] == HEADER
    assert HEADER.encode() not in collector.bodies[0]
    collector.status = 401
    # which is malformed
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"Bearer {HEADER}")
    with pytest.raises(ConfigError, match="401") as refused:
        otel.send("x", made, (1.0, 2.0))
    assert HEADER not in str(refused.value) + "".join(capsys.readouterr())


def test_a_collector_that_is_not_there_costs_nothing_that_was_found(
    monkeypatch: Patch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    with pytest.raises(SystemExit) as ended:
        main(["check", DEMO, "--judge", "judge_careful", "--otel"])
    printed = capsys.readouterr()
    assert ended.value.code == 2 and "✓ Yes." in printed.out
    (error,) = [line for line in printed.err.splitlines() if line.startswith("error:")]
    assert "http://127.0.0.1:9" in error and "Connection refused" in error
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in error
    config, choices = composed(words(), ())
    with pytest.raises(ConfigError, match="did not take the evaluations"):
        run_experiment(config, choices, tmp_path / "run")
    assert (tmp_path / "run" / "report.html").is_file()
    assert "Not yet." in capsys.readouterr().out


def test_the_service_is_called_as_the_environment_says(
    collector: Collector, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-judges")
    otel.send("x", [], (1.0, 2.0))
    assert b"my-judges" in collector.bodies[0] and b"undogmatic" in collector.bodies[0]

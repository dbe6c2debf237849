"""Each promise of docs/security.md has a test: the table says which, and those that no other file
holds stand below."""

import ast
import datetime
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.models.conftest import run_once
from tests.models.test_hosted import request
from tests.review.test_page import serving, sheet
from undogmatic.errors import ConfigError
from undogmatic.models.hosted import ChatModel
from undogmatic.review.server import PageHandler
from undogmatic.safety.paths import conf_folder

ROOT = conf_folder().parent
KEY = "sk-promised-0123456789abcdef"
PROMISES = {
    "It is read at one door": [
        "safety/test_outside.py::test_what_is_not_json_is_said_in_one_line",
        "test_fuzz.py::test_anything_becomes_a_record_or_one_message",
    ],
    "lines that only the holder of a key could have written": [
        "readouts/test_structured.py::test_only_who_has_the_key_can_know_a_fence_which_is_never_in_the_text",
        "readouts/test_structured.py::test_the_judged_text_cannot_close_its_fence",
    ],
    "Redirects are not followed": [
        "safety/test_promises.py::test_a_redirect_is_not_followed_and_no_cookie_is_kept"
    ],
    "cookies not kept": [
        "safety/test_promises.py::test_a_redirect_is_not_followed_and_no_cookie_is_kept"
    ],
    "certificates checked": [
        "safety/test_promises.py::test_a_certificate_that_nobody_vouches_for_gets_no_text_and_no_key"
    ],
    "The key goes to `model.api_base` alone": [
        "safety/test_promises.py::test_a_redirect_is_not_followed_and_no_cookie_is_kept",
        "models/test_hosted.py::test_the_key_shows_nowhere_even_if_the_server_echoes_it",
    ],
    "Waiting is bounded": [
        "models/test_calls.py::test_no_answer_in_time_is_a_timeout_and_a_retry_waits_as_told_with_the_others_or_by_its_backoff",
        "models/test_pace.py::test_a_server_that_counts_by_the_minute_is_waited_for",
    ],
    "calls and money by `engine.max_calls` and `max_usd`": [
        "engine/test_batch.py::test_a_full_budget_sends_what_is_left_of_it"
    ],
    "A run claims its folder before it touches it": [
        "runs/test_claim.py::test_a_fresh_folder_is_nobody_elses_and_is_taken_away_where_nothing_was_judged"
    ],
    "Files are written whole or not at all": [
        "test_faults.py::test_a_run_survives_a_fault_at_each_write",
        "safety/test_files.py::test_a_line_that_a_full_disk_cuts_off_is_taken_back",
    ],
    "Nothing is unpickled": ["safety/test_promises.py::test_nothing_is_unpickled"],
    "Files are readable by their owner alone (0600)": [
        "safety/test_files.py::test_what_quotes_judged_texts_is_its_owners_alone",
        "engine/test_journal.py::test_the_cache_is_its_owners_alone",
    ],
    "A pipe or a device in a run's folder is refused": [
        "runs/test_claim.py::test_a_pipe_where_a_log_shall_be_is_refused",
        "datasets/test_rows.py::test_what_is_no_file_is_said_and_not_waited_for",
    ],
    "is loaded in another process first": [
        "models/test_gguf_file.py::test_a_file_at_which_llama_cpp_ends_the_process_is_refused"
    ],
    "A cell that a spreadsheet would run gets an apostrophe": [
        "safety/test_files.py::test_no_cell_is_a_formula_and_every_cell_comes_back",
        "review/test_import.py::test_a_sheet_holds_no_cell_that_runs_as_a_formula",
    ],
    "answer whoever has the token that the command made": [
        "review/test_page.py::test_it_answers_to_its_own_page_alone"
    ],
    "the token is on no command line": [
        "review/test_together.py::test_the_token_is_on_no_command_line"
    ],
    "They load nothing from elsewhere": [
        "review/test_page.py::test_the_page_is_one_file_that_may_load_nothing"
    ],
    "connection that says nothing for 30 seconds is closed": [
        "safety/test_promises.py::test_a_page_does_not_wait_for_ever"
    ],
    "one that was edited or damaged passes no gate": [
        "report/test_card.py::test_an_edited_card_is_broken",
        "cli/test_gate.py::test_a_card_whose_numbers_or_days_are_none_is_not_read",
    ],
    "hands its inputs to the shell as variables alone": [
        "cli/test_action.py::test_inputs_reach_the_shell_as_environment_alone"
    ],
    "It builds classes of this package and of the packages you named": [
        "config/test_build.py::test_only_classes_of_allowed_packages_are_built",
        "config/test_build.py::test_a_package_of_ones_own_can_be_allowed",
    ],
    "A file of a group says nothing to Hydra": [
        "config/test_compose.py::test_hydras_own_section_is_checked_whole",
        "test_config_doors.py::test_a_word_cannot_make_hydra_run_what_is_not_allowed",
    ],
    "reaches requests' further fields and addresses, never a prompt": [
        "test_config_doors.py::test_a_reference_to_a_secret_reaches_no_prompt"
    ],
    "a job whose config was not is": [
        "config/test_compose.py::test_a_job_whose_config_was_not_checked_ends_at_its_start"
    ],
    "YAML is read without tags": [
        "safety/test_outside.py::test_what_is_not_yaml_is_said_in_one_line"
    ],
    "HTML reports are escaped and load nothing": [
        "report/test_document.py::test_html_shows_hostile_text_acts_on_none_of_it_and_forbids_scripts_and_the_network"
    ],
    "*Refused* (status 2, before anything is written, without repeating it)": [
        "safety/test_secrets.py::test_a_refused_key_leaves_nothing"
    ],
    "A known value is replaced by `<WHERE IT CAME FROM>` in every file": [
        "safety/test_secrets.py::test_no_key_is_in_what_a_run_leaves",
        "safety/test_secrets.py::test_no_key_is_in_what_a_sweep_leaves",
        "safety/test_secrets.py::test_no_key_is_in_what_a_notebook_shows",
    ],
    "**By name**, in configs and command lines only": [
        "safety/test_secrets.py::test_names_say_what_is_secret"
    ],
    "**By shape**, there too": [
        "safety/test_secrets.py::test_a_config_is_hidden_by_name_shape_and_address"
    ],
    "keep a hash and the length alone": [
        "tracking/test_tracking.py::test_no_text_leaves_a_redacted_run_and_scores_and_structure_stay"
    ],
    "several processes may write to it": [
        "models/test_hosted.py::test_several_write_to_the_log_of_scores_at_once"
    ],
    "Its owner alone may read it (mode 0600, also where the file was open to others before)": [
        "models/test_hosted.py::test_a_log_that_others_could_read_is_closed_to_them"
    ],
    "A full disk, or a home that cannot be written to, is said in one line and costs no score": [
        "models/test_hosted.py::test_a_full_disk_costs_no_score"
    ],
    "reads nothing outside of the folder in which it is started": [
        "cli/test_mcp.py::test_nothing_outside_of_the_folder_is_read_and_nothing_in_it_is_written_over"
    ],
    "it follows no redirect, prints nothing of it, and changes no comment of anybody else": [
        "cli/test_action.py::test_what_else_may_go_wrong_is_a_warning_and_the_token_goes_nowhere_else"
    ],
}


def names_in(name: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / name).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_stands_on_the_page_and_has_a_test(promise: str) -> None:
    page = " ".join((ROOT / "docs" / "security.md").read_text(encoding="utf-8").split())
    assert " ".join(promise.split()) in page
    for each in PROMISES[promise]:
        file, _, name = each.partition("::")
        assert name in names_in(file), f"{each} is gone"


class Answering(BaseHTTPRequestHandler):
    """Redirects to another server, and sets a cookie; keeps what it was asked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(dict(self.headers))  # type: ignore[attr-defined]
        to = self.server.to  # type: ignore[attr-defined]
        content = {
            "content": json.dumps(
                {"shame_score": 40, "confidence": 80, "rationale": "x"}
            )
        }
        message = {"message": {"role": "assistant"} | content, "finish_reason": "stop"}
        body = json.dumps(
            {"choices": [message | {"index": 0}], "model": "m", "id": "1"}
        ).encode()
        self.send_response(302 if to else 200)
        if to:
            self.send_header("Location", to)
        self.send_header("Set-Cookie", "who=you; Path=/")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def answering(to: str = "", context: ssl.SSLContext | None = None) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.asked, server.to = [], to
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def model(server: Any, scheme: str = "http") -> ChatModel:
    return ChatModel(
        "m", f"{scheme}://127.0.0.1:{server.server_port}/v1", key_env="MY_KEY"
    )


def test_a_redirect_is_not_followed_and_no_cookie_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with (
        answering() as other,
        answering(f"http://127.0.0.1:{other.server_port}/v1") as first,
    ):
        asked = model(first)
        with pytest.raises(ConfigError, match="redirects"):
            run_once(asked, lambda: asked.complete(request()))
        assert len(first.asked) == 1 and KEY in first.asked[0]["Authorization"]
        assert other.asked == []
        again = model(other)

        async def twice() -> None:
            await again.complete(request())
            await again.complete(request())

        run_once(again, twice)
        assert len(other.asked) == 2 and not any(
            "Cookie" in each for each in other.asked
        )


def test_a_certificate_that_nobody_vouches_for_gets_no_text_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    monkeypatch.setenv("MY_KEY", KEY)
    own, now = (
        ec.generate_private_key(ec.SECP256R1()),
        datetime.datetime.now(datetime.UTC),
    )
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder(name, name, own.public_key(), 1)
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    here = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    signed = made.add_extension(here, critical=False).sign(own, hashes.SHA256())
    pem = serialization.Encoding.PEM
    key = own.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "both.pem").write_bytes(key + signed.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    with answering(context=context) as server:
        asked = model(server, "https")
        with pytest.raises(ConfigError, match="certificate is not trusted"):
            run_once(asked, lambda: asked.complete(request()))
        assert server.asked == []


def test_nothing_is_unpickled() -> None:
    """But what the processes of Ray send one another, and what Hydra's launchers do."""
    found = []
    for file in sorted((ROOT / "undogmatic").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
            loads = isinstance(node, ast.keyword) and node.arg == "allow_pickle"
            unsafe = loads and not (
                isinstance(node.value, ast.Constant) and not node.value.value
            )
            if unsafe or {name.split(".")[0] for name in names} & {
                *("pickle", "cloudpickle", "joblib", "dill", "marshal", "shelve")
            }:
                found.append(f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}")
    assert found == []


def test_a_page_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PageHandler.timeout == 30
    monkeypatch.setattr(PageHandler, "timeout", 0.2)
    with (
        serving(sheet(tmp_path)) as server,
        socket.create_connection(
            ("127.0.0.1", server.server_port), timeout=20
        ) as silent,
    ):
        silent.sendall(b"GET /about HTTP/1.1\r\n")
        assert silent.recv(100) == b""

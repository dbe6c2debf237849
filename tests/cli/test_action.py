"""The GitHub Action: its shell steps, run with bash and the inputs as its YAML hands them over."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_gate import KAPPA, a_card, edited
from tests.conftest import environment, put

ACTION = yaml.safe_load(
    (Path(__file__).parents[2] / "action" / "action.yml").read_text("utf-8")
)
INSTALL, GATE, COMMENT = ACTION["runs"]["steps"]
FOLDER = Path(__file__).parents[2] / "action"
TOKEN = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"


REAL = f'exec "{sys.executable}" -m undogmatic.cli "$@"'
ENDS = (
    '[ "$*" = "gate --config undogmatic-gate.yaml --markdown undogmatic-gate.md --junit'
    ' undogmatic-gate.xml -- my card.json" ]\nprintf {outcome} | tee undogmatic-gate.md >'
    " undogmatic-gate.xml\nexit {status}"
)
"""What `undogmatic gate` does of which only files and exit status count here;
tests/cli/test_gate.py has the rest."""


def step(
    folder: Path,
    given: dict[str, Any],
    script: dict[str, Any] = GATE,
    tool: str = REAL,
    path: str = "/somewhere/action",
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does: the inputs, else their defaults, in the environment that the
    step names."""
    inputs = {
        name: given.get(name, about.get("default"))
        for name, about in ACTION["inputs"].items()
    }
    told = {"inputs": inputs, "github": {"action_path": path, "token": TOKEN}}

    def value(found: re.Match[str]) -> str:
        return str(told[found[1]][found[2]])

    expression = re.compile(r"\$\{\{ (\w+)\.([\w-]+) \}\}")
    named = {
        name: expression.sub(value, expression.sub(value, text))
        for name, text in script["env"].items()
    }
    tools = folder / "bin"
    put(tools / "undogmatic", f"#!/bin/sh\nset -e\n{tool}\n").chmod(0o755)
    outputs = {
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    known = environment(**outputs, PATH=f"{tools}:{os.environ['PATH']}") | named | more
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script["run"]]
    return subprocess.run(
        words,
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("bound", "given", "status", "outcome"),
    [
        (
            0.6,
            {"card": "my card.json", "judge": "model=gpt-5\nprompt=@my prompt.txt\n"},
            0,
            "pass",
        ),
        (0.95, {"card": "my card.json"}, 1, "fail"),
        (0.6, {"card": "my card.json", "judge": "model=gpt-6"}, 3, "void"),
        (0.6, {"card": "edited.json"}, 3, "void"),
        (0.6, {"card": "$(touch hacked).json"}, 3, "void"),
    ],
)
def test_the_step_ends_as_the_gate_does(
    bound: float, given: dict[str, str], status: int, outcome: str, tmp_path: Path
) -> None:
    put(tmp_path / "my prompt.txt", "Judge this.")
    put(tmp_path / "my card.json", a_card(model="gpt-5", prompt="Judge this.").text())
    put(tmp_path / "edited.json", edited())
    put(tmp_path / "undogmatic-gate.yaml", KAPPA % bound)
    done = step(tmp_path, given)
    assert done.returncode == status, done.stderr
    assert (
        tmp_path / "output"
    ).read_text() == f"outcome={outcome}\ncomment=undogmatic-gate.md\n"
    comment = (tmp_path / "undogmatic-gate.md").read_text()
    assert (tmp_path / "summary").read_text() == comment and outcome in comment
    assert (tmp_path / "undogmatic-gate.xml").is_file() and not (
        tmp_path / "hacked"
    ).exists()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"card": "my card.json"}, 2),
        ({"card": "my card.json", "fail-on-undecided": "false"}, 0),
    ],
)
def test_undecided_fails_unless_it_shall_not(
    given: dict[str, str], status: int, tmp_path: Path
) -> None:
    done = step(tmp_path, given, tool=ENDS.format(outcome="undecided", status=2))
    assert done.returncode == status, done.stderr
    assert (
        tmp_path / "output"
    ).read_text() == "outcome=undecided\ncomment=undogmatic-gate.md\n"
    assert (tmp_path / "summary").read_text() == "undecided"


@pytest.mark.parametrize(
    "word",
    [
        "False",
        "FALSE",
        "no",
        "off",
        "0",
        "",
        "flase",
        "true ",
        " false",
        "fa\nlse",
        "True",
    ],
)
@pytest.mark.parametrize(("outcome", "status"), [("undecided", 2), ("pass", 0)])
def test_only_false_opens_the_gate(
    word: str, outcome: str, status: int, tmp_path: Path
) -> None:
    """A slip is refused by name, also where the gate passes: or it would wait until the gate is
    undecided."""
    given = {"card": "my card.json", "fail-on-undecided": word}
    done = step(tmp_path, given, tool=ENDS.format(outcome=outcome, status=status))
    assert done.returncode == (status or 3)
    assert (
        '::error::fail-on-undecided is "' in done.stdout
        and 'must be "true" or "false"' in done.stdout
    )
    assert ("outcome=void" in (tmp_path / "output").read_text()) == (outcome == "pass")


def test_what_cannot_start_is_no_pass(tmp_path: Path) -> None:
    done = step(
        tmp_path,
        {"card": "card.json"},
        PYTHONPATH="/nowhere",
        PYTHONNOUSERSITE="1",
        PYTHONHOME="/nowhere",
    )
    assert done.returncode == 3 and "outcome=void" in (tmp_path / "output").read_text()


@pytest.mark.parametrize(
    ("given", "asked"),
    [("action", "/somewhere/action/.."), ("undogmatic==0.1.0", "undogmatic==0.1.0")],
)
def test_the_action_installs_what_is_asked(
    given: str, asked: str, tmp_path: Path
) -> None:
    put(tmp_path / "bin" / "python", '#!/bin/sh\nprintf "%s\\n" "$@"\n').chmod(0o755)
    assert step(tmp_path, {"install": given}, INSTALL).stdout.split() == [
        "-m",
        "pip",
        "install",
        "--quiet",
        asked,
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"comment": "./my card.json"},
        {"junit": "link.xml"},
        {"comment": "undogmatic-gate.yaml"},
        {"comment": "prompt.txt", "judge": "model=gpt-5\nprompt=@prompt.txt"},
        {"junit": "new data.csv", "data": "other.csv\nnew data.csv"},
        {"card": "RUN", "comment": "RUN/run.json"},
        {"card": "RUN", "comment": "RUN/report.md"},
    ],
)
def test_nothing_that_is_read_is_removed_or_written_over(
    given: dict[str, str], tmp_path: Path
) -> None:
    for name in (
        "my card.json",
        "prompt.txt",
        "new data.csv",
        "undogmatic-gate.yaml",
        "RUN/run.json",
        "RUN/report.md",
    ):
        put(tmp_path / name, name)
    (tmp_path / "link.xml").symlink_to("my card.json")
    done = step(tmp_path, {"card": "my card.json"} | given)
    assert done.returncode == 3 and "which would be written over" in done.stdout, (
        done.stderr
    )
    assert (tmp_path / "output").read_text() == "outcome=void\ncomment=\n"
    for name in (
        "my card.json",
        "prompt.txt",
        "new data.csv",
        "undogmatic-gate.yaml",
        "RUN/run.json",
        "RUN/report.md",
    ):
        assert (tmp_path / name).read_text() == name
    assert (tmp_path / "link.xml").is_symlink()


def test_the_outcome_of_a_run_may_lie_in_its_folder(tmp_path: Path) -> None:
    put(tmp_path / "RUN" / "gate.md", "of the last time")
    told = "printf pass | tee RUN/gate.md > undogmatic-gate.xml\nexit 0"
    done = step(tmp_path, {"card": "RUN", "comment": "RUN/gate.md"}, tool=told)
    assert done.returncode == 0 and (tmp_path / "RUN" / "gate.md").read_text() == "pass"


def test_inputs_reach_the_shell_as_environment_alone() -> None:
    """An input that stood in the script itself could run commands."""
    assert all("${{" not in each["run"] for each in ACTION["runs"]["steps"])
    assert {
        name for name, about in ACTION["inputs"].items() if about.get("required")
    } == {"card"}


class Api:
    """A server that keeps comments as GitHub's API does."""

    def __init__(
        self, user: str | None = None, bot: str = "github-actions[bot]"
    ) -> None:
        self.comments: list[dict[str, Any]] = []
        self.refused: dict[str, int] = {}  # a method -> the status that it gets
        self.moved_to, self.seen = "", list[tuple[str, str, str | None]]()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                given = json.loads(self.rfile.read(length) or "null")
                api.seen.append(
                    (self.command, self.path, self.headers["authorization"])
                )
                path, _, query = self.path.partition("?")
                status, told = api.refused.get(self.command, 200), None
                if api.moved_to:
                    status = 302
                elif status != 200:
                    told = {"message": "Resource not accessible by integration"}
                elif path == "/user":
                    status, told = (
                        (403, None) if user is None else (200, {"login": user})
                    )
                elif self.command == "GET":
                    assert path == "/repos/me/mine/issues/7/comments"
                    asked = dict(urllib.parse.parse_qsl(query))
                    size, page = int(asked["per_page"]), int(asked["page"])
                    told = api.comments[size * (page - 1) : size * page]
                elif self.command == "POST":
                    assert path == "/repos/me/mine/issues/7/comments"
                    status = 201
                    told = api.add(
                        given["body"], user or bot, "User" if user else "Bot"
                    )
                else:
                    number = int(path.removeprefix("/repos/me/mine/issues/comments/"))
                    (told,) = (each for each in api.comments if each["id"] == number)
                    told |= given
                self.send_response(status)
                if api.moved_to:
                    self.send_header("Location", f"{api.moved_to}{self.path}")
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            do_GET = do_POST = do_PATCH = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def add(self, body: str, login: str, kind: str) -> dict[str, Any]:
        made = {"id": 100 + len(self.comments), "body": body}
        self.comments.append(made | {"user": {"login": login, "type": kind}})
        return self.comments[-1]


def commented(
    folder: Path,
    api: Api,
    text: str | None = "# Gate",
    number: int | None = 7,
    **given: str,
) -> str:
    """What the last step prints, in a pull request, where the gate has written this."""
    told = {} if number is None else {"pull_request": {"number": number}}
    event = put(folder / "event.json", json.dumps(told))
    (folder / "undogmatic-gate.md").unlink(missing_ok=True)
    if text is not None:
        put(folder / "undogmatic-gate.md", text)
    known = {"GITHUB_API_URL": api.url, "GITHUB_REPOSITORY": "me/mine"}
    known |= {"GITHUB_EVENT_PATH": str(event), "no_proxy": "127.0.0.1"}
    done = step(
        folder, {"card": "card.json"} | given, COMMENT, path=str(FOLDER), **known
    )
    assert (done.returncode, done.stderr) == (0, "") and TOKEN not in done.stdout
    return done.stdout


@pytest.mark.parametrize("user", [None, "octocat"])
def test_one_comment_is_written_and_then_written_anew(
    user: str | None, tmp_path: Path
) -> None:
    with Api(user) as api:
        for n in range(120):  # on two pages
            api.add(f"comment {n}", "somebody", "User")
        assert commented(tmp_path, api) == "The comment was written.\n"
        assert commented(tmp_path, api, "# Other").startswith(
            "The comment of last time"
        )
        *others, own = api.comments
        assert [each["body"] for each in others] == [f"comment {n}" for n in range(120)]
        mark, rest = own["body"].split("\n", 1)
        assert (
            re.fullmatch(r"<!-- undogmatic-gate [0-9a-f]{12} -->", mark)
            and rest == "# Other"
        )
        assert {header for _, _, header in api.seen} == {f"Bearer {TOKEN}"}
        # another gate of the same pull request has a comment of its own
        assert (
            commented(tmp_path, api, card="other.json") == "The comment was written.\n"
        )
        assert len(api.comments) == 122


def test_a_comment_of_somebody_else_with_the_mark_is_left_alone(tmp_path: Path) -> None:
    with Api() as api:
        commented(tmp_path, api)
        copied = api.comments.pop()["body"]
        api.add(copied, "mallory", "User")
        assert commented(tmp_path, api, "# New") == "The comment was written.\n"
        assert [each["body"] == copied for each in api.comments] == [True, False]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_without_the_right_is_a_warning_that_says_which(
    method: str, status: int, tmp_path: Path
) -> None:
    with Api("octocat") as api:
        api.refused = {method: status}
        said = commented(tmp_path, api)
        assert said.startswith(
            "::warning::No comment was written on the pull request: "
        )
        assert (
            "permissions: pull-requests: write" in said and len(said.splitlines()) == 1
        )
        assert ("POST" in [method for method, *_ in api.seen]) == (method == "POST")


def test_what_else_may_go_wrong_is_a_warning_and_the_token_goes_nowhere_else(
    tmp_path: Path,
) -> None:
    with Api() as api, Api() as elsewhere:
        api.moved_to = elsewhere.url
        assert (
            "the API answered 302" in commented(tmp_path, api) and elsewhere.seen == []
        )
        api.moved_to, api.refused = "", {"POST": 500}
        assert "the API answered 500" in commented(tmp_path, api)
        api.refused = {}
        said = commented(tmp_path, api, token=f"{TOKEN}\nX-Other: 1")
        assert said.startswith("::warning::") and api.comments == []
    assert "cannot be reached" in commented(tmp_path, api)


def test_without_a_pull_request_or_an_outcome_nothing_is_asked(tmp_path: Path) -> None:
    with Api() as api:
        assert commented(tmp_path, api, number=None).startswith(
            "This is no pull request"
        )
        assert "was not written, so there is no comment" in commented(
            tmp_path, api, None
        )
        assert api.seen == []


def test_a_long_outcome_is_cut_to_what_github_takes(tmp_path: Path) -> None:
    with Api() as api:
        commented(tmp_path, api, "long " * 20_000)
        (body,) = [each["body"] for each in api.comments]
        assert len(body) < 65_536 and body.endswith("in the summary of the job.\n")


def test_the_comment_is_posted_whatever_the_gate_said_and_the_token_can_be_left_out() -> (
    None
):
    assert COMMENT["if"] == (
        "${{ !cancelled() && inputs.token != '' && steps.gate.outputs.comment != '' }}"
    )
    assert ACTION["inputs"]["token"]["default"] == "${{ github.token }}"
    assert "TOKEN" not in GATE["env"] and "TOKEN" not in COMMENT["run"]

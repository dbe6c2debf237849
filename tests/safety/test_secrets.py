"""Where a key can be typed, and everything that exists afterwards: no key is in it, however it is
written."""

import base64
import hashlib
import html
import io
import json
import logging
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from aiohttp import web
from omegaconf import OmegaConf

import undogmatic
from tests.conftest import Capture, Patch, put, typed
from tests.stub_server import Fault, StubServer
from undogmatic.api import score_text
from undogmatic.cli import main
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError, DataError
from undogmatic.models.hosted import ChatModel
from undogmatic.safety import secrets
from undogmatic.safety.command import guarded
from undogmatic.safety.secrets import (
    check_config,
    check_words,
    keep,
    learn,
    scrub,
    scrub_data,
    scrub_words,
    secret_name,
    shown_address,
)
from undogmatic.safety.variables import setting
from undogmatic.tracking.store import WithoutSecrets, check_uri

KEY = "sk-proj/Canary+3f9Za81-x7"


def of(number: int) -> str:
    """A canary in the form of a key."""
    return "sk-" + hashlib.sha256(str(number).encode()).hexdigest()[:30]


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "in lower case": str.lower,
    "slashes escaped": lambda key: key.replace("/", "\\/"),
    "JSON": escaped,
    "JSON in JSON": lambda key: json.dumps(json.dumps({"a": escaped(key)})),
    "percent": lambda key: quote(key, safe=""),
    "percent, every character": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "percent, lower case": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "percent of percent": lambda key: quote(quote(key, safe=""), safe=""),
    "JSON of percent": lambda key: escaped(quote(key, safe="")),
    "HTML": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "HTML, hex": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "HTML, named": lambda key: key.replace("/", "&sol;").replace("+", "&plus;"),
    "HTML of HTML": lambda key: html.escape("".join(f"&#{ord(c)};" for c in key)),
    "percent of HTML": lambda key: quote("".join(f"&#{ord(c)};" for c in key)),
    "hex": lambda key: key.encode().hex(),
    "HEX": lambda key: key.encode().hex().upper(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 after one byte": lambda key: base64.b64encode(
        b"?" + key.encode() + b">>"
    ).decode(),
    "base64 after two bytes": (
        lambda key: base64.urlsafe_b64encode(b"??" + key.encode() + b"~").decode()
    ),
    "basic authorization": lambda key: base64.b64encode(
        b"user:" + key.encode()
    ).decode(),
}


def unwrapped(raw: bytes) -> str:
    """What was written, with every escape taken out, apart from the program's own way of doing
    so."""
    text = raw.decode("utf-8", "replace")
    for _ in range(5):
        text = re.sub(
            r"\\+u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text
        ).replace("\\", "")
        text = html.unescape(unquote(text))
    return text


def traces(raw: bytes, keys: Mapping[str, str]) -> list[str]:
    """Which keys are in it, and how."""
    text, plain = raw.decode("utf-8", "replace"), unwrapped(raw)
    lower, found = plain.lower(), []
    for name, key in keys.items():
        found += [f"{name} (plain)"] if key.lower() in lower else []
        found += [f"{name} (hex)"] if key.encode().hex() in lower else []
        for shift in range(3):
            inner = (
                base64.b64encode(b" " * shift + key.encode())
                .decode()
                .rstrip("=")[shift + 1 : -2]
            )
            forms = (inner, inner.replace("+", "-").replace("/", "_"))
            found += (
                [f"{name} (base64)"]
                if any(form in text or form in plain for form in forms)
                else []
            )
    return found


class TestByValue:
    @pytest.mark.parametrize("encoding", ENCODINGS)
    def test_a_kept_value_is_found_however_it_is_written(self, encoding: str) -> None:
        keep(KEY, "MY_KEY")
        written = ENCODINGS[encoding](KEY)
        assert traces(written.encode(), {"it": KEY})
        line = json.dumps({written: ["before\n" + written + " after\t" + written]})
        cleaned = scrub(line)
        assert not traces(cleaned.encode(), {"it": KEY})
        ((key, (value,)),) = json.loads(cleaned).items()
        assert "<MY_KEY>" in key
        assert value.startswith("before\n")
        assert " after\t" in value
        assert scrub(cleaned) == cleaned

    def test_what_is_not_a_secret_stays_to_the_byte(self) -> None:
        keep(KEY, "MY_KEY")
        text = (
            json.dumps(
                {"a": "50 % of C:\\u0041 &amp; \\\\n %41%zz &bogus; \ud83d 名 ção"}
            )
            + "\\"
        )
        assert scrub(text) == text

    def test_all_of_several_are_found_and_the_longer_one_first(self) -> None:
        keep("abcdefgh", "SHORT")
        keep("abcdefghijkl", "LONG")
        assert scrub("abcdefghijkl abcdefgh %61bcdefgh") == "<LONG> <SHORT> <SHORT>"

    @pytest.mark.parametrize(
        "value", ["", "EMPTY", "none", "1234567", "not-needed", "NOT-NEEDED"]
    )
    def test_stand_ins_are_not_cut_out_of_texts(self, value: str) -> None:
        keep(value, "KEY")
        assert scrub(f"a text, {value} to say") == f"a text, {value} to say"

    @pytest.mark.parametrize(
        "hostile",
        [
            "%25" * 200_000,
            "\\u005c" * 100_000,
            "&amp;" * 100_000,
            "://" * 200_000,
            "x=" * 200_000,
        ],
    )
    def test_depth_costs_no_more_than_length(self, hostile: str) -> None:
        keep(KEY, "MY_KEY")
        assert scrub_words(hostile + " " + KEY).endswith(" <MY_KEY>")

    def test_many_secrets_side_by_side_take_no_longer_than_one_as_often(
        self, monkeypatch: Patch
    ) -> None:
        """Counted in readings of the text without its escapes, of which each takes as long as the
        text; when the ends of every secret were looked for to cut out the first, it was twelve times
        as many."""
        many = [of(number) for number in range(20)]
        for key in many:
            keep(key, "MY_KEY")
        readings = []
        bare = secrets._bare
        monkeypatch.setattr(
            secrets, "_bare", lambda text: readings.append(1) or bare(text)
        )

        def taken(keys: list[str]) -> int:
            readings.clear()
            text = " and ".join(map(ENCODINGS["percent, every character"], keys))
            assert scrub(text) == " and ".join(["<MY_KEY>"] * len(keys))
            return len(readings)

        assert taken(many) < 2 * taken(many[:1] * len(many))

    def test_lines_of_a_long_key_are_known_alone(self) -> None:
        pem = (
            "-----BEGIN PRIVATE"
            " KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAo\n-----END PRIVATE KEY-----"
        )
        learn({"note": pem}, "model.extra")
        assert "MIIEvQ" not in scrub(
            json.dumps("MIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAo")
        )


@pytest.mark.parametrize(
    ("names", "secret"),
    [
        (
            (
                "api_key apiKey X-Api-Key apikey key key2 OPENAI_API_KEY AWS_SECRET_ACCESS_KEY"
                " private_key"
            ),
            True,
        ),
        (
            "token access_token accessToken auth Authorization proxy-authorization bearer cookie",
            True,
        ),
        (
            (
                "password db_password passwd passphrase pwd client_secret credentials SECRET"
                " model.extra.api_key"
            ),
            True,
        ),
        (
            "PGPASSWORD MYSQLPASSWORD DB_PASS SMTP_PASS OPENAI_API_KEYS ACCESS_TOKENS rootPassword",
            True,
        ),
        (
            (
                "key_env max_tokens max_tokens_field tokens token_logprobs keys eos_token sort_key"
                " key_column"
            ),
            False,
        ),
        (
            (
                "author monkey uri name SSH_AUTH_SOCK ACCESS_KEY_ID TOKENIZERS_PARALLELISM"
                " token_count secret_name"
            ),
            False,
        ),
    ],
)
def test_names_say_what_is_secret(names: str, secret: bool) -> None:
    assert {name: secret_name(name) for name in names.split()} == dict.fromkeys(
        names.split(), secret
    )


def test_a_config_is_hidden_by_name_shape_and_address() -> None:
    config = {
        "model": {
            "api_key": "short",
            "key_env": "OPENAI_API_KEY",
            "max_tokens_field": "max_completion_tokens",
            "max_tokens": 400,
            "token": "${oc.env:TOKEN}",
            "name": "meta-llama-3.1-70b-instruct-turbo-20250414",
            "extra": {"note": "use AbCd1234EfGh5678IjKl here", "n": 2, "pin": "4711"},
            "password": 12345678,
        },
        "server": {"API_KEY": "a", "headers": [{"token": "b"}], "password": ""},
        "rubric": {
            "wordings": {"en": {"meanings": {"secret": "it is a secret of state"}}}
        },
        "tracking": {"uri": "postgresql://me:pw@host/db"},
        "note": "my key is ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "overrides": ["+model.extra.api_key=short", "a=b"],
    }
    assert scrub_data(config) == {
        "model": (
            config["model"]
            | {
                "api_key": "***",
                "extra": {"note": "use *** here", "n": 2, "pin": "4711"},
            }  # type: ignore[operator]
            | {"password": "***"}
        ),
        "server": {"API_KEY": "***", "headers": [{"token": "***"}], "password": ""},
        "rubric": config["rubric"],
        "tracking": {"uri": "postgresql://***@host/db"},
        "note": "my key is ***",
        "overrides": ["+model.extra.api_key=***", "a=b"],
    }


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("https://gw.example/AbC123def456GHI789jkl0/v1", "https://gw.example/***/v1~"),
        (
            "https://u:p@h/v1?key=abc&v=2024-10-21",
            "https://***@h/v1?key=***&v=2024-10-21~",
        ),
        ("postgresql://u:pa/ss@host/db", "postgresql://***@host/db~"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
        (
            "https://x.example/openai/deployments/gpt-4.1-mini-2025-04-14",
            "https://x.example/openai/deployments/gpt-",
        ),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(
    address: str, shown: str
) -> None:
    found = shown_address(address)
    assert found.startswith(shown)
    assert ("~" in found) == ("~" in shown)


class TestDoors:
    @pytest.mark.parametrize(
        "word",
        (
            "model={api_key: KEY, name: x}",
            *"+model.api_key=KEY ++model.api_key='KEY' model.api_key=EMPTY1,KEY"
            " judge.model.token=KEY".split(),
            *"engine.secret=KEY tracking.password=KEY model.api_base=http://KEY@host/v1".split(),
            *"model.api_base=http://me:KEY@host/v1 model.api_base=https://host/v1?x=KEY".split(),
            *"tracking.uri=postgresql://me:KEY@host/db"
            " tracking.uri='postgresql://host/db?password=KEY'".split(),
            "dataset.path=https://me:KEY@host/x.csv",
        ),
    )
    def test_a_key_typed_in_the_open_is_refused_and_not_repeated(
        self, word: str
    ) -> None:
        key = of(1)
        with pytest.raises(ConfigError) as error:
            check_words([word.replace("KEY", key)])
        assert key not in str(error.value)
        assert "environment" in str(error.value)
        assert key not in scrub(f"elsewhere: {key}")

    @pytest.mark.parametrize(
        "word",
        (
            *"model.extra.api_key=KEY +model.extra.metadata.note=KEY"
            " model.api_base=http://host/KEY/v1".split(),
            *"run.name=KEY run.name=before-KEY,KEY KEY".split(),
            "+model.extra.headers.Authorization='Bearer KEY'",
            "+model.extra={metadata: {user: KEY}}",
        ),
    )
    def test_a_key_typed_elsewhere_is_known_from_then_on(self, word: str) -> None:
        key = of(2)
        check_words([word.replace("KEY", key)])
        assert key not in scrub(f"a server says {key}")

    @pytest.mark.parametrize(
        "word",
        (
            *"model.key_env=OPENAI_API_KEY model.api_key='${oc.env:OPENAI_API_KEY}'"
            " judge=score,debate".split(),
            *"model.max_tokens_field=max_completion_tokens model.api_base=http://[::1]:8000/v1"
            " seed=range(1,5)".split(),
            *"tracking.uri=postgresql://me@host/db tracking.uri=sqlite:////home/me/mlflow.db".split(),
            "rubric.wordings.en.meanings.secret=classified",
        ),
    )
    def test_what_holds_no_key_passes(self, word: str) -> None:
        check_words([word])
        assert (
            scrub("max_completion_tokens classified postgresql")
            == "max_completion_tokens classified postgresql"
        )

    def test_config_files_go_through_the_same_door(self, monkeypatch: Patch) -> None:
        monkeypatch.setenv("MY_GATEWAY", f"https://host/{of(3)}/v1?k=1")
        config = OmegaConf.create(
            {"model": {"api_base": "${oc.env:MY_GATEWAY}", "extra": {"api_key": of(4)}}}
        )
        check_config(config)
        assert scrub(f"{of(3)} {of(4)}") == "<MY_GATEWAY> <model.extra.api_key>"
        with pytest.raises(ConfigError, match=r"`model\.api_key` holds a secret"):
            check_config(OmegaConf.create({"model": {"api_key": of(5)}}))
        with pytest.raises(
            ConfigError, match=r"`model\.api_base` is an address with a user"
        ):
            compose_config([f"model=gpt model.api_base=http://{of(6)}@h/v1".split()[1]])

    def test_the_environment_and_dotenv_are_known_by_their_names(
        self, tmp_path: Path, monkeypatch: Patch
    ) -> None:
        secret = {
            "PGPASSWORD": "correct horse 1",
            "SMTP_PASS": "aaaabbbb",
            "TOKEN_X": "hunter2hunter2",
        }
        ordinary = {
            "KEY_BINDINGS": "emacs-mode of the shell",
            "TOKEN_BUDGET": "100000000",
            "KEY_WORD": "argument",
        }
        for name, value in (
            secret | ordinary | {"OPENAI_API_KEYS": f"{of(17)},{of(18)}"}
        ).items():
            monkeypatch.setenv(name, value)
        (tmp_path / ".env").write_text(
            f"MY_TOKEN={of(7)}\nMY_NAME=somebody-else\n", encoding="utf-8"
        )
        monkeypatch.setenv("DB_PASSWORD", of(8))
        monkeypatch.setenv("DATABASE_URL", f"postgresql://me:{of(9)}@host/db")
        monkeypatch.setenv("SSH_KEY", str(tmp_path))
        check_words([])
        assert (
            scrub(f"{of(7)} {of(8)} {of(9)}")
            == "<MY_TOKEN> <DB_PASSWORD> <DATABASE_URL>"
        )
        assert scrub(f"somebody-else {tmp_path}") == f"somebody-else {tmp_path}"
        assert {name: scrub(value) for name, value in secret.items()} == {
            name: f"<{name}>" for name in secret
        }
        assert scrub(f"{of(17)} {of(18)}") == "<OPENAI_API_KEYS> <OPENAI_API_KEYS>"
        assert {name: scrub(value) for name, value in ordinary.items()} == ordinary

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"A=1\nKEY=\xe7\xe3o12345", r"\.env:2: not UTF-8"),
            ("KEY=abc".encode("utf-16"), r"\.env:1: not UTF-8 but UTF-16"),
            (b"A=1\nKEY=a\0b", r"\.env:2: not text"),
            (b"A=1\nKEY='abc\nB=2", r"\.env:2: not NAME=VALUE"),
        ],
    )
    def test_a_damaged_dotenv_is_named_with_its_line(
        self, tmp_path: Path, content: bytes, message: str
    ) -> None:
        (tmp_path / ".env").write_bytes(content)
        with pytest.raises(DataError, match=message):
            setting("KEY")
        check_words([])  # who does not need it is not kept from working

    def test_servers_with_different_keys_in_their_path_stay_two(self) -> None:
        names = [ChatModel("m", f"http://host/{of(n)}/v1").name for n in (10, 11)]
        assert names[0] != names[1]
        assert names[0].startswith("m@http://host/***/v1~")
        assert ChatModel("m", "http://host/v1").name == "m@http://host/v1"

    def test_a_store_with_a_password_is_named_without_it(
        self, monkeypatch: Patch
    ) -> None:
        with pytest.raises(ConfigError, match="holds a password") as error:
            check_uri(f"mysql://h/db?password={of(12)}")
        assert of(12) not in str(error.value)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"mysql://me:{of(12)}@h/db")
        check_uri(os.environ["MLFLOW_TRACKING_URI"])


class TestSinks:
    def test_the_terminal_and_the_logs(self, monkeypatch: Patch) -> None:
        keep(KEY, "MY_KEY")
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        handler = logging.StreamHandler(err)
        logging.getLogger("a.library").addHandler(handler)
        try:
            with pytest.raises(SystemExit), guarded():
                print("says", KEY)
                sys.stdout.writelines([KEY, "\n"])
                assert not sys.stdout.isatty()
                logging.getLogger("a.library").error("failed with %s", KEY)
                raise RuntimeError(KEY)
        finally:
            logging.getLogger("a.library").removeHandler(handler)
        assert sys.stdout is out
        assert out.getvalue() == "says <MY_KEY>\n<MY_KEY>\n"
        assert "failed with <MY_KEY>" in err.getvalue()
        assert "RuntimeError: <MY_KEY>" in err.getvalue()
        assert KEY not in err.getvalue()

    def test_everything_that_is_handed_to_mlflow(self) -> None:
        import pandas as pd
        from mlflow.entities import Metric, Param

        keep(KEY, "MY_KEY")
        received: list[Any] = []

        class Client:
            def log(self, *given: Any, **named: Any) -> None:
                received.extend([*given, *named.values()])

        table = pd.DataFrame({"n": [1.5, 2.5], "text": [KEY, "x"]})
        WithoutSecrets(Client()).log(
            KEY,
            [Param("a", KEY)],
            {"k": (KEY,)},
            table,
            metrics=[Metric("m", 1.0, 0, 0)],
        )
        assert received[0] == "<MY_KEY>"
        assert received[1][0].value == "<MY_KEY>"
        assert received[2] == {"k": ("<MY_KEY>",)}
        assert list(received[3]["text"]) == ["<MY_KEY>", "x"]
        assert received[3]["n"].dtype == "float64"
        assert table["text"][0] == KEY


class Echo(StubServer):
    """A server that gives back what it should not, in every encoding and at every place of a
    reply."""

    keys: tuple[str, ...] = ()

    def said(self) -> dict[str, str]:
        return {
            f"{how} {n}": write(key)
            for n, key in enumerate(self.keys)
            for how, write in ENCODINGS.items()
        }

    def _chat(
        self, body: dict[str, Any], text: str, fault: Fault | None
    ) -> dict[str, Any]:
        reply = super()._chat(body, text, fault)
        message = reply["choices"][0]["message"]
        answer = json.loads(message["content"]) | {
            "rationale": "You sent " + " ".join(self.said().values())
        }
        message["content"] = json.dumps(answer)
        return reply | {
            "id": self.keys[0],
            "echo": self.said(),
            **{key: 1 for key in self.keys},
        }

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        response = await super()._handle(request)
        response.headers["X-Echo"] = self.keys[0]
        return response


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as server:
        yield server


def ended(words: list[str], **variables: str) -> tuple[int, bytes]:
    """Exit status and all that was printed by `undogmatic WORDS`."""
    done = typed("undogmatic.cli", *words, folder=Path.cwd(), **variables)
    return done.returncode, (done.stdout + done.stderr).encode()


def left_behind(folder: Path, *without: str) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    named = {str(path.relative_to(folder)): path for path in files}
    return {
        name: path.read_bytes() + name.encode()
        for name, path in named.items()
        if name not in without
    }


def leaks(found: Mapping[str, bytes], keys: Mapping[str, str]) -> list[str]:
    return [
        f"{file}: {leak}" for file, raw in found.items() for leak in traces(raw, keys)
    ]


def test_no_key_is_in_what_a_run_leaves(
    echo: Echo, tmp_path: Path, monkeypatch: Patch, capfd: Capture
) -> None:
    keys = {
        name: of(100 + n)
        for n, name in enumerate(
            "key_env dotenv path extra header note name file variable query address flag".split()
        )
    }
    echo.keys = tuple(keys.values())
    unreadable = " ".join(
        f"maximum context length {said}" for said in echo.said().values()
    )
    echo.faults = {
        "long": Fault(
            "status",
            times=None,
            status=400,
            body=json.dumps({"error": {"message": unreadable}}),
        ),
        "busy": Fault("status", times=1, status=503, body=unreadable),
        "rubbish": Fault("body", times=None, body=unreadable),
    }
    (tmp_path / ".env").write_text(f"OTHER_TOKEN={keys['dotenv']}\n", encoding="utf-8")
    mine = tmp_path / "mine" / "experiment"
    mine.mkdir(parents=True)
    (mine / "probe.yaml").write_text(
        f"# @package _global_\nmodel:\n  extra:\n    token: {keys['file']}\n    password:"
        " ${oc.env:PLAIN}\n    callback:"
        f" https://me:{keys['address']}@host/x?signature={keys['query']}\n",
        encoding="utf-8",
    )
    rows = [
        {"id": str(n), "text": f"a text, {how}"}
        for n, how in enumerate(("fine", "long", "busy", "rubbish"))
    ]
    put(tmp_path / "texts.jsonl", rows)
    words = [
        *(
            "run",
            "--config-dir",
            "mine",
            "experiment=probe",
            "model=gpt",
            "dataset=texts",
            "dataset.path=texts.jsonl",
        ),
        *(
            "analysis=none",
            f"model.api_base={echo.url}/{keys['path']}/v1",
            f"+model.extra.api_key={keys['extra']}",
        ),
        f"+model.extra.headers.Authorization='Bearer {keys['header']}'",
        *(
            f"+model.extra.metadata.note={keys['note']}",
            f"run.name=of-{keys['name']}",
            "prompt=anchored_en",
        ),
        *("model.price.input=1", "model.price.output=1"),
        *(
            f"++model.extra.private-token={keys['flag']}",
            "engine.concurrency=1",
            "engine.max_failures=1",
        ),
    ]
    status, printed = ended(
        words, OPENAI_API_KEY=keys["key_env"], PLAIN=keys["variable"]
    )
    assert status == 0, printed.decode()
    assert f"/{keys['path']}/v1/chat/completions" in echo.requests[0].path
    assert echo.requests[0].body["api_key"] == keys["extra"]
    found = left_behind(tmp_path, ".env", "mine/experiment/probe.yaml")
    for part in (
        "judgments.jsonl",
        "run.json",
        ".hydra/hydra.yaml",
        "report.html",
        "mlflow.db",
        "replies.sqlite",
    ):
        assert any(name.endswith(part) for name in found), part
    monkeypatch.setenv("OPENAI_API_KEY", keys["key_env"])
    # which reads the run's configs again
    main(["review", "export", str(next(tmp_path.glob("outputs/*/*")))])
    printed += "".join(capfd.readouterr()).encode()
    found |= left_behind(tmp_path, ".env", "mine/experiment/probe.yaml")
    assert not (seen := leaks(found | {"terminal": printed}, keys)), "\n".join(seen)
    _belongs_to_its_owner(tmp_path)


SHARED = re.compile(
    r"\.lock$|texts\.jsonl$|mine/|spent\.jsonl$|run\.log$|\.env$|\.sha256\.json$|\.gguf$|terminal"
)
"""What quotes no judged text (the rest of a test's folder was put there by the test itself)."""


def _belongs_to_its_owner(folder: Path) -> None:
    """What a run writes is nobody else's to read, unless it quotes no judged text."""
    open_to_all = []
    for path in folder.rglob("*"):
        named = str(path.relative_to(folder))
        # pytest's own folder above is its owner's alone, so that only the folders inside count.
        inside = any(
            stat.S_IMODE(each.stat().st_mode) & 0o077 == 0
            for each in path.parents
            if folder in each.parents
        )
        if (
            path.is_file()
            and not SHARED.search(named)
            and not inside
            and stat.S_IMODE(path.stat().st_mode) & 0o077
        ):
            open_to_all.append(named)
    assert open_to_all == []


def test_no_key_is_in_what_a_sweep_leaves(echo: Echo, tmp_path: Path) -> None:
    keys = {
        name: of(200 + n)
        for n, name in enumerate("key_env extra store first second".split())
    }
    echo.keys = tuple(keys.values())
    (tmp_path / "texts.jsonl").write_text(
        '{"id": "1", "text": "a text"}\n', encoding="utf-8"
    )
    words = [
        *(
            "run",
            "-m",
            "model=gpt",
            "dataset=texts",
            "dataset.path=texts.jsonl",
            "analysis=none",
            "tracking=none",
        ),
        *(
            f"model.api_base={echo.url}/{keys['extra']}/v1",
            "model.price.input=1",
            "model.price.output=1",
        ),
        *("prompt=anchored_en", f"+model.extra.user={keys['first']},{keys['second']}"),
    ]
    store = f"postgresql://me:{keys['store']}@127.0.0.1:1/db"
    status, printed = ended(
        words, OPENAI_API_KEY=keys["key_env"], MLFLOW_TRACKING_URI=store
    )
    assert status == 0, printed.decode()
    found = left_behind(tmp_path)
    for part in ("multirun.yaml", "sweep.json", "1/.hydra/overrides.yaml"):
        assert any(name.endswith(part) for name in found), part
    assert not (seen := leaks(found | {"terminal": printed}, keys)), "\n".join(seen)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["+model.api_key=KEY"], ""),
        (
            ["--config-dir", "mine", "experiment=mine"],
            "# @package _global_\nmodel:\n  api_key: KEY\n",
        ),
        (
            ["-m", "seed=1,2", "--config-dir", "mine", "experiment=mine"],
            "# @package _global_\nmodel:\n  token: KEY\n",
        ),
    ],
)
def test_a_refused_key_leaves_nothing(
    words: list[str], file: str, tmp_path: Path
) -> None:
    key = of(300)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "mine.yaml").write_text(
        file.replace("KEY", key) or "seed: 1", encoding="utf-8"
    )
    status, printed = ended(
        [
            "run",
            *(word.replace("KEY", key) for word in words),
            "model=patterns",
            "tracking=none",
        ]
    )
    assert (status, printed.count(b"error: ")) == (2, 1), printed.decode()
    assert b"Traceback" not in printed
    assert (
        leaks(
            left_behind(tmp_path, "mine/experiment/mine.yaml") | {"terminal": printed},
            {"key": key},
        )
        == []
    )
    assert not (tmp_path / "outputs").exists()


def test_no_key_is_in_what_a_notebook_shows(
    echo: Echo, tmp_path: Path, monkeypatch: Patch
) -> None:
    keys = {"key_env": of(400), "extra": of(401), "path": of(402)}
    echo.keys = tuple(keys.values())
    monkeypatch.setenv("OPENAI_API_KEY", keys["key_env"])
    price = {"price.input": 1, "price.output": 1}
    model = {"name": "gpt", "api_base": f"{echo.url}/{keys['path']}/v1"} | price
    extra = f"+model.extra.api_key={keys['extra']}"
    table = undogmatic.judge(
        ["a text"], model=model, overrides=[extra], prompt="anchored_en", progress=False
    )
    shown = {"html": table._repr_html_().encode(), "csv": table.to_csv().encode()}
    words = [
        "model=gpt",
        *(f"model.{key}={value}" for key, value in model.items() if key != "name"),
    ]
    one = score_text("a text", [*words, extra, "prompt=anchored_en"])
    shown["result"] = repr(one).encode() + one.model_dump_json().encode()
    assert table["score"].notna().all()
    assert one.score is not None
    assert leaks(shown | left_behind(tmp_path), keys) == []
    with pytest.raises(ConfigError) as error:
        undogmatic.judge(["a text"], model={"name": "gpt", "api_key": of(403)})
    assert of(403) not in str(error.value)

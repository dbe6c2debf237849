"""Secrets: what is one, and how it is kept out of whatever the program writes or prints.

They come in with the environment and `.env`, the words of the command line and config files. What
would be kept where all see it who see the run's folder (a key as `model.api_key`, in the user part
of an address, in its query) is refused before anything is written; all else is known from then on
and hidden.

Three rules say what is one. By value: whatever came in under a secret's name or as part of an
address (`keep`) is replaced in every text, however it is encoded. By name: in a config, what stands
under a name such as `api_key` is hidden whatever it is. By shape: in a config, what looks like a
provider's key; in addresses and in the further fields of a request also long words of letters and
digits. Every sink applies them: `files` for the disk, the tracker for MLflow, `command` for the
terminal and the logs, `runs.manifest` for what Hydra writes itself.

In what models say and in judged texts only the first rule counts: `token` is an ordinary word of
theirs.
"""

import base64
import contextlib
import hashlib
import html
import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.outside import read_env

HIDDEN = "***"
_REDACTED = re.compile(r"sha256:[0-9a-f]{16} \(\d+ characters\)")
SHORTEST = 8  # shorter values are no secrets and must not be cut out of ordinary text
STAND_INS = frozenset(
    "changeme disabled no-api-key no-key-needed no-key-required nokeyneeded not-needed not-required"
    " notneeded ollama-key optional placeholder required undefined your-api-key"
    " your-key-here".split()
)
"""What people write where a server wants a key and takes any; nor may these be cut out."""

_ALWAYS = frozenset(
    "apikey apikeys apitoken apitokens accesskey accesskeys accesstoken authkey authtoken"
    " authorization bearer cookie cookies credential credentials creds jwt passcode passphrase"
    " passwd password passwords privatekey pwd secret secretkey secretkeys secrets".split()
)
_LAST = frozenset("auth key pass pat sas sig signature token".split())
_BEFORE = frozenset(
    "access account api auth bearer client master private refresh secret session"
    " subscription".split()
)
_NO_SECRET = frozenset(
    "column count env field file header id kind length limit method name path scheme type url uri"
    " var variable".split()
)
_ORDINARY = frozenset(
    "bos cache cls column end eos first foreign group id index item join label mask max next pad"
    " pair per primary row sep sort special start stop text unk".split()
)
# without a mark between a name's parts: PGPASSWORD
_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
)
_MAYBE = frozenset("key keys pass token tokens".split())
"""In the name of a variable any of these may mean a secret, wherever it stands: TOKEN_X; its value
then decides."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LISTED = re.compile(r"[\s,;]+")
# parts of a list of keys that are as long as this are secrets by themselves
LONG_SECRET = 16

_KNOWN = re.compile(
    r"""(?<![A-Za-z0-9])(?:
    sk-(?=[\w-]{0,200}\d)[\w-]{16,} | (?:sk|pk|rk)_(?:live|test)_\w{10,} | hf_\w{16,}
    | gh[opsur]_\w{20,} | github_pat_\w{20,} | glpat-[\w-]{16,} | AIza[\w-]{30,}
    | xox[abeprs]-[\w-]{10,} | eyJ[\w-]{10,1000}\.[\w-]{5,}(?:\.[\w-]*)?
    | (?:AKIA|ASIA)[0-9A-Z]{16} | gsk_\w{20,} | r8_\w{20,} | dapi[0-9a-f]{32} | xai-[\w-]{20,}
    | pplx-[\w-]{20,} | nvapi-[\w-]{20,} | ya29\.[\w-]{20,}
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[^-]*-----|$)
    )""",
    re.VERBOSE,
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_ADDRESS = re.compile(
    r"""(?<![\w+.-])(?P<scheme>[A-Za-z][\w+.-]{0,40})://
    (?:(?P<user>[^\s/@:"'<>]*:(?!\d+(?:[/?\#]|$))[^\s@"'<>]*|[^\s/@?\#"'<>]*)@)?
    (?P<host>[^\s/?\#]*) (?P<path>[^\s?\#]*) (?:\?(?P<query>[^\s\#]*))? (?:\#(?P<fragment>\S*))?""",
    re.VERBOSE,
)
_CREDENTIALS = re.compile(r"""://[^/@\s?#"'\\<>]+@""")
_REFERENCE = re.compile(r"\$\{[^${}]*\}")
_WHOLE_REFERENCE = re.compile(r"\$\{(?:oc\.env:)?[\w.]+(?:,\s*(?:null|''|\"\")?)?\}")
_GIVEN = re.compile(
    r"(?<![\w./+~-])([+~]{0,2}[\w.@/-]{1,200})=((?:\\.|[^\s,&\"'])+|\"[^\"]*\"|'[^']*')"
)
_SCHEME = re.compile(
    r"(?:bearer|basic|token|apikey|api-key|key)\s+(\S+)", re.IGNORECASE
)
_PROSE = frozenset("rubric prompt wordings texts dataset analysis report".split())
"""Where names are the user's own (a criterion may be called `secret`): there a value counts only by
its shape."""
_OURS = frozenset({"model", "tracking", "engine"})
"""The sections whose keys are ours, so that a secret's name there is a mistake; `extra` in them is
the server's."""
_THEIRS = frozenset({"extra", "options", "rubric", "prompt", "wordings", "texts"})
_OVERRIDE = re.compile(r"[+~]{0,2}([\w./-]+)(?:@[\w.]+)?=([\s\S]*)")
_PAIR = re.compile(
    r"(?<![\w-])([\w-]{1,200})\s{0,9}:\s*('[^']*'|\"[^\"]*\"|[^,{}\[\]]+)"
)

# escapes within escapes, read at most so often: a hostile text must not cost time by its depth.
_LAYERS = 8
_CODE = re.compile(r"\\(?:[uU]00|[xX])([2-7][0-9a-fA-F])")
_WINDOW = 4_000

_kept: dict[str, str] = {}
_forms: dict[str, str] = {}


def keep(value: str, name: str) -> None:
    """From now on `value` is written nowhere, in no encoding; `<name>` stands in its place."""
    shown = f"<{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}>"
    # A key in a file may end with a line break, or be escaped for an address; what
    # leaks is mostly the bare form.
    parts = [value, unquote(value), *value.splitlines()]
    parts += [
        part
        for part in _LISTED.split(value)
        if len(part) >= LONG_SECRET and not part.isalpha()
    ]
    for part in dict.fromkeys(each.strip() for each in parts):
        if (
            len(part) >= SHORTEST
            and part.lower() not in STAND_INS
            and part not in _kept
            and HIDDEN not in part
        ):
            _kept[part] = shown
            raw = part.encode("utf-8", "replace")
            # What a bare text holds where it holds the part: itself, its hex, or its base64 at any
            # place in a longer one, without the characters that the bytes before and after have a
            # share in.
            forms = {part, part.lower(), _bare(part), raw.hex(), raw.hex().upper()}
            # In base64 the same bytes look different at each of three places within a
            # longer text.
            for shift in range(3):
                whole = base64.b64encode(bytes(shift) + raw).decode()
                inner = whole[-(-8 * shift // 6) : (shift + len(raw)) * 8 // 6]
                forms |= {inner, inner.replace("+", "-").replace("/", "_")}
            _forms.update(dict.fromkeys(forms, shown))
            # the longest first, or a part of it would be replaced before
            for held in (
                _kept,
                _forms,
            ):
                for longest_first in sorted(held, key=len, reverse=True):
                    held[longest_first] = held.pop(longest_first)


def scrub(text: str) -> str:
    """The text without secrets that were kept, and without credentials in addresses."""
    for value, shown in _kept.items():
        text = text.replace(value, shown)
    # Looked for in the bare text first, as nearly all texts hold no secret and cutting
    # takes long.
    if holds(text):
        # the second time for what is longer, escaped, than a window
        for window in (
            _WINDOW,
            len(text),
        ):
            text = _cut_out(text, window)
    return _CREDENTIALS.sub(f"://{HIDDEN}@", text) if "://" in text else text


def holds(text: str) -> bool:
    """Whether a secret that was kept is in the text, in any encoding."""
    return bool(_forms) and any(map(_bare(text).__contains__, _forms))


def _bare(text: str) -> str:
    """The text without its escapes, of JSON, addresses and HTML, several times and mixed: for
    looking into only."""
    # A server quotes a request within JSON within an error page: each layer escapes
    # what the last one wrote.
    for _ in range(_LAYERS):
        before = text
        text = (
            _CODE.sub(lambda code: chr(int(code[1], 16)), text)
            if "\\" in text
            else text
        )
        text = html.unescape(unquote(text))
        if text == before:
            if "\\" not in text:
                break
            text = text.replace("\\", "")
    return text


def _cut_out(text: str, size: int) -> str:
    """The text with each kept secret replaced, however it is escaped, looked for in windows that
    overlap by half."""
    pieces, at = [], 0
    none_here = (max(size // 2, 1), max(size // 2, 1), "")
    while at < len(text):
        start, end, shown = min(
            _spans(text[at : at + size]),
            key=lambda span: (span[0], -span[1]),
            default=none_here,
        )
        pieces += [text[at : at + start], shown]
        at += end
    return "".join(pieces)


def _spans(window: str) -> Iterator[tuple[int, int, str]]:
    """Where kept secrets begin and end, escapes included, and what to show in their place: of those
    that may be the first in the window."""
    plain = _bare(window)
    places = {form: place for form in _forms if (place := plain.find(form)) >= 0}
    # Only the first span in a window is cut out. What begins after another has ended is not the
    # first, and to look for its ends takes longer than all else here.
    first_end = min((place + len(form) for form, place in places.items()), default=0)
    for form in (form for form, place in places.items() if place < first_end):
        end = bisect_left(
            range(len(window)), True, key=lambda n: form in _bare(window[:n])
        )
        start = (
            bisect_left(
                range(end), True, key=lambda n: form not in _bare(window[n:end])
            )
            - 1
        )
        start = len(window[: max(start, 0)].rstrip("\\"))
        yield (
            start,
            end + (window[end : end + 1] == ";" and "&" in window[start:end]),
            _forms[form],
        )


def scrub_data(value: Any, key: str = "") -> Any:
    """A config's plain data without secrets, by all three rules; `key` is where it stands, with
    dots."""
    if isinstance(value, Mapping):
        return {k: scrub_data(v, f"{key}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_data(v, key) for v in value]
    # Whole numbers, too: a password of digits is read as a number by YAML.
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    hidden = HIDDEN if _hides(key, value) else value
    return scrub_words(hidden, key) if isinstance(hidden, str) else hidden


def scrub_words(text: str, key: str = "") -> str:
    """A text of a config or a command line without secrets: also what is given there as
    NAME=VALUE."""
    if "://" in text:
        text = _ADDRESS.sub(lambda found: shown_address(found[0], marked=False), text)
    if "=" in text:
        text = _GIVEN.sub(
            lambda m: f"{m[1]}={HIDDEN}" if _hides(m[1], m[2].strip("\"'")) else m[0],
            text,
        )
    for secret in _by_shape(text, key):
        text = text.replace(secret, HIDDEN)
    return scrub(text)


def learn(value: Any, name: str) -> None:
    """Keep the secrets in a part of a config; `name`, where it stands, says what is shown in the
    place of one."""
    for place, text in leaves(value, name):
        plain = _REFERENCE.sub(" ", text).strip()
        if _hides(place, plain):
            keep(plain, place)
            if scheme := _SCHEME.fullmatch(plain):
                keep(scheme[1], place)
        for secret in (*_in_addresses(text), *_by_shape(text, place)):
            keep(secret, place)


def leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """The texts and whole numbers of plain data as texts, each with its place."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, name)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield name, str(value)


def secret_name(place: str) -> bool:
    """Whether what stands there is a secret by its name: the last part of `model.extra.api_key`, of
    `X-Api-Key`."""
    words = [word.lower() for word in _WORD.findall(place.rpartition(".")[2])]
    # `api_key_env` names a variable that holds a key, and is none.
    if not words or words[-1] in _NO_SECRET:
        return False
    if not _ALWAYS.isdisjoint(words) or any(word.endswith(_ENDS) for word in words):
        return True
    if any(
        a in _BEFORE and b in ("key", "keys", "token", "tokens")
        for a, b in pairwise(words)
    ):
        return True
    # A `primary_key` and a `stop_token` are ordinary words; a `key` alone is not.
    return words[-1] in _LAST and (len(words) == 1 or words[-2] not in _ORDINARY)


def has_secret(text: str, also_users: bool = False) -> bool:
    """Whether an address in the text has a password, or a query with something under a secret's
    name. With `also_users` a user without a password counts, and any query, as where an address
    takes neither."""
    return any(
        (address["user"] is not None and (also_users or ":" in address["user"]))
        or (also_users and address["query"])
        or any(secret_name(name) and value for name, value in _pairs(address))
        for address in _ADDRESS.finditer(text)
    )


def shown_address(address: str, marked: bool = True) -> str:
    """The address with user part, secret query and key-like parts of the path hidden. If `marked`,
    what is not whole ends with a short hash of it, so that two stay two."""
    parts = _ADDRESS.match(address)
    if parts is None:
        return address
    hidden = dict.fromkeys(_in_addresses(parts[0]), HIDDEN)
    shown = (
        f"{parts['scheme']}://"
        + (f"{HIDDEN}@" if parts["user"] is not None else "")
        + parts["host"]
    )
    shown += "/".join(hidden.get(part, part) for part in parts["path"].split("/"))
    if parts["query"] is not None:
        shown += "?" + re.sub(
            r"(?<==)[^&;]*",
            lambda value: hidden.get(value[0], value[0]),
            parts["query"],
        )
    if parts["fragment"] is not None:
        shown += f"#{hidden.get(parts['fragment'], parts['fragment'])}"
    shown += address[parts.end() :]
    return (
        f"{shown}~{hashlib.sha256(address.encode()).hexdigest()[:8]}"
        if marked and shown != address
        else shown
    )


def keep_environment(variables: Mapping[str, str | None]) -> None:
    """Keep the secrets among variables: those whose name says so, and those in addresses."""
    for name, value in variables.items():
        if value is None or len(value) < SHORTEST:
            continue
        words = [word.lower() for word in _WORD.findall(name)]
        # A name that speaks of a key or a token, and what could be one: no number, no word.
        may_be = (
            not _MAYBE.isdisjoint(words)
            and words[-1] not in _NO_SECRET
            and _ORDINARY.isdisjoint(words)
        )
        mixed = (
            any(map(str.isalpha, value))
            and not value.isalpha()
            and _LISTED.search(value.strip()) is None
        )
        if (secret_name(name) or (may_be and mixed)) and not os.path.exists(value):
            keep(value, name)
        for secret in _in_addresses(value):
            keep(secret, name)


def _hides(place: str, value: str | int) -> bool:
    text, parts = str(value), place.lower().split(".")
    if not text or _WHOLE_REFERENCE.fullmatch(text) or not secret_name(place):
        return False
    prose = not _PROSE.isdisjoint(parts) or (
        parts[-1] in ("key", "token") and " " in text
    )
    return not prose or _looks_random(text)


def _by_shape(text: str, place: str) -> list[str]:
    words = (
        re.findall(r"[^\s\"',;:{}\[\]()<>]+", text)
        if "extra" in place.split(".")
        else []
    )
    return [*_KNOWN.findall(text), *filter(_looks_random, words)]


def _looks_random(word: str) -> bool:
    """Twenty characters and more without a space, with sixteen letters and digits in a row; no name
    and no path."""
    if _KNOWN.fullmatch(word) or _UUID.fullmatch(word):
        return True
    if len(word) < 20 or " " in word or word.startswith(("/", "./", "~/")):
        return False
    return any(
        (sum(map(str.isdigit, run)) >= 2 and any(map(str.isalpha, run)))
        or (len(run) >= 20 and run.isdigit())
        for run in _RUN.findall(unquote(word))
    )


def _in_addresses(text: str) -> list[str]:
    """The secrets in addresses: password, what a query gives under a secret's name, and all that
    looks random."""
    secrets: list[str] = []
    for address in _ADDRESS.finditer(text) if "://" in text else ():
        user, _, password = (address["user"] or "").partition(":")
        words = [user, *address["path"].split("/"), address["fragment"] or ""]
        words += [value for name, value in _pairs(address) if not secret_name(name)]
        secrets += [
            password,
            *(value for name, value in _pairs(address) if secret_name(name)),
        ]
        secrets += [
            word for word in words if _looks_random(word) or _KNOWN.search(word)
        ]
    return [
        secret
        for secret in secrets
        if secret and not _REFERENCE.search(secret) and secret != HIDDEN
    ]


def _pairs(address: re.Match[str]) -> list[tuple[str, str]]:
    """The names and values in the query of an address."""
    parts = [part.partition("=") for part in re.split("[&;]", address["query"] or "")]
    return [(unquote_plus(name), value) for name, _, value in parts]


def redacted(text: str) -> str:
    """A text's hash (first 16 hex digits of its SHA-256) and length; what is redacted already stays
    as it is."""
    if is_redacted(text):
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]} ({len(text)} characters)"


def is_redacted(text: object) -> bool:
    """Whether a value is what `redacted` leaves of a text."""
    return isinstance(text, str) and _REDACTED.fullmatch(text) is not None


def know_environment() -> None:
    """Know the secrets in the environment and in `.env`. A damaged `.env` is refused where it is
    needed."""
    keep_environment(os.environ)
    with contextlib.suppress(DataError):
        keep_environment(read_env(Path(".env")))


def check_words(words: Sequence[str]) -> None:
    """Know the secrets in overrides. Raises ConfigError, without repeating it, for one that would
    be kept openly."""
    know_environment()
    for place, value in know_words(words):
        _refuse(place, value)


def know_words(words: Sequence[str]) -> list[tuple[str, str]]:
    """Know the secrets in overrides; what these give, as places and values."""
    overrides = [pair for word in words for pair in _overridden(word)]
    for place, value in overrides:
        learn(value, place)
    return overrides


def check_config(config: Any) -> None:
    """`check_words` for a composed config, references and all; without Hydra's own part. Raises
    ConfigError."""
    know_environment()
    from omegaconf import OmegaConf

    plain: Any = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
    plain.pop("hydra", None)
    learn(plain, "")
    for place, value in leaves(plain, ""):
        _refuse(place, value)


def without_secrets(plain: Any) -> Any:
    """What Hydra or we may write down of a config or of a list of overrides, given as plain
    data."""
    know_environment()
    if isinstance(plain, dict):
        hydra = plain.get("hydra") or {}
        learn({key: value for key, value in plain.items() if key != "hydra"}, "")
        learn(hydra.get("job", {}).get("env_set") or {}, "hydra.env_set")
        know_words(
            [
                str(word)
                for words in (hydra.get("overrides") or {}).values()
                for word in words
            ]
        )
    elif isinstance(plain, list):
        know_words(list(map(str, plain)))
    return scrub_data(plain)


def _overridden(word: str) -> Iterator[tuple[str, str]]:
    """What an override gives, as places and values; of any other word the word itself."""
    if (override := _OVERRIDE.fullmatch(word)) is None:
        yield "", word
        return
    place, value = override[1].replace("/", "."), override[2].strip()
    yield place, value.strip("\"'")
    if not value.startswith(("'", '"')):
        # of a sweep, or of a list
        for part in value.split(",") if "," in value else ():
            yield place, part.strip().strip("[]{}()\"'")
        for key, inner in _PAIR.findall(value):  # of a mapping, however deep
            yield f"{place}.{key}", inner.strip().strip("\"'")


def _refuse(place: str, value: str) -> None:
    parts = place.split(".")
    if (
        not value
        or value in ("null", "???")
        or "${" in value
        or not _THEIRS.isdisjoint(parts)
    ):
        return
    if secret_name(place) and not _OURS.isdisjoint(parts[:-1]):
        raise ConfigError(
            f"`{place}` holds a secret, which would be kept in the run's folder and, typed, in the"
            " shell's history. Put it into the environment or .env and name the variable with"
            " model.key_env=NAME; what belongs into the body of a request may be"
            f" model.extra.{parts[-1]}='${{oc.env:NAME}}'."
        )
    if "://" in value and has_secret(value, also_users=parts[-1] == "api_base"):
        raise ConfigError(
            f"`{place}` holds a password, which would be kept in the run's overrides and reports."
            f" Put the address into MLFLOW_TRACKING_URI in the environment and leave {place} out."
            if "tracking" in parts
            else (
                f"`{place}` is an address with a user, password or key in it, which would be kept"
                " in the run's folder and reports. Put the key into the environment or .env and"
                " name the variable with model.key_env=NAME."
            )
        )

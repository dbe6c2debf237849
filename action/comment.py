"""Puts what came of a gate into one comment on the pull request: a new one, or that of last time.

It is run by the action with the standard library alone. The comment is known by a mark in its first
line, and only one that this token wrote is changed. The token goes to GitHub's API and nowhere
else: it is never printed, and no redirect is followed. Whatever goes wrong here is a warning, for
the gate alone decides how the step ends.
"""

import hashlib
import http.client
import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

LONGEST = 60_000  # characters; GitHub takes 65,536 in a comment
PER_PAGE, MOST_PAGES = 100, 50
SECONDS = 30
RIGHT = (
    "this token may not write comments ({status}). Give the job `permissions: pull-requests:"
    " write`. A pull request from a fork never has that right; the outcome is in the summary of"
    " the job"
)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, because the token would go along."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return nothing, so that the redirect is an error."""


class Api:
    """GitHub's API with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url.rstrip("/"), token
        self.opener = urllib.request.build_opener(NoRedirect)

    def __call__(self, method: str, path: str, given: Any = None) -> Any:
        """What the API answers. Raises OSError, ValueError."""
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        request.add_header("User-Agent", "undogmatic-gate")
        if given is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(given).encode()
        with self.opener.open(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())


def main() -> None:
    """Put the file COMMENT into the comment, and say what became of it."""
    token = os.environ.get("TOKEN", "").strip()
    try:
        print(posted(token))
    except urllib.error.HTTPError as error:
        refused = error.code in (401, 403, 404)
        warn(
            RIGHT.format(status=error.code)
            if refused
            else f"the API answered {error.code}",
            token,
        )
    except urllib.error.URLError as error:
        warn(f"the API cannot be reached ({error.reason})", token)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        http.client.HTTPException,
    ) as error:
        warn(f"something is not as it should be ({type(error).__name__})", token)


def posted(token: str) -> str:
    """Write the comment; what became of it, in a sentence."""
    number = pull_request()
    if number is None:
        return "This is no pull request, so there is no comment."
    file = Path(os.environ["COMMENT"])
    if not file.is_file():
        return f"{file} was not written, so there is no comment."
    repository = os.environ["GITHUB_REPOSITORY"]
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise ValueError("GITHUB_REPOSITORY is no repository")
    api = Api(os.environ.get("GITHUB_API_URL", "https://api.github.com"), token)
    mark = marked(os.environ.get("CARD", ""), os.environ.get("CONFIG", ""))
    text = file.read_text(encoding="utf-8")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n\n... The rest is in the summary of the job.\n"
    body = {"body": f"{mark}\n{text}"}
    comments = f"/repos/{repository}/issues/{number}/comments"
    before = earlier(api, comments, mark)
    if before is None:
        api("POST", comments, body)
        return "The comment was written."
    api("PATCH", f"/repos/{repository}/issues/comments/{before}", body)
    return "The comment of last time was written anew."


def pull_request() -> int | None:
    """The number of the pull request that started this, or None."""
    event = os.environ.get("GITHUB_EVENT_PATH", "")
    told = json.loads(Path(event).read_text(encoding="utf-8")) if event else {}
    number = (told.get("pull_request") or {}).get("number")
    return None if number is None else int(number)


def marked(card: str, config: str) -> str:
    """The mark of this gate: several in one pull request have a comment each."""
    known = hashlib.sha256(f"{card}\n{config}".encode()).hexdigest()[:12]
    return f"<!-- undogmatic-gate {known} -->"


def earlier(api: Api, comments: str, mark: str) -> int | None:
    """The comment that was written last time, by its number. A comment of somebody else with the
    same mark is left alone."""
    own = myself(api)
    for page in range(1, MOST_PAGES + 1):
        found = api("GET", f"{comments}?per_page={PER_PAGE}&page={page}")
        for each in found:
            user = each.get("user") or {}
            mine = (
                user.get("type") == "Bot" if own is None else user.get("login") == own
            )
            if mine and (each.get("body") or "").startswith(mark):
                return int(each["id"])
        if len(found) < PER_PAGE:
            break
    return None


def myself(api: Api) -> str | None:
    """Who owns the token; None for the one of a workflow, which may not ask that."""
    try:
        return str(api("GET", "/user")["login"])
    except urllib.error.HTTPError as error:
        if error.code in (403, 404):
            return None
        raise


def warn(why: str, token: str) -> None:
    """Print a warning that the runner shows, in one line and without the token."""
    line = " ".join(why.split()).replace(token or "\0", "***").replace("%", "%25")
    print(f"::warning::No comment was written on the pull request: {line}.")


if __name__ == "__main__":
    main()
    sys.exit(0)

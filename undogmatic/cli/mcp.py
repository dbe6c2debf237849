"""`undogmatic mcp`: serves three tools over the Model Context Protocol, for assistants that ask
whether a judge may be trusted.

The tools answer as the commands do, in the same sentences and the same JSON. They read only what
lies in the folder where the server was started, and write nothing but a card that was not there.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from undogmatic.cli.check import pairs_of
from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.runs.versions import versions
from undogmatic.safety.apart import in_settings, inside, named
from undogmatic.safety.command import tell
from undogmatic.safety.extras import needs
from undogmatic.safety.outside import visible
from undogmatic.safety.secrets import scrub

ABOUT = "Whether an LLM judge may be trusted. Paths are those of this server's folder."
TOOLS = {
    "check": (
        "Say whether to trust an LLM judge, by files with its verdicts and people's labels: what"
        " it may be used for, what not, and what is not known."
    ),
    "gate": "Hold a trust card, or a run, against thresholds: pass, fail, undecided or void.",
    "label_queue": (
        "List the items that people should label next, and the command with which they do it. Do"
        " not label them yourself: a judge is held against labels of people."
    ),
}
LONGEST_TEXT = 2_000
"""Characters of a text that the queue shows; the page and the file have all of it."""
_one_at_a_time = threading.Lock()
Answer = tuple[Sequence[str], Mapping[str, Any]]
"""What a tool says: lines, and the same as JSON."""
Language = Literal["en", "pt"]


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "mcp",
        help="serve check, gate and label queue to an assistant (MCP, over stdio)",
    )
    parser.set_defaults(run=lambda _: _serve())


def _serve() -> None:
    """Serve until the assistant ends it. Raises ConfigError where a person has typed the command,
    ModuleNotFoundError where `mcp` is not installed."""
    made = server()
    if sys.stdin.isatty():
        server_of = {"undogmatic": {"command": "undogmatic", "args": ["mcp"]}}
        example = json.dumps({"mcpServers": server_of})
        raise ConfigError(
            "`undogmatic mcp` is started by an assistant, with which it speaks over its standard"
            f" input. Put it into the assistant's settings, e.g. {example} (docs/howto/mcp.md)."
        )
    for sent in (signal.SIGINT, signal.SIGTERM):
        # At once: nothing is half done, and what reads the input would wait for its next line.
        signal.signal(sent, signal.SIG_DFL)
    made.run("stdio")


def server() -> Any:
    """The server with its three tools. Raises ModuleNotFoundError where `mcp` is not installed."""
    needs("mcp")
    from mcp.server import MCPServer
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import Field

    known: dict[str, Any] = {"version": versions()["undogmatic"]}
    known |= {"instructions": ABOUT, "log_level": "WARNING"}
    made = MCPServer("undogmatic", **known)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    adds = {"read_only_hint": False, "destructive_hint": False}
    writes = reads.model_copy(update=adds)

    def about(what: str, **limits: Any) -> Any:
        """What an argument is, as the assistant reads it."""
        return Field(description=what, **limits)

    def said(tool: str, work: Callable[[], Answer]) -> CallToolResult:
        """What a tool says, or what is wrong with what it was given."""
        try:
            with _one_at_a_time:
                lines, found = work()
        except (UndogmaticError, OSError, ImportError) as error:
            message = visible(scrub(tell(error, f"undogmatic {tool}")[0]))
            return CallToolResult(content=[TextContent(text=message)], is_error=True)
        text = visible("\n".join(lines))
        content: list[Any] = [TextContent(text=text)]
        return CallToolResult(content=content, structured_content=dict(found))

    @made.tool(description=TOOLS["check"], annotations=writes)
    def check(
        files: Annotated[
            list[str], about("tables of verdicts and labels", min_length=1)
        ],
        options: Annotated[
            dict[str, Any], about("e.g. {judge: gpt, human: [ana]}")
        ] = {},  # noqa: B006
        against: Annotated[str | None, about("an earlier file, run or card")] = None,
        card: Annotated[str | None, about("write a trust card: card.json")] = None,
        language: Language = "en",
    ) -> CallToolResult:
        return said("check", lambda: _check(files, options, against, card, language))

    @made.tool(description=TOOLS["gate"], annotations=reads)
    def gate(
        card: Annotated[str, about("a trust card (JSON), or the folder of a run")],
        config: Annotated[str | None, about("default: undogmatic-gate.yaml")] = None,
        judge: Annotated[dict[str, str], about("as it is now: {model: gpt-5}")] = {},  # noqa: B006
        data: Annotated[list[str], about("labels and items as they are now")] = [],  # noqa: B006
        language: Language | None = None,
    ) -> CallToolResult:
        return said("gate", lambda: _gate(card, config, judge, data, language))

    @made.tool(description=TOOLS["label_queue"], annotations=reads)
    def label_queue(
        source: Annotated[str, about("a table of texts, or the folder of a run")],
        n: Annotated[int, about("how many items", ge=1, le=100)] = 20,
        by: Annotated[str | None, about("a column to draw evenly from")] = None,
        language: Language = "en",
    ) -> CallToolResult:
        return said("label", lambda: _queue(source, n, by, language))

    return made


def _check(
    files: Sequence[str],
    options: Mapping[str, Any],
    against: str | None,
    card: str | None,
    language: str,
) -> Answer:
    from undogmatic.cli.checked import checked
    from undogmatic.report import card as cards
    from undogmatic.report.check import as_json, in_lines, words_of

    inside([*named("files", files), *named("against", against), *named("card", card)])
    place = None if card is None else cards.checked_path(card)
    result, reading = checked(files, against, options, {})
    words = words_of(language)
    lines, found = in_lines(result, words), as_json(result, words)
    if place is not None:
        how = reading.model_dump(mode="json", exclude_defaults=True)
        made = cards.cards_of(result, words, how)
        there = [place.with_stem(f"{place.stem}{added}") for added in made]
        if taken := [path for path in there if os.path.lexists(path)]:
            there_is = f"card is {str(taken[0])!r}, which is there already."
            raise ConfigError(f"{there_is} Name another.")
        found |= {"cards": [str(path) for path in cards.write(made, place)]}
    return lines, found


def _gate(
    card: str,
    config: str | None,
    judge: Mapping[str, str],
    data: Sequence[str],
    language: str | None,
) -> Answer:
    from undogmatic.examinations import gate
    from undogmatic.report import gate as shown
    from undogmatic.report.check import words_of

    demands = Path(config or gate.CONFIG)
    typed = [f"{key}={value}" for key, value in judge.items()]
    try:
        read = [*named("card", card), *named("config", demands), *named("data", data)]
        inside([*read, *in_settings(typed)])
        inside(named("drift", gate.drift_file(demands)))
        asked = None if config is None else demands
        now = pairs_of(typed, "judge"), [Path(each) for each in data]
        result, spoken = gate.examine(Path(card), asked, *now)
    # void, as with the command
    except (UndogmaticError, OSError, ImportError) as error:
        why = scrub(tell(error, "undogmatic gate")[0])
        result, spoken = gate.broken(card, why), "en"
    spoken = language or spoken
    words = words_of(spoken, result.units.get(spoken), result.texts)
    return shown.in_lines(result, words), shown.as_json(result, words)


def _queue(source: str, n: int, by: str | None, language: str) -> Answer:
    from undogmatic.cli.upcoming import upcoming

    inside(named("source", source))
    return upcoming(source, n, by, language, LONGEST_TEXT)

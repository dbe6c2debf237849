"""Holds `undogmatic align`: opens a page in the browser on which a judge's prompt is edited beside
what people said, and tested on texts that no edit was tuned on."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.doors import add_language, add_page
from undogmatic.errors import ConfigError, RunStopped
from undogmatic.safety.outside import brief, visible

if TYPE_CHECKING:
    from undogmatic.engine.recipe import Parts
    from undogmatic.records.records import Item
    from undogmatic.review.session import Edit, Said, Session
    from undogmatic.runs.folder import RunFolder


def add(commands: Any) -> None:
    """Add the command."""
    align = commands.add_parser(
        "align",
        help="edit a judge's prompt beside people's labels, and test it on held-out texts",
    )
    align.add_argument(
        "run_folder", metavar="RUN", help="the folder of a run with labels"
    )
    own = "a folder of config groups of your own, which the run had"
    align.add_argument("--config-dir", metavar="DIR", help=own)
    add_language(align)
    add_page(align)
    align.set_defaults(run=_align)


def _align(typed: argparse.Namespace) -> None:
    from undogmatic.records.progress import doing, speaking
    from undogmatic.records.words import Words
    from undogmatic.review.align import Desk, Server
    from undogmatic.review.server import in_browser
    from undogmatic.review.session import share
    from undogmatic.runs.folder import RunFolder

    words = Words(typed.language, [Path(__file__).with_name("align.texts.yaml")])
    with speaking(typed.language), doing("reading the run", soon=True):
        folder = RunFolder.open(typed.run_folder, "RUN")
        run = _Run(folder, typed.config_dir)
        session = run.session()
    desk = Desk(session, typed.language, run.about(), run.parts.prompted, run.sent())
    try:
        server = Server(desk, typed.port)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"--port is {typed.port}, which cannot be used: {error}. Leave it out."
        ) from None
    edits = session.edits()
    counts: dict[str, Any] = {part: len(items) for part, items in session.parts.items()}
    counts |= {
        "total": sum(counts.values()),
        "folder": str(folder.path / session.folder.name),
    }
    counts["agrees"] = share(session.agreement(edits[0], "tuning"))[0]
    with server:
        print(visible(words.text("align.begins", **counts)))
        if len(edits) > 1:
            print(words.text("align.goes_on", edits=len(edits) - 1))
        print(f"{words.text('align.here')}\n\n  {server.url}\n", flush=True)
        with (
            in_browser(server, not typed.no_browser),
            contextlib.suppress(KeyboardInterrupt),
        ):
            server.serve_forever()
    edit = session.chosen()
    if edit is None:
        print(visible(words.text("align.ends_none", **counts)))
        return
    file = run.keep(edit)
    print(visible(words.text("align.ends", number=edit.number, file=str(file))))
    print(visible(f"  {shlex.join(run.command(file))}"))


class _Run:
    """A run whose judge can be asked again with another prompt. Raises ConfigError where it
    cannot."""

    def __init__(self, folder: RunFolder, config_dir: str | None) -> None:
        from undogmatic.cli.rejudge import check_asks
        from undogmatic.config.door import compose_config
        from undogmatic.engine.recipe import Recipe
        from undogmatic.review.align import voice_of

        folder.check_finished()
        check_asks(folder)
        self.folder, self.config_dir = folder, config_dir
        self.words = [
            word for word in folder.overrides if not word.startswith("hydra.")
        ]
        self.config = compose_config(
            self.words, [] if config_dir is None else [config_dir]
        )
        self.voice = voice_of(folder)
        self.parts: Parts = Recipe(self.config).build()
        prompt = self.parts.prompt
        if prompt.brings_program:
            raise ConfigError(
                f"{folder.named}, a run with prompt={prompt.id}, whose words an optimisation has"
                " found and which cannot be edited. Run it with another prompt, e.g."
                " prompt=anchored_en."
            )

    def session(self) -> Session:
        """The session of this run, begun or gone on with. Raises ConfigError where its judge is
        another by now, so that what it said then is not what it says with the first prompt."""
        from undogmatic.review.align import labelled_of
        from undogmatic.review.session import Session

        task = self.parts.prompt.task(self.folder.rubric)
        labelled = labelled_of(self.folder, task)
        (step,) = self.parts.judges
        by_id = {item.id: item for item in labelled.items}
        judgment = next(one for one in self.folder.judgments if one.item_id in by_id)
        asked_now = step.for_item(by_id[judgment.item_id]).provenance
        if asked_now.config_hash != judgment.provenance.config_hash:
            raise ConfigError(
                f"{self.folder.named}, a run whose prompt, rubric or judge has changed since, so"
                " that its verdicts are not those of the prompt as it is now. Run it again, and"
                " name that run."
            )
        return Session(labelled, self.ask)

    def about(self) -> Mapping[str, str]:
        """Who is asked, for the page."""
        return {
            "judge": self.voice[0],
            "model": self.parts.model.name,
            "run": str(self.folder.path),
        }

    def sent(self) -> str:
        """All that the judge's model is sent beside the text, with the first prompt."""
        sources = self.parts.judge.readouts()
        shown = dict.fromkeys(
            source.shown() for source in sources if source.uses_prompt
        )
        return "\n\n".join(text for text in shown if text)

    def ask(
        self, text: str, items: Sequence[Item], step: Callable[[], None]
    ) -> Mapping[str, Said]:
        """What the judge says of items with another prompt. Raises RunStopped where the server
        does not answer; the answers that came are in the cache."""
        from undogmatic.config.build import build, settings
        from undogmatic.engine.journal import Journals
        from undogmatic.engine.recipe import Recipe
        from undogmatic.review.align import said
        from undogmatic.runs.index import unanswered
        from undogmatic.safety.loops import finished

        config = self.config | {
            "prompt": {**self.config["prompt"], "instructions": text}
        }
        recipe, engine = Recipe(config), build(settings(config).engine, "engine")
        journals = Journals(None, recipe.build().steps)
        asked = engine.arun(recipe, items, journals, 1, lambda _: step())
        judgments = [
            judgment
            for judgment in finished(asked)[1]
            if (judgment.judge, judgment.criterion) == self.voice
        ]
        lost = [judgment.outcome for judgment in judgments if unanswered(judgment)]
        if lost:
            why = getattr(lost[0], "message", "")
            raise RunStopped(
                f"{len(lost)} of {len(items)} texts got no answer from {self.parts.model.name}"
                f" ({brief(why)}). What was answered is kept; run the prompt again."
            )
        return {judgment.item_id: said(judgment) for judgment in judgments}

    def keep(self, edit: Edit) -> Path:
        """Write an edit as a prompt of the user's own, among their groups or beside the session.
        Raises StorageError."""
        import yaml

        from undogmatic.review.session import FOLDER
        from undogmatic.safety import files

        name = f"{self.parts.prompt.id}_edit_{edit.number}"
        own = (
            self.folder.path / FOLDER / "conf"
            if self.config_dir is None
            else self.config_dir
        )
        file = Path(own) / "prompt" / f"{name}.yaml"
        node = {**self.config["prompt"], "id": name, "instructions": edit.text}
        files.write(
            file, yaml.safe_dump(node, allow_unicode=True, sort_keys=False), files.ALL
        )
        return file

    def command(self, file: Path) -> list[str]:
        """The command with which a prompt of the user's own judges the run's texts."""
        kept = [
            word
            for word in self.words
            if not word.lstrip("+~").startswith(("prompt=", "prompt."))
        ]
        folder = str(file.parent.parent)
        return [
            "undogmatic",
            "run",
            "--config-dir",
            folder,
            *kept,
            f"prompt={file.stem}",
        ]

"""A run's folder read back: its judgments, the rubric and the items it judged."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from undogmatic.config import build
from undogmatic.datasets.base import on_scale
from undogmatic.engine.journal import last_judgments
from undogmatic.errors import ConfigError, DataError
from undogmatic.records import Item, Judgment, Rubric, items_digest
from undogmatic.resume import MANIFEST, SWEEP_MANIFEST

COMPOSED = Path(".hydra", "config.yaml")


@dataclass(frozen=True)
class RunFolder:
    """A finished or stopped run on disk.

    Attributes:
        path: Its folder.
        facts: Its `run.json`.
        judgments: The last judgment per item and repeat, in the journal's order.
        rubric: What its scores mean.
    """

    path: Path
    facts: Mapping[str, Any]
    judgments: Sequence[Judgment]
    rubric: Rubric
    _config: Any = field(repr=False)

    def by_item(self) -> dict[str, list[Judgment]]:
        """The judgments of each item, repeats in order."""
        found: dict[str, list[Judgment]] = {}
        for judgment in sorted(self.judgments, key=lambda j: j.repeat):
            found.setdefault(judgment.item_id, []).append(judgment)
        return found

    def items(self) -> list[Item]:
        """The items as the run loaded them, loaded again from where it was started.

        Raises:
            ConfigError, DataError: The dataset is gone, or no longer what was judged.
        """
        node, limit = _plain(self._config, "dataset"), self._config.run.limit
        with contextlib.chdir(_started_in(self.path)):
            items = on_scale(build(node, "dataset").load()[:limit], self.rubric)
        if items_digest(items) != self.facts.get("dataset_digest"):
            raise DataError(
                f"the dataset of {self.path} ({node.get('path') or node.get('_target_')}) has changed since it was "
                "judged, so its texts may not be what the judge saw. Put the earlier file back, or judge it again."
            )
        return items

    def tracking(self) -> dict[str, Any]:
        """The run's `tracking` section; {} if it cannot be resolved here (an environment variable is gone)."""
        from omegaconf.errors import OmegaConfBaseException

        try:
            return _plain(self._config, "tracking")
        except OmegaConfBaseException:
            return {}


def open_run(path: str) -> RunFolder:
    """Read a run's folder. Raises ConfigError or DataError saying what it lacks."""
    folder = Path(path).expanduser()
    journal = folder / "judgments.jsonl"
    if not journal.is_file() or not (folder / MANIFEST).is_file():
        raise ConfigError(f"RUN is {path!r}, {_lack(folder)}")
    config = _composed(folder)
    judgments = list(last_judgments(journal).values())
    if not judgments:
        raise DataError(f"{journal} is empty: the run ended before anything was judged.")
    facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return RunFolder(folder, facts, judgments, build(_plain(config, "rubric"), "rubric"), config)


def _lack(folder: Path) -> str:
    if not folder.is_dir():
        return "which is not a folder. Name the folder of a run, e.g. outputs/2026-01-31/12-00-00."
    if (folder / SWEEP_MANIFEST).is_file():
        jobs = sorted((p.parent.name for p in folder.glob(f"*/{MANIFEST}")), key=lambda name: (len(name), name))
        return f"the folder of a sweep. Name one of its jobs: {', '.join(str(folder / j) for j in jobs[:6])}."
    return f"which is not the folder of a run (that holds {MANIFEST} and judgments.jsonl)."


def _composed(folder: Path) -> Any:
    from omegaconf import OmegaConf

    file = folder / COMPOSED
    if not file.is_file():
        raise ConfigError(
            f"{folder} has no {COMPOSED}, which says what was judged on which scale. "
            "Copy the whole folder of the run, hidden files too."
        )
    return OmegaConf.load(file)


def _plain(config: Any, key: str) -> dict[str, Any]:
    from omegaconf import OmegaConf

    plain = OmegaConf.to_container(config[key], resolve=True)
    assert isinstance(plain, dict)
    return {str(k): v for k, v in plain.items()}


def _started_in(folder: Path) -> Path:
    """The folder from which the run was started, to which its relative paths refer; here, if that one is gone."""
    file = folder / ".hydra" / "hydra.yaml"
    if file.is_file():
        noted = Path(yaml.safe_load(file.read_text(encoding="utf-8"))["hydra"]["runtime"]["cwd"])
        if noted.is_dir():
            return noted
    return Path.cwd()

"""Notes in a run's folder what the run is, so that it can be continued and compared; finds the
folder of `run.resume`.

`.hydra/*.yaml` say how it was composed, without secrets. Hydra would write them itself before
anything is known of the folder, so it is told to leave them out (`hydra.output_subdir: null`).
Where a folder holds a run already, they are held back until it is known that this command goes on
with that run.

Imported by the Hydra entry point, so it stays light: heavy libraries are imported inside functions.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf._utils import get_omega_conf_dumper

from undogmatic.errors import ConfigError, DataError, StorageError, UndogmaticError
from undogmatic.runs.claim import claim
from undogmatic.runs.folder import (
    COMPOSED,
    HYDRA,
    JOURNAL,
    MANIFEST,
    OVERRIDES,
    SCORES,
    SWEEP_MANIFEST,
    RunFolder,
)
from undogmatic.runs.growth import Contents, differences, outgrown
from undogmatic.safety import files
from undogmatic.safety.command import ERROR_FILE, SWEEP_FOLDER
from undogmatic.safety.secrets import without_secrets

if TYPE_CHECKING:
    from undogmatic.records.records import Judgment
    from undogmatic.runs.outcome import Repeatability

FORMAT = 3  # of `run.json`

_held_back: dict[Path, dict[Path, str]] = {}


def output_folder(resume: str | None, fresh: str) -> str:
    """The folder of `run.resume` (a path, or "last" for the newest unfinished run under outputs/),
    else `fresh`.

    Where `fresh` is the folder of a sweep (it ends in "-sweep"), "last" is the newest unfinished
    sweep, and the jobs of the one that is running get its folder.
    """
    sweep = fresh.endswith("-sweep")
    if sweep and SWEEP_FOLDER in os.environ:
        return os.environ[SWEEP_FOLDER]
    if resume is None or resume == "null":
        return fresh
    name = SWEEP_MANIFEST if sweep else MANIFEST
    if resume == "last":
        root, unfinished = Path(fresh).parts[0], []
        for folder in _folders_with(name, Path(root), "*/*"):
            with suppress(DataError):  # a damaged one cannot be continued
                if RunFolder(folder).json(name).get("status") != "finished":
                    unfinished.append(str(folder))
        if not unfinished:
            what = "sweep" if sweep else "run"
            raise ConfigError(
                f"`run.resume` is 'last', but there is no unfinished {what} under {root}/. Leave it"
                " out."
            )
        return max(unfinished, key=Path)
    if not resume.strip() or not any(
        (Path(resume) / each).exists() for each in (MANIFEST, SWEEP_MANIFEST, ".hydra")
    ):
        way = "Give a run's folder, `last`, or leave it out."
        raise ConfigError(
            f"`run.resume` is {resume!r}, which holds no run (no {name}). {way}"
        )
    return resume


OmegaConf.register_new_resolver("output_folder", output_folder, replace=True)


def claimed(config: DictConfig, mode: str) -> Path:
    """Claim the folder to which Hydra's `mode` ("run" or "sweep") will write, and tell Hydra which
    one it is. Raises as `claim` does, and ConfigError for a `run.resume` that cannot be continued.
    """
    folder = Path(str(OmegaConf.select(config, f"hydra.{mode}.dir")))
    unresolved: Any = OmegaConf.to_container(config.hydra[mode], resolve=False)
    typed = str(unresolved["dir"])
    folder = claim(
        folder,
        typed.startswith("${output_folder:")
        and OmegaConf.select(config, "run.resume") is None,
    )
    with read_write(config.hydra), open_dict(config.hydra):
        config.hydra[mode].dir = str(folder)
    return folder


def _folders_with(name: str, root: Path, depth: str) -> list[Path]:
    """Folders that hold this file. One that another command takes away meanwhile, or nobody may
    read, is left out."""
    return [
        Path(found).parent
        for found in glob.glob(f"{glob.escape(str(root))}/{depth}/{name}")
    ]


class _Dumper(yaml.CSafeDumper):
    """Writes as OmegaConf does, in a fifth of the time: the C library's writer with OmegaConf's
    quotes."""


_Dumper.add_representer(str, get_omega_conf_dumper().yaml_representers[str])


def _written(plain: Any) -> str:
    how: dict[str, Any] = {
        "default_flow_style": False,
        "allow_unicode": True,
        "sort_keys": False,
    }
    written: str = yaml.dump(plain, Dumper=_Dumper, **how)
    if "\\U" in written:  # an emoji, which the C library's writer spells out
        return str(yaml.dump(plain, Dumper=get_omega_conf_dumper(), **how))
    return written


def write_hydra(folder: Path, config: DictConfig, hydras: DictConfig) -> None:
    """Write a job's `config`, Hydra's own section (`hydras`) and the overrides as Hydra does, but
    without secrets; or hold them back. Raises StorageError."""
    held = _held_back[folder.resolve()] = {}
    for name, section in {
        COMPOSED: config,
        HYDRA: hydras,
        OVERRIDES: hydras.hydra.overrides.task,
    }.items():
        plain = without_secrets(
            OmegaConf.to_container(section, resolve=False, enum_to_str=True)
        )
        held[folder / name] = _written(plain)
    if not (folder / MANIFEST).is_file():
        accept(folder)


def held_back(folder: Path) -> bool:
    """Whether the folder holds a run of which it is not known yet that this command goes on with
    it."""
    return folder.resolve() in _held_back


def accept(folder: Path) -> None:
    """This command goes on with the run in the folder: its config takes the place of the earlier
    one."""
    for path, text in _held_back.pop(folder.resolve(), {}).items():
        files.write(path, text)


class Manifest:
    """`run.json` in a run's folder: what the run is, and whether it ended."""

    def __init__(self, folder: Path, data: dict[str, Any]) -> None:
        self.folder, self.data = folder, data
        self.name, self.identity, self.dataset_digest = (
            data["name"],
            data["identity"],
            data["dataset_digest"],
        )

    @classmethod
    def open(
        cls,
        folder: Path,
        config_hash: str,  # what determines its judgments, given the items
        dataset_digest: str,  # the items
        name: str,
        plan: str | None = None,  # hash of the plan that is locked with it
        # whether the folder is kept free of judged texts (`tracking.redact`), throughout
        redact: bool = False,
        contents: Contents | None = None,  # None: it cannot grow
    ) -> Manifest:
        """Start a run in `folder`, or continue the one there if it is the same run, or the same
        with more judges, models or items. Raises ConfigError where the folder holds another run, or
        journal and manifest do not belong together."""
        identity = hashlib.sha256(f"{config_hash}{dataset_digest}".encode()).hexdigest()
        if (folder / MANIFEST).is_file():
            there = RunFolder(folder)
            if (made := there.facts.get("format")) != FORMAT:
                what = (
                    f"which holds a run of format {made}, and runs of format {FORMAT} are "
                    "continued"
                )
                way = "Leave run.resume out to start anew: what a model answered is in the cache"
                raise ConfigError(f"`run.resume` is {str(folder)!r}, {what}. {way}.")
            if there.facts.get("identity") != identity:
                _grow(there, dataset_digest, contents, plan is not None)
            locked = there.facts.get("plan")
            if locked is None and plan is not None:
                what = (
                    f"`plan` is given, and {folder} was judged without one: a plan is no plan after"
                    " the fact"
                )
                raise ConfigError(f"{what}. Continue without it, or start anew.")
            if locked != plan:
                now = "there is none" if plan is None else f"its hash is {plan[:12]}"
                what = f"`plan` is locked in {folder} (hash {str(locked)[:12]}), and now {now}"
                raise ConfigError(
                    f"{what}. Continue with the plan as it was, or start anew."
                )
            if bool(there.facts.get("redact")) != redact:
                was = (
                    "with it, so its files hold hashes of",
                    "without it, so its files may quote judged",
                )[redact]
                what = (
                    f"`tracking.redact` is {str(redact).lower()}, and {folder} was begun {was}"
                    " texts"
                )
                way = (
                    f"tracking.redact={str(not redact).lower()}, or leave run.resume out to start"
                    " anew"
                )
                raise ConfigError(f"{what}. Continue with {way}.")
        elif (folder / JOURNAL).exists():
            way = "choose another folder or leave run.resume out"
            raise ConfigError(f"{folder} holds judgments but no {MANIFEST}; {way}.")
        data: dict[str, Any] = {
            "format": FORMAT,
            "name": name,
            "identity": identity,
            "config_hash": config_hash,
        }
        data |= {
            "dataset_digest": dataset_digest,
            "started": time.time(),
            "status": "running",
        }
        data |= ({} if plan is None else {"plan": plan}) | (
            {"redact": True} if redact else {}
        )
        data |= {} if contents is None else {"made_of": contents.made_of}
        manifest = cls(folder, data)
        manifest._write()
        accept(folder)
        (folder / ERROR_FILE).unlink(missing_ok=True)  # of an earlier attempt
        return manifest

    def close(self, status: str, **facts: Any) -> None:
        """Note how the run ended: "finished" or "stopped"."""
        self.data |= {"status": status, "ended": time.time(), **facts}
        self._write()

    def __enter__(self) -> Manifest:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        """A run that ended with a message was stopped; one that was killed says to be running
        still."""
        if isinstance(error, UndogmaticError) and self.data["status"] == "running":
            with suppress(StorageError):  # it may be why the run ended
                self.close("stopped", error=str(error))

    def compare(
        self, frame: Any, judgments: Sequence[Judgment], deterministic: bool
    ) -> Repeatability:
        """How the scores compare with the newest finished run of the same identity beside this
        one."""
        from undogmatic.runs.outcome import Repeatability

        calls = cached = 0
        for judgment in judgments:
            calls, cached = calls + judgment.cost.calls, cached + judgment.cost.cached
        share = cached / (calls + cached) if calls + cached else 0.0
        root = next(
            (p for p in self.folder.resolve().parents if p.name == "outputs"),
            self.folder.resolve().parent,
        )
        finished = []
        for path in (
            p
            for depth in ("*", "*/*", "*/*/*")
            for p in _folders_with(MANIFEST, root, depth)
        ):
            with suppress(DataError):  # another program's run.json
                facts = RunFolder(path).facts
                same = (
                    facts.get("identity") == self.identity
                    and facts.get("status") == "finished"
                )
                if same and path.resolve() != self.folder.resolve():
                    finished.append((facts.get("ended") or 0, path))
        for _, path in sorted(finished, reverse=True):
            # what is wrong with another run is no fault of this one
            with suppress(DataError):
                if (found := _differences(frame, RunFolder(path))) is not None:
                    return Repeatability(path, *found, share, deterministic)
        return Repeatability(None, None, None, share, deterministic)

    def _write(self) -> None:
        files.write(self.folder / MANIFEST, json.dumps(self.data, indent=2) + "\n")


def _grow(
    there: RunFolder, digest: str, contents: Contents | None, planned: bool
) -> None:
    """Let the run in the folder grow to these contents: what stands in its journals stays. Raises
    ConfigError, naming what differs, where they are not its own with more."""
    facts = there.facts
    before = facts.get("made_of")
    same = facts.get("dataset_digest") == digest
    if contents is None or not isinstance(before, dict):
        differ = [
            "the rubric, model, prompt, judge or seed differ"
            if same
            else "the items differ"
        ]
    else:
        differ = differences(before, contents.made_of)
        other = None if same else contents.others(there.path, facts)
        differ += [] if other is None else [other]
        if not differ and (planned or facts.get("plan") is not None):
            differ = ["a plan is locked with it, and a planned run does not grow"]
    if differ:
        what = f"which holds another run ({facts.get('name')}): {'; '.join(differ)}"
        way = (
            "A run grows by judges, by models that make texts and by items, and keeps what it was"
            " asked for. Repeat that run's command with run.resume, or leave run.resume out to"
            " start anew: what a model was asked in the same words is answered from the cache"
        )
        raise ConfigError(f"`run.resume` is {str(there.path)!r}, {what}. {way}.")
    assert contents is not None and before is not None  # else something differs
    for stage in outgrown(before, contents.made_of):
        (there.path / "steps" / f"{stage}.jsonl").unlink(missing_ok=True)


def _differences(
    frame: Any, earlier: RunFolder
) -> tuple[bool | None, float | None] | None:
    """Whether an earlier run has the same scores in the first repeat, and the largest difference;
    None for both where it has the same scores and other categories, which have no difference; None
    where its rows cannot be told apart. Of a row only hashes of its names and its category and the
    score are held."""
    import numpy as np
    import pandas as pd

    from undogmatic.records.stored import in_parts

    def marked(
        parts: Iterable[pd.DataFrame], keys: list[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        marks, scores = [np.empty(0, np.uint64)], [np.empty(0)]
        categories = [np.empty(0, np.uint64)]
        for rows in parts:
            own = rows[rows["repeat"] == 0] if "repeat" in rows else rows
            names = own[keys].astype(str).astype(object)
            marks.append(pd.util.hash_pandas_object(names, index=False).to_numpy())
            scores.append(own["score"].to_numpy(dtype=float))
            said = own["category"] if "category" in own else pd.Series("", own.index)
            said = said.astype(object).where(said.notna(), "").astype(str)
            hashed = pd.util.hash_pandas_object(said.astype(object), index=False)
            categories.append(hashed.to_numpy())
        together = np.concatenate
        return together(marks), together(scores), together(categories)

    first = next(earlier.tables(SCORES, 1))
    keys = [key for key in ("item_id", "judge", "criterion") if key in first]
    there, before, said = marked(earlier.tables(SCORES, 10_000), keys)
    order = np.argsort(there)
    there, before, said = there[order], before[order], said[order]
    if (there[1:] == there[:-1]).any():
        return None
    named = [*keys, "score", "category", "repeat"]
    here, now, says = marked(in_parts(frame, named), keys)
    place = np.minimum(np.searchsorted(there, here), len(there) - 1)
    before = np.where(there[place] == here, before[place], np.nan)
    gap = np.abs(now.round(6) - before)
    largest = float(np.nanmax(gap)) if np.isfinite(gap).any() else 0.0
    alike = bool((np.isnan(now) == np.isnan(before)).all()) and largest == 0.0
    if alike and (says != said[place]).any():
        return None, None
    return alike, largest

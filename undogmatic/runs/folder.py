"""A run's folder read back, for all who read one: review, analyses, panels, sweeps, and a run that
follows another.

Imported by the Hydra entry point (the names of files), so heavy libraries are imported inside
functions.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.files import as_written
from undogmatic.safety.outside import (
    Unreadable,
    json_value,
    opened,
    read_text,
    read_yaml,
)
from undogmatic.safety.secrets import scrub_words

if TYPE_CHECKING:
    import pandas as pd

    from undogmatic.records.records import Judgment
    from undogmatic.records.rubric import Rubric
    from undogmatic.runs.index import Records

MANIFEST, SWEEP_MANIFEST, PROGRAM = "run.json", "sweep.json", "program.json"
JOURNAL = "judgments.jsonl"
SCORES = "scores.csv"
LABELS = "labels.csv"
METRICS = "metrics.json"
RESULTS = "results.json"  # what the report tells beyond these
OF_RUN = (MANIFEST, SWEEP_MANIFEST, JOURNAL, SCORES, LABELS, METRICS, RESULTS)
"""What a run writes into its folder, each anew or with more lines."""
COMPOSED = ".hydra/config.yaml"
OVERRIDES = ".hydra/overrides.yaml"
HYDRA = ".hydra/hydra.yaml"

# every run leaves them, also one that was stopped
WHOLE = (MANIFEST, JOURNAL, COMPOSED)

_TEXTS = (
    "item_id",
    "judge",
    "criterion",
    "pair_id",
    "group",
    "condition",
    "unit",
    "text_mark",
)
_NUMBERS = tuple(
    "score revised_score label confidence calls seconds truth right inside width"
    " interval_score".split()
)
_WORDS_OF_SCORES = ("uncertainty", "error")  # numbers in the tables of analyses
# a larger table is read without holding its text
TABLE_BYTES = 1_000_000_000
HELD_BYTES = 10_000_000
_NEEDED = {SCORES: ("score",), LABELS: ("label",)}
_KINDS: dict[str, Any] = {
    **dict.fromkeys(
        (
            "name",
            "status",
            "identity",
            "config_hash",
            "dataset_digest",
            "model",
            "headline",
        ),
        str,
    ),
    **dict.fromkeys(("mlflow_run", "uri", "run_id", "experiment"), str),
    **dict.fromkeys(("started", "ended"), (int, float)),
    **dict.fromkeys(("steps", "texts", "overrides"), list),
    **dict.fromkeys(("choices", "standing", "units"), dict),
}
"""What run.json, sweep.json and mlflow.json hold under these keys, if anything; within lists and
mappings are texts."""


def _plain(override: str) -> str:
    """An override without the signs by which Hydra escapes and quotes its value."""
    return (
        re.sub(r"\\(.)", r"\1", override).replace("'", "").replace('"', "").lstrip("+~")
    )


class RunFolder:
    """The folder of a run, read as it is asked.

    What is wrong with it is said in one way: a ConfigError for a folder that is no run's, a
    DataError for a file in it that cannot be read. Both begin as it was `named`, e.g.
    "`judge.history[0]` is 'outputs/x'".
    """

    def __init__(self, path: Path, named: str | None = None) -> None:
        self.path, self.named = path, named or str(path)

    @classmethod
    def open(cls, typed: str, key: str, needs: Iterable[str] = WHOLE) -> RunFolder:
        """The run's folder that a user `typed` for a `key`, as messages show it, e.g.
        "`analysis.against[0]`" or "RUN". Raises ConfigError where it is no folder, a sweep's, or
        lacks one of the files that it `needs`.
        """
        path = Path(typed).expanduser()
        folder = cls(path, f"{key} is {typed!r}")
        if not path.is_dir():
            way = "Name the folder of a run, e.g. outputs/2026-01-31/12-00-00."
            raise ConfigError(
                f"{folder.named}, which is not a folder.{_beside(path)} {way}"
            )
        if folder.has(SWEEP_MANIFEST):
            jobs = sorted(
                (p.parent.name for p in path.glob(f"*/{MANIFEST}")),
                key=lambda name: (len(name), name),
            )
            listed = ", ".join(str(path / job) for job in jobs[:6] or ["0"])
            raise ConfigError(
                f"{folder.named}, the folder of a sweep. Name one of its jobs: {listed}."
            )
        if missing := [name for name in needs if not folder.has(name)]:
            lacks = f"it lacks {', '.join(missing)}.{_beside(path)}"
            way = "Name the folder of a run, and copy it with its hidden files."
            raise ConfigError(
                f"{folder.named}, which holds no whole run: {lacks} {way}"
            )
        return folder

    def has(self, name: str) -> bool:
        """Whether this file is there; False also where it cannot be looked at."""
        return os.path.isfile(self.path / name)

    def check_finished(self) -> None:
        """Raises ConfigError for a run that did not come to its end."""
        if (status := self.facts.get("status")) != "finished" or not self.has(SCORES):
            again = f"Continue it: the same command with run.resume={self.path}"
            raise ConfigError(
                f"{self.named}, a run that did not finish (status {status}). {again}"
            )

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Its `run.json`; {} if it did not get that far."""
        return self.json(MANIFEST)

    @cached_property
    def sweep(self) -> Mapping[str, Any] | None:
        """Its `sweep.json`; None if it is no sweep's."""
        found = self.json(SWEEP_MANIFEST)
        if lacking := [
            key
            for key in ("overrides", "started", "mlflow_run")
            if found and key not in found
        ]:
            raise self._damaged(SWEEP_MANIFEST, f"it lacks {', '.join(lacking)}")
        return found if self.has(SWEEP_MANIFEST) else None

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """Its `metrics.json`; {} without a result."""
        found = self.json(METRICS)
        if wrong := [
            name for name, value in found.items() if type(value) not in (int, float)
        ]:
            raise self._damaged(METRICS, f"`{wrong[0]}` is no number")
        return found

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file, {} without the file; of the keys that runs note, each of its
        kind."""
        if not self.has(name):
            return {}
        try:
            content = json_value(
                read_text(self.path / name), infinite=name in (METRICS, RESULTS)
            )
        except (DataError, Unreadable) as error:
            raise self._damaged(name, error) from None
        if not isinstance(content, dict):
            raise self._damaged(name, "it holds no object")
        for key in content.keys() & _KINDS.keys() if name != METRICS else ():
            value, kind = content[key], _KINDS[key]
            inside = (
                value.values()
                if isinstance(value, dict)
                else value
                if isinstance(value, list)
                else ()
            )
            fits = (
                isinstance(value, kind)
                and not isinstance(value, bool)
                and all(isinstance(v, str) for v in inside)
            )
            if value is not None and not fits:
                raise self._damaged(name, f"`{key}` is {value!r:.60}")
        return content

    def mapping(self, name: str, kind: type = dict) -> Any:
        """The mapping in a YAML file (or what of another `kind` is there), interpolations as they
        were typed; an empty one without the file, or where it says nothing."""
        try:
            value = read_yaml(self.path / name) if self.has(name) else None
        except DataError as error:
            raise self._damaged(name, error) from None
        fits = isinstance(value, kind) and not (
            isinstance(value, dict) and any(type(key) is not str for key in value)
        )
        if value is not None and not fits:
            raise self._damaged(
                name, f"it holds no {'list' if kind is list else 'mapping'}"
            )
        return value or kind()

    def mentions(self, name: str, *signs: str) -> bool:
        """Whether one of the signs stands anywhere in a file; True also where it cannot be read,
        which says `noted`."""
        try:
            text = read_text(self.path / name) if self.has(name) else ""
        except DataError:
            return True
        return any(sign in text for sign in signs)

    def noted(self, name: str, *keys: str) -> Any:
        """What stands at the end of these keys in a YAML file; None if nothing does."""
        return reduce(
            lambda node, key: node.get(key) if isinstance(node, dict) else None,
            keys,
            self.mapping(name),
        )

    @property
    def overrides(self) -> list[str]:
        """What was set on the command line, without `run.resume`."""
        return [
            str(word)
            for word in self.mapping(OVERRIDES, list)
            if not str(word).startswith("run.resume=")
        ]

    @property
    def varied(self) -> list[str]:
        """What was set for this job of a sweep and not for all of its jobs; empty for a run that is
        none."""
        return self.apart_from(RunFolder(self.path.parent))

    def apart_from(self, sweep: RunFolder) -> list[str]:
        """What was set for this job and not for all jobs of `sweep`; empty where that is no sweep's
        folder.

        Hydra writes a job's overrides anew: `http://x` becomes `http\\://x`, and quotation marks
        may go. So overrides are compared without either.
        """
        if sweep.sweep is None:
            return []
        of_all = {_plain(word) for word in sweep.sweep["overrides"]}
        return [
            word
            for word in map(scrub_words, self.overrides)
            if _plain(word) not in of_all
        ]

    @cached_property
    def composed(self) -> dict[str, Any]:
        """The composed config, interpolations as they were typed."""
        found: dict[str, Any] = self.mapping(COMPOSED)
        return found

    def value(self, key: str) -> Any:
        """What the composed config says under a key, resolved; None if nothing. Raises ConfigError
        where it refers to something that is not here, such as a variable of the environment."""
        raw = self.composed.get(key)
        # Most of what is asked for refers to nothing, and can be read without the
        # library that resolves it.
        if not any(sign in repr(raw) for sign in ("${", "???")):
            return copy.deepcopy(raw)
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        try:
            node = self._config.get(key)
            return (
                OmegaConf.to_container(node, resolve=True)
                if OmegaConf.is_config(node)
                else node
            )
        except OmegaConfBaseException as error:
            why = str(error).splitlines()[0]
            raise ConfigError(
                f"{self.named}: `{key}` of its {COMPOSED} cannot be resolved here ({why})."
            ) from None

    def section(self, key: str) -> dict[str, Any]:
        """A section of the composed config, resolved. Raises as `value` does, and DataError where
        there is none."""
        plain = self.value(key)
        if not isinstance(plain, dict):
            raise self._damaged(COMPOSED, f"it has no section `{key}`")
        return {str(name): inner for name, inner in plain.items()}

    @cached_property
    def rubric(self) -> Rubric:
        """What its scores mean."""
        from undogmatic.config.build import build

        return build(self.section("rubric"), "rubric")  # type: ignore[no-any-return]

    @cached_property
    def journal(self) -> Records[Judgment]:
        """The judgments that count, by their keys. Raises DataError."""
        from undogmatic.records.records import Judgment
        from undogmatic.runs.index import Records

        # one that is not there holds no judgments elsewhere, and is a fault here
        with opened(self.path / JOURNAL):
            return Records(self.path / JOURNAL, Judgment)

    @cached_property
    def judgments(self) -> Sequence[Judgment]:
        """The judgments that count, in the journal's order; many are read when they are asked for.
        Raises DataError if there are none."""
        return self.judged().in_order()

    def judged(self) -> Records[Judgment]:
        """The judgments that count, by their keys. Raises DataError if there are none."""
        if not self.journal:
            raise DataError(
                f"{self.named}: its {JOURNAL} is empty, the run ended before anything was judged."
            )
        return self.journal

    def by_item(self, ids: Collection[str]) -> dict[str, list[Judgment]]:
        """The judgments of each of these items, repeats in order."""
        judgments: dict[str, list[Judgment]] = {}
        for judgment in sorted(
            (j for j in self.judgments if j.item_id in ids), key=lambda j: j.repeat
        ):
            judgments.setdefault(judgment.item_id, []).append(judgment)
        return judgments

    def voices(self) -> dict[tuple[str, str], Judgment]:
        """Judge and criterion of all that it judged, each with its first judgment."""
        return dict(self._voices)

    @cached_property
    def _voices(self) -> dict[tuple[str, str], Judgment]:
        first: dict[tuple[str, str], Judgment] = {}
        for judgment in self.judgments:
            first.setdefault((judgment.judge, judgment.criterion), judgment)
        return first

    def first_scores(self, judge: str, criterion: str) -> pd.Series:
        """Score by item id in the first repeat, NaN where the judge failed: of this judge; if the
        run has another, and only one, of that. Raises DataError where it has no such score, or
        several and none of this judge.
        """
        import pandas as pd

        voices = [voice for voice in self.voices() if voice[1] == criterion]
        if not voices:
            there = ", ".join(dict.fromkeys(voice[1] for voice in self.voices()))
            raise DataError(
                f"{self.named}, a run that judged {there}, not {criterion}. Name one with that"
                " criterion."
            )
        if (judge, criterion) not in voices:
            self._check_one(voices)
            ((judge, _),) = voices
        own = (
            j
            for j in self.judgments
            if (j.repeat, j.judge, j.criterion) == (0, judge, criterion)
        )
        return pd.Series({j.item_id: j.score for j in own}, dtype="float64")

    def table(self, name: str, needs: Iterable[str] = ()) -> pd.DataFrame:
        """A CSV file with item_id and the columns it `needs`. "NA" is an id like any; only an empty
        cell is missing."""
        return next(self.tables(name, None, needs))

    def tables(
        self, name: str, rows: int | None, needs: Iterable[str] = ()
    ) -> Iterator[pd.DataFrame]:
        """A `table` so many rows at a time; None: all at once."""
        import numpy as np

        numbers = (*_NUMBERS, *(() if name in _NEEDED else _WORDS_OF_SCORES))
        kinds = dict.fromkeys(_TEXTS, "str") | dict.fromkeys(numbers, "float64")
        for frame in self._frames(name, rows, kinds):
            if lacking := [
                column
                for column in ("item_id", *_NEEDED.get(name, needs))
                if column not in frame
            ]:
                raise self._damaged(name, f"no column {lacking[0]}")
            if frame["item_id"].isna().any():
                raise self._damaged(name, "a row without item_id")
            if infinite := [
                each
                for each in frame.columns.intersection(numbers)
                if np.isinf(frame[each]).any()
            ]:
                raise self._damaged(name, f"`{infinite[0]}` is infinite")
            for column in frame.columns.intersection(_TEXTS):
                frame[column] = frame[column].map(as_written, na_action="ignore")
            yield frame

    def _frames(
        self, name: str, rows: int | None, kinds: Mapping[str, str]
    ) -> Iterator[pd.DataFrame]:
        import pandas as pd

        read: dict[str, Any] = {
            "dtype": kinds,
            "keep_default_na": False,
            "na_values": [""],
            "index_col": False,
        }
        large = (
            self.has(name)
            and HELD_BYTES < os.path.getsize(self.path / name) <= TABLE_BYTES
        )
        try:
            if rows is None and not large:
                yield pd.read_csv(
                    StringIO(read_text(self.path / name, TABLE_BYTES)), **read
                )
                return
            with opened(self.path / name) as file:
                yield from (
                    [pd.read_csv(file, **read)]
                    if rows is None
                    else pd.read_csv(file, chunksize=rows, **read)
                )
        except (DataError, ValueError, OverflowError) as error:
            raise self._damaged(name, error) from None

    def scores(
        self, judge: str | None = None, criterion: str | None = None
    ) -> pd.DataFrame:
        """Its scores.csv by item id: the first repeat, of one judge and one criterion. Raises
        DataError where it cannot be read, or holds several and none was chosen."""
        return self.by_id(SCORES, judge=judge, criterion=criterion)

    def labels(
        self, judge: str | None = None, criterion: str | None = None
    ) -> pd.DataFrame | None:
        """Its labels.csv by item id, or None for a run over texts without labels; otherwise as
        `scores`."""
        return (
            self.by_id(LABELS, judge=judge, criterion=criterion)
            if self.has(LABELS)
            else None
        )

    def dataset(self) -> Any:
        """Its dataset, built again; its relative paths are those of `at_start`."""
        from undogmatic.config.build import build

        return build(self.section("dataset"), "dataset")

    @contextlib.contextmanager
    def at_start(self) -> Iterator[None]:
        """Be in the folder from which the run was started; here, if that one is gone."""
        start = self.noted(HYDRA, "hydra", "runtime", "cwd")
        with contextlib.chdir(
            start if isinstance(start, str) and start and os.path.isdir(start) else "."
        ):
            yield

    @cached_property
    def _config(self) -> Any:
        from omegaconf import OmegaConf

        return OmegaConf.create(self.composed)

    def by_id(
        self, name: str, needs: Iterable[str] = (), **wanted: str | None
    ) -> pd.DataFrame:
        """A `table` by item id, each item once: of one judge and one criterion, the `wanted` ones
        of several."""
        return self.of_voice(name, self.table(name, needs), **wanted)

    def of_voice(
        self, name: str, frame: pd.DataFrame, **wanted: str | None
    ) -> pd.DataFrame:
        """What `by_id` returns, of a table that is read already."""
        for column, value in wanted.items():
            if value is not None and column in frame:
                frame = frame[frame[column] == value]
        voices = frame[[column for column in ("judge", "criterion") if column in frame]]
        self._check_one(list(dict.fromkeys(voices.itertuples(index=False, name=None))))
        if len(twice := frame.loc[frame["item_id"].duplicated(), "item_id"]):
            raise self._damaged(name, f"{twice.iloc[0]!r} is in it twice")
        return frame.set_index("item_id")

    def _check_one(self, voices: Sequence[tuple[str, ...]]) -> None:
        if len(voices) > 1:
            listed = ", ".join(" on ".join(map(str, voice)) for voice in voices)
            way = (
                "Name one of a single judge and criterion, or judge with one of these."
            )
            raise DataError(
                f"{self.named}, a run with several scores per item ({listed}). {way}"
            )

    def _damaged(self, name: str, why: object) -> DataError:
        what = f"its {name} cannot be read ({str(why).splitlines()[0]})"
        return DataError(
            f"{self.named}: {what}. Put back a whole copy, or repeat that run."
        )


def _beside(path: Path) -> str:
    """The runs that lie where this one was looked for."""
    found = (
        sorted(p.parent.name for p in path.parent.glob(f"*/{JOURNAL}"))
        if path.parent.is_dir()
        else []
    )
    return f" Runs beside it: {', '.join(found[-8:])}." if found else ""

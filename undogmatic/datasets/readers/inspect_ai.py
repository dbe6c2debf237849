"""Reads logs of Inspect (`.eval` and `.json`): one verdict per sample, scorer and key of a score.

A score that a person edited is the judge's verdict as it was before, and the person's label. Where
the epochs of a sample have the same output they are repeats of the judge; where the system answered
anew they are items of one group.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    Unread,
    at,
    cell,
    facts,
    is_record,
    joined,
    kept,
    load,
    text_of,
    whole,
)
from undogmatic.errors import DataError
from undogmatic.records.records import OVERALL
from undogmatic.safety.outside import (
    JSON_BYTES,
    Unreadable,
    decoded,
    json_value,
    json_with_doubled,
    opened,
)

WORDS = {"C": "correct", "I": "incorrect", "P": "partial"}
"""What Inspect's letters say. Its "N" (no answer) is no verdict."""
LOCAL, _ZSTD = b"PK\x03\x04", 93
_HEADER = struct.Struct("<4s5H3L2H")


class _Member(NamedTuple):
    """A file in an archive: where its header begins, how it is packed, and its size before and
    after."""

    name: str
    start: int
    method: int
    packed: int
    size: int


def _claims(head: Head) -> bool:
    if head.raw.startswith(LOCAL):
        return b"_journal/start.json" in head.raw[:200] or head.path.suffix == ".eval"
    return head.has("version", "status", "eval") and isinstance(
        head.first("eval"), Mapping
    )


def _records(path: Path, problems: list[str]) -> Given:
    """The samples, each with what the log says of the evaluation."""
    with opened(path) as file:
        packed = file.read(4) == LOCAL
    log, samples = _archive(path, problems) if packed else _plain(path, problems)
    about = log.get("eval") or {}
    status = log.get("status")
    if status not in ("success", None):
        problems.append(
            f"{path}: the evaluation ended with the status {status}; what it scored was read."
        )
    about = {**about, "scorer": only_scorer(log)}
    return [
        (
            f"{path}#sample {sample.get('id')}, epoch {sample.get('epoch')}",
            (sample, about),
        )
        for sample in map(_slim, samples)
    ]


def only_scorer(log: Mapping[str, Any]) -> str:
    """The name of the scorer in logs of the first version, whose samples have one `score`."""
    results = log.get("results") or {}
    named = at(results, "scorer", "name") or at(results, "scores", "name")
    return str(named or at(log, "eval", "scorers", "name") or "score")


_KEPT = ("id", "epoch", "input", "target", "scores", "score", "metadata", "error")


def _slim(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample without its messages, events and attachments, which may take a thousand times what
    is read of it."""
    kept_fields = {key: sample[key] for key in _KEPT if key in sample}
    return kept_fields | {"output": {"completion": _output(sample)}}


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    outputs: dict[str, list[str | None]] = {}
    for _, (sample, _) in given:
        outputs.setdefault(str(sample.get("id")), []).append(_output(sample))
    criteria: dict[str, dict[str | None, None]] = {}
    for _, (sample, about) in given:
        for judge, score in _of_sample(sample, about).items():
            criteria.setdefault(judge, {}).update(
                dict.fromkeys(_values(score.get("value")))
            )
    for names in criteria.values():
        # A scorer of several criteria gives one NaN for all where it fails.
        if len(names) > 1:
            names.pop(None, None)
    times: dict[tuple[str, str | None], int] = {}
    verdicts, labels = list[Row](), list[Row]()
    for place, (sample, about) in given:
        sample_id = str(sample.get("id"))
        text = _output(sample)
        own = kept(sample.get("metadata"))
        # The same output judged again is a repeat of the judge. Another output is
        # another item, as a system that answers anew says nothing of how steady its
        # judge is.
        anew = list(dict.fromkeys(outputs[sample_id])).index(text)
        repeat = times[sample_id, text] = times.get((sample_id, text), -1) + 1
        row = {
            key: WORDS.get(value, value)
            for key, value in facts(sample.get("metadata")).items()
        } | {
            "item": f"{sample_id} ({anew + 1})" if anew else sample_id,
            "group": sample_id,
            "repeat": repeat,
            "text": text,
            "input": text_of(sample.get("input")),
            "context": text_of(sample.get("target")),
            "system": None if own.kind else about.get("model"),
            "place": place,
        }
        row |= own.row
        labels += [row | one for one in own.labels]
        for said in scores_of(sample, about, criteria):
            if own.kind and said["criterion"] is None:
                said["criterion"] = OVERALL
            if said["judge"].lower().startswith("human"):
                about_it = {
                    "criterion": said["criterion"],
                    "label": said.get("verdict"),
                    "rater": said["judge"],
                }
                labels.append(row | about_it)
            else:
                verdicts.append(row | said | own.of(said["judge"], said["criterion"]))
        if not own.kind:
            why = (sample.get("error") or {}).get(
                "message"
            ) or "the sample was not scored"
            scored = _of_sample(sample, about)
            verdicts += [
                row | {"judge": judge, "criterion": criterion, "reason": why}
                for judge, named in criteria.items()
                if judge not in scored and not judge.lower().startswith("human")
                for criterion in named
            ]
    yield from joined(verdicts, labels, source, problems)


def _of_sample(
    sample: Mapping[str, Any], about: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The scores of a sample by scorer; in logs of the first version it has one."""
    scores = sample.get("scores") or {}
    if not scores and isinstance(sample.get("score"), Mapping):
        return {str(about.get("scorer") or "score"): sample["score"]}
    return scores if isinstance(scores, Mapping) else {}


def scores_of(
    sample: Mapping[str, Any],
    about: Mapping[str, Any],
    criteria: Mapping[str, Mapping[str | None, None]],
) -> Iterator[Row]:
    """What each scorer gave a sample; of a score that was edited the first value, and the last as
    the label. Of a criterion that a scorer names elsewhere and not here the verdict is missing."""
    for judge, score in _of_sample(sample, about).items():
        history = [
            each for each in score.get("history") or () if isinstance(each, Mapping)
        ]
        edits = [each for each in history if each.get("provenance")]
        first = (
            score
            if not edits
            else next((each for each in history if not each.get("provenance")), {})
        )
        given = _values(first.get("value"))
        labels = _values(score.get("value")) if edits else {}
        person = edits[-1]["provenance"].get("author") if edits else None
        names = criteria.get(judge) or {}
        for criterion in names or dict.fromkeys([*given, *labels]):
            verdict = given.get(criterion)
            told = {"verdict": verdict, "label": labels.get(criterion), "rater": person}
            if verdict is None:
                told["reason"] = first.get("explanation") or "the scorer gave no value"
            named = {"judge": judge, "criterion": criterion} | _settings(about, judge)
            yield named | {
                key: value for key, value in told.items() if value is not None
            }


def _values(value: Any) -> dict[str | None, Any]:
    """A score's values by criterion (None: it has one value)."""
    if isinstance(value, Mapping):
        return {str(key): _word(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return {str(number): _word(inner) for number, inner in enumerate(value, 1)}
    return {None: _word(value)}


def _word(value: Any) -> Any:
    return (
        None
        if value == "N"
        else WORDS.get(value, value)
        if isinstance(value, str)
        else cell(value)
    )


def _output(sample: Mapping[str, Any]) -> str | None:
    output = sample.get("output") or {}
    choices = output.get("choices") or ()
    return text_of(output.get("completion")) or (
        text_of(choices[0].get("message")) if choices else None
    )


def _settings(about: Mapping[str, Any], judge: str) -> Row:
    """The judge's model and prompt, where the log says them: a scorer's own model, the role of a
    grader, or for a scorer that asks a model and names none the evaluated one."""
    scorer: Mapping[str, Any] = next(
        (
            each
            for each in about.get("scorers") or ()
            if str(each.get("name")).endswith(judge)
        ),
        {},
    )
    options = scorer.get("options") or {}
    model = options.get("model") or (about.get("model_roles") or {}).get("grader")
    if isinstance(model, Mapping):
        model = model.get("model")
    if model is None and "model_graded" in judge:
        model = about.get("model")
    prompt = "\n".join(
        str(options[key]) for key in ("template", "instructions") if options.get(key)
    )
    told = {"settings.model": model, "settings.prompt": prompt}
    return {key: str(value) for key, value in told.items() if value}


def _plain(path: Path, problems: list[str]) -> tuple[dict[str, Any], list[Any]]:
    log, half = load(path)
    return log, whole(log.get("samples"), half, path, problems)


def _archive(path: Path, problems: list[str]) -> tuple[dict[str, Any], list[Any]]:
    """The header and the samples of a `.eval` file; of one whose end is missing, those that are
    whole."""
    log: dict[str, Any] = {"status": None}
    samples: dict[tuple[int, str], Any] = {}
    with opened(path) as file:
        members, is_whole = members_of(file, path)
        for member in members:
            if not member.name.startswith("samples/") and member.name not in (
                "_journal/start.json",
                "header.json",
            ):
                continue
            try:
                text = decoded(unpack(file, member))
                json_value(text, infinite=True)
                value = json_with_doubled(text)
            except (Unreadable, ValueError, zlib.error, OSError) as error:
                rows = int(member.name.startswith("samples/"))
                problems.append(
                    Unread(f"{path}#{member.name}: {error}; it was left out.", rows)
                )
                continue
            if not is_record(value, f"{path}#{member.name}", problems):
                continue
            if member.name.startswith("samples/"):
                samples[value.get("epoch") or 1, str(value.get("id"))] = _slim(value)
            else:
                log |= value
    if not is_whole:
        # The log tells how many samples there were to be; of each that is not there nobody knows
        # what it was.
        planned = at(log, "eval", "dataset", "samples")
        epochs = at(log, "eval", "config", "epochs")
        wanted = (
            planned * (epochs if isinstance(epochs, int) else 1)
            if isinstance(planned, int)
            else 0
        )
        what = (
            f"breaks off (a run that crashed, or half a copy); {len(members)} whole parts of it"
            " were read"
        )
        problems.append(Unread(f"{path}: {what}.", max(1, wanted - len(samples))))
    return log, list(samples.values())


def members_of(file: BufferedReader, path: Path) -> tuple[list[_Member], bool]:
    """The files of an archive by its list of contents, and whether it has one; without it, which is
    written last, one after the other."""
    try:
        listed = zipfile.ZipFile(file).infolist()
        named = (
            (i.filename, i.header_offset, i.compress_type, i.compress_size, i.file_size)
            for i in listed
        )
        return [_Member(*one) for one in named], True
    except (zipfile.BadZipFile, struct.error, OSError):
        pass
    found, start = list[_Member](), 0
    size = file.seek(0, 2)
    while start + _HEADER.size <= size:
        file.seek(start)
        sign, _, _, method, _, _, _, packed, unpacked, named, extra = _HEADER.unpack(
            file.read(_HEADER.size)
        )
        end = start + _HEADER.size + named + extra + packed
        # A part that goes on beyond the end of the file was being written when the
        # process died.
        if sign != LOCAL or end > size:
            break
        found.append(
            _Member(
                file.read(named).decode("utf-8", "replace"),
                start,
                method,
                packed,
                unpacked,
            )
        )
        start = end
    if not found:
        raise DataError(
            f"{path}: begins like a log of Inspect (.eval) and holds no whole part of one."
        )
    return found, False


def unpack(file: BufferedReader, member: _Member) -> bytes:
    """The bytes of a file in an archive. Raises ValueError or zlib.error for one that is too large
    or damaged."""
    # What it says of itself, before anything is unpacked: a few kilobytes can unpack to
    # more than there is memory.
    if member.size > JSON_BYTES:
        raise ValueError(f"larger than {JSON_BYTES:,} bytes")
    file.seek(member.start)
    *_, named, extra = _HEADER.unpack(file.read(_HEADER.size))
    file.seek(named + extra, 1)
    raw = file.read(member.packed)
    if member.method == _ZSTD:
        return _zstd(raw, member.size)
    if member.method == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-15).decompress(raw, member.size + 1)
    if member.method == zipfile.ZIP_STORED:
        return raw
    raise ValueError(f"packed in a way ({member.method}) that Inspect does not use")


def _zstd(raw: bytes, size: int) -> bytes:
    import pyarrow

    return bytes(pyarrow.Codec("zstd").decompress(raw, size))


READER = Reader(
    "a log of Inspect",
    _claims,
    _records,
    _rows,
    About(
        tool="Inspect",
        file="`.eval` or `.json` log, also of the first version (one `score`)",
        verdict=(
            'the value of each scorer, and of each key of a score; "C", "I" and "P" are '
            "correct, incorrect and partial"
        ),
        label=(
            "what a person put in place of a score (the score before it is the verdict); the "
            "score of a scorer whose name begins with `human`"
        ),
        fixture="by the tool (0.3.285); the first version from its format",
    ),
)

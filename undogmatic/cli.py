"""The `undogmatic` command: small doors to the same rooms. Experiments are `python -m undogmatic.run`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from undogmatic.errors import ConfigError, DataError, UndogmaticError

if TYPE_CHECKING:
    from undogmatic.api import ScoreResult

# litellm (below DSPy and MLflow) otherwise fetches a price map at import and waits for the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point. Our own errors are printed without a traceback; the exit status is then not 0."""
    parser = _parser()
    given, rest = parser.parse_known_args(arguments)
    # argparse takes no positional words after an option, but `--json model=gpt` is natural.
    stray = [word for word in rest if "=" not in word or word.startswith("-") or not hasattr(given, "overrides")]
    if stray:
        parser.error(f"unrecognized arguments: {' '.join(stray)}")
    if rest:
        given.overrides += rest
    if given.command is None:
        parser.print_help()
        sys.exit(2)
    try:
        given.run(given)
    except UndogmaticError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        print(f"error: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="undogmatic",
        description="Tells you whether you may believe an LLM judge. Experiments: python -m undogmatic.run --help",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and what it runs on")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    score = commands.add_parser("score", help="score one text, or every text of a file")
    score.add_argument("text", nargs="?", help='the text; "-" reads it from standard input')
    score.add_argument("--file", help="JSONL, CSV or Parquet with the field text (id optional)")
    score.add_argument("--json", action="store_true", help="print JSON lines instead of words")
    score.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="config overrides, e.g. model=gpt")
    score.set_defaults(run=_score)

    pairs = commands.add_parser("pairs", help="make the pairs file from a theses file")
    pairs.add_argument("theses", nargs="?", help="theses file (default: the shipped one)")
    pairs.add_argument("--out", default="ab_pairs.jsonl", help="pairs file to write (default: ab_pairs.jsonl)")
    pairs.set_defaults(run=_pairs)

    probe = commands.add_parser("probe", help="fit a probe on an embedded model's hidden states")
    actions = probe.add_subparsers(dest="action", required=True)
    fit = actions.add_parser("fit", help="fit a probe on labelled texts and save it")
    fit.add_argument(
        "--data", help="labelled file: text, label, optionally id, pair (default: shipped development texts)"
    )
    fit.add_argument("--out", default="probe.safetensors", help="where to save it (default: probe.safetensors)")
    fit.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="config overrides, e.g. model.path=FILE")
    fit.set_defaults(run=_probe_fit)

    calibrate = commands.add_parser("calibrate", help="fit a score calibration on labelled development texts")
    calibrate.add_argument("--data", help="labelled file (default: shipped development texts)")
    calibrate.add_argument("--method", choices=("linear", "isotonic", "platt", "content_free"), default="isotonic")
    calibrate.add_argument("--out", default="calibration.json", help="where to save it (default: calibration.json)")
    calibrate.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="config overrides, e.g. readout=logprobs")
    calibrate.set_defaults(run=_calibrate)

    review = commands.add_parser("review", help="queue the items a human should look at; take the labels back")
    _review_doors(review)

    ui = commands.add_parser("ui", help="start the MLflow UI on the runs of this folder")
    ui.add_argument("--uri", help="tracking store (default: sqlite:///mlruns/mlflow.db)")
    ui.add_argument("--port", type=int, default=5000)
    ui.add_argument("--host", default="127.0.0.1")
    ui.set_defaults(run=_ui)
    return parser


def _review_doors(review: argparse.ArgumentParser) -> None:
    doors = review.add_subparsers(dest="action", required=True)
    export = doors.add_parser("export", help="write a run's review queue as CSV and JSON Lines, most uncertain first")
    export.add_argument("run_folder", metavar="RUN", help="the run's folder")
    export.add_argument("--budget", type=int, help="at most so many rows (default: all flagged and failed items)")
    export.add_argument("--all", action="store_true", help="rank every item, not only flagged and failed ones")
    export.add_argument("--random", type=int, default=0, metavar="N", help="so many further items drawn at random")
    export.add_argument("--seed", type=int, default=0, help="of the random draw (default: 0)")
    export.add_argument("--redact", action="store_true", help="write hashes instead of texts")
    export.add_argument("--out", default="queue", help="files to write, without suffix (default: queue)")
    export.set_defaults(run=_review_export)
    take = doors.add_parser(
        "import",
        help="check a filled queue, or what people said in MLflow, and add the labels to the run",
        usage="%(prog)s [-h] RUN (LABELS | --from-mlflow) [--scale SCALE] [--labeller LABELLER] [--revise]",
    )
    take.add_argument("run_folder", metavar="RUN", help="the run's folder")
    file = take.add_argument("labels", metavar="LABELS", help="the filled CSV or JSON Lines file")
    file.required = False  # not nargs="?", which takes nothing where LABELS stands behind an option
    take.add_argument(
        "--from-mlflow", action="store_true", help="take `human_label` from the run's traces instead of a file"
    )
    take.add_argument("--scale", help="the scale of the labels if it is not the rubric's, e.g. 0-10: maps them")
    take.add_argument("--labeller", help="whose labels they are where nothing else says so")
    take.add_argument("--revise", action="store_true", help="replace the same labeller's earlier labels")
    take.set_defaults(run=_review_import)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from undogmatic.versions import versions

        found = versions()
        print(f"undogmatic {found.pop('undogmatic')}")
        print("  ".join(f"{name} {version}" for name, version in found.items()))
        parser.exit()


def _score(given: argparse.Namespace) -> None:
    from undogmatic.api import score_texts
    from undogmatic.datasets.tabular import TextsDataset

    text, overrides = given.text, list(given.overrides)
    if given.file is not None:
        if text is not None:  # with --file, the first positional is an override
            overrides.insert(0, text)
        items = TextsDataset(given.file, key="--file").load()
        names, texts = [item.id for item in items], [item.text for item in items]
    elif text is None:
        raise DataError('nothing to score: undogmatic score "text", or undogmatic score --file texts.jsonl')
    else:
        names, texts = ["text"], [sys.stdin.read() if text == "-" else text]
    failed = 0
    for name, result in zip(names, score_texts(texts, overrides), strict=True):
        failed += result.error is not None
        if given.json:
            fields = result.model_dump(mode="json", exclude={"overrides"})
            print(json.dumps({"id": name} | fields, ensure_ascii=False))
            continue
        print((f"{name}: " if given.file is not None else "") + _in_words(result))
    if not given.json:
        print(f"({_ends(overrides)}. {result.model}, readout {result.readout})", file=sys.stderr)
    if failed:
        sys.exit(1)


def _ends(overrides: Sequence[str]) -> str:
    """What the lowest and the highest score mean: "0 = ..., 100 = ..."."""
    from undogmatic.api import compose_config
    from undogmatic.config import build, settings

    rubric = build(settings(compose_config(overrides)).rubric, "rubric")
    anchors = rubric.anchors("en" if "en" in rubric.wordings else next(iter(rubric.wordings)))
    return " / ".join(f"{level.value:g} = {level.meaning}" for level in (anchors[0], anchors[-1]))


def _in_words(result: ScoreResult) -> str:
    if result.error is not None:
        return f"no score ({result.error})"
    words = [f"{result.score:.1f}"]
    if result.interval is not None:
        words.append(f"interval {result.interval[0]:.1f}-{result.interval[1]:.1f}")
    if result.confidence is not None:
        words.append(f"confidence {result.confidence:.0f}")
    if result.uncertainty is not None:
        words.append(f"uncertainty {result.uncertainty}{', for review' if result.review else ''}")
    if result.rationale:
        words.append(result.rationale)
    words += result.issues
    return "  ".join(words)


def _pairs(given: argparse.Namespace) -> None:
    from undogmatic.datasets.base import existing_file
    from undogmatic.datasets.curated import make_pairs, write_json_lines
    from undogmatic.paths import data_folder

    default = data_folder() / "curated" / "theses.jsonl"
    theses = default if given.theses is None else existing_file(given.theses, "theses", (".jsonl",))
    rows = make_pairs(theses)
    write_json_lines(rows, Path(given.out))
    matched = sum(row["length_matched"] for row in rows)
    print(f"{len(rows)} pairs ({matched} length-matched) written to {given.out}")


def _probe_fit(given: argparse.Namespace) -> None:
    from undogmatic.readouts.probe_fit import fit_from_config

    print(fit_from_config(given.data, Path(given.out), given.overrides))


def _calibrate(given: argparse.Namespace) -> None:
    from undogmatic.readouts.calibrate import calibrate_from_config

    print(calibrate_from_config(given.data, given.method, Path(given.out), given.overrides))


def _review_export(given: argparse.Namespace) -> None:
    from undogmatic.review.commands import export

    said = export(
        given.run_folder,
        given.out,
        budget=given.budget,
        everything=given.all,
        random=given.random,
        seed=given.seed,
        redact=given.redact,
    )
    print(said)


def _review_import(given: argparse.Namespace) -> None:
    from undogmatic.review.commands import import_from_mlflow, import_labels

    options = {"scale": given.scale, "labeller": given.labeller, "revise": given.revise}
    if given.from_mlflow == (given.labels is not None):
        problem = (
            f"LABELS is {given.labels!r} and --from-mlflow is given" if given.from_mlflow else "no labels are named"
        )
        raise ConfigError(
            f"{problem}; give one of them: a filled file, or --from-mlflow for what is on the run's traces."
        )
    if given.from_mlflow:
        print(import_from_mlflow(given.run_folder, **options))
    else:
        print(import_labels(given.run_folder, given.labels, **options))


def _ui(given: argparse.Namespace) -> None:
    from undogmatic.ui import serve

    serve(uri=given.uri, port=given.port, host=given.host)


if __name__ == "__main__":
    main()

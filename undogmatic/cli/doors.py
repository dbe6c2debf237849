"""Holds the commands that hand what was typed to another room (`probe`, `calibrate`, `review`,
`ui`), and the words of all commands that compose a config."""

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import Any

from undogmatic.cli.numbers import whole
from undogmatic.errors import ConfigError
from undogmatic.safety.apart import in_settings, keep_apart, named
from undogmatic.safety.outside import visible

_COLUMNS = {"item_id": "the items' ids", "label": "the labels"}
"""Of a filled table, the columns that may be named, and what they hold."""


def add_words(parser: argparse.ArgumentParser, example: str) -> None:
    """Add KEY=VALUE and --config-dir."""
    own = "a folder of config groups of your own"
    parser.add_argument(
        "--config-dir", action="append", default=[], metavar="DIR", help=own
    )
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help=f"config overrides, e.g. {example}",
    )


def add_language(parser: Any) -> None:
    """Add --language."""
    from undogmatic.records.wordings import languages

    what = "language of all that is written (default: en)"
    parser.add_argument("--language", choices=languages(), default="en", help=what)


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add --port and --no-browser, for a page that this program serves."""
    port = whole("--port", 0, 65535, 8080)
    free = "port of the page (default: a free one)"
    parser.add_argument("--port", type=port, default=0, metavar="N", help=free)
    silent = "print the address and open nothing"
    parser.add_argument("--no-browser", action="store_true", help=silent)


def words(typed: argparse.Namespace) -> list[str]:
    """What was typed, as overrides. Raises ConfigError."""
    from undogmatic.config.compose import word

    return [*word(typed.config_dir), *typed.overrides]


def _add_probe(commands: Any) -> None:
    """Add `probe fit` and `probe list`."""
    probe = commands.add_parser(
        "probe", help="fit a probe on an embedded model's hidden states"
    )
    actions = probe.add_subparsers(dest="action", required=True)
    fit = actions.add_parser("fit", help="fit a probe on labelled texts and save it")
    fit.add_argument(
        "--data",
        help="labelled file: text, label, maybe id, pair (default: shipped development texts)",
    )
    fit.add_argument(
        "--out",
        default="probe.safetensors",
        help="where to save it (default: probe.safetensors)",
    )
    add_words(fit, "model.path=FILE")
    fit.set_defaults(run=_fit)
    what = "say for which rubrics a probe ships, and how good it is"
    shipped = actions.add_parser("list", help=what)
    add_language(shipped)
    shipped.set_defaults(run=_list)


def add(commands: Any) -> None:
    """Add the commands."""
    _add_probe(commands)
    calibrate = commands.add_parser(
        "calibrate", help="fit a score calibration on labelled development texts"
    )
    calibrate.add_argument(
        "--data", help="labelled file (default: shipped development texts)"
    )
    calibrate.add_argument(
        "--method",
        choices=("linear", "isotonic", "platt", "content_free"),
        default="isotonic",
        help="what is fitted (default: isotonic)",
    )
    calibrate.add_argument(
        "--out",
        default="calibration.json",
        help="where to save it (default: calibration.json)",
    )
    add_words(calibrate, "readout=logprobs")
    calibrate.set_defaults(run=_fit)

    review = commands.add_parser(
        "review", help="queue the items a human should look at; take the labels back"
    )
    actions = review.add_subparsers(dest="action", required=True)
    export = actions.add_parser(
        "export",
        help="write a run's review queue as CSV and JSON Lines, most uncertain first",
    )
    export.add_argument("run_folder", metavar="RUN", help="the run's folder")
    budget = whole("--budget", 0, None, 50)
    export.add_argument(
        "--budget",
        type=budget,
        help="at most so many rows (default: all flagged and failed items)",
    )
    ranked = "rank every item, not only flagged and failed ones"
    export.add_argument("--all", action="store_true", dest="everything", help=ranked)
    further = whole("--random", 0, None, 20)
    export.add_argument(
        "--random",
        type=further,
        default=0,
        metavar="N",
        help="so many further items drawn at random",
    )
    seed = whole("--seed", 0, None, 1)
    export.add_argument(
        "--seed", type=seed, default=0, help="of the random draw (default: 0)"
    )
    export.add_argument(
        "--redact", action="store_true", help="write hashes instead of texts"
    )
    export.add_argument(
        "--blind",
        action="store_true",
        help="leave out what the judge said, so that nobody leans on it",
    )
    export.add_argument(
        "--out", default="queue", help="files to write, without suffix (default: queue)"
    )
    export.set_defaults(run=_export)
    take = actions.add_parser(
        "import",
        help="check a filled queue, or what people said in MLflow, and add the labels to the run",
        usage=(
            "%(prog)s [-h] RUN (LABELS | --from-mlflow) [--scale SCALE] [--labeller LABELLER]"
            " [--revise]"
        ),
    )
    take.add_argument("run_folder", metavar="RUN", help="the run's folder")
    file = take.add_argument(
        "labels",
        metavar="LABELS",
        help="the filled table (CSV, XLSX, ODS, JSON Lines, Parquet)",
    )
    # not nargs="?", which takes nothing where LABELS stands behind an option
    file.required = False
    instead = "take `human_label` from the run's traces instead of a file"
    take.add_argument("--from-mlflow", action="store_true", help=instead)
    take.add_argument(
        "--scale",
        help="the scale of the labels if it is not the rubric's, e.g. 0-10: maps them",
    )
    take.add_argument(
        "--labeller", help="whose labels they are where nothing else says so"
    )
    take.add_argument(
        "--revise",
        action="store_true",
        help="replace the same labeller's earlier labels",
    )
    for name, what in _COLUMNS.items():
        take.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="COLUMN",
            help=f"the column of {what}",
        )
    take.add_argument(
        "--sheet",
        metavar="NAME",
        help="of a workbook the sheet, a range (A1:C40) or both (NAME!A1:C40)",
    )
    take.set_defaults(run=_import)

    ui = commands.add_parser(
        "ui", help="start the MLflow UI on the runs of this folder"
    )
    ui.add_argument(
        "--uri", help="tracking store (default: sqlite:///mlruns/mlflow.db)"
    )
    port = whole("--port", 1, 65535, 5001)
    ui.add_argument(
        "--port",
        type=port,
        default=5000,
        metavar="N",
        help="port of the server (default: 5000)",
    )
    ui.add_argument(
        "--host",
        default="127.0.0.1",
        help="address that it listens on (default: 127.0.0.1)",
    )
    ui.set_defaults(run=lambda given: serve(given.uri, given.port, given.host))


def _list(typed: argparse.Namespace) -> None:
    from undogmatic.cli.probes import show

    show(typed)


def _fit(typed: argparse.Namespace) -> None:
    from undogmatic.fit import calibration, probe

    read = [*named("--data", typed.data), *in_settings(words(typed))]
    keep_apart(read, named("--out", typed.out))
    if typed.command == "probe":
        print(probe.fit_from_config(typed.data, Path(typed.out), words(typed)))
    else:
        from undogmatic.api import judge_items

        print(
            calibration.calibrate_from_config(
                typed.data, typed.method, Path(typed.out), words(typed), judge_items
            )
        )


def _export(typed: argparse.Namespace) -> None:
    from undogmatic.cli.review import export
    from undogmatic.records.progress import doing

    options = {
        name: vars(typed)[name]
        for name in ("budget", "everything", "random", "seed", "redact", "blind")
    }
    with doing("reading the run", soon=True):
        said = export(typed.run_folder, typed.out, **options)
    print(visible(said))


def _import(typed: argparse.Namespace) -> None:
    from undogmatic.cli.review import import_labels
    from undogmatic.records.progress import doing

    if typed.from_mlflow == (typed.labels is not None):
        what = (
            f"LABELS is {typed.labels!r} and --from-mlflow is given"
            if typed.from_mlflow
            else "no labels are named"
        )
        way = "give one of them: a filled file, or --from-mlflow for what is on the run's traces"
        raise ConfigError(f"{what}; {way}.")
    options = {
        name: vars(typed)[name] for name in ("scale", "labeller", "revise", "sheet")
    }
    columns = {
        name: value for name in _COLUMNS if (value := getattr(typed, name)) is not None
    }
    with doing("reading the run", soon=True):
        said = import_labels(typed.run_folder, typed.labels, **options, columns=columns)
    print(visible(said))


def serve(uri: str | None, port: int, host: str) -> None:
    """Become MLflow's server on a tracking store (None: `mlruns/mlflow.db` in the current folder);
    Ctrl-C ends it. A host that is not this machine's own lets others read every logged text. Raises
    ConfigError as `server_command`.
    """
    from undogmatic.tracking.store import pages

    command, environment = server_command(uri, port, host)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    print(
        f"Starting MLflow, which takes some ten seconds. Then open http://{shown}:{port}  (Ctrl-C"
        " ends it)"
    )
    links = (
        f"  {what}: http://{shown}:{port}/{page}" for what, page in pages(uri).items()
    )
    print(visible("\n".join(links)), flush=True)
    os.execve(command[0], command, environment)


def server_command(
    uri: str | None, port: int, host: str
) -> tuple[list[str], dict[str, str]]:
    """The command that serves the store, and the environment that keeps it offline and small.
    Raises ConfigError where there is no such store, where it is a server already, or where the port
    is taken."""
    from undogmatic.safety.extras import needs
    from undogmatic.tracking.store import (
        check_uri,
        database,
        default_uri,
        prepare_environment,
        repair,
    )

    needs("mlflow")
    store = uri if uri is not None else default_uri()
    check_uri(store)
    if store.startswith(("http:", "https:", "databricks")):
        raise ConfigError(
            f"--uri is {store!r}, which is a server already: open it in a browser."
        )
    file = database(store)
    if file is not None and not file.is_file():
        way = (
            "go to the folder in which you did, or name the store: undogmatic ui --uri"
            " sqlite:///FILE.db"
        )
        raise ConfigError(
            f"There is no store at {file} yet. Run an experiment first (undogmatic run), {way}"
        )
    if file is not None:
        repair(file)
    with socket.socket(
        socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM
    ) as probe:
        # Tried here first: MLflow takes some ten seconds to start, and tells only then
        # of a port that is taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            way = f"Choose another, e.g. --port {5001 if port == 5000 else 5000}."
            raise ConfigError(
                f"--port is {port}, and {host}:{port} cannot be used: {error}. {way}"
            ) from None
    artifacts = (
        []
        if file is None
        else ["--default-artifact-root", (file.parent / "artifacts").as_uri()]
    )
    options = [
        "--backend-store-uri",
        store,
        *artifacts,
        "--host",
        host,
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    # Without what the first call sets, litellm waits for the network and the server never comes up;
    # without the second, MLflow keeps worker processes for jobs that nothing here starts.
    prepare_environment()
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", **os.environ}
    return [sys.executable, "-m", "mlflow", "server", *options], environment

"""`undogmatic export`: verdicts and labels from any file that `check` reads, in the form of another
tool."""

import argparse
import json
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError
from undogmatic.safety.apart import keep_apart, named

FORMS = {
    "csv": ".csv",
    "jsonl": ".jsonl",
    "inspect": ".json",
    "promptfoo": ".json",
    "mlflow": "",
    "argilla": ".json",
    "label-studio": ".json",
    "langfuse": ".json",
    "langsmith": ".json",
    "phoenix": ".json",
    "prodigy": ".jsonl",
}
"""The forms, and the suffix of a file in each; those of `export_tools` among them, which is
imported when one is written."""


def add(commands: Any) -> None:
    """Add the command."""
    from undogmatic.cli.check import add_reading

    parser = commands.add_parser(
        "export", help="write verdicts and labels in the form of another tool"
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="as for `undogmatic check`"
    )
    parser.add_argument("--to", required=True, choices=FORMS, help="the form")
    out = (
        "the file to write (default: verdicts and the suffix of the form); for mlflow the address"
        " of the store"
    )
    parser.add_argument("--out", metavar="FILE", help=out)
    add_reading(parser)
    parser.set_defaults(run=run)


def run(typed: argparse.Namespace) -> None:
    """Read the files, write the form, and say what was written."""
    from undogmatic.cli.check import READING
    from undogmatic.cli.checked import made, read
    from undogmatic.datasets import export
    from undogmatic.datasets.table import TableOptions
    from undogmatic.records.progress import doing
    from undogmatic.safety import files

    path = Path(typed.out or f"verdicts{FORMS[typed.to]}")
    if typed.to != "mlflow":
        keep_apart(named("FILE", typed.files), named("--out", path))
    given = {
        name: vars(typed)[name] for name in READING if vars(typed)[name] is not None
    }
    with doing("reading the file", soon=True):
        table = read(typed.files, made(TableOptions, given))
    if typed.to == "mlflow":
        from undogmatic.safety.extras import needs

        needs("mlflow")
        from undogmatic.tracking.exchange import log_verdicts

        print(
            log_verdicts(
                export.rows(table).to_dict("records"),
                typed.out,
                Path(typed.files[0]).name,
            )
        )
        return
    if path.suffix != FORMS[typed.to]:
        raise ConfigError(
            f"--out is {str(path)!r}; a file for --to {typed.to} ends in {FORMS[typed.to]}."
        )
    with doing("writing the file", soon=True):
        if typed.to == "csv":
            text = files.csv(export.rows(table))
        elif typed.to == "jsonl":
            said = export.rows(table).to_dict("records")
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in said)
        elif typed.to in ("inspect", "promptfoo"):
            write = (
                export.inspect_log
                if typed.to == "inspect"
                else export.promptfoo_results
            )
            text = json.dumps(write(table), ensure_ascii=False, indent=1) + "\n"
        else:
            from undogmatic.datasets import export_tools

            suffix, form = export_tools.FORMS[typed.to]
            if suffix == ".jsonl":
                lines = (
                    json.dumps(row, ensure_ascii=False) + "\n" for row in form(table)
                )
                text = "".join(lines)
            else:
                text = json.dumps(form(table), ensure_ascii=False, indent=1) + "\n"
        files.write(path, text)
    print(
        f"{path}: {len(table.verdicts)} verdicts and {len(table.labels)} labels on"
        f" {len(table.items)} items."
    )

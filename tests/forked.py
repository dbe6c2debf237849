"""Runs commands as `python -m WORDS` would, each in a process of its own that is forked from this
one: a fresh interpreter would import the same libraries again, which takes longer than most
commands.

Reads one order a line: the words, the folder, the environment, and the files for what is printed.
Answers with the exit status.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import sys
import threading
import traceback

import dspy  # noqa: F401  -- imported here once for all commands
import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401
import mlflow  # noqa: F401
import sklearn.feature_extraction.text
import sklearn.linear_model  # noqa: F401

import undogmatic.cli
import undogmatic.config.door
import undogmatic.examinations.suite
import undogmatic.report.contents
import undogmatic.sweep.launch
import undogmatic.tracking.tracker  # noqa: F401
from undogmatic import experiment  # noqa: F401


def main() -> None:
    """Do what is ordered, one command after another."""
    orders, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    gc.freeze()  # what is imported by now, no command looks through again
    gc.set_threshold(20_000, 20, 20)  # as in the tests themselves
    while line := orders.readline():
        words, folder, known, printed = json.loads(line)
        if (child := os.fork()) == 0:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(known)
            if "PYTHONSAFEPATH" not in known:
                sys.path.insert(0, folder)
            for stream, path in enumerate(printed, 1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            os.close(answers)
            sys.argv = words
            end(command(words[0]))
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def command(module: str) -> int:
    """Run a module as `python -m` does; its exit status."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def end(status: int) -> None:
    """End this process as an interpreter does, but for clearing its memory, which takes longer than
    most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # A stream that the command has closed is passed over, as an interpreter does at its end.
        with contextlib.suppress(ValueError):
            stream.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main()

"""Runs commands as `python -m WORDS` would, each in a process of its own that is forked from this one: a fresh
interpreter would import the same libraries again, which takes longer than most commands.

Reads one order a line: the words, the folder, the environment, and the files for what is printed. Answers with the
exit status.
"""

import json
import os
import runpy
import sys

import dspy  # noqa: F401  -- imported here once for all commands
import mlflow  # noqa: F401
import sklearn.linear_model  # noqa: F401

from undogmatic import experiment  # noqa: F401


def main() -> None:
    """Do what is ordered, one command after another."""
    orders, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
            return
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()

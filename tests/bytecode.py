"""Keeps what Python compiles for as long as the tests last, where it would be thrown away.

With PYTHONDONTWRITEBYTECODE, and packages installed without bytecode, every process that a test
starts compiles all that it imports anew: ten seconds of a processor before its first line. The
first process of the tests makes a folder for it, which the workers and the commands inherit, and
removes it at the end.
"""

import os
import shutil
import sys
import tempfile

_folder: str | None = None

if sys.dont_write_bytecode:
    _folder = tempfile.mkdtemp(prefix="undogmatic-bytecode-")
    sys.dont_write_bytecode, sys.pycache_prefix = False, _folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = _folder


def forget() -> None:
    """Remove the folder, in the process that has made it."""
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)

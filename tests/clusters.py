"""A cluster of Ray with two machines on this one, for tests and benchmarks."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest


class Machines(NamedTuple):
    """Where it is, and the folder in which all its logs are."""

    address: str
    folder: Path


@contextmanager
def two_machines() -> Iterator[Machines]:
    """With one processor each."""
    from ray.cluster_utils import Cluster

    # names of sockets may not be long
    folder = tempfile.mkdtemp(dir="/tmp", prefix="ray-")
    each = {"num_cpus": 1, "object_store_memory": 80 << 20}
    own = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_TMPDIR": folder,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        try:
            cluster = Cluster(
                initialize_head=True,
                head_node_args={**each, "include_dashboard": False},
            )
            try:
                cluster.add_node(**each)
                yield Machines(cluster.address, Path(folder))
            finally:
                cluster.shutdown()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def workers() -> list[int]:
    """The processes that judge on machines which this process has made."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [
        (int(pid), int(parent), words)
        for pid, parent, words in (row.split(None, 2) for row in listed.splitlines())
    ]
    machines = {pid for pid, parent, _ in rows if parent == os.getpid()}
    return [
        pid
        for pid, parent, words in rows
        if parent in machines and words.startswith("ray::Worker")
    ]

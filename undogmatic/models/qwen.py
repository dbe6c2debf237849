"""`qwen`: Qwen2.5-Instruct in this process, a small model that follows instructions.

Its file is downloaded once from the Hugging Face hub, at a pinned revision and with a known
SHA-256; after that neither a key nor a network is needed.
"""

import functools
import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated, NamedTuple

from filelock import FileLock
from pydantic import Field

from undogmatic.errors import ConfigError, StorageError
from undogmatic.models import gguf_file
from undogmatic.models.embedded import CONTEXT, EmbeddedModel
from undogmatic.safety.command import say
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import cache_folder


class File(NamedTuple):
    """A file of a model as the hub publishes it."""

    name: str
    bytes: int
    sha256: str


class Published(NamedTuple):
    """What the hub has of one size of the model."""

    size: str
    repository: str
    revision: str
    files: tuple[File, ...]


@functools.cache
def published() -> dict[str, Published]:
    """What can be downloaded, by its size."""
    sizes = read_yaml(Path(__file__).with_suffix(".files.yaml"))
    return {
        size: Published(
            size,
            entry["repository"],
            entry["revision"],
            tuple(File(**each) for each in entry["files"]),
        )
        for size, entry in sizes.items()
    }


LICENCE = {
    "en": "Model: the Qwen2.5-Instruct weights of this size are under Apache-2.0.",
    "pt": "Modelo: os pesos do Qwen2.5-Instruct deste tamanho seguem a licença Apache-2.0.",
}


class QwenModel(EmbeddedModel):
    """Qwen2.5-Instruct (Q4_K_M) by its size, or any GGUF file of an instruction model."""

    def __init__(
        self,
        size: str = "0.5b",  # 0.5b, 1.5b or 7b
        # a GGUF file that is here already, in place of the download; `size` is then not read
        path: str | None = None,
        threads: Annotated[
            int, Field(ge=1, le=1024)
        ] = 2,  # fewer where jobs of a sweep run side by side
        # tokens it can hold at once
        context: Annotated[int, Field(ge=64, le=131_072)] = CONTEXT,
    ) -> None:
        super().__init__(
            path or str(downloaded(size)), None, threads, context, base=False
        )
        if path is None:
            self.licence = LICENCE


def downloaded(size: str) -> Path:
    """The first file of a size, in the cache folder; downloaded, and checked, where it is not there
    yet. Safe with several processes. Raises ConfigError where it cannot be had, is not the file
    that is expected, or may not be used; StorageError where there is no room for it."""
    if size == "3b":
        raise ConfigError(
            "`model.size` is '3b', which is under the Qwen Research licence and not under"
            f" Apache-2.0 as the others are. Choose {', '.join(published())}, or name the file of a"
            " model that you may use: model.path=FILE."
        )
    if size not in published():
        raise ConfigError(
            f"`model.size` is {size!r}; there are {', '.join(published())}."
        )
    wanted, folder = published()[size], cache_folder() / "qwen"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder / size}.lock"):
            missing = [
                file for file in wanted.files if not (folder / file.name).is_file()
            ]
            needed = sum(file.bytes for file in missing)
            free = shutil.disk_usage(folder).free
            if missing and free < needed:
                what = (
                    f"{folder} has {free / 1e9:.1f} GB left, and the model needs"
                    f" {needed / 1e9:.1f} GB"
                )
                raise StorageError(
                    f"{what}. Set UNDOGMATIC_CACHE to a larger disk, or choose a smaller"
                    " model.size."
                )
            for file in missing:
                _download(wanted, file, folder)
            for file in wanted.files:
                _require(folder / file.name, file)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written ({error.strerror or error}); set UNDOGMATIC_CACHE."
        ) from None
    return folder / wanted.files[0].name


def _download(wanted: Published, file: File, folder: Path) -> None:
    """Download one file with progress on standard error; where an earlier try was cut off, go on
    with it."""
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HTTPError
        from huggingface_hub.utils import logging

        # it tries several times and would report each; what came of it is said below
        logging.set_verbosity_error()
        say(
            f"Downloading {file.name} ({file.bytes / 1e9:.1f} GB) to {folder}, once; no key is"
            " needed."
        )
        source = os.environ.get("HF_ENDPOINT")
        hf_hub_download(
            wanted.repository,
            file.name,
            revision=wanted.revision,
            local_dir=folder,
            endpoint=source,
        )
    except (ImportError, HTTPError, OSError, ValueError) as error:
        said = str(error.__cause__ or error).strip().splitlines() or [
            type(error).__name__
        ]
        names = " ".join(shlex.quote(each.name) for each in wanted.files)
        fetch = (
            f"hf download {wanted.repository} {names} --revision {wanted.revision} --local-dir"
            f" {folder}"
        )
        raise ConfigError(
            f"model=qwen model.size={wanted.size} cannot be downloaded: {said[0].rstrip('.')}. Ways"
            f" on: download it where there is a network (pip install huggingface_hub; {fetch}) and"
            " bring the files to that folder; name a GGUF file that you have (model.path=FILE); or"
            " use the model that is installed here (model=local)."
        ) from None


def _require(path: Path, file: File) -> None:
    """Raise ConfigError, and remove the file, unless it is the one that is expected."""
    if (found := gguf_file.known_sha256(path)) == file.sha256:
        return
    for each in (path, path.with_name(path.name + gguf_file.NOTE)):
        each.unlink(missing_ok=True)
    raise ConfigError(
        f"{path.name} is not the file that is expected: SHA-256 expected {file.sha256}, found"
        f" {found}. It was removed; run the command again to download it anew. If this happens"
        " twice, what is served was changed: name a file that you trust with model.path=FILE."
    )

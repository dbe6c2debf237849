"""Says which extra of the installation brings a package that is not installed. Without extras a
light part is there."""

import importlib.util
from contextlib import suppress

EXTRAS = {
    **dict.fromkeys(
        "aiohttp dspy hydra mlflow omegaconf optuna safetensors xllamacpp".split(),
        "run",
    ),
    **dict.fromkeys(("matplotlib", "PIL"), "figures"),
    "pyarrow": "parquet",
    "ray": "scale",
    "opentelemetry": "otel",
    "mcp": "mcp",
    **dict.fromkeys(("openpyxl", "python_calamine"), "sheets"),
}
"""What is imported -> the extra of pyproject.toml that brings it; each of the others has a message
of its own."""


def lacking(error: BaseException, door: str, extra: str | None = None) -> str | None:
    """The sentence for what the user called (`door`), if the error is that an extra is not
    installed; else None. Where the door names an `extra` of its own, which brings more, that is the
    one to install."""
    missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    package = missing.partition(".")[0]
    if package not in EXTRAS:
        return None
    extra = EXTRAS[package] if extra is None else extra
    return (
        f'`{door}` needs what `pip install "undogmatic[{extra}]"` brings ({missing} is not'
        " installed)."
    )


def installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    with suppress(ModuleNotFoundError):
        return importlib.util.find_spec(package) is not None
    return False


def needs(package: str) -> None:
    """Raise ModuleNotFoundError where a package is not installed, without importing it."""
    if not installed(package):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

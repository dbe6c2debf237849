"""Prices a call: by configured prices, or by the price list that comes with litellm, read as a file."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from undogmatic.errors import ConfigError
from undogmatic.records.records import Record

_PRICE_LIST = "model_prices_and_context_window_backup.json"


class Price(Record):
    """USD per million tokens. Both numbers, or neither: then the price list is asked."""

    input: float | None = Field(default=None, ge=0)
    output: float | None = Field(default=None, ge=0)

    @property
    def known(self) -> bool:
        """Whether a call can be priced."""
        return self.input is not None and self.output is not None

    def usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """Price of one call in USD, or None where unknown. Discounts for cached input are not applied."""
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def find_price(configured: Price | None, provider: str | None, name: str) -> Price:
    """The configured price, else the listed one, else an unknown price.

    Args:
        configured: `model.price`, or None.
        provider: The list's name for the provider, e.g. "openai"; None for a server that is on no list.
        name: The model's name at the provider.
    Raises:
        ConfigError: Only one of the two prices is given.
    """
    if configured is not None and configured.known:
        return configured
    if configured is not None and (configured.input, configured.output) != (None, None):
        missing = "input" if configured.input is None else "output"
        raise ConfigError(f"`model.price.{missing}` is null while the other price is set; give both, or neither.")
    for entry in _entries(provider, name):
        cost_in, cost_out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
        if cost_in is not None and cost_out is not None:
            return Price(input=cost_in * 1e6, output=cost_out * 1e6)
    return Price()


def find_context(provider: str | None, name: str) -> int | None:
    """Tokens that a listed model takes, or None for one that is on no list; see `find_price`."""
    known = (entry.get("max_input_tokens") for entry in _entries(provider, name))
    return next((tokens for tokens in known if isinstance(tokens, int) and tokens > 0), None)


def _entries(provider: str | None, name: str) -> list[dict[str, Any]]:
    """What litellm's list says of a model, the provider's own entry first."""
    if provider is None:
        return []
    entries = [entry for key in (f"{provider}/{name}", name) if isinstance(entry := _price_list().get(key), dict)]
    return [entry for entry in entries if str(entry.get("litellm_provider", "")).startswith(provider)]


@cache
def _price_list() -> dict[str, Any]:
    """The package itself is not imported (5 s, and it asks the network)."""
    spec = importlib.util.find_spec("litellm")
    file = Path(spec.origin).with_name(_PRICE_LIST) if spec is not None and spec.origin is not None else None
    listed: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file and file.is_file() else {}
    return listed

"""Prices of models, as data: ``prices.json`` beside this file, or a file of the user's instead.

{"as_of": "2026-03-21", "models": {"gpt-4o-mini": {"input": "0.15", "output": "0.60"}}}
"""

import os
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

import msgspec

from ledger.errors import InvalidInput
from ledger.events import CompactionCompleted, RebuildAnswered
from projections.stats import Spending

_MILLION: Final = 1_000_000


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """USD per million tokens, exact."""

    input: Decimal
    output: Decimal


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices by model, and the day of the providers' price lists."""

    as_of: str
    models: dict[str, Price]
    unit: Literal["USD per million tokens"] = "USD per million tokens"

    def cost(self, model: str | None, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return USD, or None if the model has no price; ``gpt-4o-2024-08-06`` has the price of ``gpt-4o``."""
        price = self._price(model or "")
        if price is None:
            return None
        return (price.input * input_tokens + price.output * output_tokens) / _MILLION

    def _price(self, model: str) -> Price | None:
        families = [name for name in self.models if model == name or model.startswith(f"{name}-2")]
        return self.models[max(families, key=len)] if families else None


def spending(written: Iterable[CompactionCompleted | RebuildAnswered], prices: Prices) -> Spending:
    """Return what summaries cost, including those that no longer exist. Source: R-WIF-8."""
    events = list(written)
    calls = [
        (event.model, output.input_tokens or 0, output.output_tokens or 0)
        for event in events
        for output in (event.outputs if isinstance(event, CompactionCompleted) else (event.output,))
    ]
    costs = [prices.cost(*call) for call in calls]
    return Spending(
        compactions=sum(isinstance(event, CompactionCompleted) for event in events),
        model_calls=len(calls),
        input_tokens=sum(asked for _, asked, _ in calls),
        output_tokens=sum(answered for _, _, answered in calls),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
    )


@lru_cache(maxsize=8)
def load_prices(path: Path | None = None) -> Prices:
    """Return the prices in the file *path*, or the ones that come with the package.

    Raises:
        InvalidInput: ``bad_prices``: the file cannot be read, or does not have the shape above.
    """
    try:
        data = path.read_bytes() if path else (files("ledger.llm") / "prices.json").read_bytes()
        return msgspec.json.decode(data, type=Prices)
    except OSError as fault:
        why = f"cannot be read: {os.strerror(fault.errno or 0)}"
        raise InvalidInput("bad_prices", why, field=str(path)) from None
    except msgspec.MsgspecError as fault:
        raise InvalidInput("bad_prices", str(fault), field=str(path or "prices.json")) from None

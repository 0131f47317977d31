"""Summarizers: the extractive one, a function of the user, or a model behind an OpenAI-compatible API."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from ledger.errors import InvalidInput
from ledger.events import Method
from ledger.llm.summarizers.callback import Callback
from ledger.llm.summarizers.circuit_breaker import CircuitBreaker
from ledger.llm.summarizers.extractive import Extractive
from ledger.ports import Summarizer
from ledger.settings import OPENAI_KEY, Secret, Settings, load_settings, secret_now

if TYPE_CHECKING:
    from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer

_METHODS: Final = frozenset(get_args(Method)) - {"imported"}

#: What users pass: a function of the prompt, a summarizer, or None for the extractive one.
SummarizerChoice: TypeAlias = Callable[..., str | Awaitable[str]] | Summarizer | None


def chosen_summarizer(choice: SummarizerChoice) -> Summarizer:
    """Return *choice* as a summarizer, with a circuit breaker if it can fail (trust M-1).

    Raises:
        InvalidInput: it is not a function or a summarizer, or its method or model cannot be recorded.
    """
    if choice is None or isinstance(choice, Extractive):
        return choice or Extractive()
    if isinstance(choice, Summarizer):
        if choice.method not in _METHODS or not isinstance(choice.model, str | None):
            known = ", ".join(sorted(_METHODS))
            raise InvalidInput(
                "bad_summarizer", f"must have a method in {known}, and text or None as model", field="summarizer"
            )
        return CircuitBreaker(choice)
    if not callable(choice):
        raise InvalidInput("bad_summarizer", "must be a function of the prompt, or a Summarizer", field="summarizer")
    return CircuitBreaker(Callback(choice))


def configured_summarizer(settings: Settings, *, model: str | None = None) -> "OpenAISummarizer | None":
    """Return the model that the settings name, or None; the caller closes it.

    *model* is used if the settings name only an endpoint or a key (http W-12).
    """
    reachable = settings.summarizer_base_url or settings.summarizer_api_key or secret_now(OPENAI_KEY)
    chosen = settings.summarizer_model or (model if reachable else None)
    if chosen is None:
        return None
    from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer  # noqa: PLC0415 - an extra

    return OpenAISummarizer(
        model=chosen,
        base_url=settings.summarizer_base_url,
        api_key=_key_now(settings),
        timeout_s=settings.summarizer_timeout_s,
        max_retries=settings.summarizer_max_retries,
    )


def _key_now(settings: Settings) -> Secret | None:
    """Return the key of the settings, read again for each call if the environment or a file has it."""
    key = settings.summarizer_api_key
    if key is None or load_settings().summarizer_api_key != key:
        return None if key is None else key.get_secret_value()

    def read() -> str:
        newest = load_settings().summarizer_api_key or key
        return newest.get_secret_value()

    return read

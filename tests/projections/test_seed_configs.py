"""Every config the seeds give as an example, and the fields, defaults and bounds of every strategy."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ledger.errors import InvalidInput
from projections.memory_config.config import dump, load
from projections.strategies import WINDOWS
from tests.support.pages import ROOT
from tests.support.strategy_pages import STRATEGIES, page_of, tables

EXAMPLES = ROOT / "examples" / "configs"
PRESERVED = ("system_instruction", "user_prompt", "summary")
QWEN = "onnx-community/Qwen3-0.6B-ONNX"
SEED_002 = [
    {"maxTokens": 2048, "compressionThreshold": 0.8, "memoryCompressorConfig": {"name": "sliding-window"}},
    {
        "maxTokens": 4096,
        "compressionThreshold": 0.75,
        "memoryCompressorConfig": {"name": "summarization", "model": QWEN, "temperature": 0.1, "enableThinking": False},
        "preserveMessageTypes": ["system_instruction", "user_prompt", "summary"],
    },
    {"maxTokens": 2048, "formatter": "default", "memoryCompressorConfig": {"name": "sliding-window"}},
    {
        "maxTokens": 2048,
        "compressionThreshold": 0.8,
        "preserveMessageTypes": ["system_instruction", "user_prompt", "tool_use", "tool_result", "summary"],
        "memoryCompressorConfig": {"name": "summarization", "model": QWEN},
    },
]
SEED_003 = [
    {"memory_strategy_id": "max_tokens", "memory_max_tokens": 8000, "conditions": ["message.role != 'tool'"]},
    {
        "long_term_memory_id": "summarizer",
        "interaction_threshold_qty": 15,
        "interaction_threshold_tokens": 15000,
        "cod_max_loops": 3,
        "interaction_keep": 2,
        "instructions": "Focus on decisions made and action items.",
        "knowledge_base": {"collection_id": "session-memory", "search_mode": "always", "top_k": 3},
    },
    {"long_term_memory_id": "neuralyzer", "interaction_threshold_qty": 30, "interaction_keep": 5},
]


def required(kind: str) -> dict[str, Any]:
    """Return the fields of the strategy *kind* that have no default, as its example config has them."""
    path = EXAMPLES / f"{kind}.json"
    assert path.exists(), f"put a config of {kind} into examples/configs"
    example = load(json.loads(path.read_bytes()))
    (found,) = (part for part in (example.window, *example.compactions) if part.type == kind)
    needed = {name for name, field in type(found).model_fields.items() if field.is_required()}
    return found.model_dump(mode="json", include=needed)


def one(kind: str, **fields: object) -> dict[str, Any]:
    """Return a config with the strategy *kind* in its family."""
    strategy = {"type": kind, **required(kind), **fields}
    return {"window": strategy} if kind in WINDOWS else {"window": {"type": "full"}, "compactions": [strategy]}


def loaded(kind: str, **fields: object) -> Any:
    config = load(one(kind, **fields))
    return config.window if kind in WINDOWS else config.compactions[0]


@pytest.mark.parametrize("raw", [*SEED_002, *SEED_003, [SEED_003[0], SEED_003[1]], SEED_003])
def test_every_example_of_the_seeds_loads_and_survives_its_dump__V_CFG_1(raw: Any) -> None:
    """R-CFG-6."""
    config = load(raw)
    assert load(dump(config)) == config


def test_the_examples_of_seed_002_mean_the_same_with_defaults_filled_in__V_CFG_1() -> None:
    """R-CFG-5, R-CFG-6: the outer fields go into the strategy."""
    sliding, summarization, formatted, tools = map(load, SEED_002)
    assert (sliding.window.type, sliding.compactions, sliding.profile) == ("sliding_window", (), "workflow")
    assert (sliding.window.max_tokens, sliding.window.compression_threshold) == (2048, Decimal("0.8"))
    assert sliding.window.preserve == PRESERVED
    (compaction,) = summarization.compactions
    assert (summarization.window.type, compaction.type, compaction.model) == ("full", "summarization", QWEN)
    assert (compaction.max_tokens, compaction.compression_threshold) == (4096, Decimal("0.75"))
    assert (compaction.temperature, compaction.enable_thinking) == (Decimal("0.1"), False)
    assert (formatted.formatted_by, formatted.window.max_tokens) == ("default", 2048)
    assert tools.compactions[0].preserve == (
        "system_instruction",
        "user_prompt",
        "tool_use",
        "tool_result",
        "summary",
    )


def test_the_examples_of_seed_003_mean_the_same_with_defaults_filled_in__V_CFG_1() -> None:
    """R-CFG-6: at most one window, default full, and the others in order."""
    window, summarizer, neuralyzer = map(load, SEED_003)
    assert (window.window.memory_max_tokens, window.window.conditions) == (8000, ("message.role != 'tool'",))
    (dense,) = summarizer.compactions
    assert (dense.interaction_threshold_qty, dense.interaction_threshold_tokens) == (15, 15000)
    assert (dense.cod_max_loops, dense.interaction_keep, dense.summary_target_words) == (3, 2, 200)
    assert (dense.knowledge_base.collection_id, dense.knowledge_base.top_k) == ("session-memory", 3)
    (eraser,) = neuralyzer.compactions
    assert (eraser.interaction_threshold_qty, eraser.interaction_threshold_tokens, eraser.interaction_keep) == (
        30,
        -1,
        5,
    )
    whole = load(SEED_003)
    assert whole.window == window.window
    assert whole.compactions == (dense, eraser)
    assert load(SEED_003[1:]).window.type == "full"


def test_the_same_field_has_the_meaning_of_its_profile__V_CFG_2() -> None:
    watched = load({"maxTokens": 2048, "profile": "workflow"})
    assert watched.limit is not None
    assert (watched.limit.max_tokens, watched.limit.compression_threshold) == (2048, Decimal("0.8"))


@pytest.mark.parametrize("compressor", [{"name": "sliding-window"}, {"name": "summarization", "model": "m"}, None])
def test_a_null_limit_of_seed_002_is_1024__V_CFG_3(compressor: dict[str, str] | None) -> None:
    """R-CFG-4; without a compressor the threshold says which shape it is."""
    config = load({"maxTokens": None, "compressionThreshold": 0.8, "memoryCompressorConfig": compressor})
    limits = [part for part in (config.window, *config.compactions, config.limit) if hasattr(part, "max_tokens")]
    assert [limit.max_tokens for limit in limits] == [1024]


@pytest.mark.parametrize("kind", sorted(STRATEGIES))
def test_a_strategy_has_the_fields_and_defaults_of_the_table(kind: str) -> None:
    """R-CFG-2: what a config without fields becomes is what the table in its section of the page says."""
    found = loaded(kind).model_dump(mode="json")
    common = {} if kind in WINDOWS else {"key": kind, "on_failure": "fail"}
    (written,) = tables(page_of(kind), f"`{kind}`") or [{}]
    said = {name: json.loads(default) for name, default in written.items() if default != "required"}
    assert {name for name, default in written.items() if default == "required"} == required(kind).keys()
    assert found == {"type": kind, **common, **said, **required(kind)}


@pytest.mark.parametrize(
    ("kind", "field", "good", "bad"),
    [
        ("recall", "max_tokens", [1], [0, -1, 1.5, True]),
        ("recall", "top_k", [1], [0]),
        ("recall", "context_before", [0], [-1]),
        ("recall", "recent_share", [0, 1, 0.25], [-0.1, 1.1]),
        ("sliding_window", "max_tokens", [1], [0]),
        ("sliding_window", "compression_threshold", [0.81, 1], [0, 1.1, -1]),
        ("sliding_window", "target_ratio", [0.79], [0, 0.8, 0.9, 1]),
        ("summarization", "compression_threshold", [0.01, 1], [0, 1.01]),
        ("summarizer", "cod_max_loops", [1], [0]),
        ("summarizer", "summary_target_words", [1], [0]),
        ("summarizer", "interaction_keep", [0, 19], [-1, 20, 21]),
        ("summarizer", "text_splitter", [{"chunk_size": 1, "chunk_overlap": 0}], [{"chunk_size": 200}]),
        ("neuralyzer", "interaction_keep", [0, 99], [-1]),
        ("progressive", "threshold", [0.41, 1], [0, 0.4, 1.1]),
        ("progressive", "keep_ratio", [0.69], [0, 0.7, 1]),
    ],
)
def test_a_value_keeps_its_bounds(kind: str, field: str, good: list, bad: list) -> None:
    """R-CFG-7."""
    for value in good:
        loaded(kind, **{field: value})
    for value in bad:
        with pytest.raises(InvalidInput) as refused:
            loaded(kind, **{field: value})
        assert refused.value.code == "bad_config"


@pytest.mark.parametrize("kind", ["sliding_window", "summarization"])
def test_preserve_takes_the_seeds_names_and_ours_and_may_be_empty(kind: str) -> None:
    """R-CFG-8, R-CFG-5."""
    seed = ["system_instruction", "user_prompt", "summary", "tool_use", "tool_result", "step_prompt", "step_result"]
    assert loaded(kind, preserve=seed).preserve == tuple(seed)
    assert loaded(kind, preserve=["tool_call", "message", "context"]).preserve == ("tool_call", "message", "context")
    assert loaded(kind, preserve=[]).preserve == ()
    assert loaded(kind, preserveMessageTypes=["summary"]).preserve == ("summary",)
    for refused in (["assistant"], ["tool"], [""], "summary"):
        with pytest.raises(InvalidInput):
            loaded(kind, preserve=refused)

"""Memory configs against strategies §3: what loads, what is refused and where."""

from decimal import Decimal

import pytest

from ledger.errors import InvalidInput, UnknownConfig
from ledger.events import ConfigChanged
from ledger.session.commands import ChangeConfig
from projections.memory_config.config import MemoryConfig, dump, load, recorded, update
from projections.strategies import COMPACTIONS, WINDOWS
from tests.support.specification import given

SEED_000 = {
    "maxEntries": 100,
    "maxTokens": 50000,
    "recentWindow": 10,
    "minEntriesToCompress": 5,
    "autoCompress": True,
    "compressionRatio": 0.3,
}
BLOCKS = {"type": "rolling_blocks"}
THRESHOLD = {"type": "token_threshold"}


def fault_of(raw: object) -> str:
    """Return the JSON path of the fault for which *raw* is refused."""
    with pytest.raises(InvalidInput) as refused:
        load(raw)
    assert refused.value.code == "bad_config"
    return refused.value.field


def test_the_default_is_the_memory_manager_with_the_fields_of_the_table() -> None:
    """R-CFG-1, R-CFG-2."""
    assert dump(load({})) == {
        "window": {"type": "full"},
        "compactions": [
            {
                "type": "token_threshold",
                "key": "token_threshold",
                "on_failure": "fail",
                "max_entries": 100,
                "max_tokens": 50000,
                "recent_window": 10,
                "min_entries_to_compress": 5,
                "auto_compress": True,
                "compression_ratio": 0.3,
                "prompt": None,
                "max_summary_tokens": None,
            }
        ],
        "tokenizer": "o200k_base",
        "summarizer": {
            "model": None,
            "temperature": 0.1,
            "enable_thinking": None,
            "system_prompt": None,
            "user_prompt_template": None,
        },
        "profile": "memory_manager",
        "formatted_by": "default",
        "limit": None,
        "reserve_tokens": 0,
    }


def test_the_rolling_profile_has_the_fields_of_the_table() -> None:
    """R-CFG-2, R-CFG-6."""
    dumped = dump(load({"profile": "rolling_interactions"}))
    assert dumped["window"] == {"type": "rolling", "size": 21, "unit": "interaction", "order": "newest_first"}
    assert dumped["compactions"] == [
        {
            "type": "rolling_blocks",
            "key": "rolling_blocks",
            "on_failure": "fail",
            "size": 21,
            "max_summaries": 3,
            "unit": "interaction",
            "include_first": False,
        }
    ]


def test_the_profile_none_shows_everything_and_compacts_nothing() -> None:
    """R-CFG-1."""
    config = load({"profile": "none"})
    assert (config.window.type, config.compactions) == ("full", ())


def test_the_default_of_seed_000_loads_with_defaults_filled_in__V_CFG_1() -> None:
    config = load(SEED_000)
    assert config == load({})
    assert config.profile == "memory_manager"
    assert load(dump(config)) == config


def test_max_tokens_alone_could_belong_to_several_profiles__V_CFG_2() -> None:
    assert fault_of({"maxTokens": 2048}) == "maxTokens"
    (threshold,) = load({"maxTokens": 2048, "profile": "memory_manager"}).compactions
    assert (threshold.max_tokens, threshold.max_entries) == (2048, 100)


def test_an_unknown_field_is_refused_wherever_it_stands__V_CFG_4() -> None:
    """R-CFG-4."""
    assert fault_of({"foo": 1}) == "foo"
    assert fault_of({**SEED_000, "foo": 1}) == "foo"
    assert fault_of({"profile": "rolling_interactions", "foo": 1}) == "foo"
    assert fault_of({"profile": "none", "size": 1}) == "size"
    assert fault_of({"window": {"type": "full", "foo": 1}}) == "window.foo"
    assert fault_of({"compactions": [THRESHOLD, {**BLOCKS, "foo": 1}]}) == "compactions[1].foo"
    assert fault_of({"summarizer": {"api_key": "no"}}) == "summarizer.api_key"
    assert fault_of({"window": {"type": "full"}, "foo": 1}) == "foo"


def test_a_duplicate_key_is_refused__V_CFG_4() -> None:
    """R-CFG-3; R-CFG-4 for one field in two spellings."""
    assert fault_of({"compactions": [THRESHOLD, THRESHOLD]}) == "compactions[1].key"
    assert fault_of({"compactions": [{**THRESHOLD, "key": "a"}, {**BLOCKS, "key": "a"}]}) == "compactions[1].key"
    assert fault_of({"maxEntries": 5, "max_entries": 5}) == "max_entries"
    assert fault_of({"compactions": [{**THRESHOLD, "maxEntries": 5, "max_entries": 6}]}) == "compactions[0].max_entries"
    assert fault_of({"window": {"type": "full", "name": "full"}}).endswith("type")


def test_another_profile_leaves_tokenizer_and_summarizer_as_they_are() -> None:
    """R-CFG-9: what is no part of a profile is not reset by naming one."""
    before = load({**SEED_000, "tokenizer": "approximate", "summarizer": {"model": "gpt"}})
    after = update(before, {"profile": "rolling_interactions"})
    assert (after.tokenizer, after.summarizer, after.profile) == (
        "approximate",
        before.summarizer,
        "rolling_interactions",
    )
    assert update(before, {"profile": "rolling_interactions", "tokenizer": "agentary"}).tokenizer == "agentary"


def test_an_update_leaves_the_other_fields_as_they_are__V_CFG_5() -> None:
    """R-CFG-9: partial updates merge first."""
    before = load({**SEED_000, "recentWindow": 3})
    after = update(before, {"maxTokens": 100000, "autoCompress": False})
    changed = {**dump(before)["compactions"][0], "max_tokens": 100000, "auto_compress": False}
    assert dump(after) == {**dump(before), "compactions": [changed]}


def test_an_update_puts_a_null_field_back_to_its_default() -> None:
    assert update(load({"maxEntries": 5}), {"maxEntries": None}) == load({})


def test_an_update_may_name_another_profile_or_give_new_strategies() -> None:
    assert update(load({}), {"profile": "rolling_interactions"}) == load({"profile": "rolling_interactions"})
    changed = update(load({"maxEntries": 5}), {"window": {"type": "rolling", "size": 3}})
    assert (changed.window.size, changed.compactions[0].max_entries, changed.profile) == (3, 5, None)
    assert fault_of_update(changed, {"maxEntries": 5}) == "maxEntries"


def test_an_update_of_the_summarizer_merges() -> None:
    config = update(load({"summarizer": {"model": "m"}}), {"summarizer": {"temperature": 0.5}})
    assert (config.summarizer.model, config.summarizer.temperature) == ("m", Decimal("0.5"))


def fault_of_update(config: MemoryConfig, changes: dict) -> str:
    with pytest.raises(InvalidInput) as refused:
        update(config, changes)
    assert refused.value.code == "bad_config"
    return refused.value.field


@pytest.mark.parametrize(
    ("strategy", "field", "least"),
    [
        (THRESHOLD, "max_entries", 1),
        (THRESHOLD, "max_tokens", 1),
        (THRESHOLD, "min_entries_to_compress", 1),
        (THRESHOLD, "recent_window", 0),
        (THRESHOLD, "max_summary_tokens", 0),
        (BLOCKS, "size", 1),
        (BLOCKS, "max_summaries", 0),
    ],
)
def test_a_number_has_a_least_value_and_is_an_integer(strategy: dict, field: str, least: int) -> None:
    """R-CFG-7."""
    (loaded,) = load({"compactions": [{**strategy, field: least}]}).compactions
    assert getattr(loaded, field) == least
    for refused in (least - 1, -(2**63), 1.0, 2.5, "5", True, [], {}):
        assert fault_of({"compactions": [{**strategy, field: refused}]}) == f"compactions[0].{field}"


@pytest.mark.parametrize("ratio", [0, 1, -0.1, 1.1, 0.0, 1.0, "x", True, []])
def test_a_compression_ratio_lies_between_0_and_1(ratio: object) -> None:
    """R-CFG-7."""
    path = fault_of({"compactions": [{**THRESHOLD, "compression_ratio": ratio}]})
    assert path == "compactions[0].compression_ratio"


@pytest.mark.parametrize("ratio", [0.01, 0.29, 0.3, 0.99, "0.3", 1e-9])
def test_a_ratio_is_read_as_the_decimal_that_was_written(ratio: float | str) -> None:
    """R-TOK-5."""
    config = load({"compression_ratio": ratio})
    assert config.compactions[0].compression_ratio == Decimal(str(ratio))
    assert load(dump(config)) == config


@pytest.mark.parametrize("temperature", [-0.1, 2.1, "warm", True])
def test_a_temperature_lies_between_0_and_2(temperature: object) -> None:
    assert fault_of({"summarizer": {"temperature": temperature}}) == "summarizer.temperature"


@pytest.mark.parametrize("size", [0, -1, 1.5, "21", True])
def test_a_rolling_window_holds_at_least_one_item(size: object) -> None:
    """R-CFG-7."""
    assert fault_of({"window": {"type": "rolling", "size": size}}) == "window.size"


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"window": {"type": "rolling", "unit": "turn"}}, "window.unit"),
        ({"window": {"type": "rolling", "order": "oldest"}}, "window.order"),
        ({"window": {"type": "none"}}, "window.type"),
        ({"window": {}}, "window.type"),
        ({"window": "full"}, "window"),
        ({"compactions": {}}, "compactions"),
        ({"compactions": ["rolling_blocks"]}, "compactions[0]"),
        ({"compactions": [{"type": "summary"}]}, "compactions[0].type"),
        ({"compactions": [{**BLOCKS, "key": "a b"}]}, "compactions[0].key"),
        ({"compactions": [{**BLOCKS, "on_failure": "retry"}]}, "compactions[0].on_failure"),
        ({"compactions": [{**BLOCKS, "include_first": "yes"}]}, "compactions[0].include_first"),
        ({"compactions": [{**THRESHOLD, "auto_compress": 1}]}, "compactions[0].auto_compress"),
        ({"compactions": [{**THRESHOLD, "prompt": 1}]}, "compactions[0].prompt"),
        ({"tokenizer": "gpt2"}, "tokenizer"),
        ({"formatter": "mine"}, "formatter"),
        ({"formatted_by": "mine"}, "formatted_by"),
        ({"profile": "other"}, "profile"),
        ({"profile": ["rolling"]}, "profile"),
        ({"summarizer": {"enable_thinking": "no"}}, "summarizer.enable_thinking"),
        ({"summarizer": 1}, "summarizer"),
        ([], "strategies"),
        ([[]], "strategies[0]"),
        ({"window": {"type": "max_tokens", "conditions": "x"}}, "window.conditions"),
        ({"window": {"type": "max_tokens", "conditions": ["message.role == 'user'"] * 21}}, "window.conditions"),
        ({"compactions": [{"type": "neuralyzer", "key": f"k{number}"} for number in range(21)]}, "compactions"),
        ({"compactions": [{"type": "summarizer", "cod_max_loops": 21}]}, "compactions[0].cod_max_loops"),
        ({"compactions": [{"type": "summarization"}]}, "compactions[0].model"),
        ("rolling", "config"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(raw: object, path: str) -> None:
    """R-CFG-4."""
    assert fault_of(raw) == path


def test_a_window_and_its_blocks_count_the_same_and_the_window_is_as_large() -> None:
    """R-CFG-7."""

    def both(window: dict, blocks: dict) -> dict:
        return {"window": {"type": "rolling", **window}, "compactions": [{**BLOCKS, **blocks}]}

    assert fault_of(both({"unit": "entry"}, {})) == "compactions[0].unit"
    assert fault_of(both({"size": 4}, {"size": 5})) == "compactions[0].size"
    assert load(both({"size": 5}, {"size": 4})).window.size == 5
    assert load({"window": {"type": "full"}, "compactions": [{**BLOCKS, "unit": "entry"}]})


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"compactions": [{**THRESHOLD, "prompt": "Summarise."}]}, "compactions[0].prompt"),
        ({"compactions": [{**THRESHOLD, "prompt": "{ content }"}]}, "compactions[0].prompt"),
        ({"summarizer": {"user_prompt_template": "Summarise."}}, "summarizer.user_prompt_template"),
    ],
)
def test_a_template_without_its_placeholder_is_refused(raw: dict, path: str) -> None:
    """R-SUM-4."""
    assert fault_of(raw) == path


def test_null_means_the_default() -> None:
    """R-CFG-4."""
    assert load(dict.fromkeys(SEED_000)) == load({"profile": "memory_manager"})
    assert load({"window": None, "compactions": [{**BLOCKS, "size": None}]}) == load({"compactions": [BLOCKS]})


@pytest.mark.parametrize(
    "discriminator", ["type", "memory_strategy_id", "long_term_memory_id", "name", "memoryStrategyId"]
)
def test_a_strategy_may_name_its_type_by_an_alias(discriminator: str) -> None:
    """R-CFG-5; in compactions ``rolling`` means rolling_blocks."""
    aliased = {"window": {discriminator: "rolling"}, "compactions": [{discriminator: "rolling"}]}
    assert load(aliased) == load({"window": {"type": "rolling"}, "compactions": [BLOCKS]})


def test_hyphens_in_a_type_are_underscores() -> None:
    assert load({"compactions": [{"type": "token-threshold"}]}) == load({"compactions": [THRESHOLD]})


def nested(depth: int) -> dict:
    return {"window": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (nested(900), "too_deep"),
        ({"maxEntries": object()}, "wrong_type"),
        ({"maxEntries": {1, 2}}, "wrong_type"),
        ({1: 2}, "wrong_type"),
        ({"maxEntries\ud800": 1}, "invalid_unicode"),
        ({"compressionRatio": float("nan")}, "invalid_json"),
        ({"profile": "memory_manager", "prompt": "{content}\0"}, "nul_not_allowed"),
        ({"profile": "memory_manager", "prompt": "{content}\ud800"}, "invalid_unicode"),
        ({"maxEntries": 2**64}, "number_out_of_range"),
    ],
)
def test_a_config_that_is_not_json_is_refused_like_any_other_input(raw: dict, code: str) -> None:
    """trust N-11: library arguments pass the same checks."""
    for door in (load, lambda changes: update(load({}), changes)):
        with pytest.raises(InvalidInput) as refused:
            door(raw)
        assert (refused.value.code, refused.value.field) == (code, "config")


def test_a_change_is_recorded_whole_and_nothing_is_recorded_if_nothing_changes() -> None:
    """R-CFG-9."""
    session = given({"maxEntries": 5})
    new = update(session.state.config, {"maxEntries": 6})
    session.when(ChangeConfig("w", new)).then(ConfigChanged)
    assert session.events[-1].payload.config == dump(new)
    session.when(ChangeConfig("w", new)).then()


def test_every_strategy_is_registered_under_the_type_of_its_config() -> None:
    for registry in (WINDOWS, COMPACTIONS):
        assert all(strategy.config.model_fields["type"].default == name for name, strategy in registry.items())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"max_entires": 5}, "max_entires: is not a field of a memory config; did you mean `max_entries`?"),
        ({"windows": {}}, "windows: is not a field of a memory config; did you mean `window`?"),
        (
            {"profile": "rolling_interactions", "sizee": 3},
            "sizee: is not a field of this profile; did you mean `size`?",
        ),
        (
            {"max_tokens": 5},
            "max_tokens: belongs to `memory_manager` and `workflow`; set `profile` to the one you mean",
        ),
        (
            {"max_entries": 5, "compression_threshold": 0.5},
            "compression_threshold: belongs to another profile than `max_entries`; remove one",
        ),
        ({"max_entries": "x"}, "max_entries: must be an integer"),
        ({"maxEntries": 0}, "maxEntries: must be at least 1"),
        ({"maxEntires": 5}, "maxEntires: is not a field of a memory config; did you mean `max_entries`?"),
        ({"max_entries": 5, "compression_ratio": "x"}, "compression_ratio: must be a number"),
        ({"maxTokens": "x", "compressionThreshold": 0.5}, "maxTokens: must be an integer"),
        ({"window": {"type": "rolling", "size": 0}}, "window.size: must be at least 1"),
        ({"memory_strategy_id": "?"}, f"memory_strategy_id: must be one of {', '.join(sorted(WINDOWS))}"),
        ({"strategy": "token-threshold"}, 'strategy: write {"compactions": [{"type": "token_threshold"}]} instead'),
        ({"type": "full", "size": 5}, 'type: write {"window": {"type": "full"}} instead'),
        ({"strategy": "rolling", "size": 5}, 'strategy: write {"profile": "rolling"} instead'),
        ({"profile": "max_tokens"}, 'profile: write {"window": {"type": "max_tokens"}} instead'),
        ({"strategies": []}, "strategies: must not be empty; for no strategy, use the profile `none`"),
        (
            {"strategies": [{"type": "summarizer"}], "size": 4},
            "size: is not a field of this profile; its fields are: strategies",
        ),
        ({"summarizer": 5}, "summarizer: must be an object"),
        ({"limit": {"a": 1}}, "limit.a: is not a field here; its fields are: compression_threshold, max_tokens"),
    ],
)
def test_a_fault_is_described_in_terms_of_json(raw: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(raw)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"maxEntries": 0}, "maxEntries: must be at least 1"),
        ({"strategy": "rolling"}, 'strategy: write {"profile": "rolling"} instead'),
        ({"window": {"type": "rolling", "size": 0}}, "window.size: must be at least 1"),
    ],
)
def test_a_fault_of_a_change_names_its_own_field(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        update(load({}), changes)
    assert str(refused.value) == message


def nested(levels: int) -> dict:
    value: dict = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "raw",
    [{"x": nested(3_000)}, {"max_entries": float("nan")}, {"x": "\ud800"}, {"max_entries": 2**70}, {"prompt": b"x"}],
    ids=["deep", "nan", "surrogate", "large", "bytes"],
)
def test_a_recorded_config_that_is_no_json_is_refused_as_it_is_everywhere(raw: dict) -> None:
    """A recorded config is found by its text, and these have none, or that of another one."""
    recorded({"max_entries": None}, version=3)
    with pytest.raises(InvalidInput) as refused:
        load(raw)
    with pytest.raises(UnknownConfig) as unknown:
        recorded(raw, version=3)
    assert str(refused.value) in str(unknown.value)


def test_a_recorded_config_is_that_of_its_event() -> None:
    """Negative control: those that differ in one value are two."""
    first, other = ({"profile": "rolling", "include_first": value} for value in (True, False))
    assert recorded(first, version=1) == recorded(dict(first), version=2) == load(first)
    assert recorded(other, version=3) == load(other) != load(first)

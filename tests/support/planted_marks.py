"""Sessions whose entries carry marks, and a model that passes on every mark it is shown.

So the texts themselves tell what an entry reached, whatever the lineage says.
"""

import json
import random
import re
from typing import Any, Final

from ledger.memory import MemoryLedger

MARK: Final = re.compile(r"⟦\d+⟧")
_FILLER: Final = "and there is more to say about this than anybody will ever want to read again " * 6

CONFIGS: Final[dict[str, dict[str, Any]]] = {
    "token_threshold": {"max_entries": 6, "recent_window": 2, "min_entries_to_compress": 2},
    "overlays": {"profile": "rolling_interactions", "size": 2, "max_summaries": 3},
    "names_the_task": {
        "window": {"type": "full"},
        "compactions": [{"type": "summarization", "max_tokens": 1200, "model": "m", "compression_threshold": 0.5}],
    },
    "folds": {
        "window": {"type": "full"},
        "compactions": [{"type": "progressive", "context_window": 1500, "threshold": 0.5, "keep_ratio": 0.2}],
    },
    "dense": {
        "window": {"type": "full"},
        "compactions": [{"type": "summarizer", "interaction_threshold_qty": 3, "cod_max_loops": 1}],
    },
}


def passes_on(prompt: str) -> str:
    """Answer with the marks in *prompt*, as text, or as the JSON that a Chain of Density asks for."""
    marks = " ".join(sorted(set(MARK.findall(prompt)))) or "nothing"
    return json.dumps({"missing_entities": ["a"], "summary": marks}) if "missing_entities" in prompt else marks


def marked(number: int) -> str:
    """Return a text with the mark of entry *number*."""
    return f"⟦{number}⟧ {_FILLER}"


async def live(ledger: MemoryLedger, chance: random.Random, *, turns: int) -> dict[str, str]:
    """Live a session ``s`` of *turns*, some of its contexts recorded; return the mark of each entry by its id."""
    ledger.set_summarizer(None, passes_on)
    marks: dict[str, str] = {}

    def named() -> dict[str, Any]:
        name = f"e{len(marks) + 1}"
        marks[name] = f"⟦{len(marks) + 1}⟧"
        return {"entry_id": name}

    for _ in range(turns):
        await ledger.add_user_message("s", marked(len(marks) + 1), **named())
        if chance.random() < 0.5:
            await ledger.get_context("s", record=True)
        if chance.random() < 0.3:
            await ledger.add_tool_call("s", "look", {"n": 1}, tool_call_id=f"c{len(marks)}", **named())
            call = f"c{len(marks) - 1}"
            await ledger.add_tool_result("s", "look", marked(len(marks) + 1), tool_call_id=call, **named())
        await ledger.add_assistant_message("s", marked(len(marks) + 1), **named())
        if chance.random() < 0.05:
            await ledger.clear_session("s")
        if chance.random() < 0.1 and (active := await ledger.get_active_entries("s")):
            chosen = chance.choice(active)
            await ledger.edit_entry("s", chosen.entry_id, f"{marks[chosen.entry_id]} said otherwise {_FILLER}")
        await ledger.settle("s")
    await ledger.get_context("s", record=True)
    return marks

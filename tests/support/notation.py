"""Entries as the specification writes them: ``u a s c1 r1``.

A count stands behind the tag (``u40``) or, where that is the call's id, behind a colon (``c1:40``). Further tags:
``x`` context, ``i`` system_instruction, ``p`` step_prompt, ``q`` step_result. Brackets enclose a batch.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from ledger.events import EntryAdded
from projections.content_facts import facts_of

KINDS = {
    "u": ("message", "user"),
    "a": ("message", "assistant"),
    "s": ("message", "system"),
    "c": ("tool_call", "assistant"),
    "r": ("tool_result", "tool"),
    "x": ("context", "tool"),
    "i": ("system_instruction", "system"),
    "p": ("step_prompt", "user"),
    "q": ("step_result", "assistant"),
}


def batches(notation: str) -> Iterator[list[str]]:
    for batch in re.findall(r"\[[^]]*\]|\S+", notation):
        yield batch.strip("[]").split()


def entry(item: str, number: int, *, write_id: str = "w", tokens: int = 10, **fields) -> EntryAdded:
    """Return the entry ``e<number>`` that *item* stands for."""
    tag, middle, count = re.fullmatch(r"([a-z])(\w*)(?::(\d+))?", item).groups()
    kind, role = KINDS[tag]
    if tag in "cr":
        fields = {"tool_name": f"tool{middle}", "tool_call_id": f"call{middle}", **fields}
    else:
        count = middle
    fields = {"content": f"{item} {number}", "tokens": int(count or tokens), "tokenizer": "caller", **fields}
    return with_facts(EntryAdded(write_id=write_id, entry_id=f"e{number}", kind=kind, role=role, **fields))


def with_facts(added: EntryAdded) -> EntryAdded:
    """Return *added* with the facts of its content."""
    return replace(added, facts=facts_of(added.content, added.data, added.metadata))

"""Record calls of models as they are reported, in any order and any number of times. Source: adapters IN-3, IN-13."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import takewhile
from typing import Final

import msgspec
from msgspec.structs import replace

from ledger.application.commands.write_requests import Decision, DecisionFor
from ledger.application.forking.fork import fork
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.transcript import read_transcript
from ledger.application.recording.seen_branches import SeenBranches, may_have, newest_imported
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.values_by_digest import keep_once
from ledger.errors import SessionExists, Unavailable
from ledger.events import EntryRemoved, JsonObject
from ledger.events.ids import Stream
from ledger.formats.importers.elements.fitting import fitted_draft
from ledger.formats.importers.elements.importer import is_imported
from ledger.formats.importers.elements.prefix import SharedBranch, branch_name, place
from ledger.formats.importers.elements.steps import hidden
from ledger.formats.importers.elements.trimmed import began, content_of, goes_on, remaining_places, repeated_id
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, stored_whole
from ledger.formats.transcripts.imported_window import erasure
from ledger.session.attachments import SPACE
from ledger.session.commands import AddEntries, FollowAgent, HideAdded
from ledger.session.entry_drafts import EntryDraft
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.entries import Entry

#: How often another writer may change the branches of a session meanwhile.
_ATTEMPTS: Final = 50
_PAGE: Final = 64
#: How many branches of a session are looked at for each call.
MOST_BRANCHES: Final = 50


class _BranchFound(msgspec.Struct, frozen=True):
    """What a branch has of a call; the version of the last entry that it shares; whether the call is now in it."""

    branch: SharedBranch
    version: int = 0
    exists: bool = True
    done: bool = False
    #: The call was sent the newest entry of the branch, but not all before it.
    left_out: bool = False
    #: The newest entry of the branch that a call added.
    newest: Entry | None = None


async def record_call(handle: NamespaceHandle, call: ReportedCall, seen: SeenBranches) -> None:
    """Add what is new of *call* to its session, or to a fork of it; a call that is recorded already changes nothing.

    A session that somebody else wrote stays as it is: what was reported of it is stored beside its entries.

    Raises:
        InvalidInput: an entry is over a limit; nothing of the call was written.
        NotPermitted: it has instructions of the system, which the caller may not write.
        Unavailable: the database could not be reached, or other writers kept coming first.
    """
    if not call.ids:
        await _record_beside(handle, call)
        return
    for _ in range(_ATTEMPTS):
        found: list[_BranchFound] = []
        while len(found) < MOST_BRANCHES:
            name = _name(call, len(found))
            if seen.differs(name, call):
                found.append(_BranchFound(SharedBranch(0, ends=False)))
                continue
            one = await _recorded(handle, call, name, begins=not found)
            if one.done:
                seen.forget(name)
                return
            if not one.exists:
                break
            if not one.branch.shared:
                await seen.learn(handle, name, call, one.newest)
            found.append(one)
        if call.of_agent:  # it repeats what its calls of models show
            await _record_beside(handle, call)
            return
        for name, one in [(_name(call, number), one) for number, one in enumerate(found)]:
            if one.left_out and (await _gone_on(handle, call, name)).done:
                seen.forget(name)
                return
        if await _branched(handle, call, found):
            return
    raise Unavailable("other writers kept changing the branches of a session; try again")


async def _branched(handle: NamespaceHandle, call: ReportedCall, found: Sequence[_BranchFound]) -> bool:
    """Begin a branch for *call*; return whether it is recorded, or is to be tried again."""
    goes, name = place(len(call.ids), [one.branch for one in found]), _name(call, len(found))
    if found and len(found) < MOST_BRANCHES:
        await _note(handle, call, began(name, call.ids[0], call.moment, shares=goes.first > 0))
    if goes.branch is None:
        return (await _recorded(handle, call, name, begins=True)).done
    _drafts(handle, [*call.instructions, *call.entries[goes.first :], *call.besides, call.record])  # or refuse it here
    try:
        await fork(handle, _name(call, goes.branch), name, version=found[goes.branch].version)
    except SessionExists:
        if len(found) < MOST_BRANCHES:
            return False  # another writer's branch, which this call may belong to
    return (await _recorded(handle, call, name, begins=False)).done


def _name(call: ReportedCall, number: int) -> str:
    """Return the name of a branch; after many, one of the call's own, so that no call looks at all of them."""
    if number < MOST_BRANCHES:
        return branch_name(call.session_id, number)
    return f"{call.session_id}~{sha256(call.ids[-1].encode()).hexdigest()[:16]}"


async def _recorded(handle: NamespaceHandle, call: ReportedCall, name: str, *, begins: bool) -> _BranchFound:
    """Write what branch *name* lacks of *call*, if it ends where the call goes on, or does not exist and *begins*."""
    stream = handle.stream(name, None)

    async def decision_for(state: SessionState) -> "Decision[_BranchFound]":
        if starts_life(handle, state) and not begins:
            return Decision([], _BranchFound(SharedBranch(0, ends=True), exists=False))
        found = await _shared(handle, stream, state, call)
        if not found.done:
            newest = newest_imported(state.window.entries)
            return Decision([], replace(found, left_out=_left_out(call, state, newest), newest=newest))
        if not found.branch.shared and not starts_life(handle, state) and state.counts.added:
            return await _decision(handle, stream, state, [], [*call.besides, stored_whole(call)], found)
        new, beside = list(call.entries[found.branch.shared :]), [*call.besides, call.record]
        if found.branch.shared:
            beside = [*map(hidden, call.instructions), *beside]
        else:
            new = [*call.instructions, *new]
        return await _decision(handle, stream, state, new, beside, found)

    return await _written(handle, stream, decision_for)


async def _gone_on(handle: NamespaceHandle, call: ReportedCall, name: str) -> _BranchFound:
    """Make the window of branch *name* what *call* was sent, and its answer, if it left messages of that branch out."""
    stream = handle.stream(name, None)

    async def decision_for(state: SessionState) -> "Decision[_BranchFound]":
        found = _BranchFound(SharedBranch(0, ends=False))
        if not _left_out(call, state, newest_imported(state.window.entries)):
            return Decision([], found)
        entries = [each for each in state.window.entries if is_imported(each.entry_id) or each.role == "system"]
        drafts, _ = _drafts(handle, [*call.instructions, *call.entries])
        kept = remaining_places([_content(each) for each in entries], [_content(draft) for draft in drafts])
        sent = [*call.instructions, *call.entries][len(kept) :]
        known = await _versions(handle, stream, state, [str(entry["entry_id"]) for entry in sent])
        record_id = str(call.record["entry_id"])
        again = [
            {**entry, "entry_id": repeated_id(own, record_id)} if (own := str(entry["entry_id"])) in known else entry
            for entry in sent
        ]
        left = [(each.version, each.tokens) for at, each in enumerate(entries) if at not in kept]
        beside = [*map(hidden, call.instructions), *call.besides, call.record]
        return await _decision(handle, stream, state, again, beside, replace(found, done=True), left)

    return await _written(handle, stream, decision_for)


def _left_out(call: ReportedCall, state: SessionState, newest: Entry | None) -> bool:
    """Tell whether *call* goes on in the branch of *state*, whose *newest* entry it has, but not all before that."""
    if newest is None or not may_have(call, newest):
        return False
    instructions_before = [
        _content(each) for each in takewhile(lambda each: each.role == "system", state.window.entries)
    ]
    drafts = [fitted_draft(entry, {}, field="") for entry in (*call.instructions[:1], *call.entries[: call.sent])]
    contents = [_content(draft) for draft in drafts]
    first = len(call.instructions[:1])
    return goes_on([_content(newest)], contents[first:], instructions_before, contents[0] if first else None)


def _content(entry: Entry | EntryDraft) -> bytes:
    return content_of(msgspec.structs.asdict(entry))


async def _note(handle: NamespaceHandle, call: ReportedCall, entry: JsonObject) -> None:
    """Write the hidden *entry*, which says something of the session of *call*, once."""
    stream = handle.stream(call.session_id, None)

    async def decision_for(state: SessionState) -> "Decision[_BranchFound]":
        return await _decision(handle, stream, state, [], [entry], _BranchFound(SharedBranch(0, ends=False), done=True))

    await _written(handle, stream, decision_for)


async def _record_beside(handle: NamespaceHandle, call: ReportedCall) -> None:
    """Write the record of *call*, with its messages, as a hidden entry, and what is beside it."""
    stream = handle.stream(call.session_id, None)

    async def decision_for(state: SessionState) -> "Decision[_BranchFound]":
        found = _BranchFound(SharedBranch(0, ends=False), done=True)
        return await _decision(handle, stream, state, [], [*call.besides, stored_whole(call)], found)

    await _written(handle, stream, decision_for)


async def _written(handle: NamespaceHandle, stream: Stream, decision_for: DecisionFor[_BranchFound]) -> _BranchFound:
    _, found = await handle.services.commands.write_with_note(stream, decision_for, actor=handle.actor)
    assert found is not None, "there is no idempotency key"
    return found


async def _shared(handle: NamespaceHandle, stream: Stream, state: SessionState, call: ReportedCall) -> _BranchFound:
    """Return what the session has of *call*, which is done there if the session has no other entry after that."""
    shared, version = 0, 0
    if not starts_life(handle, state):
        for until in range(len(call.ids), 0, -_PAGE):  # all ids before one that is known are known, too
            page = call.ids[max(0, until - _PAGE) : until]
            known = await _versions(handle, stream, state, page)
            if known:
                last = max(place for place, entry_id in enumerate(page) if entry_id in known)
                shared, version = until - len(page) + last + 1, known[page[last]]
                break
    ends = shared == len(call.ids) or await _ends(handle, stream, state, call.ids[:shared])
    return _BranchFound(SharedBranch(shared, ends=ends), version, done=ends)


async def _ends(handle: NamespaceHandle, stream: Stream, state: SessionState, ids: Sequence[str]) -> bool:
    """Tell whether the newest entry of a call in the session is the last of *ids*."""
    if starts_life(handle, state):
        return True
    last: int | None = _PAGE
    while True:
        entries = await read_transcript(handle, stream, state, last=last)
        newest = next((entry.entry_id for entry in reversed(entries) if is_imported(entry.entry_id)), None)
        if newest is not None or last is None or len(entries) < last:
            return newest is None or newest in ids
        last = None


async def _versions(handle: NamespaceHandle, stream: Stream, state: SessionState, ids: Sequence[str]) -> dict[str, int]:
    """Return the version of each entry with one of *ids* that was added since the session was cleared."""
    found = await handle.services.store.events.find_items(stream, ids)
    since = {
        entry_id: [version for version in versions if state.cleared_version < version <= state.version]
        for entry_id, versions in found.items()
    }
    return {entry_id: versions[0] for entry_id, versions in since.items() if versions}


def _drafts(handle: NamespaceHandle, entries: Iterable[JsonObject]) -> tuple[list[EntryDraft], list[KeptDraft]]:
    """Return the drafts of *entries*, and what they have no room for."""
    attached: dict[str, bytes] = {}
    drafts = [fitted_draft(entry, attached, field="") for entry in entries]
    if any(draft.role == "system" for draft in drafts):
        handle.rights.check_system()
    return drafts, [KeptDraft(space=SPACE, key=digest, value=content) for digest, content in attached.items()]


async def _decision(
    handle: NamespaceHandle,
    stream: Stream,
    state: SessionState,
    shown: Sequence[JsonObject],
    beside: Sequence[JsonObject],
    note: _BranchFound,
    left: Sequence[tuple[int, int]] = (),
) -> "Decision[_BranchFound]":
    """Return the commands that add *shown* and those *beside*, which the window hides, unless they are stored.

    The entries *left*, each a version and its tokens, leave the window.
    """
    new = {str(entry["entry_id"]): entry for entry in (*beside, *shown)}  # what is shown need not be hidden, too
    known = await _versions(handle, stream, state, list(new))
    visible = {str(entry["entry_id"]) for entry in shown}
    ordered = [*(name for name in new if name in visible), *(name for name in new if name not in visible)]
    drafts, large = _drafts(handle, [new[name] for name in ordered if name not in known])
    if not drafts:
        return Decision([], note)
    new_life = starts_life(handle, state)
    opening = opening_commands(handle, stream, state)
    write_id = handle.services.clock.ulid()
    tokenizer = (handle.services.config if new_life else state.config).tokenizer
    new_entries = [new_entry(handle, draft, write_id, tokenizer) for draft in drafts]
    entries = tuple(replace(entry, past=True) for entry in new_entries)
    kept = await keep_once(handle, stream, state, large, write_id)
    first = state.version + len(opening) + sum(len(each.events) for each in kept) + 1
    removed = tuple(
        EntryRemoved(write_id=write_id, entry_id=entry.entry_id, entry_version=first + place, tokens=entry.tokens)
        for place, entry in enumerate(entries)
        if entry.entry_id not in visible
    )
    follow = [FollowAgent((erasure(left, write_id, handle.services.clock.ulid()),))] if left else []
    return Decision([*opening, *kept, AddEntries(entries), HideAdded(removed), *follow], note, exact=True)

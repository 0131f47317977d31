"""A reader of timelines that knows nothing but their pages, as the viewer does: arithmetic, no fold."""

from collections.abc import Iterable

from projections.log.entry_fates import Returned, Timeline
from projections.values.ranges import contains


class TimelineReader:
    """What a session was at each version, by the pages that were applied so far."""

    def __init__(self, pages: Iterable[Timeline] = ()) -> None:
        self.added: dict[int, tuple[int, str, str, int]] = {}
        self.rows: list[Timeline] = []
        for page in pages:
            self.apply(page)

    def apply(self, page: Timeline) -> None:
        """Apply the next page."""
        version, ms, columns = page.after, page.start_ms, page.entries
        for gap, later, kind, role, tokens in zip(
            columns.added, columns.ms, columns.kind, columns.role, columns.tokens, strict=True
        ):
            version, ms = version + gap, ms + later
            self.added[version] = (ms, page.kinds[kind], page.roles[role], tokens)
        self.rows.append(page)

    def active(self, version: int) -> dict[int, int]:
        """Return the tokens of each active entry, by its version."""
        moves = sorted(
            (row for page in self.rows for row in (*page.left, *page.returned) if row.version <= version),
            key=lambda row: row.version,
        )
        out: set[int] = set()
        for row in moves:
            named = {at for at in self.added if at <= row.version and contains(row.versions, at)}
            out = out - named if isinstance(row, Returned) else out | named
        active = {at: tokens for at, (_, _, _, tokens) in self.added.items() if at <= version and at not in out}
        for edit in (edit for page in self.rows for edit in page.edited):
            if edit.version <= version and edit.entry in active:
                active[edit.entry] = edit.tokens
        return active

    def fates(self, version: int) -> dict[int, str]:
        """Return the status of each entry, by its version."""
        fates = {at: "active" for at in self.added if at <= version}
        moves = [row for page in self.rows for row in (*page.left, *page.returned) if row.version <= version]
        for row in sorted(moves, key=lambda row: row.version):
            for at, before in fates.items():
                if before != "cleared" and at <= row.version and contains(row.versions, at):
                    fates[at] = "active" if isinstance(row, Returned) else row.cause
        return fates

    def live(self, version: int) -> set[tuple[str, int]]:
        """Return the live summaries: id and version."""
        rows = [(each.version, 1, each) for page in self.rows for each in page.summaries]
        rows += [(each.version, 0, each) for page in self.rows for each in page.ended]
        live: dict[str, int] = {}
        for at, begins, row in sorted(rows, key=lambda row: row[:2]):
            if at > version:
                break
            if begins:
                live[row.summary_id] = row.version
            elif row.summary_id is None:
                live.clear()
            else:
                live.pop(row.summary_id, None)
        return set(live.items())

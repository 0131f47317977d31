-- Where a stream was forked: it goes on from that version of its parent, whose history up to there is also its own.
-- Noted by `append` with the first event and never changed; `verify` compares it with what that event says.
ALTER TABLE ledger.streams
    ADD COLUMN parent_id uuid,
    ADD COLUMN parent_version ledger.ordinal,
    ADD CHECK ((parent_id IS NULL) = (parent_version IS NULL));

-- For listings by how ids begin; names are compared by code point, as in Python. The conditions, which hold for every name
-- that begins somehow, keep these indexes out of all other queries: the planner, before it knows the table, would use them
-- instead of the primary key and read a whole namespace.
CREATE INDEX session_index_session_id
    ON ledger.session_index (namespace_id, projection_version, session_id COLLATE "C") WHERE session_id COLLATE "C" > '';
CREATE INDEX session_index_user_id
    ON ledger.session_index (namespace_id, projection_version, user_id COLLATE "C") WHERE user_id COLLATE "C" > '';

"""The tables that ordinary queries use. The migrations create them; a test compares the two."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, INT8MULTIRANGE, TIMESTAMP, TSVECTOR, UUID

metadata = sa.MetaData(schema="ledger")


class Vector(sa.types.UserDefinedType[str]):
    """pgvector's type, of any dimension; queries read and write it as text."""

    cache_ok = True

    def get_col_spec(self, **kw: object) -> str:
        return "vector"


class PublicVector(Vector):
    """The same with its schema, for casts under another search path."""

    cache_ok = True

    def get_col_spec(self, **kw: object) -> str:
        return "public.vector"


namespaces = sa.Table(
    "namespaces",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("ledger_id", UUID, nullable=False),
    sa.Column("last_position", sa.BigInteger, nullable=False),
    sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("token_hash", BYTEA, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("scopes", ARRAY(sa.Text), nullable=False),
    sa.Column("namespaces", ARRAY(sa.Text)),
    sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("expires_at", TIMESTAMP(timezone=True)),
    sa.Column("revoked_at", TIMESTAMP(timezone=True)),
)

streams = sa.Table(
    "streams",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("head_hash", BYTEA, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("parent_id", UUID),
    sa.Column("parent_version", sa.BigInteger),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, primary_key=True),
    sa.Column("occurred_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("recorded_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("event_id", UUID, nullable=False),
    sa.Column("schema_version", sa.SmallInteger, nullable=False),
    sa.Column("codec", sa.SmallInteger, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("item_id", sa.Text),
    sa.Column("key_id", UUID),
    sa.Column("key_commitment", BYTEA),
    sa.Column("content_digest", BYTEA),
    sa.Column("hash", BYTEA, nullable=False),
    sa.Column("mac", BYTEA),
    sa.Column("trace", sa.Text),
    sa.Column("structure", BYTEA, nullable=False),
    sa.Column("content", BYTEA),
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("projection", sa.Text, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    sa.Column("code_digest", BYTEA, nullable=False),
    sa.Column("head_hash", BYTEA, nullable=False),
    sa.Column("mac", BYTEA, nullable=False),
    sa.Column("state", BYTEA, nullable=False),
)

projection_checkpoints = sa.Table(
    "projection_checkpoints",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection", sa.Text, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("code_digest", BYTEA, nullable=False),
    sa.Column("updated_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("claimed_by", sa.Text),
    sa.Column("claimed_until", TIMESTAMP(timezone=True)),
    sa.Column("last_error", sa.Text),
)

session_index = sa.Table(
    "session_index",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("updated_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("expires_at", TIMESTAMP(timezone=True)),
    sa.Column("entries", sa.BigInteger, nullable=False),
    sa.Column("active", sa.BigInteger, nullable=False),
    sa.Column("summaries", sa.BigInteger, nullable=False),
    sa.Column("total_tokens", sa.BigInteger, nullable=False),
    sa.Column("active_tokens", sa.BigInteger, nullable=False),
    sa.Column("failed_compactions", sa.BigInteger, nullable=False),
    sa.Column("failing_since", TIMESTAMP(timezone=True)),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("last_failure", sa.Text),
    sa.Column("failing_model", sa.Text),
)

session_runs = sa.Table(
    "session_runs",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("run_id", sa.Text, primary_key=True),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("due_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("leased_until", TIMESTAMP(timezone=True)),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("work", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("leased_by", sa.Text),
    sa.Column("last_error", sa.Text),
)

search_entries = sa.Table(
    "search_entries",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("piece", sa.Integer, primary_key=True),
    sa.Column("added_in", sa.BigInteger, primary_key=True),
    sa.Column("erased_in", sa.BigInteger),
    sa.Column("removed_in", sa.BigInteger),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("first_character", sa.Integer, nullable=False),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("words", sa.Integer, nullable=False),
    sa.Column("said_on", sa.Date),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("shown", sa.Boolean, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("collection", sa.Text),
    sa.Column("item_id", sa.Text, nullable=False),
    sa.Column("vector", TSVECTOR, nullable=False),
)

search_forks = sa.Table(
    "search_forks",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("ancestor_id", UUID, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("erased", INT8MULTIRANGE, nullable=False),
    sa.Column("removed", INT8MULTIRANGE, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
)

search_fork_changes = sa.Table(
    "search_fork_changes",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    sa.Column("erased", INT8MULTIRANGE, nullable=False),
    sa.Column("removed", INT8MULTIRANGE, nullable=False),
)

search_terms = sa.Table(
    "search_terms",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("lexeme", sa.Text, primary_key=True),
    sa.Column("pieces", sa.BigInteger, nullable=False),
    sa.Column("words", sa.BigInteger, nullable=False),
)

#: Only where the server has pgvector; so with `record_embeddings`.
search_embeddings = sa.Table(
    "search_embeddings",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("piece", sa.Integer, primary_key=True),
    sa.Column("added_in", sa.BigInteger, primary_key=True),
    sa.Column("embedding", Vector, nullable=False),
)

served_views = sa.Table(
    "served_views",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("view", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("first_version", sa.BigInteger, nullable=False),
    sa.Column("left_out", sa.ARRAY(sa.BigInteger), nullable=False),
    sa.Column("served_at", TIMESTAMP(timezone=True), nullable=False),
)

records = sa.Table(
    "records",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("projection_version", sa.Integer, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("persisted_at", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("event_date", TIMESTAMP(timezone=True)),
    sa.Column("live", sa.Boolean, nullable=False),
    sa.Column("record_id", sa.Text, primary_key=True),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text),
    sa.Column("memory_type", sa.Text, nullable=False),
    sa.Column("extraction_strategy", sa.Text, nullable=False),
    sa.Column("topics", ARRAY(sa.Text), nullable=False),
    sa.Column("entities", ARRAY(sa.Text), nullable=False),
    sa.Column("identity", BYTEA, nullable=False),
    sa.Column("text_digest", BYTEA, nullable=False),
    sa.Column("record", BYTEA, nullable=False),
    sa.Column("vector", TSVECTOR, nullable=False),
)

record_accesses = sa.Table(
    "record_accesses",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("record_id", sa.Text, primary_key=True),
    sa.Column("last_accessed", TIMESTAMP(timezone=True), nullable=False),
    sa.Column("access_count", sa.BigInteger, nullable=False),
)

record_embeddings = sa.Table(
    "record_embeddings",
    metadata,
    sa.Column("namespace_id", UUID, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("stream_id", UUID, primary_key=True),
    sa.Column("record_id", sa.Text, primary_key=True),
    sa.Column("text_digest", BYTEA, nullable=False),
    sa.Column("embedding", Vector, nullable=False),
)

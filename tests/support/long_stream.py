"""A log of one long stream among many of one event, quickly made: no hash in it is right."""

from datetime import UTC, datetime
from hashlib import md5
from typing import Any
from uuid import UUID

import psycopg

from ledger.events.ids import Stream

LONG, SHORT, OTHERS = 20_000, 200, 6_000
EVENTS = LONG + SHORT + OTHERS
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = {"long": Stream.of("plans", "long"), "short": Stream.of("plans", "short")}

#: The request that made a tenth event of the long stream, and the two events after it in the namespace.
REQUEST = UUID(md5(b"request 10000", usedforsecurity=False).hexdigest())

#: One event a second in every stream, every tenth about an item, two of a hundred of another type; a snapshot every
#: ten events of the long one, and a request's key for every tenth.
_FILL = """
    INSERT INTO ledger.namespaces (namespace_id, namespace, last_position) VALUES (%(ns)s, 'plans', %(events)s);
    CREATE TEMPORARY TABLE filling AS
        SELECT row_number() OVER (ORDER BY version, stream_id) AS position, stream_id, version
        FROM (
            SELECT %(long)s::uuid, generate_series(1, %(length)s)
            UNION ALL SELECT %(short)s::uuid, generate_series(1, %(short_length)s)
            UNION ALL SELECT gen_random_uuid(), 1 FROM generate_series(1, %(others)s)
        ) AS s (stream_id, version);
    INSERT INTO ledger.streams (namespace_id, stream_id, version, user_id, session_id)
        SELECT %(ns)s, stream_id, max(version), '', stream_id FROM filling GROUP BY stream_id;
    INSERT INTO ledger.events (namespace_id, stream_id, version, position, event_id, type, schema_version, codec,
        occurred_at, recorded_at, actor, content_digest, hash, item_id, structure, content)
        SELECT %(ns)s, stream_id, version, position, gen_random_uuid(),
            CASE version %% 100 WHEN 1 THEN 'context.rendered' WHEN 50 THEN 'kept.set' ELSE 'note.made' END,
            1, 1, now(),
            %(beginning)s::timestamptz + version * interval '1 second', 'filler', sha256(''), sha256(''),
            CASE WHEN version %% 10 = 0 THEN 'item ' || version END, '{}',
            convert_to('0123456789abcdef{"text": "hello"}', 'UTF8')
        FROM filling;
    INSERT INTO ledger.snapshots SELECT %(ns)s, %(long)s, 'session', 1, v * 10, sha256(''), sha256(''), sha256(''), '{}'
        FROM generate_series(1, %(length)s / 20) AS v;
    INSERT INTO ledger.append_requests
        (namespace_id, stream_id, request_id, request_hash, first_position, event_count, recorded_at)
        SELECT namespace_id, stream_id, md5('request ' || version)::uuid, sha256(''), position, 3, now()
        FROM ledger.events WHERE stream_id = %(long)s AND version %% 10 = 0;
    ANALYZE ledger.namespaces, ledger.streams, ledger.events, ledger.snapshots, ledger.append_requests
"""


def fill(mighty: psycopg.Connection[Any]) -> None:
    """Write the log into an empty database, as *mighty*, which row security does not hold."""
    values = {
        **{name: stream.stream_id for name, stream in STREAMS.items()},
        "ns": STREAMS["long"].namespace_id,
        "events": EVENTS,
        "length": LONG,
        "short_length": SHORT,
        "others": OTHERS,
        "beginning": BEGINNING,
    }
    psycopg.ClientCursor(mighty).execute(_FILL, values)
    mighty.execute("VACUUM ledger.events")

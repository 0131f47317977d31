#!/bin/sh
# What the entrypoint of the postgres image does, for the variables that docker-compose.yml and testcontainers set.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    mkdir -p "$PGDATA"
    password=${POSTGRES_PASSWORD_FILE:-/tmp/password}
    if [ -z "${POSTGRES_PASSWORD_FILE:-}" ]; then printf '%s\n' "$POSTGRES_PASSWORD" > "$password"; fi
    # shellcheck disable=SC2086 # the arguments are words
    initdb --username "$POSTGRES_USER" --pwfile "$password" --auth-local trust --auth-host scram-sha-256 \
        ${POSTGRES_INITDB_ARGS:-}
    printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
    pg_ctl --wait --options "-c listen_addresses=''" start
    if [ "$POSTGRES_DB" != postgres ]; then createdb --username "$POSTGRES_USER" "$POSTGRES_DB"; fi
    pg_ctl --wait --mode fast stop
fi
exec "$@" -c 'listen_addresses=*'

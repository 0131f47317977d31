#!/bin/sh
# Build stand-ins for the images that the Dockerfile and docker-compose.yml name, from Debian packages alone, for an
# engine that can pull none. As root; needs debootstrap and docker. MIRROR is a mirror of Debian, CA_BUNDLE the
# certificates to trust, if others than Debian's.
set -eu
here=$(dirname "$0")
mirror=${MIRROR:-http://deb.debian.org/debian}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

if ! docker image inspect memory-ledger-stand-in/debian:bookworm > /dev/null 2>&1; then
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror"
    if [ -n "${CA_BUNDLE:-}" ]; then cp "$CA_BUNDLE" "$root/etc/ssl/certs/ca-certificates.crt"; fi
    tar -C "$root" -c . | docker import - memory-ledger-stand-in/debian:bookworm
fi
docker build --tag memory-ledger-stand-in/python:3.11-slim-bookworm --file "$here/python.Dockerfile" "$here"
docker build --tag memory-ledger-stand-in/pgvector:pg15 --file "$here/postgres.Dockerfile" "$here"

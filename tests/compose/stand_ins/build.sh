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
    rm -f "$root"/var/cache/apt/archives/*.deb
    # what nobody reads in a container is not unpacked, and nothing waits for the disk: a build is begun again instead
    printf 'path-exclude=/usr/share/%s/*\n' doc locale man > "$root/etc/dpkg/dpkg.cfg.d/image"
    printf 'force-unsafe-io\n' >> "$root/etc/dpkg/dpkg.cfg.d/image"
    tar -C "$root" -c . | docker import - memory-ledger-stand-in/debian:bookworm
fi
docker build --tag memory-ledger-stand-in/python:3.11-slim-bookworm --file "$here/python.Dockerfile" "$here"
docker build --tag memory-ledger-stand-in/pgvector:pg15 --file "$here/postgres.Dockerfile" "$here"

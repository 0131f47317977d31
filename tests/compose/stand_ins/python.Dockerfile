# In place of python:3.11-slim-bookworm: Debian's Python, under the same name.
FROM memory-ledger-stand-in/debian:bookworm
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/bin/python3 /usr/local/bin/python
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
CMD ["python"]

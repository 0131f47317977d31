# The image of the service and of every command: `docker build --tag memory-ledger .`
# Packages come from the lock files, by hash; nothing they were built with is in the image.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
# an index of one's own, if any
ARG PIP_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/build && python -m venv --without-pip /opt/memory-ledger
COPY requirements-build.lock requirements-service.lock ./
RUN /opt/build/bin/pip install --quiet --require-hashes --only-binary :all: -r requirements-build.lock \
    && /opt/build/bin/pip --python /opt/memory-ledger install --quiet --require-hashes --only-binary :all: \
        -r requirements-service.lock -c requirements-service.lock
# all that .dockerignore lets through
COPY . .
RUN /opt/build/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/build/bin/pip --python /opt/memory-ledger install --quiet --no-deps --no-index /wheels/*.whl

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin ledger
COPY --from=build /opt/memory-ledger /opt/memory-ledger
ENV PATH=/opt/memory-ledger/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8000
CMD ["memory-ledger", "serve"]

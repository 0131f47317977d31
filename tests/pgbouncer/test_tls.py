"""A database that proves who it is: the URL of docs/operating.md, against PgBouncer's end of TLS."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ledger.errors import DatabaseUnavailable
from ledger.stores.postgres import PostgresStore, Target
from tests.support.databases import Server
from tests.support.pooler import pooled

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("pgbouncer")]


@dataclass(frozen=True)
class Proving:
    """A server with a certificate for localhost, and one from another authority."""

    server: Server
    certificate: Path
    others: Path

    def target(self, database: str, host: str, trusted: Path) -> Target:
        url = self.server.target(database).url.replace("127.0.0.1", host)
        return Target(f"{url}?sslmode=verify-full&sslrootcert={trusted}")


def certificate(folder: Path, name: str) -> Path:
    """Make a key and a certificate for localhost that vouches for itself."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    (folder / f"{name}.key").chmod(0o644)  # PgBouncer runs as another user than these tests
    return folder / f"{name}.pem"


@pytest.fixture(scope="module")
def proving(server: Server) -> Iterator[Proving]:
    """The test server behind a PgBouncer that takes TLS only."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed here")
    with tempfile.TemporaryDirectory(prefix="keys-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        own, others = certificate(folder, "own"), certificate(folder, "others")
        tls = {"client_tls_cert_file": str(own), "client_tls_key_file": str(own.with_suffix(".key"))}
        with pooled(replace(server, pooler=None), client_tls_sslmode="require", **tls) as item:
            yield Proving(item, own, others)


async def test_a_server_with_a_trusted_certificate_is_used(proving: Proving, shared_database: str) -> None:
    store = await PostgresStore.open(proving.target(shared_database, "localhost", proving.certificate))
    await store.close()


@pytest.mark.parametrize(("host", "trusted"), [("127.0.0.1", "certificate"), ("localhost", "others")])
async def test_a_server_without_a_trusted_certificate_is_refused(
    proving: Proving, shared_database: str, host: str, trusted: str
) -> None:
    """The certificate must be for the name, and from a trusted authority."""
    with pytest.raises(DatabaseUnavailable):
        await PostgresStore.open(proving.target(shared_database, host, getattr(proving, trusted)))

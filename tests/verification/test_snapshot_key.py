"""Where the key comes from that proves snapshots. Source: trust K-1."""

import pickle
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ledger.cli.doctor_command import check_key
from ledger.errors import InvalidInput
from ledger.settings import Settings, load_settings
from ledger.stores.snapshot_key import FILE, snapshot_key, with_common_key


def test_the_embedded_server_gets_a_key_that_only_its_user_reads(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: snapshot_key(settings), range(8)))
    assert len(keys) == 1
    assert None not in keys
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert check_key(settings).level == "ok"
    (tmp_path / FILE).chmod(0o644)
    assert check_key(settings).level == "weaker"


def test_without_a_folder_to_write_to_there_is_no_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert snapshot_key(Settings(data_dir=tmp_path / "missing")) is None
    assert "long sessions are read from their events" in caplog.text


def test_a_key_is_a_setting_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Settings(database_url="postgresql://somewhere/agents")
    assert snapshot_key(own) is None
    assert "MEMORY_LEDGER_KEY_FILE" in check_key(own).found
    (tmp_path / "key").write_text("k" * 32 + "\n")
    monkeypatch.setenv("MEMORY_LEDGER_KEY_FILE", str(tmp_path / "key"))
    settings = load_settings(database_url="postgresql://somewhere/agents")
    assert snapshot_key(settings) == b"k" * 32
    assert "kkk" not in repr(settings)
    (tmp_path / "key").write_text("short")
    with pytest.raises(InvalidInput, match="at least 32 characters"):
        load_settings()


def test_processes_of_one_service_share_a_key(tmp_path: Path) -> None:
    """Else the process of heavy requests would read each long session from its first event."""
    own = Settings(database_url="postgresql://somewhere/agents")
    shared = pickle.loads(pickle.dumps(with_common_key(own)))
    assert snapshot_key(shared)
    assert snapshot_key(shared) != snapshot_key(with_common_key(own))
    assert with_common_key(shared) is shared
    embedded = Settings(data_dir=tmp_path)
    assert with_common_key(embedded) is embedded

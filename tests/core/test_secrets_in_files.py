"""A secret may be in a file that a variable names, so that it is not in the environment."""

from pathlib import Path

import pytest
from psycopg import conninfo

from ledger.cli.doctor_command import known_variables
from ledger.errors import InvalidInput
from ledger.server.service_settings import ServiceSettings, load_service_settings
from ledger.settings import Settings, load_settings, secrets_of

URL = "postgresql://ann:secret@db/agents"


def test_the_secrets_of_the_settings_are_known() -> None:
    assert secrets_of(Settings).keys() == {
        "MEMORY_LEDGER_DATABASE_URL",
        "MEMORY_LEDGER_DATABASE_PASSWORD",
        "MEMORY_LEDGER_LOGIN_PASSWORD",
        "MEMORY_LEDGER_KEY",
        "MEMORY_LEDGER_SUMMARIZER_API_KEY",
    }
    assert secrets_of(ServiceSettings).keys() == {"MEMORY_LEDGER_OIDC_HMAC_KEY", "MEMORY_LEDGER_UI_KEY"}
    assert "MEMORY_LEDGER_DATABASE_URL_FILE" in known_variables()


def test_a_secret_is_read_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "url"
    file.write_text(f"{URL}\n")
    monkeypatch.delenv("MEMORY_LEDGER_DATABASE_URL", raising=False)
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL_FILE", str(file))
    assert load_settings().database_url == URL
    assert load_settings(database_url="postgresql://other/x").database_url == "postgresql://other/x"
    file.write_text("k" * 40)
    monkeypatch.setenv("MEMORY_LEDGER_OIDC_HMAC_KEY_FILE", str(file))
    key = load_service_settings().oidc_hmac_key
    assert key is not None
    assert key.get_secret_value() == "k" * 40


@pytest.mark.parametrize("password", ["plain", "p@ss/w:rd?&=#%20 ü"])
@pytest.mark.parametrize("url", ["postgresql://ann@db/agents", "postgresql://a:1,b:2/agents?user=ann&sslmode=require"])
def test_the_password_of_a_url_is_read_from_its_file(
    url: str, password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{password}\n")
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_PASSWORD_FILE", str(file))
    parts = {**conninfo.conninfo_to_dict(url), "password": password}
    assert conninfo.conninfo_to_dict(load_settings(database_url=url).database_url or "") == parts
    assert load_settings(database_url=URL).database_url == URL, "a password in the URL counts"
    assert "plain" not in repr(load_settings(database_url=url))


def test_a_file_that_is_not_there_and_a_secret_given_twice_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORY_LEDGER_DATABASE_URL", raising=False)
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL_FILE", str(tmp_path / "none"))
    with pytest.raises(InvalidInput, match="can be read") as refused:
        load_settings()
    assert refused.value.field == "MEMORY_LEDGER_DATABASE_URL_FILE"
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL", URL)
    with pytest.raises(InvalidInput, match="beside MEMORY_LEDGER_DATABASE_URL"):
        load_settings()

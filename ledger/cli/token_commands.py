"""The commands ``token add``, ``list`` and ``revoke``. Source: trust S-2."""

from datetime import timedelta
from typing import Annotated

import typer
from msgspec import structs

from ledger.cli.app import command, options, token
from ledger.cli.output import moment, safe
from ledger.errors import InvalidInput, NotFound
from ledger.events.clock import SystemClock
from ledger.events.names import check_name
from ledger.stores.factory import ready_url

_LONGEST_DAYS = 3_650


@command(token)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The caller's name, the actor of their events.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="read, write, admin, system or import; by default read and write."),
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="NAMESPACE", help="A namespace it may use; repeat for more.")
    ] = None,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", help="It may use every namespace.")] = False,
    days: Annotated[int | None, typer.Option(min=1, max=_LONGEST_DAYS, help="Days until it expires.")] = None,
) -> None:
    """Create a token and show it once; needs the login that migrates."""
    from ledger.ports.token_store import FoundToken  # noqa: PLC0415
    from ledger.server.access.callers import SCOPES  # noqa: PLC0415 - loads the web framework
    from ledger.server.access.token_format import hash_of, new_token  # noqa: PLC0415
    from ledger.stores.postgres.token_admin import token_admin  # noqa: PLC0415

    opts = options()
    scopes = tuple(dict.fromkeys(scope or ["read", "write"]))
    if not set(scopes) <= SCOPES:
        raise InvalidInput("bad_scope", f"must be one of {', '.join(sorted(SCOPES))}", field="--scope")
    if "*" in (allow or ()):
        raise InvalidInput("bad_arguments", "must be a namespace; use --all-namespaces for all", field="--allow")
    if all_namespaces and allow:
        raise InvalidInput("bad_arguments", "must not be given with --all-namespaces", field="--allow")
    names = tuple(dict.fromkeys(allow or [opts.settings.namespace]))
    token = FoundToken(
        token_hash=b"",
        name=check_name(name, field="NAME"),
        scopes=scopes,
        namespaces=None if all_namespaces else tuple(check_name(each, field="--allow") for each in names),
        expires_at=None if days is None else SystemClock().now() + timedelta(days=days),
        revoked_at=None,
    )
    key_id, secret = new_token()
    with token_admin(ready_url(opts.settings), timeout_s=opts.settings.database_timeout_s) as admin:
        admin.add(key_id, structs.replace(token, token_hash=hash_of(secret)))
    shown = {"key_id": key_id, "token": secret, "name": token.name, "expires_at": token.expires_at}
    opts.output.result(shown, lambda: opts.output.say(secret))


@command(token, "list")
def list_tokens() -> None:
    """List the tokens without their secrets; needs the login that migrates."""
    from ledger.stores.postgres.token_admin import token_admin  # noqa: PLC0415 - rare

    opts = options()
    with token_admin(ready_url(opts.settings), timeout_s=opts.settings.database_timeout_s) as admin:
        found = admin.all()

    def show() -> None:
        if not found:
            opts.output.say("There are no tokens. Create one: memory-ledger token add NAME")
            return
        rows = []
        for each in found:
            names = "all" if each.namespaces is None else ", ".join(each.namespaces)
            times = (moment(each.created_at), moment(each.expires_at), moment(each.revoked_at))
            rows.append((each.key_id, safe(each.name), " ".join(each.scopes), safe(names), *times))
        columns = ("key id", "name", "scopes", "namespaces", "created (UTC)", "expires", "revoked")
        opts.output.table(columns, rows)

    opts.output.result(found, show)


@command(token)
def revoke(key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As `token list` shows it.")]) -> None:
    """Revoke a token, within five seconds in every service; needs the login that migrates."""
    from ledger.stores.postgres.token_admin import token_admin  # noqa: PLC0415 - rare

    opts = options()
    with token_admin(ready_url(opts.settings), timeout_s=opts.settings.database_timeout_s) as admin:
        if not admin.revoke(check_name(key_id, field="KEY_ID")):
            raise NotFound("there is no token with this key id; `memory-ledger token list` lists them")
    opts.output.result({"revoked": key_id}, lambda: opts.output.say("revoked"))

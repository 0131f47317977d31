"""Commands about tokens of the service: add, list, revoke. Source: trust S-2."""

from datetime import timedelta
from importlib.util import find_spec
from typing import Annotated

import typer
from msgspec import structs

from ledger.cli.app import command, options, token
from ledger.cli.output import moment, safe
from ledger.clock import SystemClock
from ledger.errors import InvalidInput, NotFound, Unavailable
from ledger.names import check_name
from ledger.stores.embedded import EmbeddedServer
from ledger.stores.factory import prepare

_LONGEST_DAYS = 3_650


def _url() -> str:
    settings = options().settings
    if settings.database_url is not None:
        return settings.database_url
    server = EmbeddedServer(settings.data_dir)
    prepare(server)
    return server.url


@command(token)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who holds it; events name them as their actor.")],
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="read, write, admin, system, import; read and write.")
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="NAMESPACE", help="A namespace it is for; may come more than once.")
    ] = None,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", help="It is for every namespace.")] = False,
    days: Annotated[int | None, typer.Option(min=1, max=_LONGEST_DAYS, help="It expires after so many days.")] = None,
) -> None:
    """Make a token and show it, this once; needs the login that migrates."""
    if find_spec("fastapi") is None:
        raise Unavailable("the service needs more packages: pip install 'memory-ledger[server]'")
    from ledger.ports.tokens import FoundToken  # noqa: PLC0415
    from ledger.server.callers import SCOPES  # noqa: PLC0415 - loads the web framework
    from ledger.server.tokens import hash_of, new_token  # noqa: PLC0415
    from ledger.stores.postgres.token_admin import token_admin  # noqa: PLC0415

    opts = options()
    scopes = tuple(dict.fromkeys(scope or ["read", "write"]))
    if not set(scopes) <= SCOPES:
        raise InvalidInput("bad_scope", f"is one of {', '.join(sorted(SCOPES))}", field="--scope")
    if "*" in (allow or ()):
        raise InvalidInput(
            "bad_arguments", "names a namespace; for every one there is --all-namespaces", field="--allow"
        )
    if all_namespaces and allow:
        raise InvalidInput("bad_arguments", "give namespaces, or all of them", field="--allow")
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
    with token_admin(_url()) as keeper:
        keeper.add(key_id, structs.replace(token, token_hash=hash_of(secret)))
    shown = {"key_id": key_id, "token": secret, "name": token.name, "expires_at": token.expires_at}
    opts.output.result(shown, lambda: opts.output.say(secret))


@command(token, "list")
def list_tokens() -> None:
    """List the tokens, without their secrets; needs the login that migrates."""
    from ledger.stores.postgres.token_admin import token_admin  # noqa: PLC0415 - rare

    opts = options()
    with token_admin(_url()) as keeper:
        found = keeper.all()

    def show() -> None:
        table = opts.output.table("key id", "name", "scopes", "namespaces", "made", "expires", "revoked")
        for each in found:
            names = "all" if each.namespaces is None else ", ".join(each.namespaces)
            times = (moment(each.created_at), moment(each.expires_at), moment(each.revoked_at))
            table.add_row(each.key_id, safe(each.name), " ".join(each.scopes), safe(names), *times)
        opts.output.console.print(table)

    opts.output.result(found, show)


@command(token)
def revoke(key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As `token list` shows it.")]) -> None:
    """Revoke a token; within five seconds no service takes it any more. Needs the login that migrates."""
    from ledger.stores.postgres.token_admin import token_admin  # noqa: PLC0415 - rare

    opts = options()
    with token_admin(_url()) as keeper:
        if not keeper.revoke(check_name(key_id, field="KEY_ID")):
            raise NotFound("there is no token with this key id; `memory-ledger token list` shows them")
    opts.output.result({"revoked": key_id}, lambda: opts.output.say("revoked"))

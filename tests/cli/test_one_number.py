"""One word, one number: tokens kept and tokens shown are the same in library, command line, HTTP API and viewer."""

import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx

from ledger import SyncMemoryLedger
from ledger.stores.postgres import Target
from tests.cli.conftest import Cli
from tests.server.conftest import running
from tests.support.carried import png
from tests.support.http_client import JSON

PICTURE = f"data:image/png;base64,{b64encode(png(800, 600)).decode()}"
UI = Path(__file__).parents[2] / "ui" / "src"
CONFIG = {"window": {"type": "max_tokens", "memory_max_tokens": 60}}


def table(cli: Cli, *arguments: str) -> dict[str, str]:
    """Return the rows of a table of two columns."""
    return dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in cli(*arguments).lines)


def test_tokens_kept_and_shown_have_one_number_each(cli: Cli) -> None:
    with SyncMemoryLedger.open(cli.url, namespace=cli.namespace, config=CONFIG) as ledger:
        for number in range(10):
            ledger.add_user_message("s", f"Where is bed {number}? " * 3)
            ledger.add_assistant_message("s", f"Bed {number} is behind the shed.")
        kept, shown = ledger.get_stats("s").total_tokens, ledger.get_context("s").tokens
    assert kept > 2 * shown > 0
    assert _of_the_library(cli) == (kept, shown)
    assert _of_the_command_line(cli) == ({kept}, {shown})
    assert _of_the_api(cli) == ({kept}, {shown})


RECALL = {
    "window": {"type": "recall", "max_tokens": 900},
    "compactions": [{"type": "token_threshold", "max_tokens": 2_500, "recent_window": 6, "max_summary_tokens": 60}],
}


def test_a_session_with_images_summaries_and_recall_has_one_number_for_each_word(cli: Cli) -> None:
    with SyncMemoryLedger.open(cli.url, namespace=cli.namespace, config=RECALL) as ledger:
        for number in range(12):
            text = {"type": "text", "text": f"Where is bed {number}, with the tulips of row {number}? " * 3}
            image = {"type": "image_url", "image_url": {"url": PICTURE}}
            ledger.add_messages("s", [{"role": "user", "content": [text, image]}])
            ledger.add_assistant_message("s", f"Bed {number} is behind the shed.")
            ledger.settle("s")
        ledger.add_user_message("s", "Which tulips are in bed 2?")
        stats, shown, ledgers = ledger.get_stats("s"), ledger.get_context("s"), ledger.get_window("s")
    assert stats.summaries > 0
    assert stats.total_tokens > 2 * shown.tokens > 2 * 100
    assert shown.budget.recalled > 0, shown.budget
    assert _of_the_library(cli) == (stats.total_tokens, shown.tokens) == (stats.total_tokens, ledgers.tokens)
    assert _of_the_command_line(cli) == ({stats.total_tokens}, {shown.tokens})
    assert _of_the_api(cli) == ({stats.total_tokens}, {shown.tokens})
    assert _equal_fields(cli) >= {"total_tokens", "active_tokens", "summaries", "version"}


def _equal_fields(cli: Cli) -> set[str]:
    """Check that each field that two of list, statistics and session have is equal in them; return those fields."""
    with (
        running(Target(cli.url)) as service,
        httpx.Client(base_url=service.url, headers=JSON, params={"namespace": cli.namespace}) as client,
    ):
        found = [client.get("/v1/sessions").json()["sessions"][0], client.get("/v1/sessions/s/stats").json()]
    assert (found[0]["entries"], found[0]["active"]) == (found[1]["total_entries"], found[1]["active_entries"])
    found += [cli.json("sessions")["sessions"][0], cli.json("stats", "s")]
    names = [name for name in set().union(*found) if sum(name in each for each in found) > 2]
    for name in names:
        values = [each[name] for each in found if name in each]
        assert all(value == values[0] for value in values), (name, values)
    return set(names)


def _of_the_library(cli: Cli) -> tuple[int, int]:
    with SyncMemoryLedger.open(cli.url, namespace=cli.namespace) as ledger:
        (listed,) = ledger.list_sessions()
        window = ledger.get_window("s")
        assert window.tokens == window.budget.tokens == ledger.get_context("s").budget.tokens
        return listed.total_tokens, window.tokens


def _of_the_command_line(cli: Cli) -> tuple[set[int], set[int]]:
    head, row = cli("sessions").lines[:2]
    words = re.split(r"\s{2,}", head.strip())
    cells = re.split(r"\s{2,}", row.strip())
    kept = [cells[words.index("tokens kept")], table(cli, "stats", "s")["tokens kept"]]
    shown = [table(cli, "context", "s", "--format", "budget")["tokens shown"]]
    shown += re.findall(r"([\d,]+) tokens shown", cli("window", "s").lines[0])
    assert len(shown) == 2
    shown += [str(cli.json("context", "s")["tokens"]), str(cli.json("window", "s")["tokens"])]
    kept += [str(cli.json("stats", "s")["total_tokens"]), str(cli.json("sessions")["sessions"][0]["total_tokens"])]
    return {_number(cell) for cell in kept}, {_number(cell) for cell in shown}


def _of_the_api(cli: Cli) -> tuple[set[int], set[int]]:
    with (
        running(Target(cli.url)) as service,
        httpx.Client(base_url=service.url, headers=JSON, params={"namespace": cli.namespace}) as client,
    ):

        def get(path: str, **query: int) -> Any:
            answer = client.get(path, params={"namespace": cli.namespace, **query})
            assert answer.status_code == 200, answer.text
            return answer.json()

        listed = get("/v1/sessions")["sessions"][0]
        window, context = get("/v1/sessions/s/window"), get("/v1/sessions/s/context")
        for call in get("/v1/sessions/s/windows")["calls"]:  # what the viewer's list of calls shows
            assert call["tokens"] == get("/v1/sessions/s/context", version=call["version"])["tokens"]
        kept = {listed["total_tokens"], get("/v1/sessions/s/stats")["total_tokens"]}
        return kept, {window["tokens"], window["budget"]["tokens"], context["tokens"]}


def test_the_viewer_has_the_two_words_and_no_third() -> None:
    pages = {path.name: path.read_text() for path in UI.glob("*.tsx")}
    assert "tokens kept" in pages["sessions_screen.tsx"]
    for name in ("budget_bar.tsx", "chart_tab.tsx", "diff_tab.tsx", "what_if_tab.tsx"):
        assert "tokens shown" in pages[name], name
    assert '"token")} shown' in pages["window_tab.tsx"]
    for name, text in pages.items():
        assert not re.search(r"window tokens|active tokens|total tokens", text, re.IGNORECASE), name


def _number(cell: str) -> int:
    return int(cell.replace(",", ""))

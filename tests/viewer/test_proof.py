"""A changed byte is named by the browser's own check (viewer U-20, U-33, U-52)."""

import re
from base64 import b64decode, b64encode
from gzip import compress, decompress
from pathlib import Path

from playwright.sync_api import BrowserContext, Route, expect

from tests.server.conftest import Running
from tests.viewer.conftest import Watched, watch

_BLOCK = re.compile(rb'(data-block="events-0">)([^<]+)(<)')
_FINDING = '{"layer":0,"version":3,"problem":"a snapshot differs"}'


def test_the_file_names_a_changed_event(
    context: BrowserContext, viewed: Running, one_file: Path, tmp_path: Path
) -> None:
    whole = one_file.read_bytes()
    found = _BLOCK.search(whole)
    assert found is not None
    lines = decompress(b64decode(found[2])).split(b"\n")
    lines[9] = re.sub(rb'"recorded_us":(\d+)', lambda us: b'"recorded_us":%d' % (int(us[1]) + 1), lines[9])
    packed = b64encode(compress(b"\n".join(lines), mtime=0))
    changed = tmp_path / "changed.html"
    changed.write_bytes(whole[: found.start(2)] + packed + whole[found.end(2) :])
    page = watch(context, viewed.url).open(changed.as_uri())
    page.keyboard.press("v")
    side = page.locator("section[aria-label='This browser']")
    expect(side.locator(".badge")).to_have_text("TAMPERED")
    expect(side).to_contain_text("version 9 the event is not what was recorded")
    expect(page.locator(".session-head .badge")).to_have_text("TAMPERED")


def test_the_file_gives_its_export_back(context: BrowserContext, viewed: Running, one_file: Path) -> None:
    """viewer U-33: byte for byte."""
    page = watch(context, viewed.url).open(one_file.as_uri())
    page.locator("#tab-proof").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the export").click()
    blocks = re.findall(rb'data-block="events-\d+">([^<]+)<', one_file.read_bytes())
    assert Path(saved.value.path()).read_bytes() == b"".join(decompress(b64decode(block)) for block in blocks)


def test_the_header_says_the_verdict_of_the_service(watched: Watched) -> None:
    """viewer U-20: a difference in caches is not called tampering."""

    def differ(route: Route) -> None:
        real = route.fetch()
        body = real.text().replace("OK-CHAINED", "CACHES DIFFER").replace('"findings":[]', f'"findings":[{_FINDING}]')
        assert _FINDING in body
        route.fulfill(response=real, body=body)

    watched.page.route("**/verify-stream**", differ)
    watched.open("session?id=trip", ".row")
    watched.page.keyboard.press("v")
    expect(watched.page.locator("section[aria-label='The service'] .badge")).to_have_text("CACHES DIFFER")
    expect(watched.page.locator("section[aria-label='This browser'] .badge")).to_have_text("OK-CHAINED")
    header = watched.page.locator(".session-head .badge")
    expect(header).to_have_text("CACHES DIFFER")
    expect(header).to_have_class("badge bad")

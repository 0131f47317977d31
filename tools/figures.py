"""Draw what each strategy shows of a session, and write the table of it: ``python -m tools.figures``.

The pictures are docs/figures/*.png, each with a digest of its data; the table is in docs/strategies/README.md. A test
compares both with the code.
"""

from collections.abc import Mapping
from typing import Final

from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ledger.replay.backtest.totals import at_rank
from projections.strategies import WINDOWS
from tools.rasters import AHEAD, BEHIND, LEFT_OUT, ROOT, SHOWN, Raster, all_rasters

TARGET: Final = ROOT / "docs" / "figures"
OVERVIEW: Final = ROOT / "docs" / "strategies" / "README.md"
BEGIN: Final = "<!-- made by tools/figures.py -->\n\n"
END: Final = "<!-- end -->"

_COLOURS: Final = {AHEAD: "#ffffff", LEFT_OUT: "#e4e4e4", BEHIND: "#f2b866", SHOWN: "#0b5c97"}
_NAMES: Final = {SHOWN: "in the window", BEHIND: "behind a summary that is shown", LEFT_OUT: "neither"}


def draw(found: Raster, full: Raster) -> Figure:
    """Return the picture of *found*: the raster above, its tokens below, with those of *full* for comparison."""
    figure = Figure(figsize=(7, 4.1), dpi=150, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.4, 1))
    rows = list(zip(*found.calls, strict=True))
    calls = len(found.calls)
    above.imshow(
        rows,
        aspect="auto",
        interpolation="nearest",
        origin="lower",
        cmap=ListedColormap([_COLOURS[kind] for kind in sorted(_COLOURS)]),
        vmin=AHEAD,
        vmax=SHOWN,
        extent=(0.5, calls + 0.5, 0.5, len(rows) + 0.5),
    )
    above.set_ylim(-len(rows) / 60, len(rows) + 0.5)  # lifts the system message off the axis
    above.set_ylabel("entry of the session")
    across = range(1, calls + 1)
    if found != full:
        below.plot(across, full.tokens, color="#767676", linewidth=1, linestyle="--")
        below.annotate("full", (calls * 0.7, full.tokens[int(calls * 0.7)]), (-26, 2), textcoords="offset points")
    below.plot(across, found.tokens, color=_COLOURS[SHOWN], linewidth=1.6)
    below.set_ylim(0, max(full.tokens) * 1.08)
    below.yaxis.set_major_formatter(lambda tokens, _: f"{tokens:,.0f}")
    below.set_ylabel("tokens\nshown")
    below.set_xlabel("model call")
    below.grid(visible=True, alpha=0.25)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.align_ylabels()
    share = (
        f"{sum(found.tokens):,} tokens in {calls} calls: {sum(found.tokens) / sum(full.tokens):.0%} of what full shows"
    )
    below.set_title(share, loc="right", fontsize=9, color="#444444")
    patches = [Patch(color=_COLOURS[kind], label=name) for kind, name in _NAMES.items()]
    figure.legend(handles=patches, loc="outside upper center", ncols=3, frameon=False)
    return figure


def table(found: Mapping[str, Raster]) -> str:
    """Return the table: for each strategy, what it shows and what its summaries cost."""
    lines = [
        "| strategy | median shown | all shown | in window | behind summaries | compactions | model calls | tokens |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, raster in found.items():
        last = raster.calls[-1]
        page = "windows" if name in WINDOWS else "compactions"
        shown = f"{at_rank(sorted(raster.tokens), 50):,} | {sum(raster.tokens):,}"
        stored = f"{last.count(SHOWN)} of {len(last)} | {last.count(BEHIND)}"
        spent = f"{raster.compactions} | {raster.model_calls} | {raster.model_tokens:,}"
        lines.append(f"| [`{name}`]({page}.md#{name}) | {shown} | {stored} | {spent} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw a picture for each strategy, and write the table into its page."""
    TARGET.mkdir(exist_ok=True)
    found = all_rasters()
    for strategy, raster in found.items():
        file = TARGET / f"{strategy}.png"
        draw(raster, found["full"]).savefig(file, metadata={"Software": None, "Description": raster.digest})
    before, _, rest = OVERVIEW.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    OVERVIEW.write_text(f"{before}{BEGIN}{table(found)}\n{END}{after}")


if __name__ == "__main__":
    main()

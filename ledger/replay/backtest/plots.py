"""The pictures of a backtest, as PNG: evidence kept against tokens shown, and tokens shown over a session.

matplotlib is an extra (``memory-ledger[reports]``).
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from ledger.replay.backtest.measures import Measured
from ledger.replay.backtest.totals import Row, at_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: Lines differ in marker and style too, for readers who do not see colours.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
_MARKERS: Final = "os^Dv<>P"
_LINES: Final = ("-", "--", "-.", ":")
_GREY: Final = "#c4c4c4"
_TICKS: Final = [step * 10**power for power in range(1, 8) for step in (1, 2, 5)]
_SIZE: Final = (4.6, 4.5)  # small, so that the words can be read on a phone
_PANEL: Final = (3.6, 2.5)
_DPI: Final = 180


def panel_name(number: int) -> str:
    """Return the file of config *number*, counted from 0."""
    return f"tokens-{number + 1}.png"


def can_plot() -> bool:
    """Tell whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def plots(rows: Sequence[Row], measured: Sequence[Measured]) -> dict[str, bytes]:
    """Return PNG files by name: ``evidence.png`` if there are questions, ``tokens.png``, and one for each config.

    Without matplotlib there are none.
    """
    if not can_plot():
        return {}
    figures = {}
    if any(row.curve for row in rows):
        figures["evidence.png"] = _evidence(rows)
    medians = {row.config: _medians([item.shown for item in measured if item.config == row.config]) for row in rows}
    figures["tokens.png"] = _tokens(medians)
    if len(rows) > 1:
        figures.update((panel_name(number), _panel(config, medians)) for number, config in enumerate(medians))
    return figures


def _medians(sessions: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the median at each model call, over the sessions that have so many calls."""
    length = max((len(session) for session in sessions), default=0)
    return tuple(
        at_rank(sorted(session[turn] for session in sessions if turn < len(session)), 50) for turn in range(length)
    )


def _by_line(lines: Mapping[str, Any]) -> dict[Any, list[str]]:
    """Return the configs by line, since equal lines would hide each other."""
    names: dict[Any, list[str]] = {}
    for config, line in lines.items():
        names.setdefault(line, []).append(config)
    return names


def _evidence(rows: Sequence[Row]) -> bytes:
    figure, axes = _figure(_SIZE, "tokens shown at a question (mean)", "evidence in the window")
    curves = {
        row.config: tuple(dict.fromkeys((point.tokens, float(point.kept)) for point in row.curve)) for row in rows
    }
    drawn = {}
    for number, (curve, names) in enumerate(_by_line(curves).items()):
        style = _style(number)
        if len(curve) == 1:
            style["linestyle"] = ""
        (drawn[", ".join(names)],) = axes.plot(*zip(*curve, strict=True), **style)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xticks([tick for tick in _TICKS if low <= tick <= high], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(lambda tokens, _: f"{tokens:,.0f}")
    axes.set_ylim(-0.03, 1.05)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return _with_legend(figure, drawn)


def _tokens(medians: Mapping[str, Sequence[int]]) -> bytes:
    figure, axes = _figure(_SIZE, "model call in the session", "tokens shown (median)")
    drawn = {}
    for number, (shown, names) in enumerate(_by_line(medians).items()):
        style = {**_style(number), "marker": ""}
        (drawn[", ".join(names)],) = axes.plot(range(1, len(shown) + 1), shown, **style)
    axes.yaxis.set_major_formatter(lambda tokens, _: f"{tokens:,.0f}")
    axes.set_ylim(bottom=0)
    return _with_legend(figure, drawn)


def _panel(config: str, medians: Mapping[str, Sequence[int]]) -> bytes:
    """Draw one config over the others, all panels to the same scale."""
    figure, axes = _figure(_PANEL, "model call", "tokens shown")
    for shown in medians.values():
        axes.plot(range(1, len(shown) + 1), shown, color=_GREY, linewidth=0.8)
    axes.plot(range(1, len(medians[config]) + 1), medians[config], color=_COLOURS[0], linewidth=2)
    axes.set_title(fill(config, 32), loc="left", fontsize=10, fontweight="bold", parse_math=False)
    axes.yaxis.set_major_formatter(lambda tokens, _: f"{tokens:,.0f}")
    axes.set_ylim(bottom=0)
    return _png(figure)


def _style(number: int) -> dict[str, Any]:
    cycle, place = divmod(number, len(_COLOURS))
    return {
        "color": _COLOURS[place],
        "marker": _MARKERS[(place + cycle) % len(_MARKERS)],
        "linestyle": _LINES[cycle % len(_LINES)],
        "markersize": 5,
        "linewidth": 1.8,
    }


def _figure(size: tuple[float, float], across: str, up: str) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _with_legend(figure: "Figure", drawn: "Mapping[str, Line2D]") -> bytes:
    labels = [fill(name, 26) for name in drawn]
    legend = figure.legend(list(drawn.values()), labels, frameon=False, loc="outside lower center", ncols=2)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return _png(figure)


def _png(figure: "Figure") -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()

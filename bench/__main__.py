"""Measure Memory Ledger beside plain psycopg on a temporary embedded PostgreSQL; write docs/benchmarks.md.

``python -m bench NAME …`` runs only these workloads, ``--quick`` runs small sizes to try them out; neither writes.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from bench import page, report
from bench.databases import Databases
from bench.goals import MORE, MUST_SHOW
from bench.setting import Setting
from bench.workloads import WORKLOADS, run


def main() -> None:
    """Run the workloads that are named, or all; exit with 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(WORKLOADS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the workloads; figures mean nothing")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(WORKLOADS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    console = Console(stderr=True)
    workloads = {name: WORKLOADS[name] for name in chosen.names} or WORKLOADS
    with Databases.temporary() as databases, console.status("") as status:

        @contextmanager
        def setting_for(name: str) -> Iterator[Setting]:
            with databases.fresh(name) as (url, app_url):
                yield Setting(url, app_url, quick=chosen.quick)

        outcome = run(workloads, setting_for, starting=lambda name: status.update(_about(name)))
        conditions = report.conditions(outcome, databases.postgres_version)
    taken = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in outcome.seconds.items())
    console.print(conditions, taken, sep="\n")
    if chosen.quick:
        console.print("quick: the sizes are a twentieth of those in the names, and the figures mean nothing")
    report.show(Console(), outcome, workloads)
    if not chosen.names and not chosen.quick:
        page.write(
            {
                "ratios": f"{conditions}\n\n{report.markdown(MUST_SHOW, outcome)}",
                "more": report.markdown(MORE, outcome),
            }
        )
    for name, fault in outcome.faults.items():
        console.print(f"{name} failed: {fault}", style="red", markup=False)
    sys.exit(1 if outcome.faults else 0)


def _about(name: str) -> str:
    return f"{name}: {(WORKLOADS[name].__doc__ or '').splitlines()[0]}"


if __name__ == "__main__":
    main()

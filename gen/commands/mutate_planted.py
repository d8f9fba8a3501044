"""Implements ``ingather mutate --planted``: mistakes of engineers, and who finds them."""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import typer

from gen.base.errors import UserError
from gen.output.consoles import Console, Table, lines, print_wide
from gen.output.folder import write_file

PLANTED = "planted.json"
FATES = ("found", "equivalent", "survived", "undecided")
MOST_SECONDS = 900  #: time for the tests of a component


def try_planted(targets: Sequence[Any], seed: int, jobs: int, output: Path) -> None:
    """Try every mistake planted in the files of ``targets``; UserError if one is not found."""
    from sim.harness.cache import CHECKOUT
    from sim.mutation.mistakes import KINDS, read_mistakes, try_mistake

    sources = {target.source for target in targets}
    mistakes = [one for one in read_mistakes() if CHECKOUT / one.file in sources]
    if not mistakes:
        raise UserError("no mistake is planted in these components; there are some in most others")
    results = []
    with (
        lines(Console(stderr=True), f"{len(mistakes)} planted mistakes") as tell,
        ThreadPoolExecutor(jobs) as pool,
    ):
        futures = [pool.submit(try_mistake, one, seed, MOST_SECONDS) for one in mistakes]
        try:
            for future in as_completed(futures):
                results.append(future.result())
                tell(f"{len(results)} of {len(mistakes)}: {results[-1]['name']}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    results.sort(key=lambda one: (one["file"], one["name"]))
    content = {"format": 1, "made_by": "ingather", "seed": seed, "mistakes": results}
    write_file(output / PLANTED, json.dumps(content, indent=1) + "\n")
    table = Table(box=None, pad_edge=False)
    for name in ("kind", "planted", *FATES):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind in KINDS:
        fates = Counter(one["fate"] for one in results if one["kind"] == kind)
        table.add_row(kind, str(fates.total()), *(str(fates[fate]) for fate in FATES))
    print_wide(Console(), table)
    what = {one.name: one.what for one in mistakes}
    missed = [one for one in results if one["fate"] not in ("found", "equivalent")]
    for one in missed:
        typer.echo(f"{one['fate']}: {one['file']}: {what[one['name']]}")
    typer.echo(str(output / PLANTED))
    if missed:
        raise UserError(f"{len(missed)} of {len(results)} planted mistakes are not found")

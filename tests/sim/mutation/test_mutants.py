import re
import subprocess
import sys
from collections import Counter

import pytest

from gen.base.emission.emit import emit
from hdl.common.fifo import Fifo, FifoParams
from sim.harness.cache import CHECKOUT
from sim.harness.lint import lint
from sim.harness.verilate import WAIVERS
from sim.mutation.mutants import CONTROL, emission_with_sources, lines_of, mutate
from tests.sim.mutation.sample import Pair, Tally, TallyParams


@pytest.fixture(scope="module")
def tally():
    return mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 30, 1, 0)


def test_verilog_without_sources_is_the_same():
    component = Tally(TallyParams())
    assert emission_with_sources(component).verilog == emit(component).verilog
    assert not emit(component).top.rtlil.count("src")


def test_mutants_are_a_sample_of_the_logic(tally):
    emission, mutants, _ = tally
    assert len(mutants) == 30
    assert len({mutant.text for mutant in mutants}) == 30
    assert [mutant.number for mutant in mutants] == list(range(1, 31))
    assert {"inv", "const0", "const1"} <= {mutant.mode for mutant in mutants}
    assert not any(mutant.port == "CLK" for mutant in mutants)
    for mutant in mutants:
        assert mutant.text.startswith(f"tally_4: {mutant.mode} ${mutant.kind[1:]} ")
    # All of them are in the Verilog, which has the ports that it had.
    chosen = set(re.findall(rf"{CONTROL} == 16'h(\w+)", emission.verilog))
    assert {int(text, 16) for text in chosen} == set(range(1, 31))
    header = re.search(r"module tally_4\((.*)\);", emission.verilog)
    assert set(header[1].split(", ")) == {"clk", "rst", "step", "total"}
    lint(emission, WAIVERS)


def test_all_of_the_control_is_mutated_whatever_the_seed():
    """Of the counter: its reset and its enable stick; two terms of three guards are left out."""
    first, second = (
        mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 1, seed)[1]
        for seed in (1, 2)
    )
    control = [mutant for mutant in first if mutant.group == "control"]
    assert Counter((item.kind, item.port, item.mode) for item in control) == {
        ("$and", "A", "const1"): 3,
        ("$and", "B", "const1"): 3,
        ("$mux", "S", "const0"): 3,
        ("$mux", "S", "const1"): 3,
    }
    assert len({item.text for item in control}) == 12
    assert control == [mutant for mutant in second if mutant.group == "control"]
    emission = emission_with_sources(Tally(TallyParams()))
    some, others = (
        [
            item.text
            for item in mutate(emission, "tally_4", 1, seed, 5)[1]
            if item.group == "control"
        ]
        for seed in (1, 2)
    )
    assert len(some) == len(others) == 5
    assert some != others


def test_another_seed_is_another_sample(tally):
    again = mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 30, 1, 0)
    assert again[1] == tally[1]
    other = mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 30, 2, 0)
    assert other[1] != tally[1]


def test_another_process_gives_the_same_mutants(tally):
    code = (
        "from sim.mutation.mutants import *; from tests.sim.mutation.sample import *;"
        "print(*(m.text for m in mutate(emission_with_sources(Tally(TallyParams())),"
        " 'tally_4', 30, 1, 0)[1]), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [mutant.text for mutant in tally[1]]


def test_a_parent_is_mutated_where_it_places_its_children():
    emission, mutants, _ = mutate(emission_with_sources(Pair(TallyParams())), "pair_4", 40, 1)
    assert {mutant.module for mutant in mutants} == {"pair_4"}
    assert {mutant.kind for mutant in mutants} >= {"tally_4"}
    assert not any(mutant.port in ("clk",) for mutant in mutants)
    assert emission.modules["tally_4"].verilog.count(CONTROL) == 0
    assert emission.verilog.count(f"initial {CONTROL}") == 1


def test_a_loop_through_another_module_is_no_error():
    whole = emission_with_sources(Pair(TallyParams()))
    emission, _, _ = mutate(whole, "tally_4", 4, 1)
    waived = "/* verilator lint_off UNOPTFLAT */"
    assert all(waived in module.verilog for module in emission.modules.values())
    assert not any(waived in module.verilog for module in whole.modules.values())


@pytest.mark.parametrize("sample", [60, 1000])
def test_a_sample_of_most_or_more_than_there_are(sample):
    _, mutants, _ = mutate(emission_with_sources(Tally(TallyParams())), "tally_4", sample, 1)
    assert 60 <= len({mutant.text for mutant in mutants}) == len(mutants) < 1000


def test_lines_are_those_of_the_hardware():
    module = emission_with_sources(Tally(TallyParams())).top
    assert lines_of(module) == frozenset()  # the sample is no hardware of ours
    assert "sample.py" in module.rtlil
    fifo = emission_with_sources(Fifo(FifoParams(shape=8, depth=4))).top
    assert len(lines_of(fifo)) > 10
    assert all(line.startswith("hdl/common/") for line in lines_of(fifo))

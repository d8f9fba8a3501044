"""Checks registers that may stand at a die's edge: plain ones, each feeding only the next."""

from itertools import pairwise

import pytest

from gen.base.emission.emit import emit
from gen.floorplan.netlist import netlists
from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from hdl.common.wire_pipeline import WirePipeline, WirePipelineParams

WAYS = {
    "payload": StreamPipeline(StreamPipelineParams(shape=5, stages=3)),
    "sent": StreamPipeline(StreamPipelineParams(shape=5, stages=3)),
    "left": StreamPipeline(StreamPipelineParams(shape=5, stages=3)),
    "wires": WirePipeline(WirePipelineParams(shape=5, stages=3)),
}


@pytest.mark.parametrize("name", WAYS)
def test_chains_are_neither_shift_registers_nor_shared(name):
    """Every register has its name and its mark in the text for synthesis."""
    verilog = emit(WAYS[name]).verilog
    bits = "[4:0] " if name in ("payload", "wires") else ""
    stored = '(* dont_touch = "true" *) (* shreg_extract = "no" *) '
    for step in (1, 2, 3):
        if (name, step) == ("wires", 3):  # which is the port o itself
            assert f"{stored}output reg {bits}o " in verilog
        else:
            assert f"{stored}reg {bits}{name}_{step} " in verilog


@pytest.mark.parametrize("name", WAYS)
def test_chains_are_plain_registers(name):
    """They have no reset or enable, no logic between them, and no other readers."""
    emission = emit(WAYS[name])
    (netlist,) = netlists(emission.top.rtlil).values()
    nets = {key: value["bits"] for key, value in netlist.described["netnames"].items()}
    for bit in range(len(nets[f"{name}_1"])):
        chain = [nets[f"{name}_{step}"][bit] for step in (1, 2, 3)]
        for near, far in pairwise(chain):
            (register,) = (c for c in netlist.cells if far in c.wires.get("Q", ()))
            assert register.type == "$dff"
            assert register.wires["D"][register.wires["Q"].index(far)] == near
            assert [
                (cell.name, port)
                for cell in netlist.cells
                for port, bits in cell.wires.items()
                if near in bits and port != "Q"
            ] == [(register.name, "D")]

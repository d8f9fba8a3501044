"""Maps the weights of all engines to addresses in the host's view of a worker's model."""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data

from hdl.common.axi import Response
from hdl.common.burst_beats import BurstBeatsParams
from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.worker_params import WorkerParams

ENGINE_BITS = 4  #: width of an engine's number, the same for any number of engines
ID_BITS = 4


def group_address(params: WorkerParams) -> data.StructLayout:
    """Describe the index of a beat of eight weights: group, chunk, engine from the lowest bit."""
    return data.StructLayout(
        {
            "group": params.engine.model.group_bits,
            "chunk": params.engine.model.chunk_bits,
            "engine": ENGINE_BITS,
        }
    )


def model_bus(params: WorkerParams) -> BurstBeatsParams:
    """Describe the bus on which the host sees the model, from engine 0, chunk 0, lane 0 on."""
    data_bits = GROUP_LANES * params.engine.weight_bits
    return BurstBeatsParams(
        address_bits=group_address(params).size + (data_bits // 8 - 1).bit_length(),
        data_bits=data_bits,
        id_bits=ID_BITS,
    )


def verdict(m: Module, params: WorkerParams, index: Value, granted: Value) -> Any:
    """Return OKAY; SLVERR without ``granted``; DECERR if there is no such engine or chunk."""
    where = data.View(group_address(params), index)
    response = Signal(Response)
    exists = Signal()
    m.d.comb += exists.eq((where.engine < params.engines) & (where.chunk < params.engine.chunks))
    with m.If(~granted):
        m.d.comb += response.eq(Response.SLVERR)
    with m.Elif(~exists):
        m.d.comb += response.eq(Response.DECERR)
    return response

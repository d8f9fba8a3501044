from itertools import product

import cocotb
from cocotb.triggers import Timer

from hdl.p4sgd.core.network_join import NetworkJoin
from hdl.p4sgd.engine.params import EngineParams
from sim.harness.payloads import pack
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, wild

INPUTS = ("join", "sums_valid", "partial_ready", "full_valid", "activations_ready")


def test_network_join():
    simulate(NetworkJoin(EngineParams()), __name__)


def expected(join, sums_valid, partial_ready, full_valid, activations_ready):
    """Return every handshake output: the two sides meet, or each goes its own way."""
    return {
        "sums_ready": activations_ready if join else partial_ready,
        "partial_valid": sums_valid and not join,
        "full_ready": activations_ready and not join,
        "activations_valid": sums_valid if join else full_valid,
    }


@cocotb.test(timeout_time=10, timeout_unit="us")
async def joins_or_parts(dut):
    params = params_in_simulator(EngineParams)
    rng = generator()
    for bits in product((0, 1), repeat=len(INPUTS)):
        inputs = dict(zip(INPUTS, bits, strict=True))
        sums, full = (pack(params.activations, row) for row in wild(rng, 32, (2, params.banks)))
        for name, bit in inputs.items():
            getattr(dut, name).value = bit
        dut.sums_payload.value, dut.full_payload.value = sums, full
        await Timer(1, "ns")
        golden = expected(**inputs)
        assert {name: int(getattr(dut, name).value) for name in golden} == golden
        assert int(dut.activations_payload.value) == (sums if inputs["join"] else full)
        if golden["partial_valid"]:
            assert int(dut.partial_payload.value) == sums

"""Takes packets of ports that come and go, with turns that are held, and checks each cycle."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.ingress import SwitchIngress
from sim.harness.payloads import unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.ingress_model import PortModel, agrees

PARAMS = SwitchParams(ports=3, jobs=3, ingress_depth=4)


def test_ingress():
    simulate(SwitchIngress(PARAMS), __name__)


def next_turn(requesting, after, count):
    """Return whose turn it is after ``after``."""
    turns = [(after + k) % count for k in range(1, count + 1)]
    return next((port for port in turns if requesting[port]), None)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_ports_in_turn(dut):
    params = params_in_simulator(SwitchParams)
    ports = [PortModel(dut, f"axis_{k}", params, k) for k in range(params.ports)]
    taken, served, lost = None, params.ports - 1, 0  # port and packet; the last port
    dut.hold.value = 0
    for port in ports:
        port.handles[0].value = 0
    await start(dut)
    for k in range(8000):
        if k % 60 == 0:
            if all(port.still for port in ports):
                address = random.randbytes(6)
            held = random.choice((0, 0, 0.3, 0.95))
            for port in ports:
                port.load = random.choice((0, 0.1, 0.4, 1))
        elif k % 60 == 50:
            for port in ports:
                port.load = 0  # then the address may change
        for port in ports:
            port.drive(address, 1 << port.port)
        dut.address.value = int.from_bytes(address, "little")
        dut.hold.value = hold = int(random.random() < held)
        await RisingEdge(dut.clk)
        requesting = [bool(port.queue) for port in ports]
        overflows = sum(port.overflow << port.port for port in ports)
        lost |= overflows
        assert int(dut.overflows.value) == overflows, k
        assert bool(dut.waiting.value) == any(requesting), k
        assert bool(dut.valid.value) == (taken is not None), k
        if taken is not None:
            assert int(dut.sender.value) == 1 << served
            assert agrees(unpack(params.packet, int(dut.packet.value)), taken), k
        turn = None if hold else next_turn(requesting, served, params.ports)
        taken, served = (None, served) if turn is None else (ports[turn].queue[0], turn)
        for port in ports:
            port.step(port.port == turn)
    assert lost == (1 << params.ports) - 1

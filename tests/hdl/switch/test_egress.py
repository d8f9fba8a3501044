"""Sends answers to any ports, which take them now and then, and checks each cycle."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.egress import SwitchEgress
from sim.golden.reduction.frames import BYTES, WireFrame
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.host.switch.traffic import choose_payload

PARAMS = SwitchParams(ports=3, jobs=3, egress_depth=5)
CHANGE = 50  # cycles


def test_egress():
    simulate(SwitchEgress(PARAMS), __name__)


def some_answer(params):
    answer = unpack(params.answer, random.getrandbits(params.answer.size))
    return answer | {"payload": list(choose_payload(random, params.lanes, params.value_bits))}


def frame(answer, source, destination):
    """Return the answer on the wire; lanes that do not exist are zero."""
    header = answer["header"]
    payload = (*answer["payload"], *[0] * (8 - len(answer["payload"])))
    return WireFrame(
        destination=destination,
        source=source,
        is_agg=bool(header["is_agg"]),
        acked=bool(answer["acked"]),
        bm=answer["bm"],
        job=header["job"],
        epoch=header["epoch"],
        seq=header["seq"],
        use=header["use"],
        payload=payload,
        saturated=answer["saturated"],
    ).to_bytes()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def queues_answers_for_their_ports(dut):
    params = params_in_simulator(SwitchParams)
    ports = range(params.ports)
    queues, lost, sent = [[] for _ in ports], 0, 0
    dut.answered.value = 0
    outputs = [
        [getattr(dut, f"axis_{k}_{name}") for name in ("tdata", "tkeep", "tlast", "tuser")]
        for k in ports
    ]
    valids = [getattr(dut, f"axis_{k}_tvalid") for k in ports]
    readies = [getattr(dut, f"axis_{k}_tready") for k in ports]
    await start(dut)
    for k in range(6000):
        if k % CHANGE == 0:
            source, destination = random.randbytes(6), random.randbytes(6)
            dut.source.value = int.from_bytes(source, "little")
            dut.destination.value = int.from_bytes(destination, "little")
            load = random.choice((0.1, 0.5, 1))
            eager = [random.choice((0, 0.2, 0.8, 1)) for _ in ports]
        answer, answered = some_answer(params), random.random() < load
        dut.answered.value, dut.answer.value = int(answered), pack(params.answer, answer)
        ready = [random.random() < eager[port] for port in ports]
        for handle, value in zip(readies, ready, strict=True):
            handle.value = int(value)
        dut.rst.value = reset = int(k % 700 == 699)
        await RisingEdge(dut.clk)
        sends, drops = 0, 0
        for port, queue in enumerate(queues):
            assert bool(valids[port].value) == bool(queue), k
            full = len(queue) == params.egress_fifo.capacity
            if queue:
                golden = int.from_bytes(frame(queue[0], source, destination), "little")
                result = [int(handle.value) for handle in outputs[port]]
                assert result == [golden, (1 << BYTES) - 1, 1, 0], k
                if ready[port]:
                    queue.pop(0)
                    sends |= 1 << port
            if answered and answer["bm"] >> port & 1:
                if full:
                    drops |= 1 << port
                else:
                    queue.append(answer)
        assert (k, int(dut.sent.value), int(dut.dropped.value)) == (k, sends, drops)
        sent, lost = sent | sends, lost | drops
        if reset:
            queues = [[] for _ in ports]
    assert sent == lost == (1 << params.ports) - 1

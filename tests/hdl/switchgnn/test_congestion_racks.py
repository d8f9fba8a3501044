"""Runs endpoints of two racks through a spine's link to a third: they hear of its queue."""

import cocotb
import numpy as np

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from sim.harness.verilator import simulate
from sim.surroundings.axi_ram import RAM_ARRAY
from sim.switchgnn.golden.congestion import UNIT
from sim.switchgnn.network.cluster import ClusterParams
from sim.switchgnn.network.network import Network, NetworkParams, empty_network
from tests.hdl.switchgnn.congestion_bench import RATES, Bench, jain
from tests.hdl.switchgnn.network_sizes import SMALL

PARAMS = NetworkParams(
    switch=GnnSwitchParams(**PRESETS["small"] | {"ports": 2, "links": 1}),
    endpoints=ClusterParams(endpoint=SMALL, workers=3),
    racks=3,
)
FAR = RATES | {"round_trip": 280}


def test_congestion_in_racks(tmp_path):
    arguments = empty_network(PARAMS, tmp_path)
    simulate(Network(PARAMS), __name__, extra_sources=[RAM_ARRAY], plusargs=arguments)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def senders_in_two_racks_share_a_link_to_a_third(dut):
    """Only the spine marks. One begins at an eighth of the other's rate; both send as much in the
    last seven turns, and the queue is long for less of the time than without rate control.
    """
    turns, marks = 14, []
    for controls in (False, True):
        bench = Bench(dut, controls, first=FAR, second=FAR | {"most": UNIT // 8})
        await bench.begin()
        for name, switch in bench.switches.items():
            levels = bench.patience.marks if "spine" in name else {"ingress": 0, "egress": 0}
            await switch.run("set_marks", **levels)
        bench.share_links(0, 0.5)
        shares = await bench.shares(125, turns)
        halved = await bench.halved()
        assert controls or halved == [0, 0]
        ports = await bench.switches["spine_0"].port_counters()
        marks.append(sum(port["marks"] for port in ports.values()))
    assert jain(shares[0]) < 0.92
    assert jain(np.sum(shares[turns // 2 :], axis=0)) > 0.95
    assert min(halved) > turns
    assert marks[1] < 0.9 * marks[0]

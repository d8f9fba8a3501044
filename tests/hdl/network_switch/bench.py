"""Runs all systems at the same time on the switch under test."""

import cocotb
import numpy as np

from gen.base.settings import make_params
from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.presets import PRESETS
from sim.harness.axi_streams import beats_of
from sim.harness.stalls import never, often
from sim.harness.streams import edges
from sim.network_switch.network import Network
from sim.network_switch.systems import SET_UP, set_address

LOSSY = ("forwarding", "p4sgd", "allreduce", "switchgnn")  #: systems whose frames links lose
LEAST_CYCLES = 7_000  #: how long all take on bad links, for each unit of their scale
TINY = make_params(NetworkSwitchParams, PRESETS["tiny"])


async def begin(dut, **options):
    network = Network(dut, seed=cocotb.RANDOM_SEED, **options)
    await network.begin()
    await set_address(network)
    return network


async def run_all(dut, *, bad, scale):
    """Weights, sums and properties are right; each ordinary packet comes once, or is counted.

    ``bad`` links lose a tenth of the frames, ports stall, and neighbours pause classes.
    """
    network = await begin(dut, loss=0.1 if bad else 0.0, stall=often if bad else never)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    checks = [await SET_UP[name](network, rng, scale) for name in network.systems]
    pauses = cocotb.start_soon(network.pause()) if bad else None
    ends = await network.run(40_000 * scale)
    if pauses:
        pauses.cancel()
        network.release()
        assert max(ends.values()) > LEAST_CYCLES * scale
    for check in checks:
        await check()
    assert ends.keys() == set(network.systems)
    assert all(network.lost[name] for name in LOSSY) == bad
    assert not network.lost["netsparse"]


async def cycles_to(network, port, octets, targets):
    """Send a packet, and return the cycles from its last beat to the first beats at others."""
    before = {k: len(network.sinks[k].cycles) for k in targets}
    network.sources[port].extend([*beats_of(octets)])
    await edges(network.dut.clk, 400)
    last = network.sources[port].cycles[-1]
    return [network.sinks[k].cycles[before[k]] - last for k in targets]

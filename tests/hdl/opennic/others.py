"""Sends packets of no switch through a plugin in the box, beside those of its switch."""

import random

import cocotb

from hdl.opennic.box import PORTS, mac_bit
from tests.hdl.opennic.packets import frame, packets_of, possible

PACE = 40  #: cycles from one of these packets to the next
SETTLED = 600  #: cycles in which the last of them have left


class Others:
    """Sends packets of no switch, some of them malformed, and keeps what must become of them.

    ``is_own`` says which packets are the switch's, by their octets.
    """

    def __init__(self, bench, is_own):
        self.bench, self.is_own = bench, is_own
        self.to_host, self.from_host = [[], []], [[], []]
        self.spoilt = {"to_host": [0, 0], "from_host": [0, 0]}

    def __call__(self):
        k, octets = random.randrange(PORTS), frame(random.choice([60, 64, 65, 700, 1514]))
        fault = random.choice(["", "", *possible(octets)])
        path = random.choice(["to_host", "from_host"])
        (self.bench.from_mac if path == "to_host" else self.bench.from_host)(k, octets, fault=fault)
        if fault:
            self.spoilt[path][k] += 1
        else:
            getattr(self, path)[k].append(octets)

    def begin(self):
        """Send one every PACE cycles until the task that this returns is cancelled."""

        async def send():
            while True:
                await self.bench.wait(PACE)
                self()

        return cocotb.start_soon(send())

    async def check(self):
        """Check that what left is what was sent, and that the counters say so."""
        bench = self.bench
        await bench.wait(SETTLED)
        for k in range(PORTS):
            hosts = packets_of(bench.c2h[k].beats, src=[mac_bit(k)], dst=1 << k)
            assert hosts == self.to_host[k]
            packets = packets_of(bench.tx[k].beats, src=[0, 1 << k], dst=mac_bit(k))
            assert [p for p in packets if not self.is_own(p)] == self.from_host[k]
            for path in ("to_host", "from_host"):
                passed, spoilt = len(getattr(self, path)[k]), self.spoilt[path][k]
                assert passed == await bench.plugin.read(f"port_{k}_{path}")
                assert spoilt == await bench.plugin.read(f"port_{k}_{path}_malformed")

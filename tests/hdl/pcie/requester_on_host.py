"""Puts a requester on a simulated host, so that rates are those of a link."""

from dataclasses import field

from amaranth.lib.wiring import In, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.pcie.function_reset import FunctionReset
from hdl.pcie.requester import Requester, RequesterParams
from sim.harness.bench import Bench
from sim.harness.streams import cycle, never
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import PcieHostParams, pcie_host_settings
from sim.surroundings.side_port import SidePort
from tests.hdl.pcie.rq_monitor import beats_of

RESET = ("function", "late")
HOST = ("settings", "counts", "access", "accessed", "resets", "traffic", "dump")
PORTS = (
    "requests",
    "beats",
    "writes",
    "data",
    "sent",
    "writes_lost",
    "writes_owe",
    "events",
    "idle",
    "owes",
    "tick",
    "limits",
    "share",
)


class RequesterOnHostParams(Params, suffix="{requester.suffix}"):
    requester: RequesterParams = field(default_factory=RequesterParams)

    @property
    def host(self):
        return PcieHostParams(data_bits=self.requester.reads.data_bits, address_bits=20)


class RequesterOnHost(Component):
    """A requester whose RQ and RC lead to a host; its other ports, the host's and a reset are
    outside.
    """

    def __init__(self, params):
        members = Requester(params.requester).signature.members
        host = PcieHost(params.host).signature.members
        super().__init__(
            params,
            **{name: members[name] for name in PORTS},
            **{name: host[name] for name in HOST},
            **{name: FunctionReset().signature.members[name] for name in RESET},
            stop=In(1),
            index=In(8),
        )

    def build(self, m):
        m.submodules.requester = requester = Requester(self.params.requester)
        m.submodules.host = host = PcieHost(self.params.host)
        connect(m, requester.rq, host.rq)
        connect(m, host.rc, requester.rc)
        for name in ("requests", "writes", "data"):
            connect(m, flipped(getattr(self, name)), getattr(requester, name))
        connect(m, requester.beats, flipped(self.beats))
        m.submodules.reset = reset = FunctionReset()
        connect(m, flipped(self.function), reset.function)
        m.d.comb += [
            reset.tick.eq(self.tick),
            self.late.eq(reset.late),
            reset.idle.eq(requester.idle),
            reset.owes.eq(requester.writes_owe),
            requester.clear_writes.eq(reset.clear),
            requester.stop.eq(self.stop | reset.stop),
            host.access.eq(self.access),
            self.accessed.eq(host.accessed),
            *(
                getattr(self, name).eq(getattr(requester, name))
                for name in ("sent", "writes_lost", "writes_owe", "events", "idle", "owes")
            ),
            *(
                getattr(requester, name).eq(getattr(self, name))
                for name in ("tick", "limits", "share")
            ),
            requester.credits.eq(host.credits),
            requester.numbers.eq(host.numbers),
            host.settings.eq(self.settings),
            host.index.eq(self.index),
            host.resets.eq(self.resets),
            host.dump.eq(self.dump),
            self.traffic.eq(host.traffic),
            self.counts.eq(host.counts),
        ]


class Card(Bench):
    """Acts as a user of the requester, and shows what the host counts."""

    def __init__(self, dut, stall=never, **settings):
        limits = {"read": 2, "payload": 1}
        super().__init__(dut, (never, stall), function_master=1, limits=limits)
        self.reads = self.params.requester.reads
        self.memory = SidePort(dut, self.params.host)
        self.choose(**settings)
        self.requested = []  # (address, size)

    def choose(self, **settings):
        self.settings = pcie_host_settings(self.params.host, **settings)
        self.set(settings=self.settings)

    def issue(self, address, size):
        user = len(self.requested) % (1 << self.reads.user_bits)
        self.requested.append((address, size))
        self.requests.append({"address": address, "bytes": size, "user": user})

    def write(self, address, payload, user):
        self.writes.append({"address": address, "bytes": len(payload), "user": user})
        self.data.extend(beats_of(payload, self.reads.data_bits // 8))

    async def come(self, octets, cycles=20_000):
        """Wait until this many bytes have come; return the cycle."""
        begun, beat_bytes = cycle(), self.reads.data_bits // 8
        while (missing := octets - sum(beat["bytes"] for beat in self.beats.beats)) > 0:
            await self.beats.wait_for(len(self.beats.beats) + -(-missing // beat_bytes))
        assert cycle() < begun + cycles
        return cycle()

    def counts(self):
        return self.value("counts")

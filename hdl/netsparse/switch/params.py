"""Describes the sizes of a NetSparse switch, and the layouts of the streams between its parts."""

from dataclasses import field

from amaranth.hdl import Array, Const, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.packets import AXIS, BEAT_BYTES
from hdl.common.params import Params, same_as, whole
from hdl.common.reserved_fifo import ReservedFifoParams
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams
from hdl.netsparse.limits import MAX_PORTS
from hdl.netsparse.middle_pipe.cost import READ_COST, response_beats
from hdl.netsparse.property_cache.params import EVENTS, PropertyCacheParams
from hdl.netsparse.protocol import (
    LENGTH_BITS,
    PACKET_HEADER_BYTES,
    PR_BYTES,
)
from hdl.switch.output_room import OutputRoomParams

CLASSES = ("reads", "responses")  #: classes of packets; errors are among responses
KINDS = (*CLASSES, "hits")  #: what has routes: packets by class, and responses of the caches
LUT_PLACES = 32  #: places of the smallest queues in LUTs
LOOP = 4  #: cycles, besides the cache's, from a place's reservation until it is free again

#: Describes a beat of a received packet; the middle pipe checks its end.
BEAT = data.StructLayout({"tdata": AXIS.data_bits, "tkeep": BEAT_BYTES, "tuser": 1, "tlast": 1})

#: Describes a beat of a packet that leaves a middle pipe; ``end`` is the number of its last byte.
OUTPUT_BEAT = data.StructLayout({"data": AXIS.data_bits, "end": ceil_log2(BEAT_BYTES), "last": 1})


class NetSparseSwitchParams(Params):
    """Sets the sizes of a switch (figure 8, table 5)."""

    ports: int = whole(2, MAX_PORTS, default=32)  #: number of ports
    #: number of middle pipes, a divisor of ports; 0: none, as in a spine switch
    pipes: int = whole(0, MAX_PORTS, default=8)
    nodes: int = same_as(DeconcatenatorParams, "nodes", default=128)  #: most nodes of the cluster
    #: most bytes of a packet, headers included
    mtu: int = same_as(DeconcatenatorParams, "mtu", default=1500)
    #: most bytes of a PR's property
    most_property_bytes: int = same_as(DeconcatenatorParams, "most_property_bytes", default=512)
    #: largest DelayCycles of a concatenator
    most_delay: int = same_as(ConcatenatorParams, "most_delay", default=1023)
    pool: int = 0  #: lines of 128 bytes in a class's virtual queues; 0: a queue per destination
    #: most destinations that have a virtual queue at a time
    destinations: int = same_as(ConcatenatorParams, "destinations", default=32)
    #: packets of each class, of MTU size, that a middle pipe holds
    receive_packets: int = same_as(DeconcatenatorParams, "buffer_packets", default=4)
    #: beats of 64 bytes that can wait for a port, in each pipe and class
    output_beats: int = whole(1, 1 << 15, power_of_two=True, default=1024)
    cache: PropertyCacheParams = field(default_factory=PropertyCacheParams)  #: cache of each pipe

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pipes and self.ports % self.pipes:
            raise ValueError(f"pipes must be 0 or divide the {self.ports} ports: {self.pipes}")
        for payload in (False, True):  # each checks its own sizes
            _ = self.deconcatenator(payload)  # packets are the same without middle pipes
            if self.pipes:
                _ = self.concatenator(payload)
                least = self.output_room(payload, 1 << 16).items_from
                if self.output_beats < least:
                    raise ValueError(
                        f"output_beats must be at least {least}, a power of two, for packets of"
                        f" {self.mtu} bytes: {self.output_beats}"
                    )

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: ports, pipes, nodes, limits, and the cache."""
        sizes = f"{self.ports}x{self.pipes}_n{self.nodes}_m{self.mtu}_p{self.most_property_bytes}"
        return f"{sizes}_o{self.output_beats}_c{self.cache.suffix}" if self.pipes else sizes

    @property
    def pipe_ports(self) -> int:
        """Return the number of ports of a middle pipe."""
        return self.ports // self.pipes

    @property
    def port_bits(self) -> int:
        """Return the width of a port's number."""
        return ceil_log2(self.ports)

    @property
    def packet_beats(self) -> int:
        """Return the most beats of a packet."""
        return -(-self.mtu // BEAT_BYTES)

    @property
    def route(self) -> data.StructLayout:
        """Describe the route to a node; ``port`` is undefined unless it is ``known``."""
        return data.StructLayout({"port": self.port_bits, "known": 1})

    @property
    def tag(self) -> data.StructLayout:
        """Describe the tag of a packet in a middle pipe.

        ``uplink``: the packet comes from another rack (responses), or goes to one (reads).
        """
        return data.StructLayout({"egress": self.port_bits, "uplink": 1})

    def tagged(self, payload: bool) -> data.StructLayout:
        """Describe a beat of a PR from a packet, with the packet's tag."""
        return data.StructLayout({"tag": self.tag, "beat": self.deconcatenator(payload).beat})

    @property
    def entering(self) -> data.StructLayout:
        """Describe a beat of a packet that enters a middle pipe."""
        return data.StructLayout({"tag": self.tag, "beat": BEAT})

    @property
    def pipe_settings(self) -> data.StructLayout:
        """Describe the settings of all middle pipes."""
        return data.StructLayout(
            {
                "cache": 1,  # reads look up and responses are kept
                "property_bytes": LENGTH_BITS,  # size of a property in the caches
                "concatenate": 1,  # PRs that came in different packets may share one
                "read_delay": bits_for(self.most_delay),  # DelayCycles
                "response_delay": bits_for(self.most_delay),
                "node": 32,  # number of the switch, for the addresses of its packets
                "mac_base": 48,
                "ip_base": 32,
            }
        )

    @property
    def pipe_events(self) -> data.StructLayout:
        """Describe the events of a middle pipe in a cycle."""
        classes = {
            name: data.StructLayout(
                {
                    "taken": self.deconcatenator(bool(payload)).events,
                    "sent": self.concatenator(bool(payload)).events,
                }
            )
            for payload, name in enumerate(CLASSES)
        }
        return data.StructLayout(classes | {"cache": EVENTS, "passed_by": 1})

    @property
    def routed(self) -> data.StructLayout:
        """Describe a beat of a packet whose port is known, the same in all of its beats."""
        return data.StructLayout({"egress": self.port_bits, "beat": BEAT})

    @property
    def read_entry(self) -> data.StructLayout:
        """Describe a read in a middle pipe during a possible lookup of its property."""
        return data.StructLayout(
            {
                "read": self.deconcatenator(False).beat,
                "lookup": 1,
                "egress": self.port_bits,  # port where the read leaves
                "home": self.port_bits,  # port of its src; undefined without a lookup
                "cost": self.cost_bits,  # beats that are claimed for a response
            }
        )

    @property
    def response_entry(self) -> data.StructLayout:
        """Describe a beat of a response in a middle pipe; its label is its port.

        ``turn``: the arbiter may turn to other inputs after it.
        """
        return data.StructLayout({"turn": 1, "beat": self.concatenator(True).pr})

    @property
    def cost_bits(self) -> int:
        """Return the width of the most beats that a PR takes in an output queue."""
        return bits_for(response_beats(self.most_property_bytes))

    @property
    def write_route(self) -> data.StructLayout:
        """Describe an entry for the routing tables."""
        return data.StructLayout({"valid": 1, "node": 16, "route": self.route})

    @property
    def fabric(self) -> dict[str, Member]:
        """Return the ports of the fabric between the links, with middle pipes or without."""
        routed = stream.Signature(self.routed)
        return {
            "write": In(self.write_route),
            "settings": In(self.pipe_settings),
            "uplinks": In(self.ports),
            "configure": In(1),
            "busy": Out(1),
            "stalled": In(self.ports),
            **{name: In(routed).array(self.ports) for name in CLASSES},
            **{f"{name}_wait": Out(1).array(self.ports) for name in CLASSES},
            **{f"{name}_o": Out(AXIS).array(self.ports) for name in CLASSES},
            "events": Out(self.pipe_events).array(self.pipes),
        }

    def entries(self, shape: data.Layout | int) -> ReservedFifoParams:
        """Return the sizes of a queue after the cache, for a loop of up to 60 cycles at full rate.

        Fewer places than a LUT has would not make it smaller.
        """
        depth = max(LUT_PLACES, 1 << ceil_log2(self.cache.latency + LOOP))
        return ReservedFifoParams(shape=shape, depth=min(64, depth), cancels=True)

    def room_of_packet(self, payload: bool) -> int:
        """Return the most beats that a packet can turn into: each PR in a packet of its own."""
        room = self.mtu - PACKET_HEADER_BYTES
        if not payload:
            return room // PR_BYTES * READ_COST
        sizes = range(4, self.most_property_bytes + 1, 4)
        return max(room // (PR_BYTES + size) * response_beats(size) for size in sizes)

    def output_room(self, payload: bool, beats: int = 0) -> OutputRoomParams:
        """Return the sizes of the output room of a pipe, for responses and errors or for reads.

        Reads go to the pipe's own ports, of which ``port`` counts every ``pipes``-th one. A queue
        has ``beats``, or ``output_beats`` if none are given.
        """
        return OutputRoomParams(
            ports=self.ports if payload else self.pipe_ports,
            beats=beats or self.output_beats,
            packet=self.room_of_packet(payload),
            item=response_beats(self.most_property_bytes) if payload else 0,
            gives=3,
        )

    def concatenator(self, payload: bool) -> ConcatenatorParams:
        """Return the sizes of a pipe's part for responses and errors, or of that for reads."""
        return ConcatenatorParams(
            payload=payload,
            nodes=self.nodes,
            mtu=self.mtu,
            most_property_bytes=self.most_property_bytes,
            most_delay=self.most_delay,
            pool=self.pool,
            destinations=self.destinations,
            credits=True,
            groups=True,
            label_bits=self.output_room(payload, 1 << 16).port_bits if self.pipes else 0,
        )

    def deconcatenator(self, payload: bool) -> DeconcatenatorParams:
        """Return the sizes of a pipe's part for responses and errors, or of that for reads."""
        return DeconcatenatorParams(
            payload=payload,
            nodes=self.nodes,
            mtu=self.mtu,
            most_property_bytes=self.most_property_bytes,
            buffer_packets=self.receive_packets,
            any_dest=True,
            tag_bits=self.tag.size,
        )

    def fits(self, idx: Value) -> Value:
        """Return whether ``idx`` is in the range that the cache's tags distinguish."""
        return ~idx[self.cache.idx_bits :].any()

    def pipe_of(self, port: Value) -> Value:
        """Return the middle pipe of ``port``; neighbouring ports have different ones."""
        width = max(1, ceil_log2(self.pipes))
        return Array(Const(k % self.pipes, width) for k in range(self.ports))[port]

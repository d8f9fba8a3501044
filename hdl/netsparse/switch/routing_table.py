"""Looks up the port that leads to a node."""

from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.netsparse.switch.params import NetSparseSwitchParams

DISTRIBUTED_NODES = 512  #: most nodes of a table in LUTs


class RoutingTable(Component):
    """Holds one route for each node, so packets of a class between two nodes stay in order.

    Each port has one for each class, and each middle pipe one for responses of its cache.

    ``route`` is the route to the previous cycle's ``dest``, if ``step`` was high then, else
    unchanged. It is not ``known`` for a number that is no node, nor for a node without an entry.
    ``write`` enters a route; a lookup in the same cycle may return the old one. The table is empty
    after configuration of the FPGA, and survives a reset.
    """

    latency = 1

    def __init__(self, params: NetSparseSwitchParams) -> None:
        super().__init__(
            params,
            write=In(params.write_route),
            step=In(1),
            dest=In(32),
            route=Out(params.route),
        )

    def build(self, m: Module) -> None:
        nodes = self.params.nodes
        style = "distributed" if nodes <= DISTRIBUTED_NODES else "block"
        m.submodules.routes = routes = Memory(
            shape=self.params.route, depth=nodes, init=[], attrs={"ram_style": style}
        )
        write, read = routes.write_port(), routes.read_port()
        exists = Signal(reset_less=True)
        with m.If(self.step):
            m.d.sync += exists.eq(self.dest < nodes)
        m.d.comb += [
            write.en.eq(self.write.valid & (self.write.node < nodes)),
            write.addr.eq(low_bits(self.write.node, len(write.addr))),
            write.data.eq(self.write.route),
            read.en.eq(self.step),
            read.addr.eq(low_bits(self.dest, len(read.addr))),
            self.route.port.eq(read.data.port),
            self.route.known.eq(read.data.known & exists),
        ]

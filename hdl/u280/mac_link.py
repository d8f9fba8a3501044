"""Decides when a MAC may send, by what its receiver says."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component


class MacLink(Component):
    """Tells a MAC's transmitter what to do, in its clock; all inputs and outputs are levels.

    While our receiver hears nothing or a local fault, ``send_rfi``: the far end is told that it is
    not heard. While the far end says so of us (a remote fault), ``send_idle``. ``enable`` comes
    when neither holds: what is sent before the far end is aligned and sends no remote fault is lost
    (PG203, ``ctl_tx_enable``). ``linked`` is that and ``received``, the receiver's own status.
    A packet that has begun is ended by the MAC when ``enable`` falls. Latency: a cycle.
    """

    latency = 1

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            aligned=In(1),
            received=In(1),
            local_fault=In(1),
            remote_fault=In(1),
            enable=Out(1),
            send_rfi=Out(1),
            send_idle=Out(1),
            linked=Out(1),
        )

    def build(self, m: Module) -> None:
        deaf = Signal()
        rfi = Signal(init=1)
        m.d.comb += [deaf.eq(~self.aligned | self.local_fault), self.send_rfi.eq(rfi)]
        m.d.sync += [
            rfi.eq(deaf),
            self.send_idle.eq(~deaf & self.remote_fault),
            self.enable.eq(~deaf & ~self.remote_fault),
            self.linked.eq(~deaf & ~self.remote_fault & self.received),
        ]

"""States what the job table promises the aggregator about its requests."""

from amaranth.hdl import Array, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams


class RequestPromises(Component):
    """Computes ``stored``: whether requests are as the aggregator takes for granted.

    A request is of a slot that was cleared, by one of the ports that it was cleared with; these
    are its ``everyone``, at least one. Its header was ``announced``. There is no request with
    ``clear``. ``cleared`` and ``everyone`` are of the slots, before the request.

    The aggregator is proven for all requests that keep this; the job table is proven to keep it.
    """

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(
            params,
            slot=In(params.slot_bits),
            valid=In(1),
            clear=In(1),
            request=In(params.request),
            announced=In(params.header),
            stored=Out(1),
            cleared=Out(params.slots),
            everyone=Out(data.ArrayLayout(params.ports, params.slots)),
        )

    def build(self, m: Module) -> None:
        request = self.request
        everyone = Array(self.everyone[k] for k in range(self.params.slots))[self.slot]
        with m.If(self.clear):
            m.d.sync += [
                self.cleared.bit_select(self.slot, 1).eq(1),
                everyone.eq(request.everyone),
            ]
        item = (request.sender & (request.sender - 1)) == 0
        good = (
            self.cleared.bit_select(self.slot, 1)
            & (request.everyone == everyone)
            & item
            & ((request.sender & everyone) != 0)
            & (request.header == self.announced)
        )
        m.d.comb += self.stored.eq(
            ~(self.valid & self.clear)
            & (good | ~self.valid)
            & ((request.everyone != 0) | ~self.clear)
        )

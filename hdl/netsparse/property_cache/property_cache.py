"""Implements the Property Cache of a switch's middle pipe."""

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.netsparse.property_cache.access_check import AccessCheck
from hdl.netsparse.property_cache.clearing import RowClearing
from hdl.netsparse.property_cache.params import EVENTS, LEAST_LATENCY, PropertyCacheParams
from hdl.netsparse.property_cache.properties import PropertySegments
from hdl.netsparse.property_cache.tags import PropertyTags
from hdl.netsparse.protocol import LENGTH_BITS


class PropertyCache(Component):
    """Holds properties that have come from other racks (NetSparse, section 6.2, figure 9).

    ``access`` looks up a property or, with ``insert``, inserts it; one may come every cycle, and
    none waits. Its ``result`` follows :attr:`latency` cycles later (an insert has no ``hit``),
    together with ``events``. Accesses take effect in order.

    ``configure`` makes ``property_bytes`` the size of all properties and empties the cache.
    Accesses up to its own cycle use the old contents; then ``busy`` is high for as many cycles as
    there are rows, in which lookups miss and inserts are discarded. An access of another length
    bypasses the cache; all accesses do after a reset, and if the size is 0 or more than the
    segments hold.
    """

    def __init__(self, params: PropertyCacheParams) -> None:
        self.latency = params.latency
        super().__init__(
            params,
            configure=In(1),
            property_bytes=In(LENGTH_BITS),
            busy=Out(1),
            access_valid=In(1),
            access=In(params.access),
            result_valid=Out(1),
            result=Out(params.result),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.clearing = clearing = RowClearing(params)
        m.submodules.check = check = AccessCheck(params)
        m.submodules.tags = tags = PropertyTags(params)
        m.submodules.segments = segments = PropertySegments(params)
        spare = params.latency - LEAST_LATENCY
        slot = delay(m, check.slot, spare, "slot", reset_less=False)
        passed = delay(m, check.passed, spare + tags.latency, "passed", reset_less=False)
        property_delay = check.latency + spare + tags.latency
        m.d.comb += [
            clearing.begin.eq(self.configure),
            self.busy.eq(clearing.busy),
            check.configure.eq(self.configure),
            check.property_bytes.eq(self.property_bytes),
            check.clearing.eq(clearing.busy),
            check.clear_row.eq(clearing.row),
            check.valid.eq(self.access_valid),
            check.insert.eq(self.access.insert),
            check.idx.eq(self.access.idx),
            check.length.eq(self.access.length),
            tags.slot.eq(slot),
            segments.verdict.eq(tags.verdict),
            segments.mode.eq(passed.mode),
            segments.property.eq(delay(m, self.access.property, property_delay, "property")),
            self.result.property.eq(segments.result),
            self.result.hit.eq(self.events.hit),
        ]
        result, installed = tags.verdict.result, tags.verdict.installed
        happened = {
            "hit": passed.lookup & result,
            "miss": passed.lookup & ~result,
            "inserted": installed,
            "present": passed.insert & result,
            "bypassed": passed.bypassed,
            "discarded": passed.discarded,
            "replaced": tags.verdict.replaced,
        }
        for name, event in happened.items():
            late = delay(m, event, segments.latency, name, reset_less=False)
            m.d.comb += self.events[name].eq(late)
        m.d.comb += self.result_valid.eq(Cat(self.events[name] for name in happened).any())

"""What is proven of a Property Cache's tags: true LRU, and no property in two ways."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.netsparse.lru import pairs
from hdl.netsparse.property_cache.params import DECIDED, Operation, PropertyCacheParams
from hdl.netsparse.property_cache.tags import PropertyTags
from hdl.switch.update_memory import written_layout
from tests.formal.claims import check, claim, granted, reach


class PropertyTagsProof(Component):
    """:class:`PropertyTags` with free slots beside the specification of any one row.

    The specification keeps, of the ``watched`` row, which tag each way holds, and a list of the
    ways from the most recently used one on. Verdicts are claimed to be its, whatever operations
    come in whatever cycles, on this row and others. Nothing is assumed.
    """

    def __init__(self, params: PropertyCacheParams) -> None:
        tags = data.ArrayLayout(params.tag_bits, params.rows)
        hidden = {  # inputs that are wired to what is inside instead
            "states": (
                data.ArrayLayout(params.row_state.size, params.rows),
                "dut.rows.entries.memory[*]",
            ),
            "written": (written_layout(params.row_memory), "dut.rows.written"),
            "slot_row": (params.row_bits, "dut.history.row_4_1"),
            "slot_tag": (params.tag_bits, "dut.history.tag_4_1"),
        }
        for way in range(params.ways):
            hidden[f"tags_{way}"] = tags, f"dut.tags_{way}.memory[*]"
        self.peeks = {name: source for name, (_, source) in hidden.items()}
        super().__init__(
            params,
            {"slot": In(params.slot)} | {name: In(shape) for name, (shape, _) in hidden.items()},
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        m.submodules.dut = dut = granted(PropertyTags(params))
        m.d.comb += dut.slot.eq(self.slot)
        operation = delay(m, self.slot.operation, DECIDED, "operation", reset_less=False)
        row = delay(m, self.slot.row, DECIDED, "row")
        tag = delay(m, self.slot.tag, DECIDED, "tag")
        watched = AnyConst(params.row_bits)
        here = row == watched
        holds = Signal(params.ways)
        tags = [Signal(params.tag_bits, name=f"tag_of_{way}") for way in range(params.ways)]
        recency = [Signal(params.way_bits, name=f"recent_{k}") for k in range(params.ways)]
        self.tie(m, dut, watched, holds, tags, recency)
        return m

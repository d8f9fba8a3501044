"""Numbers the beats of AXI4 bursts for a slave."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import Burst
from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.params import Params, whole


class BurstBeatsParams(Params, suffix="{data_bits}_a{address_bits}_i{id_bits}"):
    """Sets the widths of the bus whose bursts :class:`BurstBeats` counts."""

    address_bits: int = whole(1, 64)  #: width of a byte address, more than a byte in a beat needs
    data_bits: int = whole(16, 1024, power_of_two=True)  #: width of a beat
    id_bits: int = whole(0, 32)  #: width of an identifier

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("address_bits", self.address_bits, self.offset_bits + 1, 64)

    @property
    def offset_bits(self) -> int:
        """Return the width of a byte's number in its beat."""
        return ceil_log2(self.data_bits // 8)

    @property
    def index_bits(self) -> int:
        """Return the width of a beat's number in the address space."""
        return self.address_bits - self.offset_bits

    @property
    def identifier(self) -> dict[str, int]:
        """Describe the field of the identifier, if there is one."""
        return {"id": self.id_bits} if self.id_bits else {}

    @property
    def burst(self) -> data.StructLayout:
        """Describe the signals of AR or AW, without the prefix of their names."""
        return data.StructLayout(
            self.identifier | {"addr": self.address_bits, "len": 8, "size": 3, "burst": Burst}
        )

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat: its index in the address space, and whether its burst is ``plain``."""
        return data.StructLayout(
            self.identifier | {"index": self.index_bits, "last": 1, "plain": 1}
        )


class BurstBeats(Component):
    """Emits each beat of ``bursts``: ``len + 1`` of each burst.

    ``plain`` marks the beats of full-width INCR bursts. For other bursts only the number of beats
    is right: their ``index`` counts up all the same, so the slave must refuse them.

    Throughput: one beat a cycle, also from burst to burst. Latency: ``latency``. Stalls: holds;
    ``bursts.ready`` follows ``beats.ready`` combinationally.
    """

    latency = 1

    def __init__(self, params: BurstBeatsParams) -> None:
        super().__init__(
            params,
            bursts=In(stream.Signature(params.burst)),
            beats=Out(stream.Signature(params.beat)),
        )

    def build(self, m: Module) -> None:
        beat = Signal(self.params.beat, reset_less=True)
        left = Signal(8, reset_less=True)
        burst = self.bursts.payload
        begins = ~self.beats.valid | beat.last  # the next beat is that of another burst
        moves = ~self.beats.valid | self.beats.ready  # it comes late: an enable, and no more
        m.d.comb += [self.beats.payload.eq(beat), self.bursts.ready.eq(begins & moves)]
        with m.If(moves):
            with m.If(begins):
                m.d.sync += [
                    self.beats.valid.eq(self.bursts.valid),
                    *(beat[name].eq(burst[name]) for name in self.params.identifier),
                    beat.index.eq(burst.addr[self.params.offset_bits :]),
                    beat.last.eq(burst.len == 0),
                    beat.plain.eq(
                        (burst.burst == Burst.INCR) & (burst.size == self.params.offset_bits)
                    ),
                    left.eq(burst.len),
                ]
            with m.Else():
                m.d.sync += [
                    beat.index.eq(beat.index + 1),
                    beat.last.eq(left == 1),
                    left.eq(left - 1),
                ]

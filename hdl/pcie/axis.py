"""Declares the AXI4-Streams of AMD's block for PCI Express, and what goes beside their data.

After PG213, "Requester Request Interface", "Requester Completion Interface", "Completer Request
Interface", "Completer Completion Interface" and those of 512 bits: the tables of
``s_axis_rq_tuser``, ``m_axis_rc_tuser``, ``m_axis_cq_tuser`` and ``s_axis_cc_tuser``. Without
address alignment and parity checks.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Value, ValueLike
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import BusSignature
from hdl.pcie.descriptors import DWORD_BITS

DATA_BITS = (256, 512)  #: widths of the block's interfaces that are supported
SEGMENT_DWORDS = 4  #: a packet begins at a multiple of it


def rq_user(data_bits: int) -> data.StructLayout:
    """Return what goes beside the data of requests."""
    if data_bits == 256:
        return data.StructLayout(
            {
                "first_enable": 4,
                "last_enable": 4,
                "address_offset": 3,
                "discontinue": 1,
                "hints": 12,
                "number_low": 4,
                "parity": 32,
                "number_high": 2,
            }
        )
    return data.StructLayout(
        {
            "first_enable": data.ArrayLayout(4, 2),
            "last_enable": data.ArrayLayout(4, 2),
            "address_offset": data.ArrayLayout(2, 2),
            "starts": 2,
            "start_segment": data.ArrayLayout(2, 2),
            "ends": 2,
            "end_dword": data.ArrayLayout(4, 2),
            "discontinue": 1,
            "hints": 24,
            "number": data.ArrayLayout(6, 2),
            "parity": 64,
        }
    )


def rc_user(data_bits: int) -> data.StructLayout:
    """Return what goes beside the data of completions.

    Up to four packets of 512 bits, two of 256, lie in a beat (straddling). ``starts`` and ``ends``
    are filled from bit 0 on, in the order of the packets; an end may be of one from before.
    """
    if data_bits == 256:
        end = data.StructLayout({"valid": 1, "dword": 3})
        return data.StructLayout(
            {
                "enables": 32,
                "starts": 2,
                "ends": data.ArrayLayout(end, 2),
                "discontinue": 1,
                "parity": 32,
            }
        )
    return data.StructLayout(
        {
            "enables": 64,
            "starts": 4,
            "start_segment": data.ArrayLayout(2, 4),
            "ends": 4,
            "end_dword": data.ArrayLayout(4, 4),
            "discontinue": 1,
            "parity": 64,
        }
    )


def cq_user(data_bits: int) -> data.StructLayout:
    """Return what goes beside the data of the host's requests."""
    if data_bits == 256:
        return data.StructLayout(
            {
                "first_enable": 4,
                "last_enable": 4,
                "enables": 32,
                "starts": 1,
                "discontinue": 1,
                "hints": 11,
                "parity": 32,
                "reserved": 3,
            }
        )
    return data.StructLayout(
        {
            "first_enable": data.ArrayLayout(4, 2),
            "last_enable": data.ArrayLayout(4, 2),
            "enables": 64,
            "starts": 2,
            "start_segment": data.ArrayLayout(2, 2),
            "ends": 2,
            "end_dword": data.ArrayLayout(4, 2),
            "discontinue": 1,
            "hints": 22,
            "parity": 64,
        }
    )


def cc_user(data_bits: int) -> data.StructLayout:
    """Return what goes beside the data of answers to the host."""
    if data_bits == 256:
        return data.StructLayout({"discontinue": 1, "parity": 32})
    return data.StructLayout(
        {
            "starts": 2,
            "start_segment": data.ArrayLayout(2, 2),
            "ends": 2,
            "end_dword": data.ArrayLayout(4, 2),
            "discontinue": 1,
            "parity": 64,
        }
    )


class PcieStreamSignature(BusSignature):
    """Describes a stream to the block, or from it if flipped; a bit of ``tkeep`` is a dword."""

    def __init__(self, *, data_bits: int, user: Any) -> None:
        check_data_bits(data_bits)
        super().__init__(
            {
                "tdata": Out(data_bits),
                "tkeep": Out(data_bits // DWORD_BITS),
                "tlast": Out(1),
                "tuser": Out(user.size),
                "tvalid": Out(1),
                "tready": In(1),
            }
        )


def say_request(
    rq: Any,
    *,
    begins: ValueLike = 1,
    ends: ValueLike = 1,
    end_dword: Value,
    enables: tuple[ValueLike, ValueLike],
    number: ValueLike = 0,
) -> list[Any]:
    """Return what ``rq`` says beside the data of a beat with one packet, from the lowest dword on.

    ``enables`` are those of the bytes of the packet's first and last dword. If it ends here, it
    ends with ``end_dword``. ``number`` is what the block tells when the packet has got on.
    """
    user = rq_user(len(rq.tdata))(rq.tuser)
    goes_on = ~Value.cast(ends)[0]
    keep = [goes_on | (end_dword >= k) for k in range(1, len(rq.tkeep))]
    said = [rq.tkeep.eq(Cat(Const(1), *keep)), rq.tlast.eq(ends)]
    if len(rq.tdata) == 256:
        return [
            *said,
            user.first_enable.eq(enables[0]),
            user.last_enable.eq(enables[1]),
            Cat(user.number_low, user.number_high).eq(number),
        ]
    return [
        *said,
        user.first_enable[0].eq(enables[0]),
        user.last_enable[0].eq(enables[1]),
        user.starts.eq(begins),
        user.ends.eq(ends),
        user.end_dword[0].eq(end_dword),
        user.number[0].eq(number),
    ]


def check_data_bits(data_bits: int) -> None:
    """Raise ValueError for a width that the block's interfaces do not have here."""
    if data_bits not in DATA_BITS:
        raise ValueError(f"data_bits must be 256 or 512: {data_bits!r}")


def beat_layout(data_bits: int) -> data.StructLayout:
    """Return a beat of completions of whatever width: where up to so many packets begin and end.

    Bit k of ``starts`` says that a k-th packet begins, in segment ``start_segment[k]``; of
    ``ends``, that a k-th one ends, with dword ``end_dword[k]``.
    """
    dwords = data_bits // DWORD_BITS
    count = dwords // SEGMENT_DWORDS
    return data.StructLayout(
        {
            "data": data.ArrayLayout(DWORD_BITS, dwords),
            "starts": count,
            "start_segment": data.ArrayLayout(ceil_log2(count), count),
            "ends": count,
            "end_dword": data.ArrayLayout(ceil_log2(dwords), count),
            "discontinue": 1,
        }
    )

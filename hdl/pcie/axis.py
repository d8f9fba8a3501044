"""Declares the AXI4-Streams of AMD's block for PCI Express, and their sideband signals (tuser).

The source is PG213: "Requester Request Interface", "Requester Completion Interface", "Completer
Request Interface", "Completer Completion Interface" and those of 512 bits: the tables of
``s_axis_rq_tuser``, ``m_axis_rc_tuser``, ``m_axis_cq_tuser`` and ``s_axis_cc_tuser``. Data is not
address-aligned, and parity is not checked.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Value, ValueLike
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import BusSignature
from hdl.pcie.descriptors import DWORD_BITS

DATA_BITS = (256, 512)  #: widths of the block's interfaces that are supported
SEGMENT_DWORDS = 4  #: a packet begins at a multiple of this many dwords


def rq_user(data_bits: int) -> data.StructLayout:
    """Return the ``tuser`` of RQ, beside the data of requests."""
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
    """Return the ``tuser`` of RC, beside the data of completions.

    A beat of 512 bits holds up to four packets, one of 256 bits up to two (straddling). ``starts``
    and ``ends`` are filled from bit 0 on, in the order of the packets; the first end may belong to
    a packet that began in an earlier beat.
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
    """Return the ``tuser`` of CQ, beside the data of the host's requests."""
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
    """Return the ``tuser`` of CC, beside the data of completions to the host."""
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
    """Describes a stream to the block, or from it if flipped; a ``tkeep`` bit covers a dword."""

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
    """Return the ``tuser`` of RQ for a beat with one packet, which begins in the lowest dword.

    ``enables`` are the byte enables of the packet's first and last dword. A packet that ends in
    this beat ends with dword ``end_dword``. ``number`` is the sequence number that the block
    reports when it has sent the packet so far that no completion or interrupt can pass it.
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
    """Raise ValueError for a width of the block's interfaces that is not supported."""
    if data_bits not in DATA_BITS:
        raise ValueError(f"data_bits must be 256 or 512: {data_bits!r}")


def beat_layout(data_bits: int) -> data.StructLayout:
    """Return the layout of a beat of RC, of either width, and of what begins and ends in it.

    Bit k of ``starts`` says that a k-th packet begins, in segment ``start_segment[k]``; bit k of
    ``ends`` says that a k-th packet ends, with dword ``end_dword[k]``.
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

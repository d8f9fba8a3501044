"""Checks where fields lie, against the bit numbers of PG213's tables."""

import pytest

from hdl.pcie import axis, descriptors
from hdl.pcie.axis import PcieStreamSignature, rq_user
from tests.tables import places, rows


def bits(layout):
    """Return the names of fields, with their lowest and highest bits."""
    return {name: (field.offset, field.offset + field.width - 1) for name, field in layout}


#: Layout, its bits, and each field's lowest and highest bit: tables "Requester Request Descriptor
#: Fields", "Requester Completion Descriptor Fields", "Sideband Signals in s_axis_rq_tuser" and "in
#: m_axis_rc_tuser", those of the 512-bit interface, and the same of the completer
FIELDS = rows(
    """
    REQUEST | 128 | address_type 0 1, address 2 63, dwords 64 74, kind 75 78, poisoned 79 79,
        requester 80 95, tag 96 103, completer 104 119, requester_enable 120 120,
        traffic_class 121 123, attributes 124 126, force_ecrc 127 127
    COMPLETION | 96 | address 0 11, code 12 15, remaining 16 28, locked 29 29, completed 30 30,
        dwords 32 42, status 43 45, poisoned 46 46, requester 48 63, tag 64 71, completer 72 87,
        traffic_class 89 91, attributes 92 94
    rq_user 256 | 62 | first_enable 0 3, last_enable 4 7, address_offset 8 10, discontinue 11 11,
        number_low 24 27, parity 28 59, number_high 60 61
    rq_user 512 | 137 | first_enable 0 7, last_enable 8 15, address_offset 16 19, starts 20 21,
        start_segment 22 25, ends 26 27, end_dword 28 35, discontinue 36 36, number 61 72,
        parity 73 136
    rc_user 256 | 75 | enables 0 31, starts 32 33, ends 34 41, discontinue 42 42, parity 43 74
    rc_user 512 | 161 | enables 0 63, starts 64 67, start_segment 68 75, ends 76 79,
        end_dword 80 95, discontinue 96 96, parity 97 160
    HOST_REQUEST | 128 | address_type 0 1, address 2 63, dwords 64 74, kind 75 78, requester 80 95,
        tag 96 103, function 104 111, bar 112 114, aperture 115 120, traffic_class 121 123,
        attributes 124 126
    ANSWER | 96 | address 0 6, address_type 8 9, bytes 16 28, locked 29 29, dwords 32 42,
        status 43 45, poisoned 46 46, requester 48 63, tag 64 71, function 72 79, bus 80 87,
        completer_enable 88 88, traffic_class 89 91, attributes 92 94, force_ecrc 95 95
    cq_user 256 | 88 | first_enable 0 3, last_enable 4 7, enables 8 39, starts 40 40,
        discontinue 41 41, parity 53 84
    cq_user 512 | 183 | first_enable 0 7, last_enable 8 15, enables 16 79, starts 80 81,
        start_segment 82 85, ends 86 87, end_dword 88 95, discontinue 96 96, parity 119 182
    cc_user 256 | 33 | discontinue 0 0, parity 1 32
    cc_user 512 | 81 | starts 0 1, start_segment 2 5, ends 6 7, end_dword 8 15, discontinue 16 16,
        parity 17 80
    """
)


@pytest.mark.parametrize(("layout", "size", "fields"), FIELDS)
def test_fields_lie_where_the_block_has_them(layout, size, fields):
    name, *width = layout.split()
    layout = getattr(axis, name)(int(*width)) if width else getattr(descriptors, name)
    assert layout.size == int(size)
    result, expected = bits(layout), places(fields)
    assert {name: result[name] for name in expected} == expected


def test_a_width_that_there_is_not():
    with pytest.raises(ValueError, match="data_bits must be 256 or 512: 128"):
        PcieStreamSignature(data_bits=128, user=rq_user(256))

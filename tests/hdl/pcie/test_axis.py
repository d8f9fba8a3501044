"""Where fields lie, against the bit numbers of PG213's tables."""

import pytest

from hdl.pcie.axis import PcieStreamSignature, rc_user, rq_user
from hdl.pcie.descriptors import COMPLETION, REQUEST


def bits(layout):
    """Names of fields, with their lowest and highest bits."""
    return {name: (field.offset, field.offset + field.width - 1) for name, field in layout}


@pytest.mark.parametrize(
    ("layout", "size", "fields"),
    [
        # "Requester Request Descriptor Fields"
        (
            REQUEST,
            128,
            {
                "address_type": (0, 1),
                "address": (2, 63),
                "dwords": (64, 74),
                "kind": (75, 78),
                "poisoned": (79, 79),
                "requester": (80, 95),
                "tag": (96, 103),
                "completer": (104, 119),
                "requester_enable": (120, 120),
                "traffic_class": (121, 123),
                "attributes": (124, 126),
                "force_ecrc": (127, 127),
            },
        ),
        # "Requester Completion Descriptor Fields"
        (
            COMPLETION,
            96,
            {
                "address": (0, 11),
                "code": (12, 15),
                "remaining": (16, 28),
                "locked": (29, 29),
                "completed": (30, 30),
                "dwords": (32, 42),
                "status": (43, 45),
                "poisoned": (46, 46),
                "requester": (48, 63),
                "tag": (64, 71),
                "completer": (72, 87),
                "traffic_class": (89, 91),
                "attributes": (92, 94),
            },
        ),
        # "Sideband Signals in s_axis_rq_tuser", and those of the 512-bit interface
        (
            rq_user(256),
            62,
            {
                "first_enable": (0, 3),
                "last_enable": (4, 7),
                "address_offset": (8, 10),
                "discontinue": (11, 11),
                "number_low": (24, 27),
                "parity": (28, 59),
                "number_high": (60, 61),
            },
        ),
        (
            rq_user(512),
            137,
            {
                "first_enable": (0, 7),
                "last_enable": (8, 15),
                "address_offset": (16, 19),
                "starts": (20, 21),
                "start_segment": (22, 25),
                "ends": (26, 27),
                "end_dword": (28, 35),
                "discontinue": (36, 36),
                "number": (61, 72),
                "parity": (73, 136),
            },
        ),
        # "Sideband Signals in m_axis_rc_tuser", and those of the 512-bit interface
        (
            rc_user(256),
            75,
            {
                "enables": (0, 31),
                "starts": (32, 33),
                "ends": (34, 41),
                "discontinue": (42, 42),
                "parity": (43, 74),
            },
        ),
        (
            rc_user(512),
            161,
            {
                "enables": (0, 63),
                "starts": (64, 67),
                "start_segment": (68, 75),
                "ends": (76, 79),
                "end_dword": (80, 95),
                "discontinue": (96, 96),
                "parity": (97, 160),
            },
        ),
    ],
)
def test_fields_lie_where_the_block_has_them(layout, size, fields):
    assert layout.size == size
    found = bits(layout)
    assert {name: found[name] for name in fields} == fields


def test_a_width_that_there_is_not():
    with pytest.raises(ValueError, match="data_bits must be 256 or 512: 128"):
        PcieStreamSignature(data_bits=128, user=rq_user(256))

import pytest

from hdl.common.axi import Axi4Signature, AxiLiteSignature, AxiReadSignature, Response


def test_names_are_the_usual_ones():
    read = AxiReadSignature(address_bits=28, data_bits=256)
    assert list(read.members) == [
        *("arid", "araddr", "arlen", "arsize", "arburst", "arvalid", "arready"),
        *("rid", "rdata", "rresp", "rlast", "rvalid", "rready"),
    ]
    without = AxiReadSignature(address_bits=28, data_bits=256, id_bits=0)
    assert set(read.members) - set(without.members) == {"arid", "rid"}
    full = Axi4Signature(address_bits=20, data_bits=64, id_bits=4)
    assert {"awid", "bid", "wstrb", "wlast", "arid", "rid"} <= set(full.members)
    assert len(AxiLiteSignature(address_bits=12).members) == 19


def test_equal_buses_are_interchangeable():
    assert AxiReadSignature(address_bits=28, data_bits=256) == AxiReadSignature(
        address_bits=28, data_bits=256
    )
    assert AxiReadSignature(address_bits=28, data_bits=256) != AxiReadSignature(
        address_bits=28, data_bits=128
    )


def test_worse_responses_have_more_bits():
    """What merges responses of a burst relies on it."""
    assert Response.OKAY.value | Response.DECERR.value == Response.DECERR.value
    assert Response.SLVERR.value | Response.DECERR.value == Response.DECERR.value


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"data_bits": 48}, "data_bits must be 8, 16, 32, ... or 1024: 48"),
        ({"address_bits": 0}, "address_bits must be from 1 to 64: 0"),
        ({"id_bits": 33}, "id_bits must be from 0 .no identifiers. to 32: 33"),
    ],
)
def test_rejects(sizes, message):
    for kind in (AxiReadSignature, Axi4Signature):
        with pytest.raises(ValueError, match=message):
            kind(**{"address_bits": 28, "data_bits": 256} | sizes)

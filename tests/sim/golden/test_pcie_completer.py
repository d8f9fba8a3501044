"""Compares what the golden model answers with the specification's tables, by hand."""

import pytest

from sim.golden.pcie_completer import Answer, Kind, Registers, Request
from sim.golden.pcie_requester import Status


@pytest.fixture
def registers():
    return Registers(bar=0, words={0: 0x11111111, 4: 0x22222222})


@pytest.mark.parametrize(
    ("enables", "count", "lower"),
    [  # table 2-38 of 3.1: byte count and lower address of a read of one dword
        (0b1111, 4, 0),
        (0b0111, 3, 0),
        (0b1110, 3, 1),
        (0b1100, 2, 2),
        (0b0110, 2, 1),
        (0b1000, 1, 3),
        (0b1001, 4, 0),
        (0b0000, 1, 0),
    ],
)
def test_byte_count_and_lower_address(registers, enables, count, lower):
    answer = registers.take(Request(Kind.MEMORY_READ, 4, 1, (enables, 0)))
    assert answer is not None
    assert (answer.count, answer.lower_address) == (count, 4 + lower)


def test_bytes_that_are_enabled_are_written(registers):
    assert (
        registers.take(Request(Kind.MEMORY_WRITE, 0, 2, (2, 8), (0xAAAAAAAA, 0xBBBBBBBB))) is None
    )
    assert registers.words == {0: 0x1111AA11, 4: 0xBB222222}


@pytest.mark.parametrize(
    ("request_", "answer", "counted"),
    [
        (Request(Kind.MEMORY_READ, 8, 1, (15, 0)), Answer(Status.ABORTED, 4, 8), "refused"),
        (
            Request(Kind.MEMORY_READ, 0, 3, (15, 15)),
            Answer(Status.UNSUPPORTED, 12, 0),
            "unsupported",
        ),
        (Request(Kind.IO_READ, 0, 1, (15, 0)), Answer(Status.UNSUPPORTED, 4, 0), "unsupported"),
        (Request(Kind.MEMORY_WRITE, 0, 3, (15, 15), (1, 2, 3)), None, "unsupported"),
        (Request(Kind.MEMORY_WRITE, 0, 1, (15, 0), (), 0), None, "malformed"),
        (Request(Kind.MESSAGE, 0, 1, (15, 0)), None, "unsupported"),
    ],
)
def test_what_is_not_done(registers, request_, answer, counted):
    words = dict(registers.words)
    assert registers.take(request_) == answer
    assert registers.words == words
    assert registers.counts == {
        name: int(name == counted) for name in ("unsupported", "malformed", "refused")
    }

"""Declares what AMD's block for PCI Express calls descriptors, and codes in them.

After PG213, "Requester Request Descriptor Formats", "Requester Completion Descriptor Format",
"Completer Request Descriptor Formats" and "Completer Completion Descriptor Format". The lowest
bits are those of the first dword.
"""

from amaranth.lib import data, enum

DWORD_BITS = 32
REQUEST_DWORDS = 4  #: of the descriptor of a request, in front of its data
COMPLETION_DWORDS = 3  #: of the descriptor of a completion


class RequestType(enum.Enum, shape=4):
    """Names what a request asks for; only messages and memory writes are posted."""

    MEMORY_READ, MEMORY_WRITE, IO_READ, IO_WRITE = range(4)
    FETCH_ADD, SWAP, COMPARE_SWAP, LOCKED_READ = range(4, 8)
    MESSAGE, VENDOR_MESSAGE, ATS_MESSAGE = range(12, 15)


class ErrorCode(enum.Enum, shape=4):
    """Names what the block has found of a completion."""

    GOOD = 0
    POISONED = 1
    BAD_STATUS = 2
    LENGTH = 3
    MISMATCH = 4
    ADDRESS = 5
    INVALID_TAG = 6
    FLR = 8
    TIMEOUT = 9


class Status(enum.Enum, shape=3):
    """Names how a completer answers."""

    SUCCESS = 0
    UNSUPPORTED = 1
    RETRY = 2
    ABORTED = 4


class Cause(enum.Enum, shape=4):
    """Says why a read has failed, as ``sim/golden/pcie_requester.py`` explains each."""

    NONE, POISONED, UNSUPPORTED, ABORTED, LENGTH, MISMATCH = range(6)
    ADDRESS, TIMEOUT, RESET, CORRUPT, STOPPED = range(6, 11)


#: Describes a read or write of memory on RQ, with an address that is not translated.
REQUEST = data.StructLayout(
    {
        "address_type": 2,
        "address": 62,  # of a dword
        "dwords": 11,
        "kind": RequestType,
        "poisoned": 1,
        "requester": 16,  # function, which the block completes by its bus
        "tag": 8,
        "completer": 16,
        "requester_enable": 1,  # ``requester`` is taken as it is
        "traffic_class": 3,
        "attributes": 3,
        "force_ecrc": 1,
    }
)

#: Describes a completion on RC.
COMPLETION = data.StructLayout(
    {
        "address": 12,  # lowest bits of that of the first byte
        "code": ErrorCode,
        "remaining": 13,  # bytes that are to come, those of this completion included
        "locked": 1,
        "completed": 1,  # the block expects no more for the request
        "reserved_1": 1,
        "dwords": 11,
        "status": Status,
        "poisoned": 1,
        "reserved_2": 1,
        "requester": 16,
        "tag": 8,
        "completer": 16,
        "reserved_3": 1,
        "traffic_class": 3,
        "attributes": 3,
        "reserved_4": 1,
    }
)

#: Describes a request of the host on CQ.
HOST_REQUEST = data.StructLayout(
    {
        "address_type": 2,
        "address": 62,  # of a dword
        "dwords": 11,
        "kind": 4,  # of RequestType, or one that has no name
        "reserved_1": 1,
        "requester": 16,
        "tag": 8,
        "function": 8,
        "bar": 3,
        "aperture": 6,  # bits of the address that the BAR leaves to the function
        "traffic_class": 3,
        "attributes": 3,
        "reserved_2": 1,
    }
)

#: Describes an answer to the host on CC.
ANSWER = data.StructLayout(
    {
        "address": 7,  # lowest bits of that of the first byte
        "reserved_1": 1,
        "address_type": 2,
        "reserved_2": 6,
        "bytes": 13,
        "locked": 1,
        "reserved_3": 2,
        "dwords": 11,
        "status": Status,
        "poisoned": 1,
        "reserved_4": 1,
        "requester": 16,
        "tag": 8,
        "function": 8,  # with the bus, which the block completes
        "bus": 8,
        "completer_enable": 1,
        "traffic_class": 3,
        "attributes": 3,
        "force_ecrc": 1,
    }
)

"""Declares the descriptors of AMD's block for PCI Express, and the codes in them.

The source is PG213: "Requester Request Descriptor Formats", "Requester Completion Descriptor
Format", "Completer Request Descriptor Formats" and "Completer Completion Descriptor Format". The
first dword is in the lowest bits.
"""

from amaranth.lib import data, enum

DWORD_BITS = 32
REQUEST_DWORDS = 4  #: dwords of a request's descriptor, in front of its data
COMPLETION_DWORDS = 3  #: dwords of a completion's descriptor


class RequestType(enum.Enum, shape=4):
    """Names what a request asks for; only messages and memory writes are posted."""

    MEMORY_READ, MEMORY_WRITE, IO_READ, IO_WRITE = range(4)
    FETCH_ADD, SWAP, COMPARE_SWAP, LOCKED_READ = range(4, 8)
    MESSAGE, VENDOR_MESSAGE, ATS_MESSAGE = range(12, 15)


class ErrorCode(enum.Enum, shape=4):
    """Names the errors that the block reports of a completion."""

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
    """Names the status of a completion."""

    SUCCESS = 0
    UNSUPPORTED = 1
    RETRY = 2
    ABORTED = 4


class Cause(enum.Enum, shape=4):
    """Says why a read has failed."""

    NONE = 0  #: no read has failed
    POISONED = 1  #: the data was marked as wrong on its way
    UNSUPPORTED = 2  #: nothing answers for that address
    ABORTED = 3  #: the completer of the read aborted it; or device memory did not deliver idxs
    LENGTH = 4  #: more or fewer bytes came than were requested
    MISMATCH = 5  #: the answer was to another request
    ADDRESS = 6  #: the answer had bytes of another place
    TIMEOUT = 7  #: not everything came in time
    RESET = 8  #: the function was reset meanwhile
    CORRUPT = 9  #: the block for PCI Express lost the data
    STOPPED = 10  #: the work request was stopped meanwhile


#: Describes a read or write of memory on RQ, with an untranslated address.
REQUEST = data.StructLayout(
    {
        "address_type": 2,
        "address": 62,  # of a dword
        "dwords": 11,
        "kind": RequestType,
        "poisoned": 1,
        "requester": 16,  # function number, to which the block adds its bus number
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
        "address": 12,  # lowest bits of the first byte's address
        "code": ErrorCode,
        "remaining": 13,  # bytes that are to come, with those of this completion
        "locked": 1,
        "completed": 1,  # it is the last completion of the request
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
        "kind": 4,  # a RequestType, or a code without a name
        "reserved_1": 1,
        "requester": 16,
        "tag": 8,
        "function": 8,
        "bar": 3,
        "aperture": 6,  # address bits that select a byte within the BAR
        "traffic_class": 3,
        "attributes": 3,
        "reserved_2": 1,
    }
)

#: Describes an answer to the host on CC.
ANSWER = data.StructLayout(
    {
        "address": 7,  # lowest bits of the first byte's address
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
        "function": 8,  # function number; the block adds its bus number
        "bus": 8,
        "completer_enable": 1,
        "traffic_class": 3,
        "attributes": 3,
        "force_ecrc": 1,
    }
)

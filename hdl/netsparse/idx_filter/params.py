"""Describes the sizes of the Idx Filter and the layouts of its streams."""

from dataclasses import replace

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import bits_for, ceil_log2

from hdl.common.axi_read_port import AxiPortParams
from hdl.common.checks import check_range
from hdl.common.params import Params, whole

LINE_BYTES = 64  #: bytes of a line of the cache, one beat of the memory
LINE_IDXS = 8 * LINE_BYTES
LINE_IDX_BITS = ceil_log2(LINE_IDXS)
WORD_BITS = 64  #: width of a word of a bank
WORD_INDEX_BITS = ceil_log2(WORD_BITS)
LINE_WORDS = LINE_IDXS // WORD_BITS
BLOCK_IDXS = 16  #: bits that an answer has for a unit's own cache
BLOCK_IDX_BITS = ceil_log2(BLOCK_IDXS)
WAYS = (1, 2, 4)
OPEN_ZEROS = 256  #: most lines that clearing has under way to the memory


def answer_signature(layout: data.StructLayout) -> wiring.Signature:
    """Describe answers: ``payload`` is taken in each cycle with ``valid``; no back-pressure."""
    return wiring.Signature({"valid": Out(1), "payload": Out(layout)})


def request_layout(idx_bits: int, slots: int) -> data.StructLayout:
    """Describe a lookup of ``idx``, or a set with ``set``; ``slot`` is returned with the answer."""
    return data.StructLayout({"set": 1, "idx": idx_bits, "slot": ceil_log2(slots)})


def answer_layout(slots: int) -> data.StructLayout:
    """Describe an answer: ``bit`` is the bit before the request, unless that has ``failed``."""
    return data.StructLayout({"slot": ceil_log2(slots), "bit": 1, "failed": 1})


class FilterCacheParams(
    Params, suffix="{units}x{banks}_{sets}x{ways}_{unit_rows}_{idx_bits}_{address_bits}_{slots}"
):
    """Sets the sizes of the cache of the Idx Filter."""

    units: int = whole(1, 64)  #: number of client RIG units
    banks: int = whole(1, 64, power_of_two=True)  #: number of banks
    cache_bytes: int  #: bytes of filter bits that all banks hold together
    ways: int = whole(1, 4, power_of_two=True)  #: lines of a set
    unit_bytes: int = whole(4, 65536, power_of_two=True)  #: bytes of bits in each unit's own cache
    idx_bits: int = 40  #: width of a column's number
    address_bits: int  #: width of a byte address of the memory
    slots: int = whole(2, 1024)  #: number of slots of a unit's LSQ

    def __post_init__(self) -> None:
        super().__post_init__()
        lines = self.cache_bytes / (LINE_BYTES * self.banks * self.ways)
        if lines not in {1 << k for k in range(1, 13)}:
            raise ValueError(
                "cache_bytes must give each way of a bank 2, 4, 8, ... or 4096 lines of"
                f" {LINE_BYTES} bytes: {self.cache_bytes} bytes give {lines:g} lines"
            )
        least = LINE_IDX_BITS + self.bank_bits + self.set_bits + 1
        check_range("idx_bits", self.idx_bits, least, 64, ", for more columns than the cache holds")
        if 8 * self.unit_bytes >= 1 << self.idx_bits:
            raise ValueError(
                f"unit_bytes must be less than {1 << self.idx_bits - 3}, the bytes that hold a bit"
                f" for each idx: {self.unit_bytes}"
            )
        why = ", to address a bit for each idx"
        check_range("address_bits", self.address_bits, self.idx_bits - 3, 64, why)

    @property
    def bank_bits(self) -> int:
        """Return how many low bits of a line's number choose its bank."""
        return ceil_log2(self.banks)

    @property
    def sets(self) -> int:
        """Return the number of sets of a bank; each holds ``ways`` lines."""
        return self.cache_bytes // (LINE_BYTES * self.banks * self.ways)

    @property
    def set_bits(self) -> int:
        """Return how many bits of a line's number, above the bank's, choose its set."""
        return ceil_log2(self.sets)

    @property
    def way_bits(self) -> int:
        """Return the width of a way's number."""
        return ceil_log2(self.ways)

    @property
    def line_bits(self) -> int:
        """Return the width of a line's number, idx / 512."""
        return self.idx_bits - LINE_IDX_BITS

    @property
    def tag_bits(self) -> int:
        """Return the width of a line's tag: the bits of its number above bank and set."""
        return self.line_bits - self.bank_bits - self.set_bits

    @property
    def words(self) -> int:
        """Return the number of words of a bank."""
        return self.sets * self.ways * LINE_WORDS

    @property
    def unit_rows(self) -> int:
        """Return the number of blocks in a unit's own cache."""
        return 8 * self.unit_bytes // BLOCK_IDXS

    @property
    def unit_row_bits(self) -> int:
        """Return how many low bits of a block's number choose its entry in a unit's own cache."""
        return ceil_log2(self.unit_rows)

    @property
    def unit_tag_bits(self) -> int:
        """Return the width of a block's tag: the bits of its number above the entry's."""
        return self.idx_bits - BLOCK_IDX_BITS - self.unit_row_bits

    @property
    def clear_bits(self) -> int:
        """Return the width of a number of a bank's set or a unit's block, whichever is larger."""
        return max(self.set_bits, self.unit_row_bits)

    @property
    def read_port(self) -> AxiPortParams:
        """Return the sizes of the port of fills: a bank has one at a time."""
        return AxiPortParams(
            address_bits=self.address_bits,
            data_bits=8 * LINE_BYTES,
            tag_bits=max(1, self.bank_bits),
            outstanding=max(32, self.banks),  # a smaller queue takes as much memory
        )

    @property
    def write_port(self) -> AxiPortParams:
        """Return the sizes of the port of write-backs and zeros."""
        return replace(self.read_port, outstanding=self.banks + OPEN_ZEROS)

    @property
    def request(self) -> data.StructLayout:
        """Describe a request of a unit (:func:`request_layout`)."""
        return request_layout(self.idx_bits, self.slots)

    @property
    def answer(self) -> data.StructLayout:
        """Describe an answer to a unit (:func:`answer_layout`)."""
        return answer_layout(self.slots)

    @property
    def bank_request(self) -> data.StructLayout:
        """Describe a request, and its unit."""
        return data.StructLayout({"unit": max(1, ceil_log2(self.units)), "request": self.request})

    @property
    def block_answer(self) -> data.StructLayout:
        """Describe an answer with, unless it has failed, the block of its idx after the request."""
        return data.StructLayout({"answer": self.answer, "block": BLOCK_IDXS})

    @property
    def bank_answer(self) -> data.StructLayout:
        """Describe an answer with its block, and its unit."""
        return data.StructLayout(
            {"unit": max(1, ceil_log2(self.units)), "answer": self.block_answer}
        )

    @property
    def row(self) -> data.StructLayout:
        """Describe a word of a bank's memory."""
        return data.StructLayout({"word": 3, "set": self.set_bits, "way": self.way_bits})

    @property
    def eviction(self) -> data.StructLayout:
        """Describe a line to be written back to the memory."""
        return data.StructLayout({"address": self.address_bits, "data": LINE_IDXS})

    @property
    def control(self) -> data.StructLayout:
        """Describe the settings: ``columns`` is the number of idxs in use, up to 2 ** idx_bits.

        ``base`` is the address of line 0, a multiple of a line. Both may change only in the cycle
        of ``clear``, which is a pulse.
        """
        return data.StructLayout(
            {"base": self.address_bits, "columns": self.idx_bits + 1, "clear": 1}
        )

    @property
    def events(self) -> data.StructLayout:
        """Describe how often each event happened in a cycle; a request is near, hit or miss.

        ``near`` is a lookup that was answered by its unit's own cache.
        """
        count = bits_for(self.banks)
        return data.StructLayout(
            {
                "near": bits_for(self.units),
                "hit": count,
                "miss": count,
                "write_back": count,
                "fill_error": count,
                "write_error": 1,  # also of a write of clearing
            }
        )

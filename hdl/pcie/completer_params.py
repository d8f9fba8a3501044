"""Sets the sizes of a completer, and the bundles between its parts."""

from amaranth.lib import data

from hdl.common.params import Params, choice, whole
from hdl.pcie.axis import DATA_BITS
from hdl.pcie.descriptors import DWORD_BITS, HOST_REQUEST

MAX_DWORDS = 2  #: dwords of registers that a request may read or write

#: Describes the result of an access to a register.
ACCESS_ANSWER = data.StructLayout({"valid": 1, "data": DWORD_BITS, "failed": 1})


class CompleterParams(Params, suffix="{data_bits}_a{address_bits}_bar{bar}"):
    """Sets which registers are behind a BAR."""

    data_bits: int = choice(*DATA_BITS, default=512)  #: width of the block's interfaces
    address_bits: int = whole(3, 32, default=12)  #: width of a register's byte address
    bar: int = whole(0, 5, default=0)  #: number of the BAR behind which the registers are

    @property
    def access(self) -> data.StructLayout:
        """Describe an access to a register: a read, or a write of the bytes in ``strobes``."""
        return data.StructLayout(
            {
                "writes": 1,
                "address": self.address_bits,
                "data": DWORD_BITS,
                "strobes": DWORD_BITS // 8,
            }
        )

    @property
    def packet(self) -> data.StructLayout:
        """Describe a request of the host, with as many dwords of its data as registers can take.

        ``keep`` has a bit for each dword of the packet's first beat, and is all ones if there was
        another beat; ``discontinued`` says that the block lost some of the packet's data.
        """
        return data.StructLayout(
            {
                "request": HOST_REQUEST,
                "data": data.ArrayLayout(DWORD_BITS, MAX_DWORDS),
                "enables": data.ArrayLayout(4, 2),
                "keep": self.data_bits // DWORD_BITS,
                "discontinued": 1,
            }
        )

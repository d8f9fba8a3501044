"""Describes the sizes of tables in external memory, and the layout of their rows."""

from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from hdl.common.axi import AxiReadSignature
from hdl.common.axi_read_port import AxiPortParams
from hdl.common.fifo import FifoParams
from hdl.common.params import Params, whole
from hdl.switchgnn.switch.tables.row_reader import COUNT_BITS

BEAT_BITS = 256  #: width of a beat of HBM
BEAT_BYTES = BEAT_BITS // 8
LIST_ENTRY_BITS = 16  #: width of an entry of a row of lists
DESCRIPTOR_ENTRY_BITS = 32  #: width of an entry of a row of descriptors
MAX_BANKS = BEAT_BITS // DESCRIPTOR_ENTRY_BITS  #: no row is longer than a beat
MAX_PORTS = 16
WAITING = 32  #: most beats of a port that were requested and whose rows have not left yet


class TableMemoryParams(Params, suffix="{banks}x{place_bits}_p{ports}_a{address_bits}_w{waiting}"):
    """Sets the sizes of a memory of tables, of which every port has a share.

    A row of lists has 16 bits for each bank, a row of descriptors 32 bits for each bank, the lowest
    bank in the lowest bits. The rows of a table are contiguous, in beats of 32 bytes. Beat b of a
    table is in the memory of port b modulo ``ports``, at the table's address there plus 32 * (b //
    ``ports``).
    """

    banks: int = whole(1, MAX_BANKS, power_of_two=True)  #: entries of a row
    place_bits: int  #: width of a row's number in its table
    ports: int = whole(1, MAX_PORTS, power_of_two=True)  #: AXI ports that are read in parallel
    address_bits: int = whole(6, 40)  #: width of a byte address of each port
    #: most beats of a port under way or not used yet
    waiting: int = whole(2, 64, power_of_two=True, default=WAITING)

    @property
    def list_bits(self) -> int:
        """Return the width of a row of lists."""
        return LIST_ENTRY_BITS * self.banks

    @property
    def descriptor_bits(self) -> int:
        """Return the width of a row of descriptors."""
        return DESCRIPTOR_ENTRY_BITS * self.banks

    @property
    def list_shift(self) -> int:
        """Return the binary logarithm of the rows of lists in a beat."""
        return exact_log2(BEAT_BITS // self.list_bits)

    @property
    def descriptor_shift(self) -> int:
        """Return the binary logarithm of the rows of descriptors in a beat."""
        return self.list_shift - 1

    @property
    def port_bits(self) -> int:
        """Return the width of a port's number."""
        return max(1, ceil_log2(self.ports))

    @property
    def line_bits(self) -> int:
        """Return the width of the number of a beat in the memory of a port."""
        return self.address_bits - exact_log2(BEAT_BYTES)

    @property
    def request(self) -> data.StructLayout:
        """Describe a request for ``count`` rows, at least 1, of which ``present`` exist."""
        return data.StructLayout(
            {
                "descriptors": 1,  # rows of descriptors; otherwise of lists
                "first": self.place_bits,
                "count": COUNT_BITS,
                "present": COUNT_BITS,
            }
        )

    @property
    def share(self) -> data.StructLayout:
        """Describe the rows of a request in one beat, or as many rows that do not exist."""
        return data.StructLayout(
            {
                "port": self.port_bits,
                "descriptors": 1,
                "missing": 1,  # the rows do not exist, and are not read
                "begin": self.list_shift,  # the first one's place in the beat
                "end": self.list_shift,  # the last one's
                "last": 1,  # the request ends with these rows
            }
        )

    @property
    def step(self) -> data.StructLayout:
        """Describe a share, and the number of its beat in the port's part of the table."""
        return data.StructLayout({"share": self.share, "line": self.place_bits})

    @property
    def result(self) -> data.StructLayout:
        """Describe a row that leaves; a row of lists is in the lower half."""
        return data.StructLayout({"row": self.descriptor_bits, "missing": 1, "last": 1})

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat from a port."""
        return data.StructLayout({"data": BEAT_BITS, "failed": 1})

    @property
    def bases(self) -> data.StructLayout:
        """Describe where tables begin in the memory of every port, in beats."""
        return data.StructLayout({"lists": self.line_bits, "descriptors": self.line_bits})

    @property
    def shares(self) -> FifoParams:
        """Return the sizes of the queue of shares: as many as all ports have beats for."""
        depth = max(2, self.ports * self.waiting)
        return FifoParams(shape=self.share, depth=depth, style="block", output_register=True)

    @property
    def port(self) -> AxiPortParams:
        """Return the sizes of a port to the bus."""
        return AxiPortParams(
            address_bits=self.address_bits, data_bits=BEAT_BITS, outstanding=self.waiting
        )

    @property
    def axi(self) -> AxiReadSignature:
        """Describe the AXI bus of a port."""
        return self.port.read_bus

    @property
    def state(self) -> data.StructLayout:
        """Describe the state of the ports, a bit for each, and the number of failed beats."""
        bits = dict.fromkeys(("broken", "silent", "owes", "failed"), self.ports)
        return data.StructLayout(bits | {"failures": 32})

    @property
    def settings(self) -> data.StructLayout:
        """Describe the host's settings of the memory."""
        return data.StructLayout(
            {
                "bases": self.bases,
                "timeout": 32,  # cycles without progress until a port is abandoned; 0: never
                "revive": 1,  # use broken ports again
                "clear": 1,  # clear the count of failures
            }
        )

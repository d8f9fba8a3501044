"""Describes the state of jobs and of their turns."""

from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.switchgnn.switch.banks.aggregator_params import AggregatorParams
from hdl.switchgnn.switch.sizes import PROGRAM_STEPS, TURN_BITS


class JobParams(AggregatorParams):
    """Adds the bundles of jobs and turns to those of aggregators."""

    @property
    def port_job(self) -> data.StructLayout:
        """Describe the state of a job that its ports need."""
        return data.StructLayout(
            {
                "active": 1,
                "job": self.job_bits,
                "epoch": 16,
                "lo": TURN_BITS,  # the oldest open turn
            }
        )

    @property
    def row_bits(self) -> int:
        """Return the width of a number of rows of lists."""
        return bits_for(self.rows)

    @property
    def descriptor_bits(self) -> int:
        """Return the width of a number of rows of descriptors."""
        return bits_for(self.descriptor_rows)

    @property
    def lists(self) -> data.StructLayout:
        """Describe the rows of a job's lists."""
        return data.StructLayout({"base": self.row_bits, "count": self.row_bits})

    @property
    def job_tables(self) -> data.StructLayout:
        """Describe the operands of a job's start, besides its ports and its aggregators."""
        return data.StructLayout(
            {
                "two": 1,  # two turns are open, each with half of the job's aggregators
                "lists": self.lists,
                "last_step": ceil_log2(PROGRAM_STEPS),  # number of the turn program's last step
                **self.maximum,
            }
        )

    @property
    def step(self) -> data.StructLayout:
        """Describe a step of a turn program: a block, and the number of its turns."""
        return data.StructLayout(
            {
                "first": self.descriptor_bits,  # row of descriptors of the block
                "height": self.count_bits,  # number of rows
                "turns": TURN_BITS,  # number of turns, at least 1
            }
        )

    @property
    def job_turns(self) -> data.StructLayout:
        """Describe how a frame's turn relates to the turns of its job."""
        return data.StructLayout(
            {
                "past": 1,  # its turn has ended
                "lowest": 1,  # its turn is the oldest open one
                "following": 1,  # its turn is the other open one
                "place": 1,  # place of its turn among the open ones
                "loaded": 1,  # that turn's aggregators have their descriptors
                "region": self.region,
                "lists": self.lists,
            }
        )

    @property
    def port_region(self) -> data.StructLayout:
        """Describe the region of the aggregators of a port's job."""
        return data.StructLayout(
            {
                "base": self.slot_bits,
                "count": self.count_bits,  # aggregators of a turn in each bank
                "two": 1,  # two turns are open; those of odd turns follow those of even ones
            }
        )

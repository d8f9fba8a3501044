"""Describes what is known of jobs and of their turns."""

from amaranth.lib import data
from amaranth.utils import bits_for, ceil_log2

from hdl.switchgnn.switch.aggregator_params import AggregatorParams
from hdl.switchgnn.switch.sizes import PROGRAM_STEPS, TURN_BITS


class JobParams(AggregatorParams):
    """Adds the bundles of jobs and turns to those of aggregators."""

    @property
    def port_job(self) -> data.StructLayout:
        """Describe what a port has to know of its job."""
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
        """Describe the rows of lists that a job has."""
        return data.StructLayout({"base": self.row_bits, "count": self.row_bits})

    @property
    def job_tables(self) -> data.StructLayout:
        """Describe what a job is started with, beside its ports and its aggregators."""
        return data.StructLayout(
            {
                "two": 1,  # two turns are open, each with half of the job's aggregators
                "lists": self.lists,
                "last_step": ceil_log2(PROGRAM_STEPS),  # of the turn program
            }
        )

    @property
    def step(self) -> data.StructLayout:
        """Describe a step of a turn program: a block, and the turns that it is done for."""
        return data.StructLayout(
            {
                "first": self.descriptor_bits,  # row of descriptors of the block
                "height": self.count_bits,  # rows that it has
                "turns": TURN_BITS,  # at least 1
            }
        )

    @property
    def job_turns(self) -> data.StructLayout:
        """Describe what a frame has to do with the turns of its job."""
        return data.StructLayout(
            {
                "past": 1,  # its turn has ended
                "lowest": 1,  # is the oldest open one
                "following": 1,  # is the other open one
                "place": 1,  # of its turn among those that are open
                "loaded": 1,  # that turn's aggregators have their descriptors
                "region": self.region,
                "lists": self.lists,
            }
        )

    @property
    def port_region(self) -> data.StructLayout:
        """Describe where the aggregators of a port's job are."""
        return data.StructLayout(
            {
                "base": self.slot_bits,
                "count": self.count_bits,  # of a turn in each bank
                "two": 1,  # turns are open, the odd ones' aggregators behind the even ones'
            }
        )

"""Generates sparse matrices like those of NetSparse's Table 6, of any size.

Every family is a function with the options ``nodes`` (the partition that its shape is made for),
``rows`` (near which it lands; by default what the family needs for each node) and ``seed``. With
all sizes in proportion to the nodes, small matrices keep their family's shares and ratios; only SU
is proportional to the nodes. Rows far below the default thin out a node's block.
"""

from collections.abc import Callable

from scipy.sparse import csr_array

from sim.workloads.family_names import NAMES
from sim.workloads.matrix_families import roads, stencils, webs
from sim.workloads.matrix_families.roads import europe
from sim.workloads.matrix_families.stencils import queen, stokes
from sim.workloads.matrix_families.webs import arabic, uk

FAMILIES: dict[str, Callable[..., csr_array]] = dict(
    zip(NAMES, (arabic, europe, queen, stokes, uk), strict=True)
)

#: Rows of each node unless a family is told how many to have in all.
ROWS_OF_NODE: dict[str, float] = {
    "arabic": webs.ROWS_OF_NODE,
    "europe": roads.ROWS_OF_NODE,
    "queen": stencils.QUEEN_ROWS,
    "stokes": stencils.STOKES_ROWS,
    "uk": webs.ROWS_OF_NODE,
}

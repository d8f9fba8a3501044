"""Provides the five matrices, generated from their families or read from files, and their scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from scipy.sparse import csr_array

from gen.base.errors import UserError, unknown
from sim.netsparse.golden.redundancy import Redundancy, redundancy
from sim.netsparse.reproduce import paper
from sim.netsparse.spmm import matrix_for
from sim.workloads.matrices import FAMILIES
from sim.workloads.matrix_families import ROWS_OF_NODE
from sim.workloads.partition import Partition

SEED = 1  #: of the families
PART = 32  #: rows of the paper's matrix for each row of ours
LEAST_ROWS = 2  #: of a node


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Describes a matrix that stands for one of the paper's, on a number of nodes."""

    family: str
    text: str  #: as a workload names it: the family with its options, or a path
    nodes: int = paper.NODES

    @property
    def matrix(self) -> csr_array:
        """Return the matrix itself; it is made or read once."""
        return _matrix(self.text, self.nodes)

    @property
    def rows(self) -> int:
        """Return the number of rows of the matrix, which is square."""
        return self.matrix.indptr.size - 1

    @property
    def partition(self) -> Partition:
        """Return the partition into equal blocks of rows."""
        return Partition.blocks(self.rows, self.nodes)

    @property
    def paper(self) -> paper.Matrix:
        """Return what the paper says of its matrix."""
        return paper.MATRICES[self.family]

    @property
    def generated(self) -> bool:
        """Return whether it is generated from its family, not read from a file."""
        return self.text.partition(":")[0] == self.family

    @property
    def redundancy(self) -> Redundancy:
        """Return the numbers of tables 1 and 4, in racks of 16 nodes."""
        return _redundancy(self.text, self.nodes)

    @property
    def scale(self) -> float:
        """Return a node's nonzeros divided by those of a node with the paper's matrix (table 6)."""
        return self.matrix.indices.size / self.nodes * paper.NODES / self.paper.nonzeros

    @property
    def what(self) -> str:
        """Return name and size, in words."""
        nonzeros = self.matrix.indices.size
        return f"{self.text}: {self.rows:,} rows, {nonzeros:,} nonzeros, 1/{1 / self.scale:.0f}"


def subjects(
    provided: Sequence[str] = (),
    *,
    scale: float = 1.0,
    nodes: int = paper.NODES,
    rows_of_node: Mapping[str, float] = ROWS_OF_NODE,
) -> tuple[Subject, ...]:
    """Return a subject of each family: generated with ``scale`` times its rows, or its file.

    The rows of a node are those of the recipes; with :func:`part_of_the_paper` they are the same
    part of the paper's for all families. UserError for what names no family, names one twice, or
    cannot be read.
    """
    paths: dict[str, str] = {}
    for text in provided:
        family, equals, path = text.partition("=")
        if not equals or not path:
            raise UserError(f"--matrix must be FAMILY=PATH: {text}")
        if family not in FAMILIES:
            raise unknown("family", family, FAMILIES)
        if family in paths:
            raise UserError(f"--matrix gives {family} twice")
        if path.partition(":")[0] in FAMILIES:
            raise UserError(f"--matrix {family} must be a Matrix Market file: {path}")
        paths[family] = path
    result = []
    for family in FAMILIES:
        text = paths.get(family) or at_scale(family, scale * rows_of_node[family], nodes)
        result.append(Subject(family=family, text=text, nodes=nodes))
    for subject in result:
        if not subject.generated:
            check(subject)
    return tuple(result)


def check(subject: Subject) -> None:
    """Raise UserError unless the matrix can be read and divided among the nodes."""
    try:
        rows = subject.rows
    except ValueError as error:
        raise UserError(str(error)) from error
    if rows < LEAST_ROWS * subject.nodes:
        raise UserError(
            f"{subject.text}: {rows} rows are too few for {subject.nodes} nodes, at least"
            f" {LEAST_ROWS * subject.nodes}"
        )


def sizes(subjects: Sequence[Subject]) -> str:
    """Return how large the matrices are, in a sentence."""
    every = "; ".join(item.what for item in subjects)
    return f"Matrices, with their nonzeros for each one of the paper's: {every}."


def resized(subject: Subject, factor: float) -> Subject:
    """Return a generated matrix with ``factor`` times its rows."""
    rows = factor * subject.rows / subject.nodes
    return replace(subject, text=at_scale(subject.family, rows, subject.nodes))


def part_of_the_paper() -> dict[str, float]:
    """Return the rows of a node for each family, the same part of table 6 for all.

    So what does not shrink with a matrix, the pipelines and DelayCycles, weighs the same in all.
    """
    return {name: item.rows / PART / paper.NODES for name, item in paper.MATRICES.items()}


def at_scale(family: str, rows_of_node: float, nodes: int) -> str:
    """Return the family with a number of rows for each of the ``nodes``, as a workload takes it."""
    if rows_of_node == ROWS_OF_NODE[family]:
        return family
    return f"{family}:rows={max(LEAST_ROWS, round(rows_of_node)) * nodes}"


@cache
def _matrix(text: str, nodes: int) -> csr_array:
    return matrix_for(text, nodes, SEED)


@cache
def _redundancy(text: str, nodes: int) -> Redundancy:
    return redundancy(_matrix(text, nodes), nodes)

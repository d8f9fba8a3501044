"""Names the sparse kernels whose communication NetSparse carries out."""

from enum import StrEnum


class Kernel(StrEnum):
    """Names what is computed of a sparse matrix and gathered properties, as on the command line."""

    SPMM = "spmm"
    SPMV = "spmv"
    SDDMM = "sddmm"

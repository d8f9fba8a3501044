"""Names the families of :mod:`sim.workloads.matrix_families`, without importing SciPy."""

NAMES = ("arabic", "europe", "queen", "stokes", "uk")

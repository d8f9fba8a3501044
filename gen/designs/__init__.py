"""Holds the designs, a file each; :mod:`gen.designs.catalogue` finds them without a list."""

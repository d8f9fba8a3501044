"""The designs: a file each, found without a list. See :mod:`gen.designs.catalogue`."""

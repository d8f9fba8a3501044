"""``python -m gen`` is ``ingather``."""

from gen.cli import main

main()

collect_ignore = ["tally"]  # a package of its own, which test_fifth installs elsewhere

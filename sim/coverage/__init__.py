"""Measures what a regression has tried of the emitted Verilog: lines, branches and toggles."""

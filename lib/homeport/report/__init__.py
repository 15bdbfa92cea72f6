"""A decision for people: HTML, Markdown and JSON files, and what terminal and pages show of it."""

from homeport.report.figures import figures, paired_differences
from homeport.report.terminal import console, options_table, reasons, warnings
from homeport.report.write import folder_of, notices, write_report

__all__ = [
    "console",
    "figures",
    "folder_of",
    "notices",
    "options_table",
    "paired_differences",
    "reasons",
    "warnings",
    "write_report",
]

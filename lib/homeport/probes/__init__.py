"""Measuring tools: pure `parse(text)` beside the command that prints the text."""

"""Fixtures every room shares."""

import pytest

from homeport.params import load_study


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """An empty data folder, so that no test reads or writes the user's runs."""
    monkeypatch.setenv("HOMEPORT_DATA", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def demo():
    """The study of `make demo`."""
    return load_study("demo")

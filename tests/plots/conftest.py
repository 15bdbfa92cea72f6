"""One whole session for all tests that only look at it."""

import pytest
from plots import studies

from homeport.params import load_study


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """A session of the demo on disk, with throughput falling with the round trip."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOMEPORT_DATA", str(tmp_path_factory.mktemp("plots")))
        return studies.session(load_study("demo"))

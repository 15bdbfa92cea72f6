"""Fixtures of the emulated world: own runtime folder, and a reason where no world can be built."""

import os

import pytest

from homeport import emulate
from homeport.errors import NoEmulation


@pytest.fixture(autouse=True, scope="module")
def runtime_folder(tmp_path_factory):
    """State files of these tests only: a sweep here must not touch other worlds."""
    folder = tmp_path_factory.mktemp("runtime")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOMEPORT_RUNTIME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def can_emulate():
    """Skip, and say why, where no world can be built."""
    if os.geteuid() != 0:
        pytest.skip("worlds need root here: sudo, or unshare -Urnm -- pytest")
    try:
        emulate.check()
    except NoEmulation as reason:
        pytest.skip(str(reason))

"""Decisions on planted worlds, each world measured once and copied for whoever changes it."""

import shutil

import pytest
from decide import planted

from homeport import store
from homeport.decide import decide


@pytest.fixture
def demo():
    """The study of every world here."""
    return planted.study()


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """The session of a world (by keywords: hosts that differ from the usual), to be read only."""
    cache = {}

    def session(interleaved=True, **changed):
        key = repr((interleaved, changed))
        if key not in cache:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("HOMEPORT_DATA", str(tmp_path_factory.mktemp("world")))
                world = planted.truths(**changed)
                cache[key] = planted.folder(world, interleaved=interleaved)
        return cache[key]

    return session


@pytest.fixture
def judged(measured, tmp_path):
    """Decide on a world; `after` may first change its session, a copy, on the disk."""

    def decision(after=None, **changed):
        folder = measured(**changed)
        if after:
            path = shutil.copytree(folder.path, tmp_path / "copy", dirs_exist_ok=True)
            folder = store.SessionFolder.open(path)
            after(folder)
        return decide(store.read(folder))

    return decision


@pytest.fixture(scope="session")
def usual_recorded(measured):
    """The usual world."""
    return store.read(measured())


@pytest.fixture(scope="session")
def usual(usual_recorded):
    """The decision on the usual world."""
    return decide(usual_recorded)

"""A thread that sees within a second when something of ours has ended by itself."""

import threading
from collections.abc import Callable

_EVERY_S = 0.5


class Watch:
    """Calls `look` twice a second until it is told to stop; use it as a context manager.

    Parts take seconds to minutes, and the processes of a sitting can be started again only
    between them; but when they ended must be known, or the silence would be blamed on a host.
    """

    def __init__(self, look: Callable[[], None]):
        self._look, self._over = look, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_exc) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._look()

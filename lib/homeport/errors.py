"""Everything that can go wrong, named after what went wrong.

Each error keeps the facts as attributes, so a caller can act on them and the report can show
them; its text says what was seen, what was expected, where, and what to do. `exit_code` is what
`homeport` ends with when the error reaches the top. Nothing here imports from the package.
"""


class HomeportError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1


class BadParameter(HomeportError):
    """A parameter file or a notebook parameter holds something that is not allowed."""

    exit_code = 2

    def __init__(self, file: str, key: str, seen: object, expected: str, hint: str = ""):
        tail = f" {hint}" if hint else ""
        super().__init__(f"{file}: {key}: expected {expected}, got {seen!r}.{tail}")
        self.file, self.key, self.seen, self.expected, self.hint = file, key, seen, expected, hint


class NotFound(HomeportError):
    """A study, session, host or file that was named does not exist."""

    exit_code = 2

    def __init__(self, what: str, name: str, known: list[str]):
        have = ", ".join(known) if known else "none"
        super().__init__(f"no {what} called {name!r}; there is: {have}")
        self.what, self.name, self.known = what, name, known


class NothingRecorded(HomeportError):
    """A session in which no part was measured: there is nothing to judge or show."""

    exit_code = 3

    def __init__(self, folder: str):
        super().__init__(
            f"nothing was measured yet in {folder}; it ended before its first part. Go on with "
            "homeport run STUDY --resume"
        )
        self.folder = folder


class UnreadableOutput(HomeportError):
    """A tool ran, but what it printed is not what we know how to read."""

    def __init__(self, tool: str, expected: str, text: str):
        super().__init__(f"{tool}: expected {expected}, got: {text.strip()[-200:]!r}")
        self.tool, self.expected, self.text = tool, expected, text


class CommandFailed(HomeportError):
    """A command ended with an exit code its caller had not allowed for."""

    def __init__(self, place: str, command: list[str], code: int, stderr: str):
        super().__init__(
            f"{place}: {' '.join(command)} exited with {code}: {stderr.strip()[-200:]}"
        )
        self.place, self.command, self.code, self.stderr = place, command, code, stderr


class DeadlinePassed(HomeportError):
    """A command did not end in its time and was killed with everything it had started."""

    def __init__(self, place: str, command: list[str], timeout_s: float):
        super().__init__(f"{place}: {' '.join(command)} did not end within {timeout_s:g} s; killed")
        self.place, self.command, self.timeout_s = place, command, timeout_s


class MissingTool(HomeportError):
    """A program that a measurement needs is not installed at the place."""

    exit_code = 2

    def __init__(self, place: str, tool: str, install: str):
        super().__init__(f"{place}: {tool} is not installed; {install}")
        self.place, self.tool, self.install = place, tool, install


class NoEmulation(HomeportError):
    """This machine cannot carry the emulated world."""

    exit_code = 2

    def __init__(self, reason: str, remedy: str):
        super().__init__(f"the emulated world cannot run here: {reason}. {remedy}")
        self.reason, self.remedy = reason, remedy


class WorldBroken(HomeportError):
    """The emulated world stopped, or did something it must not."""


class ClockSetBack(HomeportError):
    """This machine's clock was set back: what follows would bear the times of what went before."""

    exit_code = 3

    def __init__(self, seconds: float):
        super().__init__(
            f"this machine's clock was set back by {seconds:.1f} s; what was measured before is "
            "kept. Let the clock settle, then start a new session"
        )
        self.seconds = seconds


class NoLab(HomeportError):
    """No lasting lab is up, where one is needed."""

    exit_code = 2

    def __init__(self):
        super().__init__("no lab is up; bring one up with: homeport lab up STUDY")


class LabDiffers(HomeportError):
    """A lab is up, but it is not the world that a study asks for."""

    exit_code = 2

    def __init__(self, study: str, differences: list[str]):
        super().__init__(
            f"the lab that is up is not the world of {study}: {'; '.join(differences)}. "
            "End it with: homeport lab down"
        )
        self.study, self.differences = study, differences


class GangFailed(HomeportError):
    """A distributed training run ended early; names the rank at the root, not its victims."""

    def __init__(self, rank: int | None, place: str, cause: str, victims: tuple[int, ...] = ()):
        who = "the gang" if rank is None else f"rank {rank} at {place}"
        rest = f"; ranks {list(victims)} failed after it" if victims else ""
        super().__init__(f"{who}: {cause}{rest}")
        self.rank, self.place, self.cause, self.victims = rank, place, cause, victims


class AgentDied(HomeportError):
    """The warm training agent of a place stopped answering."""

    def __init__(self, place: str, cause: str):
        super().__init__(f"the training agent at {place} is gone: {cause}")
        self.place, self.cause = place, cause


class PageFailed(HomeportError):
    """A notebook did not run to its end, or left no part behind."""

    exit_code = 3

    def __init__(self, page: str, status: str, reason: str):
        super().__init__(f"{page}: {status}: {reason}")
        self.page, self.status, self.reason = page, status, reason


class Busy(HomeportError):
    """Another run holds the lock."""

    exit_code = 2

    def __init__(self, what: str, holder: str):
        super().__init__(f"{what} is in use by {holder}; wait for it, or end it first")
        self.what, self.holder = what, holder


class CapExceeded(HomeportError):
    """A run would cost more minutes, bytes or money than its study allows."""

    exit_code = 2

    def __init__(self, cap: str, predicted: float, allowed: float, where: str):
        super().__init__(
            f"{where}: the run needs about {predicted:.3g} {cap}, the cap is {allowed:g}; "
            "raise the cap, or ask for fewer rounds"
        )
        self.cap, self.predicted, self.allowed, self.where = cap, predicted, allowed, where


class CannotWrite(HomeportError):
    """The disk is full, read-only, or not ours to write; what was measured so far is kept."""

    exit_code = 3

    def __init__(self, path: str, reason: str):
        super().__init__(
            f"cannot write {path}: {reason}. Make room, or name another folder in HOMEPORT_DATA; "
            "what was measured so far is kept"
        )
        self.path, self.reason = path, reason


class NotComparable(HomeportError):
    """Data that may be described but must not be compared (single, or not interleaved)."""

    exit_code = 3


class Damaged(HomeportError):
    """A stored file is torn, was changed, or carries a schema this version does not read."""

    exit_code = 6

    def __init__(self, file: str, seen: str, expected: str):
        super().__init__(f"{file}: expected {expected}, found {seen}")
        self.file, self.seen, self.expected = file, seen, expected

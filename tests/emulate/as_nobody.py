"""Runs Python code as the user nobody, with /dev/net/tun as open as we like.

as_nobody.py MODE CODE [CODE …]: MODE (octal) is that of /dev/net/tun; the codes run one after
another, in mounts of their own, so that the machine's own device stays as it is. Exits with
NO_PYTHON where nobody may execute no Python that fits.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from homeport.emulate import linux

NOBODY = 65534
NO_PYTHON = 77
MS_PRIVATE = 1 << 18


def lay_over_the_device(mode):
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | MS_PRIVATE)
    linux.mount("tmpfs", "/dev/net", "tmpfs")
    os.mknod("/dev/net/tun", stat.S_IFCHR, os.makedev(10, 200))
    Path("/dev/net/tun").chmod(mode)
    Path("/dev/net/runtime").mkdir(mode=0o700)
    os.chown("/dev/net/runtime", NOBODY, NOBODY)


def interpreter():
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        if path and os.access(path, os.X_OK):
            return path
    sys.exit(NO_PYTHON)


if __name__ == "__main__":
    lay_over_the_device(int(sys.argv[1], 8))
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[1:])
    os.environ["HOMEPORT_RUNTIME"] = "/dev/net/runtime"
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    for code in sys.argv[2:]:
        done = subprocess.run([interpreter(), "-c", code], timeout=30)
        if done.returncode:
            sys.exit(done.returncode)

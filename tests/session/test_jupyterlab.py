"""JupyterLab as the README starts it: it serves the pages, and one runs in a kernel of its."""

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
import small
from processes import of_environment
from tornado.websocket import websocket_connect

from homeport.params import root

JUPYTER = Path(sys.executable).parent / "jupyter"
PAGE = "40_decision.ipynb"
ASKED = "execute_request"
pytestmark = pytest.mark.notebook


class Lab:
    """A running JupyterLab: its address, and requests with its token."""

    def __init__(self, address: str, token: str):
        self.address, self.token = address, token

    def ask(self, path: str, body: dict | None = None, token: str | None = None) -> bytes:
        head = {"Authorization": f"token {token or self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, head)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    async def run(self, kernel: str, cells: list[str]) -> list[dict]:
        """Execute the cells one after another; gives what they showed, by kind of content."""
        path = f"api/kernels/{kernel}/channels?token={self.token}"
        socket = await websocket_connect(self.address.replace("http", "ws", 1) + path)
        shown = []
        for cell in cells:
            await socket.write_message(request_to_execute(cell))
            # The reply and what the cell shows come by different channels, in either order.
            replied = idle = False
            while not (replied and idle):
                told = json.loads(await asyncio.wait_for(socket.read_message(), 120))
                kind, content = told["msg_type"], told["content"]
                if kind == "execute_reply":
                    assert content["status"] == "ok", content
                    replied = True
                elif kind == "execute_result":
                    shown.append(content["data"])
                elif kind == "status" and told["parent_header"].get("msg_type") == ASKED:
                    idle = content["execution_state"] == "idle"
        socket.close()
        return shown


def request_to_execute(code: str) -> str:
    header = {"msg_id": secrets.token_hex(8), "msg_type": ASKED, "version": "5.3"}
    header |= {"session": "test", "username": "test", "date": ""}
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    message = {"header": header, "content": content, "parent_header": {}, "metadata": {}}
    return json.dumps({**message, "channel": "shell", "buffers": []})


@contextlib.contextmanager
def jupyterlab(folder: Path):
    token = secrets.token_hex(16)
    given = ["--no-browser", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={token}"]
    if os.geteuid() == 0:
        given.append("--allow-root")
    own = {f"JUPYTER_{what}_DIR": str(folder / what) for what in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**small.environment(folder / "runs"), **own}
    del environment["HOMEPORT_ROOT"]  # the page must find the project by itself
    with (folder / "log").open("w") as log:
        child = subprocess.Popen(
            [JUPYTER, "lab", "notebooks", *given],
            cwd=root(),
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        (facts,) = small.wait_for(
            lambda: child.poll() is None and list(folder.glob("RUNTIME/jpserver-*.json")),
            timeout_s=60,
            what=f"start of JupyterLab (see {folder / 'log'})",
        )
        yield Lab(json.loads(facts.read_text())["url"], token)
        child.terminate()
        child.wait(30)
    finally:
        child.kill()
        child.wait()


def test_jupyterlab_serves_the_pages_and_runs_one(tmp_path):
    cells = nbformat.read(root() / "notebooks" / PAGE, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    code[0] = 'study, session = "data/sample", "newest"'  # as a reader would type it
    with jupyterlab(tmp_path) as lab:
        listed = {entry["name"] for entry in json.loads(lab.ask("api/contents"))["content"]}
        assert listed >= {page.name for page in (root() / "notebooks").glob("*.ipynb")}
        assert b"JupyterLab" in lab.ask(f"lab/tree/{PAGE}")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            lab.ask("api/contents", token="wrong")
        opened = {"path": PAGE, "name": PAGE, "type": "notebook", "kernel": {"name": "python3"}}
        kernel = json.loads(lab.ask("api/sessions", body=opened))["kernel"]
        shown = asyncio.run(
            lab.run(kernel["id"], code[:-1])
        )  # the last one writes beside the sample
    assert any("Hong Kong" in str(data) for data in shown)
    small.wait_for(lambda: not of_environment(str(tmp_path)), timeout_s=10, what="end of kernels")

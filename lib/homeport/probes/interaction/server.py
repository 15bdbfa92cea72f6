"""The candidate's end: answers each observation with an action of a small numpy policy.

Run as `python -m homeport.probes.interaction.server`; prints `listening PORT` once it is
reachable, on one named address, and ends after its deadline.
"""

import argparse
import contextlib
import itertools
import os
import socket
import threading
import time

import numpy as np

from homeport.probes.interaction.wire import REPLY, REQUEST, receive_exactly

_LARGEST = 1_000_000  # float32 values in one observation; a garbled length must not eat memory


class Policy:
    """A tanh MLP with fixed random weights: the arithmetic of acting, not what it learned."""

    def __init__(self, observation_size: int, hidden: list[int], actions: int):
        rng = np.random.default_rng(0)
        sizes = [observation_size, *hidden, actions]
        pairs = itertools.pairwise(sizes)
        self.layers = [
            (
                rng.standard_normal((a, b), dtype=np.float32) / np.float32(np.sqrt(a)),
                np.zeros(b, dtype=np.float32),
            )
            for a, b in pairs
        ]

    def act(self, observation: np.ndarray) -> int:
        """The most probable action for one observation of shape (observation_size,)."""
        x = observation
        for weight, bias in self.layers[:-1]:
            x = np.tanh(x @ weight + bias)
        weight, bias = self.layers[-1]
        return int(np.argmax(x @ weight + bias))


def answer(connection: socket.socket, policy: Policy) -> None:
    """Serve one connection until the peer closes it."""
    size = policy.layers[0][0].shape[0]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, contextlib.suppress(EOFError, ConnectionError):
        while True:
            head = receive_exactly(connection, REQUEST.size)
            arrived_ns = time.perf_counter_ns()
            sequence, length = REQUEST.unpack(head)
            if not 0 < length <= _LARGEST:
                return
            body = receive_exactly(connection, 4 * length)
            observation = np.frombuffer(body, dtype=">f4").astype(np.float32)
            begun_ns = time.perf_counter_ns()
            action = policy.act(np.resize(observation, size))
            done_ns = time.perf_counter_ns()
            reply = REPLY.pack(sequence, action, done_ns - arrived_ns, done_ns - begun_ns)
            connection.sendall(reply)


def serve(address: str, policy: Policy) -> None:
    """Listen on a free port of one address and serve every connection in a thread."""
    with socket.create_server((address, 0), backlog=16) as listener:
        print("listening", listener.getsockname()[1], flush=True)  # noqa: T201 - the protocol
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection, policy), daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--deadline-s", type=float, required=True)
    parser.add_argument("--observation-size", type=int, required=True)
    parser.add_argument("--hidden", required=True)
    parser.add_argument("--actions", type=int, required=True)
    args = parser.parse_args()
    # A listener must never outlive its session, whatever becomes of the runner.
    end = threading.Timer(args.deadline_s, os._exit, args=(0,))
    end.daemon = True
    end.start()
    hidden = [int(width) for width in args.hidden.split(",")]
    serve(args.address, Policy(args.observation_size, hidden, args.actions))


if __name__ == "__main__":
    main()

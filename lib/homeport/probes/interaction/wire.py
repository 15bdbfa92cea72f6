"""What goes over the connection: one observation there, one action back."""

import socket
import struct

# Request: sequence, number of float32 that follow. Both in network byte order.
REQUEST = struct.Struct("!IH")
# Reply: sequence, action, nanoseconds at the server in all, nanoseconds of policy forward.
REPLY = struct.Struct("!IiQQ")


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """Read `count` bytes; EOFError if the peer closes before."""
    got = bytearray()
    while len(got) < count:
        piece = connection.recv(count - len(got))
        if not piece:
            raise EOFError(f"connection closed after {len(got)} of {count} bytes")
        got += piece
    return bytes(got)


def request(sequence: int, observation: tuple[float, ...]) -> bytes:
    """Pack one observation (float32 values)."""
    head = REQUEST.pack(sequence, len(observation))
    return head + struct.pack(f"!{len(observation)}f", *observation)

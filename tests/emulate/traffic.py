"""Plain senders and receivers, run inside the hosts of a world; each prints one line of JSON.

traffic.py tcp-in ADDRESS PORT          receive one connection; seconds and bytes per 50 ms
traffic.py tcp-out ADDRESS PORT SECONDS send as fast as it goes
traffic.py udp-in ADDRESS PORT IDLE_S   receive numbered packets until IDLE_S of silence
traffic.py udp-out ADDRESS PORT COUNT SIZE RATE_PER_S
traffic.py resolve NAME
"""

import contextlib
import json
import socket
import struct
import sys
import time

SO_RCVBUFFORCE = 33  # from asm/socket.h: without it a busy machine loses packets in the socket
clock = time.monotonic


def say(**facts):
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def tcp_in(address, port):
    with socket.create_server((address, int(port))) as server:
        server.settimeout(30)
        say(ready=True)
        connection, _ = server.accept()
        bins, total, mark = [], 0, clock()
        with connection:
            while data := connection.recv(1 << 18):
                total += len(data)
                if clock() - mark > 0.05:
                    mark = clock()
                    bins.append((mark, total))
    say(bins=bins)


def tcp_out(address, port, seconds):
    with socket.create_connection((address, int(port)), timeout=30) as connection:
        end, block, sent = clock() + float(seconds), bytes(1 << 16), 0
        while clock() < end:
            sent += connection.send(block)
        control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    say(sent=sent, congestion_control=control.rstrip(b"\0").decode())


def udp_in(address, port, idle_s):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        with contextlib.suppress(PermissionError):  # the root of a user namespace may not
            sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        sink.bind((address, int(port)))
        sink.settimeout(30)
        say(ready=True)
        numbers = []
        try:
            while True:
                numbers.append(struct.unpack_from("!I", sink.recv(65536))[0])
                sink.settimeout(float(idle_s))
        except TimeoutError:
            say(numbers=numbers)


def udp_out(address, port, count, size, rate_per_s):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
        source.connect((address, int(port)))
        filler, began = bytes(int(size) - 4), clock()
        for number in range(int(count)):
            ahead = began + number / float(rate_per_s) - clock()
            if ahead > 0.001:
                time.sleep(ahead)
            source.send(struct.pack("!I", number) + filler)
    say(sent=int(count))


def resolve(name):
    began = clock()
    try:
        address = socket.gethostbyname(name)
    except OSError as unknown:
        address = str(unknown)
    say(address=address, seconds=clock() - began, machine=socket.gethostname())


if __name__ == "__main__":
    kinds = {"tcp-in": tcp_in, "tcp-out": tcp_out, "udp-in": udp_in, "udp-out": udp_out}
    {**kinds, "resolve": resolve}[sys.argv[1]](*sys.argv[2:])

"""Checks how ThumbnailServer treats clients that are slow, send invalid requests, or end their side early."""

import re
import select
import socket
import time
import urllib.parse
import urllib.request

# Without a limit, 256 of them took all threads.
DRIPPING_CLIENTS = 300
SLOW_READERS = 60
OUTPUT_LIMIT = 64 << 20


def connect(base):
    address = urllib.parse.urlsplit(base)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def read_all(connection):
    data = b""
    while chunk := connection.recv(1 << 16):
        data += chunk
    return data


def statuses(base, request, ends_side=True):
    """The statuses of all responses to some bytes, after which the client may end its side."""
    with connect(base) as connection:
        connection.sendall(request)
        if ends_side:
            connection.shutdown(socket.SHUT_WR)
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", read_all(connection))]


def health(base):
    with urllib.request.urlopen(f"{base}/health", timeout=60) as response:
        return response.read()


def check_refusals(base):
    def get(*fields, target="/health", end="\r\n"):
        return end.join([f"GET {target} HTTP/1.1", "Host: a", *fields, "", ""]).encode()

    cases = [
        (get(), [200]), (get("Content-Length: 0"), [200]), (b"\r\n" + get(), [200]),
        (get("Content-Length : 0"), [400]), (get("Content-Length\t: 0"), [400]), (get("X: 1", " folded"), [400]),
        (get(end="\n") + b"\r\n\r\n", [400]), (get("X\r: 1"), [400]), (get("X: \0"), [400]), (get(": 1"), [400]),
        (get("Content-Length: 0", "Content-Length: 0"), [400]), (get("Content-Length: +1"), [400]), (get("Content-Length:"), [400]),
        (get("Content-Length: 1", "Transfer-Encoding: chunked"), [400]), (get("Transfer-Encoding: chunked"), [501]),
        (get("Content-Length: 99999999999999999999"), [413]), (get("Content-Length: 1000000"), [413]),
        (get("Content-Length: 5", "Expect: 100-continue"), [417]), (get("Host: b"), [400]), (b"GET / HTTP/1.1\r\n\r\n", [400]),
        (b"GET /health HTTP/2.0\r\nHost: a\r\n\r\n", [505]), (b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", [405]), (b"\x16\x03\x01\r\n\r\n", [400]),
        (get("X: " + 20000 * "a"), [431]), (b"GET /" + 20000 * b"a", [431]),
        # Bodies are skipped, and more requests may be there already.
        (get("Content-Length: 5") + b"12345" + get() + get(target="/else"), [200, 200, 404]),
        # What was refused may have hidden a request.
        (get("Content-Length : 60") + get(), [400]), (get("Connection: close") + get(), [200]),
    ]
    for request, expected in cases:
        actual = statuses(base, request)
        assert actual == expected, f"{request[:100]}: {actual} is not {expected}"
    # A client that does not end its side gets the same, and an end.
    assert statuses(base, get("Content-Length : 0"), ends_side=False) == [400]
    # Nothing is answered that never was complete.
    assert statuses(base, get()[:-2]) == []


def check_half_closed_clients(base, path):
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    assert statuses(base, request) == [200]
    assert statuses(base, request + request) == [200, 200]


def check_dripping_clients(base, client_time):
    heads = [connect(base) for _ in range(DRIPPING_CLIENTS)]
    for connection in heads:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n")
    bodies = [connect(base) for _ in range(20)]
    for connection in bodies:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
    assert health(base) == b"ok\n"
    # No deadline was needed.
    assert not select.select(heads + bodies, [], [], 0)[0], "clients were closed before the others were served"
    end = time.monotonic() + client_time + 60
    open_clients = heads + bodies
    while open_clients:
        assert time.monotonic() < end, f"{len(open_clients)} dripping clients are still served"
        ended = select.select(open_clients, [], [], 0.5)[0]
        for connection in ended:
            open_clients.remove(connection)
            try:
                answer = read_all(connection)
            except ConnectionError:
                answer = None
            assert answer is None or answer.startswith(b"HTTP/1.1 408 "), answer
            connection.close()
        for connection in open_clients:
            try:
                connection.send(b"x")
            except ConnectionError:
                pass


def memory(process):
    """In bytes."""
    with open(f"/proc/{process}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) << 10


def check_slow_readers(base, path, process):
    def fetch():
        with urllib.request.urlopen(base + path, timeout=60) as response:
            return response.read()

    size = len(fetch())
    assert SLOW_READERS * size > 2 * OUTPUT_LIMIT, "the responses are too short"
    before = memory(process)
    readers = []
    for _ in range(SLOW_READERS):
        connection = connect(base)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        readers.append(connection)
        # Its response has begun: a thread has ended.
        assert connection.recv(1)
    growth = memory(process) - before
    assert len(fetch()) == size
    complete = 0
    for connection in readers:
        try:
            connection.shutdown(socket.SHUT_WR)
            complete += len(read_all(connection)) >= size
        except OSError:
            pass
        connection.close()
    # The memory is printed only: the allocator keeps a part of what the encoders have used.
    print(f"{SLOW_READERS} slow readers of {size / 1e6:.1f} MB: {growth / 1e6:.0f} MB more memory, {complete} were served")
    assert complete * size <= OUTPUT_LIMIT + SLOW_READERS * (1 << 20), "more than the limit waited"
    assert 0 < complete < SLOW_READERS

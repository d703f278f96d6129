#!/usr/bin/env python3
"""Proxies for tests: HTTP (forward and CONNECT) and SOCKS 4, 4a and 5, on two ports, which it prints; they run until standard
input ends. With `--credential USER:PASSWORD` both ask for it (Basic, or the SOCKS 5 password method).

Names are "looked up" as 127.0.0.1, whatever they are. Every request that a proxy was asked for is appended to what

    GET http://control/log

through the HTTP proxy answers: a JSON list of {"kind", "target", "authorization"}, kind being forward, connect, socks4,
socks4a, socks5 or socks5h, and target HOST:PORT as it came.
"""

import base64
import json
import re
import select
import socket
import sys
import threading

entries = []
lock = threading.Lock()
credential = sys.argv[2].encode() if sys.argv[1:2] == ["--credential"] else None


def note(kind, host, port, authorization=None):
    with lock:
        entries.append({"kind": kind, "target": f"{host}:{port}", "authorization": authorization})


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


def read_until(connection, end):
    data = b""
    while not data.endswith(end):
        data += read_exactly(connection, 1)
    return data


def relay(one, other):
    with other:
        pairs = {one: other, other: one}
        while True:
            for source in select.select(list(pairs), [], [])[0]:
                data = source.recv(65_536)
                if not data:
                    return
                pairs[source].sendall(data)


def open_target(port):
    return socket.create_connection(("127.0.0.1", port))


def answer(connection, code, body=b"", *lines):
    head = [f"HTTP/1.1 {code} Status", f"Content-Length: {len(body)}", "Connection: close", *lines, "", ""]
    connection.sendall("\r\n".join(head).encode() + body)


def serve_http(connection):
    head = read_until(connection, b"\r\n\r\n").decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    fields = [line.partition(":")[::2] for line in lines if line]
    authorization = next((value.strip() for name, value in fields if name.lower() == "proxy-authorization"), None)
    if target == "http://control/log":
        with lock:
            return answer(connection, 200, json.dumps(entries).encode())
    address = target if method == "CONNECT" else target.removeprefix("http://").split("/")[0]
    host, _, port = address.rpartition(":")
    note("connect" if method == "CONNECT" else "forward", host, port, authorization)
    if credential and authorization != "Basic " + base64.b64encode(credential).decode():
        return answer(connection, 407, b"", 'Proxy-Authenticate: Basic realm="proxy"')
    server = open_target(int(port))
    if method == "CONNECT":
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        return relay(connection, server)
    path = "/" + target.removeprefix("http://").partition("/")[2]
    kept = [f"{name}:{value}" for name, value in fields if not name.lower().startswith("proxy-")]
    with server:
        server.sendall("\r\n".join([f"{method} {path} HTTP/1.1", *kept, "", ""]).encode("latin-1"))
        # One answer a connection: whatever else the client sends on it must not reach the server as it is.
        head = read_until(server, b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        body = read_exactly(server, int(length[1]) if length else 0)
        connection.sendall(head[:-2] + b"Connection: close\r\n\r\n" + body)


def serve_socks4(connection):
    _, port, address = (lambda d: (d[0], int.from_bytes(d[1:3], "big"), d[3:7]))(read_exactly(connection, 7))
    read_until(connection, b"\0")
    is_name = address[:3] == b"\0\0\0"
    host = read_until(connection, b"\0")[:-1].decode() if is_name else socket.inet_ntoa(address)
    note("socks4a" if is_name else "socks4", host, port)
    server = open_target(port)
    connection.sendall(b"\0\x5a" + bytes(6))
    relay(connection, server)


def serve_socks5(connection):
    methods = read_exactly(connection, read_exactly(connection, 1)[0])
    if credential:
        if 2 not in methods:
            return connection.sendall(b"\5\xff")
        connection.sendall(b"\5\2")
        read_exactly(connection, 1)
        user = read_exactly(connection, read_exactly(connection, 1)[0])
        password = read_exactly(connection, read_exactly(connection, 1)[0])
        is_right = user + b":" + password == credential
        connection.sendall(b"\1\0" if is_right else b"\1\1")
        if not is_right:
            return
    else:
        connection.sendall(b"\5\0")
    kind = read_exactly(connection, 4)[3]
    if kind == 3:
        host = read_exactly(connection, read_exactly(connection, 1)[0]).decode()
    else:
        family, count = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
        host = socket.inet_ntop(family, read_exactly(connection, count))
    port = int.from_bytes(read_exactly(connection, 2), "big")
    note("socks5h" if kind == 3 else "socks5", host, port)
    server = open_target(port)
    connection.sendall(b"\5\0\0\1" + bytes(6))
    relay(connection, server)


def serve_socks(connection):
    if read_exactly(connection, 1) == b"\4":
        serve_socks4(connection)
    else:
        serve_socks5(connection)


def serve(connection, handler):
    with connection:
        try:
            handler(connection)
        except (OSError, ValueError):
            pass


def accept_all(listener, handler):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, handler), daemon=True).start()


def main():
    ports = []
    for handler in (serve_http, serve_socks):
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        ports.append(listener.getsockname()[1])
        threading.Thread(target=accept_all, args=(listener, handler), daemon=True).start()
    print(*ports, flush=True)
    sys.stdin.buffer.read()


main()

#!/usr/bin/env python3
"""connection_server.py CERTIFICATE KEY

A server that breaks the rules of connections: of TLS, of HTTP/2, and of HTTP/1.1 where one answer ends and the next begins.

It prints its ports on 127.0.0.1, in the order of PORTS below, and runs until its standard input ends. Over HTTP/1.1 the first part
of the path names the behaviour, the rest is free:

    /bytes/...      10 bytes
    /kept/...       the same; /control/push sends another answer, STRAY, on all connections that have answered one of these
    /close-kept/... the same; /control/push closes the connection first
    /trailing/...   the same, with STRAY in the same packet (over TLS: record) as the body
    /unclosed/...   no length, 10 bytes, then the end of the connection, over TLS without close_notify
    /closed/...     the same with close_notify
    /framed/...     the same as /closed, with the status line of HTTP/2
    /cut-chunks/... a chunked body without its end
    /spaces/...     a redirect to /space, on a connection that is closed
    /space          a response with a space before its first header line
    /session/...    whether the connection resumes a TLS session: `new` or `resumed`; then the connection is closed

Over HTTP/2 the port decides: 10 bytes without a length that end as they should (`h2`), are cut by a reset with NO_ERROR
(`h2-reset`), or stay away while bytes arrive on a stream that is not open (`h2-stray`). `h2-digest` refuses every password, with
an answer that has neither a length nor a body. The same ports answer over HTTP/1.1 as /whole, as /cut-chunks, and with a refusal that
has a length, whatever the path.

    /control/push         see /kept; answers the number of connections that got something
    /control/statistics   JSON: connections and requests by port
"""

import json
import socket
import ssl
import struct
import sys
import threading

PORTS = ["plain", "tls", "h2", "h2-reset", "h2-stray", "h2-digest"]
BODY = bytes((i * 31 + i // 251) & 255 for i in range(10))
STRAY = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nSTRAY"

CHALLENGE = 'Digest realm="test", nonce="bm9uY2U", qop="auth"'

lock = threading.Lock()
kept = []
connections = dict.fromkeys(PORTS, 0)
requests = dict.fromkeys(PORTS, 0)


def count(counter, port):
    with lock:
        counter[port] += 1


def end(connection, announced=True):
    """Ends it in both directions; `announced` is about TLS."""
    try:
        if announced and isinstance(connection, ssl.SSLSocket):
            # The client need not answer it.
            connection.settimeout(0.1)
            connection = connection.unwrap()
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def push():
    with lock:
        waiting = kept[:]
        kept.clear()
    for told, done in waiting:
        told.set()
        done.wait()
    return len(waiting)


def wait_for_push():
    """On the connection's own thread, since a TLS connection is for one at a time. Returns what to set once it has sent."""
    told, done = threading.Event(), threading.Event()
    with lock:
        kept.append((told, done))
    return told, done


def statistics():
    with lock:
        return json.dumps({"connections": connections, "requests": requests}).encode()


def answer(connection, body=BODY, *lines, status="200 OK"):
    head = [f"HTTP/1.1 {status}", "Content-Type: image/png", f"Content-Length: {len(body)}", *lines]
    connection.sendall("\r\n".join([*head, "", ""]).encode() + body)


def behave(connection, path):
    """Answers over HTTP/1.1; True when the connection can carry another request."""
    name = path.split("/")[1]
    if path == "/control/push":
        answer(connection, str(push()).encode())
    elif path == "/control/statistics":
        answer(connection, statistics())
    elif name in ("kept", "close-kept"):
        # Before the answer: the client may ask for the push as soon as it has it.
        told, done = wait_for_push()
        answer(connection)
        told.wait()
        try:
            if name == "kept":
                connection.sendall(STRAY)
            else:
                end(connection)
        finally:
            done.set()
        return name == "kept"
    elif name == "trailing":
        # The client reads a body by its length, and so only as far as it goes.
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\n\r\n".encode())
        connection.sendall(BODY + STRAY)
    elif name in ("unclosed", "closed", "framed"):
        version = b"HTTP/2" if name == "framed" else b"HTTP/1.1"
        connection.sendall(version + b" 200 OK\r\nContent-Type: image/png\r\nConnection: close\r\n\r\n" + BODY)
        end(connection, announced=name != "unclosed")
        return False
    elif name == "cut-chunks":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + BODY[:5] + b"\r\n")
        end(connection)
        return False
    elif name == "refused":
        answer(connection, b"", f"WWW-Authenticate: {CHALLENGE}", status="401 Unauthorized")
    elif name == "whole":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n" + BODY + b"\r\n0\r\n\r\n")
    elif name == "spaces":
        answer(connection, b"", "Location: /space", "Connection: close", status="302 Found")
        end(connection)
        return False
    elif name == "space":
        connection.sendall(b"HTTP/1.1 200 OK\r\n X: 5\r\nContent-Length: 10\r\n\r\n" + BODY)
    elif name == "session":
        answer(connection, b"resumed" if connection.session_reused else b"new", "Connection: close")
        end(connection)
        return False
    else:
        answer(connection)
    return True


def serve_http1(connection, port):
    pending = b""
    while True:
        while b"\r\n\r\n" not in pending:
            data = connection.recv(65_536)
            if not data:
                return connection.close()
            pending += data
        head, _, pending = pending.partition(b"\r\n\r\n")
        count(requests, port)
        path = head.split(b" ")[1].decode()
        if port.startswith("h2") and path != "/control/push":
            path = {"h2": "/whole", "h2-digest": "/refused"}.get(port, "/cut-chunks")
        if not behave(connection, path):
            return None


DATA, HEADERS, RST_STREAM, SETTINGS, PING = 0, 1, 3, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A header field as HPACK writes it without its tables (RFC 7541, 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


STATUS_200 = b"\x88"


def h2_answer(port, stream):
    if port == "h2-digest":
        fields = field(b":status", b"401") + field(b"www-authenticate", CHALLENGE.encode())
        return frame(HEADERS, END_HEADERS | END_STREAM, stream, fields)
    head = frame(HEADERS, END_HEADERS, stream, STATUS_200 + field(b"content-type", b"image/png"))
    # The client answers a PING once it has read what came before.
    ping = frame(PING, 0, 0, struct.pack(">Q", stream))
    if port == "h2-reset":
        return head + frame(DATA, 0, stream, BODY[:5]) + ping
    if port == "h2-stray":
        return head + ping
    return head + frame(DATA, 0, stream, BODY) + frame(DATA, END_STREAM, stream)


def h2_fault(port, stream):
    if port == "h2-reset":
        return frame(RST_STREAM, 0, stream, struct.pack(">I", 0))
    return frame(DATA, 0, stream + 2, BODY)


def serve_http2(connection, port):
    stream = connection.makefile("rb")
    stream.read(24)
    connection.sendall(frame(SETTINGS, 0, 0))
    while header := stream.read(9):
        length, kind, flags = int.from_bytes(header[:3], "big"), header[3], header[4]
        payload = stream.read(length)
        if kind == SETTINGS and not flags & ACK:
            connection.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            connection.sendall(frame(PING, ACK, 0, payload))
        elif kind == PING:
            connection.sendall(h2_fault(port, int.from_bytes(payload, "big")))
        elif kind == HEADERS:
            count(requests, port)
            connection.sendall(h2_answer(port, int.from_bytes(header[5:], "big")))
    connection.close()


def serve(connection, port, context):
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            connection = context.wrap_socket(connection, server_side=True)
            if connection.selected_alpn_protocol() == "h2":
                return serve_http2(connection, port)
        serve_http1(connection, port)
    except OSError:
        connection.close()


def accept_all(listener, port, context):
    while True:
        connection, _ = listener.accept()
        count(connections, port)
        threading.Thread(target=serve, args=(connection, port, context), daemon=True).start()


def main():
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in PORTS]
    for listener, port in zip(listeners, PORTS):
        context = None
        if port != "plain":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            context.set_alpn_protocols(["h2", "http/1.1"] if port.startswith("h2") else ["http/1.1"])
        threading.Thread(target=accept_all, args=(listener, port, context), daemon=True).start()
    print(*(listener.getsockname()[1] for listener in listeners), flush=True)
    sys.stdin.buffer.read()


main()

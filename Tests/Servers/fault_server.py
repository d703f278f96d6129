#!/usr/bin/env python3
"""An HTTP server that misbehaves on purpose, in ways no real one can be told to.

It prints its two ports (two origins, same behaviour) and runs until its standard input ends. The first part of the
path names the behaviour, the rest is free, so that each test can count its own requests; numbers come as ?name=value:

    /bytes/...?size=N             N bytes, the pattern of `pattern()` below
    /empty/...  /no-content/...   200 with Content-Length 0; 204
    /html/...                     a page with status 200
    /status/...?code=N            that status, with a small page as body
    /echo/...                     the request's headers as JSON
    /mirror/...                   the whole request as JSON: method, headers, body
    /redirect/...?to=L&code=N     that Location (302 unless told)
    /redirect-loop/...            to itself
    /redirect-chain/...?left=N&wait=S  N redirects, each S seconds late, then 10 bytes
    /held/...?size=N              nothing until /control/release?path=...; then as /bytes
    /cut-body/...?size=N&sent=M   announces N, sends M, closes
    /short-length/...?size=N&sent=M  announces N, sends M > N
    /short-picture/...            the first half of a PNG, announced as the whole
    /cut-headers/...              closes in the middle of the head
    /reset/...  /reset-headers/...  /reset-body/...  a TCP reset before any byte; in the middle of the head, of the body
    /stall-headers/...            accepts the request and says nothing
    /stall-body/...?size=N&sent=M announces N, sends M, then nothing
    /drip/...?size=N&interval=S   one byte every S seconds
    /drip-head/...?interval=S     header fields, one every S seconds, until the client goes
    /informational/...?count=N&interval=S  N answers 103, one every S seconds, then 10 bytes; without N until the client goes
    /chunked/...?size=N           N bytes in chunks of at most 1000
    /cut-chunked/...?sent=M       a chunked body without its end
    /endless/...                  no length, bytes until the client goes
    /endless-chunked/...          the same in chunks
    /endless-headers/...          header fields until the client goes
    /large-header/...?size=N      one field of N bytes, then as /bytes?size=10
    /many-headers/...?count=N     N fields, then as /bytes?size=10
    /old/...                      10 bytes over HTTP/1.0
    /not-http/...  /bad-status/...  another protocol's greeting; a status line without a number
    /not-modified/...             304 to whatever was asked
    /gzip-bomb/...?size=N         N zeros, gzip-coded, whatever was asked for; its length is that of the coded bytes
    /coded-transfer/...?coding=L&size=N  N zeros in that list of transfer codings, as often in gzip as it has members but `chunked`
    /endless-trailers/...         a chunked body of 10 bytes, then trailer fields until the client goes
    /digest/...?algorithm=A       Digest authentication for `user` with `secret` (RFC 7616; MD5 unless told), then 10 bytes
    /answer/...?code=N&header=H   that status and each header, such as `Set-Cookie: a=b`, then 10 bytes
    /flaky/N?of=10&bad=3          a PNG of the colour N; by a draw that is the same in each run, BAD of OF transfers fail in one
                                  of six ways: a redirect to a port that refuses, a reset, half a body, 408, 429 with
                                  Retry-After, 503
    /ranges/...?size=N&sent=M&etag=T&lie=L  N bytes with that ETag; the first answer to a path is cut after M of them. A
                                  Range with that If-Range gets the rest, unless L is one of whole, shifted, total, untagged, dated,
                                  short, multipart, unsatisfiable
    /huge-length/...              announces 10**12 bytes, sends 1000, then nothing

    /control/statistics           JSON: requests, dropped, peak and whole by path and by parent path; faults by kind;
                                  accepted connections
    /control/wait?event=E&path=P&count=N&seconds=S  answers once E (requests, dropped) reaches N for P; else 504
"""

import hashlib
import json
import os
import re
import select
import socket
import struct
import sys
import threading
import zlib
from collections import Counter
from urllib.parse import parse_qs, urlsplit

# The tests' folders stay as they are.
sys.dont_write_bytecode = True
from bodies import noise_png, pattern, raw_deflate, solid_png


class ClientGone(Exception):
    pass


class Statistics:
    """What happened, by path and by parent path."""

    def __init__(self):
        self.changed = threading.Condition()
        self.requests, self.dropped, self.running, self.peak = Counter(), Counter(), Counter(), Counter()
        self.whole, self.faults = Counter(), Counter()
        self.accepted = 0
        self.releases = {}

    @staticmethod
    def keys(path):
        return {path, path.rpartition("/")[0]}

    def count(self, event, path, change=1):
        with self.changed:
            counter = getattr(self, event)
            for key in self.keys(path):
                counter[key] += change
                self.peak[key] = max(self.peak[key], self.running[key])
            self.changed.notify_all()

    def wait(self, event, path, count, seconds):
        counter = getattr(self, event)
        with self.changed:
            return self.changed.wait_for(lambda: counter[path] >= count, timeout=seconds)

    def release_descriptor(self, path):
        """A descriptor that is readable once the path has been released."""
        with self.changed:
            if path not in self.releases:
                self.releases[path] = os.eventfd(0, os.EFD_CLOEXEC)
            return self.releases[path]

    def json(self):
        with self.changed:
            return json.dumps({
                "requests": self.requests, "dropped": self.dropped, "peak": self.peak, "accepted": self.accepted,
                "whole": self.whole, "faults": self.faults,
            }).encode()


statistics = Statistics()
refusing = socket.socket()


def refusing_port():
    """A port that refuses every connection: it is reserved, and nothing listens on it."""
    with statistics.changed:
        if refusing.getsockname()[1] == 0:
            refusing.bind(("127.0.0.1", 0))
    return refusing.getsockname()[1]


def digest_response(algorithm, given, method, target):
    """What a client that knows the password answers (RFC 7616, 3.4.1)."""
    digest = lambda text: hashlib.new({"MD5": "md5", "SHA-256": "sha256"}[algorithm], text.encode()).hexdigest()
    parts = [given.get(name, "") for name in ("nonce", "nc", "cnonce", "qop")]
    return digest(":".join([digest("user:tests:secret"), *parts, digest(f"{method}:{target}")]))


class Exchange:
    """One request and its answer. A handler returns True when the connection can carry another."""

    def __init__(self, connection, method, target, headers, content):
        self.connection, self.method, self.target = connection, method, target
        self.headers, self.content = headers, content
        parts = urlsplit(target)
        self.path = parts.path
        self.queries = parse_qs(parts.query)
        self.query = {name: values[-1] for name, values in self.queries.items()}

    def number(self, name, default):
        return int(self.query.get(name, default))

    def send(self, data):
        try:
            self.connection.sendall(data)
        except OSError:
            raise ClientGone from None

    def head(self, *lines, code=200):
        self.send("\r\n".join([f"HTTP/1.1 {code} Status", *lines, "", ""]).encode())

    def answer(self, body, content_type="application/octet-stream", code=200, *lines):
        self.head(f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *lines, code=code)
        if self.method != "HEAD":
            self.send(body)
        return True

    def wait_for_client_to_go(self):
        self.wait_for_client_or([], None)

    def wait_for_client_or(self, descriptors, seconds):
        """Waits for one of the descriptors or the time; raises ClientGone when the client closes first."""
        readable, _, _ = select.select([self.connection, *descriptors], [], [], seconds)
        if self.connection in readable:
            try:
                data = self.connection.recv(1, socket.MSG_PEEK)
            except OSError:
                data = b""
            if not data:
                raise ClientGone

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    # Behaviours, by the first part of the path.

    def bytes(self):
        return self.answer(pattern(self.number("size", 1000)))

    def empty(self):
        return self.answer(b"")

    def no_content(self):
        self.head(code=204)
        return True

    def html(self):
        return self.answer(b"<!doctype html><title>Not a picture</title>", "text/html")

    def status(self):
        return self.answer(b"<!doctype html><title>Error</title>", "text/html", self.number("code", 404))

    def echo(self):
        return self.answer(json.dumps(self.headers).encode(), "application/json")

    def mirror(self):
        request = {"method": self.method, "headers": self.headers, "body": self.content.decode("latin-1")}
        return self.answer(json.dumps(request).encode(), "application/json")

    def redirect(self):
        return self.answer(b"moved", "text/plain", self.number("code", 302), f"Location: {self.query['to']}")

    def redirect_loop(self):
        return self.answer(b"", "text/plain", 302, f"Location: {self.target}")

    def redirect_chain(self):
        left = self.number("left", 1)
        if left == 0:
            return self.answer(pattern(10))
        wait = self.query.get("wait")
        if wait:
            self.wait_for_client_or([], float(wait))
        rest = f"&wait={wait}" if wait else ""
        return self.answer(b"", "text/plain", 302, f"Location: {self.path}?left={left - 1}{rest}")

    def held(self):
        self.wait_for_client_or([statistics.release_descriptor(self.path)], None)
        return self.bytes()

    def cut_body(self):
        self.head(f"Content-Length: {self.number('size', 100_000)}")
        self.send(pattern(self.number("sent", 5000)))
        return False

    def short_length(self):
        self.head(f"Content-Length: {self.number('size', 1000)}")
        self.send(pattern(self.number("sent", 2000)))
        return False

    def short_picture(self):
        image = noise_png(64)
        self.head("Content-Type: image/png", f"Content-Length: {len(image) // 2}")
        self.send(image)
        return False

    def cut_headers(self):
        self.send(b"HTTP/1.1 200 OK\r\nContent-Le")
        return False

    def reset_headers(self):
        self.send(b"HTTP/1.1 200 OK\r\nContent-Le")
        return self.reset()

    def reset_body(self):
        self.head("Content-Length: 10000")
        self.send(pattern(5000))
        return self.reset()

    def stall_headers(self):
        self.wait_for_client_to_go()

    def stall_body(self):
        self.head(f"Content-Length: {self.number('size', 100_000)}")
        self.send(pattern(self.number("sent", 5000)))
        self.wait_for_client_to_go()

    def drip(self):
        body = pattern(self.number("size", 10))
        self.head(f"Content-Length: {len(body)}")
        for byte in body:
            self.send(bytes([byte]))
            self.wait_for_client_or([], float(self.query.get("interval", "0.1")))
        return True

    def drip_head(self):
        self.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.send(b"X-Field: v\r\n")
            self.wait_for_client_or([], float(self.query.get("interval", "0.1")))

    def informational(self):
        left = self.number("count", -1)
        while left != 0:
            self.head(code=103)
            self.wait_for_client_or([], float(self.query.get("interval", "0")))
            left -= 1
        return self.answer(pattern(10), "image/png")

    def chunked(self):
        body = pattern(self.number("size", 10_000))
        self.head("Transfer-Encoding: chunked")
        for start in range(0, len(body), 1000):
            piece = body[start : start + 1000]
            self.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.send(b"0\r\n\r\n")
        return True

    def cut_chunked(self):
        piece = pattern(self.number("sent", 1000))
        self.head("Transfer-Encoding: chunked")
        self.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        return False

    def endless(self):
        self.head("Content-Type: image/png")
        piece = pattern(65_536)
        while True:
            self.send(piece)

    def endless_chunked(self):
        self.head("Transfer-Encoding: chunked")
        piece = b"10000\r\n" + pattern(65_536) + b"\r\n"
        while True:
            self.send(piece)

    def endless_headers(self):
        self.send(b"HTTP/1.1 200 OK\r\n")
        piece = b"".join(b"X-Field-%d: %b\r\n" % (number, b"v" * 1000) for number in range(60))
        while True:
            self.send(piece)

    def large_header(self):
        return self.answer(pattern(10), "image/png", 200, "X-Large: " + "v" * self.number("size", 100_000))

    def many_headers(self):
        return self.answer(
            pattern(10), "image/png", 200, *(f"X-Field-{number}: v" for number in range(self.number("count", 10_000))))

    def not_http(self):
        self.send(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
        return False

    def old(self):
        self.send(b"HTTP/1.0 200 OK\r\nContent-Type: image/png\r\nContent-Length: 10\r\n\r\n" + pattern(10))
        return False

    def bad_status(self):
        self.send(b"HTTP/1.1 fine\r\nContent-Length: 10\r\n\r\n" + pattern(10))
        return False

    def not_modified(self):
        self.head('ETag: "1"', code=304)
        return True

    def gzip_bomb(self):
        # Compressing a gigabyte takes seconds, in which no client hears anything; so one block is sent again and again. A full flush
        # makes each independent of what is before it.
        zeros = bytes(1 << 20)
        count, rest = divmod(self.number("size", 100 << 20), len(zeros))
        block, last = raw_deflate(zeros, zlib.Z_FULL_FLUSH), raw_deflate(zeros[:rest], zlib.Z_FINISH)
        length = 10 + count * len(block) + len(last) + 8
        self.head("Content-Type: image/png", f"Content-Length: {length}", "Content-Encoding: gzip")
        if self.method == "HEAD":
            return True
        self.send(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
        checksum = 0
        for _ in range(count):
            self.send(block)
            checksum = zlib.crc32(zeros, checksum)
        checksum = zlib.crc32(zeros[:rest], checksum)
        self.send(last + struct.pack("<II", checksum, (count * len(zeros) + rest) & 0xFFFFFFFF))
        return True

    def coded_transfer(self):
        codings = self.query.get("coding", "gzip, gzip, chunked")
        body = bytes(self.number("size", 30 << 20))
        for coding in codings.split(","):
            if coding.strip() != "chunked":
                coder = zlib.compressobj(9, zlib.DEFLATED, 31)
                body = coder.compress(body) + coder.flush()
        self.head("Content-Type: image/png", f"Transfer-Encoding: {codings}")
        self.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        return True

    def endless_trailers(self):
        self.head("Content-Type: image/png", "Transfer-Encoding: chunked")
        self.send(b"a\r\n" + pattern(10) + b"\r\n0\r\n")
        piece = b"".join(b"X-Field-%d: %b\r\n" % (number, b"v" * 1000) for number in range(60))
        while True:
            self.send(piece)

    def digest(self):
        algorithm = self.query.get("algorithm", "MD5")
        given = dict(
            (name, quoted or bare)
            for name, quoted, bare in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', self.headers.get("authorization", "")))
        if self.headers.get("authorization", "").startswith("Digest ") and given.get("response") == digest_response(
                algorithm, given, self.method, self.target):
            return self.answer(pattern(10))
        challenge = f'Digest realm="tests", qop="auth", algorithm={algorithm}, nonce="{os.urandom(8).hex()}"'
        return self.answer(b"", "text/plain", 401, f"WWW-Authenticate: {challenge}")

    def send_answer(self):
        return self.answer(pattern(10), "image/png", self.number("code", 200), *self.queries.get("header", []))

    def flaky(self):
        image = solid_png(int(self.path.rpartition("/")[2]))
        with statistics.changed:
            count = statistics.requests[self.path]
        draw = zlib.crc32(f"{self.path}#{count}".encode())
        if draw % self.number("of", 10) >= self.number("bad", 3):
            statistics.count("whole", self.path)
            return self.answer(image, "image/png")
        fault = ["refused", "reset", "cut", "408", "429", "503"][draw // self.number("of", 10) % 6]
        with statistics.changed:
            statistics.faults[fault] += 1
        if fault == "refused":
            return self.answer(b"", "text/plain", 302, f"Location: http://127.0.0.1:{refusing_port()}{self.target}")
        if fault == "reset":
            # Before the first byte of an answer, clients ask again by themselves if the connection is an old one.
            self.send(b"HTTP/1.1 200 OK\r\nContent-Le")
            return self.reset()
        if fault == "cut":
            self.head("Content-Type: image/png", f"Content-Length: {len(image)}")
            self.send(image[: len(image) // 2])
            return False
        headers = ["Retry-After: 1"] if fault == "429" else []
        return self.answer(b"later", "text/plain", int(fault), *headers)

    def ranges(self):
        """The tag decides which bytes there are, so that those of two versions never pass for one another."""
        size, tag, lie = self.number("size", 1000), self.query.get("etag", "a"), self.query.get("lie")
        date = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
        body = bytes(byte ^ zlib.crc32(tag.encode()) & 255 for byte in pattern(size))
        quoted = f'"{tag}"'
        range_ = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        if not range_ or self.headers.get("if-range") != quoted or lie == "whole":
            sent = self.number("sent", size) if statistics.requests[self.path] == 1 else size
            self.head("Content-Type: image/png", f"Content-Length: {size}", f"ETag: {quoted}", date)
            self.send(body[:sent])
            return sent == size
        if lie == "unsatisfiable":
            return self.answer(b"", "text/plain", 416, f"Content-Range: bytes */{size}")
        start = int(range_[1]) + (1 if lie == "shifted" else 0)
        rest = body[start : start + 100] if lie == "short" else body[start:]
        total = size + 1 if lie == "total" else size
        kind = "multipart/byteranges; boundary=b" if lie == "multipart" else "image/png"
        tags = [] if lie == "untagged" else [f"ETag: {quoted}", date.replace("37", "38") if lie == "dated" else date]
        return self.answer(
            rest, kind, 206, f"Content-Range: bytes {start}-{start + len(rest) - 1}/{total}", *tags)

    def huge_length(self):
        self.head(f"Content-Length: {10 ** 12}")
        self.send(pattern(1000))
        self.wait_for_client_to_go()

    def control(self):
        action = self.path.rpartition("/")[2]
        if action == "statistics":
            return self.answer(statistics.json(), "application/json")
        if action == "release":
            os.eventfd_write(statistics.release_descriptor(self.query["path"]), 1)
            return self.answer(b"")
        has_happened = statistics.wait(
            self.query["event"], self.query["path"], self.number("count", 1), float(self.query["seconds"]))
        return self.answer(b"", "text/plain", 200 if has_happened else 504)

    def run(self):
        name = self.path.split("/")[1].replace("-", "_")
        if name == "control":
            return self.control()
        name = "send_answer" if name == "answer" else name
        behaviour = getattr(self, name) if name in BEHAVIOURS else self.status
        statistics.count("running", self.path)
        statistics.count("requests", self.path)
        try:
            return behaviour()
        except ClientGone:
            statistics.count("dropped", self.path)
            return False
        finally:
            statistics.count("running", self.path, -1)


BEHAVIOURS = {
    "bytes", "empty", "no_content", "html", "status", "echo", "mirror", "redirect", "redirect_loop", "redirect_chain", "held",
    "cut_body", "short_length", "cut_headers", "reset", "reset_body", "stall_headers", "stall_body", "drip", "chunked",
    "cut_chunked", "endless", "huge_length", "reset_headers", "endless_chunked", "endless_headers", "large_header",
    "many_headers", "not_http", "old", "bad_status", "not_modified", "gzip_bomb", "digest", "send_answer",
    "short_picture", "drip_head", "informational", "flaky", "coded_transfer", "endless_trailers", "ranges",
}


def read_request(connection, pending):
    """Reads head and body: (method, target, headers, body, what came after), or None when the client closed."""
    while b"\r\n\r\n" not in pending:
        data = connection.recv(65_536)
        if not data:
            return None
        pending += data
    head, _, rest = pending.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    while len(rest) < length:
        data = connection.recv(65_536)
        if not data:
            return None
        rest += data
    method, target = first.split(" ")[:2]
    return method, target, headers, rest[:length], rest[length:]


def serve(connection):
    pending = b""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while request := read_request(connection, pending):
                *parts, pending = request
                if not Exchange(connection, *parts).run():
                    return
        except (OSError, ClientGone):
            return


def accept_all(listener):
    while True:
        connection, _ = listener.accept()
        with statistics.changed:
            statistics.accepted += 1
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def main():
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in range(2)]
    for listener in listeners:
        threading.Thread(target=accept_all, args=(listener,), daemon=True).start()
    print(*(listener.getsockname()[1] for listener in listeners), flush=True)
    sys.stdin.buffer.read()


main()

#!/usr/bin/env python3
"""An origin server that answers as it was told, with conditional requests as the standard wants them.

It prints its port and runs until its standard input ends. Control requests are GETs:

    /control/answer?path=P&status=N&header=H&header=H&body=B   what P answers from now on; B is in base64url
    /control/log                                               JSON: method, path, status and header fields of each request so far

It sends no Date, as servers without a clock do, so that tests can have a time of their own. What was not told is 404. An answer with ETag or Last-Modified that a condition of the request names becomes a 304 with the same
fields. Other methods than GET and HEAD get 204, or the status of the answer told for `METHOD P`.
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

answers = {}
log = []
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *arguments):
        pass

    def respond(self, status, headers, body=b""):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    def control(self, parts):
        query = parse_qs(parts.query)
        if parts.path == "/control/answer":
            headers = [tuple(header.split(": ", 1)) for header in query.get("header", [])]
            body = base64.urlsafe_b64decode(query.get("body", [""])[0])
            with lock:
                answers[query["path"][0]] = (int(query["status"][0]), headers, body)
            return self.respond(200, [])
        with lock:
            body = json.dumps(log).encode()
        self.respond(200, [("Content-Type", "application/json")], body)

    def is_unchanged(self, headers):
        fields = {name.lower(): value for name, value in headers}
        tags = self.headers.get("If-None-Match")
        if tags is not None:
            return "etag" in fields and fields["etag"] in [tag.strip() for tag in tags.split(",")]
        date = self.headers.get("If-Modified-Since")
        return date is not None and fields.get("last-modified") == date

    def do_any(self):
        parts = urlsplit(self.path)
        if parts.path.startswith("/control/"):
            return self.control(parts)
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        is_read = self.command in ("GET", "HEAD")
        with lock:
            key = self.path if is_read else f"{self.command} {self.path}"
            status, headers, body = answers.get(key, (404 if is_read else 204, [], b""))
        if is_read and status == 200 and self.is_unchanged(headers):
            status, body = 304, b""
        with lock:
            fields = {name.lower(): value for name, value in self.headers.items()}
            log.append({"method": self.command, "path": self.path, "status": status, "headers": fields})
        self.respond(status, headers, body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_any


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()

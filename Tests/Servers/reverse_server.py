#!/usr/bin/env python3
"""Answers the newest request first: /RED/GREEN/BLUE is an image of that color, in the five bytes of the tests' format.

Prints its port, and ends with its standard input.
"""

import http.server
import sys
import threading

waiting = []
changed = threading.Condition()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        turn = threading.Event()
        with changed:
            waiting.append(turn)
            changed.notify()
        turn.wait()
        body = bytes([ord("S"), *(int(part) for part in self.path.split("/")[1:4]), 4])
        self.send_response(200)
        self.send_header("Content-Type", "image/x-swatch")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def answer():
    while True:
        with changed:
            while not waiting:
                changed.wait()
            # A moment in which newer ones may come.
            changed.wait(0.001)
            waiting.pop().set()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # Most clients have gone away by their turn.


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=answer, daemon=True).start()
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()

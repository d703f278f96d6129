"""Checks the adapters of GTK frameworks in Adapters, with programs whose state changes, by screenshots and what they print."""

import io
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image

from check_views import boxes, grab, wait_for

COLORS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255)}
PLACEHOLDER = (255, 204, 0)
WINDOW = (320, 240)


class ImageServer(ThreadingHTTPServer):
    """Serves an image of each color, but blue ones only after `release`. A size tells which image a program has loaded."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), ImageHandler)
        self.release, self.blue_asked, self.blue_done = threading.Event(), threading.Event(), threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A connection that breaks is that of a load which was cancelled."""


class ImageHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/").split(".")[0]
        if name not in COLORS:
            return self.send_error(404)
        body = io.BytesIO()
        Image.new("RGB", (60, 40 + list(COLORS).index(name)), COLORS[name]).save(body, "PNG")
        if name == "blue":
            self.server.blue_asked.set()
            self.server.release.wait(60)
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body.getvalue())))
            self.end_headers()
            self.wfile.write(body.getvalue())
        finally:
            if name == "blue":
                self.server.blue_done.set()

    def log_message(self, *arguments):
        pass


def check(program):
    server = ImageServer()
    server.start()
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
    reader.start()

    def show(name):
        process.stdin.write(f"{server.url}/{name}.png\n")

    def says(line, count=1):
        wait_for(line, process, lambda: lines.count(f"{line}\n") == count)

    def fills(name, color):
        """The color fills the window, and no image of another color is on the screen."""
        def condition():
            found = boxes(grab(), [color, *(other for other in COLORS.values() if other != color)])
            size = found[0] and (found[0][2] - found[0][0], found[0][3] - found[0][1])
            return size == WINDOW and not any(found[1:])
        wait_for(f"{name} on the screen", process, condition)

    try:
        show("red")
        says("loaded 60×40")
        fills("red", COLORS["red"])
        # While an image is loaded, its placeholder is on the screen, not the former image.
        show("blue")
        assert server.blue_asked.wait(60)
        fills("the placeholder", PLACEHOLDER)
        # An image that arrives after another one was wanted never appears.
        show("green")
        says("loaded 60×41")
        server.release.set()
        assert server.blue_done.wait(60)
        fills("green", COLORS["green"])
        show("missing")
        says("failed 200")
        fills("the placeholder of a failure", PLACEHOLDER)
        show("red")
        says("loaded 60×40", 2)
        # The same state again changes nothing.
        show("red")
        show("green")
        says("loaded 60×41", 2)
        fills("green again", COLORS["green"])
        expected = ["loaded 60×40", "loaded 60×41", "failed 200", "loaded 60×40", "loaded 60×41"]
        assert [line.strip() for line in lines] == expected, lines
        # Nothing is left of a view that was removed.
        process.stdin.write("remove\n")
        says("released")
    finally:
        process.kill()
        process.wait()
        server.release.set()
        server.shutdown()

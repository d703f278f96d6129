#!/usr/bin/python3
"""Serves a feed of photographs on 127.0.0.1, for the example Feed.

    Examples/feed_server.py [--count POSTS] [--port PORT] [--delay SECONDS]

Prints the URL of the feed, then each request. The photographs are those of Debian's package mate-backgrounds, in several shapes; each
post has a URL of its own for its image. The image of every seventh post fails the first time.
"""

import argparse
import io
import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image, ImageOps

PHOTOGRAPHS = Path("/usr/share/backgrounds/mate/nature")
SHAPES = [(1080, 720), (1080, 608), (1080, 1080), (1080, 1350)]
AUTHORS = ["Ada Moreau", "Björn Lind", "Chiara Conti", "Daichi Mori", "Esi Owusu", "Farid Haddad", "Greta Vogel", "Hana Novák"]
TEXTS = [
    "Early in the morning, before the wind came up.",
    "I walked past this place for years and never looked.",
    "The light lasted three minutes. I had been waiting for two hours, with cold feet and a tripod that would not stand still, and would "
    "do it again.",
    "Found this one while sorting old photographs.",
]
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"


def blur_hash(image, columns=4, rows=3):
    """The BlurHash of an image: a few cosine waves of its colors in linear light (github.com/woltapp/blurhash)."""
    width, height = 32, max(1, round(32 * image.height / image.width))
    small = image.convert("RGB").resize((width, height))
    light = [[((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92 for c in pixel] for pixel in small.getdata()]
    waves = []
    for j in range(rows):
        for i in range(columns):
            basis = [math.cos(math.pi * i * x / width) * math.cos(math.pi * j * y / height) for y in range(height) for x in range(width)]
            factor = (2 if i or j else 1) / (width * height)
            waves.append([factor * sum(b * pixel[c] for b, pixel in zip(basis, light)) for c in range(3)])

    def digits(value, count):
        return "".join(DIGITS[value // 83 ** place % 83] for place in reversed(range(count)))

    def byte(value):
        value = min(max(value, 0), 1)
        return round(255 * (1.055 * value ** (1 / 2.4) - 0.055 if value > 0.0031308 else 12.92 * value))

    largest = max(abs(value) for wave in waves[1:] for value in wave)
    level = min(82, max(0, math.floor(largest * 166 - 0.5)))
    scale = (level + 1) / 166
    result = digits(columns - 1 + (rows - 1) * 9, 1) + digits(level, 1)
    result += digits(sum(byte(value) << shift for value, shift in zip(waves[0], (16, 8, 0))), 4)
    for wave in waves[1:]:
        steps = [min(18, max(0, math.floor(math.copysign(math.sqrt(abs(value / scale)), value) * 9 + 9.5))) for value in wave]
        result += digits((steps[0] * 19 + steps[1]) * 19 + steps[2], 2)
    return result


def encoded(image):
    data = io.BytesIO()
    image.save(data, "JPEG", quality=85)
    return data.getvalue()


class FeedServer(ThreadingHTTPServer):
    """Serves `/feed.json` with `count` posts, and their images and avatars, which repeat."""

    daemon_threads = True

    def __init__(self, count, images, avatars, port=0, delay=0, failing=(), on_request=lambda status, path: None):
        super().__init__(("127.0.0.1", port), Handler)
        self.bodies = [encoded(image) for image in images]
        self.avatars = [encoded(image) for image in avatars]
        self.delay, self.on_request = delay, on_request
        self.lock, self.failing = threading.Lock(), {f"/images/{number}.jpg" for number in failing}
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.url = self.origin + "/feed.json"
        hashes = [blur_hash(image) for image in images]
        self.feed = json.dumps([
            {
                "author": AUTHORS[number % len(AUTHORS)], "avatar": f"{self.origin}/avatars/{number % len(avatars)}.jpg",
                "text": f"{number + 1}. {TEXTS[number % len(TEXTS)]}", "image": f"{self.origin}/images/{number}.jpg",
                "width": images[number % len(images)].width, "height": images[number % len(images)].height,
                "blurHash": hashes[number % len(images)],
            }
            for number in range(count)
        ]).encode()

    def answer(self, path):
        """The status and body of a response."""
        with self.lock:
            if path in self.failing:
                self.failing.remove(path)
                return 503, b"Try again."
        if path == "/feed.json":
            return 200, self.feed
        folder, name = path.split("/")[1:3]
        bodies = self.bodies if folder == "images" else self.avatars
        return 200, bodies[int(name.removesuffix(".jpg")) % len(bodies)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, body = self.server.answer(self.path)
        if self.path != "/feed.json":
            time.sleep(self.server.delay)
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if self.path == "/feed.json" else "image/jpeg" if status == 200 else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600" if status == 200 else "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code="-", size="-"):
        self.server.on_request(int(code), self.path)


def main():
    parser = argparse.ArgumentParser(description="Serves a feed of photographs on 127.0.0.1.")
    parser.add_argument("--count", type=int, default=2000, help="the number of posts")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0, help="the seconds that each image takes, to see the placeholders")
    arguments = parser.parse_args()
    photographs = [Image.open(path).convert("RGB") for path in sorted(PHOTOGRAPHS.glob("*.jpg"))]
    images = [ImageOps.fit(photograph, SHAPES[number % len(SHAPES)]) for number, photograph in enumerate(photographs)]
    avatars = [ImageOps.fit(photograph, (192, 192)) for photograph in photographs[:8]]
    server = FeedServer(
        arguments.count, images, avatars, arguments.port, arguments.delay, failing=range(1, arguments.count, 7),
        on_request=lambda status, path: print(status, path, flush=True))
    print(server.url, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

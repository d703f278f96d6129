"""Checks what the examples do: Examples/check.py PROGRAMS SCRATCH. `Examples/run` calls it, with a display if the views are built."""

import functools
import http.server
import io
import pathlib
import subprocess
import sys
import tarfile
import threading
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True

from PIL import Image

import check_http
import check_views

PHOTOGRAPH = pathlib.Path("/usr/share/backgrounds/mate/nature/Garden.jpg")
COLORS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255)}

programs, scratch = map(pathlib.Path, sys.argv[1:])


def run(program, *arguments):
    command = [programs / program, *map(str, arguments)]
    return subprocess.run(command, cwd=scratch, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def expect(actual, expected):
    assert actual == expected, f"{actual} is not {expected}"


def check_thumbnailer():
    run("Thumbnailer", PHOTOGRAPH.as_uri())
    image = Image.open(scratch / "Garden-small.jpg")
    expect((image.format, image.size), ("JPEG", (320, 200)))


def check_contact_sheet():
    run("ContactSheet", "sheet.jpg", PHOTOGRAPH, *(f"{color}.png" for color in COLORS), "missing.png")
    sheet = Image.open(scratch / "sheet.jpg")
    expect(sheet.size, (5 * 272, 272))
    for number, color in enumerate(COLORS.values(), 1):
        # The PNG files have fewer pixels than a thumbnail may have, and stay so small.
        middle, beside = sheet.getpixel((number * 272 + 136, 128)), sheet.getpixel((number * 272 + 80, 128))
        assert max(abs(a - b) for a, b in zip(middle, color)) < 8, (middle, color)
        assert min(beside) > 247, beside
    words = [sheet.crop((number * 272, 0, (number + 1) * 272, 248)).convert("L").histogram() for number in (1, 4)]
    assert sum(words[1][:100]) > 100, "the sheet has no error for the missing file"


def check_archive_loader():
    with tarfile.open(scratch / "album.tar", "w") as archive:
        for color in COLORS:
            archive.add(scratch / f"{color}.png", f"my {color}.png")
    expect(run("ArchiveLoader", scratch / "album.tar"), ["my red.png: 60×40", "my green.png: 60×41", "my blue.png: 60×42"])


class FolderHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and asks clients to revalidate."""

    statuses = []

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_request(self, code="-", size="-"):
        self.statuses.append(int(code))


def check_folder_cache(origin):
    FolderHandler.statuses.clear()
    expect(run("FolderCache", scratch / "folder", f"{origin}/red.png"), ["red.png: 60×40, remote"])
    expect(run("FolderCache", scratch / "folder", f"{origin}/red.png"), ["red.png: 60×40, diskCache"])
    expect(FolderHandler.statuses, [200, 304])


def check_thumbnail_server(origin):
    """It loads, scales and encodes, and maps errors to statuses."""
    client_time = 5
    command = [programs / "ThumbnailServer", "--port", "0", "--cache", scratch / "thumbnails", "--allow-loopback"]
    command += ["--client-time", str(client_time)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    base = server.stdout.readline().strip()

    def fetch(path, **query):
        try:
            with urllib.request.urlopen(f"{base}{path}?{urllib.parse.urlencode(query)}", timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    (scratch / "page.html").write_text("<html>")
    status, data = fetch("/thumb", url=f"{origin}/blue.png", width=30, format="png")
    image = Image.open(io.BytesIO(data)).convert("RGB")
    expect((status, image.size, image.getpixel((15, 10))), (200, (30, 21), (0, 0, 255)))
    urls = [f"{origin}/none.png", f"{origin}/page.html", "http://10.0.0.1/a.png", "file:///etc/passwd", "http://127.0.0.1:1/"]
    expect([fetch("/thumb", url=url)[0] for url in urls], [404, 415, 403, 400, 502])
    expect([fetch("/thumb", url=urls[0], width=0)[0], fetch("/health")[0], fetch("/else")[0]], [400, 200, 404])
    noise = Image.merge("RGB", [Image.effect_noise((1024, 1024), 100) for _ in range(3)])
    noise.save(scratch / "noise.png", compress_level=1)
    path = "/thumb?" + urllib.parse.urlencode({"url": f"{origin}/noise.png", "width": 1024, "format": "png"})
    check_http.check_refusals(base)
    check_http.check_half_closed_clients(base, "/thumb?" + urllib.parse.urlencode({"url": f"{origin}/red.png"}))
    check_http.check_dripping_clients(base, client_time)
    check_http.check_slow_readers(base, path, server.pid)
    server.terminate()
    expect(server.wait(timeout=60), 0)


for number, color in enumerate(COLORS):
    Image.new("RGB", (60, 40 + number), color).save(scratch / f"{color}.png")
check_thumbnailer()
check_archive_loader()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(FolderHandler, directory=str(scratch)))
threading.Thread(target=server.serve_forever, daemon=True).start()
check_folder_cache(f"http://127.0.0.1:{server.server_port}")
check_thumbnail_server(f"http://127.0.0.1:{server.server_port}")
if (programs / "ContactSheet").exists():
    check_contact_sheet()
if (programs / "Feed").exists():
    check_views.check_photo_pile(programs / "PhotoPile", {scratch / f"{name}.png": color for name, color in COLORS.items()})
    check_views.check_feed(programs / "Feed")
print("The examples work")

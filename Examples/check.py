"""Checks what the examples do: Examples/check.py PROGRAMS SCRATCH. `Examples/run` calls it, with a display if the views are built."""

import functools
import http.server
import io
import os
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

import check_adapters
import check_servers
import check_views

PHOTOGRAPH = pathlib.Path("/usr/share/backgrounds/mate/nature/Garden.jpg")
COLORS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255)}

programs, scratch = map(pathlib.Path, sys.argv[1:])


def run(program, *arguments):
    command = [programs / program, *map(str, arguments)]
    return subprocess.run(command, cwd=scratch, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def expect(actual, expected):
    assert actual == expected, f"{actual} is not {expected}"


def check_failure(program, status, *arguments):
    """It ends with a message and without a crash."""
    command = [programs / program, *map(str, arguments)]
    result = subprocess.run(command, cwd=scratch, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == status and 0 < len(result.stdout.splitlines()) < 3, (command, result)


def check_failures(origin):
    for program in ("Thumbnailer", "FolderCache", "ArchiveLoader"):
        check_failure(program, 1 if program == "Thumbnailer" else 2)
    for url in (f"{origin}/none.png", "nonsense", "http://127.0.0.1:1/a.png"):
        check_failure("Thumbnailer", 1, url)
        check_failure("FolderCache", 1, "folder", url)
    check_failure("ArchiveLoader", 1, "none.tar")
    if (programs / "ContactSheet").exists():
        check_failure("ContactSheet", 2)
        check_failure("ContactSheet", 1, "none/sheet.jpg", PHOTOGRAPH)
        for program in ("ImageWindow", "ImageViewer", "PhotoPile", "Feed"):
            check_failure(program, 2)


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


def check_image_gateway():
    """It answers as a CGI program."""

    def answer(path, **variables):
        environment = os.environ | {"IMAGE_FOLDER": str(scratch), "REQUEST_METHOD": "GET", "REQUEST_URI": path} | variables
        output = subprocess.run([programs / "ImageGateway"], env=environment, check=True, timeout=60, stdout=subprocess.PIPE).stdout
        head, _, body = output.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return int(fields["Status"]), fields, body

    path = "/_/w:30/plain/local:///blue.png"
    status, fields, body = answer(path, HTTP_ACCEPT="image/webp,*/*")
    expect((status, fields["Content-Type"], fields["Vary"]), (200, "image/webp", "Accept"))
    image = Image.open(io.BytesIO(body)).convert("RGB")
    expect(image.size, (30, 21))
    # The result is on disk.
    assert "detail=disk" in answer(path, HTTP_ACCEPT="image/webp,*/*")[1]["Cache-Status"]
    expect(answer(path, HTTP_ACCEPT="image/webp", HTTP_IF_NONE_MATCH=fields["ETag"])[0], 304)
    paths = ["/_/w:30/plain/local:///none.png", "/_/w:30/plain/local:///../a", "/_/w:x/plain/local:///blue.png", "/_/w:1/plain/http://10.0.0.1/"]
    expect([answer(path)[0] for path in paths], [404, 403, 400, 403])


def check_image_functions():
    """It writes what it makes of each file; what has broken files, a message."""
    frames = [Image.new("RGB", (80, 60), color) for color in COLORS]
    frames[0].save(scratch / "movie.gif", save_all=True, append_images=frames[1:], duration=100, loop=0)
    camera = Image.new("RGB", (60, 40), "red")
    exif = camera.getexif()
    (exif[0x010F], exif[0x0110], exif[0x0112]) = ("Make", "Model", 6)
    exif[0x8825] = {1: "N", 2: (52.0, 31.0, 0.0), 3: "E", 4: (13.0, 24.0, 0.0)}
    camera.save(scratch / "camera.jpg", exif=exif)
    glass = Image.new("RGBA", (400, 200), (255, 0, 0, 128))
    glass.save(scratch / "glass.png")
    expect(run("ImageFunctions", "movie.gif", "camera.jpg", "glass.png"), [
        "movie.gif: gif, 80×60, up, opaque, no camera, no place",
        "camera.jpg: jpeg, 40×60, right, opaque, Make Model, place",
        "glass.png: png, 400×200, up, transparent, no camera, no place"])
    made = {name: Image.open(scratch / name) for name in (
        "movie.gif.animation.gif", "movie.gif.thumbnail.jpg", "camera.jpg.square.jpg", "camera.jpg.stripped.jpg",
        "glass.png.thumbnail.png", "glass.png.square.png")}
    expect([image.size for image in made.values()], [(80, 60), (80, 60), (40, 40), (40, 60), (128, 64), (100, 100)])
    expect((made["movie.gif.animation.gif"].n_frames, len(made["camera.jpg.stripped.jpg"].getexif())), (3, 0))
    assert abs(made["glass.png.thumbnail.png"].getpixel((5, 5))[3] - 128) < 2
    (scratch / "broken.png").write_bytes((scratch / "glass.png").read_bytes()[:-60])
    check_failure("ImageFunctions", 1, "broken.png")
    check_failure("ImageFunctions", 1, "sheet.txt")


for number, color in enumerate(COLORS):
    Image.new("RGB", (60, 40 + number), color).save(scratch / f"{color}.png")
check_thumbnailer()
check_archive_loader()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(FolderHandler, directory=str(scratch)))
threading.Thread(target=server.serve_forever, daemon=True).start()
check_folder_cache(f"http://127.0.0.1:{server.server_port}")
check_failures(f"http://127.0.0.1:{server.server_port}")
check_image_gateway()
check_image_functions()
check_servers.check(programs, scratch, f"http://127.0.0.1:{server.server_port}", FolderHandler.statuses)
if (programs / "ContactSheet").exists():
    check_contact_sheet()
if (programs / "Feed").exists():
    check_views.check_photo_pile(programs / "PhotoPile", {scratch / f"{name}.png": color for name, color in COLORS.items()})
    check_views.check_feed(programs / "Feed")
    for name in ("SwiftCrossUI", "AdwaitaSwift", "SwiftAdwaita", "SwiftGtk"):
        check_adapters.check(programs / f"{name}Adapter")
print("The examples work")

"""Checks what the examples with windows show, by screenshots, the pointer and the requests that a server gets."""

import contextlib
import ctypes
import re
import subprocess
import threading
import time

from PIL import Image, ImageChops, ImageGrab

from feed_server import FeedServer


@contextlib.contextmanager
def running(program, *arguments):
    process = subprocess.Popen([program, *map(str, arguments)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(what, process, condition):
    """Waits until `condition` returns something, and returns it. Fails when the program has ended, or after a minute."""
    for _ in range(600):
        result = condition()
        if result:
            return result
        assert process.poll() is None, f"the program has ended before {what}"
        time.sleep(0.1)
    raise AssertionError(f"waited a minute for {what}")


def boxes(screenshot, colors, tolerance=6):
    """For each color the box of its pixels: left, top, right and bottom; `None` for a color that is not on the screen."""
    result = []
    for color in colors:
        red, green, blue = ImageChops.difference(screenshot, Image.new("RGB", screenshot.size, color)).split()
        difference = ImageChops.lighter(ImageChops.lighter(red, green), blue)
        result.append(difference.point(lambda value: 255 if value <= tolerance else 0).getbbox())
    return result


def grab():
    return ImageGrab.grab(xdisplay="").convert("RGB")


class Pointer:
    """The pointer of the display, moved and pressed through the X server's test extension."""

    def __init__(self):
        self.x11, self.test = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        self.x11.XOpenDisplay.restype = ctypes.c_void_p
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(None))

    def click(self, x, y, button=1):
        self.test.XTestFakeMotionEvent(self.display, -1, int(x), int(y), ctypes.c_ulong(0))
        for is_down in (1, 0):
            self.test.XTestFakeButtonEvent(self.display, button, is_down, ctypes.c_ulong(0))
        self.x11.XFlush(self.display)


def check_photo_pile(program, photographs):
    """`photographs` has the color of each file."""
    wanted = {*photographs.values(), (255, 255, 255)}
    with running(program, *(path.as_uri() for path in photographs)) as process:
        wait_for("the pile", process, lambda: wanted <= {color for count, color in grab().getcolors(1 << 24) if count > 100})


def check_feed(program):
    # Each image has two colors, which its placeholder mixes, and each avatar one.
    shapes = [(900, 600), (900, 360), (600, 600), (900, 506)]
    pairs = [((200, 30, 30), (30, 30, 200)), ((20, 160, 20), (220, 200, 20)), ((150, 30, 150), (30, 200, 200)), ((90, 60, 20), (240, 150, 60))]
    images = []
    for shape, (left, right) in zip(shapes, pairs):
        image = Image.new("RGB", shape, left)
        image.paste(right, (shape[0] // 2, 0, *shape))
        images.append(image)
    faces = [(250, 100, 180), (100, 180, 250)]
    requests = []
    server = FeedServer(
        3000, images, [Image.new("RGB", (300, 200), face) for face in faces], failing=[1],
        on_request=lambda status, path: requests.append((status, path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def numbers():
        return {int(match[1]) for _, path in list(requests) if (match := re.fullmatch(r"/images/(\d+)\.jpg", path))}

    def near(box, *expected):
        return box is not None and all(abs(a - b) <= 2 for a, b in zip((box[2] - box[0], box[3] - box[1]), expected))

    with running(program, server.url) as process:
        def first_rows():
            screenshot = grab()
            found = boxes(screenshot, [*pairs[0], *faces])
            # The column is 560 wide. Both halves of the first image, and two avatars.
            expected = [(280, 373), (280, 373), (40, 40), (40, 40)]
            return (screenshot, found) if all(near(box, *size) for box, size in zip(found, expected)) else None

        screenshot, (image, _, face, second_face) = wait_for("the first rows", process, first_rows)
        assert image[0] == face[0] and image[1] > face[3], "the image is not below the avatar"
        assert screenshot.getpixel((face[0] + 1, face[1] + 1)) == (255, 255, 255), "the avatar is not round"
        assert screenshot.getpixel((face[0] + 20, face[1] + 1)) != (255, 255, 255), "the avatar is cut off"

        wait_for("the failure", process, lambda: (503, "/images/1.jpg") in requests)
        assert not near(boxes(grab(), pairs[1])[0], 280, 224), "an image that failed is on the screen"
        # The second image is where its row has left place for it, and its button in the middle.
        top = second_face[1] + image[1] - face[1]
        pointer = Pointer()

        def retried():
            pointer.click(image[0] + 280, top + 112)
            return (200, "/images/1.jpg") in requests

        wait_for("the second attempt", process, retried)
        second = wait_for(
            "the second image", process, lambda: next((box for box in boxes(grab(), pairs[1][:1]) if near(box, 280, 224)), None))
        assert abs(second[1] - top) <= 1, f"the second image is at {second[1]}, its place at {top}"

        wait_for("the prefetched images", process, lambda: numbers() >= set(range(8)))
        assert max(numbers()) < 12, f"images far away were loaded: {numbers()}"

        def scrolled():
            pointer.click(image[0] + 280, top, button=5)
            return max(numbers()) > 40

        wait_for("images after scrolling", process, scrolled)
    server.shutdown()

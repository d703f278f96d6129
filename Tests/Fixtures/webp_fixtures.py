"""Animated WebP files, put together chunk by chunk from stills that Pillow writes; Pillow also tells their frames.

`name.webp-frames.rgba` holds the composed frames, one below the other.
"""

import io
import struct

import numpy as np
from PIL import Image, ImageSequence


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def riff(*chunks):
    content = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def number24(value):
    return struct.pack("<I", value)[:3]


def header(width, height, flags):
    return chunk(b"VP8X", bytes([flags, 0, 0, 0]) + number24(width - 1) + number24(height - 1))


def animation(loop_count):
    return chunk(b"ANIM", b"\xff\xff\xff\xff" + struct.pack("<H", loop_count))


ALPHA, ANIMATION = 0x10, 0x02


def picture_chunks(still):
    """The ALPH, VP8 and VP8L chunks of a file with one picture."""
    offset, found = 12, b""
    while offset < len(still):
        end = offset + 8 + struct.unpack("<I", still[offset + 4 : offset + 8])[0]
        end += end % 2
        if still[offset : offset + 4] in (b"ALPH", b"VP8 ", b"VP8L"):
            found += still[offset:end]
        offset = end
    return found


def frame(encoded, pixels, left, top, milliseconds, over, clears, **options):
    still = encoded(Image.fromarray(pixels), "WEBP", **options)
    height, width = pixels.shape[:2]
    flags = (0 if over else 2) | int(clears)
    return chunk(
        b"ANMF",
        b"".join(number24(value) for value in [left // 2, top // 2, width - 1, height - 1, milliseconds])
        + bytes([flags]) + picture_chunks(still))


def composed(data):
    frames = [np.asarray(frame.convert("RGBA")) for frame in ImageSequence.Iterator(Image.open(io.BytesIO(data)))]
    return np.concatenate(frames)


def write_all(painting, with_alpha, encoded, write, write_pixels):
    canvas_width, canvas_height = 22, 18
    whole = painting(canvas_width, canvas_height)
    clear = with_alpha(whole)
    part = with_alpha(painting(9, 7)[::-1])
    solid = painting(10, 8)[:, ::-1]
    lossless = dict(lossless=True, exact=True)
    files = {
        # Every pair of blending and disposal, with parts inside the canvas and along its edges.
        "animated-parts": [
            (clear, 0, 0, 80, False, False, lossless),
            (part, 4, 2, 10, True, False, lossless),
            (part, 12, 10, 120, False, False, lossless),
            (solid, 0, 10, 40, True, True, lossless),
            (part, 2, 8, 300, False, True, lossless),
            (solid, 12, 0, 50, False, False, lossless),
        ],
        # An opaque frame over all that was before, then one of which nothing stays.
        "animated-lossy": [
            (whole, 0, 0, 100, True, False, dict(quality=70)),
            (part, 6, 4, 100, True, False, dict(quality=70)),
            (whole[::-1], 0, 0, 100, True, True, dict(quality=70)),
            (part, 12, 2, 100, True, False, dict(quality=70)),
        ],
        # The first frame does not fill the canvas.
        "animated-small-first": [
            (part, 10, 6, 70, True, False, lossless),
            (solid, 0, 0, 70, True, False, dict(quality=60)),
        ],
        "animated-one-frame": [(clear, 0, 0, 70, True, False, lossless)],
    }
    for name, frames in files.items():
        chunks = [frame(encoded, *values, **options) for *values, options in frames]
        data = riff(
            header(canvas_width, canvas_height, ALPHA | ANIMATION), animation(len(frames)), *chunks)
        pixels = composed(data)
        write(f"{name}.webp", data, pixels[:canvas_height])
        write_pixels(f"{name}.webp-frames", pixels)

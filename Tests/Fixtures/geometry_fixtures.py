#!/usr/bin/env python3
"""Writes pictures and what Pillow and cairo make of them to geometry/: premultiplied RGBA behind width and height.

Needs Debian's python3-pil, python3-numpy, python3-cairo and imagemagick; run it with /usr/bin/python3. Its output is
committed.

Shapes are drawn by cairo at 16 times their size, and averaged: at its own size, cairo takes 15 lines of each pixel, which is
good for 17 levels and not for one. Colours are laid over each other here, rounded once at the end.
"""

import math
import pathlib
import struct
import subprocess

import cairo
import numpy as np
from PIL import Image

from make_fixtures import painting, premultiplied, with_alpha

OUT = pathlib.Path(__file__).parent / "geometry"
FINE = 16


def write(name, pixels):
    """Premultiplied values, 0 to 255, whole or not."""
    pixels = np.asarray(pixels, np.float64)
    pixels = np.floor(pixels + 0.5).clip(0, 255).astype(np.uint8)
    height, width = pixels.shape[:2]
    (OUT / f"{name}.rgba").write_bytes(struct.pack("<II", width, height) + pixels.tobytes())


def channels(pixels, change):
    """Each channel for itself, so that Pillow neither multiplies nor divides by alpha; colour is cut to alpha."""
    result = np.dstack([np.asarray(change(Image.fromarray(np.ascontiguousarray(pixels[..., c])))) for c in range(4)])
    result[..., :3] = np.minimum(result[..., :3], result[..., 3:])
    return result


# Resizing, by Pillow


def write_resized(source):
    height, width = source.shape[:2]

    def resized(size, box=None):
        return channels(source, lambda image: image.resize(size, Image.LANCZOS, box=box))

    write("resize-stretch", resized((20, 31)))
    write("resize-fit", resized((20, 15)))
    write("resize-up", resized((101, 75)))
    # 48 by 36 covers 25 by 10 when it is scaled by 25/48; of its height, 10 * 48/25 = 19.2 pixels are seen.
    write("resize-cropped", resized((25, 10), (0, (height - 19.2) / 2, width, (height + 19.2) / 2)))
    # And 10 by 25 when it is scaled by 25/36.
    write("resize-cropped-tall", resized((10, 25), ((width - 14.4) / 2, 0, (width + 14.4) / 2, height)))
    canvas = np.tile(np.array([0, 100, 0, 200], np.float64), (30, 20, 1))
    fitted = resized((20, 15)).astype(np.float64)
    canvas[7:22] = fitted + canvas[7:22] * (1 - fitted[..., 3:] / 255)
    write("resize-letterbox", canvas)


# Shapes, by cairo


def coverage(width, height, draw):
    """The part of each pixel that `draw` covers, 0 to 1."""
    surface = cairo.ImageSurface(cairo.FORMAT_A8, width * FINE, height * FINE)
    context = cairo.Context(surface)
    context.scale(FINE, FINE)
    context.set_antialias(cairo.ANTIALIAS_BEST)
    context.set_tolerance(0.01)
    draw(context)
    surface.flush()
    fine = np.frombuffer(surface.get_data(), np.uint8).reshape(height * FINE, surface.get_stride())[:, : width * FINE]
    return fine.reshape(height, FINE, width, FINE).astype(np.float64).mean(axis=(1, 3))[..., None] / 255


def rounded(context, x, y, width, height, radii):
    """Radii clockwise from the left top corner."""
    context.new_sub_path()
    for index, (corner_x, corner_y) in enumerate([(x, y), (x + width, y), (x + width, y + height), (x, y + height)]):
        radius = max(0, radii[index])
        center_x = corner_x + (radius if index in (0, 3) else -radius)
        center_y = corner_y + (radius if index in (0, 1) else -radius)
        if radius > 0:
            context.arc(center_x, center_y, radius, math.pi * (1 + index / 2), math.pi * (1.5 + index / 2))
        else:
            context.line_to(corner_x, corner_y)
    context.close_path()


JOINS = {"miter": cairo.LINE_JOIN_MITER, "round": cairo.LINE_JOIN_ROUND, "bevel": cairo.LINE_JOIN_BEVEL}


def write_rounded(source):
    height, width = source.shape[:2]

    def cut(radii):
        def draw(context):
            rounded(context, 0, 0, width, height, radii)
            context.fill()

        return source * coverage(width, height, draw)

    def bordered(radii, line, color, join="miter"):
        """The line is cairo's own, along the middle of the border."""

        def draw(context, fills):
            context.set_line_join(JOINS[join])
            context.set_line_width(line)
            rounded(context, line / 2, line / 2, width - line, height - line, [r - line / 2 for r in radii])
            context.stroke_preserve()
            if fills:
                context.fill()

        border = coverage(width, height, lambda context: draw(context, False))
        shape = coverage(width, height, lambda context: draw(context, True))
        color = np.array(color, np.float64)
        return source * (shape - border * color[3] / 255) + color * border

    write("rounded", cut([7.3] * 4))
    write("rounded-each", cut([0, 5, 12, 20.5]))
    write("rounded-pill", cut([height / 2] * 4))
    write("border-rounded", bordered([10] * 4, 3.5, (153, 77, 0, 153)))
    for join in JOINS:
        write(f"border-{join}", bordered([0] * 4, 5, (0, 0, 255, 255), join))
    side = min(width, height)
    left = (width - side) // 2

    def draw(context):
        context.arc(side / 2, side / 2, side / 2, 0, 2 * math.pi)
        context.fill()

    write("circle", source[:, left : left + side] * coverage(side, side, draw))


# Turning, by ImageMagick inside of cairo's shape


def write_turned(source):
    height, width = source.shape[:2]
    for degrees, keeps_size in [(30, False), (-77.5, False), (135, False), (12, True)]:
        angle = math.radians(degrees)
        cosine, sine = math.cos(angle), math.sin(angle)
        size = (width, height)
        if not keeps_size:
            size = (
                math.ceil(width * abs(cosine) + height * abs(sine) - 1e-6),
                math.ceil(width * abs(sine) + height * abs(cosine) - 1e-6))
        center_x, center_y = size[0] / 2, size[1] / 2
        move_x = center_x - width / 2 * cosine + height / 2 * sine
        move_y = center_y - width / 2 * sine - height / 2 * cosine

        def turned(image):
            # Without a filter, points are read with the interpolation alone: Catmull and Rom's cubic.
            result = subprocess.run(
                [
                    "convert", "-size", f"{width}x{height}", "-depth", "8", "gray:-", "-virtual-pixel", "edge", "-filter",
                    "point", "-interpolate", "catrom", "-define", f"distort:viewport={size[0]}x{size[1]}+0+0", "-distort",
                    "AffineProjection", f"{cosine},{sine},{-sine},{cosine},{move_x},{move_y}", "-depth", "8", "gray:-",
                ], input=image.tobytes(), stdout=subprocess.PIPE, check=True)
            return np.frombuffer(result.stdout, np.uint8).reshape(size[1], size[0])

        def draw(context):
            context.translate(center_x, center_y)
            context.rotate(angle)
            context.rectangle(-width / 2, -height / 2, width, height)
            context.fill()

        name = f"rotate-{degrees}" + ("-kept" if keeps_size else "")
        write(name, channels(source, turned) * coverage(*size, draw))


# Drawing in a rectangle, by cairo

MODES = [
    "scaleToFill", "scaleAspectFit", "scaleAspectFill", "redraw", "center", "top", "bottom", "left", "right", "topLeft",
    "topRight", "bottomLeft", "bottomRight",
]


def place(mode, size, rect):
    """UIKit's rule: where a picture of `size` lies in `rect`."""
    (width, height), (x, y, across, down) = size, rect
    if mode in ("scaleToFill", "redraw"):
        return rect
    if mode in ("scaleAspectFit", "scaleAspectFill"):
        factor = (min if mode == "scaleAspectFit" else max)(across / width, down / height)
        width, height = width * factor, height * factor
    left = x + (across - width) / 2
    top = y + (down - height) / 2
    lowered = mode.lower()
    if "left" in lowered:
        left = x
    if "right" in lowered:
        left = x + across - width
    if "top" in lowered:
        top = y
    if "bottom" in lowered:
        top = y + down - height
    return (left, top, width, height)


def surface_of(pixels):
    height, width = pixels.shape[:2]
    data = np.ascontiguousarray(pixels[..., [2, 1, 0, 3]])
    return cairo.ImageSurface.create_for_data(bytearray(data.tobytes()), cairo.FORMAT_ARGB32, width, height)


def write_drawn(source):
    canvas = (24, 18)
    rect = (3.3, 2.75, 15.4, 9.5)
    for mode in MODES:
        for clips in [False, True]:


            def draw(context):
                if clips:
                    context.rectangle(*rect)
                    context.clip()
                context.rectangle(*place(mode, (7, 5), rect))
                context.fill()

            above = np.array([204, 41, 0, 204], np.float64) * coverage(*canvas, draw)
            below = np.array([0, 51, 0, 128], np.float64)
            write(f"draw-{mode}" + ("-clipped" if clips else ""), above + below * (1 - above[..., 3:] / 255))
    # What is neither scaled nor moved between pixels shows each of the picture's own.
    for mode in MODES[4:]:
        surface = cairo.ImageSurface(cairo.FORMAT_ARGB32, *canvas)
        context = cairo.Context(surface)
        context.set_source_rgb(0.2, 0.4, 0.6)
        context.paint()
        left, top, _, _ = place(mode, (48, 36), (4, 3, 14, 12))
        context.rectangle(4, 3, 14, 12)
        context.clip()
        context.set_source_surface(surface_of(source), left, top)
        context.paint()
        pixels = np.frombuffer(surface.get_data(), np.uint8).reshape(canvas[1], surface.get_stride() // 4, 4)
        write(f"picture-{mode}", pixels[:, : canvas[0], [2, 1, 0, 3]])


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    source = premultiplied(with_alpha(painting(48, 36)))
    write("source", source)
    write_resized(source)
    write_rounded(source)
    write_turned(source)
    write_drawn(source)

#!/usr/bin/env python3
"""Writes effects/: what cairo, Pillow and ImageMagick make of pictures that processors are tried on.

make_fixtures.py calls it; run alone, it writes nothing else. Needs Debian's python3-cairo, python3-pil, python3-numpy and
imagemagick. Files are as make_fixtures.py describes them: width, height, premultiplied RGBA.
"""

import io
import pathlib
import struct
import subprocess

import cairo
import numpy as np
from PIL import Image, ImageFilter

OUT = pathlib.Path(__file__).parent / "effects"

# In the order of BlendMode.allCases.
MODES = [
    "CLEAR", "SOURCE", "OVER", "IN", "OUT", "ATOP", "DEST", "DEST_OVER", "DEST_IN", "DEST_OUT", "DEST_ATOP", "XOR", "ADD",
    "MULTIPLY", "SCREEN", "OVERLAY", "DARKEN", "LIGHTEN", "COLOR_DODGE", "COLOR_BURN", "HARD_LIGHT", "SOFT_LIGHT",
    "DIFFERENCE", "EXCLUSION", "HSL_HUE", "HSL_SATURATION", "HSL_COLOR", "HSL_LUMINOSITY",
]
RAMP = 26

# Rows of red, green, blue, alpha and what is added, for components from 0 to 1.
MATRICES = {
    "sepia": [[0.393, 0.769, 0.189, 0, 0], [0.349, 0.686, 0.168, 0, 0], [0.272, 0.534, 0.131, 0, 0], [0, 0, 0, 1, 0]],
    "inverted": [[-1, 0, 0, 0, 1], [0, -1, 0, 0, 1], [0, 0, -1, 0, 1], [0, 0, 0, 1, 0]],
    "alpha": [[0.5, 0.2, 0, 0.3, 0.1], [0, 0.8, 0.1, -0.2, 0.05], [0.3, 0, 0.9, 0, -0.1], [0.2, 0.1, 0, 0.6, 0.1]],
}


def write(name, premultiplied):
    height, width = premultiplied.shape[:2]
    (OUT / f"{name}.rgba").write_bytes(struct.pack("<II", width, height) + premultiplied.tobytes())


def premultiplied(rgba):
    rgba = rgba.astype(np.uint32)
    rgba[..., :3] = (rgba[..., :3] * rgba[..., 3:] + 127) // 255
    return rgba.astype(np.uint8)


def colors(seed, alpha):
    """Any colours, some of them black, white, and of one component."""
    rgb = np.random.default_rng(seed).integers(0, 256, (RAMP, RAMP, 3))
    rgb[::5, ::3] = 0
    rgb[1::5, ::3] = 255
    rgb[2::5, ::3, 1:] = 0
    return premultiplied(np.dstack([rgb, alpha]))


def surface(rgba):
    bgra = np.ascontiguousarray(rgba[..., [2, 1, 0, 3]])
    return cairo.ImageSurface.create_for_data(bgra, cairo.FORMAT_ARGB32, rgba.shape[1], rgba.shape[0])


def blended(source, backdrop, mode):
    result = surface(backdrop)
    context = cairo.Context(result)
    context.set_operator(getattr(cairo, f"OPERATOR_{mode}"))
    context.set_source_surface(surface(source))
    context.paint()
    result.flush()
    pixels = np.frombuffer(result.get_data(), np.uint8).reshape(backdrop.shape)
    return pixels[..., [2, 1, 0, 3]]


def write_blends():
    ramp = np.linspace(0, 255, RAMP).round().astype(np.uint32)
    source = colors(1, np.tile(ramp, (RAMP, 1)))
    backdrop = colors(2, np.tile(ramp[:, None], (1, RAMP)))
    write("blend-source", source)
    write("blend-backdrop", backdrop)
    write("blend-modes", np.vstack([blended(source, backdrop, mode) for mode in MODES]))


def picture(tools):
    return tools.with_alpha(tools.painting(60, 45))


def write_blurs(tools):
    pixels = premultiplied(picture(tools))
    write("blur-picture", pixels)
    # Radii of 10, 20 and 60: boxes of 9, 19 and 57 pixels.
    for radius, box in [(10, 9), (20, 19), (60, 57)]:
        sigma = ((box * box - 1) / 4) ** 0.5
        # Pillow takes the four for whatever they are, so they may be premultiplied.
        blurred = Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(sigma))
        write(f"blur-{radius}", np.asarray(blurred))


def write_matrices(tools):
    png = io.BytesIO()
    Image.fromarray(picture(tools)).save(png, "PNG")
    for name, matrix in MATRICES.items():
        # ImageMagick's fifth column and row are black ink.
        rows = [row[:4] + [0, row[4]] for row in matrix] + [[0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]]
        text = " ".join(str(number) for row in rows for number in row)
        command = ["convert", "png:-", "-set", "colorspace", "sRGB", "-color-matrix", f"6x6:{text}", "-depth", "8", "rgba:-"]
        output = subprocess.run(command, input=png.getvalue(), stdout=subprocess.PIPE, check=True).stdout
        write(f"matrix-{name}", premultiplied(np.frombuffer(output, np.uint8).reshape(45, 60, 4)))


def write_all(tools):
    """`tools` is make_fixtures, which has the picture."""
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    write_blends()
    write_blurs(tools)
    write_matrices(tools)


if __name__ == "__main__":
    import make_fixtures

    write_all(make_fixtures)

"""Writes the pictures in color/: what files say about their colours, and what lcms2 makes of it.

make_fixtures.py calls it.
"""

import io
import pathlib
import struct
import zlib

import color_profiles
import numpy as np
from PIL import Image, ImageCms

OUT = pathlib.Path(__file__).parent / "color"


def converted(image, profile):
    """What lcms2 makes of the picture in sRGB; alpha stays."""
    mode = "RGB" if image.mode == "RGBA" else image.mode
    rgb = ImageCms.profileToProfile(
        image.convert(mode), ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB"),
        outputMode="RGB")
    return np.dstack([np.asarray(rgb), np.asarray(image.convert("RGBA"))[..., 3]])


def write_all(tools):
    """`tools` is make_fixtures, which writes the files."""
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    png, chunk, encoded = tools.png, tools.chunk, tools.encoded

    def write(name, data, rgba):
        tools.write(name, data, rgba, OUT)

    rgb = tools.painting(31, 23)
    rgba = tools.with_alpha(rgb)
    opaque = np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])
    picture = Image.fromarray(rgb)
    grays = picture.convert("L")
    p3 = color_profiles.display(color_profiles.P3_PRIMARIES, color_profiles.SRGB_CURVE, version=0x04300000)
    adobe = color_profiles.display(color_profiles.ADOBE_PRIMARIES, color_profiles.gamma_curve(2.19921875))
    prophoto = color_profiles.display(
        color_profiles.PROPHOTO_PRIMARIES, color_profiles.gamma_curve(1.8), white=(0.345704, 0.35854))
    steep = color_profiles.display(
        color_profiles.SRGB_PRIMARIES, color_profiles.table_curve(np.linspace(0, 1, 300) ** 1.6))
    dark_gray = color_profiles.gray(color_profiles.table_curve(np.linspace(0, 1, 64) ** 3))
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    # lcms2 writes the time at which it was made.
    srgb = srgb[:24] + p3[24:36] + srgb[36:]

    def jpeg(name, image, profile):
        data = encoded(image, "JPEG", quality=90, subsampling=0, icc_profile=profile)
        write(name, data, converted(Image.open(io.BytesIO(data)), profile))

    jpeg("p3.jpg", picture, p3)
    jpeg("gray.jpg", grays, dark_gray)
    data = encoded(grays, "JPEG", quality=90, icc_profile=adobe)
    write("gray-in-colors.jpg", data, converted(Image.open(io.BytesIO(data)).convert("RGB"), adobe))
    jpeg("press.jpg", picture.convert("CMYK"), color_profiles.press())
    data = encoded(picture, "JPEG", quality=90, icc_profile=srgb)
    write("srgb.jpg", data, tools.opened(data))

    def profiled_png(name, samples, color_type, profile, shown):
        chunks = chunk(b"iCCP", b"test\0\0" + zlib.compress(profile, 9))
        write(name, png(samples, 8, color_type, chunks=chunks), shown)

    profiled_png("adobe.png", rgba, 6, adobe, converted(Image.fromarray(rgba), adobe))
    profiled_png("table.png", rgb, 2, steep, converted(picture, steep))
    profiled_png("gray.png", np.asarray(grays)[..., None], 0, dark_gray, converted(grays, dark_gray))
    profiled_png("scanner.png", rgba, 6, color_profiles.scanner(),
                 converted(Image.fromarray(rgba), color_profiles.scanner()))
    profiled_png("srgb.png", rgba, 6, srgb, rgba)

    data = encoded(picture, "WEBP", lossless=True, icc_profile=prophoto)
    write("prophoto.webp", data, converted(picture, prophoto))

    gamma = {value: chunk(b"gAMA", struct.pack(">I", value)) for value in [100000, 45455]}
    points = [color_profiles.D65_POINT, *color_profiles.ADOBE_PRIMARIES]
    lights = chunk(b"cHRM", b"".join(struct.pack(">II", round(x * 1e5), round(y * 1e5)) for x, y in points))
    bright = ((rgb / 255) ** (1 / 2.2) * 255).round().astype(np.uint8)
    write("gamma.png", png(rgb, 8, 2, chunks=gamma[100000]), np.dstack([bright, opaque[..., 3]]))
    write("gamma-of-displays.png", png(rgba, 8, 6, chunks=gamma[45455]), rgba)
    plain = color_profiles.display(color_profiles.ADOBE_PRIMARIES, color_profiles.gamma_curve(2.19921875))
    write("lights.png", png(rgb, 8, 2, chunks=gamma[45455] + lights), converted(picture, plain))
    write("srgb-wins.png", png(rgb, 8, 2, chunks=chunk(b"sRGB", b"\0") + gamma[100000] + lights), opaque)
    code_points = chunk(b"cICP", bytes([12, 13, 0, 1]))
    write(
        "code-points-win.png", png(rgb, 8, 2, chunks=code_points + chunk(b"sRGB", b"\0") + gamma[100000]),
        converted(picture, p3))

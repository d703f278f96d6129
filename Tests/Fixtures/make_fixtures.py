#!/usr/bin/env python3
"""Writes the pictures in images/ and, beside each, the pixels that a correct decoder gets from it.

Needs Debian's python3-pil, python3-numpy, python3-cairo, imagemagick and libjpeg-turbo-progs; run it with
/usr/bin/python3. Its output is committed, so that tests need none of them. `picture.ext.rgba` holds width and height (32 bits each, little-endian) and premultiplied RGBA rows, upright.

BMP, ICO, ICNS, PNM and QOI files come from still_fixtures.py. PNG and GIF files are written here, byte by byte, and their pixels come from the samples; JPEG and WebP files and their
pixels come from Pillow, or are made as jpeg_fixtures.py and webp_fixtures.py say. Animated GIFs come from gif_animations.py,
which needs imagemagick and webp.
"""

import io
import pathlib
import struct
import sys
import zlib

import color_fixtures
import effects_fixtures
import numpy as np
from PIL import Image, ImageOps

from apng_fixtures import write_apngs
import jpeg_fixtures
import still_fixtures
import webp_fixtures

OUT = pathlib.Path(__file__).parent / "images"


def premultiplied(rgba):
    rgba = rgba.astype(np.uint32)
    alpha = rgba[..., 3:]
    rgba[..., :3] = (rgba[..., :3] * alpha + 127) // 255
    return rgba.astype(np.uint8)


def write(name, data, rgba, folder=OUT):
    (folder / name).write_bytes(data)
    write_pixels(name, rgba, folder)


def write_pixels(name, rgba, folder=OUT):
    height, width = rgba.shape[:2]
    (folder / f"{name}.rgba").write_bytes(struct.pack("<II", width, height) + premultiplied(rgba).tobytes())


def painting(width, height):
    """Gradients, a sharp edge and a little texture; the same on every run."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    red = 255 * x / width
    green = 255 * y / height
    blue = 127 + 60 * np.sin(x / 5) + 60 * np.cos(y / 7)
    disc = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (min(width, height) / 3) ** 2
    rgb = np.stack([np.where(disc, 255 - red, red), np.where(disc, 40, green), blue], axis=-1)
    return rgb.clip(0, 255).astype(np.uint8)


def with_alpha(rgb):
    height, width = rgb.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    alpha = ((x * 255 // max(1, width - 1)) + (y * 40 // height)).clip(0, 255).astype(np.uint8)
    return np.dstack([rgb, alpha])


def encoded(image, format, **options):
    output = io.BytesIO()
    image.save(output, format, **options)
    return output.getvalue()


def opened(data):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGBA"))


# JPEG


def jpeg_segments(data):
    """The marker segments before the scan as (marker, offset, end)."""
    offset = 2
    while data[offset + 1] != 0xDA:
        end = offset + 2 + struct.unpack(">H", data[offset + 2 : offset + 4])[0]
        yield data[offset + 1], offset, end
        offset = end


def write_jpegs():
    rgb = Image.fromarray(painting(37, 29))
    for name, options in {
        "baseline-444": dict(subsampling=0),
        "baseline-422": dict(subsampling=1),
        "baseline-420": dict(subsampling=2),
        "progressive-444": dict(subsampling=0, progressive=True),
        "progressive-420": dict(subsampling=2, progressive=True),
    }.items():
        data = encoded(rgb, "JPEG", quality=85, **options)
        write(f"{name}.jpg", data, opened(data))
    grey = encoded(rgb.convert("L"), "JPEG", quality=85)
    write("grey.jpg", grey, opened(grey))

    profiled = encoded(rgb, "JPEG", quality=50, icc_profile=b"not a profile, only its place")
    write("profile.jpg", profiled, opened(profiled))

    cmyk = encoded(rgb.convert("CMYK"), "JPEG", quality=90)
    write("cmyk-adobe.jpg", cmyk, opened(cmyk))
    _, start, end = next(segment for segment in jpeg_segments(cmyk) if segment[0] == 0xEE)
    # The last byte of Adobe's marker tells the colour transform: 2 says that the same samples are YCCK.
    ycck = cmyk[: end - 1] + b"\x02" + cmyk[end:]
    write("ycck-adobe.jpg", ycck, opened(ycck))
    plain = cmyk[:start] + cmyk[end:]
    write("cmyk-plain.jpg", plain, opened(plain))

    small = Image.fromarray(painting(24, 16))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        data = encoded(small, "JPEG", quality=90, subsampling=0, exif=exif)
        write(f"orientation-{orientation}.jpg", data, opened(data))

    photo = Image.fromarray(painting(240, 180))
    data = encoded(photo, "JPEG", quality=92)
    (OUT / "photo.jpg").write_bytes(data)
    for size in [(60, 45), (97, 73)]:
        reduced = Image.open(io.BytesIO(data)).convert("RGBA").resize(size, Image.LANCZOS)
        write_pixels(f"photo-{size[0]}x{size[1]}", np.asarray(reduced))

    flat = Image.new("L", (64, 64), 90)
    progressive = encoded(flat, "JPEG", quality=80, progressive=True)
    # The last scan over and over: each is valid, and each costs a pass.
    last_scan = progressive.rindex(b"\xff\xda")
    (OUT / "scan-bomb.jpg").write_bytes(progressive[:-2] + progressive[last_scan:-2] * 200 + progressive[-2:])


# PNG


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def packed_rows(samples, depth):
    """Filtered (type 0) rows of samples shaped (height, width, channels)."""
    rows = b""
    for row in samples.reshape(samples.shape[0], -1):
        if depth == 16:
            content = row.astype(">u2").tobytes()
        elif depth == 8:
            content = row.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(value, f"0{depth}b") for value in row)
            bits += "0" * (-len(bits) % 8)
            content = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
        rows += b"\0" + content
    return rows


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(samples, depth, color_type, interlaced=False, chunks=b"", frames=b""):
    height, width = samples.shape[:2]
    if interlaced:
        rows = b""
        for x, y, step_x, step_y in ADAM7:
            part = samples[y::step_y, x::step_x]
            if part.size:
                rows += packed_rows(part, depth)
    else:
        rows = packed_rows(samples, depth)
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunks + chunk(b"IDAT", zlib.compress(rows, 9)) + frames
        + chunk(b"IEND", b"")
    )


def write_pngs():
    width, height = 19, 13
    rgb = painting(width, height)
    rgba = with_alpha(rgb)
    grey = rgb[..., 1:2]
    opaque = np.full((height, width, 1), 255, np.uint8)

    def rgba_of_grey(values, alpha=opaque):
        return np.concatenate([values, values, values, alpha], axis=-1).astype(np.uint8)

    for depth in [1, 2, 4, 8]:
        top = 2**depth - 1
        samples = grey.astype(np.uint32) * top // 255
        exact = samples * 255 // top
        for interlaced in [False, True]:
            suffix = "-adam7" if interlaced else ""
            write(f"grey-{depth}{suffix}.png", png(samples, depth, 0, interlaced), rgba_of_grey(exact))
        key = int(samples[0, 0, 0])
        alpha = np.where(samples == key, 0, 255)
        write(
            f"grey-{depth}-key.png", png(samples, depth, 0, chunks=chunk(b"tRNS", struct.pack(">H", key))),
            rgba_of_grey(exact, alpha))

    def sixteen(values):
        return values.astype(np.uint32) * 256 + (values.astype(np.uint32) * 37 + 11) % 256

    def rounded(values):
        return ((values * 255 + 32767) // 65535).astype(np.uint8)

    deep = sixteen(grey)
    write("grey-16.png", png(deep, 16, 0), rgba_of_grey(rounded(deep)))
    deep = sixteen(rgb)
    write("rgb-16.png", png(deep, 16, 2), np.dstack([rounded(deep), opaque]))
    key = deep[3, 4]
    alpha = np.where((deep == key).all(axis=-1, keepdims=True), 0, 255).astype(np.uint8)
    write(
        "rgb-16-key.png", png(deep, 16, 2, chunks=chunk(b"tRNS", struct.pack(">HHH", *map(int, key)))),
        np.dstack([rounded(deep), alpha]))
    deep = sixteen(rgba)
    write("rgba-16-adam7.png", png(deep, 16, 6, True), rounded(deep))
    grey_alpha = rgba[..., [1, 3]]
    write("grey-alpha-8.png", png(grey_alpha, 8, 4), rgba_of_grey(grey_alpha[..., :1], grey_alpha[..., 1:]))
    deep = sixteen(grey_alpha)
    write("grey-alpha-16.png", png(deep, 16, 4), rgba_of_grey(rounded(deep[..., :1]), rounded(deep[..., 1:])))

    write("rgb-8.png", png(rgb, 8, 2), np.dstack([rgb, opaque]))
    write("rgba-8.png", png(rgba, 8, 6), rgba)
    write("rgba-8-adam7.png", png(rgba, 8, 6, True), rgba)
    full = np.dstack([rgb, opaque])
    write("rgba-8-opaque.png", png(full, 8, 6), full)

    for depth in [1, 2, 4, 8]:
        count = min(2**depth, 200)
        ramp = np.arange(count)
        palette = np.stack([ramp * 255 // max(1, count - 1), 255 - ramp, ramp * 7 % 256], -1)
        indices = (np.arange(width * height).reshape(height, width, 1) * 3) % count
        shown = palette[indices[..., 0]]
        plte = chunk(b"PLTE", palette.astype(np.uint8).tobytes())
        for interlaced in [False, True]:
            suffix = "-adam7" if interlaced else ""
            write(
                f"palette-{depth}{suffix}.png", png(indices, depth, 3, interlaced, plte),
                np.dstack([shown.astype(np.uint8), opaque]))
        # Shorter than the palette: the rest is opaque.
        alphas = np.array([0, 128], np.uint8)
        table = np.concatenate([alphas, np.full(256, 255, np.uint8)])
        write(
            f"palette-{depth}-alpha.png", png(indices, depth, 3, chunks=plte + chunk(b"tRNS", alphas.tobytes())),
            np.dstack([shown.astype(np.uint8), table[indices]]))

    exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
    write(
        "orientation-6.png", png(rgb, 8, 2, chunks=chunk(b"eXIf", exif)),
        np.rot90(np.dstack([rgb, opaque]), k=-1))
    (OUT / "profile.png").write_bytes(
        png(rgb, 8, 2, chunks=chunk(b"iCCP", b"name\0\0" + zlib.compress(b"not a profile"))))

    def frame_header(number, numerator, denominator):
        return chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, numerator, denominator, 0, 0))

    again = zlib.compress(packed_rows(rgb, 8), 9)
    animated = png(
        rgb, 8, 2, chunks=chunk(b"acTL", struct.pack(">II", 3, 2)) + frame_header(0, 1, 4),
        frames=frame_header(1, 5, 0) + chunk(b"fdAT", struct.pack(">I", 2) + again)
        + frame_header(3, 0, 1000) + chunk(b"fdAT", struct.pack(">I", 4) + again))
    write("animated.png", animated, np.dstack([rgb, opaque]))

    photo = painting(160, 120)
    (OUT / "photo.png").write_bytes(encoded(Image.fromarray(photo), "PNG", optimize=True))
    for size in [(50, 37), (80, 30), (1, 1)]:
        reduced = Image.fromarray(photo).convert("RGBA").resize(size, Image.LANCZOS)
        write_pixels(f"photo.png-{size[0]}x{size[1]}", np.asarray(reduced))


# GIF


def gif_sub_blocks(data):
    blocks = b""
    for start in range(0, len(data), 255):
        part = data[start : start + 255]
        blocks += bytes([len(part)]) + part
    return blocks + b"\0"


def lzw(indices, bits):
    """Codes that never clear the table once it is full, as the format allows."""
    clear, end = 1 << bits, (1 << bits) + 1
    value, count, output = 0, 0, bytearray()

    def emit(code, size):
        nonlocal value, count
        value |= code << count
        count += size
        while count >= 8:
            output.append(value & 255)
            value >>= 8
            count -= 8

    table = {(i,): i for i in range(clear)}
    size, following = bits + 1, end + 1
    emit(clear, size)
    prefix = ()
    for index in indices:
        if prefix + (index,) in table:
            prefix += (index,)
            continue
        emit(table[prefix], size)
        if following < 4096:
            table[prefix + (index,)] = following
            following += 1
            if following > 1 << size and size < 12:
                size += 1
        prefix = (index,)
    emit(table[prefix], size)
    # The decoder's table is one entry behind; its code may already be longer.
    if following == 1 << size and size < 12:
        size += 1
    emit(end, size)
    emit(0, 7)
    return bytes(output)


def gif_frame(indices, left=0, top=0, interlaced=False, palette=None, control=b""):
    height, width = indices.shape
    rows = indices
    if interlaced:
        rows = np.concatenate([indices[0::8], indices[4::8], indices[2::4], indices[1::2]])
    bits = 8 if indices.max() >= 16 else 4 if indices.max() >= 4 else 2
    flags = 0x40 if interlaced else 0
    table = b""
    if palette is not None:
        flags |= 0x80 | (bits - 1)
        table = palette[: 1 << bits].astype(np.uint8).tobytes()
    descriptor = b"," + struct.pack("<HHHHB", left, top, width, height, flags)
    pixels = lzw([int(i) for i in rows.reshape(-1)], bits)
    return control + descriptor + table + bytes([bits]) + gif_sub_blocks(pixels)


def gif(width, height, frames, palette=None, version=b"89a", extensions=b""):
    flags, table = 0, b""
    if palette is not None:
        flags = 0x80 | (len(palette).bit_length() - 2)
        table = palette.astype(np.uint8).tobytes()
    screen = struct.pack("<HHBBB", width, height, flags, 0, 0)
    return b"GIF" + version + screen + table + extensions + b"".join(frames) + b";"


def graphic_control(delay=0, transparent=None, disposal=0):
    flags = disposal << 2 | (transparent is not None)
    return b"!\xf9\x04" + struct.pack("<BHBB", flags, delay, transparent or 0, 0)


def write_gifs():
    count = 256
    palette = np.stack([np.arange(count), 255 - np.arange(count), np.arange(count) * 5 % 256], -1)
    few = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255]])
    y, x = np.mgrid[0:17, 0:21]
    indices = (x * 11 + y * 7) % count
    four = (x + y) % 4

    def shown(indices, palette, transparent=None):
        rgb = palette[indices].astype(np.uint8)
        alpha = np.where(indices == transparent, 0, 255).astype(np.uint8) if transparent is not None else np.full(
            indices.shape, 255, np.uint8)
        return np.dstack([rgb, alpha])

    write("87a.gif", gif(21, 17, [gif_frame(indices)], palette, b"87a"), shown(indices, palette))
    write("interlaced.gif", gif(21, 17, [gif_frame(indices, interlaced=True)], palette), shown(indices, palette))
    write(
        "transparent.gif", gif(21, 17, [gif_frame(four, control=graphic_control(transparent=2))], few),
        shown(four, few, 2))
    write("local-palette.gif", gif(21, 17, [gif_frame(four, palette=few)], palette), shown(four, few))
    canvas = np.zeros((20, 30, 4), np.uint8)
    canvas[2:19, 5:26] = shown(four, few)
    write("offset.gif", gif(30, 20, [gif_frame(four, 5, 2)], few), canvas)
    noise = np.random.default_rng(7).integers(0, count, (64, 64))
    write(
        "deferred-clear.gif", gif(64, 64, [gif_frame(noise)], palette), shown(noise, palette))
    loop = b"!\xff\x0bNETSCAPE2.0\x03\x01\x02\x00\x00"
    frames = [gif_frame(four, control=graphic_control(delay)) for delay in [7, 1, 50]]
    write("animated.gif", gif(21, 17, frames, few, extensions=loop), shown(four, few))


# WebP


def write_webps():
    rgb = painting(37, 29)
    rgba = with_alpha(rgb)
    for name, pixels, options in [
        ("lossy", rgb, dict(quality=80)),
        ("lossless", rgb, dict(lossless=True)),
        ("lossy-alpha", rgba, dict(quality=80)),
        ("lossless-alpha", rgba, dict(lossless=True, exact=True)),
    ]:
        data = encoded(Image.fromarray(pixels), "WEBP", **options)
        write(f"{name}.webp", data, opened(data))
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(Image.fromarray(rgb), "WEBP", lossless=True, exif=exif.tobytes(), icc_profile=b"only its place")
    write("orientation-6.webp", data, np.rot90(np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)]), k=-1))
    frames = [Image.fromarray(np.roll(rgba, shift, axis=0)) for shift in [0, 5, 10]]
    data = encoded(
        frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=[80, 10, 200], loop=3, lossless=True)
    write("animated.webp", data, opened(data))


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    write_jpegs()
    write_pngs()
    write_apngs(OUT, png, chunk, packed_rows)
    write_gifs()
    write_webps()
    still_fixtures.write_stills(write, painting, with_alpha)
    jpeg_fixtures.write_all(painting, write)
    webp_fixtures.write_all(painting, with_alpha, encoded, write, write_pixels)
    # It imports this file.
    from gif_animations import write_animations

    write_animations()
    color_fixtures.write_all(sys.modules[__name__])
    effects_fixtures.write_all(sys.modules[__name__])

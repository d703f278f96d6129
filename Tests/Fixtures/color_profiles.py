"""ICC profiles (ICC.1:2022), made from what they are to mean."""

import struct

import numpy as np

D50 = np.array([0.9642, 1.0, 0.8249])
D65_POINT = (0.3127, 0.329)
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])

SRGB_PRIMARIES = ((0.64, 0.33), (0.3, 0.6), (0.15, 0.06))
P3_PRIMARIES = ((0.68, 0.32), (0.265, 0.69), (0.15, 0.06))
ADOBE_PRIMARIES = ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06))
PROPHOTO_PRIMARIES = ((0.734699, 0.265301), (0.159597, 0.840403), (0.036598, 0.000105))


def fixed(value):
    return struct.pack(">i", round(value * 65536))


def xyz(values):
    return b"XYZ \0\0\0\0" + b"".join(fixed(value) for value in values)


def gamma_curve(gamma):
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256))


def table_curve(values):
    points = [round(value * 65535) for value in values]
    return b"curv\0\0\0\0" + struct.pack(f">I{len(points)}H", len(points), *points)


def formula_curve(kind, *numbers):
    return b"para\0\0\0\0" + struct.pack(">HH", kind, 0) + b"".join(fixed(number) for number in numbers)


SRGB_CURVE = formula_curve(3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def light_matrix(primaries, white=D65_POINT):
    """From lights to XYZ under D50."""

    def color(point):
        return np.array([point[0] / point[1], 1, (1 - point[0] - point[1]) / point[1]])

    lights = np.stack([color(point) for point in primaries], axis=1)
    amounts = np.linalg.solve(lights, color(white))
    adaptation = np.diag((BRADFORD @ D50) / (BRADFORD @ color(white)))
    return np.linalg.inv(BRADFORD) @ adaptation @ BRADFORD @ lights @ np.diag(amounts)


def profile(space, connection, tags, version=0x02400000, kind=b"mntr"):
    tags = {b"desc": b"desc\0\0\0\0" + struct.pack(">I", 5) + b"test\0" + b"\0" * 78, b"wtpt": xyz(D50)} | tags
    offset = 128 + 4 + 12 * len(tags)
    table, contents = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        content += b"\0" * (-len(content) % 4)
        table += name + struct.pack(">II", offset + len(contents), len(content))
        contents += content
    size = offset + len(contents)
    header = struct.pack(">II", size, 0) + struct.pack(">I", version) + kind + space + connection
    header += struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + b"\0" * 28
    header += b"".join(fixed(value) for value in D50)
    return header.ljust(128, b"\0") + table + contents


def display(primaries, curve, white=D65_POINT, **options):
    red, green, blue = light_matrix(primaries, white).T
    return profile(
        b"RGB ", b"XYZ ",
        {b"rXYZ": xyz(red), b"gXYZ": xyz(green), b"bXYZ": xyz(blue), b"rTRC": curve, b"gTRC": curve, b"bTRC": curve},
        **options)


def gray(curve):
    return profile(b"GRAY", b"XYZ ", {b"kTRC": curve})


def lab(colors):
    """CIELAB of XYZ under D50."""
    ratio = colors / D50
    root = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def axes(channels, steps):
    """Every combination of steps, the last channel fastest, as tables are stored."""
    ramp = np.linspace(0, 1, steps)
    return np.stack(np.meshgrid(*[ramp] * channels, indexing="ij"), axis=-1)


def lut8(channels, steps, colors):
    """A table with 8 bits for each number of CIELAB."""
    numbers = colors * [255 / 100, 1, 1] + [0, 128, 128]
    straight = bytes(range(256))
    return (
        b"mft1\0\0\0\0" + bytes([channels, 3, steps, 0]) + IDENTITY + straight * channels
        + numbers.round().clip(0, 255).astype(np.uint8).tobytes() + straight * 3)


def lut16(channels, steps, colors):
    """A table with 16 bits for each number of CIELAB, as in version 2."""
    numbers = colors * [652.8, 256, 256] + [0, 32768, 32768]
    straight = struct.pack(">HH", 0, 65535)
    return (
        b"mft2\0\0\0\0" + bytes([channels, 3, steps, 0]) + IDENTITY + struct.pack(">HH", 2, 2) + straight * channels
        + numbers.round().clip(0, 65535).astype(">u2").tobytes() + straight * 3)


IDENTITY = b"".join(fixed(value) for value in np.eye(3).reshape(-1))


def press():
    """A printing press: warm paper, inks that are not quite cyan, magenta, yellow and black."""
    c, m, y, k = np.moveaxis(axes(4, 5), -1, 0)
    light = np.stack([1 - 0.95 * c, 1 - 0.85 * m - 0.1 * c, 1 - 0.9 * y - 0.08 * m], axis=-1).clip(0, 1)
    light = (0.02 + 0.95 * light * (1 - 0.97 * k[..., None])) ** 1.9 * [0.98, 0.96, 0.9]
    return profile(
        b"CMYK", b"Lab ", {b"A2B0": lut8(4, 5, lab(light @ light_matrix(SRGB_PRIMARIES).T))}, kind=b"prtr")


def scanner():
    """A device whose channels leak into each other in a way that no matrix describes."""
    rgb = axes(3, 7)
    light = (0.85 * rgb + 0.15 * np.roll(rgb, 1, axis=-1) * rgb) ** 2
    return profile(
        b"RGB ", b"Lab ", {b"A2B0": lut16(3, 7, lab(light @ light_matrix(SRGB_PRIMARIES).T))}, kind=b"scnr")

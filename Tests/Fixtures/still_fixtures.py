"""BMP, ICO, ICNS, PNM and QOI files, written byte by byte, and their pixels from the samples. Pillow writes two icons, and reads the
files that it can: its pixels must be the same."""

import io
import struct

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 23, 17


def write_stills(write, painting, with_alpha):
    rgb = painting(WIDTH, HEIGHT)
    rgba = with_alpha(rgb)
    write_bitmaps(write, rgb, rgba)
    write_portable(write, rgb, rgba)
    write_qoi(write, rgb, rgba)
    write_icons(write, painting, with_alpha)


def opaque(rgb):
    return np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])


def check(name, data, rgba, tolerance=0):
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")).astype(int)
    difference = np.abs(pixels - rgba.astype(int)).max()
    assert difference <= tolerance, f"{name}: Pillow's pixels differ by {difference}"


# BMP


def packed(indices, bits):
    rows = []
    for row in indices:
        text = "".join(format(index, f"0{bits}b") for index in row)
        text += "0" * (-len(text) % 32)
        rows.append(int(text, 2).to_bytes(len(text) // 8, "big"))
    return rows


def padded(row):
    return row + bytes(-len(row) % 4)


def bmp(rows, bits, header=40, compression=0, palette=(), masks=(), height=HEIGHT, extra=b"", pixels=None):
    """`rows` from the top."""
    body = b"".join(reversed(rows)) if pixels is None else pixels
    if header == 12:
        info = struct.pack("<IHHHH", 12, WIDTH, height, 1, bits)
        colors = b"".join(bytes([b, g, r]) for r, g, b in palette)
    else:
        info = struct.pack("<IiiHHIIiiII", header, WIDTH, height, 1, bits, compression, len(body), 2835, 2835, len(palette), 0)
        info += b"".join(struct.pack("<I", mask) for mask in masks)
        info += extra
        info += bytes(max(0, header - len(info)))
        colors = b"".join(bytes([b, g, r, 0]) for r, g, b in palette)
    offset = 14 + len(info) + len(colors)
    return b"BM" + struct.pack("<IHHI", offset + len(body), 0, 0, offset) + info + colors + body


def rounded(values, maximum):
    return ((values.astype(int) * 255 + maximum // 2) // maximum).astype(np.uint8)


def write_bitmaps(write, rgb, rgba):
    for bits in (1, 2, 4, 8):
        count = 1 << bits
        palette = [((i * 91) & 255, (i * 37) & 255, 255 - i) for i in range(count)]
        indices = (rgb.astype(int).sum(axis=2) // 3) * count // 256
        pixels = opaque(np.array(palette, np.uint8)[indices])
        data = bmp(packed(indices, bits), bits, palette=palette)
        write(f"bmp-{bits}.bmp", data, pixels)
        if bits != 2:
            check(f"bmp-{bits}", data, pixels)
        if bits == 8:
            write("bmp-os2-8.bmp", bmp(packed(indices, 8), 8, header=12, palette=palette), pixels)
            few = bmp(packed(indices % 5, 8), 8, palette=palette[:5])
            write("bmp-5-colors.bmp", few, opaque(np.array(palette, np.uint8)[indices % 5]))
            runs = b"".join(rle8(row) + b"\0\0" for row in reversed(indices.tolist())) + b"\0\1"
            data = bmp([], 8, compression=1, palette=palette, pixels=runs)
            write("bmp-rle8.bmp", data, pixels)
            check("bmp-rle8", data, pixels)
            # A jump over two columns and one row; what is skipped has the first color.
            sparse = np.zeros_like(indices)
            sparse[HEIGHT - 1, :3], sparse[HEIGHT - 2, 5:9] = 7, 9
            runs = bytes([3, 7, 0, 2, 2, 1, 4, 9, 0, 1])
            write("bmp-rle8-jump.bmp", bmp([], 8, compression=1, palette=palette, pixels=runs),
                  opaque(np.array(palette, np.uint8)[sparse]))
        if bits == 4:
            runs = b"".join(rle4(row) + b"\0\0" for row in reversed(indices.tolist())) + b"\0\1"
            data = bmp([], 4, compression=2, palette=palette, pixels=runs)
            write("bmp-rle4.bmp", data, pixels)
            check("bmp-rle4", data, pixels)
            # Pillow 9.4 miscounts an odd number of literals.
            runs = b"".join(rle4(row, 7) + b"\0\0" for row in reversed(indices.tolist())) + b"\0\1"
            write("bmp-rle4-odd.bmp", bmp([], 4, compression=2, palette=palette, pixels=runs), pixels)

    five = (rgb >> 3).astype(np.uint16)
    rows = [padded((row[:, 0] << 10 | row[:, 1] << 5 | row[:, 2]).astype("<u2").tobytes()) for row in five]
    data = bmp(rows, 16)
    write("bmp-16-555.bmp", data, opaque(rounded(five, 31)))
    check("bmp-16", data, opaque(rounded(five, 31)), 1)
    six = np.dstack([rgb[..., 0] >> 3, rgb[..., 1] >> 2, rgb[..., 2] >> 3]).astype(np.uint16)
    rows = [padded((row[:, 0] << 11 | row[:, 1] << 5 | row[:, 2]).astype("<u2").tobytes()) for row in six]
    pixels = opaque(np.dstack([rounded(six[..., 0], 31), rounded(six[..., 1], 63), rounded(six[..., 2], 31)]))
    write("bmp-16-565.bmp", bmp(rows, 16, compression=3, masks=(0xF800, 0x7E0, 0x1F)), pixels)

    rows = [padded(row[:, ::-1].tobytes()) for row in rgb]
    write("bmp-24.bmp", bmp(rows, 24), opaque(rgb))
    check("bmp-24", bmp(rows, 24), opaque(rgb))
    down = bmp([], 24, height=-HEIGHT, pixels=b"".join(rows))
    write("bmp-24-down.bmp", down, opaque(rgb))
    check("bmp-24-down", down, opaque(rgb))
    write("bmp-os2-24.bmp", bmp(rows, 24, header=12), opaque(rgb))

    rows = [row[:, [2, 1, 0, 3]].tobytes() for row in rgba]
    write("bmp-32.bmp", bmp(rows, 32), opaque(rgb))
    masks = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    data = bmp(rows, 32, header=124, compression=3, masks=masks, extra=b"BGRs")
    write("bmp-32-v5.bmp", data, rgba)
    check("bmp-32-v5", data, rgba)
    clear = [row[:, [2, 1, 0]].tobytes() for row in rgb]
    clear = [b"".join(row[i:i + 3] + b"\0" for i in range(0, len(row), 3)) for row in clear]
    write("bmp-32-no-alpha.bmp", bmp(clear, 32, header=108, compression=3, masks=masks, extra=b"BGRs"), opaque(rgb))
    ten = (rgb.astype(np.uint32) << 2) + 1
    rows = [(row[:, 0] << 20 | row[:, 1] << 10 | row[:, 2]).astype("<u4").tobytes() for row in ten]
    write("bmp-32-10-bits.bmp", bmp(rows, 32, compression=3, masks=(0x3FF00000, 0xFFC00, 0x3FF)), opaque(rounded(ten, 1023)))


def runs_of(row):
    runs = []
    for value in row:
        if runs and runs[-1][0] == value and runs[-1][1] < 255:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return runs


def rle8(row):
    """The first eight pixels literally."""
    head = bytes([0, 8]) + bytes(row[:8])
    return head + b"".join(bytes([count, value]) for value, count in runs_of(row[8:]))


def rle4(row, literals=8):
    nibbles = row[:literals] + [0]
    head = bytes([0, literals]) + bytes(nibbles[i] << 4 | nibbles[i + 1] for i in range(0, literals, 2))
    return head + b"".join(bytes([count, value << 4 | value]) for value, count in runs_of(row[literals:]))


# PNM


def write_portable(write, rgb, rgba):
    gray = rgb[..., 1]
    grays = opaque(np.dstack([gray] * 3))
    bits = (gray > 128).astype(int)
    blacks = opaque(np.dstack([((1 - bits) * 255).astype(np.uint8)] * 3))
    size = f"{WIDTH} {HEIGHT}\n"
    plain = "\n".join("".join(str(bit) for bit in row) for row in bits)
    files = {
        "p1.pbm": (f"P1\n# a comment\n{size}{plain}\n".encode(), blacks),
        "p2.pgm": (f"P2 {size}255\n{' '.join(str(v) for v in gray.flatten())}\n".encode(), grays),
        "p3.ppm": (f"P3\n{WIDTH}\n# between\n{HEIGHT} 255 {' '.join(str(v) for v in rgb.flatten())}".encode(), opaque(rgb)),
        "p4.pbm": (f"P4 {size}".encode() + b"".join(np.packbits(row).tobytes() for row in bits), blacks),
        "p5.pgm": (f"P5 {size}255\n".encode() + gray.tobytes(), grays),
        "p6.ppm": (f"P6 {size}255\n".encode() + rgb.tobytes(), opaque(rgb)),
    }
    for name, (data, pixels) in files.items():
        write(name, data, pixels)
        check(name, data, pixels)
    wide = rgb.astype(np.uint16) * 257 + 100 * (rgb < 200)
    write("p6-16.ppm", f"P6 {size}65535\n".encode() + wide.astype(">u2").tobytes(), opaque(rounded(wide, 65535)))
    narrow = gray >> 4
    write("p5-15.pgm", f"P5 {size}15\n".encode() + narrow.tobytes(), opaque(np.dstack([rounded(narrow, 15)] * 3)))
    header = f"P7\nWIDTH {WIDTH}\nHEIGHT {HEIGHT}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
    write("p7-alpha.pam", header.encode() + rgba.tobytes(), rgba)
    header = f"P7\n# gray\nWIDTH {WIDTH}\nHEIGHT {HEIGHT}\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n"
    pair = np.dstack([gray, rgba[..., 3]])
    write("p7-gray-alpha.pam", header.encode() + pair.tobytes(), np.dstack([gray] * 3 + [rgba[..., 3]]))


# QOI


def qoi(pixels, channels):
    output = bytearray(b"qoif" + struct.pack(">IIBB", pixels.shape[1], pixels.shape[0], channels, 0))
    seen, last, run = [(0, 0, 0, 0)] * 64, (0, 0, 0, 255), 0
    flat = [tuple(int(v) for v in pixel) for pixel in pixels.reshape(-1, 4)]
    for position, pixel in enumerate(flat):
        if pixel == last:
            run += 1
            if run == 62 or position == len(flat) - 1:
                output.append(0xC0 | run - 1)
                run = 0
            continue
        if run:
            output.append(0xC0 | run - 1)
            run = 0
        index = (pixel[0] * 3 + pixel[1] * 5 + pixel[2] * 7 + pixel[3] * 11) % 64
        red, green, blue = (((pixel[i] - last[i] + 128) & 255) - 128 for i in range(3))
        if seen[index] == pixel:
            output.append(index)
        elif pixel[3] != last[3]:
            output += bytes((0xFF,) + pixel)
        elif all(-2 <= d <= 1 for d in (red, green, blue)):
            output.append(0x40 | red + 2 << 4 | green + 2 << 2 | blue + 2)
        elif -32 <= green <= 31 and -8 <= red - green <= 7 and -8 <= blue - green <= 7:
            output += bytes([0x80 | green + 32, red - green + 8 << 4 | blue - green + 8])
        else:
            output += bytes((0xFE,) + pixel[:3])
        seen[index], last = pixel, pixel
    return bytes(output) + bytes(7) + b"\1"


def write_qoi(write, rgb, rgba):
    write("rgb.qoi", qoi(opaque(rgb), 3), opaque(rgb))
    write("rgba.qoi", qoi(rgba, 4), rgba)
    flat = np.repeat(np.repeat(rgba[::4, ::4], 9, axis=0), 31, axis=1)
    write("runs.qoi", qoi(flat, 4), flat)


# Icons


def entry(width, height, bits, data, offset):
    return struct.pack("<BBBBHHII", width & 255, height & 255, 0, 0, 1, bits, len(data), offset)


def ico(images, kind=1):
    offset, directory, body = 6 + 16 * len(images), b"", b""
    for width, height, bits, data in images:
        directory += entry(width, height, bits, data, offset + len(body))
        body += data
    return struct.pack("<HHH", 0, kind, len(images)) + directory + body


def icon_bitmap(rows, bits, width, height, palette=(), mask=None):
    info = struct.pack("<IiiHHIIiiII", 40, width, height * 2, 1, bits, 0, 0, 0, 0, len(palette), 0)
    colors = b"".join(bytes([b, g, r, 0]) for r, g, b in palette)
    if mask is None:
        mask = np.zeros((height, width), int)
    return info + colors + b"".join(reversed(rows)) + b"".join(reversed(packed(mask, 1)))


def png(rgba):
    output = io.BytesIO()
    Image.fromarray(rgba, "RGBA").save(output, "PNG")
    return output.getvalue()


def write_icons(write, painting, with_alpha):
    images = {side: with_alpha(painting(side, side)) for side in (16, 18, 32, 48, 128)}
    output = io.BytesIO()
    Image.fromarray(images[48], "RGBA").save(output, "ICO", sizes=[(16, 16), (48, 48)], bitmap_format="bmp")
    write("pillow.ico", output.getvalue(), images[48])
    rows32 = [row[:, [2, 1, 0, 3]].tobytes() for row in images[32]]
    small = icon_bitmap([row[:, [2, 1, 0, 3]].tobytes() for row in images[16]], 32, 16, 16)
    sizes = [(16, 16, 32, small), (48, 48, 32, png(images[48])), (32, 32, 32, icon_bitmap(rows32, 32, 32, 32))]
    write("sizes.ico", ico(sizes), images[48])
    check("sizes.ico", ico(sizes), images[48])
    # A palette and a mask.
    palette = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (250, 240, 0)]
    indices = np.add.outer(np.arange(32) // 8, np.arange(32) // 8) % 4
    mask = (np.add.outer(np.arange(32), np.arange(32)) < 20).astype(int)
    masked = opaque(np.array(palette, np.uint8)[indices])
    masked[mask == 1] = 0
    data = icon_bitmap(packed(indices, 4), 4, 32, 32, palette, mask)
    write("masked.ico", ico([(32, 32, 4, data)]), masked)
    write("pointer.cur", ico([(32, 32, 3, data)], kind=2), masked)

    def part(name, data):
        return name + struct.pack(">I", len(data) + 8) + data

    def icns(*parts):
        body = b"".join(parts)
        return b"icns" + struct.pack(">I", len(body) + 8) + body

    def compressed(channel):
        """Runs of at least three, the rest literally."""
        output, values, i = bytearray(), channel.flatten().tolist(), 0
        while i < len(values):
            count = 1
            while i + count < len(values) and values[i + count] == values[i] and count < 130:
                count += 1
            if count >= 3:
                output += bytes([count + 125, values[i]])
                i += count
                continue
            end = i + 1
            while end < len(values) and end - i < 128 and values[end:end + 3] != [values[end]] * 3:
                end += 1
            output += bytes([end - i - 1]) + bytes(values[i:end])
            i = end
        return bytes(output)

    def planes(pixels, order):
        return b"".join(compressed(pixels[..., channel]) for channel in order)

    half = images[128].copy()
    half[:64] = [10, 200, 30, 255]
    write("channels.icns", icns(
        part(b"TOC ", bytes(16)), part(b"is32", planes(images[16], (0, 1, 2))), part(b"s8mk", images[16][..., 3].tobytes()),
        part(b"it32", bytes(4) + planes(half, (0, 1, 2))), part(b"t8mk", half[..., 3].tobytes())), half)
    write("argb.icns", icns(part(b"ic05", b"ARGB" + planes(images[32], (3, 0, 1, 2)))), images[32])
    write("png.icns", icns(part(b"ic04", b"ARGB" + planes(images[16], (3, 0, 1, 2))), part(b"ic07", png(images[128]))), images[128])

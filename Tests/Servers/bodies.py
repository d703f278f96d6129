"""The bodies that fault_server.py sends."""

import os
import struct
import zlib


def pattern(size):
    """What /bytes sends: byte i is (i * 31 + i // 251) mod 256."""
    return bytes((i * 31 + i // 251) & 255 for i in range(size))


def png(side_across, side_down, color_type, rows):
    """A PNG of 8 bits a channel."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", side_across, side_down, 8, color_type, 0, 0, 0)
    return b"".join([
        b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""),
    ])


def noise_png(side):
    """A grey PNG that no compression makes smaller."""
    return png(side, side, 0, b"".join(b"\0" + os.urandom(side) for _ in range(side)))


def solid_png(number):
    """8 × 6 pixels of the colour whose red, green and blue are the number's bytes, lowest first."""
    color = bytes([number & 255, number >> 8 & 255, number >> 16 & 255])
    return png(8, 6, 2, (b"\0" + color * 8) * 6)


def raw_deflate(data, flush):
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    return coder.compress(data) + coder.flush(flush)

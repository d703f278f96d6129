#!/usr/bin/python3
"""make_seeds.py TARGET DIRECTORY: small files of the kinds that no fixture has."""
import os
import struct
import subprocess
import sys

target, directory = sys.argv[1:]


def write(name, content):
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)


def exif(order):
    """Orientation and camera, an EXIF directory with a size, and a second one with a thumbnail."""
    def pack(format, *values):
        return struct.pack(order + format, *values)
    mark = b"II" if order == "<" else b"MM"
    main = pack("H", 3) + pack("HHLL", 0x10F, 2, 6, 110) + pack("HHLHH", 0x112, 3, 1, 6, 0) + pack("HHLL", 0x8769, 4, 1, 50)
    details = pack("H", 2) + pack("HHLL", 0xA002, 4, 1, 40) + pack("HHLHH", 0xA001, 3, 1, 0xFFFF, 0) + pack("L", 0)
    second = pack("H", 2) + pack("HHLL", 0x201, 4, 1, 116) + pack("HHLL", 0x202, 4, 1, 4) + pack("L", 0)
    return mark + pack("HL", 42, 8) + main + pack("L", 80) + details + second + b"Leica\0JPEG"


if target == "FuzzMetadata":
    for order in "<>":
        write("exif" + str(ord(order)), exif(order))
elif target == "FuzzPixels":
    head = b"WIPX" + bytes([1, 1]) + struct.pack("<HLLLLdQL", 19, 2, 2, 1, 0xFFFFFFFF, 1.0, 99, 7)
    write("pixels", head.ljust(64, b"\0") + b"png\nimage/png\npng\n".ljust(64, b"\0") + bytes(range(16)))
else:
    source = "../Tests/Fixtures/images/rgb-8.png"
    for program, name, options in [("avifenc", "a.avif", ["-s", "9"]), ("heif-enc", "a.heic", [])]:
        command = [program, *options, source, "-o", os.path.join(directory, name)]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            print(f"{program} made no seed", file=sys.stderr)

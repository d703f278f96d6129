#!/usr/bin/env python3
"""extract_profiles.py IMAGE... DIRECTORY: writes the color profiles of images to DIRECTORY, for libFuzzer to begin with."""

import pathlib
import sys
import zlib


def of_jpeg(data):
    pieces, offset = {}, 2
    while data[offset] == 0xFF and data[offset + 1] != 0xDA:
        length = int.from_bytes(data[offset + 2:offset + 4], "big")
        content = data[offset + 4:offset + 2 + length]
        if data[offset + 1] == 0xE2 and content.startswith(b"ICC_PROFILE\0"):
            pieces[content[12]] = content[14:]
        offset += 2 + length
    return b"".join(pieces[number] for number in sorted(pieces))


def of_png(data):
    offset = 8
    while offset + 8 <= len(data):
        length = int.from_bytes(data[offset:offset + 4], "big")
        content = data[offset + 8:offset + 8 + length]
        if data[offset + 4:offset + 8] == b"iCCP":
            return zlib.decompress(content[content.index(0) + 2:])
        offset += length + 12
    return b""


def of_webp(data):
    offset = 12
    while offset + 8 <= len(data):
        length = int.from_bytes(data[offset + 4:offset + 8], "little")
        if data[offset:offset + 4] == b"ICCP":
            return data[offset + 8:offset + 8 + length]
        offset += 8 + length + length % 2
    return b""


*images, directory = map(pathlib.Path, sys.argv[1:])
for image in images:
    read = {".jpg": of_jpeg, ".png": of_png, ".webp": of_webp}.get(image.suffix)
    profile = read(image.read_bytes()) if read else b""
    if profile:
        (directory / (image.name + ".icc")).write_bytes(profile)

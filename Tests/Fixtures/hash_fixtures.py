#!/usr/bin/env python3
"""Writes hashes/: placeholder hashes and what the reference programs make of them.

Needs, in an environment of its own, blurhash-python 1.2.2 (the C code of github.com/woltapp/blurhash), thumbhash-python 1.0.1
(a port of github.com/evanw/thumbhash), Pillow 10 and numpy:

    python3 -m venv environment && environment/bin/pip install blurhash-python thumbhash-python 'pillow<11' numpy

Its output is committed, so that tests need none of them. `decoded.txt` has a line for each hash that was published somewhere:
the kind, the hash, width, height, punch, and the straight RGBA bytes in base64. `encoded.txt` has a line for each picture, made
by the formula in `picture`: width, height, whether it has alpha, and its hashes, BlurHash with the components in front.
"""

import base64
import pathlib

import blurhash
import numpy as np
from PIL import Image
from thumbhash.decode import thumbhash_to_rgba
from thumbhash.encode import rgba_to_thumbhash

OUT = pathlib.Path(__file__).parent / "hashes"

# Where each was published stands behind it.
BLUR_HASHES = [
    "LlMF%n00%#MwS|WCWEM{R*bbWBbH",  # woltapp/blurhash, Algorithm.md
    "LEHV6nWB2yk8pyo0adR*.7kCMdnj",  # woltapp/blurhash, README of the TypeScript package
    "LFE.@D9F01_2%L%MIVD*9Goe-;WB",  # bbrks/go-blurhash, fixtures_test.go
    "LNAdApj[00aymkj[TKay9}ay-Sj[",  # bbrks/go-blurhash, fixtures_test.go
    "eaF#5R0#WBjYR+58-nWCWBn~bIsTbbayjFWof8jFj[WX-nNHR*jss.",  # bbrks/go-blurhash, fixtures_test.go
    "KJG8_@Dgx]_4V?xuyE%NRj",  # bbrks/go-blurhash, fixtures_test.go
    "LUDT3yayV?ay%jWBa#a}9Xj[j@fP",  # fpapado/blurhash-rust-wasm, tests
    "UrQ]$mfQ~qj@ocofWFWB?bj[D%azf6WBj[t7",  # SolitudeSF/blurhash, tests
    "00Q]$m",  # SolitudeSF/blurhash, tests: the average alone
]
THUMB_HASHES = [
    "3OcRJYB4d3h/iIeHeEh3eIhw+j2w",  # evanw.github.io/thumbhash, as quoted by react-native-thumbhash
    "3PcNNYSFeXh/d3eld0iHZoZgVwh2",  # the same
    "k0oGLQaSVsN0BVhn2oq2Z5SQUQcZ",  # Hentioe/thumbhash-ex, test of examples/flower.jpg
    "1QcSHQRnh493V4dIh4eXh1h4kJUI",  # evanw.github.io/thumbhash, as quoted by johannschopplich/unlazy
]
SIZES = [(1, 1), (2, 3), (16, 16), (40, 30), (30, 40), (100, 21), (13, 100), (100, 100)]
DECODED_SIZES = [(40, 30), (30, 40)]
LARGE = (301, 203)
COMPONENTS = [(4, 3), (1, 1), (9, 9), (1, 6)]


def picture(width, height, has_alpha):
    """The same integers as in HashFixture.swift."""
    y, x = np.mgrid[0:height, 0:width]
    red = x * 255 // max(1, width - 1)
    green = y * 255 // max(1, height - 1)
    blue = (x * 7 + y * 11) % 256
    alpha = np.where((x + y) % 3 == 0, 255, x * 160 // width + 60) if has_alpha else np.full_like(x, 255)
    return np.stack([red, green, blue, alpha], axis=-1).astype(np.uint8)


def decoded_blur_hash(text, width, height, punch):
    return blurhash.decode(text, width, height, punch, blurhash.PixelMode.RGBA).tobytes()


def encoded_blur_hash(rgb, across, down):
    return blurhash.encode(Image.fromarray(rgb), across, down)


def main():
    OUT.mkdir(exist_ok=True)
    lines = []
    for text in BLUR_HASHES:
        for width, height, punch in [(20, 12, 1), (7, 9, 2)]:
            pixels = base64.b64encode(decoded_blur_hash(text, width, height, punch)).decode()
            lines.append(f"BlurHash {text} {width} {height} {punch} {pixels}")
    hashes = list(THUMB_HASHES)
    encoded = []
    for width, height in SIZES + [LARGE]:
        for has_alpha in (False, True):
            rgba = picture(width, height, has_alpha)
            parts = [str(width), str(height), "alpha" if has_alpha else "opaque"]
            if not has_alpha:
                for across, down in COMPONENTS:
                    text = encoded_blur_hash(np.ascontiguousarray(rgba[..., :3]), across, down)
                    parts.append(f"{across}x{down}={text}")
            if (width, height) != LARGE:
                thumb = base64.b64encode(bytes(rgba_to_thumbhash(width, height, rgba.flatten().tolist()))).decode()
                parts.append(f"thumb={thumb}")
                if (width, height) in DECODED_SIZES:
                    hashes.append(thumb)
            if len(parts) > 3:
                encoded.append(" ".join(parts))
    for text in hashes:
        width, height, pixels = thumbhash_to_rgba(base64.b64decode(text))
        lines.append(f"ThumbHash {text} {width} {height} 1 {base64.b64encode(bytes(pixels)).decode()}")
    (OUT / "decoded.txt").write_text("\n".join(lines) + "\n")
    (OUT / "encoded.txt").write_text("\n".join(encoded) + "\n")


main()

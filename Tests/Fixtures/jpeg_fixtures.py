"""JPEG files of kinds that Pillow cannot write: cjpeg does, and djpeg tells their pixels (Debian's libjpeg-turbo-progs)."""

import io
import subprocess
import tempfile

import numpy as np
from PIL import Image


def cjpeg(rgb, *options):
    source = io.BytesIO()
    Image.fromarray(rgb).save(source, "PPM")
    return subprocess.run(["cjpeg", *options], input=source.getvalue(), capture_output=True, check=True).stdout


def djpeg(data):
    pixels = subprocess.run(["djpeg", "-ppm"], input=data, capture_output=True, check=True).stdout
    return np.asarray(Image.open(io.BytesIO(pixels)).convert("RGBA"))


def write_all(painting, write):
    rgb = painting(37, 29)
    for name, options in {
        "baseline-411": ["-sample", "4x1"],
        "baseline-410": ["-sample", "4x2"],
        "baseline-440": ["-sample", "1x2"],
        "baseline-rgb": ["-rgb"],
        "restart-420": ["-restart", "1B", "-sample", "2x2"],
        "arithmetic": ["-arithmetic"],
        "arithmetic-progressive": ["-arithmetic", "-progressive"],
        "progressive-422": ["-progressive", "-sample", "2x1"],
        "progressive-440": ["-progressive", "-sample", "1x2"],
        "progressive-grey": ["-progressive", "-grayscale"],
        "progressive-restart": ["-progressive", "-restart", "1B"],
    }.items():
        data = cjpeg(rgb, "-quality", "80", *options)
        write(f"{name}.jpg", data, djpeg(data))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as scans:
        scans.write("0; 1; 2;")
        scans.flush()
        data = cjpeg(rgb, "-quality", "80", "-scans", scans.name)
        write("scan-per-component.jpg", data, djpeg(data))
    for width, height in [(1, 1), (17, 1), (1, 17), (16, 33)]:
        data = cjpeg(painting(width, height), "-quality", "90")
        write(f"size-{width}x{height}.jpg", data, djpeg(data))
        data = cjpeg(painting(width, height), "-quality", "90", "-progressive")
        write(f"progressive-{width}x{height}.jpg", data, djpeg(data))

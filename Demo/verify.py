#!/usr/bin/env python3
"""Checks what the demo's two starts left behind, and prints a line of figures for each.

Fails unless the cold start loaded everything from the server, the second start asked the server for nothing, and what
was shown, or written, is what the server has.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from urllib.parse import unquote

from PIL import Image, ImageChops, ImageOps, ImageStat

CELLS_WANTED = 20
PSNR_WANTED = 25.0  # dB
# Resampling differs a little at the edges, and corners may be rounded.
MARGIN = 4  # pixels


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="where the starts' reports and screenshots are")
    parser.add_argument("--photographs", type=Path, required=True, help="what the server serves")
    parser.add_argument("--origin", required=True, help="the server's address, with a slash at its end")
    parser.add_argument("--cold-requests", type=int, required=True)
    parser.add_argument("--disk-requests", type=int, required=True)
    return parser.parse_args()


def check(condition, message):
    if not condition:
        sys.exit(f"Demo/verify.py: {message}")


class Verifier:
    def __init__(self, arguments):
        self.arguments = arguments

    def photograph(self, url):
        return self.arguments.photographs / unquote(url.removeprefix(self.arguments.origin))

    # The Gallery

    def verify_gallery(self):
        reports = {name: json.loads((self.arguments.output / f"{name}.json").read_text()) for name in ("cold", "disk")}
        for name, report in reports.items():
            print(
                f"{name}: {report['loaded']} loaded ({report['memory']} from memory, {report['disk']} from disk, "
                f"{report['network']} from the network), {report['failed']} failed, "
                f"{report['bytes'] / 2**20:.1f} MiB, {report['milliseconds']:.0f} ms")
        cold, disk = reports["cold"], reports["disk"]
        for name, report in reports.items():
            check(report["failed"] == 0, f"{report['failed']} pictures failed in the {name} start")
            self.verify_screenshot(name, report["cells"])
        check(cold["network"] == cold["loaded"], "not everything came from the network in the cold start")
        check(disk["disk"] == disk["loaded"], "not everything came from disk in the second start")
        self.verify_requests(cold["network"])

    def verify_screenshot(self, name, cells):
        screenshot = Image.open(self.arguments.output / f"{name}.png").convert("RGB")
        matching, complaints = 0, []
        for cell in cells:
            psnr = self.match(screenshot, cell)
            if psnr is None:
                continue
            if psnr > PSNR_WANTED:
                matching += 1
            else:
                complaints.append(f"{cell['url']} ({psnr:.1f} dB)")
        check(not complaints, f"in {name}.png these do not look like their files: {', '.join(complaints)}")
        check(matching >= CELLS_WANTED, f"{name}.png shows {matching} pictures, fewer than {CELLS_WANTED}")
        print(f"{name}.png: {matching} cells differ from the placeholder and match their files (> {PSNR_WANTED:.0f} dB)")

    def match(self, screenshot, cell):
        """How close the cell is to its file, in dB; None where too little of the picture can be compared."""
        left, top = round(cell["x"]), round(cell["y"])
        size = round(cell["width"]), round(cell["height"])
        photograph = ImageOps.exif_transpose(Image.open(self.photograph(cell["url"]))).convert("RGBA")
        expected = ImageOps.fit(photograph, size, Image.Resampling.BOX)
        shown = screenshot.crop((left, top, left + size[0], top + size[1]))
        # What lies behind a clear pixel is the theme's business.
        mask = expected.getchannel("A").point(lambda alpha: 255 if alpha == 255 else 0)
        inside = Image.new("L", size, 0)
        inside.paste(mask.crop((MARGIN, MARGIN, size[0] - MARGIN, size[1] - MARGIN)), (MARGIN, MARGIN))
        # Rows below the window's edge are not in the screenshot.
        visible = max(0, min(size[1], screenshot.height - top))
        inside.paste(0, (0, visible, *size))
        if ImageStat.Stat(inside).mean[0] < 255 / 2:
            return None
        if max(ImageStat.Stat(shown, inside).stddev) < 2:
            return 0.0  # one flat colour: the placeholder
        difference = ImageStat.Stat(ImageChops.difference(shown, expected.convert("RGB")), inside)
        mean_square = sum(square / count for square, count in zip(difference.sum2, difference.count)) / 3
        return 99.0 if mean_square == 0 else 10 * math.log10(255**2 / mean_square)

    # webimage, where there are no views

    def verify_tool(self):
        for name, source in (("cold", "network"), ("disk", "disk")):
            lines = (self.arguments.output / f"{name}.json").read_text().splitlines()
            loads = [json.loads(line) for line in lines]
            size = sum(load["bytes"] or 0 for load in loads)
            elapsed = (self.arguments.output / f"{name}.milliseconds").read_text().strip()
            print(f"{name}: {len(loads)} loaded from {source}, {size / 2**20:.1f} MiB, {elapsed} ms")
            check(len(loads) >= CELLS_WANTED, f"only {len(loads)} pictures were loaded")
            for load in loads:
                check(load["error"] is None, f"{load['url']} failed: {load['error']}")
                check(load["source"] == source, f"{load['url']} came from {load['source']}, not from {source}")
                same = Path(load["path"]).read_bytes() == self.photograph(load["url"]).read_bytes()
                check(same, f"{load['path']} is not what the server has at {load['url']}")
        self.verify_requests(len(loads))

    def verify_requests(self, count):
        cold, disk = self.arguments.cold_requests, self.arguments.disk_requests
        print(f"nginx: {cold} requests in the cold start, {disk} in the second")
        check(cold == count, f"{count} pictures took {cold} requests")
        check(disk == 0, f"the second start made {disk} requests")


def main():
    arguments = parse_arguments()
    verifier = Verifier(arguments)
    if (arguments.output / "cold.png").exists():
        verifier.verify_gallery()
        print(f"The pictures are {arguments.output}/cold.png and {arguments.output}/disk.png.")
    else:
        verifier.verify_tool()


main()

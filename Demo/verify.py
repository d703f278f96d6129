#!/usr/bin/env python3
"""Checks the reports and screenshots of the demo's two starts, and prints a line of figures for each.

Fails unless the first start loaded everything from the server, the second sent no request, and the images shown or
written equal those of the server.
"""

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

from PIL import Image, ImageChops, ImageOps, ImageStat

CELLS_WANTED = 20
PSNR_WANTED = 25.0  # dB
FLAT = 8  # levels of a channel between the darkest and the brightest pixel


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="where the starts' reports and screenshots are")
    parser.add_argument("--photographs", type=Path, required=True, help="what the server serves")
    parser.add_argument("--origin", required=True, help="the server's address, with a slash at its end")
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
            figures = report["figures"]
            print(f"{name}: {report['line']}")
            check(figures["failed"] == 0, f"{figures['failed']} images failed in the {name} start")
            self.verify_screenshot(name, report)
        cold, disk = reports["cold"]["figures"], reports["disk"]["figures"]
        # An image whose row has grown is decoded again, from bytes that another load has just received, or from disk.
        check(disk["disk"] == reports["disk"]["loaded"], "not everything came from disk in the second start")
        self.verify_requests(len(reports["cold"]["cells"]))

    def verify_screenshot(self, name, report):
        screenshot = Image.open(self.arguments.output / f"{name}.png").convert("RGB")
        closeness = {
            cell["url"]: self.psnr(screenshot, cell, report["backdrop"]) for cell in report["cells"] if cell["isWhole"]
        }
        wrong = [f"{url} ({psnr:.1f} dB)" for url, psnr in closeness.items() if psnr <= PSNR_WANTED]
        check(not wrong, f"in {name}.png these do not look like their files: {', '.join(wrong)}")
        check(len(closeness) >= CELLS_WANTED, f"{name}.png shows {len(closeness)} images, not {CELLS_WANTED}")
        print(f"      {len(closeness)} cells of {name}.png look like their files (at least {min(closeness.values()):.1f} dB)")

    def psnr(self, screenshot, cell, backdrop):
        """How close a cell is to its file, in dB; 0 where it shows one flat color, as the placeholder does."""
        size = cell["width"], cell["height"]
        shown = screenshot.crop((cell["x"], cell["y"], cell["x"] + size[0], cell["y"] + size[1]))
        if max(high - low for low, high in shown.getextrema()) < FLAT:
            return 0.0
        photograph = ImageOps.exif_transpose(Image.open(self.photograph(cell["url"]))).convert("RGBA")
        expected = Image.new("RGBA", size, backdrop)
        expected.alpha_composite(ImageOps.fit(photograph, size, Image.Resampling.BILINEAR))
        difference = ImageChops.difference(shown, expected.convert("RGB"))
        mean_square = sum(value**2 for value in ImageStat.Stat(difference).rms) / 3
        return math.inf if mean_square == 0 else 10 * math.log10(255**2 / mean_square)

    # webimage, where there are no views

    def verify_tool(self):
        for name, source in (("cold", "network"), ("disk", "disk")):
            lines = (self.arguments.output / f"{name}.json").read_text().splitlines()
            loads = [json.loads(line) for line in lines]
            size = sum(load["bytes"] or 0 for load in loads)
            elapsed = (self.arguments.output / f"{name}.milliseconds").read_text().strip()
            print(f"{name}: {len(loads)} loaded from {source}, {size / 2**20:.1f} MiB, {elapsed} ms")
            check(len(loads) >= CELLS_WANTED, f"only {len(loads)} images were loaded")
            for load in loads:
                check(load["error"] is None, f"{load['url']} failed: {load['error']}")
                check(load["source"] == source, f"{load['url']} came from {load['source']}, not from {source}")
                same = Path(load["path"]).read_bytes() == self.photograph(load["url"]).read_bytes()
                check(same, f"{load['path']} is not what the server has at {load['url']}")
        self.verify_requests(len(loads))

    def verify_requests(self, count):
        lines = (self.arguments.output / "requests.txt").read_text().splitlines()
        cold, disk = len(lines), self.arguments.disk_requests
        print(f"nginx: {cold} requests in the cold start, {disk} in the second")
        paths = Counter(line.split(" ", 2)[2] for line in lines)
        repeated = [line for line in lines if paths[line.split(" ", 2)[2]] > 1]
        check(cold == count, "\n".join([f"{count} images took {cold} requests; status, bytes and path:", *repeated]))
        check(disk == 0, f"the second start made {disk} requests")


def main():
    arguments = parse_arguments()
    verifier = Verifier(arguments)
    if (arguments.output / "cold.png").exists():
        verifier.verify_gallery()
        print(f"The screenshots are {arguments.output}/cold.png and {arguments.output}/disk.png.")
    else:
        verifier.verify_tool()


main()

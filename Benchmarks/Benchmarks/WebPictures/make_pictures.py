#!/usr/bin/python3
"""Makes pictures as the web has them, the same in each run: the bench group's photographs, cut and scaled, and drawings.

    make_pictures.py FOLDER COUNT

Every picture's format, size and content follow from its number alone. Those that FOLDER has already stay. It prints their
names, in order: JPEG (some progressive) and WebP for photographs, PNG for drawings (half with transparency) and a few
photographs, GIF for small drawings, some animated; 200 to 1600 pixels wide, half of them below 600; half of the files are below
25 KB, the average is 40 KB. The mix is about that of the HTTP Archive's Web Almanac (2022, "Media"), without the pixels that
count visits.
"""

import io
import math
import multiprocessing
import os
import random
import sys

from PIL import Image, ImageDraw, ImageFilter

PHOTOGRAPHS = "/usr/share/backgrounds/mate/nature"
NAMES = [
    "Aqua.jpg", "Blinds.jpg", "Dune.jpg", "FreshFlower.jpg", "Garden.jpg", "GreenMeadow.jpg", "LadyBird.jpg",
    "RainDrops.jpg", "Storm.jpg", "TwoWings.jpg", "Wood.jpg", "YellowFlower.jpg",
]
SIDE_RATIOS = [(4, 3), (3, 2), (16, 9), (1, 1), (3, 4), (2, 3)]
loaded = {}


def photograph(draw, width, height):
    name = draw.choice(NAMES)
    if name not in loaded:
        loaded[name] = Image.open(f"{PHOTOGRAPHS}/{name}").convert("RGB")
    source = loaded[name]
    # A part of it at most as large as it is, so that nothing is blown up.
    largest = min(source.width / width, source.height / height)
    factor = largest * draw.uniform(0.6, 1) if largest > 1 else largest
    part_width, part_height = int(width * factor), int(height * factor)
    left = draw.randint(0, source.width - part_width)
    top = draw.randint(0, source.height - part_height)
    box = (left, top, left + part_width, top + part_height)
    return source.resize((width, height), Image.BICUBIC, box=box)


def drawing(draw, width, height, is_clear):
    """Flat shapes with soft edges, as logos and diagrams have."""
    background = (0, 0, 0, 0) if is_clear else tuple(draw.randrange(200, 256) for _ in range(3)) + (255,)
    image = Image.new("RGBA", (width, height), background)
    pen = ImageDraw.Draw(image)
    for _ in range(draw.randint(10, 60)):
        color = tuple(draw.randrange(256) for _ in range(3)) + (255,)
        x, y = draw.randrange(width), draw.randrange(height)
        box = (x, y, x + draw.randrange(8, width // 2 + 9), y + draw.randrange(8, height // 2 + 9))
        kind = draw.randrange(3)
        if kind == 0:
            pen.rounded_rectangle(box, radius=8, fill=color)
        elif kind == 1:
            pen.ellipse(box, fill=color)
        else:
            pen.line(box, fill=color, width=draw.randint(2, 12))
    return image.filter(ImageFilter.SMOOTH)


def size(draw, smallest, largest):
    # As many between 200 and 400 as between 400 and 800.
    width = int(math.exp(draw.uniform(math.log(smallest), math.log(largest))))
    across, down = draw.choice(SIDE_RATIOS)
    return width, min(1600, max(100, width * down // across))


def make(number):
    """The name of a picture and its bytes."""
    draw = random.Random(f"web picture {number}")
    kind = draw.random()
    file = io.BytesIO()
    if kind < 0.45:
        picture = photograph(draw, *fitting(draw))
        picture.save(
            file, "JPEG", quality=draw.randint(76, 92), progressive=draw.random() < 0.3, optimize=True,
            subsampling=2 if draw.random() < 0.85 else 0)
        return "jpg", file.getvalue()
    if kind < 0.67:
        picture = photograph(draw, *fitting(draw))
        picture.save(file, "WEBP", quality=draw.randint(75, 90), method=2)
        return "webp", file.getvalue()
    if kind < 0.90:
        if draw.random() < 0.15:
            width, height = size(draw, 200, 700)
            picture = photograph(draw, width, min(height, 800))
        else:
            is_clear = draw.random() < 0.5
            picture = drawing(draw, *size(draw, 200, 1600), is_clear)
            picture = picture if is_clear else picture.convert("RGB")
        picture.save(file, "PNG")
        return "png", file.getvalue()
    width, height = size(draw, 200, 500)
    count = draw.randint(4, 12) if draw.random() < 0.3 else 1
    frames = [drawing(draw, width, height, False).convert("RGB").quantize(64) for _ in range(count)]
    frames[0].save(file, "GIF", save_all=count > 1, append_images=frames[1:], duration=100, loop=0)
    return "gif", file.getvalue()


def fitting(draw):
    """A size that every photograph has."""
    width, height = size(draw, 240, 1600)
    factor = min(1, 1280 / width, 1024 / height)
    return int(width * factor), int(height * factor)


def write(job):
    folder, number = job
    extension, data = make(number)
    path = f"{folder}/{number}.{extension}"
    # Whole or not at all, should this be interrupted.
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.rename(path + ".part", path)


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    present = {int(name.split(".")[0]) for name in os.listdir(folder) if not name.endswith(".part")}
    missing = [(folder, number) for number in range(count) if number not in present]
    if missing:
        with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
            pool.map(write, missing, chunksize=4)
    names = [name for name in os.listdir(folder) if not name.endswith(".part")]
    for name in sorted(names, key=lambda name: int(name.split(".")[0]))[:count]:
        print(name)


main()

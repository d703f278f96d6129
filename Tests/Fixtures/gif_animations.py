"""Animated GIFs with every way to dispose of a frame, and the frames that ImageMagick makes of them.

`name.gif.frames.rgba` holds all composed frames, one below the other. gif2webp, whose compositor is another, has to make the
same of them. Needs Debian's imagemagick and webp; make_fixtures.py runs it.
"""

import io
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

from make_fixtures import OUT, gif, gif_frame, graphic_control, write_pixels

WIDTH, HEIGHT = 16, 12
LOOP = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
PALETTE = np.array([[20 * i, 255 - 15 * i, 40 * i % 256] for i in range(16)])
OTHER = np.array([[255 - 9 * i, 16 * i, 90] for i in range(16)])


def coalesced_by_imagemagick(path):
    size = subprocess.run(["convert", path, "-coalesce", "-format", "%wx%h ", "info:"], capture_output=True, check=True)
    sizes = set(size.stdout.split())
    width, height = map(int, sizes.pop().split(b"x"))
    assert not sizes
    raw = subprocess.run(["convert", path, "-coalesce", "-depth", "8", "rgba:-"], capture_output=True, check=True)
    return np.frombuffer(raw.stdout, np.uint8).reshape(-1, height, width, 4)


def converted_by_gif2webp(path):
    with tempfile.TemporaryDirectory() as folder:
        webp = pathlib.Path(folder) / "converted.webp"
        subprocess.run(["gif2webp", "-quiet", path, "-o", webp], check=True)
        image = Image.open(io.BytesIO(webp.read_bytes()))
        frames = []
        for index in range(image.n_frames):
            image.seek(index)
            frames.append((np.array(image.convert("RGBA")), image.info["duration"]))
        return frames


def visible(frames):
    """Without the colours of clear pixels, which differ."""
    return frames * (frames[..., 3:] > 0)


def write_animation(name, frames, twins=None):
    """The pixels are those of `twins` where given: the same frames, in a shape that other programs agree on."""
    path = OUT / name
    path.write_bytes(gif(WIDTH, HEIGHT, twins or frames, PALETTE, extensions=LOOP))
    composed = visible(coalesced_by_imagemagick(path))
    assert len(composed) == len(frames), name
    # gif2webp joins frames that look alike, and shows them for as long; a frame takes a tenth of a second.
    others = [frame for frame, duration in converted_by_gif2webp(path) for _ in range(round(duration / 100))]
    assert np.array_equal(composed, visible(np.stack(others))), f"{name}: gif2webp sees it differently"
    path.write_bytes(gif(WIDTH, HEIGHT, frames, PALETTE, extensions=LOOP))
    write_pixels(f"{name}.frames", composed.reshape(-1, WIDTH, 4))


def frame(generator, box, disposal, transparent=None, interlaced=False, palette=None):
    left, top, width, height = box
    indices = generator.integers(0, 16, (height, width))
    # Large patches, as drawings have them.
    indices[: height // 2, : width // 2] = transparent if transparent is not None else 3
    return gif_frame(
        indices, left, top, interlaced, palette, graphic_control(10, transparent=transparent, disposal=disposal))


def write_animations():
    generator = np.random.default_rng(11)
    whole = (0, 0, WIDTH, HEIGHT)
    for disposal in range(4):
        write_animation(f"gif-dispose-{disposal}.gif", [
            frame(generator, whole, 1),
            frame(generator, (2, 1, 9, 7), disposal, transparent=5),
            frame(generator, (6, 4, 10, 8), disposal),
            frame(generator, whole, disposal, transparent=2),
            frame(generator, (0, 0, 5, 5), disposal, transparent=1, interlaced=True),
            frame(generator, (3, 3, 4, 4), 1, palette=OTHER),
        ])
    # On a canvas that begins clear.
    mixed = [frame(generator, (4, 3, 8, 6), 3, transparent=7)]
    for index in range(15):
        left, top = int(generator.integers(0, 12)), int(generator.integers(0, 9))
        box = whole if index % 5 == 4 else (
            left, top, int(generator.integers(1, WIDTH - left + 1)), int(generator.integers(1, HEIGHT - top + 1)))
        mixed.append(frame(
            generator, box, int(generator.integers(0, 4)),
            transparent=int(generator.integers(0, 16)) if index % 3 else None,
            interlaced=bool(index % 2), palette=OTHER if index % 4 == 1 else None))
    write_animation("gif-mixed.gif", mixed)
    # Frames that reach beyond the screen, or lie outside; browsers show what lies on it.
    frames, twins = [], []
    for left, top, width, height, disposal, interlaced in [
        (0, 0, 16, 12, 1, False), (10, 7, 9, 9, 2, False), (3, 5, 20, 10, 3, True), (15, 11, 5, 3, 1, True),
        (16, 2, 4, 4, 2, False), (1, 40, 3, 3, 3, False), (12, 0, 8, 20, 1, False), (0, 0, 30, 30, 2, False),
        (5, 5, 2, 2, 1, False),
    ]:
        indices = generator.integers(0, 16, (height, width))
        control = graphic_control(10, transparent=4, disposal=disposal)
        frames.append(gif_frame(indices, left, top, interlaced, OTHER, control))
        if left >= WIDTH or top >= HEIGHT:
            # A clear pixel, which changes nothing.
            left, top, indices = 0, 0, np.array([[4]])
            control = graphic_control(10, transparent=4, disposal=1)
        indices = indices[: HEIGHT - top, : WIDTH - left]
        twins.append(gif_frame(indices, left, top, False, OTHER, control))
    write_animation("gif-outside.gif", frames, twins)

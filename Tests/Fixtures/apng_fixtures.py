"""The APNG files of make_fixtures.py. Each frame's pixels are composed here in floating point; where Pillow composes
correctly, which it does not where a half clear frame lies over clear pixels, it must agree."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

KEEP, CLEAR, RESTORE = 0, 1, 2
SOURCE, OVER = 0, 1
WIDTH, HEIGHT = 14, 11


class Frame:
    """One frame: its straight RGBA pixels and how they go onto the canvas."""

    def __init__(self, rgba, left=0, top=0, disposal=KEEP, blend=SOURCE, delay=(1, 10)):
        self.rgba, self.left, self.top = rgba, left, top
        self.disposal, self.blend, self.delay = disposal, blend, delay

    def header(self, number):
        height, width = self.rgba.shape[:2]
        return struct.pack(
            ">IIIIIHHBB", number, width, height, self.left, self.top, *self.delay, self.disposal, self.blend)


def composed(frames):
    """Premultiplied canvases, one a frame."""
    canvas = np.zeros((HEIGHT, WIDTH, 4))
    pictures = []
    for index, frame in enumerate(frames):
        height, width = frame.rgba.shape[:2]
        part = np.s_[frame.top : frame.top + height, frame.left : frame.left + width]
        before = canvas.copy()
        alpha = frame.rgba[..., 3:] / 255
        pixels = np.concatenate([frame.rgba[..., :3] / 255 * alpha, alpha], axis=-1)
        canvas[part] = pixels + (canvas[part] * (1 - alpha) if frame.blend == OVER else 0)
        pictures.append((canvas * 255 + 0.5).astype(np.uint8))
        if frame.disposal == RESTORE and index > 0:
            canvas = before
        elif frame.disposal != KEEP:
            canvas[part] = 0
    return pictures


def premultiplied(rgba):
    alpha = rgba[..., 3:].astype(np.uint32)
    colors = (rgba[..., :3].astype(np.uint32) * alpha + 127) // 255
    return np.concatenate([colors, alpha], axis=-1).astype(np.uint8)


def check_with_pillow(name, data, pictures):
    image = Image.open(io.BytesIO(data))
    for index, picture in enumerate(pictures):
        image.seek(index + (1 if image.default_image else 0))
        if not np.array_equal(premultiplied(np.asarray(image.convert("RGBA"))), picture):
            raise SystemExit(f"{name}: frame {index} is not Pillow's")


def painting(width, height, seed, alphas):
    """Noise in blocks, each with one of `alphas`."""
    random = np.random.default_rng(seed)
    rgb = random.integers(0, 256, (height, width, 3))
    alpha = random.choice(alphas, ((height + 2) // 3, (width + 2) // 3)).repeat(3, 0).repeat(3, 1)[:height, :width]
    return np.dstack([rgb, alpha]).astype(np.uint8)


def write_apngs(out, png, chunk, packed_rows):
    def write(name, frames, samples_of=lambda rgba: rgba, depth=8, color_type=6, chunks=b"", still=None,
              interlaced=False, plays=0, is_checked=True):
        """Without `still`, the first frame is what programs without animation show."""
        control = chunk(b"acTL", struct.pack(">II", len(frames), plays))
        later, number = b"", 0
        first = frames[0].rgba if still is None else still
        if still is None:
            control += chunk(b"fcTL", frames[0].header(0))
            number = 1
        for frame in frames[1:] if still is None else frames:
            rows = adam7_rows(samples_of(frame.rgba), depth) if interlaced else packed_rows(
                samples_of(frame.rgba), depth)
            stream = zlib.compress(rows, 9)
            later += chunk(b"fcTL", frame.header(number))
            # In two pieces, the second of which begins anywhere.
            for offset, piece in enumerate([stream[: len(stream) // 3], stream[len(stream) // 3 :]]):
                later += chunk(b"fdAT", struct.pack(">I", number + 1 + offset) + piece)
            number += 3
        data = png(samples_of(first), depth, color_type, interlaced, chunks + control, later)
        (out / name).write_bytes(data)
        pictures = composed(frames)
        if is_checked:
            check_with_pillow(name, data, pictures)
        for index, picture in enumerate(pictures):
            suffix = "" if index == 0 else f"-frame{index}"
            (out / f"{name}{suffix}.rgba").write_bytes(struct.pack("<II", WIDTH, HEIGHT) + picture.tobytes())

    def adam7_rows(samples, depth):
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        parts = [samples[y::step_y, x::step_x] for x, y, step_x, step_y in passes]
        return b"".join(packed_rows(part, depth) for part in parts if part.size)

    def frames_with(disposal, blend, alphas):
        return [
            Frame(painting(WIDTH, HEIGHT, 1, [0, 255, 255]), disposal=disposal, blend=blend, delay=(3, 20)),
            Frame(painting(8, 7, 2, alphas), 4, 1, disposal, blend, (1, 0)),
            Frame(painting(9, 5, 3, alphas), 1, 5, disposal, blend, (1, 100)),
            Frame(painting(6, 9, 4, alphas), 8, 2, disposal, blend, (2, 3)),
        ]

    for disposal, first in [(KEEP, "keep"), (CLEAR, "clear"), (RESTORE, "restore")]:
        for blend, second in [(SOURCE, "source"), (OVER, "over")]:
            write(f"apng-{first}-{second}.png", frames_with(disposal, blend, [0, 255]))
    write("apng-half-clear.png", frames_with(KEEP, OVER, [60, 130, 255]), is_checked=False, plays=3)
    random = np.random.default_rng(9)
    mixed = [Frame(painting(WIDTH, HEIGHT, 10, [0, 255]), disposal=RESTORE)]
    for seed in range(11, 22):
        width, height = random.integers(1, WIDTH + 1), random.integers(1, HEIGHT + 1)
        left, top = random.integers(0, WIDTH - width + 1), random.integers(0, HEIGHT - height + 1)
        mixed.append(
            Frame(
                painting(width, height, seed, [0, 255]), int(left), int(top), int(random.integers(0, 3)),
                int(random.integers(0, 2))))
    write("apng-mixed.png", mixed)
    other = painting(WIDTH, HEIGHT, 7, [255])
    write("apng-other-still.png", frames_with(CLEAR, SOURCE, [0, 255]), still=other)
    # Pillow begins with the still where the format begins with nothing.
    write("apng-small-first.png", frames_with(KEEP, OVER, [0, 255])[1:], still=other, is_checked=False)

    opaque = [
        Frame(painting(WIDTH, HEIGHT, 1, [255])), Frame(painting(5, 6, 2, [255]), 3, 3),
        Frame(painting(7, 4, 3, [255]), 7, 7)]
    write("apng-rgb.png", opaque, lambda rgba: rgba[..., :3], color_type=2)
    # The next three Pillow reads with fewer bits, or composes by index.
    write("apng-16.png", frames_with(KEEP, SOURCE, [0, 255]), lambda rgba: rgba.astype(np.uint32) * 257, 16,
          is_checked=False)
    write("apng-adam7.png", frames_with(KEEP, OVER, [0, 255]), interlaced=True, is_checked=False)
    palette = np.concatenate([np.zeros((1, 3), int), np.random.default_rng(5).integers(0, 256, (15, 3))])
    alphas = np.array([0] + [255] * 15)

    def colored(frame, seed):
        height, width = frame.rgba.shape[:2]
        indices = np.random.default_rng(seed).integers(0, 16, (height, width))
        frame.rgba = np.dstack([palette[indices], alphas[indices]]).astype(np.uint8)
        return frame

    def indices_of(rgba):
        matches = (rgba[:, :, None, :3] == palette[None, None]).all(-1) & (rgba[:, :, None, 3] == alphas[None, None])
        return matches.argmax(-1)[..., None]

    write(
        "apng-palette.png", [colored(frame, seed) for seed, frame in enumerate(frames_with(KEEP, OVER, [255]))],
        indices_of, 4, 3, chunk(b"PLTE", palette.astype(np.uint8).tobytes()) + chunk(b"tRNS", b"\0"),
        is_checked=False)

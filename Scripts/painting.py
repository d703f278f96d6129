"""Noise, colors and the development of a photograph, for Scripts/landscapes.

Colors are linear light, red, green and blue from 0, in arrays of 32-bit floating-point numbers of rows and columns.
"""

import zlib

import numpy as np
from PIL import Image

FLOAT = np.float32


class Frame:
    """The size of a picture, its coordinates, and random numbers that depend on its name only."""

    def __init__(self, name, width, height):
        self.name, self.width, self.height = name, width, height
        self.shape = (height, width)
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        # Parts of the height, from the middle to the right and from the upper edge to the lower one.
        self.x = ((np.arange(width, dtype=FLOAT)[None, :] + 0.5) - width / 2) / height
        self.y = (np.arange(height, dtype=FLOAT)[:, None] + 0.5) / height

    def larger(self, factor):
        """A frame that is scaled down later, for smooth edges. It goes on with the random numbers."""
        frame = Frame(self.name, round(self.width * factor), round(self.height * factor))
        frame.random = self.random
        return frame

    def distance(self, x, y):
        return np.hypot(self.x - FLOAT(x), self.y - FLOAT(y))

    def noise(self, cells, octaves=6, gain=0.5, stretch=1):
        """Fractal noise from 0 to 1, with `cells` in the height; `stretch` makes it wider than high."""
        total, amplitude = np.zeros(self.shape, FLOAT), 1.0
        for octave in range(octaves):
            rows = max(2, round(cells * 2**octave))
            columns = max(2, round(rows * self.width / self.height / stretch))
            if rows > self.height:
                break
            total += FLOAT(amplitude) * resized(self.random.random((rows + 1, columns + 1), dtype=FLOAT), self.shape)
            amplitude *= gain
        return normal(total)

    def line(self, cells, octaves=7, gain=0.5):
        """Fractal noise from 0 to 1 for each column."""
        places, total = np.linspace(0, 1, self.width, dtype=FLOAT), np.zeros(self.width, FLOAT)
        for octave in range(octaves):
            count = max(2, round(cells * 2**octave))
            # A line through random heights, with rounded corners in the first octaves.
            points = self.random.random(count + 2, dtype=FLOAT)
            at = places * count
            index = np.minimum(at.astype(int), count)
            part = at - index
            part = part * part * (3 - 2 * part) if octave < 3 else part
            total += FLOAT(gain**octave) * (points[index] * (1 - part) + points[index + 1] * part)
        return normal(total)


def resized(field, shape):
    return np.asarray(Image.fromarray(np.ascontiguousarray(field, FLOAT)).resize(shape[::-1], Image.Resampling.BICUBIC))


def normal(field):
    low, high = field.min(), field.max()
    return (field - low) / max(high - low, FLOAT(1e-9))


def step(low, high, value):
    """0 below `low`, 1 above `high`, smooth in between."""
    part = np.clip((value - FLOAT(low)) / FLOAT(high - low), 0, 1)
    return part * part * (3 - 2 * part)


def color(text):
    """Linear light of a color as in CSS, such as ff8800."""
    value = np.array([int(text[place : place + 2], 16) for place in (0, 2, 4)], FLOAT) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(FLOAT)


def gradient(place, *stops):
    """The colors at places from 0 to 1, from pairs of a place and a color."""
    places = [at for at, _ in stops]
    # Mixed as the eye sees them, so that the middle is not too light.
    values = np.array([color(text) for _, text in stops]) ** FLOAT(1 / 2.2)
    place = np.asarray(place, FLOAT)
    channels = [np.interp(place.ravel(), places, values[:, channel]).reshape(place.shape) for channel in range(3)]
    return np.stack(channels, axis=-1).astype(FLOAT) ** FLOAT(2.2)


def mix(first, second, part):
    part = np.asarray(part, FLOAT)
    part = part[..., None] if part.ndim == 2 else part
    return first + (second - first) * part


def blurred(field, radius):
    """A soft copy, through a smaller one."""
    if field.ndim == 3:
        return np.stack([blurred(field[..., channel], radius) for channel in range(field.shape[2])], axis=-1)
    height, width = field.shape
    factor = max(1, radius / 2)
    small = Image.fromarray(np.ascontiguousarray(field, FLOAT)).resize(
        (max(2, round(width / factor)), max(2, round(height / factor))), Image.Resampling.BOX)
    values = np.asarray(small)
    for axis in (0, 1, 0, 1, 0, 1):
        before, behind = [np.take(values, place, axis) for place in neighbors(values.shape[axis])]
        values = (before + values + behind) / FLOAT(3)
    return resized(values, field.shape)


def neighbors(count):
    return np.maximum(np.arange(count) - 1, 0), np.minimum(np.arange(count) + 1, count - 1)


# MARK: Fields that repeat


def tile(random, size, cells):
    """Smooth noise from 0 to 1 that repeats."""
    grid = np.pad(random.random((cells, cells), dtype=FLOAT), 3, mode="wrap")
    box = (3, 3, 3 + cells, 3 + cells)
    return np.asarray(Image.fromarray(grid).resize((size, size), Image.Resampling.BICUBIC, box=box))


def tiles(random, size, cells, octaves, gain=0.5):
    return normal(sum(FLOAT(gain**octave) * tile(random, size, cells * 2**octave) for octave in range(octaves)))


def slopes(field):
    return (np.roll(field, -1, 1) - np.roll(field, 1, 1)) / 2, (np.roll(field, -1, 0) - np.roll(field, 1, 0)) / 2


def eroded(random, size, cells, octaves, gain=0.5, strength=1.0):
    """Mountains from 0 to 1: slopes of the large forms flatten the small ones, as scree does."""
    total, across, along = np.zeros((size, size), FLOAT), FLOAT(0), FLOAT(0)
    for octave in range(octaves):
        count = cells * 2**octave
        field = tile(random, size, count)
        x, z = slopes(field)
        across, along = across + x * FLOAT(size / count), along + z * FLOAT(size / count)
        total += FLOAT(gain**octave) * field / (1 + FLOAT(strength) * (across**2 + along**2))
    return normal(total)


def sample(field, x, z):
    """The values at places in cells, which repeat; the length of a side is a power of two."""
    mask = field.shape[0] - 1
    left, top = np.floor(x), np.floor(z)
    right_part, low_part = (x - left).astype(FLOAT), (z - top).astype(FLOAT)
    left, top = left.astype(np.int32) & mask, top.astype(np.int32) & mask
    right, low = (left + 1) & mask, (top + 1) & mask
    flat, top, low = field.ravel(), top * field.shape[1], low * field.shape[1]
    upper = flat[top + left] * (1 - right_part) + flat[top + right] * right_part
    lower = flat[low + left] * (1 - right_part) + flat[low + right] * right_part
    return upper * (1 - low_part) + lower * low_part


def disc(image, frame, x, y, radius, light, edge=0.25, rim=0.0):
    """Adds the round image of a light that is out of focus. Places and the radius are parts of the height."""
    height, width = frame.shape
    center_x, center_y, reach = (x * height + width / 2), y * height, radius * height
    left, right = int(max(0, center_x - reach - 2)), int(min(width, center_x + reach + 2))
    top, bottom = int(max(0, center_y - reach - 2)), int(min(height, center_y + reach + 2))
    if left >= right or top >= bottom:
        return
    away = np.hypot(
        np.arange(left, right, dtype=FLOAT)[None, :] - FLOAT(center_x),
        np.arange(top, bottom, dtype=FLOAT)[:, None] - FLOAT(center_y)) / FLOAT(reach)
    shape = (1 - step(1 - edge, 1, away)) * (1 - FLOAT(rim) + FLOAT(rim) * np.clip(away, 0, 1) ** 3)
    image[top:bottom, left:right] += shape[..., None] * np.asarray(light, FLOAT)


# MARK: Development


def developed(light, frame, exposure=1.0, bloom=0.12, vignette=0.25, grain=0.012, contrast=1.0, saturation=1.0):
    """The bytes of a photograph: light spreads in the lens, bright places saturate softly, and film has a grain."""
    if light.shape[:2] != frame.shape:
        light = np.stack([
            np.asarray(Image.fromarray(np.ascontiguousarray(light[..., channel])).resize((frame.width, frame.height), Image.Resampling.LANCZOS))
            for channel in range(3)], axis=-1)
    light = np.maximum(light * FLOAT(exposure), 0)
    if bloom:
        bright = np.minimum(light, 8)
        light = light * FLOAT(1 - bloom) + FLOAT(bloom) * (0.6 * blurred(bright, 24) + 0.4 * blurred(bright, 110))
    edge = (frame.x**2 + (frame.y - FLOAT(0.5)) ** 2) / FLOAT(0.25 + (frame.width / frame.height) ** 2 / 4)
    light = light * (1 - FLOAT(vignette) * edge)[..., None]
    gray = light @ np.array([0.2126, 0.7152, 0.0722], FLOAT)
    light = np.maximum(gray[..., None] + (light - gray[..., None]) * FLOAT(saturation), 0)
    # Linear up to the middle, then towards 1.
    light = np.where(light < 0.5, light, 1 - 0.5 * np.exp(-(np.maximum(light, 0.5) - 0.5) / 0.5))
    value = np.where(light <= 0.0031308, light * 12.92, 1.055 * np.maximum(light, FLOAT(1e-6)) ** FLOAT(1 / 2.4) - 0.055)
    value = value + FLOAT(contrast - 1) * (value - 0.5) * value * (1 - value) * 4
    film = frame.random.standard_normal(frame.shape, dtype=FLOAT)
    film = 0.6 * film + 0.9 * (np.roll(film, 1, 0) + np.roll(film, 1, 1)) / 2
    value = value + (FLOAT(grain) * film * (0.4 + value.mean(axis=2) * (1 - value.mean(axis=2)) * 2.4))[..., None]
    # The last bit is random, so that slow gradients have no bands.
    value = value * 255 + frame.random.random(frame.shape + (1,), dtype=FLOAT)
    return np.clip(np.floor(value), 0, 255).astype(np.uint8)

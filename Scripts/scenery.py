"""Terrain in perspective, skies, water, trees and flowers, for Scripts/landscapes."""

import numpy as np
from PIL import Image, ImageDraw

from painting import FLOAT, blurred, color, disc, gradient, mix, resized, sample, slopes, step, tiles


class Terrain:
    """A landscape of heights in cells, seen in perspective by an eye that looks along z."""

    def __init__(self, heights, sun, softness=1.0, reach=90):
        self.heights = heights
        self.across, self.along = slopes(heights)
        self.sun = np.array(sun, FLOAT) / np.linalg.norm(sun)
        self.lit = self.light(softness, reach)
        self.openness = heights - blurred(heights, 24)

    def light(self, softness, reach):
        """How much of the sun each place sees."""
        x, height, z = self.sun
        flat = float(np.hypot(x, z))
        factor = max(1, len(self.heights) // 1024)
        heights = self.heights[::factor, ::factor] / FLOAT(factor)
        lit, distance = np.ones_like(heights), 1.5
        while distance < reach / factor:
            shift = (-round(z / flat * distance), -round(x / flat * distance))
            above = heights + FLOAT(distance * height / flat) - np.roll(heights, shift, (0, 1))
            np.minimum(lit, above / FLOAT(softness * (0.35 + distance * 0.04)) + 0.5, out=lit)
            distance *= 1.07
        return np.clip(resized(lit, self.heights.shape) if factor > 1 else lit, 0, 1)

    def view(self, frame, eye, horizon, focal, near=3.0, far=1500.0, count=900):
        """Finds what each pixel shows. Sets `z` (0 for the sky), `x` and `is_sky`."""
        x, z, height = eye
        depths = np.geomspace(near, far, count).astype(FLOAT)[:, None]
        rays = frame.x / FLOAT(focal)
        angles = (sample(self.heights, x + depths * rays, z + depths + 0 * rays) - FLOAT(height)) / depths
        highest = np.maximum.accumulate(angles, axis=0)
        looks = (FLOAT(horizon) - frame.y[:, 0]) / FLOAT(focal)
        first = np.stack([np.searchsorted(highest[:, column], looks) for column in range(frame.width)], axis=1)
        self.is_sky = first >= count
        first = np.clip(first, 1, count - 1)
        columns = np.arange(frame.width)[None, :]
        before, at = highest[first - 1, columns], angles[first, columns]
        part = np.clip((looks[:, None] - before) / np.maximum(at - before, FLOAT(1e-7)), 0, 1)
        depths = depths[:, 0]
        self.z = depths[first - 1] + part * (depths[first] - depths[first - 1])
        self.x = self.z * rays
        self.at = (FLOAT(x) + self.x, FLOAT(z) + self.z)
        return self

    def here(self, field):
        return sample(field, *self.at)

    def normals(self, detail=None, strength=0.0):
        """The direction of the surface, as three fields; `detail` is a finer field that repeats more often."""
        across, along = self.here(self.across), self.here(self.along)
        if detail is not None:
            x, z = slopes(detail)
            scale = FLOAT(9)
            part = FLOAT(strength) / (1 + self.z / 120)
            across = across + part * sample(x, self.at[0] * scale, self.at[1] * scale)
            along = along + part * sample(z, self.at[0] * scale, self.at[1] * scale)
        length = np.sqrt(across**2 + along**2 + 1)
        return -across / length, 1 / length, -along / length

    def sunlight(self, normals):
        shade = normals[0] * self.sun[0] + normals[1] * self.sun[1] + normals[2] * self.sun[2]
        return np.clip(shade, 0, None) * self.here(self.lit)


# MARK: Skies, mountains, water and plants


def stars(frame, count, brightness=1.0, density=None):
    """Stars of all sizes and of several colors; `density` says where there are more of them."""
    random, (height, width) = frame.random, frame.shape
    sky = np.zeros((height, width, 3), FLOAT)
    y, x = random.integers(2, height - 2, count), random.integers(2, width - 2, count)
    if density is not None:
        keep = random.random(count) < density[y, x]
        y, x = y[keep], x[keep]
    power = (FLOAT(brightness) * 0.02 / (random.random(len(y)) ** 0.9 + 0.004)).astype(FLOAT)
    light = power[:, None] * gradient(random.random(len(y)), (0, "9bb8ff"), (0.5, "ffffff"), (0.85, "fff0d0"), (1, "ffc890"))
    for row, column, part in ((0, 0, 1), (0, 1, 0.35), (1, 0, 0.35), (0, -1, 0.35), (-1, 0, 0.35), (1, 1, 0.1), (-1, -1, 0.1)):
        np.add.at(sky, (y + row, x + column), light * FLOAT(part))
    return sky


def deck(frame, horizon, random, cells=6, octaves=7, shift=0.0, scale=60.0):
    """Fractal noise on a flat layer of clouds that goes to the horizon, and how near each place is."""
    above = np.maximum(FLOAT(horizon) - frame.y, FLOAT(0.004))
    field = tiles(random, 1024, cells, octaves)
    near = np.clip(above * 6, 0, 1)
    return sample(field, frame.x / above * FLOAT(scale) + FLOAT(shift), FLOAT(scale) / above + 0 * frame.x), near


def spruces(frame, tops, spread, count, lean=0.0):
    """How much of each pixel a row of spruces covers: `tops` is where the ground is, for each column, as a part of the height."""
    random, factor = frame.random, 2
    image = Image.new("L", (frame.width * factor, frame.height * factor))
    draw = ImageDraw.Draw(image)
    for place in np.sort(random.random(count)):
        column = int(place * (frame.width - 1))
        ground = tops[column] * frame.height * factor
        tall = spread * frame.height * factor * (0.45 + 0.75 * random.random() ** 1.5)
        x, levels = column * factor, max(11, int(tall / 13))
        left, right = [], []
        for level in range(levels):
            part = (level + 1) / levels
            reach = tall * (0.012 + 0.155 * part) * (0.7 + 0.5 * random.random())
            y = ground - tall * (1 - part * 0.95)
            left += [(x - reach, y + tall * 0.014), (x - reach * 0.42, y - tall * 0.004)]
            reach *= 0.75 + 0.5 * random.random()
            right += [(x + reach, y + tall * 0.014), (x + reach * 0.42, y - tall * 0.004)]
        draw.polygon([(x + lean * tall, ground - tall), *right, (x, ground), *left[::-1]], fill=255)
    covered = np.asarray(image.resize((frame.width, frame.height), Image.Resampling.BOX), FLOAT) / 255
    below = np.clip((frame.y - tops[None, :].astype(FLOAT)) * frame.height, 0, 1)
    return np.maximum(covered, below)


def mirrored(image, frame, shore, ripple=0.004, calm=1.0):
    """The picture with a lake below `shore`, which shows what is above it."""
    random = frame.random
    below = np.maximum(frame.y - FLOAT(shore), 0)
    field = tiles(random, 512, 8, 5)
    away = 1 / (below + FLOAT(0.02))
    x, z = frame.x * away * 9, away * 24 + 0 * frame.x
    wave = sample(field, x * 1.0, z * 4) + 0.5 * sample(field, x * 3 + 90, z * 11) - 0.75
    strength = FLOAT(ripple) * (0.25 + below * 9) / FLOAT(calm)
    rows = (FLOAT(2 * shore) - frame.y + wave * strength) * frame.height
    rows = np.clip(rows, 0, shore * frame.height - 1)
    columns = (np.arange(frame.width, dtype=FLOAT)[None, :] + wave * strength * frame.height * 0.25).clip(0, frame.width - 1)
    rows, columns = rows.astype(np.int32), columns.astype(np.int32)
    reflection = image[rows, columns]
    return np.where((below > 0)[..., None], reflection, image), below, wave


def ridges(frame, image, layers, low, high, rough=0.45, cells=2.5):
    """Mountains behind mountains: each layer is a pair of the color at its top and of the mist at its foot."""
    for number, (top, foot) in enumerate(layers):
        part = number / max(1, len(layers) - 1)
        middle = low + (high - low) * part ** 1.15
        reach = 0.10 + 0.13 * part
        line = middle - reach * (frame.line(cells + part * 1.5, 9, rough) - 0.5)
        covered = np.clip((frame.y - line[None, :]) * frame.height, 0, 1)
        depth = (frame.y - line[None, :]) / FLOAT(0.10 + 0.16 * part)
        texture = frame.noise(14, 5, 0.55) if part > 0.5 else FLOAT(0.5)
        layer = mix(color(top) * np.ones(3, FLOAT), color(foot), step(0, 1.15, depth))
        layer = layer * (0.88 + 0.24 * texture)[..., None] if part > 0.5 else layer
        image = mix(image, layer, covered)
    return image


def water(frame, horizon, sky, sun, random, roughness=0.16, eye=1.0):
    """The sea: `sky` are the colors of rows of the sky from the horizon up, `sun` its place and its light."""
    below = np.maximum(frame.y - FLOAT(horizon), FLOAT(0.0012))
    z, x = FLOAT(eye) / below + 0 * frame.x, frame.x * FLOAT(eye) / below
    across, along = np.zeros(frame.shape, FLOAT), np.zeros(frame.shape, FLOAT)
    for scale, weight in ((6, 0.8), (15, 0.8), (37, 0.75), (90, 0.7), (220, 0.6)):
        field = tiles(random, 512, 16, 3)
        slope_x, slope_z = slopes(field)
        # Waves that are smaller than a pixel are seen as a rougher surface only.
        part = FLOAT(weight * roughness * 12) / (1 + (z * FLOAT(scale) / 500) ** 2)
        across += part * sample(slope_x, x * FLOAT(scale), z * FLOAT(scale * 1.6))
        along += part * sample(slope_z, x * FLOAT(scale), z * FLOAT(scale * 1.6))
    # What a wave shows lies higher in the sky the steeper it is.
    up = below + 0.11 + np.abs(along) * 0.9
    rows = np.clip(up / horizon, 0, 1) * (len(sky) - 1)
    image = sky[rows.astype(np.int32)]
    angle = np.clip(1 - (below * 1.2 + np.abs(along) * 0.8), 0, 1) ** 3
    sun_x, sun_y, light, width = sun
    need_x = (frame.x - FLOAT(sun_x)) / (0.25 + 1.6 * below)
    glitter = np.exp(-((need_x - across * 2.2) / FLOAT(width)) ** 2 - ((below + horizon - sun_y - along * 3.0) * 1.4 / (0.4 + below)) ** 2)
    return image, angle, glitter[..., None] * light, below


def blossom(image, frame, x, y, radius, petals, inner, outer, heart, turn=0.0, squeeze=1.0, layers=2, point=0.42):
    """A flower that faces the viewer: petals in polar coordinates, and florets in a spiral of the golden angle."""
    for layer in range(layers):
        dx, dy = frame.x - FLOAT(x), (frame.y - FLOAT(y)) / FLOAT(squeeze)
        r, angle = np.hypot(dx, dy) / FLOAT(radius * (1 - 0.17 * layer)), np.arctan2(dy, dx) + FLOAT(turn + layer * np.pi / petals)
        place = angle / (2 * np.pi) * petals
        number = np.floor(place).astype(int) % petals
        size = (0.84 + 0.20 * frame.random.random(petals))[number].astype(FLOAT)
        bend = (0.35 * (frame.random.random(petals) - 0.5))[number].astype(FLOAT)
        tone = (0.80 + 0.35 * frame.random.random(petals))[number].astype(FLOAT)
        side = (place % 1) - 0.5 + bend * r * 0.45
        reach = r / size
        width = 0.54 * np.clip(np.sin(np.clip(reach, 0, 1) ** 0.8 * np.pi * 0.97), 0, None) ** FLOAT(point)
        edge = width - np.abs(side)
        inside = step(0.0, 0.05, edge) * (1 - step(0.97, 1.0, reach))
        streaks = 0.5 + 0.5 * np.sin(side * 42 + 3 * np.sin(number * 5.1)) * (1 - 0.5 * reach)
        light = tone * (0.58 + 0.30 * np.cos(side * 2.4 / np.maximum(width, 0.05)) + 0.13 * streaks + 0.14 * (np.cos(angle + 2.2) + 0.2))
        petal = mix(color(inner), color(outer), step(0.15, 0.85, reach)) * light[..., None]
        shade = step(0.0, 0.3, edge + 0.16)
        image = mix(image, image * 0.5, step(-0.16, 0.05, edge) * (1 - step(0.95, 1.06, reach)) * 0.55)
        image = mix(image, petal * (0.72 + 0.28 * shade)[..., None], inside)
    dx, dy = frame.x - FLOAT(x), (frame.y - FLOAT(y)) / FLOAT(squeeze)
    r = np.hypot(dx, dy) / FLOAT(radius)
    image = mix(image, image * 0.35, np.exp(-(np.clip(r - 0.27, 0, None) / 0.07) ** 2) * 0.8)
    image = mix(image, color(heart) * 0.18, 1 - step(0.27, 0.30, r))
    count = 620
    for index in range(count, 0, -1):
        part = (index / count) ** 0.5
        angle, reach = index * 2.39996, 0.285 * part * radius
        light = color(heart) * (0.30 + 0.75 * part**2) * (0.75 + 0.5 * frame.random.random())
        disc(image, frame, x + reach * np.cos(angle) - 0.0008, y + reach * np.sin(angle) * squeeze - 0.0010, 0.0115 * radius * (0.55 + part), light * 0.55, 0.8)
    return image

#!/usr/bin/env python3
"""Writes drawing/: what cairo draws when Python calls it. DrawingFixtureTests.swift draws the same through Swift.

Needs pycairo (Debian's python3-cairo, for /usr/bin/python3) and cairo 1.16; its output is committed, so that tests need neither.
`name.rgba` holds width and height (32 bits each, little-endian) and premultiplied RGBA rows.
"""

import math
import pathlib
import struct

import cairo

OUT = pathlib.Path(__file__).parent / "drawing"

# In the order of BlendMode's cases.
OPERATORS = [
    "CLEAR", "SOURCE", "OVER", "IN", "OUT", "ATOP", "DEST", "DEST_OVER", "DEST_IN", "DEST_OUT", "DEST_ATOP", "XOR", "ADD",
    "MULTIPLY", "SCREEN", "OVERLAY", "DARKEN", "LIGHTEN", "COLOR_DODGE", "COLOR_BURN", "HARD_LIGHT", "SOFT_LIGHT", "DIFFERENCE",
    "EXCLUSION", "HSL_HUE", "HSL_SATURATION", "HSL_COLOR", "HSL_LUMINOSITY",
]
COLORS = [(1, 0.5, 0.25, 1), (0.2, 0.8, 0.4, 0.6), (0.5, 0.5, 0.5, 0.5), (0, 0, 0, 0), (0.1, 0.2, 0.9, 1)]


def write(name, surface):
    surface.flush()
    width, height, stride = surface.get_width(), surface.get_height(), surface.get_stride()
    data = bytes(surface.get_data())
    rows = bytearray()
    for y in range(height):
        for x in range(width):
            blue, green, red, alpha = data[y * stride + x * 4 : y * stride + x * 4 + 4]
            rows += bytes((red, green, blue, alpha))
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.rgba").write_bytes(struct.pack("<II", width, height) + rows)


def blending():
    """A row for each operator; a pixel for each pair of a destination and a source."""
    surface = cairo.ImageSurface(cairo.FORMAT_ARGB32, len(COLORS) ** 2, len(OPERATORS))
    context = cairo.Context(surface)
    for y, operator in enumerate(OPERATORS):
        for x in range(len(COLORS) ** 2):
            context.save()
            context.rectangle(x, y, 1, 1)
            context.clip()
            context.set_operator(cairo.OPERATOR_OVER)
            context.set_source_rgba(*COLORS[x // len(COLORS)])
            context.paint()
            context.set_operator(getattr(cairo, "OPERATOR_" + operator))
            context.set_source_rgba(*COLORS[x % len(COLORS)])
            context.paint()
            context.restore()
    write("blending", surface)


def shapes():
    surface = cairo.ImageSurface(cairo.FORMAT_ARGB32, 96, 64)
    context = cairo.Context(surface)
    context.scale(2, 2)

    gradient = cairo.LinearGradient(0, 0, 48, 32)
    gradient.add_color_stop_rgba(0, 1, 0.8, 0.2, 1)
    gradient.add_color_stop_rgba(0.4, 0.9, 0.1, 0.5, 0.8)
    gradient.add_color_stop_rgba(1, 0.1, 0.2, 0.6, 0.3)
    context.set_source(gradient)
    context.paint()

    context.save()
    context.translate(12, 10)
    context.rotate(math.radians(30))
    context.scale(1.5, 0.75)
    context.rectangle(-5, -4, 10, 8)
    context.rectangle(-2, -2, 4, 4)
    context.set_fill_rule(cairo.FILL_RULE_EVEN_ODD)
    context.set_source_rgba(0, 0.3, 0.7, 0.75)
    context.fill()
    context.restore()

    context.arc(34, 10, 7.3, math.radians(20), math.radians(300))
    context.close_path()
    context.set_source_rgba(1, 1, 1, 1)
    context.fill_preserve()
    context.set_source_rgba(0.1, 0.1, 0.1, 1)
    context.set_line_width(1.25)
    context.set_line_join(cairo.LINE_JOIN_ROUND)
    context.stroke()

    context.move_to(3, 28)
    context.curve_to(12, 12, 20, 40, 30, 22)
    context.line_to(26, 30)
    context.set_source_rgba(0.2, 0.5, 0.1, 1)
    context.set_line_width(2.5)
    context.set_line_cap(cairo.LINE_CAP_SQUARE)
    context.set_line_join(cairo.LINE_JOIN_MITER)
    context.set_miter_limit(4)
    context.stroke()

    context.move_to(32, 20.5)
    context.line_to(47, 31)
    context.set_source_rgba(0.6, 0, 0.6, 0.9)
    context.set_line_width(1.5)
    context.set_line_cap(cairo.LINE_CAP_ROUND)
    context.set_dash([3, 2.5], 1)
    context.stroke()
    context.set_dash([])

    context.save()
    context.arc(40, 26, 5, 0, 2 * math.pi)
    context.clip()
    glow = cairo.RadialGradient(40, 26, 1, 40, 26, 5)
    glow.add_color_stop_rgba(0, 1, 1, 1, 1)
    glow.add_color_stop_rgba(1, 1, 0.5, 0, 0)
    context.set_source(glow)
    context.set_operator(cairo.OPERATOR_SCREEN)
    context.paint()
    context.restore()
    write("shapes", surface)


blending()
shapes()

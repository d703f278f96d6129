#!/usr/bin/python3
"""make_seeds.py TARGET DIRECTORY: small files of the kinds that no fixture has."""
import os
import struct
import subprocess
import sys

target, directory = sys.argv[1:]


def write(name, content):
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)


def exif(order):
    """Orientation and camera, an EXIF directory with a size, and a second one with a thumbnail."""
    def pack(format, *values):
        return struct.pack(order + format, *values)
    mark = b"II" if order == "<" else b"MM"
    main = pack("H", 3) + pack("HHLL", 0x10F, 2, 6, 110) + pack("HHLHH", 0x112, 3, 1, 6, 0) + pack("HHLL", 0x8769, 4, 1, 50)
    details = pack("H", 2) + pack("HHLL", 0xA002, 4, 1, 40) + pack("HHLHH", 0xA001, 3, 1, 0xFFFF, 0) + pack("L", 0)
    second = pack("H", 2) + pack("HHLL", 0x201, 4, 1, 116) + pack("HHLL", 0x202, 4, 1, 4) + pack("L", 0)
    return mark + pack("HL", 42, 8) + main + pack("L", 80) + details + second + b"Leica\0JPEG"


if target == "FuzzMetadata":
    for order in "<>":
        write("exif" + str(ord(order)), exif(order))
elif target == "FuzzProbe":
    # A gain map behind its image: by an index of images, and by a directory in XMP.
    with open("../Tests/Fixtures/images/size-1x1.jpg", "rb") as file:
        image = file.read()

    def segment(marker, content):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(content) + 2) + content

    iso = struct.pack(">HHB4l10l", 0, 0, 0x40, 0, 1, 3, 1, -1, 1, 6, 2, 3, 2, 1, 64, 1, 64)
    gains = segment(0xE2, b"urn:iso:std:iso:ts:21496:-1\0" + iso)
    mapped = image[:2] + gains + image[2:]
    index = b"MM\0*" + struct.pack(">LH", 8, 3) + struct.pack(">HHL4s", 0xB000, 7, 4, b"0100")
    index += struct.pack(">HHLL", 0xB001, 4, 1, 2) + struct.pack(">HHLLL", 0xB002, 7, 32, 50, 0)
    length = len(image) + 8 + len(index) + 32
    index += struct.pack(">8L", 0x30000, length, 0, 0, 0, len(mapped), length - 10, 0)
    write("index.jpg", image[:2] + segment(0xE2, b"MPF\0" + index) + image[2:] + mapped)
    properties = "hdrgm:Version='1.0' hdrgm:GainMapMax='3' hdrgm:HDRCapacityMax='3'"
    xmp = b"http://ns.adobe.com/xap/1.0/\0<rdf:RDF><rdf:Description %s/></rdf:RDF>"
    mapped = image[:2] + segment(0xE1, xmp % properties.encode()) + image[2:]
    item = "hdrgm:Version='1.0'><Container:Item Item:Semantic='GainMap' Item:Length='%d'/><a b=''" % len(mapped)
    write("directory.jpg", image[:2] + segment(0xE1, xmp % item.encode()) + image[2:] + mapped)
elif target == "FuzzPixels":
    head = b"WIPX" + bytes([1, 1]) + struct.pack("<HLLLLdQL", 19, 2, 2, 1, 0xFFFFFFFF, 1.0, 99, 7)
    write("pixels", head.ljust(64, b"\0") + b"png\nimage/png\npng\n".ljust(64, b"\0") + bytes(range(16)))
elif target == "FuzzJPEG2000":
    def box(kind, content):
        return struct.pack(">L", len(content) + 8) + kind + content

    def code(name, channels, *options):
        """opj_compress's code stream of a ramp."""
        raw, made = os.path.join(directory, "raw.rawl"), os.path.join(directory, name + ".j2k")
        write("raw.rawl", bytes(value & 0xFF for value in range(32 * 24 * channels)))
        command = ["opj_compress", "-i", raw, "-o", made, "-F", f"32,24,{channels},8,u", "-n", "3", "-mct", "0", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        os.remove(raw)
        with open(made, "rb") as file:
            return file.read()

    def wrap(name, stream, channels, color, *parts):
        head = box(b"ihdr", struct.pack(">LLH", 24, 32, channels) + b"\7\7\0\0") + box(b"colr", color)
        file = box(b"jP  ", b"\r\n\x87\n") + box(b"ftyp", b"jp2 \0\0\0\0jp2 ")
        write(name + ".jp2", file + box(b"jp2h", head + b"".join(parts)) + box(b"jp2c", stream))

    space = {number: b"\1\0\0" + struct.pack(">L", number) for number in (12, 14, 16, 17, 18, 24)}
    rgb = code("rgb", 3)
    wrap("ycc", rgb, 3, space[18])
    wrap("lab", rgb, 3, space[14] + struct.pack(">7L", 100, 0, 170, 128, 200, 96, 0x443530))
    wrap("ink", code("ink", 4, "-t", "16,16", "-d", "3,5"), 4, space[12])
    alpha = box(b"cdef", struct.pack(">H", 4) + struct.pack(">12H", 0, 1, 0, 1, 0, 1, 2, 0, 2, 3, 0, 3))
    wrap("alpha", code("alpha", 4, "-c", "[8,8]", "-b", "4,4", "-p", "RPCL"), 4, space[16], alpha)
    palette = struct.pack(">HB", 16, 3) + b"\7\7\7" + bytes(range(48))
    mapping = b"".join(struct.pack(">HBB", 0, 1, column) for column in range(3))
    wrap("palette", code("index", 1), 1, space[16], box(b"pclr", palette), box(b"cmap", mapping))
    code("layers", 3, "-r", "9,3,1", "-SOP", "-EPH", "-TLM", "-PLT", "-TP", "R", "-M", "5")
else:
    source = "../Tests/Fixtures/images/rgb-8.png"
    for program, name, options in [("avifenc", "a.avif", ["-s", "9"]), ("heif-enc", "a.heic", [])]:
        command = [program, *options, source, "-o", os.path.join(directory, name)]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            print(f"{program} made no seed", file=sys.stderr)

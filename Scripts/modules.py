"""The modules of the library: what they are, how they are built, and the flags with which a compiler imports them.

Scripts/api-count, Scripts/docs and Scripts/snippets use it.
"""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The modules to build, which import all others, and the optional parts that each needs.
ROOTS = {
    "WebImage": [], "WebImageShared": [], "WebImageService": [], "WebImageMainLoop": [], "WebImageTesting": [], "WebImageDrawing": ["drawing"], "WebImageGTK": ["gtk"], "WebImageMap": ["gtk", "map"],
}
# `import WebImage` imports these.
PARTS_OF_WEB_IMAGE = [
    "WebImageCore", "WebImageCoding", "WebImageIsolation", "WebImageProcessing", "WebImageCaching", "WebImageLoading", "WebImageAnimation",
    "WebImage",
]
MODULES = PARTS_OF_WEB_IMAGE + ["WebImageShared", "WebImageService", "WebImageMainLoop", "WebImageTesting", "WebImageDrawing", "WebImageGTK", "WebImageMap"]
# WebImageMap contains these.
CONTAINED = ("WebImage", "WebImageGTK")


class ModuleError(Exception):
    pass


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options).stdout


def left_out():
    """The parts that WEBIMAGE_WITHOUT names."""
    return set(filter(None, os.environ.get("WEBIMAGE_WITHOUT", "").split(",")))


def built_roots():
    return [module for module, parts in ROOTS.items() if not left_out().intersection(parts)]


def flags():
    """The flags of debug builds, as in the Makefile."""
    return os.environ.get("WEBIMAGE_DEBUG_FLAGS", "-Xswiftc -gline-tables-only").split()


def build(roots, scratch=None):
    """Builds the modules for debugging, and returns their folder."""
    # As in the Makefile: each choice has a build folder of its own.
    choice = os.environ.get("WEBIMAGE_WITHOUT", "").replace(",", "-")
    scratch = scratch or ROOT / ".build" / (f"without-{choice}" if choice else "")
    command = ["swift", "build", "--scratch-path", str(scratch), *flags()]
    contained = CONTAINED if "WebImageMap" in roots else ()
    for module in roots:
        if module in contained:
            continue
        result = subprocess.run(command + ["--target", module], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            raise ModuleError(f"the module {module} does not build:\n{result.stdout}")
    return Path(output(*command, "--show-bin-path", cwd=ROOT).strip())


def clang_flags(folder):
    """The flags with which the compiler finds the C modules that our modules import internally."""
    maps = [*ROOT.glob("Sources/*/C*/module.modulemap"), *folder.glob("C*.build/module.modulemap")]
    flags = [f"-fmodule-map-file={path}" for path in maps]
    packages = ["gtk4", "shumate-1.0", "pangocairo", "libwebp", "libdeflate", "libisal", "lcms2", "sqlite3", "glib-2.0"]
    for package in packages:
        flags += [flag for flag in output("pkg-config", "--cflags", package).split() if flag.startswith("-I")]
    return [part for flag in dict.fromkeys(flags) for part in ("-Xcc", flag)]


def target():
    return json.loads(output("swift", "-print-target-info"))["target"]["unversionedTriple"]


def extract_symbol_graphs(module, folder, graphs, *options):
    """Writes the symbol graphs of a module's public interface into the folder `graphs`."""
    command = [
        "swift-symbolgraph-extract", "-module-name", module, "-target", target(), "-I", str(folder / "Modules"), "-output-dir", str(graphs),
        "-minimum-access-level", "public", *options, *clang_flags(folder)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise ModuleError(f"no symbol graph of {module}:\n{result.stderr}")

#!/usr/bin/python3
"""Makes thumbnails as a Python service does: aiohttp, with Pillow or pyvips on a thread for each processor.

    aiohttp_server.py pillow|pyvips FOLDER PORT

/resize?name=NAME&width=N answers with a JPEG of quality 80. Nothing is stored.
"""

import asyncio
import concurrent.futures
import io
import os
import sys

from aiohttp import web


def with_pillow(path, width):
    from PIL import Image

    image = Image.open(path)
    image.draft("RGB", (width, width))
    image = image.convert("RGB")
    image.thumbnail((width, image.height), Image.LANCZOS)
    output = io.BytesIO()
    image.save(output, "JPEG", quality=80)
    return output.getvalue()


def with_pyvips(path, width):
    import pyvips

    image = pyvips.Image.thumbnail(path, width, height=10_000_000, size="down")
    return image.write_to_buffer(".jpg[Q=80,strip]")


def main():
    make = {"pillow": with_pillow, "pyvips": with_pyvips}[sys.argv[1]]
    folder = os.path.realpath(sys.argv[2])
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    async def resize(request):
        name, width = request.query["name"], int(request.query["width"])
        if "/" in name or not 0 < width <= 8192:
            raise web.HTTPBadRequest
        data = await asyncio.get_running_loop().run_in_executor(pool, make, os.path.join(folder, name), width)
        return web.Response(body=data, content_type="image/jpeg")

    application = web.Application()
    application.router.add_get("/resize", resize)
    application.router.add_get("/health", lambda request: web.Response(text="ok"))
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[3]), print=None, access_log=None)


main()

#!/usr/bin/python3
"""Loads pictures as a Python program does: aiohttp for the transfers, Pillow on a thread for each processor.

    aiohttp_pillow.py CONNECTIONS WIDTH HEIGHT RESULT-FILE <LIST-OF-URLS

Pillow decodes and scales without holding the interpreter's lock. The first line it prints is its cost: nanoseconds,
nanoseconds of processors, and the most bytes of memory; starting Python does not count. The samples of what it made are written
after that.
"""

import asyncio
import concurrent.futures
import io
import os
import struct
import sys
import time

import aiohttp
from PIL import Image


def samples(image):
    """Twelve colors: what the cells of a grid of 4 by 3 are on the average, premultiplied."""
    return image.convert("RGBA").convert("RGBa").resize((4, 3), Image.BOX).tobytes()


def thumbnail(data, size):
    image = Image.open(io.BytesIO(data))
    # JPEG is decoded at a half, a quarter or an eighth where that is enough.
    image.draft("RGB", size)
    image = image.convert("RGBA" if image.mode in ("RGBA", "LA", "P", "PA") else "RGB")
    image.thumbnail(size, Image.LANCZOS)
    return image


async def load_all(urls, connection_count, size):
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    loop = asyncio.get_running_loop()
    results = [None] * len(urls)
    # As many under way as keep the threads busy: more would only hold memory.
    slots = asyncio.Semaphore(connection_count + 2 * len(os.sched_getaffinity(0)))
    connector = aiohttp.TCPConnector(limit=connection_count, limit_per_host=connection_count)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:

        async def load(index):
            async with slots:
                async with session.get(urls[index]) as response:
                    response.raise_for_status()
                    data = await response.read()
                image = await loop.run_in_executor(pool, thumbnail, data, size)
                results[index] = (image.width, image.height, samples(image))

        await asyncio.gather(*(load(index) for index in range(len(urls))))
    return results


def peak_byte_count():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def main():
    connection_count, width, height = (int(argument) for argument in sys.argv[1:4])
    urls = sys.stdin.read().split()
    start, start_processor = time.monotonic_ns(), time.process_time_ns()
    results = asyncio.run(load_all(urls, connection_count, (width, height)))
    print(time.monotonic_ns() - start, time.process_time_ns() - start_processor, peak_byte_count())
    with open(sys.argv[4], "wb") as file:
        for width, height, colors in results:
            file.write(struct.pack("<HH", width, height) + colors)


main()

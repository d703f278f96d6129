"""slow_proxy.py PORT MILLISECONDS: passes connections on to PORT of 127.0.0.1, and what comes back so much later.

Prints its own port. Stops when its standard input ends.
"""
import asyncio
import sys

target, delay = int(sys.argv[1]), int(sys.argv[2]) / 1000


async def copy(reader, writer, seconds):
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue()

    async def write():
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    task = asyncio.create_task(write())
    while True:
        data = await reader.read(1 << 16)
        queue.put_nowait((loop.time() + seconds, data))
        if not data:
            break
    await task


async def serve(reader, writer):
    other_reader, other_writer = await asyncio.open_connection("127.0.0.1", target)
    try:
        await asyncio.gather(
            copy(reader, other_writer, 0), copy(other_reader, writer, delay), return_exceptions=True)
    except asyncio.CancelledError:
        # The program ends.
        pass


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    server.close()


asyncio.run(main())

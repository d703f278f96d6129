#!/usr/bin/python3
"""Loads image services, one after the other, and prints what they do.

    measure.py WEBIMAGE-SERVER SECONDS [PYTHON]

Each makes JPEG thumbnails of photographs, 400 to 500 pixels wide, of which no two are equal ("cold"); then one of them is requested again
and again with wrk ("stored"), from services that store results, as fast as they can and at half of that rate. Beside webimage-server,
which decodes in other processes, are aiohttp with Pillow, and if PYTHON has the packages, aiohttp with pyvips, and thumbor. PYTHON is this
one by default. Memory is that of all processes of a service at the end.

A last table has one client of webimage-server, which waits for one thumbnail after the other, alone and beside eight clients that request
drawings whose rules of CSS take minutes of processor time.
"""

import concurrent.futures
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PHOTOGRAPHS = "/usr/share/backgrounds/mate/nature"
HERE = os.path.dirname(os.path.realpath(__file__))
CLIENTS = 8
# Enough that a wait of whole milliseconds makes any rate.
PACED_CLIENTS = 64


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


class Service:
    def __init__(self, name, command, health, path, stores):
        self.name, self.health, self.path, self.stores = name, health, path, stores
        self.port = free_port()
        command = [part.replace("PORT", str(self.port)) for part in command]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.get(self.health)
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise SystemExit(f"{name} does not start")
                time.sleep(0.05)

    def get(self, path, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()

    def resident_megabytes(self):
        """Of all processes of the session."""
        total = 0
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if os.getsid(int(entry)) == self.process.pid:
                        with open(f"/proc/{entry}/statm") as file:
                            total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                except OSError:
                    pass
        return total >> 20

    def cold(self, names, seconds):
        """Requests different thumbnails for a while. Returns the latencies, the time, and the bytes."""
        latencies, lock, counter = [], threading.Lock(), iter(range(1_000_000))
        start = time.monotonic()

        def client():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            count = 0
            while time.monotonic() - start < seconds:
                with lock:
                    number = next(counter)
                path = self.path(names[number % len(names)], 400 + number // len(names))
                began = time.monotonic()
                status, body = self.get(path, connection)
                if status != 200 or body[:2] != b"\xff\xd8":
                    raise SystemExit(f"{self.name}: {path} gets {status} {body[:100]}")
                with lock:
                    latencies.append(time.monotonic() - began)
                count += len(body)
            return count

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            byte_count = sum(task.result() for task in [pool.submit(client) for _ in range(CLIENTS)])
        return sorted(latencies), time.monotonic() - start, byte_count

    def serial(self, names, widths):
        """Requests one thumbnail of each width after the other. Returns the sorted latencies."""
        connection, latencies = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60), []
        for width in widths:
            began = time.monotonic()
            status, _ = self.get(self.path(names[width % len(names)], width), connection)
            if status != 200:
                raise SystemExit(f"{self.name}: a thumbnail gets {status}")
            latencies.append(time.monotonic() - began)
        return sorted(latencies)

    def stored(self, name, seconds, rate=None):
        """Returns wrk's requests a second, and its latency at 99 %; at about a rate if one is given."""
        path = self.path(name, 399)
        self.get(path)
        command = ["wrk", "-t1", f"-d{seconds}", "--latency"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            if rate:
                # Each connection waits that many milliseconds before a request, and some of them begin together.
                script.write(f"function delay() return math.random(0, {round(2 * PACED_CLIENTS / rate * 1000)}) end")
                script.flush()
                command += [f"-c{PACED_CLIENTS}", "-s", script.name]
            else:
                command += ["-c16"]
            return self.measured(command + [f"http://127.0.0.1:{self.port}{path}"])

    def measured(self, command):
        output = subprocess.run(command, capture_output=True, text=True).stdout
        assert "Non-2xx" not in output, output
        return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]), re.search(r"99%\s+(\S+)", output)[1]


def quantile(latencies, share):
    """In milliseconds."""
    return latencies[min(len(latencies) - 1, int(len(latencies) * share))] * 1000


def drawing():
    rules = "".join(f"g g g g g g rect:nth-child({number}){{fill:red}}" for number in range(20_000))
    shapes = "<g>" * 10 + "<rect/>" * 5000 + "</g>" * 10
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><style>{rules}</style>{shapes}</svg>'


def print_fairness(service, root, names, seconds):
    """One client, alone and beside others that take all the time they get."""
    with open(os.path.join(root, "drawing.svg"), "w") as file:
        file.write(drawing())
    count, isDone, refused = 30 * seconds, threading.Event(), []

    def request_drawings(number):
        while not isDone.is_set():
            number += CLIENTS
            refused.append(service.get(service.path("drawing.svg", number))[0])

    print(f"\n{'one client':18} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>8}")
    service.serial(names, range(100, 110))
    alone = service.serial(names, range(400, 400 + count))
    clients = [threading.Thread(target=request_drawings, args=(number,), daemon=True) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    # Each of them has a process now, or waits for one.
    time.sleep(2)
    beside = service.serial(names, range(400 + count, 400 + 2 * count))
    isDone.set()
    for name, latencies in [("alone", alone), (f"beside {CLIENTS} drawings", beside)]:
        ratio = quantile(latencies, 0.99) / quantile(alone, 0.99)
        print(f"{name:18} {quantile(latencies, 0.5):8.1f} {quantile(latencies, 0.99):8.1f} {ratio:8.2f}", flush=True)
    if 200 in refused:
        raise SystemExit("a drawing was drawn: the measurement has to take a slower one")


def main():
    server, seconds = sys.argv[1], int(sys.argv[2])
    python = sys.argv[3] if len(sys.argv) > 3 else sys.executable
    names = sorted(name for name in os.listdir(PHOTOGRAPHS) if name.endswith(".jpg"))
    scratch = tempfile.mkdtemp()
    try:
        settings = os.path.join(scratch, "thumbor.conf")
        with open(settings, "w") as file:
            file.write(
                f"LOADER = 'thumbor.loaders.file_loader'\nFILE_LOADER_ROOT_PATH = '{PHOTOGRAPHS}'\nQUALITY = 80\n"
                f"RESULT_STORAGE = 'thumbor.result_storages.file_storage'\nRESULT_STORAGE_STORES_UNSAFE = True\n"
                f"RESULT_STORAGE_FILE_STORAGE_ROOT_PATH = '{scratch}/results'\nSTORAGE = 'thumbor.storages.no_storage'\n"
                "MAX_AGE = 3600\n")
        plain = lambda name, width: f"/resize?name={name}&width={width}"
        services = [(
            "webimage-server",
            [server, "--unsigned", "--bind=127.0.0.1:PORT", "--local-root", PHOTOGRAPHS, "--cache", scratch + "/cache", "--log-requests=false"],
            "/health", lambda name, width: f"/_/w:{width}/plain/local:///{name}@jpg", True)]
        for tool, module in [("pillow", "PIL"), ("pyvips", "pyvips")]:
            if has(python, module) and has(python, "aiohttp"):
                command = [python, os.path.join(HERE, "aiohttp_server.py"), tool, PHOTOGRAPHS, "PORT"]
                services.append((f"aiohttp, {tool}", command, "/health", plain, False))
        if has(python, "thumbor"):
            count = len(os.sched_getaffinity(0))
            command = [python, "-m", "thumbor.server", "-p", "PORT", "-c", settings, f"--processes={count}"]
            services.append(("thumbor", command, "/healthcheck", lambda name, width: f"/unsafe/{width}x0/{name}", True))
        print(f"{'':18} {'cold/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'KB each':>8} {'MB':>6} {'stored/s':>9} {'p99':>8} {'half/s':>9} {'p99':>8}")
        for name, command, health, path, stores in services:
            service = Service(name, command, health, path, stores)
            try:
                service.get(path(names[0], 100))
                latencies, time_taken, byte_count = service.cold(names, seconds)
                memory = service.resident_megabytes()
                rate, slowest = service.stored(names[0], seconds) if stores else (0, "")
                half, paced = service.stored(names[0], seconds, rate / 2) if stores else (0, "")
                print(
                    f"{name:18} {len(latencies) / time_taken:8.1f} {quantile(latencies, 0.5):8.1f} {quantile(latencies, 0.99):8.1f} "
                    f"{byte_count / len(latencies) / 1000:8.1f} {memory:6} {rate or '':9} {slowest:>8} {half or '':9} {paced:>8}",
                    flush=True)
            finally:
                service.stop()
        root = os.path.join(scratch, "root")
        os.mkdir(root)
        for name in names:
            shutil.copy(os.path.join(PHOTOGRAPHS, name), root)
        command = [part.replace(PHOTOGRAPHS, root) for part in services[0][1]]
        service = Service(services[0][0], command, *services[0][2:])
        try:
            print_fairness(service, root, names, seconds)
        finally:
            service.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()

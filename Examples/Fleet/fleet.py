"""The parts of a fleet on 127.0.0.1: a store (Ceph's radosgw), image servers, and nginx in front of them."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

FOLDER = pathlib.Path(__file__).parent
STORE_SCRIPT = FOLDER.parent.parent / "Tests/Servers/s3_server.sh"
# The account that the script makes.
KEY, SECRET = "testkey", "testsecret"
SERVER_COUNT = 3


def free_port(count=1):
    """The first of `count` adjacent ports that are free at the moment."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        try:
            for number in range(port, port + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} after {seconds} s")
        time.sleep(0.02)


class Store:
    def __init__(self, directory):
        self.directory = directory / "store"
        self.port = free_port(3)
        command = ["bash", STORE_SCRIPT, self.directory, str(self.port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("radosgw does not start")
        # The first writes take a second: the store makes its pools then.
        for path in ["fleet", "fleet/first"]:
            self.put(path)

    @property
    def url(self):
        return f"s3://fleet?endpoint=http://127.0.0.1:{self.port}"

    def put(self, path):
        digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of nothing
        command = ["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", f"{KEY}:{SECRET}", "-X", "PUT", "-d", ""]
        command += ["-H", f"x-amz-content-sha256: {digest}", f"http://127.0.0.1:{self.port}/{path}"]
        subprocess.run(command, check=True, timeout=60)

    def kill(self):
        """Ends the gateway; the objects stay."""
        self.command("kill")

    def start(self):
        self.command("start")

    def command(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline().strip() != "done":
            raise RuntimeError(f"the store: {text} failed")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


def path_of(source, side, suffix):
    """The path of a source's image that is `side` pixels wide."""
    return f"/_/w:{side}/plain/{urllib.parse.quote(source, safe='')}@{suffix}"


class Server:
    """An image server; its disk cache stays when it is killed."""

    def __init__(self, program, directory, store, options):
        self.cache = directory
        self.port = free_port()
        self.command = [program, "--unsigned", f"--bind=127.0.0.1:{self.port}", "--cache", directory, "--log-requests=false", *options]
        self.environment = os.environ | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        if store:
            self.command += ["--shared", store.url]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("listening on "):
            raise RuntimeError("an image server does not start")

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(60)

    def forget(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    def counters(self):
        """The counters of its shared cache; none while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=2) as response:
                lines = response.read().decode().splitlines()
        except OSError:
            return {}
        values = (line.split(" ") for line in lines if line.startswith("webimage_shared_"))
        return {name.removeprefix("webimage_shared_").removesuffix("_total"): int(value) for name, value in values}


class Fleet:
    def __init__(self, program, port=0, options=(), has_store=True):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="fleet-"))
        self.store, self.servers, self.balancer = None, [], None
        try:
            self.store = Store(self.directory) if has_store else None
            for number in range(SERVER_COUNT):
                self.servers.append(Server(program, self.directory / f"cache-{number}", self.store, options))
            self.port = port or free_port()
            self.start_balancer()
        except BaseException:
            self.stop()
            raise

    def start_balancer(self):
        servers = "\n        ".join(f"server 127.0.0.1:{server.port} max_fails=1 fail_timeout=1s;" for server in self.servers)
        text = (FOLDER / "nginx.conf").read_text()
        for name, value in [("DIRECTORY", str(self.directory)), ("SERVERS", servers), ("PORT", str(self.port))]:
            text = text.replace(name, value)
        path = self.directory / "nginx.conf"
        path.write_text(text)
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.balancer = subprocess.Popen([nginx, "-p", self.directory, "-e", self.directory / "nginx.log", "-c", path])

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        wait_for(answers, 20, "nginx does not answer")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        for process in [self.balancer, *(server.process for server in self.servers)]:
            if process and process.poll() is None:
                process.terminate()
                process.wait(60)
        if self.store:
            self.store.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

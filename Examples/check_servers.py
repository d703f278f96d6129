"""Checks the adapters of server frameworks in Adapters, which run with what stands in for the frameworks, by what they print."""

import base64
import io
import json
import os
import re
import signal
import subprocess

from PIL import Image

from check_adapters import ImageServer

GUIDE = "Documentation/Guides.docc/ServerFrameworks.md"


def expect(actual, expected):
    assert actual == expected, f"{actual} is not {expected}"


def run(program, *arguments):
    result = subprocess.run([program, *arguments], check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    return result.stdout.splitlines()


class Application:
    """A program of a server framework, which answers requests from standard input."""

    def __init__(self, program, folder):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program], cwd=folder, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def ask(self, target, method="GET", file=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = {"method": method, "target": target, "headers": headers, "file": str(file) if file else None}
        self.process.stdin.write(json.dumps(request) + "\n")
        answer = json.loads(self.process.stdout.readline())
        fields = {name.lower(): value for name, value in answer["headers"].items()}
        return answer["status"], fields, base64.b64decode(answer["body"]), answer["isStreamed"]

    def end(self):
        self.process.stdin.close()
        expect(self.process.wait(60), 0)


def check_application(program, scratch):
    """Uploads, and the images of what was stored. The files are noise, so that a result is long enough to be streamed from disk."""
    folder = scratch / program.name
    (folder / "photos").mkdir(parents=True)
    noise = Image.frombytes("RGB", (1000, 700), os.urandom(1000 * 700 * 3))
    noise.save(folder / "noise.png")
    Image.new("RGB", (64, 48), "green").save(folder / "photos" / "green.png")
    (folder / "text.png").write_text("This is no image. " * 400)
    application = Application(program, folder)
    # What is not for the service goes on to the next.
    expect(application.ask("/other")[0], 404)
    expect(application.ask("/imagesother")[0], 404)
    status, headers, body, _ = application.ask("/images/_/w:32/plain/local:///green.png", accept="image/webp")
    expect((status, headers["content-type"], int(headers["content-length"])), (200, "image/webp", len(body)))
    expect(Image.open(io.BytesIO(body)).size, (32, 24))
    status, head, body, _ = application.ask("/images/_/w:32/plain/local:///green.png", method="HEAD", accept="image/webp")
    expect((status, head["content-length"], body), (200, headers["content-length"], b""))
    status, _, body, _ = application.ask("/images/_/w:32/plain/local:///green.png", accept="image/webp", if_none_match=headers["etag"])
    expect((status, body), (304, b""))
    expect(application.ask("/images/_/w:32/plain/local:///none.png")[0], 404)
    # An upload as it is, and in a form.
    form = folder / "form"
    form.write_bytes(
        b'--limit\r\nContent-Disposition: form-data; name="title"\r\n\r\nNoise\r\n--limit\r\nContent-Disposition: form-data; name="photo"; '
        b'filename="noise.png"\r\nContent-Type: image/png\r\n\r\n' + (folder / "noise.png").read_bytes() + b"\r\n--limit--\r\n")
    form_type = 'multipart/form-data; boundary="limit"'
    for file, type in ((folder / "noise.png", "image/png"), (form, form_type)):
        status, headers, body, _ = application.ask("/photos", method="POST", file=file, content_type=type)
        expect(status, 200)
        path = json.loads(body)["image"]
        assert re.fullmatch(r"/images/unsafe/plain/local:///[0-9A-F-]{36}\.png", path), path
        for _ in range(2):
            status, _, body, is_streamed = application.ask(path)
            expect((status, Image.open(io.BytesIO(body)).size), (200, (1000, 700)))
        # The second answer is that on disk.
        assert is_streamed
    # What is refused, and why.
    for file, type, status in (
        (folder / "text.png", "image/png", 415), (folder / "noise.png", "image/gif", 415), (folder / "text.png", form_type, 400)):
        answer = application.ask("/photos", method="POST", file=file, content_type=type)
        assert answer[0] == status and len(answer[2]) > 20, answer
    expect(len(list((folder / "photos").iterdir())), 3)
    application.end()


def check_http_client(program, origin, statuses):
    statuses.clear()
    expect(run(program, f"{origin}/red.png", f"{origin}/none.png"), ["60×40 remote", "error 200"])
    # Another process revalidates.
    expect(run(program, f"{origin}/red.png"), ["60×40 diskCache"])
    expect(statuses, [200, 404, 304])
    expect(run(program, "http://127.0.0.1:1/a.png"), ["error 201"])


def check_logging(program, origin):
    secret = origin.replace("//", "//ada:secret@")
    lines = run(program, f"{secret}/green.png?token=secret", f"{secret}/none.png?token=secret")
    assert not any("secret" in line for line in lines), lines
    ends = [line for line in lines if not line.startswith("trace")]
    expect(len(ends), 2)
    assert ends[0].startswith(f"debug images: Image loaded image.milliseconds="), ends
    assert f"image.size=60×41 image.url={origin}/green.png" in ends[0], ends
    assert ends[1].startswith("debug images: Image not loaded error.code=200 "), ends
    assert "http.status=404" in ends[1], ends
    stages = [line.split("stage.name=")[1].split()[0] for line in lines if line.startswith("trace")]
    assert {"policy", "transfer", "decode"} < set(stages), lines


def check_metrics(program, origin):
    lines = run(program, f"{origin}/blue.png", f"{origin}/blue.png", f"{origin}/none.png")
    counts = [line for line in lines if line.startswith("counter") and "bytes" not in line]
    expect(counts, [
        "counter webimage_loads{outcome=remote} 1", "counter webimage_loads{outcome=memory} 1",
        "counter webimage_loads{outcome=failed} 1", "counter webimage_failures{code=200} 1"])
    timers = [line.rsplit(" ", 1) for line in lines if line.startswith("timer")]
    assert all(0 < int(time) < 60e9 for _, time in timers), timers
    assert {"timer webimage_stage_duration{stage=transfer}", "timer webimage_load_duration{outcome=failed}"} < {name for name, _ in timers}
    assert "gauge webimage_running 0" in lines, lines


def check_tracing(program, origin):
    lines = run(program, f"{origin}/tracing.png?token=secret", f"{origin}/none.png?token=secret")
    assert not any("secret" in line for line in lines), lines
    spans = [line for line in lines if " span " in line]
    assert not any("before" in line for line in spans), spans
    names = [re.match(r"\w+ span [\w ]+ in \w+( load)?", line)[0] for line in spans]
    expect([name for name in names if "load in" in name], ["internal span image load in request"] * 2)
    assert {"client span image transfer in image load", "internal span image decode in image load"} < set(names), names
    assert any(line.startswith("event of image load: image ") for line in lines), lines
    assert any(line.startswith("status of image load: error") for line in lines), lines
    assert "http.response.status_code=404" in "".join(lines), lines


def check_lifecycle(program):
    """A load in progress ends before the program does."""
    server = ImageServer()
    server.start()
    process = subprocess.Popen([program, f"{server.url}/blue.png"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.blue_asked.wait(60)
        process.send_signal(signal.SIGTERM)
        expect(process.stdout.readline(), "shutting down\n")
        server.release.set()
        expect(process.stdout.read().splitlines(), ["ended after 1 load"])
        expect(process.wait(60), 0)
    finally:
        process.kill()
        process.wait()
        server.release.set()
        server.shutdown()


def check_guide():
    """The guide has the programs that run here."""
    guide = open(GUIDE, encoding="utf-8").read()
    for name in ("Vapor", "Hummingbird"):
        program = open(f"Examples/Adapters/{name}/main.swift", encoding="utf-8").read()
        assert program in guide, f"{GUIDE} has another program for {name}"
        assert len(program.splitlines()) <= 15, f"the program for {name} has more than 15 lines"


def check(programs, scratch, origin, statuses):
    check_guide()
    for name in ("Vapor", "Hummingbird"):
        check_application(programs / f"{name}Adapter", scratch)
    check_http_client(programs / "AsyncHTTPClientAdapter", origin, statuses)
    check_logging(programs / "LoggingAdapter", origin)
    check_metrics(programs / "MetricsAdapter", origin)
    Image.new("RGB", (60, 40), "red").save(scratch / "tracing.png")
    check_tracing(programs / "TracingAdapter", origin)
    check_lifecycle(programs / "ServiceLifecycleAdapter")
    expect(run(programs / "HTTPTypesAdapter", f"{origin}/red.png"), ["true true image/png, image/webp", "200 image/png", "true", "400 text/plain; charset=utf-8"])

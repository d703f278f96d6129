"""Tests in Python of how a session reaches servers, and of its limits, with a server of their own."""

import io
import os
import ssl
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gi

gi.require_version("WebImage", "1.0")
from gi.repository import GLib, WebImage
from PIL import Image

from support import LoopTestCase


class Server(BaseHTTPRequestHandler):
    """Serves an image of any name, once `may_answer` is set."""

    protocol_version = "HTTP/1.1"
    may_answer = threading.Event()
    lock = threading.Lock()
    current, most = 0, 0

    def do_GET(self):
        with Server.lock:
            Server.current += 1
            Server.most = max(Server.most, Server.current)
        GLib.MainContext.default().wakeup()
        Server.may_answer.wait(20)
        body = io.BytesIO()
        Image.new("RGB", (30, 20), (20, 90, 160)).save(body, "PNG")
        with Server.lock:
            Server.current -= 1
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(body.getvalue())))
        self.end_headers()
        self.wfile.write(body.getvalue())

    def log_message(self, *arguments):
        pass


class QuietServer(ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that does not trust the certificate ends the connection."""


class Tests(LoopTestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=os.environ["XDG_CACHE_HOME"])
        self.addCleanup(self.folder.cleanup)
        Server.may_answer.set()

    def serve(self, context=None):
        server = QuietServer(("127.0.0.1", 0), Server)
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_address[1]}"

    def session(self, **properties):
        return WebImage.Session(cache_directory=tempfile.mkdtemp(dir=self.folder.name), **properties)

    def load(self, session, uri, **properties):
        results = []
        request = WebImage.Request(uri=uri, **properties)
        session.load_async(request, None, lambda _, result: results.append(result))
        self.iterate_until(lambda: results)
        return session.load_finish(results[0])

    def test_a_session_trusts_the_authorities_of_its_file(self):
        key, certificate = (os.path.join(self.folder.name, name) for name in ("key.pem", "certificate.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        uri = f"https://{self.serve(context)}/image.png"
        with self.assertRaises(GLib.Error) as failure:
            self.load(self.session(), uri)
        self.assertTrue(failure.exception.matches(WebImage.error_quark(), WebImage.Error.CERTIFICATE))
        session = self.session(certificate_file=certificate)
        self.assertEqual(session.get_certificate_file(), certificate)
        self.assertEqual(self.load(session, uri).get_width(), 30)

    def test_a_session_keeps_to_its_limits_of_connections(self):
        for properties, limit in ((dict(max_connections_per_host=2), 2), (dict(max_connections=3), 3), ({}, 6)):
            address, results = self.serve(), []
            Server.may_answer.clear()
            Server.most = 0
            session = self.session(**properties)
            for number in range(10):
                request = WebImage.Request(uri=f"http://{address}/{number}.png")
                session.load_async(request, None, lambda _, result: results.append(result))
            self.iterate_until(lambda: Server.current == limit)
            # One more would come now.
            quiet = []
            GLib.timeout_add(100, lambda: quiet.append(True))
            self.iterate_until(lambda: quiet)
            self.assertEqual(Server.current, limit)
            Server.may_answer.set()
            self.iterate_until(lambda: len(results) == 10)
            self.assertEqual([session.load_finish(result).get_width() for result in results], [30] * 10)
            self.assertEqual(Server.most, limit)

    def test_a_session_allows_images_of_so_many_pixels(self):
        path = os.path.join(self.folder.name, "large.png")
        Image.new("L", (1200, 1000)).save(path)
        uri = GLib.filename_to_uri(path, None)
        with self.assertRaises(GLib.Error) as failure:
            self.load(self.session(max_megapixels=1), uri, width=64)
        self.assertTrue(failure.exception.matches(WebImage.error_quark(), WebImage.Error.TOO_MANY_PIXELS))
        session = self.session(max_megapixels=2)
        self.assertEqual(session.get_max_megapixels(), 2)
        self.assertEqual(self.load(session, uri, width=64).get_width(), 64)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Tests of libwebimage-gtk from Python, with a server of their own. COUNT=… is how often leaks are looked for; 2,000 by default."""

import gc
import io
import os
import subprocess
import sys
import threading
import unittest
import weakref
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gi

gi.require_version("Gtk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import Gdk, Gio, GLib, GObject, Gtk, WebImage
from PIL import Image

COUNT = int(os.environ.get("COUNT", "2000"))


class Server(BaseHTTPRequestHandler):
    """Serves /WIDTH.png, an image of that width; /private/… only with a password; /flaky/… the second time."""

    protocol_version = "HTTP/1.1"
    requests = []

    def do_GET(self):
        self.requests.append((self.path, dict(self.headers)))
        seen = sum(path == self.path for path, _ in self.requests)
        if self.path.startswith("/private/") and self.headers.get("Authorization") != "Bearer secret":
            return self.answer(401, b"")
        if self.path.startswith("/flaky/") and seen == 1:
            return self.answer(503, b"")
        body = io.BytesIO()
        width = int(self.path.split("/")[-1].split(".")[0])
        Image.new("RGB", (width, 40), (seen * 40 % 256, 90, 160)).save(body, "PNG")
        self.answer(200, body.getvalue())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A connection that breaks is that of a load which was cancelled."""


class Tests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = QuietServer(("127.0.0.1", 0), Server)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.address = f"http://127.0.0.1:{cls.server.server_address[1]}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def iterate_until(self, condition):
        timer = GLib.timeout_add_seconds(20, lambda: self.fail("this takes too long"))
        while not condition():
            GLib.MainContext.default().iteration(True)
        GLib.source_remove(timer)

    def picture(self, **properties):
        picture = WebImage.Picture(**properties)
        window = Gtk.Window(child=picture)
        window.present()
        self.addCleanup(window.destroy)
        self.iterate_until(picture.get_mapped)
        return picture

    def test_headers_arrive_with_the_first_request(self):
        picture = self.picture(uri=f"{self.address}/private/31.png", headers=["Authorization: Bearer secret"])
        self.iterate_until(lambda: picture.props.image_width == 31)
        self.assertEqual([path for path, _ in Server.requests if path == "/private/31.png"], ["/private/31.png"])

    def test_a_session_has_its_own_user_agent_and_cache(self):
        directory = os.path.join(os.environ["XDG_CACHE_HOME"], "own")
        session = WebImage.Session(user_agent="feed/1", cache_directory=directory)
        picture = self.picture(uri=f"{self.address}/32.png", session=session)
        self.iterate_until(lambda: picture.props.image_width == 32)
        self.assertEqual([headers["User-Agent"] for path, headers in Server.requests if path == "/32.png"], ["feed/1"])
        # The image is on the screen before it is on disk, which wakes no main loop.
        tick = GLib.timeout_add(10, lambda: True)
        self.iterate_until(lambda: os.path.isdir(directory) and os.listdir(directory))
        GLib.source_remove(tick)

    def test_reload_repeats_a_failed_load_and_asks_the_server_for_a_newer_image(self):
        picture = self.picture(uri=f"{self.address}/flaky/33.png")
        errors = []
        picture.connect("failed", lambda _, error: errors.append(error))
        self.iterate_until(lambda: errors)
        self.assertTrue(errors[0].matches(WebImage.error_quark(), WebImage.Error.HTTP_STATUS))
        self.assertEqual(picture.props.error.code, WebImage.Error.HTTP_STATUS)
        picture.reload()
        self.iterate_until(lambda: picture.props.image_width == 33)
        self.assertIsNone(picture.props.error)
        picture.reload()
        self.assertEqual(picture.props.image_width, 33)
        self.iterate_until(lambda: sum(path == "/flaky/33.png" for path, _ in Server.requests) == 3)

    def test_a_list_shows_no_image_of_another_row(self):
        uris = [f"{self.address}/{width}.png" for width in range(100, 300)]
        pictures, shown, wrong, factory = [], [], [], Gtk.SignalListItemFactory()

        def set_up(_, item):
            picture = WebImage.Picture(height_request=20)
            picture.connect("loaded", check, item)
            pictures.append(picture)
            item.set_child(picture)

        def check(picture, item):
            shown.append(picture.props.image_width)
            if picture.props.image_width != item.get_position() + 100:
                wrong.append((item.get_position(), picture.props.image_width))

        factory.connect("setup", set_up)
        factory.connect("bind", lambda _, item: item.get_child().set_property("uri", item.get_item().get_string()))
        factory.connect("unbind", lambda _, item: item.get_child().set_property("uri", None))
        view = Gtk.ListView(model=Gtk.NoSelection(model=Gtk.StringList.new(uris)), factory=factory)
        scrolled = Gtk.ScrolledWindow(child=view)
        window = Gtk.Window(child=scrolled, default_width=200, default_height=200)
        window.present()
        self.addCleanup(window.destroy)
        position = 0
        while position < 2000:
            scrolled.get_vadjustment().set_value(position)
            position += 7
            GLib.MainContext.default().iteration(True)
        self.iterate_until(lambda: not any(picture.props.loading for picture in pictures if picture.get_mapped()))
        self.assertGreater(len(set(shown)), 20)
        self.assertEqual(wrong, [])

    def test_a_user_interface_file_binds_the_uri(self):
        builder = Gtk.Builder.new_from_string("""<interface>
            <object class="GtkEntry" id="entry"/>
            <object class="WebImagePicture" id="picture">
                <property name="uri" bind-source="entry" bind-property="text" bind-flags="sync-create"/>
                <property name="content-fit">cover</property>
                <property name="transition">fade</property>
                <property name="placeholder-color">#336699</property>
                <property name="headers">X-One: 1\nX-Two: 2</property>
            </object></interface>""", -1)
        picture, entry = builder.get_object("picture"), builder.get_object("entry")
        self.assertEqual(picture.props.headers, ["X-One: 1", "X-Two: 2"])
        self.assertFalse(picture.props.loading)
        entry.set_text(f"{self.address}/34.png")
        self.assertTrue(picture.props.loading)
        self.iterate_until(lambda: picture.props.image_width == 34)
        self.assertEqual(next(h["X-Two"] for path, h in Server.requests if path == "/34.png"), "2")

    def test_a_text_describes_processors(self):
        processor = WebImage.Processor.new_from_string("fill:30x20,grayscale")
        self.assertTrue(processor.to_string().startswith("resize("), processor.to_string())
        with self.assertRaises(GLib.Error) as context:
            WebImage.Processor.new_from_string("fill:30")
        self.assertTrue(context.exception.matches(WebImage.error_quark(), WebImage.Error.PROCESSING))
        self.assertIn("such as 300x200", context.exception.message)

    def test_a_user_interface_file_has_processors_as_a_text(self):
        builder = Gtk.Builder.new_from_string(f"""<interface>
            <object class="WebImagePicture" id="picture">
                <property name="uri">{self.address}/40.png</property>
                <property name="processing">fill:9x7, grayscale</property>
            </object></interface>""", -1)
        picture, notified = builder.get_object("picture"), []
        window = Gtk.Window(child=picture)
        window.present()
        self.addCleanup(window.destroy)
        self.iterate_until(lambda: picture.props.image_width == 9)
        self.assertEqual(picture.props.image_height, 7)
        picture.connect("notify", lambda _, spec: notified.append(spec.name))
        picture.props.processing = "fill:9x7, grayscale"
        self.assertEqual(notified, [])
        picture.props.processor = WebImage.Processor.new_fill(8, 6)
        self.assertIsNone(picture.props.processing)
        self.assertEqual(sorted(set(notified) & {"processor", "processing"}), ["processing", "processor"])
        self.iterate_until(lambda: picture.props.image_width == 8)

    def test_all_properties_can_be_read_and_written(self):
        for object in (WebImage.Picture(), WebImage.Paintable(), WebImage.Request(), WebImage.Session()):
            for spec in object.list_properties():
                if not spec.owner_type.name.startswith("WebImage") or spec.name == "session":
                    continue
                value = object.get_property(spec.name)
                if spec.flags & GObject.ParamFlags.WRITABLE and not spec.flags & GObject.ParamFlags.CONSTRUCT_ONLY:
                    object.set_property(spec.name, value)
                    self.assertEqual(object.get_property(spec.name), value)

    def test_asynchronous_functions_can_be_cancelled(self):
        results, cancellable = [], Gio.Cancellable()
        session = WebImage.Session.get_default()
        session.load_async(
            WebImage.Request(uri=f"{self.address}/35.png"), cancellable, lambda *arguments: results.append(arguments[1]))
        cancellable.cancel()
        self.iterate_until(lambda: results)
        with self.assertRaises(GLib.Error) as context:
            session.load_finish(results[0])
        self.assertTrue(context.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))

    def test_the_page_of_an_error_is_no_file(self):
        results, session = [], WebImage.Session.get_default()
        session.load_bytes_async(
            WebImage.Request(uri=f"{self.address}/private/41.png"), None, lambda *arguments: results.append(arguments[1]))
        self.iterate_until(lambda: results)
        with self.assertRaises(GLib.Error) as context:
            session.load_bytes_finish(results[0])
        self.assertTrue(context.exception.matches(WebImage.error_quark(), WebImage.Error.HTTP_STATUS))

    def test_a_file_has_an_address(self):
        results, session = [], WebImage.Session.get_default()
        request = WebImage.Request(uri="data:image/gif;base64,R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=")
        session.load_file_async(request, "png", None, lambda *arguments: results.append(arguments[1]))
        self.iterate_until(lambda: results)
        file = session.load_file_finish(results[0])
        self.assertTrue(file.get_uri().startswith("file:///") and file.get_uri().endswith(".png"))
        self.assertEqual(file.load_contents(None)[1][:4], b"\x89PNG")

    def test_a_program_may_fork_before_it_uses_the_library(self):
        program = """import gi, os, sys
gi.require_version("WebImage", "1.0")
from gi.repository import WebImage
child = os.fork()
texture = WebImage.Session.get_default().load(WebImage.Request(uri=sys.argv[1]), None)
status = 0 if texture.get_width() == 1 else 1
sys.exit(os.waitpid(child, 0)[1] or status if child else status)"""
        uri = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs="
        self.assertEqual(subprocess.run([sys.executable, "-c", program, uri], timeout=60).returncode, 0)

    def test_setting_and_unsetting_leaks_nothing(self):
        picture = self.picture()
        uris = [f"{self.address}/{width}.png" for width in (36, 37)]
        for index in range(COUNT):
            picture.props.uri = uris[index % 2]
            self.assertTrue(picture.props.loading or picture.props.image_width)
            GLib.MainContext.default().iteration(False)
            picture.props.uri = None
            self.assertEqual(picture.props.image_width, 0)
            if index == COUNT // 4:
                before = self.resident()
        self.assertLess(self.resident() - before, 8 << 20)

    def test_objects_are_released(self):
        references = []
        for index in range(COUNT // 20):
            for object in (WebImage.Picture(uri=f"{self.address}/38.png"), WebImage.Paintable(uri=f"{self.address}/38.png")):
                self.assertTrue(object.props.loading or object.props.image_width)
                references.append(weakref.ref(object))
            del object
            GLib.MainContext.default().iteration(False)
        gc.collect()
        self.assertEqual([reference for reference in references if reference()], [])

    def test_cycles_may_be_collected_on_another_thread(self):
        released = []
        gc.disable()
        self.addCleanup(gc.enable)
        for kind in (WebImage.Paintable, WebImage.Picture):
            image = kind(uri=f"{self.address}/39.png", placeholder=Gdk.Paintable.new_empty(4, 3))
            image.connect("loaded", lambda image, cycle: None, [image])
            self.assertTrue(image.props.loading)
            image.weak_ref(released.append, kind)
            cycle = [image]
            cycle.append(cycle)
            del image, cycle
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
        self.iterate_until(lambda: len(released) == 2)

    @staticmethod
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    if not Gtk.init_check():
        raise SystemExit("these tests need a display")
    unittest.main(verbosity=2)

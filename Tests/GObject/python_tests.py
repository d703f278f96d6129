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

from support import LoopTestCase

COUNT = int(os.environ.get("COUNT", "2000"))


class Server(BaseHTTPRequestHandler):
    """Serves /WIDTH.png, an image of that width; /private/… only with a password; /flaky/… the second time; /moved/… elsewhere."""

    protocol_version = "HTTP/1.1"
    requests = []

    def do_GET(self):
        self.requests.append((self.path, dict(self.headers)))
        seen = sum(path == self.path for path, _ in self.requests)
        if self.path.startswith("/private/") and self.headers.get("Authorization") != "Bearer secret":
            return self.answer(401, b"")
        if self.path.startswith("/flaky/") and seen == 1:
            return self.answer(503, b"")
        if self.path.startswith("/moved/"):
            return self.answer(302, b"", Location="/" + self.path.split("/")[-1])
        body = io.BytesIO()
        width = int(self.path.split("/")[-1].split(".")[0])
        Image.new("RGB", (width, 40), (seen * 40 % 256, 90, 160)).save(body, "PNG")
        self.answer(200, body.getvalue(), **{"Content-Type": "image/png"})

    def answer(self, status, body, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A connection that breaks is that of a load which was cancelled."""


class Tests(LoopTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = QuietServer(("127.0.0.1", 0), Server)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.address = f"http://127.0.0.1:{cls.server.server_address[1]}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

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

    def requested(self, prefix):
        return {path for path, _ in Server.requests if path.startswith(prefix)}

    def test_pictures_of_a_box_load_near_the_visible_area(self):
        def column(prefix, **properties):
            box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
            for width in range(200):
                box.append(WebImage.Picture(
                    uri=f"{self.address}/{prefix}/{width + 1}.png", width_request=40, height_request=40, **properties))
            scrolled = Gtk.ScrolledWindow(child=box)
            window = Gtk.Window(child=scrolled, default_width=200, default_height=200)
            window.present()
            self.addCleanup(window.destroy)
            return scrolled, [box.get_first_child(), box.get_last_child()]

        scrolled, (first, last) = column("lazy")
        self.assertTrue(first.get_lazy())
        self.iterate_until(lambda: first.props.image_width == 1)
        self.wait(300)
        # The visible page of 5, and the page below it.
        self.assertLess(len(self.requested("/lazy/")), 15)
        self.assertFalse(last.get_loading())
        adjustment = scrolled.get_vadjustment()
        adjustment.set_value(adjustment.get_upper())
        self.iterate_until(lambda: last.props.image_width == 200)
        self.wait(300)
        self.assertLess(len(self.requested("/lazy/")), 30)
        print(f"of 200 pictures, {len(self.requested('/lazy/'))} were requested at both ends", file=sys.stderr)
        _, (first, last) = column("eager", lazy=False)
        self.iterate_until(lambda: last.props.image_width == 200)
        self.iterate_until(lambda: len(self.requested("/eager/")) == 200)

    def wait(self, milliseconds):
        """Runs the main loop for a time in which nothing must happen."""
        ended = []
        GLib.timeout_add(milliseconds, lambda: ended.append(True))
        self.iterate_until(lambda: ended)

    def test_a_hidden_page_loads_once_it_is_shown(self):
        stack = Gtk.Stack()
        pages = [WebImage.Picture(uri=f"{self.address}/page/{width}.png") for width in (50, 51)]
        for page in pages:
            stack.add_child(page)
        window = Gtk.Window(child=stack)
        window.present()
        self.addCleanup(window.destroy)
        self.iterate_until(lambda: pages[0].props.image_width == 50)
        self.wait(100)
        self.assertEqual(self.requested("/page/"), {"/page/50.png"})
        stack.set_visible_child(pages[1])
        self.iterate_until(lambda: pages[1].props.image_width == 51)

    def test_a_picture_tells_what_its_server_has_answered(self):
        picture = self.picture()
        self.assertEqual((picture.get_http_status(), picture.get_origin()), (0, WebImage.Origin.NONE))
        told = []
        picture.connect("loaded", lambda picture: told.append((
            picture.props.http_status, picture.props.final_uri, picture.props.content_type, picture.props.origin)))
        picture.set_uri(f"{self.address}/moved/52.png")
        self.iterate_until(lambda: told)
        self.assertEqual(told, [(200, f"{self.address}/52.png", "image/png", WebImage.Origin.SOURCE)])
        paintable = WebImage.Paintable(uri=f"{self.address}/moved/52.png")
        self.iterate_until(lambda: not paintable.get_loading())
        self.assertEqual((paintable.get_origin(), paintable.get_http_status()), (WebImage.Origin.MEMORY, 200))
        self.assertEqual(paintable.dup_final_uri(), f"{self.address}/52.png")
        picture.set_uri(f"{self.address}/private/53.png")
        self.iterate_until(lambda: picture.dup_error() is not None)
        self.assertEqual((picture.get_http_status(), picture.dup_content_type()), (401, None))
        self.assertEqual(len(told), 1)

    def test_a_paintable_decodes_for_the_scale_factor(self):
        paintable = WebImage.Paintable(uri=f"{self.address}/200.png", width=50, scale_factor=2)
        self.iterate_until(lambda: paintable.props.image_width == 100)
        self.assertEqual(paintable.get_intrinsic_width(), 50)
        paintable.set_scale_factor(1)
        self.iterate_until(lambda: paintable.props.image_width == 50)
        self.assertEqual(paintable.get_intrinsic_width(), 50)
        # The monitor of the test has one pixel per point.
        paintable.set_scale_factor(0)
        self.assertEqual((paintable.get_scale_factor(), paintable.props.image_width), (0, 50))

    def test_a_message_advises_what_this_library_has(self):
        picture = self.picture(uri=f"{self.address}/private/54.png")
        self.iterate_until(lambda: picture.dup_error() is not None)
        self.assertIn("Authorization", picture.dup_error().message)
        self.assertIn("headers", picture.dup_error().message)
        self.assertNotIn("credential for", picture.dup_error().message)

    def test_a_session_has_its_own_proxy_and_connections(self):
        directory = os.path.join(os.environ["XDG_CACHE_HOME"], "proxied")
        session = WebImage.Session.new_full(directory, 5 << 20, 0, "feed/2", None, WebImage.Policy.APP)
        session.set_proxy(self.address)
        session.set_max_connections_per_host(1)
        self.assertEqual((session.get_disk_limit(), session.get_user_agent()), (5 << 20, "feed/2"))
        picture = self.picture(uri="http://host.invalid/55.png", session=session)
        self.iterate_until(lambda: picture.props.image_width == 55)
        self.assertIn("http://host.invalid/55.png", [path for path, _ in Server.requests])
        wrong = WebImage.Session(proxy="ftp://host.invalid", cache_directory=directory)
        picture = self.picture(uri=f"{self.address}/56.png", session=wrong)
        self.iterate_until(lambda: picture.dup_error() is not None)
        self.assertEqual(self.requested("/56.png"), set())

    def test_low_data_mode_loads_the_smaller_image(self):
        session = WebImage.Session(cache_directory=os.path.join(os.environ["XDG_CACHE_HOME"], "low"))
        session.set_low_data_mode(WebImage.LowDataMode.ON)
        picture = self.picture(
            uri=f"{self.address}/58.png", low_data_uri=f"{self.address}/57.png", session=session)
        self.iterate_until(lambda: picture.props.image_width == 57)
        self.assertEqual(picture.dup_final_uri(), f"{self.address}/57.png")
        session.set_low_data_mode(WebImage.LowDataMode.OFF)
        picture = self.picture(
            uri=f"{self.address}/59.png", low_data_uri=f"{self.address}/57.png", session=session)
        self.iterate_until(lambda: picture.props.image_width == 59)

    def test_messages_are_in_the_language_of_the_user(self):
        program = """import gi, locale, sys
gi.require_version("Gdk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import GLib, WebImage
locale.setlocale(locale.LC_ALL, "")
try:
    WebImage.Session(cache_directory=sys.argv[2]).load(WebImage.Request(uri=sys.argv[1]), None)
except GLib.Error as error:
    print(error.message)"""
        folder = os.path.join(os.environ["XDG_CACHE_HOME"], "locales")
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"], check=True, timeout=60)
        arguments = [sys.executable, "-c", program, f"{self.address}/private/60.png", f"{folder}/images"]
        messages = {}
        for language in ("de", "en"):
            environment = {**os.environ, "LOCPATH": folder, "LC_ALL": "de_DE.UTF-8", "LANGUAGE": language}
            messages[language] = subprocess.check_output(arguments, env=environment, text=True, timeout=60)
        self.assertIn("Der Server hat mit dem Status 401 geantwortet (Anmeldung erforderlich).", messages["de"])
        self.assertIn("the server responded with status 401 (credentials are required).", messages["en"])
        self.assertTrue(all(message.startswith(f"{self.address}/private/60.png: ") for message in messages.values()))

    def test_each_script_has_a_cache_of_its_own(self):
        program = """import gi
gi.require_version("Gdk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import WebImage
print(WebImage.Session().get_cache_directory())"""
        directories = []
        for folder in ("one", "two"):
            path = os.path.join(os.environ["XDG_CACHE_HOME"], folder, "show.py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(program)
            directories.append(subprocess.check_output([sys.executable, path], text=True, timeout=60).strip())
        self.assertEqual(len(set(directories)), 2)
        for directory in directories:
            self.assertRegex(directory, "/show.py-[0-9a-f]{8}/images$")

    def test_a_user_interface_file_binds_the_uri(self):
        builder = Gtk.Builder.new_from_string("""<interface>
            <object class="GtkEntry" id="entry"/>
            <object class="WebImagePicture" id="picture">
                <property name="uri" bind-source="entry" bind-property="text" bind-flags="sync-create"/>
                <property name="content-fit">cover</property>
                <property name="transition">fade</property>
                <property name="placeholder-color">#336699</property>
                <property name="lazy">false</property>
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
        focused = WebImage.Processor.new_from_string("fill:30x20:-0.4:0.6")
        self.assertIn("-0.4", focused.to_string())
        self.assertEqual(
            WebImage.Processor.new_from_string("fill:30x20:0:0").to_string(),
            WebImage.Processor.new_from_string("fill:30x20").to_string())
        for text in ("fill:30x20:1", "fill:30x20:1:2", "fill:30x20:a:0"):
            with self.assertRaises(GLib.Error):
                WebImage.Processor.new_from_string(text)
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
        for object in (
            WebImage.Picture(), WebImage.Paintable(), WebImage.Avatar(), WebImage.ZoomView(), WebImage.Request(),
            WebImage.Session()):
            for spec in object.list_properties():
                if not spec.owner_type.name.startswith("WebImage") or spec.name == "session":
                    continue
                value = object.get_property(spec.name)
                if spec.flags & GObject.ParamFlags.WRITABLE and not spec.flags & GObject.ParamFlags.CONSTRUCT_ONLY:
                    object.set_property(spec.name, value)
                    self.assertEqual(object.get_property(spec.name), value)

    def test_each_property_has_functions(self):
        values = {
            "file": Gio.File.new_for_uri("resource:///nothing.png"), "bytes": GLib.Bytes.new(b"none"),
            "stream": Gio.MemoryInputStream(), "identifier": "name", "focus-x": 0.5, "focus-y": -0.25,
            "content-fit": Gtk.ContentFit.COVER, "draggable": True, "placeholder": Gdk.Paintable.new_empty(1, 1),
            "error-paintable": Gdk.Paintable.new_empty(2, 2)}
        content = lambda value: value.get_data() if isinstance(value, GLib.Bytes) else value
        for object in (WebImage.Picture(), WebImage.Paintable(), WebImage.ZoomView(), WebImage.Request()):
            for name, value in values.items():
                if object.find_property(name) is None:
                    continue
                getattr(object, "set_" + name.replace("-", "_"))(value)
                result = getattr(object, "get_" + name.replace("-", "_"))()
                self.assertEqual(content(result), content(value))
                self.assertEqual(content(object.get_property(name)), content(value))
        image = WebImage.Paintable(uri=f"{self.address}/54.png")
        self.assertIsNone(image.dup_paintable())
        self.iterate_until(lambda: not image.get_loading())
        self.assertEqual(image.dup_paintable(), image)
        picture = self.picture(uri=f"{self.address}/54.png")
        self.iterate_until(lambda: not picture.get_loading())
        self.assertEqual(picture.dup_paintable().get_width(), 54)

    def test_an_avatar_of_libadwaita_has_initials_until_there_is_a_picture(self):
        gi.require_version("Adw", "1")
        from gi.repository import Adw
        avatar = Adw.Avatar(text="Ada Lovelace", size=48, show_initials=True)
        image = WebImage.Paintable(content_fit=Gtk.ContentFit.COVER)
        image.bind_property("paintable", avatar, "custom-image", GObject.BindingFlags.SYNC_CREATE)
        for uri, is_shown in ((None, False), (f"{self.address}/private/44.png", False), (f"{self.address}/44.png", True),
                              (None, False)):
            image.props.uri = uri
            self.iterate_until(lambda: not image.props.loading)
            self.assertEqual(avatar.props.custom_image, image if is_shown else None)

    def test_a_paintable_draws_others_while_it_has_no_image(self):
        paintable = WebImage.Paintable(
            placeholder=Gdk.Paintable.new_empty(5, 5), error_paintable=Gdk.Paintable.new_empty(7, 7))
        self.assertEqual(paintable.get_intrinsic_width(), 5)
        paintable.props.uri = f"{self.address}/private/47.png"
        self.assertTrue(paintable.props.loading)
        self.assertEqual(paintable.get_intrinsic_width(), 5)
        self.iterate_until(lambda: not paintable.props.loading)
        self.assertEqual(paintable.get_intrinsic_width(), 7)
        paintable.props.uri = f"{self.address}/47.png"
        self.iterate_until(lambda: not paintable.props.loading)
        self.assertEqual(paintable.get_intrinsic_width(), 47)
        paintable.props.content_fit = Gtk.ContentFit.COVER
        self.assertEqual(paintable.get_intrinsic_width(), 0)

    def test_an_avatar_shows_initials_without_a_picture(self):
        avatar = WebImage.Avatar(text="Ada Lovelace", size=40)
        window = Gtk.Window(child=avatar)
        window.present()
        self.addCleanup(window.destroy)
        self.assertIsNotNone(avatar.props.picture.props.placeholder)
        avatar.props.uri = f"{self.address}/45.png"
        self.iterate_until(lambda: avatar.props.picture.props.image_width)
        self.assertEqual(avatar.measure(Gtk.Orientation.HORIZONTAL, -1)[:2], (40, 40))

    def test_what_a_picture_shows_is_copied_and_saved(self):
        picture, notified, results = self.picture(), [], []
        picture.connect("notify::paintable", lambda *_: notified.append(picture.props.paintable))
        self.assertIsNone(picture.props.paintable)
        self.assertFalse(picture.copy_image())
        picture.props.uri = f"{self.address}/46.png"
        self.iterate_until(lambda: notified)
        self.assertIsInstance(notified[-1], Gdk.Texture)
        self.assertTrue(picture.copy_image())
        self.assertTrue(picture.get_clipboard().get_formats().contain_gtype(Gdk.Texture))
        file = Gio.File.new_tmp(None)[0]
        picture.save_image_async(file, None, lambda _, result: results.append(picture.save_image_finish(result)))
        self.iterate_until(lambda: results)
        self.assertEqual(Gdk.Texture.new_from_file(file).get_width(), 46)
        file.delete(None)
        picture.props.draggable = True
        self.assertFalse(picture.props.loading)

    def test_a_focal_point_is_kept_by_crops(self):
        request = WebImage.Request(content_fit=Gtk.ContentFit.COVER, focus_x=-0.5, focus_y=0.25)
        request.set_focus(-3, 0.25)
        self.assertEqual((request.props.focus_x, request.props.focus_y), (-1, 0.25))
        picture = WebImage.Picture(focus_x=0.5)
        self.assertEqual((picture.props.focus_x, picture.props.focus_y), (0.5, 0))

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
            for object in (WebImage.Picture(uri=f"{self.address}/38.png", lazy=False), WebImage.Paintable(uri=f"{self.address}/38.png")):
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
            if kind is WebImage.Picture:
                image.props.lazy = False
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

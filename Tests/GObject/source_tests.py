"""Tests in Python of what is loaded besides addresses of servers: files, bytes, streams, and what a program answers itself."""

import io
import os
import threading
import unittest

import gi

gi.require_version("Gtk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import Gio, GLib, GObject, Gtk, WebImage
from PIL import Image

from support import LoopTestCase

RESOURCE = "resource:///org/gtk/libgtk/icons/16x16/status/image-missing.png"


def encoded(width, file_format="PNG"):
    body = io.BytesIO()
    Image.new("RGB", (width, 40), (20, 90, 160)).save(body, file_format)
    return GLib.Bytes.new(body.getvalue())


class Tests(LoopTestCase):
    def setUp(self):
        directory = os.path.join(os.environ["XDG_CACHE_HOME"], "sources", self.id())
        self.session = WebImage.Session(cache_directory=directory)
        self.loads = []

    def begin(self, request, cancellable=None):
        results = []
        self.session.load_async(request, cancellable, lambda _, result: results.append(result))
        return results

    def load(self, request):
        results = self.begin(request)
        self.iterate_until(lambda: results)
        return self.session.load_finish(results[0])

    def failure(self, request):
        with self.assertRaises(GLib.Error) as context:
            self.load(request)
        return context.exception

    def assertFails(self, error, code):
        self.assertTrue(error.matches(WebImage.error_quark(), code), error)

    def answer_with(self, width, cacheable=True):
        """Answers loads of mxc: with an image, within the call."""
        def handle(_, load):
            self.loads.append(load.get_uri())
            load.set_cacheable(cacheable)
            load.return_bytes(encoded(width), "image/png")
            return True

        self.session.connect("load-requested::mxc", handle)

    # Files, bytes and streams

    def test_a_resource_is_loaded(self):
        self.assertEqual(self.load(WebImage.Request(uri=RESOURCE)).get_width(), 16)
        server = WebImage.Session(policy=WebImage.Policy.SERVER, cache_directory=os.environ["XDG_CACHE_HOME"] + "/server")
        self.session = server
        self.assertFails(self.failure(WebImage.Request(uri=RESOURCE)), WebImage.Error.UNSUPPORTED_SCHEME)

    def test_an_address_reads_nothing_that_only_gio_reaches(self):
        for uri in ("sftp://localhost/a.png", "recent:///a.png", "admin:///etc/passwd"):
            self.assertFails(self.failure(WebImage.Request(uri=uri)), WebImage.Error.UNSUPPORTED_SCHEME)

    def test_a_file_is_loaded_by_gio(self):
        request = WebImage.Request.new_for_file(Gio.File.new_for_uri(RESOURCE))
        self.assertEqual(self.load(request).get_width(), 16)
        missing = Gio.File.new_for_uri("resource:///missing.png")
        self.assertFails(self.failure(WebImage.Request(file=missing)), WebImage.Error.FILE)
        # With a size, as for addresses.
        request = WebImage.Request(file=Gio.File.new_for_uri(RESOURCE), width=8)
        self.assertEqual(self.load(request).get_width(), 8)

    def test_bytes_are_cached_by_their_content_or_their_name(self):
        request = WebImage.Request.new_for_bytes(encoded(21), None)
        self.assertEqual(self.load(request).get_width(), 21)
        self.assertIsNotNone(self.session.get_cached(WebImage.Request(bytes=encoded(21))))
        self.assertIsNone(self.session.get_cached(WebImage.Request(bytes=encoded(22))))
        named = WebImage.Request.new_for_bytes(encoded(23), "cover")
        self.assertEqual(self.load(named).get_width(), 23)
        self.assertEqual(self.load(WebImage.Request(bytes=encoded(24), identifier="cover")).get_width(), 23)
        self.assertFails(self.failure(WebImage.Request(bytes=GLib.Bytes.new(b"no image"))), WebImage.Error.UNRECOGNIZED_FORMAT)

    def test_a_stream_is_read_once_for_all_loads(self):
        stream = Gio.MemoryInputStream.new_from_bytes(encoded(25))
        request = WebImage.Request.new_for_stream(stream, None)
        first, second = self.begin(request), self.begin(request)
        self.iterate_until(lambda: first and second)
        self.assertEqual({self.session.load_finish(results[0]).get_width() for results in (first, second)}, {25})
        # Another size needs the bytes again.
        request.set_width(5)
        self.assertEqual(self.load(request).get_width(), 5)

    def test_a_load_continues_a_stream_where_a_cancelled_one_stopped(self):
        body = encoded(26).get_data()
        reader, writer = os.pipe()
        request = WebImage.Request.new_for_stream(Gio.UnixInputStream.new(reader, True), None)
        cancellable = Gio.Cancellable()
        os.write(writer, body[:50])
        results = self.begin(request, cancellable)
        cancellable.cancel()
        self.iterate_until(lambda: results)
        with self.assertRaises(GLib.Error) as context:
            self.session.load_finish(results[0])
        self.assertTrue(context.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))
        os.write(writer, body[50:])
        os.close(writer)
        self.assertEqual(self.load(request).get_width(), 26)

    def test_a_source_replaces_another_one(self):
        paintable, notified = WebImage.Paintable(uri="data:,"), []
        paintable.connect("notify", lambda _, spec: notified.append(spec.name))
        paintable.props.bytes = encoded(27)
        self.assertIsNone(paintable.props.uri)
        self.assertLessEqual({"uri", "bytes"}, set(notified))
        self.iterate_until(lambda: paintable.props.image_width == 27)
        file, stream = Gio.File.new_for_uri(RESOURCE), Gio.MemoryInputStream.new_from_bytes(encoded(28))
        paintable.props.file = file
        self.assertEqual((paintable.props.image_width, paintable.props.bytes), (0, None))
        self.iterate_until(lambda: paintable.props.image_width == 16)
        paintable.props.stream = stream
        self.iterate_until(lambda: paintable.props.image_width == 28)
        paintable.props.uri = RESOURCE
        self.assertEqual((paintable.props.stream, paintable.props.file), (None, None))
        self.iterate_until(lambda: paintable.props.image_width == 16)

    # Loads that the program answers

    def test_a_handler_answers_the_loads_of_its_scheme(self):
        self.answer_with(30)
        picture = WebImage.Paintable(uri="mxc://example.org/a", session=self.session)
        self.iterate_until(lambda: picture.props.image_width == 30)
        self.assertEqual(self.load(WebImage.Request(uri="mxc://example.org/a")).get_width(), 30)
        self.assertEqual(self.loads, ["mxc://example.org/a"])
        self.assertFails(self.failure(WebImage.Request(uri="matrix:r/a")), WebImage.Error.UNSUPPORTED_SCHEME)

    def test_bytes_are_stored_on_disk_unless_the_handler_forbids_it(self):
        for cacheable, count in ((True, 1), (False, 2)):
            self.setUp()
            self.answer_with(31, cacheable)
            request, results = WebImage.Request(uri=f"mxc://example.org/{cacheable}"), []
            self.load(request)
            # What is stored is looked for as what a program does next.
            self.session.load_bytes_async(request, None, lambda _, result: results.append(result))
            self.iterate_until(lambda: results)
            self.session.clear_async(True, False, None, lambda _, result: results.append(result))
            self.iterate_until(lambda: len(results) == 2)
            self.load(request)
            self.assertEqual(len(self.loads) > 1, count > 1, self.loads)

    def test_an_answer_may_come_later_and_from_another_thread(self):
        def handle(_, load):
            self.assertIs(threading.current_thread(), threading.main_thread())
            threading.Thread(target=lambda: load.return_bytes(encoded(32), None)).start()
            return True

        self.session.connect("load-requested", handle)
        self.assertEqual(self.load(WebImage.Request(uri="mxc://example.org/c")).get_width(), 32)

    def test_an_error_is_that_of_the_load(self):
        def handle(_, load):
            load.return_error(GLib.Error.new_literal(Gio.io_error_quark(), "no key", Gio.IOErrorEnum.FAILED))
            return True

        self.session.connect("load-requested::mxc", handle)
        error = self.failure(WebImage.Request(uri="mxc://example.org/d"))
        self.assertFails(error, WebImage.Error.CUSTOM)
        self.assertIn("no key", error.message)

    def test_a_load_that_is_released_without_an_answer_fails(self):
        self.session.connect("load-requested::mxc", lambda _, load: True)
        self.assertIn("without an answer", self.failure(WebImage.Request(uri="mxc://example.org/e")).message)

    def test_what_no_handler_answers_is_loaded_as_usual(self):
        seen = []
        self.session.connect("load-requested", lambda _, load: seen.append(load.get_uri()))
        self.assertEqual(self.load(WebImage.Request(uri=RESOURCE)).get_width(), 16)
        self.assertEqual(seen, [RESOURCE])
        self.assertFails(self.failure(WebImage.Request(uri="mxc://example.org/f")), WebImage.Error.UNSUPPORTED_SCHEME)

    def test_the_first_handler_that_answers_is_the_last(self):
        self.answer_with(33)
        self.session.connect("load-requested::mxc", lambda _, load: self.fail("it is answered"))
        self.assertEqual(self.load(WebImage.Request(uri="mxc://example.org/g")).get_width(), 33)

    def test_a_cancelled_load_cancels_the_work_of_its_handler(self):
        waiting, cancellable = [], Gio.Cancellable()

        def handle(_, load):
            GObject.Object.connect(
                load.get_cancellable(), "cancelled", lambda _: self.loads.append(threading.current_thread()))
            waiting.append(load)
            return True

        self.session.connect("load-requested::mxc", handle)
        results = self.begin(WebImage.Request(uri="mxc://example.org/h"), cancellable)
        self.iterate_until(lambda: waiting)
        cancellable.cancel()
        self.iterate_until(lambda: results and self.loads)
        self.assertEqual(self.loads, [threading.main_thread()])
        # Too late, and ignored.
        waiting[0].return_bytes(encoded(34), None)

    def test_an_answer_must_be_an_image(self):
        answers = {"empty": (b"", WebImage.Error.EMPTY_BODY), "text": (b"hello", WebImage.Error.UNRECOGNIZED_FORMAT)}

        def handle(_, load):
            load.return_bytes(GLib.Bytes.new(answers[load.get_uri().split("/")[-1]][0]), None)
            return True

        self.session.connect("load-requested::mxc", handle)
        for name, (_, code) in answers.items():
            self.assertFails(self.failure(WebImage.Request(uri=f"mxc://example.org/{name}")), code)

    def test_waiting_on_the_main_thread_does_not_wait_for_a_handler(self):
        self.answer_with(35)
        request = WebImage.Request(uri="mxc://example.org/i")
        with self.assertRaises(GLib.Error) as context:
            self.session.load(request, None)
        self.assertFails(context.exception, WebImage.Error.NOT_IN_CACHE)
        self.load(request)
        self.assertEqual(self.session.load(request, None).get_width(), 35)

    def test_a_handler_does_not_keep_its_session(self):
        released = []
        self.answer_with(36)
        self.load(WebImage.Request(uri="mxc://example.org/j"))
        self.session.weak_ref(released.append, True)
        self.session = None
        tick = GLib.timeout_add(10, lambda: True)
        self.iterate_until(lambda: released)
        GLib.source_remove(tick)

    # Icons

    def icon_stream(self, icon):
        results = []
        icon.load_async(16, None, lambda icon, result: results.append(icon.load_finish(result)))
        self.iterate_until(lambda: results)
        return results[0]

    def test_an_icon_has_the_original_bytes(self):
        bytes = encoded(41)
        stream, content_type = self.icon_stream(WebImage.Paintable(bytes=bytes))
        self.assertEqual(content_type, "image/png")
        self.assertEqual(stream.read_bytes(1 << 16, None).get_data(), bytes.get_data())

    def test_an_icon_of_another_size_or_format_is_a_png(self):
        for icon in (WebImage.Paintable(bytes=encoded(42), width=7), WebImage.Paintable(bytes=encoded(42, "WEBP"))):
            stream, content_type = self.icon_stream(icon)
            self.assertEqual(content_type, "image/png")
            with Image.open(io.BytesIO(stream.read_bytes(1 << 16, None).get_data())) as image:
                self.assertEqual(image.size[0], icon.props.width or 42)

    def test_an_icon_does_not_wait_for_a_server_on_the_main_thread(self):
        self.answer_with(43)
        icon = WebImage.Paintable(uri="mxc://example.org/k", session=self.session)
        with self.assertRaises(GLib.Error) as context:
            icon.load_sync(16, None) if hasattr(icon, "load_sync") else Gio.LoadableIcon.load(icon, 16, None)
        self.assertFails(context.exception, WebImage.Error.NOT_IN_CACHE)
        # A resource needs none.
        stream, _ = Gio.LoadableIcon.load(WebImage.Paintable(uri=RESOURCE), 16, None)
        self.assertEqual(stream.read_bytes(4, None).get_data(), b"\x89PNG")

    def test_icons_are_equal_if_they_show_the_same(self):
        def icon(**properties):
            return WebImage.Paintable(**{"uri": RESOURCE, **properties})

        self.assertTrue(icon().equal(icon()))
        others = (icon(width=4), icon(height=4), icon(processing="circle"), icon(headers=["A: b"]), icon(session=self.session))
        for other in (*others, icon(uri="data:,"), icon(bytes=encoded(44)), Gio.ThemedIcon.new("a")):
            self.assertFalse(icon().equal(other))
        self.assertTrue(icon(bytes=encoded(44)).equal(icon(bytes=encoded(44))))

    def test_an_icon_has_a_text(self):
        icon = WebImage.Paintable(uri="https://example.org/a b.png", width=32, processing="circle")
        copy = Gio.Icon.new_for_string(icon.to_string())
        self.assertTrue(icon.equal(copy))
        self.assertEqual((copy.props.uri, copy.props.width, copy.props.processing), (icon.props.uri, 32, "circle"))
        self.assertIsNone(WebImage.Paintable(uri="https://example.org/a.png", headers=["Authorization: secret"]).to_string())
        for text in (". WebImagePaintable a", ". WebImagePaintable.1 a", ". WebImagePaintable.1 a -1 0 %20", ". WebImagePaintable.1 a 1 0 nonsense"):
            with self.assertRaises(GLib.Error, msg=text):
                Gio.Icon.new_for_string(text)

    def test_an_icon_is_serialized_as_one_that_all_programs_know(self):
        icon = Gio.Icon.deserialize(WebImage.Paintable(uri=RESOURCE).serialize())
        self.assertEqual(icon.get_file().get_uri(), RESOURCE)
        self.assertTrue(isinstance(Gio.Icon.deserialize(WebImage.Paintable(bytes=encoded(45)).serialize()), Gio.BytesIcon))


if __name__ == "__main__":
    if not Gtk.init_check():
        raise SystemExit("these tests need a display")
    unittest.main(verbosity=2)

"""Tests in Python of the view that zooms."""

import os
import tempfile
import unittest
import weakref

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import Gdk, Gio, GLib, GObject, Gtk, WebImage
from PIL import Image

from support import LoopTestCase


class Marks(GObject.Object, Gdk.Paintable):
    """Remembers the size with which it is drawn."""

    sizes = []

    def do_snapshot(self, snapshot, width, height):
        self.sizes.append((round(width), round(height)))


class Tests(LoopTestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(dir=os.environ["XDG_CACHE_HOME"])
        for width, height in (600, 200), (400, 400):
            Image.new("RGB", (width, height), (20, 90, 160)).save(os.path.join(cls.folder.name, f"{width}.png"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        Gtk.Settings.get_default().props.gtk_enable_animations = False

    def file(self, width):
        return Gio.File.new_for_path(os.path.join(self.folder.name, f"{width}.png"))

    def view(self, width=600, **properties):
        """A view of 300 × 200 points that shows an image."""
        view = WebImage.ZoomView(file=self.file(width), **properties)
        window = Gtk.Window(child=view, default_width=300, default_height=200)
        window.present()
        self.addCleanup(window.destroy)
        self.iterate_until(lambda: view.props.image_width == width and view.get_width() == 300)
        return view

    def wait_for(self, view, name, value):
        self.iterate_until(lambda: view.get_property(name) == value)

    def test_the_whole_image_is_shown_first(self):
        view = self.view()
        self.wait_for(view, "zoom", 0.5)
        self.assertEqual((view.props.zoom_mode, view.props.quarter_turns), (WebImage.ZoomMode.FIT, 0))
        # The size of the file, although it is decoded at the size of the widget.
        self.assertEqual((view.get_image_width(), view.get_image_height()), (600, 200))
        self.assertTrue(view.has_css_class("loaded"))

    def test_observers_are_told_what_has_changed(self):
        view, told, moved = self.view(), [], []
        self.wait_for(view, "zoom", 0.5)
        view.connect("notify", lambda _, spec: told.append(spec.name))
        view.connect("moved", lambda _: moved.append(view.props.zoom))
        view.zoom_to(2)
        self.iterate_until(lambda: 2 in moved)
        self.assertIn("zoom", told)
        self.assertIn("zoom-mode", told)
        self.assertNotIn("quarter-turns", told)
        view.rotate(-1)
        self.iterate_until(lambda: "quarter-turns" in told)
        self.assertEqual(view.props.quarter_turns, 3)
        view.props.quarter_turns = 1
        self.assertEqual(view.get_quarter_turns(), 1)

    def test_methods_and_properties_zoom(self):
        view = self.view()
        view.fit()
        self.wait_for(view, "zoom", 0.5)
        view.zoom_in()
        self.wait_for(view, "zoom", 0.75)
        view.zoom_out()
        self.wait_for(view, "zoom", 0.5)
        view.fill()
        self.wait_for(view, "zoom", 1)
        self.assertEqual(view.props.zoom_mode, WebImage.ZoomMode.FILL)
        view.props.zoom_mode = WebImage.ZoomMode.FREE
        self.assertEqual((view.props.zoom, view.props.zoom_mode), (1, WebImage.ZoomMode.FREE))
        view.props.maximum_zoom = 3
        view.props.zoom = 50
        self.assertEqual(view.props.zoom, 3)
        view.props.minimum_zoom = 0.1
        view.props.zoom = 0.2
        self.assertAlmostEqual(view.props.zoom, 0.2)
        view.props.zoom_mode = WebImage.ZoomMode.FIT
        self.assertEqual(view.props.zoom, 0.5)

    def test_another_image_begins_with_the_initial_mode(self):
        view = self.view(initial_mode=WebImage.ZoomMode.FREE)
        self.wait_for(view, "zoom", 1)
        view.rotate(1)
        view.props.zoom = 4
        view.props.file = self.file(400)
        self.wait_for(view, "image-width", 400)
        self.wait_for(view, "zoom", 1)
        self.assertEqual(view.props.quarter_turns, 0)

    def test_two_views_show_the_same_part(self):
        view, other = self.view(), self.view(400)
        view.connect("moved", lambda _: other.show_part_of(view))
        view.zoom_to(1)
        self.wait_for(other, "zoom", 1)
        self.assertEqual(other.props.zoom_mode, WebImage.ZoomMode.FREE)

    def test_something_is_over_the_image(self):
        label, marks = Gtk.Label(label="A label"), Marks()
        view = self.view(overlay=label, overlay_paintable=marks)
        self.assertEqual(label.get_parent().get_parent(), view)
        self.assertEqual(view.get_overlay(), label)
        self.iterate_until(lambda: (300, 100) in Marks.sizes)
        view.rotate(1)
        # Before its rotation, in whole pixels of the screen.
        self.iterate_until(lambda: Marks.sizes[-1] in ((200, 66), (200, 67)))
        count = len(Marks.sizes)
        marks.invalidate_contents()
        self.iterate_until(lambda: len(Marks.sizes) > count)
        view.props.overlay, view.props.overlay_paintable = None, None
        self.assertIsNone(label.get_parent())

    def test_a_failure_is_told_and_drawn(self):
        failures, sign = [], Marks()
        view = self.view(error_paintable=sign)
        Marks.sizes.clear()
        view.connect("failed", lambda _, error: failures.append(error))
        view.props.uri = "file:///nonexistent/image.png"
        self.iterate_until(lambda: failures)
        self.assertTrue(view.has_css_class("failed"))
        self.iterate_until(lambda: Marks.sizes)
        self.assertEqual(view.props.image_width, 0)
        view.reload()
        self.assertTrue(view.props.loading and view.has_css_class("loading"))

    def test_keys_zoom_unless_the_program_has_its_own(self):
        view = self.view()
        self.assertTrue(view.grab_focus())
        self.assertEqual(view.get_root().get_focus(), view.get_first_child())
        self.assertTrue(view.props.handle_keys)
        view.props.handle_keys = False
        self.assertFalse(view.get_handle_keys())

    def test_the_paintable_is_a_texture(self):
        view = self.view()
        self.assertIsInstance(view.dup_paintable(), Gdk.Texture)
        view.props.file = None
        self.assertIsNone(view.dup_paintable())

    def test_views_are_released(self):
        references = []
        for _ in range(20):
            view = WebImage.ZoomView(file=self.file(600), overlay=Gtk.Label(), overlay_paintable=Marks())
            window = Gtk.Window(child=view)
            window.present()
            references.append(weakref.ref(view))
            GLib.MainContext.default().iteration(False)
            window.destroy()
            del view, window
        self.iterate_until(lambda: all(reference() is None for reference in references))


if __name__ == "__main__":
    if not Gtk.init_check():
        raise SystemExit("these tests need a display")
    unittest.main(verbosity=2)

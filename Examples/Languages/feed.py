"""A feed of photographs in Python: python3 feed.py http://127.0.0.1:8000"""

import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import Gdk, Gtk, WebImage


def set_up(factory, item):
    """Makes the widget of a cell, which shows one photograph after the other."""
    item.set_child(WebImage.Picture(
        width_request=180, height_request=135, content_fit=Gtk.ContentFit.COVER, corner_radius=8, decode_at_size=True,
        blur_hash="LEHV6nWB2yk8pyo0adR*.7kCMdnj", transition=WebImage.Transition.FADE, retry_on_click=True,
        error_paintable=icon))


def bind(factory, item):
    """Shows the photograph of an item. That of the item before never appears."""
    item.get_child().set_uri(item.get_item().get_string())


def activate(application):
    global icon
    theme = Gtk.IconTheme.get_for_display(Gdk.Display.get_default())
    icon = theme.lookup_icon("image-missing-symbolic", None, 48, 1, Gtk.TextDirection.NONE, 0)
    factory = Gtk.SignalListItemFactory()
    factory.connect("setup", set_up)
    factory.connect("bind", bind)
    model = Gtk.StringList.new([f"{sys.argv[1]}/{number:03}.jpg" for number in range(200)])
    grid = Gtk.GridView(model=Gtk.NoSelection(model=model), factory=factory, min_columns=4, max_columns=4)
    window = Gtk.ApplicationWindow(application=application, title="Photos", default_width=800, default_height=700)
    window.set_child(Gtk.ScrolledWindow(child=grid))
    window.present()


application = Gtk.Application(application_id="org.example.Feed")
application.connect("activate", activate)
application.run()

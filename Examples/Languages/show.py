"""Shows the window of a user interface file: python3 show.py photos.ui"""

import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import GLib, GObject, Gtk, WebImage

GObject.type_ensure(WebImage.Picture)
window = Gtk.Builder.new_from_file(sys.argv[1]).get_object("window")
window.present()
while Gtk.Window.get_toplevels().get_n_items():
    GLib.MainContext.default().iteration(True)

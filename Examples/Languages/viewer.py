"""A viewer of images in Python: python3 viewer.py FOLDER|FILE... Page Up and Page Down show others."""
import pathlib
import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("Gtk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import Gdk, Gio, GLib, Gtk, WebImage

paths = [path for name in map(pathlib.Path, sys.argv[1:]) for path in (sorted(name.iterdir()) if name.is_dir() else [name])]
WebImage.Session.set_default(WebImage.Session(max_megapixels=400))
view, keys, steps = WebImage.ZoomView(), Gtk.EventControllerKey(), {Gdk.KEY_Page_Up: -1, Gdk.KEY_Page_Down: 1}
window = Gtk.Window(child=view, default_width=800, default_height=500)

def turn(view, step):
    paths[:] = paths[step:] + paths[:step]
    view.set_file(Gio.File.new_for_path(str(paths[0])))
    return True

view.connect("moved", lambda view: window.set_title(f"{paths[0].name} – {view.props.zoom:.0%}"))
view.connect("failed", lambda view, error: window.set_title(error.message))
view.connect("turn-page", turn)
keys.connect("key-pressed", lambda keys, key, *_: key in steps and turn(view, steps[key]))
view.add_controller(keys)
turn(view, 0)
window.present()
while Gtk.Window.get_toplevels():
    GLib.MainContext.default().iteration(True)

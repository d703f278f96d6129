"""Makes thumbnails without a display: python3 thumbnail.py SIZE URI... writes 1.png, 2.png and so on."""

import sys

import gi

gi.require_version("Gdk", "4.0")
gi.require_version("WebImage", "1.0")
from gi.repository import GLib, WebImage

session = WebImage.Session(cache_directory=GLib.get_user_cache_dir() + "/thumbnails")
size, uris = int(sys.argv[1]), sys.argv[2:]
loop, waiting, status = GLib.MainLoop(), len(uris), 0


def finish(session, result, number):
    global waiting, status
    try:
        session.load_finish(result).save_to_png(f"{number}.png")
    except GLib.Error as error:
        print(f"{uris[number - 1]}: {error.message}", file=sys.stderr)
        status = 1
    waiting -= 1
    if waiting == 0:
        loop.quit()


for number, uri in enumerate(uris, start=1):
    session.load_async(WebImage.Request(uri=uri, width=size, height=size), None, finish, number)
if uris:
    loop.run()
sys.exit(status)

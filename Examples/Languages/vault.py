"""Makes a thumbnail of an encrypted image: python3 vault.py FILE KEY IV writes thumbnail.png.

KEY and IV are hexadecimal numbers for AES-256 in CTR mode, as Matrix encrypts media. Nothing that is decrypted is stored on disk.
"""

import sys

import gi

gi.require_version("WebImage", "1.0")
from gi.repository import Gio, GLib, WebImage

path, key, vector = sys.argv[1:]
loop, status = GLib.MainLoop(), 0


def decrypt(session, load):
    file = Gio.File.new_for_path(load.get_uri().removeprefix("vault://"))
    load.set_cacheable(False)
    file.load_bytes_async(load.get_cancellable(), finish_reading, load)
    return True


def finish_reading(file, result, load):
    try:
        data, _ = file.load_bytes_finish(result)
        flags = Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_PIPE
        openssl = Gio.Subprocess.new(["openssl", "enc", "-d", "-aes-256-ctr", "-K", key, "-iv", vector], flags)
        openssl.communicate_async(data, load.get_cancellable(), finish_decrypting, load)
    except GLib.Error as error:
        load.return_error(error)


def finish_decrypting(openssl, result, load):
    try:
        _, data, _ = openssl.communicate_finish(result)
        load.return_bytes(data, None)
    except GLib.Error as error:
        load.return_error(error)


def finish(session, result):
    global status
    try:
        session.load_finish(result).save_to_png("thumbnail.png")
    except GLib.Error as error:
        print(error.message, file=sys.stderr)
        status = 1
    loop.quit()


session = WebImage.Session.get_default()
session.connect("load-requested::vault", decrypt)
session.load_async(WebImage.Request(uri=f"vault://{path}", width=64), None, finish)
loop.run()
sys.exit(status)

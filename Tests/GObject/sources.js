// Tests in JavaScript that a program answers loads, and of bytes and files. The argument is an image of 300 by 200 pixels.
import Gio from "gi://Gio";
import GLib from "gi://GLib";
import System from "system";
import WebImage from "gi://WebImage?version=1.0";

Gio._promisify(WebImage.Session.prototype, "load_async", "load_finish");

const loop = new GLib.MainLoop(null, false);
const file = Gio.File.new_for_path(ARGV[0]);
const [bytes] = file.load_bytes(null);
let status = 1;

function check(name, value, expected) {
    if (value !== expected) throw new Error(`${name} is ${value}, not ${expected}`);
}

async function run() {
    const session = new WebImage.Session();
    session.connect("load-requested::mxc", (_, load) => {
        GLib.idle_add(GLib.PRIORITY_DEFAULT, () => {
            if (load.uri.endsWith("none")) load.return_error(new GLib.Error(Gio.IOErrorEnum, Gio.IOErrorEnum.FAILED, "no key"));
            else load.return_bytes(bytes, "image/png");
            return GLib.SOURCE_REMOVE;
        });
        return true;
    });
    const answered = await session.load_async(new WebImage.Request({uri: "mxc://example.org/js"}), null);
    check("the width of an answer", answered.get_width(), 300);
    const message = await session.load_async(new WebImage.Request({uri: "mxc://example.org/none"}), null).catch(error => error.message);
    check("the error", message.includes("no key"), true);
    check("the width of bytes", (await session.load_async(new WebImage.Request({bytes}), null)).get_width(), 300);
    check("the width of a file", (await session.load_async(WebImage.Request.new_for_file(file), null)).get_width(), 300);
    status = 0;
}

run().catch(error => printerr(error)).finally(() => loop.quit());
loop.run();
System.exit(status);

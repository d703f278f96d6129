// Tests in Vala that a program answers loads, and of bytes and files. The argument is an image of 300 by 200 pixels.

async void run(string path) throws Error {
    var file = File.new_for_path(path);
    var bytes = file.load_bytes(null, null);
    var session = new WebImage.Session();
    ulong handler = session.load_requested["mxc"].connect((load) => {
        Idle.add(() => {
            if (load.uri.has_suffix("none")) load.return_error(new IOError.FAILED("no key"));
            else load.return_bytes(bytes, "image/png");
            return Source.REMOVE;
        });
        return true;
    });
    var texture = yield session.load_async(new WebImage.Request("mxc://example.org/vala"), null);
    assert(texture.get_width() == 300);
    try {
        yield session.load_async(new WebImage.Request("mxc://example.org/none"), null);
        assert_not_reached();
    } catch (Error error) {
        assert("no key" in error.message);
    }
    session.disconnect(handler);
    texture = yield session.load_async(new WebImage.Request.for_bytes(bytes, null), null);
    assert(texture.get_width() == 300);
    texture = yield session.load_async(new WebImage.Request.for_file(file), null);
    assert(texture.get_width() == 300);
    LoadableIcon icon = new WebImage.Paintable("resource:///org/gtk/libgtk/icons/16x16/status/image-missing.png");
    string type;
    var stream = yield icon.load_async(16, null, out type);
    assert(type == "image/png" && stream.read_bytes(4, null).get_data()[1] == 'P');
}

int main(string[] arguments) {
    Gtk.init();
    var loop = new MainLoop();
    int status = 1;
    run.begin(arguments[1], (_, result) => {
        try {
            run.end(result);
            status = 0;
        } catch (Error error) {
            printerr("%s\n", error.message);
        }
        loop.quit();
    });
    loop.run();
    return status;
}

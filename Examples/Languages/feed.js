// A feed of photographs in JavaScript: gjs feed.js http://127.0.0.1:8000
imports.gi.versions.Gdk = '4.0';
imports.gi.versions.Gtk = '4.0';
imports.gi.versions.WebImage = '1.0';
const {Gdk, Gtk, WebImage} = imports.gi;

const application = new Gtk.Application({application_id: 'org.example.Feed'});

application.connect('activate', () => {
    const theme = Gtk.IconTheme.get_for_display(Gdk.Display.get_default());
    const icon = theme.lookup_icon('image-missing-symbolic', null, 48, 1, Gtk.TextDirection.NONE, 0);

    const factory = new Gtk.SignalListItemFactory();
    // Makes the widget of a cell, which shows one photograph after the other.
    factory.connect('setup', (_, item) => item.set_child(new WebImage.Picture({
        width_request: 180,
        height_request: 135,
        content_fit: Gtk.ContentFit.COVER,
        corner_radius: 8,
        decode_at_size: true,
        blur_hash: 'LEHV6nWB2yk8pyo0adR*.7kCMdnj',
        transition: WebImage.Transition.FADE,
        retry_on_click: true,
        error_paintable: icon,
    })));
    // Shows the photograph of an item. That of the item before never appears.
    factory.connect('bind', (_, item) => item.get_child().set_uri(item.get_item().get_string()));

    const uris = Array.from({length: 200}, (_, number) => `${ARGV[0]}/${String(number).padStart(3, '0')}.jpg`);
    const model = new Gtk.NoSelection({model: Gtk.StringList.new(uris)});
    const grid = new Gtk.GridView({model, factory, min_columns: 4, max_columns: 4});
    const window = new Gtk.ApplicationWindow({application, title: 'Photos', default_width: 800, default_height: 700});
    window.set_child(new Gtk.ScrolledWindow({child: grid}));
    window.present();
});

application.run([]);

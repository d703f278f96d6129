// A feed of photographs in Vala:
//   valac --pkg gtk4 --pkg webimage-gtk-1 feed.vala && ./feed http://127.0.0.1:8000
class Feed : Gtk.Application {
    private string address;

    public Feed (string address) {
        Object (application_id: "org.example.Feed");
        this.address = address;
    }

    protected override void activate () {
        var theme = Gtk.IconTheme.get_for_display (Gdk.Display.get_default ());
        var icon = theme.lookup_icon ("image-missing-symbolic", null, 48, 1, Gtk.TextDirection.NONE, 0);

        var factory = new Gtk.SignalListItemFactory ();
        // Makes the widget of a cell, which shows one photograph after the other.
        factory.setup.connect ((object) => {
            ((Gtk.ListItem) object).child = new WebImage.Picture () {
                width_request = 180,
                height_request = 135,
                content_fit = Gtk.ContentFit.COVER,
                corner_radius = 8,
                decode_at_size = true,
                blur_hash = "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
                transition = WebImage.Transition.FADE,
                retry_on_click = true,
                error_paintable = icon
            };
        });
        // Shows the photograph of an item. That of the item before never appears.
        factory.bind.connect ((object) => {
            var item = (Gtk.ListItem) object;
            ((WebImage.Picture) item.child).set_uri (((Gtk.StringObject) item.item).string);
        });

        var model = new Gtk.StringList (null);
        for (var number = 0; number < 200; number++) model.append ("%s/%03d.jpg".printf (address, number));
        var grid = new Gtk.GridView (new Gtk.NoSelection (model), factory) { min_columns = 4, max_columns = 4 };
        var window = new Gtk.ApplicationWindow (this) { title = "Photos", default_width = 800, default_height = 700 };
        window.child = new Gtk.ScrolledWindow () { child = grid };
        window.present ();
    }

    public static int main (string[] arguments) {
        return new Feed (arguments[1]).run ();
    }
}

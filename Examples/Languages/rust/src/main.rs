//! A feed of photographs in Rust: cargo run http://127.0.0.1:8000
use gtk::{gdk, prelude::*};
use webimage::{ContentFit, Picture, Transition};

/// Makes the widget of a cell, which shows one photograph after the other.
fn make_cell(icon: Option<&gtk::IconPaintable>) -> Picture {
    let picture = Picture::new();
    picture.set_size_request(180, 135);
    picture.set_content_fit(ContentFit::Cover);
    picture.set_corner_radius(8.0);
    picture.set_decode_at_size(true);
    picture.set_blur_hash(Some("LEHV6nWB2yk8pyo0adR*.7kCMdnj"));
    picture.set_transition(Transition::Fade);
    picture.set_retry_on_click(true);
    picture.set_error_paintable(icon);
    picture
}

fn activate(application: &gtk::Application, address: &str) {
    let theme = gdk::Display::default().and_then(|display| gtk::IconTheme::for_display(&display));
    let icon = theme.and_then(|theme| {
        let (direction, flags) = (gtk::TextDirection::None, gtk::IconLookupFlags::empty());
        theme.lookup_icon("image-missing-symbolic", &[], 48, 1, direction, flags)
    });
    let factory = gtk::SignalListItemFactory::new();
    factory.connect_setup(move |_, item| item.set_child(Some(&make_cell(icon.as_ref()))));
    // Shows the photograph of an item. That of the item before never appears.
    factory.connect_bind(|_, item| {
        let uri = item.item().and_then(|object| object.downcast::<gtk::StringObject>().ok());
        let picture = item.child().and_then(|child| child.downcast::<Picture>().ok());
        if let (Some(uri), Some(picture)) = (uri, picture) {
            picture.set_uri(Some(&uri.string()));
        }
    });

    let uris: Vec<String> = (0..200).map(|number| format!("{address}/{number:03}.jpg")).collect();
    let model = gtk::StringList::new(&uris.iter().map(String::as_str).collect::<Vec<_>>());
    let selection = gtk::NoSelection::new(Some(&model));
    let grid = gtk::GridView::new(Some(&selection), Some(&factory));
    grid.set_min_columns(4);
    grid.set_max_columns(4);
    let scrolled = gtk::ScrolledWindow::builder().child(&grid).build();
    let window = gtk::ApplicationWindow::new(application);
    window.set_title(Some("Photos"));
    window.set_default_size(800, 700);
    window.set_child(Some(&scrolled));
    window.present();
}

fn main() {
    let address = std::env::args().nth(1).expect("usage: feed ADDRESS");
    let application = gtk::Application::builder().application_id("org.example.Feed").build();
    application.connect_activate(move |application| activate(application, &address));
    application.run_with_args::<&str>(&[]);
}

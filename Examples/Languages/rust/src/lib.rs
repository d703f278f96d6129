//! The widget of libwebimage-gtk for gtk-rs: the functions that the feed needs, by hand. Others follow the same pattern.
use gtk::glib::{self, translate::*, value::ToValue};
use gtk::prelude::*;
use std::os::raw::{c_char, c_int};

/// The functions as `webimage/webimage-picture.h` and `webimage/webimage-view.h` declare them; a picture is a view.
mod ffi {
    use super::{c_char, c_int, glib};

    #[repr(C)]
    pub struct WebImagePicture {
        _opaque: [u8; 0],
    }

    extern "C" {
        pub fn web_image_picture_get_type() -> glib::ffi::GType;
        pub fn web_image_picture_new() -> *mut gtk::ffi::GtkWidget;
        pub fn web_image_view_get_uri(picture: *mut WebImagePicture) -> *const c_char;
        pub fn web_image_view_set_uri(picture: *mut WebImagePicture, uri: *const c_char);
        pub fn web_image_picture_set_content_fit(picture: *mut WebImagePicture, fit: c_int);
        pub fn web_image_view_dup_error(picture: *mut WebImagePicture) -> *mut glib::ffi::GError;
        pub fn web_image_view_reload(picture: *mut WebImagePicture);
    }
}

/// How an image fits into the widget; as `GtkContentFit`, which gtk-rs has with GTK 4.8 and later.
#[derive(Clone, Copy)]
pub enum ContentFit {
    Fill,
    Contain,
    Cover,
    ScaleDown,
}

/// How an image appears.
#[derive(Clone, Copy)]
pub enum Transition {
    None,
    Fade,
    Flip,
    Slide,
    Zoom,
}

glib::wrapper! {
    /// A widget that shows the image of a URI.
    pub struct Picture(Object<ffi::WebImagePicture>)
        @extends gtk::Widget, @implements gtk::Accessible, gtk::Buildable, gtk::ConstraintTarget;

    match fn {
        type_ => || ffi::web_image_picture_get_type(),
    }
}

impl Default for Picture {
    fn default() -> Self {
        Self::new()
    }
}

impl Picture {
    /// # Panics
    /// On another thread than the one that has initialized GTK.
    pub fn new() -> Self {
        assert!(gtk::is_initialized_main_thread(), "a picture is made on GTK's main thread");
        // A floating reference, as that of all widgets, which `from_glib_none` takes.
        unsafe { gtk::Widget::from_glib_none(ffi::web_image_picture_new()).unsafe_cast() }
    }

    /// The address of the image; `None` for no image.
    pub fn uri(&self) -> Option<String> {
        unsafe { from_glib_none(ffi::web_image_view_get_uri(self.to_glib_none().0)) }
    }

    pub fn set_uri(&self, uri: Option<&str>) {
        unsafe { ffi::web_image_view_set_uri(self.to_glib_none().0, uri.to_glib_none().0) }
    }

    pub fn set_content_fit(&self, fit: ContentFit) {
        unsafe { ffi::web_image_picture_set_content_fit(self.to_glib_none().0, fit as c_int) }
    }

    /// The radius of the corners, in points.
    pub fn set_corner_radius(&self, radius: f64) {
        self.set("corner-radius", &radius)
    }

    /// Whether the image is decoded at the size of the widget, which takes a fraction of the memory.
    pub fn set_decode_at_size(&self, is_on: bool) {
        self.set("decode-at-size", &is_on)
    }

    /// What is shown until the image is loaded.
    pub fn set_blur_hash(&self, hash: Option<&str>) {
        self.set("blur-hash", &hash)
    }

    /// What is shown if the load fails.
    pub fn set_error_paintable(&self, paintable: Option<&impl IsA<gtk::gdk::Paintable>>) {
        self.set("error-paintable", &paintable.map(|it| it.as_ref().clone()))
    }

    pub fn set_transition(&self, transition: Transition) {
        // GObject converts numbers to enumerations.
        self.set("transition", &(transition as i32))
    }

    /// Whether a click repeats a failed load.
    pub fn set_retry_on_click(&self, is_on: bool) {
        self.set("retry-on-click", &is_on)
    }

    /// Why the image could not be loaded; `None` if it could, or is not loaded yet.
    pub fn error(&self) -> Option<glib::Error> {
        unsafe { from_glib_full(ffi::web_image_view_dup_error(self.to_glib_none().0)) }
    }

    /// Repeats a failed load, or contacts the server for a newer image.
    pub fn reload(&self) {
        unsafe { ffi::web_image_view_reload(self.to_glib_none().0) }
    }

    fn set(&self, property: &str, value: &impl ToValue) {
        let object: *mut glib::gobject_ffi::GObject = self.upcast_ref::<glib::Object>().to_glib_none().0;
        unsafe {
            glib::gobject_ffi::g_object_set_property(object, property.to_glib_none().0, value.to_value().to_glib_none().0)
        }
    }
}

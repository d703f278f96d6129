fn main() {
    pkg_config::probe_library("webimage-gtk-1").expect("libwebimage-gtk-dev, or PKG_CONFIG_PATH to what `make gobject` has made");
}

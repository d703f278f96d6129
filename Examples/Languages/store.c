// The screenshots of an app in a store, in C:
//   cc store.c -o store $(pkg-config --cflags --libs webimage-gtk-1) && ./store http://127.0.0.1:8000/00{0..9}.jpg
#include <webimage/webimage.h>

// A blurred placeholder, which the image fades in over, and an icon if there is none.
static GtkWidget *make_picture(const char *uri, GtkContentFit fit, double radius) {
    GtkIconTheme *theme = gtk_icon_theme_get_for_display(gdk_display_get_default());
    g_autoptr(GtkIconPaintable) icon =
        gtk_icon_theme_lookup_icon(theme, "image-missing-symbolic", NULL, 64, 1, GTK_TEXT_DIR_NONE, 0);
    return g_object_new(
        WEB_IMAGE_TYPE_PICTURE, "uri", uri, "content-fit", fit, "corner-radius", radius, "decode-at-size", TRUE, "blur-hash",
        "LEHV6nWB2yk8pyo0adR*.7kCMdnj", "transition", WEB_IMAGE_TRANSITION_FADE, "error-paintable", icon, NULL);
}

// Shows the whole screenshot, which is on disk by now, or tries again.
static void open_screenshot(GtkButton *button, WebImageView *picture) {
    g_autoptr(GError) error = web_image_view_dup_error(picture);
    if (error != NULL) return web_image_view_reload(picture);
    GtkWidget *view = make_picture(web_image_view_get_uri(picture), GTK_CONTENT_FIT_CONTAIN, 0);
    GtkRoot *parent = gtk_widget_get_root(GTK_WIDGET(button));
    gtk_window_present(g_object_new(
        GTK_TYPE_WINDOW, "title", "Screenshot", "transient-for", parent, "modal", TRUE, "default-width", 960,
        "default-height", 640, "child", view, NULL));
}

static void activate(GtkApplication *application, char **uris) {
    g_autofree char *directory = g_build_filename(g_get_user_cache_dir(), "store", NULL);
    g_autoptr(WebImageSession) session = g_object_new(
        WEB_IMAGE_TYPE_SESSION, "cache-directory", directory, "disk-limit", (gint64)(200 << 20), NULL);
    web_image_session_set_default(session);
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    for (; *uris != NULL; uris++) {
        GtkWidget *picture = make_picture(*uris, GTK_CONTENT_FIT_COVER, 12);
        gtk_widget_set_size_request(picture, 320, 200);
        GtkWidget *button = g_object_new(GTK_TYPE_BUTTON, "has-frame", FALSE, "child", picture, NULL);
        g_signal_connect(button, "clicked", G_CALLBACK(open_screenshot), picture);
        gtk_box_append(GTK_BOX(row), button);
    }
    GtkWidget *carousel = g_object_new(GTK_TYPE_SCROLLED_WINDOW, "child", row, "vscrollbar-policy", GTK_POLICY_NEVER, NULL);
    gtk_window_present(g_object_new(
        GTK_TYPE_APPLICATION_WINDOW, "application", application, "title", "Screenshots", "default-width", 800, "child",
        carousel, NULL));
}

int main(int argc, char **argv) {
    (void)argc;
    g_autoptr(GtkApplication) application = gtk_application_new("org.example.Store", G_APPLICATION_DEFAULT_FLAGS);
    g_signal_connect(application, "activate", G_CALLBACK(activate), argv + 1);
    return g_application_run(G_APPLICATION(application), 1, argv);
}

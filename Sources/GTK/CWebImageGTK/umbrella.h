#include <glib-unix.h>
#include <gtk/gtk.h>

// What later versions of GTK deprecate, and what they have instead. The oldest one supported is 4.8.

static inline void web_image_widget_get_color(GtkWidget *widget, GdkRGBA *color) {
#if GTK_CHECK_VERSION(4, 10, 0)
    gtk_widget_get_color(widget, color);
#else
    gtk_style_context_get_color(gtk_widget_get_style_context(widget), color);
#endif
}

static inline void web_image_css_provider_load(GtkCssProvider *provider, const char *text) {
#if GTK_CHECK_VERSION(4, 12, 0)
    gtk_css_provider_load_from_string(provider, text);
#else
    gtk_css_provider_load_from_data(provider, text, -1);
#endif
}

#include <gtk/gtk.h>

// Each version of GTK has one of two functions without a warning.
static inline void css_provider_load(GtkCssProvider *provider, const char *style) {
#if GTK_CHECK_VERSION(4, 12, 0)
    gtk_css_provider_load_from_string(provider, style);
#else
    gtk_css_provider_load_from_data(provider, style, -1);
#endif
}

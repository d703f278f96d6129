// A feed of photographs in C:
//   cc feed.c -o feed $(pkg-config --cflags --libs webimage-gtk-1) && ./feed http://127.0.0.1:8000
#include <webimage/webimage.h>

// Makes the widget of a cell, which shows one photograph after the other.
static void set_up(GtkSignalListItemFactory *factory, GtkListItem *item, GdkPaintable *icon) {
    (void)factory;
    GtkWidget *picture = g_object_new(
        WEB_IMAGE_TYPE_PICTURE, "width-request", 180, "height-request", 135, "content-fit", GTK_CONTENT_FIT_COVER,
        "corner-radius", 8.0, "decode-at-size", TRUE, "blur-hash", "LEHV6nWB2yk8pyo0adR*.7kCMdnj", "transition",
        WEB_IMAGE_TRANSITION_FADE, "retry-on-click", TRUE, "error-paintable", icon, NULL);
    gtk_list_item_set_child(item, picture);
}

// Shows the photograph of an item. That of the item before never appears.
static void bind(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data) {
    (void)factory, (void)data;
    GtkStringObject *uri = GTK_STRING_OBJECT(gtk_list_item_get_item(item));
    web_image_view_set_uri(WEB_IMAGE_VIEW(gtk_list_item_get_child(item)), gtk_string_object_get_string(uri));
}

static void activate(GtkApplication *application, const char *address) {
    GtkIconTheme *theme = gtk_icon_theme_get_for_display(gdk_display_get_default());
    GtkIconPaintable *icon =
        gtk_icon_theme_lookup_icon(theme, "image-missing-symbolic", NULL, 48, 1, GTK_TEXT_DIR_NONE, 0);
    GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
    g_object_set_data_full(G_OBJECT(factory), "icon", icon, g_object_unref);
    g_signal_connect(factory, "setup", G_CALLBACK(set_up), icon);
    g_signal_connect(factory, "bind", G_CALLBACK(bind), NULL);

    GtkStringList *model = gtk_string_list_new(NULL);
    for (int number = 0; number < 200; number++) {
        gtk_string_list_take(model, g_strdup_printf("%s/%03d.jpg", address, number));
    }
    GtkSelectionModel *selection = GTK_SELECTION_MODEL(gtk_no_selection_new(G_LIST_MODEL(model)));
    GtkWidget *grid = gtk_grid_view_new(selection, factory);
    gtk_grid_view_set_min_columns(GTK_GRID_VIEW(grid), 4);
    gtk_grid_view_set_max_columns(GTK_GRID_VIEW(grid), 4);

    GtkWidget *window = gtk_application_window_new(application), *scrolled = gtk_scrolled_window_new();
    gtk_window_set_title(GTK_WINDOW(window), "Photos");
    gtk_window_set_default_size(GTK_WINDOW(window), 800, 700);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), grid);
    gtk_window_set_child(GTK_WINDOW(window), scrolled);
    gtk_window_present(GTK_WINDOW(window));
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    GtkApplication *application = gtk_application_new("org.example.Feed", G_APPLICATION_DEFAULT_FLAGS);
    g_signal_connect(application, "activate", G_CALLBACK(activate), argv[1]);
    const int status = g_application_run(G_APPLICATION(application), 1, argv);
    g_object_unref(application);
    return status;
}

// GTK's types belong to its own module, so that both modules have the same.
#include "../../GTK/CWebImageGTK/umbrella.h"

// Later versions deprecate what the oldest supported one, 1.2, needs.
#define ADW_DISABLE_DEPRECATION_WARNINGS
#include <adwaita.h>

// GTK 4.10 deprecates its file chooser, whose successor 4.8 lacks.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

static inline GtkFileChooserNative *web_image_file_chooser_new(
    const char *title, GtkWindow *parent, GtkFileChooserAction action, const char *accept, const char *cancel) {
    return gtk_file_chooser_native_new(title, parent, action, accept, cancel);
}

static inline void web_image_file_chooser_set_select_multiple(GtkFileChooserNative *chooser, gboolean is_multiple) {
    gtk_file_chooser_set_select_multiple(GTK_FILE_CHOOSER(chooser), is_multiple);
}

static inline void web_image_file_chooser_set_name(GtkFileChooserNative *chooser, const char *name) {
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(chooser), name);
}

// The chosen files; the caller owns the list.
static inline GListModel *web_image_file_chooser_get_files(GtkFileChooserNative *chooser) {
    return gtk_file_chooser_get_files(GTK_FILE_CHOOSER(chooser));
}

// GTK 4.10 deprecates its color button, too.
static inline GtkWidget *web_image_color_button_new(const GdkRGBA *color) {
    return gtk_color_button_new_with_rgba(color);
}

static inline GdkRGBA web_image_color_button_get_color(GtkWidget *button) {
    GdkRGBA color;
    gtk_color_chooser_get_rgba(GTK_COLOR_CHOOSER(button), &color);
    return color;
}

static inline void web_image_file_chooser_set_folder(GtkFileChooserNative *chooser, GFile *folder) {
    gtk_file_chooser_set_current_folder(GTK_FILE_CHOOSER(chooser), folder, NULL);
}

// GTK 4.10 deprecates its dialog of programs too.
static inline GtkWidget *web_image_app_chooser_new(GtkWindow *parent, GFile *file) {
    return gtk_app_chooser_dialog_new(parent, GTK_DIALOG_MODAL | GTK_DIALOG_USE_HEADER_BAR, file);
}

// The chosen program, or NULL; the caller owns it.
static inline GAppInfo *web_image_app_chooser_get_app(GtkWidget *chooser) {
    return gtk_app_chooser_get_app_info(GTK_APP_CHOOSER(chooser));
}

#pragma clang diagnostic pop

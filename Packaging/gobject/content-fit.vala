namespace Gtk {
    [CCode (cheader_filename = "gtk/gtk.h", cprefix = "GTK_CONTENT_FIT_", type_id = "gtk_content_fit_get_type ()")]
    public enum ContentFit {
        FILL,
        CONTAIN,
        COVER,
        SCALE_DOWN
    }
}

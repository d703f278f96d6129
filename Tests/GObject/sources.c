// Tests of paintables as icons and of loads that the program answers, with a display. The argument is an image of 300 by 200 pixels, whose
// pixels have the color 200, 100, 20.
#include <webimage/webimage.h>

static GBytes *bytes;

static void iterate(const gboolean *done) {
    while (!*done) g_main_context_iteration(NULL, TRUE);
}

static void set_done(gpointer source G_GNUC_UNUSED, gpointer done) { *(gboolean *)done = TRUE; }

// The color in the middle of what a widget draws.
static void read_color(GtkWidget *widget, guchar color[4]) {
    GdkPaintable *paintable = gtk_widget_paintable_new(widget);
    while (gdk_paintable_get_intrinsic_width(paintable) == 0) g_main_context_iteration(NULL, TRUE);
    GtkSnapshot *snapshot = gtk_snapshot_new();
    gdk_paintable_snapshot(paintable, snapshot, 30, 30);
    GskRenderNode *node = gtk_snapshot_free_to_node(snapshot);
    memset(color, 0, 4);
    if (node != NULL) {
        cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 30, 30);
        cairo_t *context = cairo_create(surface);
        gsk_render_node_draw(node, context);
        cairo_destroy(context);
        cairo_surface_flush(surface);
        const guchar *pixel = cairo_image_surface_get_data(surface) + 15 * cairo_image_surface_get_stride(surface) + 15 * 4;
        memcpy(color, pixel, 4);
        cairo_surface_destroy(surface);
        gsk_render_node_unref(node);
    }
    g_object_unref(paintable);
}

static void an_image_shows_the_icon(void) {
    WebImagePaintable *paintable = g_object_new(WEB_IMAGE_TYPE_PAINTABLE, "bytes", bytes, NULL);
    GtkWidget *image = gtk_image_new_from_gicon(G_ICON(paintable)), *window = gtk_window_new();
    gtk_image_set_pixel_size(GTK_IMAGE(image), 30);
    gtk_window_set_child(GTK_WINDOW(window), image);
    gtk_window_present(GTK_WINDOW(window));
    while (!gtk_widget_get_mapped(image)) g_main_context_iteration(NULL, TRUE);
    guchar color[4];
    read_color(image, color);
    g_assert_cmpint(color[2], ==, 200);
    g_assert_cmpint(color[1], ==, 100);
    g_assert_cmpint(color[0], ==, 20);
    gtk_window_destroy(GTK_WINDOW(window));
    g_object_unref(paintable);
}

static void equal_icons_have_the_same_hash(void) {
    WebImagePaintable *first = web_image_paintable_new("resource:///a.png"), *second = web_image_paintable_new("resource:///a.png");
    g_assert_true(g_icon_equal(G_ICON(first), G_ICON(second)));
    g_assert_cmpuint(g_icon_hash(first), ==, g_icon_hash(second));
    GBytes *copy = g_bytes_new(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
    g_object_set(first, "bytes", bytes, NULL);
    g_object_set(second, "bytes", copy, NULL);
    g_assert_true(g_icon_equal(G_ICON(first), G_ICON(second)));
    g_assert_cmpuint(g_icon_hash(first), ==, g_icon_hash(second));
    g_bytes_unref(copy);
    g_object_unref(second);
    g_object_unref(first);
}

// What it keeps of the loads that it answers.
typedef struct {
    WebImageLoad *load;
    GBytes *bytes;
    guint count;
} Program;

static gboolean answer_later(gpointer data) {
    Program *program = data;
    web_image_load_return_bytes(program->load, program->bytes, "image/png");
    g_clear_object(&program->load);
    return G_SOURCE_REMOVE;
}

static gboolean on_load(WebImageSession *session, WebImageLoad *load, gpointer data) {
    g_assert_true(WEB_IMAGE_IS_SESSION(session));
    Program *program = data;
    program->count++;
    program->load = g_object_ref(load);
    g_idle_add(answer_later, program);
    return TRUE;
}

static void a_program_answers_loads(void) {
    Program program = {.bytes = bytes};
    WebImageSession *session = web_image_session_new();
    const gulong handler = g_signal_connect(session, "load-requested::mxc", G_CALLBACK(on_load), &program);
    gboolean done = FALSE;
    WebImagePaintable *paintable = g_object_new(WEB_IMAGE_TYPE_PAINTABLE, "session", session, NULL);
    g_signal_connect(paintable, "loaded", G_CALLBACK(set_done), &done);
    // The address before does not matter any more.
    web_image_view_set_uri(WEB_IMAGE_VIEW(paintable), "mxc://example.org/first");
    web_image_view_set_uri(WEB_IMAGE_VIEW(paintable), "mxc://example.org/image");
    iterate(&done);
    g_assert_cmpint(program.count, ==, 1);
    g_assert_cmpint(gdk_paintable_get_intrinsic_width(GDK_PAINTABLE(paintable)), ==, 300);
    g_signal_handler_disconnect(session, handler);
    g_object_unref(paintable);
    g_object_unref(session);
}

static void an_answer_is_given_once(void) {
    WebImageSession *session = web_image_session_new();
    Program program = {.bytes = bytes};
    g_signal_connect(session, "load-requested", G_CALLBACK(on_load), &program);
    gboolean done = FALSE;
    WebImagePaintable *paintable =
        g_object_new(WEB_IMAGE_TYPE_PAINTABLE, "session", session, "uri", "mxc://example.org/once", NULL);
    g_signal_connect(paintable, "loaded", G_CALLBACK(set_done), &done);
    while (program.load == NULL) g_main_context_iteration(NULL, TRUE);
    WebImageLoad *load = g_object_ref(program.load);
    iterate(&done);
    g_test_expect_message("WebImage", G_LOG_LEVEL_CRITICAL, "*offer != NULL*");
    web_image_load_return_bytes(load, bytes, NULL);
    g_test_assert_expected_messages();
    g_object_unref(load);
    g_object_unref(paintable);
    g_object_unref(session);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    gtk_init();
    char *content;
    gsize length;
    g_assert_true(g_file_get_contents(argv[1], &content, &length, NULL));
    bytes = g_bytes_new_take(content, length);
#define TEST(name) g_test_add_func("/sources/" #name, name)
    TEST(an_image_shows_the_icon);
    TEST(equal_icons_have_the_same_hash);
    TEST(a_program_answers_loads);
    TEST(an_answer_is_given_once);
    const int status = g_test_run();
    g_bytes_unref(bytes);
    return status;
}

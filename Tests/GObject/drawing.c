// Tests of what pictures draw. The arguments are an orange image of 300 by 200 pixels, and an animation that is red, then blue.
#include <webimage/webimage.h>

static const guint32 RED = 0xff0000, GREEN = 0x00ff00, BLUE = 0x0000ff, ORANGE = 0xc86414, NONE = G_MAXUINT32;

static char *uri, *animation;

static WebImagePicture *new_picture(void) {
    GtkWidget *window = gtk_window_new();
    WebImagePicture *picture = g_object_new(
        WEB_IMAGE_TYPE_PICTURE, "width-request", 120, "height-request", 120, "content-fit", GTK_CONTENT_FIT_COVER, NULL);
    gtk_window_set_child(GTK_WINDOW(window), GTK_WIDGET(picture));
    gtk_window_set_default_size(GTK_WINDOW(window), 120, 120);
    gtk_window_present(GTK_WINDOW(window));
    return picture;
}

static void destroy(WebImagePicture *picture) {
    gtk_window_destroy(GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(picture))));
    while (g_main_context_iteration(NULL, FALSE)) {}
}

// The color of a point, as it was drawn last; NONE where nothing opaque is.
static guint32 color_at(WebImagePicture *picture, int x, int y) {
    GtkNative *native = gtk_widget_get_native(GTK_WIDGET(picture));
    if (!gtk_widget_get_mapped(GTK_WIDGET(picture)) || gtk_widget_get_width(GTK_WIDGET(picture)) == 0) return NONE;
    GdkPaintable *paintable = gtk_widget_paintable_new(GTK_WIDGET(picture));
    const int width = gtk_widget_get_width(GTK_WIDGET(picture)), height = gtk_widget_get_height(GTK_WIDGET(picture));
    GtkSnapshot *snapshot = gtk_snapshot_new();
    gdk_paintable_snapshot(paintable, snapshot, width, height);
    g_object_unref(paintable);
    GskRenderNode *node = gtk_snapshot_free_to_node(snapshot);
    if (node == NULL) return NONE;
    GdkTexture *texture = gsk_renderer_render_texture(
        gtk_native_get_renderer(native), node, &GRAPHENE_RECT_INIT(0, 0, width, height));
    guint32 *pixels = g_new(guint32, width * height);
    gdk_texture_download(texture, (guchar *)pixels, (gsize)width * 4);
    const guint32 pixel = pixels[y * width + x];
    g_free(pixels);
    g_object_unref(texture);
    gsk_render_node_unref(node);
    return pixel >> 24 == 0xff ? pixel & 0xffffff : NONE;
}

static gboolean is_near(guint32 first, guint32 second) {
    if (first == NONE || second == NONE) return first == second;
    for (int shift = 0; shift < 24; shift += 8) {
        if (ABS((int)(first >> shift & 0xff) - (int)(second >> shift & 0xff)) > 3) return FALSE;
    }
    return TRUE;
}

static gboolean give_up(gpointer data) {
    (void)data;
    g_error("the color did not come");
    return G_SOURCE_REMOVE;
}

static void wait_for_color(WebImagePicture *picture, int x, int y, guint32 color) {
    const guint timer = g_timeout_add_seconds(30, give_up, NULL);
    while (!is_near(color_at(picture, x, y), color)) g_main_context_iteration(NULL, TRUE);
    g_source_remove(timer);
}

// A square of 20 pixels.
static GdkPaintable *new_paintable(guint32 color) {
    guint32 pixels[20 * 20];
    for (gsize index = 0; index < G_N_ELEMENTS(pixels); index++) pixels[index] = 0xff000000 | color;
    GBytes *bytes = g_bytes_new(pixels, sizeof pixels);
    GdkTexture *texture = gdk_memory_texture_new(20, 20, GDK_MEMORY_DEFAULT, bytes, 20 * 4);
    g_bytes_unref(bytes);
    return GDK_PAINTABLE(texture);
}

static void placeholders_are_drawn_until_the_image_is(void) {
    WebImagePicture *picture = new_picture();
    GdkRGBA red;
    gdk_rgba_parse(&red, "#ff0000");
    g_object_set(picture, "placeholder-color", &red, NULL);
    wait_for_color(picture, 60, 60, RED);
    GdkPaintable *placeholder = new_paintable(GREEN);
    web_image_view_set_placeholder(WEB_IMAGE_VIEW(picture), placeholder);
    wait_for_color(picture, 60, 60, GREEN);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uri);
    wait_for_color(picture, 60, 60, ORANGE);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), NULL);
    wait_for_color(picture, 60, 60, GREEN);
    web_image_view_set_placeholder(WEB_IMAGE_VIEW(picture), NULL);
    g_object_set(picture, "placeholder-color", NULL, NULL);
    wait_for_color(picture, 60, 60, NONE);
    // All of a hash without details has one color.
    g_object_set(picture, "blur-hash", "00TI:j", NULL);
    while (color_at(picture, 60, 60) == NONE) g_main_context_iteration(NULL, TRUE);
    g_assert_true(is_near(color_at(picture, 5, 5), color_at(picture, 110, 110)));
    g_object_unref(placeholder);
    destroy(picture);
}

// A URI that changes while a frame is made, and the color that this frame has then.
typedef struct {
    WebImagePicture *picture;
    const char *uri;
    guint32 color;
    gboolean is_set, is_drawn;
} Change;

static void change(Change *change) {
    if (!change->is_set) web_image_view_set_uri(WEB_IMAGE_VIEW(change->picture), change->uri);
    change->is_set = TRUE;
}

static void see(Change *change) {
    if (!change->is_set || change->is_drawn) return;
    change->color = color_at(change->picture, 60, 60);
    change->is_drawn = TRUE;
}

static guint32 color_after_change(WebImagePicture *picture, const char *phase, const char *new_uri) {
    Change data = {.picture = picture, .uri = new_uri};
    GdkFrameClock *clock = gtk_widget_get_frame_clock(GTK_WIDGET(picture));
    g_signal_connect_swapped(clock, phase, G_CALLBACK(change), &data);
    g_signal_connect_swapped(clock, "after-paint", G_CALLBACK(see), &data);
    const guint timer = g_timeout_add_seconds(30, give_up, NULL);
    gdk_frame_clock_request_phase(
        clock, GDK_FRAME_CLOCK_PHASE_UPDATE | GDK_FRAME_CLOCK_PHASE_LAYOUT | GDK_FRAME_CLOCK_PHASE_PAINT |
                   GDK_FRAME_CLOCK_PHASE_AFTER_PAINT);
    while (!data.is_drawn) g_main_context_iteration(NULL, TRUE);
    g_source_remove(timer);
    g_signal_handlers_disconnect_by_data(clock, &data);
    return data.color;
}

static void no_frame_has_the_image_of_an_earlier_uri(void) {
    // Lists bind rows in both phases.
    const char *const phases[] = {"update", "layout"};
    for (gsize index = 0; index < G_N_ELEMENTS(phases); index++) {
        WebImagePicture *picture = new_picture();
        GdkPaintable *placeholder = new_paintable(GREEN);
        g_object_set(picture, "placeholder", placeholder, "uri", uri, NULL);
        g_object_unref(placeholder);
        wait_for_color(picture, 60, 60, ORANGE);
        g_assert_cmphex(color_after_change(picture, phases[index], NULL), ==, GREEN);
        // An image in memory is in the same frame.
        g_assert_true(is_near(color_after_change(picture, phases[index], uri), ORANGE));
        g_assert_cmphex(color_after_change(picture, phases[index], "file:///nonexistent/image.png"), ==, GREEN);
        destroy(picture);
    }
}

static void a_paintable_does_not_draw_the_image_of_an_earlier_uri(void) {
    WebImagePaintable *paintable = web_image_paintable_new(uri);
    while (web_image_view_get_loading(WEB_IMAGE_VIEW(paintable))) g_main_context_iteration(NULL, TRUE);
    g_assert_cmpint(gdk_paintable_get_intrinsic_width(GDK_PAINTABLE(paintable)), ==, 300);
    web_image_view_set_uri(WEB_IMAGE_VIEW(paintable), animation);
    g_assert_cmpint(gdk_paintable_get_intrinsic_width(GDK_PAINTABLE(paintable)), ==, 0);
    g_object_unref(paintable);
}

static void an_image_fades_in_above_its_placeholder(void) {
    WebImagePicture *picture = new_picture();
    GdkPaintable *placeholder = new_paintable(GREEN);
    g_object_set(
        picture, "placeholder", placeholder, "transition", WEB_IMAGE_TRANSITION_FADE, "transition-duration", 400, "uri",
        uri, "cache-policy", WEB_IMAGE_CACHE_POLICY_RELOAD, NULL);
    g_object_unref(placeholder);
    gboolean is_mixed = FALSE;
    while (!is_near(color_at(picture, 60, 60), ORANGE)) {
        const guint32 color = color_at(picture, 60, 60);
        // Between both, and never the window's background.
        if (color != NONE && !is_near(color, GREEN)) {
            is_mixed = TRUE;
            g_assert_cmpuint(color & 0xff, <, 0x30);
        }
        g_main_context_iteration(NULL, TRUE);
    }
    g_assert_true(is_mixed);
    destroy(picture);
}

static void corners_are_cut(void) {
    WebImagePicture *picture = new_picture();
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uri);
    wait_for_color(picture, 0, 0, ORANGE);
    // Nothing is drawn until the next frame, so each change is awaited where there is a color.
    g_object_set(picture, "corner-radius", 20.0, NULL);
    wait_for_color(picture, 20, 2, ORANGE);
    g_assert_cmphex(color_at(picture, 0, 0), ==, NONE);
    g_object_set(picture, "circular", TRUE, NULL);
    wait_for_color(picture, 60, 2, ORANGE);
    g_assert_cmphex(color_at(picture, 20, 2), ==, NONE);
    // Of an image that does not fill the area, its own corners.
    g_object_set(picture, "circular", FALSE, "content-fit", GTK_CONTENT_FIT_CONTAIN, NULL);
    wait_for_color(picture, 60, 60, ORANGE);
    g_assert_cmphex(color_at(picture, 60, 10), ==, NONE);
    g_assert_cmphex(color_at(picture, 0, 21), ==, NONE);
    destroy(picture);
}

static void a_failure_has_a_sign_and_a_click_retries(void) {
    WebImagePicture *picture = new_picture();
    GdkPaintable *sign = new_paintable(BLUE), *placeholder = new_paintable(GREEN);
    char *path = g_build_filename(g_get_user_cache_dir(), "retried.png", NULL), *contents = NULL;
    char *retried = g_filename_to_uri(path, NULL, NULL), *source = g_filename_from_uri(uri, NULL, NULL);
    g_object_set(
        picture, "error-paintable", sign, "placeholder", placeholder, "retry-on-click", TRUE, "uri", retried, NULL);
    wait_for_color(picture, 60, 60, BLUE);
    // It is not enlarged: around it is neither the placeholder nor anything else.
    wait_for_color(picture, 5, 5, NONE);
    gsize length = 0;
    g_assert_true(g_file_get_contents(source, &contents, &length, NULL));
    g_assert_true(g_file_set_contents(path, contents, (gssize)length, NULL));
    GListModel *controllers = gtk_widget_observe_controllers(gtk_widget_get_first_child(GTK_WIDGET(picture)));
    for (guint index = 0; index < g_list_model_get_n_items(controllers); index++) {
        GObject *controller = g_list_model_get_item(controllers, index);
        if (GTK_IS_GESTURE_CLICK(controller)) g_signal_emit_by_name(controller, "released", 1, 60.0, 60.0);
        g_object_unref(controller);
    }
    wait_for_color(picture, 60, 60, ORANGE);
    g_object_unref(controllers);
    g_object_unref(sign);
    g_object_unref(placeholder);
    g_free(contents);
    g_free(source);
    g_free(retried);
    g_free(path);
    destroy(picture);
}

static void a_failed_picture_with_the_focus_has_an_outline(void) {
    WebImagePicture *picture = new_picture();
    GtkWindow *window = GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(picture)));
    GdkPaintable *placeholder = new_paintable(GREEN);
    g_object_set(
        picture, "placeholder", placeholder, "retry-on-click", TRUE, "uri", "file:///nonexistent/image.png", NULL);
    g_object_unref(placeholder);
    while (!gtk_widget_get_focusable(GTK_WIDGET(picture))) g_main_context_iteration(NULL, TRUE);
    wait_for_color(picture, 0, 60, GREEN);
    gtk_window_set_focus_visible(window, TRUE);
    g_assert_true(gtk_widget_grab_focus(GTK_WIDGET(picture)));
    const guint timer = g_timeout_add_seconds(30, give_up, NULL);
    guint32 color = NONE;
    while (color == NONE || is_near(color, GREEN)) {
        g_main_context_iteration(NULL, TRUE);
        color = color_at(picture, 0, 60);
    }
    g_source_remove(timer);
    wait_for_color(picture, 60, 60, GREEN);
    gtk_window_set_focus(window, NULL);
    wait_for_color(picture, 0, 60, GREEN);
    destroy(picture);
}

static void animations_play_when_they_may(void) {
    WebImagePicture *picture = new_picture();
    g_object_set(picture, "animate", FALSE, "uri", animation, NULL);
    wait_for_color(picture, 60, 60, RED);
    // Ten times as long as a frame.
    const gint64 end = g_get_monotonic_time() + 500000;
    while (g_get_monotonic_time() < end) {
        g_assert_true(is_near(color_at(picture, 60, 60), RED));
        g_main_context_iteration(NULL, FALSE);
    }
    g_object_set(picture, "animate", TRUE, NULL);
    wait_for_color(picture, 60, 60, BLUE);
    wait_for_color(picture, 60, 60, RED);
    destroy(picture);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 3);
    uri = g_filename_to_uri(argv[1], NULL, NULL);
    animation = g_filename_to_uri(argv[2], NULL, NULL);
    if (!gtk_init_check()) return 77;
#define TEST(name) g_test_add_func("/drawing/" #name, name)
    TEST(placeholders_are_drawn_until_the_image_is);
    TEST(no_frame_has_the_image_of_an_earlier_uri);
    TEST(a_paintable_does_not_draw_the_image_of_an_earlier_uri);
    TEST(an_image_fades_in_above_its_placeholder);
    TEST(corners_are_cut);
    TEST(a_failure_has_a_sign_and_a_click_retries);
    TEST(a_failed_picture_with_the_focus_has_an_outline);
    TEST(animations_play_when_they_may);
    const int status = g_test_run();
    g_free(uri);
    g_free(animation);
    return status;
}

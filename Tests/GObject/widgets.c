// Tests of the classes as a program in C uses them. Each argument is an image file; the images have different sizes.
#include <webimage/webimage.h>

static char *uris[2];
static const int widths[2] = {300, 120};

static void wait_until_idle(WebImagePicture *picture) {
    while (web_image_view_get_loading(WEB_IMAGE_VIEW(picture))) g_main_context_iteration(NULL, TRUE);
}

static WebImagePicture *new_picture(GtkWidget **window) {
    WebImagePicture *picture = WEB_IMAGE_PICTURE(web_image_picture_new());
    *window = gtk_window_new();
    gtk_window_set_child(GTK_WINDOW(*window), GTK_WIDGET(picture));
    gtk_window_present(GTK_WINDOW(*window));
    while (!gtk_widget_get_mapped(GTK_WIDGET(picture))) g_main_context_iteration(NULL, TRUE);
    return picture;
}

static void destroy(GtkWidget *window) {
    gtk_window_destroy(GTK_WINDOW(window));
    while (g_main_context_iteration(NULL, FALSE)) {}
}

static int get_width(WebImagePicture *picture) {
    int width;
    g_object_get(picture, "image-width", &width, NULL);
    return width;
}

static void increment(gpointer count) { (*(int *)count)++; }

static void a_picture_shows_the_image_of_its_uri(void) {
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    int loaded = 0, failed = 0, progressed = 0;
    g_signal_connect_swapped(picture, "loaded", G_CALLBACK(increment), &loaded);
    g_signal_connect_swapped(picture, "failed", G_CALLBACK(increment), &failed);
    g_signal_connect_swapped(picture, "notify::progress", G_CALLBACK(increment), &progressed);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[0]);
    g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)));
    g_assert_cmpfloat(web_image_view_get_progress(WEB_IMAGE_VIEW(picture)), ==, 0);
    wait_until_idle(picture);
    g_assert_cmpint(loaded, ==, 1);
    g_assert_cmpint(failed, ==, 0);
    g_assert_cmpint(progressed, >=, 1);
    g_assert_cmpint(get_width(picture), ==, widths[0]);
    g_assert_cmpfloat(web_image_view_get_progress(WEB_IMAGE_VIEW(picture)), ==, 1);
    g_assert_true(gtk_widget_has_css_class(GTK_WIDGET(picture), "loaded"));
    int natural;
    gtk_widget_measure(GTK_WIDGET(picture), GTK_ORIENTATION_HORIZONTAL, -1, NULL, &natural, NULL, NULL);
    g_assert_cmpint(natural, ==, widths[0]);
    destroy(window);
}

static void the_image_of_an_earlier_uri_never_appears(void) {
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    int loaded = 0;
    g_signal_connect_swapped(picture, "loaded", G_CALLBACK(increment), &loaded);
    for (int index = 0; index < 20; index++) {
        web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[index % 2]);
        g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)) || get_width(picture) == widths[index % 2]);
        if (web_image_view_get_loading(WEB_IMAGE_VIEW(picture))) g_assert_cmpint(get_width(picture), ==, 0);
    }
    wait_until_idle(picture);
    g_assert_cmpint(get_width(picture), ==, widths[1]);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), NULL);
    g_assert_cmpint(get_width(picture), ==, 0);
    g_assert_false(gtk_widget_has_css_class(GTK_WIDGET(picture), "loaded"));
    destroy(window);
}

static void show_second(WebImagePicture *picture) {
    if (get_width(picture) == widths[0]) web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[1]);
}

static void loaded_second(WebImagePicture *picture, int *loaded) {
    g_assert_cmpint(get_width(picture), ==, widths[1]);
    (*loaded)++;
}

static void no_signal_is_of_an_earlier_uri(void) {
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    int loaded = 0;
    g_signal_connect(picture, "notify::image-width", G_CALLBACK(show_second), NULL);
    g_signal_connect(picture, "loaded", G_CALLBACK(loaded_second), &loaded);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[0]);
    while (loaded == 0) g_main_context_iteration(NULL, TRUE);
    wait_until_idle(picture);
    g_assert_cmpint(loaded, ==, 1);
    destroy(window);
}

static void a_failure_has_a_code_and_a_sentence(void) {
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    int failed = 0;
    g_signal_connect_swapped(picture, "failed", G_CALLBACK(increment), &failed);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), "file:///nonexistent/image.png");
    wait_until_idle(picture);
    g_assert_cmpint(failed, ==, 1);
    GError *error = web_image_view_dup_error(WEB_IMAGE_VIEW(picture));
    g_assert_error(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_FILE);
    g_assert_nonnull(strstr(error->message, "/nonexistent/image.png"));
    g_clear_error(&error);
    g_assert_true(gtk_widget_has_css_class(GTK_WIDGET(picture), "failed"));
    web_image_view_reload(WEB_IMAGE_VIEW(picture));
    g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)));
    g_assert_null(web_image_view_dup_error(WEB_IMAGE_VIEW(picture)));
    wait_until_idle(picture);
    g_assert_cmpint(failed, ==, 2);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), "not an address");
    g_assert_false(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)));
    error = web_image_view_dup_error(WEB_IMAGE_VIEW(picture));
    g_assert_error(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_INVALID_URI);
    g_clear_error(&error);
    destroy(window);
}

static void a_placeholder_gives_the_size_until_the_image_has_one(void) {
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    GdkPaintable *placeholder = gdk_paintable_new_empty(64, 48);
    web_image_view_set_placeholder(WEB_IMAGE_VIEW(picture), placeholder);
    g_object_unref(placeholder);
    int natural;
    gtk_widget_measure(GTK_WIDGET(picture), GTK_ORIENTATION_HORIZONTAL, -1, NULL, &natural, NULL, NULL);
    g_assert_cmpint(natural, ==, 64);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[0]);
    wait_until_idle(picture);
    gtk_widget_measure(GTK_WIDGET(picture), GTK_ORIENTATION_HORIZONTAL, -1, NULL, &natural, NULL, NULL);
    g_assert_cmpint(natural, ==, widths[0]);
    destroy(window);
}

static void one_paintable_may_be_placeholder_and_sign_of_failure(void) {
    WebImagePicture *picture = g_object_ref_sink(WEB_IMAGE_PICTURE(web_image_picture_new()));
    GdkPaintable *paintable = GDK_PAINTABLE(web_image_paintable_new(NULL));
    g_object_set(picture, "placeholder", paintable, "error-paintable", paintable, NULL);
    const guint signal = g_signal_lookup("invalidate-contents", GDK_TYPE_PAINTABLE);
    g_object_set(picture, "placeholder", NULL, NULL);
    g_assert_true(g_signal_has_handler_pending(paintable, signal, 0, FALSE));
    g_object_set(picture, "error-paintable", NULL, NULL);
    g_assert_false(g_signal_has_handler_pending(paintable, signal, 0, FALSE));
    g_object_unref(picture);
    g_object_unref(paintable);
}

static void decoding_at_size_follows_the_size_request(void) {
    GtkWidget *window = gtk_window_new(), *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    WebImagePicture *picture = g_object_new(
        WEB_IMAGE_TYPE_PICTURE, "uri", uris[0], "decode-at-size", TRUE, "width-request", 60, "height-request", 40,
        "valign", GTK_ALIGN_START, NULL);
    gtk_box_append(GTK_BOX(box), GTK_WIDGET(picture));
    gtk_window_set_child(GTK_WINDOW(window), box);
    gtk_window_present(GTK_WINDOW(window));
    while (!gtk_widget_get_mapped(GTK_WIDGET(picture))) g_main_context_iteration(NULL, TRUE);
    wait_until_idle(picture);
    g_assert_cmpint(get_width(picture), ==, 60);
    destroy(window);
}

static void a_disposed_picture_does_nothing(void) {
    GtkWidget *window;
    WebImagePicture *picture = g_object_ref(new_picture(&window));
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[0]);
    destroy(window);
    g_object_run_dispose(G_OBJECT(picture));
    g_object_run_dispose(G_OBJECT(picture));
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[1]);
    web_image_picture_set_content_fit(picture, GTK_CONTENT_FIT_COVER);
    web_image_view_reload(WEB_IMAGE_VIEW(picture));
    web_image_view_cancel(WEB_IMAGE_VIEW(picture));
    // Critical messages end the test.
    gtk_widget_set_size_request(GTK_WIDGET(picture), 10, 10);
    gtk_widget_measure(GTK_WIDGET(picture), GTK_ORIENTATION_VERTICAL, -1, NULL, NULL, NULL, NULL);
    g_assert_null(web_image_view_get_uri(WEB_IMAGE_VIEW(picture)));
    g_assert_false(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)));
    g_assert_null(web_image_view_dup_error(WEB_IMAGE_VIEW(picture)));
    g_object_add_weak_pointer(G_OBJECT(picture), (gpointer *)&picture);
    g_object_unref(picture);
    g_assert_null(picture);
}

static void dispose_of(GtkWidget *picture, gpointer window) { gtk_window_destroy(GTK_WINDOW(window)); (void)picture; }

static void a_handler_may_destroy_the_window(void) {
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    g_object_add_weak_pointer(G_OBJECT(picture), (gpointer *)&picture);
    g_signal_connect(picture, "loaded", G_CALLBACK(dispose_of), window);
    g_object_set(picture, "uri", uris[0], NULL);
    while (picture != NULL) g_main_context_iteration(NULL, TRUE);
}

static void read_loading(WebImageView *view) { g_assert_false(web_image_view_get_loading(view)); }

static void a_handler_may_destroy_the_window_within_a_call(void) {
    void (*const calls[])(WebImageView *) = {read_loading, web_image_view_cancel, web_image_view_reload};
    for (gsize index = 0; index < G_N_ELEMENTS(calls); index++) {
        GtkWidget *window;
        WebImagePicture *picture = new_picture(&window);
        g_object_add_weak_pointer(G_OBJECT(picture), (gpointer *)&picture);
        g_signal_connect_swapped(picture, "failed", G_CALLBACK(gtk_window_destroy), window);
        web_image_view_set_uri(WEB_IMAGE_VIEW(picture), "not an address");
        calls[index](WEB_IMAGE_VIEW(picture));
        g_assert_null(picture);
    }
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    g_object_add_weak_pointer(G_OBJECT(picture), (gpointer *)&picture);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[0]);
    wait_until_idle(picture);
    g_signal_connect_swapped(picture, "notify::image-width", G_CALLBACK(gtk_window_destroy), window);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[1]);
    while (picture != NULL) g_main_context_iteration(NULL, TRUE);
}

static gpointer release(gpointer object) {
    g_object_unref(object);
    return NULL;
}

static void the_last_reference_may_go_on_another_thread(void) {
    const GType types[] = {WEB_IMAGE_TYPE_PAINTABLE, WEB_IMAGE_TYPE_PICTURE};
    GdkPaintable *placeholder = GDK_PAINTABLE(web_image_paintable_new(NULL));
    const guint signal = g_signal_lookup("invalidate-contents", GDK_TYPE_PAINTABLE);
    for (gsize index = 0; index < G_N_ELEMENTS(types); index++) {
        GObject *object = g_object_new(types[index], "uri", uris[0], "placeholder", placeholder, NULL);
        if (g_object_is_floating(object)) g_object_ref_sink(object);
        gboolean is_loading;
        g_object_get(object, "loading", &is_loading, NULL);
        g_object_add_weak_pointer(object, (gpointer *)&object);
        g_thread_join(g_thread_new("release", release, object));
        while (object != NULL) g_main_context_iteration(NULL, TRUE);
        g_assert_false(g_signal_has_handler_pending(placeholder, signal, 0, FALSE));
    }
    g_object_unref(placeholder);
}

static void an_equal_value_changes_nothing(void) {
    WebImageProcessor *processor = web_image_processor_new_grayscale();
    const char *headers[] = {"X-One: 1", NULL};
    const GType types[] = {WEB_IMAGE_TYPE_PAINTABLE, WEB_IMAGE_TYPE_PICTURE};
    for (gsize index = 0; index < G_N_ELEMENTS(types); index++) {
        GObject *object = g_object_new(types[index], "uri", uris[0], NULL);
        if (g_object_is_floating(object)) g_object_ref_sink(object);
        const gboolean is_paintable = WEB_IMAGE_IS_PAINTABLE(object);
        int notified = 0;
        gboolean is_loading = TRUE;
        for (int time = 0; time < 2; time++) {
            if (time == 1) g_signal_connect_swapped(object, "notify", G_CALLBACK(increment), &notified);
            g_object_set(
                object, "priority", WEB_IMAGE_PRIORITY_LOW, "headers", headers, "processor", processor, "cache-policy",
                WEB_IMAGE_CACHE_POLICY_RELOAD, NULL);
            if (is_paintable) g_object_set(object, "width", 30, "height", 20, NULL);
            // It is in no window.
            if (!is_paintable) g_object_set(object, "lazy", FALSE, NULL);
            g_object_get(object, "loading", &is_loading, NULL);
            // With this policy each load asks for the file again.
            g_assert_cmpint(is_loading, ==, time == 0);
            while (is_loading) {
                g_main_context_iteration(NULL, TRUE);
                g_object_get(object, "loading", &is_loading, NULL);
            }
        }
        g_assert_cmpint(notified, ==, 0);
        g_object_unref(object);
    }
    web_image_processor_unref(processor);
}

// What a key does in a picture that has the focus. Returns whether it does something.
static gboolean press(WebImagePicture *picture, guint key) {
    GtkShortcutTrigger *wanted = gtk_keyval_trigger_new(key, 0);
    GListModel *controllers = gtk_widget_observe_controllers(GTK_WIDGET(picture));
    gboolean is_used = FALSE;
    for (guint index = 0; index < g_list_model_get_n_items(controllers); index++) {
        GObject *controller = g_list_model_get_item(controllers, index);
        const guint count = GTK_IS_SHORTCUT_CONTROLLER(controller) ? g_list_model_get_n_items(G_LIST_MODEL(controller)) : 0;
        for (guint position = 0; position < count; position++) {
            GtkShortcut *shortcut = g_list_model_get_item(G_LIST_MODEL(controller), position);
            if (gtk_shortcut_trigger_equal(gtk_shortcut_get_trigger(shortcut), wanted)) {
                is_used |= gtk_shortcut_action_activate(
                    gtk_shortcut_get_action(shortcut), GTK_SHORTCUT_ACTION_EXCLUSIVE, GTK_WIDGET(picture), NULL);
            }
            g_object_unref(shortcut);
        }
        g_object_unref(controller);
    }
    g_object_unref(controllers);
    g_object_unref(wanted);
    return is_used;
}

static void a_failed_picture_is_retried_with_a_key(void) {
    const guint keys[] = {GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_space, GDK_KEY_KP_Space};
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    GtkWidget *widget = GTK_WIDGET(picture);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), "file:///nonexistent/image.png");
    wait_until_idle(picture);
    g_assert_false(gtk_widget_get_focusable(widget));
    g_assert_false(press(picture, GDK_KEY_Return));
    g_object_set(picture, "retry-on-click", TRUE, NULL);
    // Applies what was set.
    wait_until_idle(picture);
    g_assert_true(gtk_widget_get_focusable(widget));
    g_assert_true(gtk_widget_grab_focus(widget));
    for (gsize index = 0; index < G_N_ELEMENTS(keys); index++) {
        g_assert_true(press(picture, keys[index]));
        g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)));
        g_assert_false(press(picture, keys[index]));
        // The focus stays for another attempt.
        g_assert_true(gtk_widget_is_focus(widget));
        wait_until_idle(picture);
    }
    // For assistive technologies.
    g_assert_true(gtk_widget_activate_action(widget, "image.retry", NULL));
    g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)));
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[0]);
    wait_until_idle(picture);
    g_assert_true(gtk_widget_get_focusable(widget));
    gtk_window_set_focus(GTK_WINDOW(window), NULL);
    g_assert_false(gtk_widget_get_focusable(widget));
    // What the program has set stays.
    gtk_widget_set_focusable(widget, TRUE);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), "file:///nonexistent/image.png");
    wait_until_idle(picture);
    web_image_view_set_uri(WEB_IMAGE_VIEW(picture), NULL);
    g_assert_false(press(picture, GDK_KEY_Return));
    g_assert_true(gtk_widget_get_focusable(widget));
    destroy(window);
}

static void a_paintable_has_the_size_of_its_image(void) {
    WebImagePaintable *paintable = web_image_paintable_new(uris[1]);
    int sizes = 0;
    g_signal_connect_swapped(paintable, "invalidate-size", G_CALLBACK(increment), &sizes);
    g_assert_cmpint(gdk_paintable_get_intrinsic_width(GDK_PAINTABLE(paintable)), ==, 0);
    while (web_image_view_get_loading(WEB_IMAGE_VIEW(paintable))) g_main_context_iteration(NULL, TRUE);
    g_assert_cmpint(gdk_paintable_get_intrinsic_width(GDK_PAINTABLE(paintable)), ==, widths[1]);
    g_assert_cmpint(sizes, >=, 1);
    GdkPaintable *image = gdk_paintable_get_current_image(GDK_PAINTABLE(paintable));
    g_assert_cmpint(gdk_paintable_get_intrinsic_width(image), ==, widths[1]);
    g_object_unref(image);
    g_object_add_weak_pointer(G_OBJECT(paintable), (gpointer *)&paintable);
    g_object_unref(paintable);
    g_assert_null(paintable);
}

static void pictures_are_released(void) {
    const int count = g_getenv("COUNT") == NULL ? 200 : atoi(g_getenv("COUNT")) / 100;
    for (int index = 0; index < count; index++) {
        GtkWidget *picture = g_object_ref_sink(web_image_picture_new_for_uri(uris[index % 2]));
        web_image_picture_set_lazy(WEB_IMAGE_PICTURE(picture), FALSE);
        g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)) || get_width(WEB_IMAGE_PICTURE(picture)) > 0);
        g_object_add_weak_pointer(G_OBJECT(picture), (gpointer *)&picture);
        g_object_unref(picture);
        g_assert_null(picture);
    }
    while (g_main_context_iteration(NULL, FALSE)) {}
}

// Of this process, in KiB.
static long resident(void) {
    char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
    char *second = strchr(text, ' ');
    const long pages = second == NULL ? 0 : atol(second);
    g_free(text);
    return pages * 4;
}

static void setting_and_unsetting_takes_no_memory(void) {
    const int count = g_getenv("COUNT") == NULL ? 2000 : atoi(g_getenv("COUNT"));
    GtkWidget *window;
    WebImagePicture *picture = new_picture(&window);
    long before = 0;
    for (int index = 0; index < count; index++) {
        web_image_view_set_uri(WEB_IMAGE_VIEW(picture), uris[index % 2]);
        g_assert_true(web_image_view_get_loading(WEB_IMAGE_VIEW(picture)) || get_width(picture) > 0);
        if (index % 10 == 0) wait_until_idle(picture);
        g_main_context_iteration(NULL, FALSE);
        web_image_view_set_uri(WEB_IMAGE_VIEW(picture), NULL);
        g_assert_cmpint(get_width(picture), ==, 0);
        if (index == count / 4) before = resident();
    }
    const long growth = resident() - before;
    g_test_message("%d times: %ld KiB more than after a quarter", count, growth);
    g_assert_cmpint(growth, <, 4096);
    destroy(window);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 3);
    for (int index = 0; index < 2; index++) uris[index] = g_filename_to_uri(argv[index + 1], NULL, NULL);
    if (!gtk_init_check()) return 77;
#define TEST(name) g_test_add_func("/widgets/" #name, name)
    TEST(a_picture_shows_the_image_of_its_uri);
    TEST(the_image_of_an_earlier_uri_never_appears);
    TEST(no_signal_is_of_an_earlier_uri);
    TEST(a_failure_has_a_code_and_a_sentence);
    TEST(a_placeholder_gives_the_size_until_the_image_has_one);
    TEST(one_paintable_may_be_placeholder_and_sign_of_failure);
    TEST(decoding_at_size_follows_the_size_request);
    TEST(a_disposed_picture_does_nothing);
    TEST(a_handler_may_destroy_the_window);
    TEST(a_handler_may_destroy_the_window_within_a_call);
    TEST(the_last_reference_may_go_on_another_thread);
    TEST(an_equal_value_changes_nothing);
    TEST(a_failed_picture_is_retried_with_a_key);
    TEST(a_paintable_has_the_size_of_its_image);
    TEST(pictures_are_released);
    TEST(setting_and_unsetting_takes_no_memory);
    const int status = g_test_run();
    for (int index = 0; index < 2; index++) g_free(uris[index]);
    return status;
}

// Tests of sessions without a display. The arguments are an image of 300 by 200 pixels, and an empty directory.
#include <webimage/webimage.h>

static char *uri;
static WebImageSession *session;

static void take_result(GObject *source, GAsyncResult *result, gpointer place) {
    (void)source;
    *(GAsyncResult **)place = g_object_ref(result);
}

static GAsyncResult *wait_for(GAsyncResult **result) {
    while (*result == NULL) g_main_context_iteration(NULL, TRUE);
    return *result;
}

static guint64 get_number(const char *name) {
    GAsyncResult *result = NULL;
    web_image_session_get_statistics_async(session, NULL, take_result, &result);
    GVariant *statistics = web_image_session_get_statistics_finish(session, wait_for(&result), NULL);
    guint64 value = G_MAXUINT64;
    g_assert_true(g_variant_lookup(statistics, name, "t", &value));
    g_variant_unref(statistics);
    g_object_unref(result);
    return value;
}

static void a_size_and_a_processor_apply(void) {
    WebImageProcessor *circle = web_image_processor_new_circle(), *grayscale = web_image_processor_new_grayscale();
    WebImageProcessor *chain = web_image_processor_new_chain((WebImageProcessor *[]){circle, grayscale}, 2);
    char *text = web_image_processor_to_string(chain);
    g_assert_true(g_str_has_prefix(text, "circle("));
    g_free(text);
    WebImageRequest *request = g_object_new(
        WEB_IMAGE_TYPE_REQUEST, "uri", uri, "width", 100, "height", 40, "content-fit", GTK_CONTENT_FIT_COVER,
        "processor", chain, NULL);
    g_assert_null(web_image_session_get_cached(session, request));
    GError *error = NULL;
    GdkTexture *texture = web_image_session_load(session, request, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(gdk_texture_get_width(texture), ==, 40);
    g_assert_cmpint(gdk_texture_get_height(texture), ==, 40);
    guchar pixels[40 * 40 * 4];
    gdk_texture_download(texture, pixels, 40 * 4);
    g_assert_cmpint(pixels[3], ==, 0);
    const guchar *middle = pixels + (20 * 40 + 20) * 4;
    g_assert_cmpint(middle[3], ==, 255);
    g_assert_cmpint(ABS(middle[0] - middle[2]), <=, 2);
    g_object_unref(texture);
    texture = web_image_session_get_cached(session, request);
    g_assert_nonnull(texture);
    g_object_unref(texture);
    g_object_unref(request);
    web_image_processor_unref(chain);
    web_image_processor_unref(grayscale);
    web_image_processor_unref(circle);
}

static void a_text_describes_processors(void) {
    GError *error = NULL;
    const struct {
        const char *text, *identifier;
        int width, height;
    } cases[] = {
        {"fill:60x60", NULL, 60, 60},
        {" grayscale , resize:30x\n", NULL, 30, 20},
        {"resize:x20", NULL, 30, 20},
        {"resize:60x60", NULL, 60, 40},
        {"resize:60x60:cover,tint:#3584e480,blur:1.5,rounded:12", NULL, 60, 60},
        {"resize:60x70:fill", NULL, 60, 70},
        {"resize:6000x6000:scale-down", NULL, 300, 200},
        {"circle", "circle(", 200, 200},
        {"", NULL, 300, 200},
    };
    for (gsize index = 0; index < G_N_ELEMENTS(cases); index++) {
        WebImageProcessor *processor = web_image_processor_new_from_string(cases[index].text, &error);
        g_assert_no_error(error);
        char *identifier = web_image_processor_to_string(processor);
        g_assert_true(g_str_has_prefix(identifier, cases[index].identifier == NULL ? "" : cases[index].identifier));
        g_free(identifier);
        WebImageRequest *request = g_object_new(WEB_IMAGE_TYPE_REQUEST, "uri", uri, "processor", processor, NULL);
        GdkTexture *texture = web_image_session_load(session, request, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(gdk_texture_get_width(texture), ==, cases[index].width);
        g_assert_cmpint(gdk_texture_get_height(texture), ==, cases[index].height);
        g_object_unref(texture);
        g_object_unref(request);
        web_image_processor_unref(processor);
    }
    // As the constructors make them.
    WebImageProcessor *parsed = web_image_processor_new_from_string("fill:8x9,blur:4", &error);
    WebImageProcessor *fill = web_image_processor_new_fill(8, 9), *blur = web_image_processor_new_blur(4);
    WebImageProcessor *made = web_image_processor_new_chain((WebImageProcessor *[]){fill, blur}, 2);
    char *parsed_text = web_image_processor_to_string(parsed), *made_text = web_image_processor_to_string(made);
    g_assert_cmpstr(parsed_text, ==, made_text);
    g_free(parsed_text);
    g_free(made_text);
    web_image_processor_unref(parsed);
    web_image_processor_unref(made);
    web_image_processor_unref(fill);
    web_image_processor_unref(blur);
}

static void an_invalid_text_says_what_to_write(void) {
    char long_text[2000], many[200] = "circle";
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    for (int count = 0; count < 16; count++) strcat(many, ",circle");
    const char *cases[][2] = {
        {"blurr:4", "*'blurr'*resize, fill, rounded, circle, blur, grayscale or tint*"},
        {"circle,,blur:4", "*''*commas*"},
        {"fill:300", "'fill:300'*300x200*"},
        {"fill:300x", "*300x200*"},
        {"fill:0x10", "*300x200*"},
        {"fill:1.5x10", "*300x200*"},
        {"fill:-1x10", "*300x200*"},
        {"fill:65536x10", "*300x200*"},
        {"fill:1x2x3", "*300x200*"},
        {"resize:x", "*300x or x200*"},
        {"resize:1x1:tight", "*scale-down*"},
        {"resize:1x1:fill:fill", "*scale-down*"},
        {"blur", "*radius from 0 to 65535*"},
        {"blur:1e3", "*radius*"},
        {"blur:nan", "*radius*"},
        {"rounded:0x10", "*radius*"},
        {"rounded:70000", "*radius*"},
        {"circle:4", "*circle takes no value*"},
        {"grayscale:", "*grayscale takes no value*"},
        {"tint:no color", "*#3584e4*"},
        {long_text, "*at most 1024 bytes, not 1999*"},
        {many, "*at most 16 processors, not 17*"},
        {"\xff\xfe", "*there is no processor*"},
    };
    for (gsize index = 0; index < G_N_ELEMENTS(cases); index++) {
        GError *error = NULL;
        g_assert_null(web_image_processor_new_from_string(cases[index][0], &error));
        g_assert_error(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_PROCESSING);
        if (!g_pattern_match_simple(cases[index][1], error->message)) g_error("'%s': %s", cases[index][0], error->message);
        g_clear_error(&error);
    }
    g_assert_null(web_image_processor_new_from_string("blurr", NULL));
}

static void a_request_has_its_processor_as_a_text(void) {
    WebImageRequest *request = web_image_request_new(uri);
    web_image_request_set_processing(request, "fill:40x30");
    g_assert_nonnull(web_image_request_get_processor(request));
    GdkTexture *texture = web_image_session_load(session, request, NULL, NULL);
    g_assert_cmpint(gdk_texture_get_width(texture), ==, 40);
    g_object_unref(texture);
    // The last one that is set applies.
    WebImageProcessor *circle = web_image_processor_new_circle();
    web_image_request_set_processor(request, circle);
    g_assert_null(web_image_request_get_processing(request));
    web_image_request_set_processing(request, NULL);
    g_assert_true(web_image_request_get_processor(request) == circle);
    web_image_processor_unref(circle);
    g_test_expect_message("WebImage", G_LOG_LEVEL_WARNING, "*'blurr'*");
    web_image_request_set_processing(request, "blurr:4");
    g_test_assert_expected_messages();
    g_assert_null(web_image_request_get_processing(request));
    g_assert_null(web_image_request_get_processor(request));
    g_object_unref(request);
}

static void a_cancelled_load_says_so(void) {
    WebImageRequest *request = web_image_request_new("http://127.0.0.1:9/never");
    for (int is_early = 0; is_early < 2; is_early++) {
        GCancellable *cancellable = g_cancellable_new();
        if (is_early) g_cancellable_cancel(cancellable);
        const guint64 requests = get_number("requests");
        GAsyncResult *result = NULL;
        web_image_session_load_async(session, request, cancellable, take_result, &result);
        g_cancellable_cancel(cancellable);
        g_assert_null(result);
        GError *error = NULL;
        g_assert_null(web_image_session_load_finish(session, wait_for(&result), &error));
        g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
        g_clear_error(&error);
        // Nothing is loaded after an early cancellation.
        g_assert_cmpuint(get_number("requests") - requests, ==, is_early ? 0 : 1);
        g_object_unref(result);
        g_object_unref(cancellable);
    }
    g_object_unref(request);
}

static void bytes_are_those_of_the_file(void) {
    WebImageRequest *request = web_image_request_new(uri);
    GAsyncResult *result = NULL;
    web_image_session_load_bytes_async(session, request, NULL, take_result, &result);
    GError *error = NULL;
    GBytes *bytes = web_image_session_load_bytes_finish(session, wait_for(&result), &error);
    g_assert_no_error(error);
    char *path = g_filename_from_uri(uri, NULL, NULL), *contents = NULL;
    gsize length = 0;
    g_assert_true(g_file_get_contents(path, &contents, &length, NULL));
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), contents, length);
    g_free(contents);
    g_free(path);
    g_bytes_unref(bytes);
    g_object_unref(result);
    g_object_unref(request);
}

static GFile *load_file(WebImageRequest *request, const char *format, GError **error) {
    GAsyncResult *result = NULL;
    web_image_session_load_file_async(session, request, format, NULL, take_result, &result);
    GFile *file = web_image_session_load_file_finish(session, wait_for(&result), error);
    g_object_unref(result);
    return file;
}

static void clear_disk(void) {
    GAsyncResult *result = NULL;
    web_image_session_clear_async(session, FALSE, TRUE, NULL, take_result, &result);
    g_assert_true(web_image_session_clear_finish(session, wait_for(&result), NULL));
    g_object_unref(result);
}

static void a_file_stays_as_long_as_its_object(void) {
    WebImageRequest *request = web_image_request_new(uri);
    GError *error = NULL;
    GFile *file = load_file(request, NULL, &error);
    g_assert_no_error(error);
    char *path = g_filename_from_uri(uri, NULL, NULL), *contents = NULL, *copy = NULL;
    gsize length = 0, copied = 0;
    g_assert_true(g_file_get_contents(path, &contents, &length, NULL));
    clear_disk();
    g_assert_true(g_file_load_contents(file, NULL, &copy, &copied, NULL, &error));
    g_assert_no_error(error);
    g_assert_cmpmem(copy, copied, contents, length);
    g_object_unref(file);
    g_free(copy);
    g_free(contents);
    g_free(path);
    g_object_unref(request);
}

static void a_file_has_the_size_and_the_format(void) {
    WebImageRequest *request = web_image_request_new_sized(uri, 30, 20);
    GError *error = NULL;
    GFile *file = load_file(request, "webp", &error);
    g_assert_no_error(error);
    char *address = g_file_get_uri(file);
    g_assert_true(g_str_has_suffix(address, ".webp"));
    WebImageRequest *second = web_image_request_new(address);
    GdkTexture *texture = web_image_session_load(session, second, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(gdk_texture_get_width(texture), ==, 30);
    g_object_unref(texture);
    g_object_unref(second);
    g_free(address);
    g_object_unref(file);
    g_assert_null(load_file(request, "bogus", &error));
    g_assert_error(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_ENCODING);
    g_clear_error(&error);
    g_object_unref(request);
}

static void what_is_prefetched_can_be_removed_and_cleared(void) {
    // An image of one pixel.
    static const char *const other =
        "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=";
    WebImageRequest *requests[] = {
        web_image_request_new_sized(uri, 50, 0), web_image_request_new(other),
        web_image_request_new("file:///nonexistent.png"), web_image_request_new("nonsense"),
    };
    GAsyncResult *result = NULL;
    web_image_session_prefetch_async(session, requests, G_N_ELEMENTS(requests), NULL, take_result, &result);
    GError *error = NULL;
    g_assert_cmpint(web_image_session_prefetch_finish(session, wait_for(&result), &error), ==, 2);
    g_assert_no_error(error);
    g_clear_object(&result);
    g_assert_cmpuint(get_number("memory-bytes"), >, 0);
    g_assert_cmpuint(get_number("failures"), >=, 1);
    GdkTexture *texture = web_image_session_get_cached(session, requests[0]);
    g_assert_nonnull(texture);
    g_object_unref(texture);
    web_image_session_remove_async(session, requests[0], NULL, take_result, &result);
    g_assert_true(web_image_session_remove_finish(session, wait_for(&result), &error));
    g_clear_object(&result);
    g_assert_null(web_image_session_get_cached(session, requests[0]));
    web_image_session_clear_async(session, TRUE, TRUE, NULL, take_result, &result);
    g_assert_true(web_image_session_clear_finish(session, wait_for(&result), &error));
    g_clear_object(&result);
    g_assert_null(web_image_session_get_cached(session, requests[1]));
    g_assert_cmpuint(get_number("memory-bytes"), ==, 0);
    for (gsize index = 0; index < G_N_ELEMENTS(requests); index++) g_object_unref(requests[index]);
}

static void limits_apply(void) {
    web_image_session_set_memory_limit(session, 1 << 20);
    g_assert_cmpuint(get_number("memory-limit"), ==, 1 << 20);
    web_image_session_set_memory_limit(session, 0);
    g_assert_cmpuint(get_number("memory-limit"), >, 1 << 20);
}

// What a thread with a main loop of its own does.
static gpointer load_in_thread(gpointer data) {
    (void)data;
    GMainContext *context = g_main_context_new();
    g_main_context_push_thread_default(context);
    for (int index = 1; index <= 20; index++) {
        WebImageRequest *request = web_image_request_new_sized(uri, index, 0);
        GAsyncResult *result = NULL;
        web_image_session_load_async(session, request, NULL, take_result, &result);
        while (result == NULL) g_main_context_iteration(context, TRUE);
        GdkTexture *texture = web_image_session_load_finish(session, result, NULL);
        g_assert_cmpint(gdk_texture_get_width(texture), ==, index);
        g_object_unref(texture);
        g_object_unref(result);
        g_object_unref(request);
    }
    g_main_context_pop_thread_default(context);
    g_main_context_unref(context);
    return NULL;
}

static void each_thread_is_called_in_its_own_context(void) {
    GThread *threads[4];
    for (gsize index = 0; index < G_N_ELEMENTS(threads); index++) threads[index] = g_thread_new("load", load_in_thread, NULL);
    for (gsize index = 0; index < G_N_ELEMENTS(threads); index++) g_thread_join(threads[index]);
}

static void a_server_session_reads_no_files(void) {
    WebImageSession *server = g_object_new(WEB_IMAGE_TYPE_SESSION, "policy", WEB_IMAGE_POLICY_SERVER, NULL);
    g_assert_true(g_str_has_suffix(web_image_session_get_cache_directory(server), "/server-images"));
    WebImageRequest *request = web_image_request_new(uri);
    GError *error = NULL;
    g_assert_null(web_image_session_load(server, request, NULL, &error));
    g_assert_error(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_UNSUPPORTED_SCHEME);
    g_clear_error(&error);
    web_image_request_set_uri(request, "http://127.0.0.1:9/image.png");
    g_assert_null(web_image_session_load(server, request, NULL, &error));
    g_assert_error(error, WEB_IMAGE_ERROR, WEB_IMAGE_ERROR_BLOCKED);
    g_clear_error(&error);
    g_object_unref(request);
    g_object_unref(server);
}

static void the_location_of_a_shared_cache_must_be_valid(void) {
    g_test_expect_message("WebImage", G_LOG_LEVEL_WARNING, "*no shared cache*");
    WebImageSession *shared = g_object_new(WEB_IMAGE_TYPE_SESSION, "shared-cache", "nonsense", NULL);
    web_image_session_set_memory_limit(shared, 1);
    WebImageRequest *request = web_image_request_new(uri);
    GdkTexture *texture = web_image_session_load(shared, request, NULL, NULL);
    g_test_assert_expected_messages();
    g_assert_nonnull(texture);
    g_object_unref(texture);
    g_object_unref(request);
    g_object_unref(shared);
}

static void a_header_needs_a_colon(void) {
    WebImageRequest *request = web_image_request_new(uri);
    g_test_expect_message("WebImage", G_LOG_LEVEL_WARNING, "*no colon*");
    web_image_request_set_headers(request, (const char *const[]){"Accept-Language: de", "nonsense", NULL});
    g_test_assert_expected_messages();
    g_assert_cmpstr(web_image_request_get_headers(request)[0], ==, "Accept-Language: de");
    g_object_unref(request);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 3);
    uri = g_filename_to_uri(argv[1], NULL, NULL);
    session = g_object_new(WEB_IMAGE_TYPE_SESSION, "cache-directory", argv[2], "disk-limit", (guint64)64 << 20, NULL);
#define TEST(name) g_test_add_func("/sessions/" #name, name)
    TEST(a_size_and_a_processor_apply);
    TEST(a_text_describes_processors);
    TEST(an_invalid_text_says_what_to_write);
    TEST(a_request_has_its_processor_as_a_text);
    TEST(a_cancelled_load_says_so);
    TEST(what_is_prefetched_can_be_removed_and_cleared);
    TEST(bytes_are_those_of_the_file);
    TEST(a_file_stays_as_long_as_its_object);
    TEST(a_file_has_the_size_and_the_format);
    TEST(limits_apply);
    TEST(each_thread_is_called_in_its_own_context);
    TEST(a_server_session_reads_no_files);
    TEST(the_location_of_a_shared_cache_must_be_valid);
    TEST(a_header_needs_a_colon);
    const int status = g_test_run();
    g_object_unref(session);
    g_free(uri);
    return status;
}

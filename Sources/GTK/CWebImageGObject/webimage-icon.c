#include "paintable-private.h"
#include "view-private.h"
#include "request-private.h"
#include "session-private.h"

// WebImagePaintable as an icon: another way to show the image, for code that takes a GIcon. Two paintables are equal icons if they are for
// the same image at the same size.

// Of the text of an icon: URI, width, height and processing.
enum { TOKEN_VERSION = 1, TOKEN_COUNT = 4 };

static WebImageRequest *get_request(gconstpointer icon) {
    return image_slot_of(WEB_IMAGE_VIEW((gpointer)icon))->request;
}

static WebImageSession *get_session(gconstpointer icon) {
    ImageSlot *slot = image_slot_of(WEB_IMAGE_VIEW((gpointer)icon));
    return slot->session == NULL ? web_image_session_get_default() : slot->session;
}

// MARK: GIcon

static guint icon_hash(GIcon *icon) {
    WebImageRequest *request = get_request(icon);
    if (request == NULL) return 0;
    const char *uri = web_image_request_get_uri(request);
    if (uri != NULL) return g_str_hash(uri);
    GFile *file = web_image_request_get_file(request);
    if (file != NULL) return g_file_hash(file);
    GBytes *bytes = web_image_request_get_bytes(request);
    return bytes == NULL ? g_direct_hash(web_image_request_get_stream(request)) : g_bytes_hash(bytes);
}

static gboolean have_equal_sources(WebImageRequest *first, WebImageRequest *second) {
    GFile *file = web_image_request_get_file(first), *other_file = web_image_request_get_file(second);
    GBytes *bytes = web_image_request_get_bytes(first), *other_bytes = web_image_request_get_bytes(second);
    if ((file == NULL) != (other_file == NULL) || (bytes == NULL) != (other_bytes == NULL)) return FALSE;
    return g_strcmp0(web_image_request_get_uri(first), web_image_request_get_uri(second)) == 0 &&
           (file == NULL || g_file_equal(file, other_file)) && (bytes == NULL || g_bytes_equal(bytes, other_bytes)) &&
           web_image_request_get_stream(first) == web_image_request_get_stream(second);
}

static gboolean have_equal_headers(WebImageRequest *first, WebImageRequest *second) {
    const char *const *fields = web_image_request_get_headers(first), *const *others = web_image_request_get_headers(second);
    return fields == others || (fields != NULL && others != NULL && g_strv_equal(fields, others));
}

static gboolean icon_equal(GIcon *icon, GIcon *other) {
    if (!WEB_IMAGE_IS_PAINTABLE(icon) || !WEB_IMAGE_IS_PAINTABLE(other)) return FALSE;
    WebImageRequest *first = get_request(icon), *second = get_request(other);
    if (first == NULL || second == NULL) return first == second;
    const gboolean have_equal_processors =
        web_image_request_get_processor(first) == web_image_request_get_processor(second) ||
        (web_image_request_get_processing(first) != NULL &&
         g_strcmp0(web_image_request_get_processing(first), web_image_request_get_processing(second)) == 0);
    return get_session(icon) == get_session(other) && have_equal_sources(first, second) && have_equal_processors &&
           have_equal_headers(first, second) &&
           web_image_request_get_width(first) == web_image_request_get_width(second) &&
           web_image_request_get_height(first) == web_image_request_get_height(second);
}

// Only what a text can name has one. Header fields are not in it, because they may be secret.
static gboolean icon_to_tokens(GIcon *icon, GPtrArray *tokens, int *version) {
    WebImageRequest *request = get_request(icon);
    if (request == NULL || web_image_request_get_uri(request) == NULL || web_image_request_get_headers(request) != NULL) {
        return FALSE;
    }
    const char *processing = web_image_request_get_processing(request);
    if (processing == NULL && web_image_request_get_processor(request) != NULL) return FALSE;
    *version = TOKEN_VERSION;
    g_ptr_array_add(tokens, g_strdup(web_image_request_get_uri(request)));
    g_ptr_array_add(tokens, g_strdup_printf("%d", web_image_request_get_width(request)));
    g_ptr_array_add(tokens, g_strdup_printf("%d", web_image_request_get_height(request)));
    g_ptr_array_add(tokens, g_strdup(processing == NULL ? "" : processing));
    return TRUE;
}

static gboolean read_size(const char *token, int *size) {
    guint64 number = 0;
    if (!g_ascii_string_to_unsigned(token, 10, 0, G_MAXUINT16, &number, NULL)) return FALSE;
    *size = (int)number;
    return TRUE;
}

static GIcon *icon_from_tokens(char **tokens, int token_count, int version, GError **error) {
    int width = 0, height = 0;
    WebImageProcessor *processor = NULL;
    if (version != TOKEN_VERSION || token_count != TOKEN_COUNT || !read_size(tokens[1], &width) ||
        !read_size(tokens[2], &height)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "The text is not that of a WebImagePaintable");
        return NULL;
    }
    const char *processing = tokens[3][0] == '\0' ? NULL : tokens[3];
    if (processing != NULL) {
        processor = web_image_processor_new_from_string(processing, error);
        if (processor == NULL) return NULL;
        web_image_processor_unref(processor);
    }
    return g_object_new(
        WEB_IMAGE_TYPE_PAINTABLE, "uri", tokens[0], "width", width, "height", height, "processing", processing, NULL);
}

// As an icon that programs without this library know.
static GVariant *icon_serialize(GIcon *icon) {
    WebImageRequest *request = get_request(icon);
    if (request == NULL) return NULL;
    GBytes *bytes = web_image_request_get_bytes(request);
    GFile *file = web_image_request_get_file(request);
    const char *uri = web_image_request_get_uri(request);
    GIcon *plain = NULL;
    if (bytes != NULL) {
        plain = g_bytes_icon_new(bytes);
    } else if (file != NULL) {
        plain = g_file_icon_new(file);
    } else if (uri != NULL) {
        GFile *address = g_file_new_for_uri(uri);
        plain = g_file_icon_new(address);
        g_object_unref(address);
    }
    if (plain == NULL) return NULL;
    GVariant *value = g_icon_serialize(plain);
    g_object_unref(plain);
    return value;
}

void web_image_paintable_implement_icon(GIconIface *interface) {
    interface->hash = icon_hash;
    interface->equal = icon_equal;
    interface->to_tokens = icon_to_tokens;
    interface->from_tokens = icon_from_tokens;
    interface->serialize = icon_serialize;
}

// MARK: GLoadableIcon

// Takes over the file. It may be removed once it is open.
static GInputStream *open_file(GFile *file, char **type, GError **error) {
    if (file == NULL) return NULL;
    GFileInputStream *stream = g_file_read(file, NULL, error);
    if (stream != NULL && type != NULL) *type = g_strdup(g_object_get_data(G_OBJECT(file), "webimage-content-type"));
    g_object_unref(file);
    return stream == NULL ? NULL : G_INPUT_STREAM(stream);
}

static gboolean check_is_open(WebImageRequest *request, GError **error) {
    if (request != NULL) return TRUE;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_CLOSED, "The paintable was disposed of");
    return FALSE;
}

static GInputStream *icon_load(
    GLoadableIcon *icon, int size G_GNUC_UNUSED, char **type, GCancellable *cancellable, GError **error) {
    WebImageRequest *request = get_request(icon);
    if (!check_is_open(request, error)) return NULL;
    return open_file(web_image_session_load_icon(get_session(icon), request, cancellable, error), type, error);
}

static void icon_loaded(GObject *session, GAsyncResult *result, gpointer task) {
    GError *error = NULL;
    GFile *file = web_image_session_load_icon_finish(WEB_IMAGE_SESSION(session), result, &error);
    if (file == NULL) {
        g_task_return_error(task, error);
    } else {
        g_task_return_pointer(task, file, g_object_unref);
    }
    g_object_unref(task);
}

static void icon_load_async(
    GLoadableIcon *icon, int size G_GNUC_UNUSED, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    GTask *task = g_task_new(icon, cancellable, callback, user_data);
    g_task_set_source_tag(task, icon_load_async);
    GError *error = NULL;
    WebImageRequest *request = get_request(icon);
    if (!check_is_open(request, &error)) {
        g_task_return_error(task, error);
        g_object_unref(task);
        return;
    }
    web_image_session_load_icon_async(get_session(icon), request, cancellable, icon_loaded, task);
}

static GInputStream *icon_load_finish(GLoadableIcon *icon, GAsyncResult *result, char **type, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, icon), NULL);
    return open_file(g_task_propagate_pointer(G_TASK(result), error), type, error);
}

void web_image_paintable_implement_loadable_icon(GLoadableIconIface *interface) {
    interface->load = icon_load;
    interface->load_async = icon_load_async;
    interface->load_finish = icon_load_finish;
}

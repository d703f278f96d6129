#include "error-private.h"
#include "load-private.h"
#include "request-private.h"
#include "session-private.h"

// The asynchronous functions of sessions. Each is a GTask, which calls back in the context of the caller. The bridge ends it on any
// thread. A cancellation comes from a source in that context, so that it never waits for, or runs inside, the end.

// What the task has of the work in the library.
typedef struct {
    WebImageBridgeLoad *load;
    GSource *cancelling;
} Work;

static void work_free(gpointer data) {
    Work *work = data;
    webimage_bridge_release(work->load);
    if (work->cancelling != NULL) {
        g_source_destroy(work->cancelling);
        g_source_unref(work->cancelling);
    }
    g_free(work);
}

static gboolean work_cancel(GCancellable *cancellable G_GNUC_UNUSED, gpointer load) {
    webimage_bridge_load_cancel(load);
    return G_SOURCE_REMOVE;
}

// Takes over the load. Its end may have come already, on another thread, and releases its own reference to the task.
static void task_begin(GTask *task, WebImageBridgeLoad *load) {
    Work *work = g_new0(Work, 1);
    work->load = load;
    GCancellable *cancellable = g_task_get_cancellable(task);
    if (cancellable != NULL) {
        webimage_bridge_retain(load);
        work->cancelling = g_cancellable_source_new(cancellable);
        g_source_set_callback(
            work->cancelling, G_SOURCE_FUNC(work_cancel), load, (GDestroyNotify)webimage_bridge_release);
        g_source_set_priority(work->cancelling, g_task_get_priority(task));
        g_source_attach(work->cancelling, g_task_get_context(task));
    }
    g_task_set_task_data(task, work, work_free);
    g_object_unref(task);
}

static GTask *task_new(
    WebImageSession *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data, gpointer tag) {
    GTask *task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, tag);
    return task;
}

// Returns NULL after a task of an operation that is cancelled already, which has ended.
static GTask *task_new_unless_cancelled(
    WebImageSession *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data, gpointer tag) {
    GTask *task = task_new(self, cancellable, callback, user_data, tag);
    if (g_task_return_error_if_cancelled(task)) g_clear_object(&task);
    return task;
}

// Ends a task with the error, if there is one. Returns whether there is.
static gboolean task_fail(GTask *task, const WebImageBridgeError *error) {
    if (error == NULL) return FALSE;
    g_task_return_error(task, web_image_error_new(error));
    return TRUE;
}

static void end_with_object(gpointer task, gpointer object, const WebImageBridgeError *error) {
    if (!task_fail(task, error)) g_task_return_pointer(task, object, g_object_unref);
    g_object_unref(task);
}

static void end_with_bytes(gpointer task, gpointer bytes, const WebImageBridgeError *error) {
    if (!task_fail(task, error)) g_task_return_pointer(task, bytes, (GDestroyNotify)g_bytes_unref);
    g_object_unref(task);
}

static void end_with_count(gpointer task, gpointer count, const WebImageBridgeError *error) {
    if (!task_fail(task, error)) g_task_return_int(task, (gssize)GPOINTER_TO_SIZE(count));
    g_object_unref(task);
}

static void end_without_value(gpointer task, gpointer value G_GNUC_UNUSED, const WebImageBridgeError *error) {
    if (!task_fail(task, error)) g_task_return_boolean(task, TRUE);
    g_object_unref(task);
}

static void end_with_statistics(gpointer task, gpointer value, const WebImageBridgeError *error) {
    if (!task_fail(task, error)) g_task_return_pointer(task, value, g_free);
    g_object_unref(task);
}

static void begin_load(
    WebImageSession *self, const WebImageBridgeRequest *wanted, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    GTask *task = task_new_unless_cancelled(self, cancellable, callback, user_data, web_image_session_load_async);
    if (task == NULL) return;
    task_begin(
        task, webimage_bridge_session_load(
                  web_image_session_get_handle(self), wanted, end_with_object, g_object_ref(task)));
}

/**
 * web_image_session_load_async:
 * @self: a session
 * @request: what to load
 * @cancellable: (nullable): cancels the load
 * @callback: (scope async): called when the load has ended
 * @user_data: passed to @callback
 *
 * Loads an image.
 *
 * Since: 0.2
 */
void web_image_session_load_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(request));
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    begin_load(self, &wanted, cancellable, callback, user_data);
}

/**
 * web_image_session_load_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why there is no image
 *
 * Finishes web_image_session_load_async().
 *
 * Returns: (transfer full): the image. Of an animation, the first frame
 *
 * Since: 0.2
 */
GdkTexture *web_image_session_load_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

// MARK: Waiting

// The end of an asynchronous function that this thread waits for, under a context of its own.
typedef struct {
    GMainContext *context;
    GAsyncResult *result;
} Wait;

static Wait wait_begin(void) {
    Wait wait = {.context = g_main_context_new()};
    g_main_context_push_thread_default(wait.context);
    return wait;
}

static void wait_take_result(GObject *source G_GNUC_UNUSED, GAsyncResult *result, gpointer wait) {
    ((Wait *)wait)->result = g_object_ref(result);
}

static void wait_until_done(Wait *wait) {
    while (wait->result == NULL) g_main_context_iteration(wait->context, TRUE);
}

static void wait_end(Wait *wait) {
    g_object_unref(wait->result);
    g_main_context_pop_thread_default(wait->context);
    g_main_context_unref(wait->context);
}

static gboolean needs_server(WebImageRequest *request) {
    GFile *file = web_image_request_get_file(request);
    const char *uri = web_image_request_get_uri(request);
    char *scheme = file != NULL ? g_file_get_uri_scheme(file) : uri != NULL ? g_uri_parse_scheme(uri) : NULL;
    static const char *const others[] = {"file", "resource", "data", NULL};
    const gboolean result = scheme != NULL && !g_strv_contains(others, scheme);
    g_free(scheme);
    return result;
}

/**
 * web_image_session_load:
 * @self: a session
 * @request: what to load
 * @cancellable: (nullable): cancels the load
 * @error: why there is no image
 *
 * Loads an image, and waits for it. Programs with a user interface use [method@Session.load_async].
 *
 * On the main thread, an image that a handler of [signal@Session::load-requested] would load comes from the caches only: the handler runs on
 * that thread, which waits.
 *
 * Returns: (transfer full): the image. Of an animation, the first frame
 *
 * Since: 0.2
 */
GdkTexture *web_image_session_load(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GError **error) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(request), NULL);
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    if (web_image_load_is_main_thread() && web_image_load_has_handler(self, wanted.uri)) {
        wanted.cache_policy = WEB_IMAGE_CACHE_POLICY_CACHE_ONLY;
    }
    Wait wait = wait_begin();
    begin_load(self, &wanted, cancellable, wait_take_result, &wait);
    wait_until_done(&wait);
    GdkTexture *texture = web_image_session_load_finish(self, wait.result, error);
    wait_end(&wait);
    return texture;
}

/**
 * web_image_session_load_bytes_async:
 * @self: a session
 * @request: what to load. Its size and processor do not matter
 * @cancellable: (nullable): cancels the load
 * @callback: (scope async): called when the load has ended
 * @user_data: passed to @callback
 *
 * Loads a file of any kind through the caches, without decoding it.
 *
 * Since: 0.2
 */
void web_image_session_load_bytes_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(request));
    GTask *task = task_new_unless_cancelled(self, cancellable, callback, user_data, web_image_session_load_bytes_async);
    if (task == NULL) return;
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    task_begin(
        task, webimage_bridge_session_load_bytes(
                  web_image_session_get_handle(self), &wanted, end_with_bytes, g_object_ref(task)));
}

/**
 * web_image_session_load_bytes_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why there are no bytes
 *
 * Finishes web_image_session_load_bytes_async().
 *
 * Returns: (transfer full): the bytes of the file
 *
 * Since: 0.2
 */
GBytes *web_image_session_load_bytes_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_image_session_load_file_async:
 * @self: a session
 * @request: what to load
 * @format: (nullable): the format of the file, such as `png` or `jpeg`; %NULL for that of the original
 * @cancellable: (nullable): cancels the load
 * @callback: (scope async): called when the load has ended
 * @user_data: passed to @callback
 *
 * Loads an image into a file, for programs that take a path or an address, such as players with `mpris:artUrl`.
 *
 * The file has the original bytes if @request has no size and no processor, and @format is %NULL or that of the original. Otherwise the
 * image is encoded.
 *
 * Since: 0.3
 */
void web_image_session_load_file_async(
    WebImageSession *self, WebImageRequest *request, const char *format, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(request));
    GTask *task = task_new_unless_cancelled(self, cancellable, callback, user_data, web_image_session_load_file_async);
    if (task == NULL) return;
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    task_begin(
        task, webimage_bridge_session_load_file(
                  web_image_session_get_handle(self), &wanted, format, end_with_object, g_object_ref(task)));
}

/**
 * web_image_session_load_file_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why there is no file
 *
 * Finishes web_image_session_load_file_async().
 *
 * The file is a copy in the cache directory; do not write to it. It stays at its path as long as the returned object exists (a duplicate
 * does not count), and afterwards until it was not used for 7 days, until such files take more than 256 MiB, or until the images on disk
 * are cleared.
 *
 * Returns: (transfer full): the file
 *
 * Since: 0.3
 */
GFile *web_image_session_load_file_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_image_session_prefetch_async:
 * @self: a session
 * @requests: (array length=n_requests) (transfer none): what to load
 * @n_requests: the number of requests
 * @cancellable: (nullable): cancels the loads that have not ended
 * @callback: (scope async) (nullable): called when all have ended
 * @user_data: passed to @callback
 *
 * Loads images that will be needed soon into the caches. A few load at once, with a low priority.
 *
 * Use the same sizes and processors as for showing them, because another size is another image.
 *
 * Since: 0.2
 */
void web_image_session_prefetch_async(
    WebImageSession *self, WebImageRequest **requests, gsize n_requests, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    g_return_if_fail(requests != NULL || n_requests == 0);
    for (gsize index = 0; index < n_requests; index++) g_return_if_fail(WEB_IMAGE_IS_REQUEST(requests[index]));
    GTask *task = task_new_unless_cancelled(self, cancellable, callback, user_data, web_image_session_prefetch_async);
    if (task == NULL) return;
    WebImageBridgeRequest *wanted = g_new(WebImageBridgeRequest, n_requests);
    for (gsize index = 0; index < n_requests; index++) wanted[index] = web_image_request_describe(requests[index]);
    task_begin(
        task, webimage_bridge_session_prefetch(
                  web_image_session_get_handle(self), wanted, n_requests, end_with_count, g_object_ref(task)));
    g_free(wanted);
}

/**
 * web_image_session_prefetch_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why nothing was loaded. A load that fails does not cause an error
 *
 * Finishes web_image_session_prefetch_async().
 *
 * Returns: the number of different images that are cached now; -1 after an error
 *
 * Since: 0.2
 */
gssize web_image_session_prefetch_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), -1);
    return g_task_propagate_int(G_TASK(result), error);
}

/**
 * web_image_session_get_cached:
 * @self: a session
 * @request: an image
 *
 * Returns an image if it is in memory. This does not block.
 *
 * Returns: (transfer full) (nullable): the image
 *
 * Since: 0.2
 */
GdkTexture *web_image_session_get_cached(WebImageSession *self, WebImageRequest *request) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(request), NULL);
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    return webimage_bridge_session_cached(web_image_session_get_handle(self), &wanted);
}

/**
 * web_image_session_remove_async:
 * @self: a session
 * @request: an image
 * @cancellable: (nullable): ignores the result
 * @callback: (scope async) (nullable): called when the image is removed
 * @user_data: passed to @callback
 *
 * Removes an image from the caches: the original on disk, and the image of this size and processor in memory.
 *
 * Since: 0.2
 */
void web_image_session_remove_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(request));
    GTask *task = task_new(self, cancellable, callback, user_data, web_image_session_remove_async);
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    webimage_bridge_session_remove(web_image_session_get_handle(self), &wanted, end_without_value, task);
}

/**
 * web_image_session_remove_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why nothing was removed
 *
 * Finishes web_image_session_remove_async().
 *
 * Returns: whether the image is removed
 *
 * Since: 0.2
 */
gboolean web_image_session_remove_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
    return g_task_propagate_boolean(G_TASK(result), error);
}

/**
 * web_image_session_clear_async:
 * @self: a session
 * @memory: whether images in memory are removed
 * @disk: whether images on disk are removed
 * @cancellable: (nullable): ignores the result
 * @callback: (scope async) (nullable): called when the images are removed
 * @user_data: passed to @callback
 *
 * Removes all images from the caches. Widgets keep the images on display.
 *
 * Since: 0.2
 */
void web_image_session_clear_async(
    WebImageSession *self, gboolean memory, gboolean disk, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    GTask *task = task_new(self, cancellable, callback, user_data, web_image_session_clear_async);
    webimage_bridge_session_clear(web_image_session_get_handle(self), memory, disk, end_without_value, task);
}

/**
 * web_image_session_clear_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why the result is not known
 *
 * Finishes web_image_session_clear_async().
 *
 * Returns: whether the images are removed
 *
 * Since: 0.2
 */
gboolean web_image_session_clear_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
    return g_task_propagate_boolean(G_TASK(result), error);
}

/**
 * web_image_session_get_statistics_async:
 * @self: a session
 * @cancellable: (nullable): ignores the result
 * @callback: (scope async): called with the result
 * @user_data: passed to @callback
 *
 * Finds out what the session has done, and the size of its caches.
 *
 * Since: 0.2
 */
void web_image_session_get_statistics_async(
    WebImageSession *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    GTask *task = task_new(self, cancellable, callback, user_data, web_image_session_get_statistics_async);
    webimage_bridge_session_statistics(web_image_session_get_handle(self), end_with_statistics, task);
}

/**
 * web_image_session_get_statistics_finish:
 * @self: a session
 * @result: what the callback got
 * @error: why the result is not known
 *
 * Finishes web_image_session_get_statistics_async().
 *
 * The result is a dictionary of numbers, of type `a{st}`:
 *
 * - `requests`: loads that were requested since the session was made
 * - `memory-hits`, `disk-hits`, `loads`: images from memory, from disk, and from their server
 * - `failures`, `cancellations`: loads that ended without an image
 * - `memory-bytes`, `memory-limit`, `disk-bytes`: the sizes of the caches
 *
 * Returns: (transfer full): the numbers
 *
 * Since: 0.2
 */
GVariant *web_image_session_get_statistics_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    WebImageBridgeStatistics *statistics = g_task_propagate_pointer(G_TASK(result), error);
    if (statistics == NULL) return NULL;
    const struct {
        const char *name;
        guint64 value;
    } entries[] = {
        {"requests", statistics->requests},           {"memory-hits", statistics->memory_hits},
        {"disk-hits", statistics->disk_hits},         {"loads", statistics->loads},
        {"failures", statistics->failures},           {"cancellations", statistics->cancellations},
        {"memory-bytes", statistics->memory_bytes},   {"memory-limit", statistics->memory_limit},
        {"disk-bytes", statistics->disk_bytes},
    };
    GVariantBuilder builder = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE("a{st}"));
    for (gsize index = 0; index < G_N_ELEMENTS(entries); index++) {
        g_variant_builder_add(&builder, "{st}", entries[index].name, entries[index].value);
    }
    g_free(statistics);
    return g_variant_ref_sink(g_variant_builder_end(&builder));
}

// MARK: Icons

static void begin_load_icon(
    WebImageSession *self, const WebImageBridgeRequest *wanted, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    GTask *task = task_new_unless_cancelled(self, cancellable, callback, user_data, web_image_session_load_icon_async);
    if (task == NULL) return;
    task_begin(
        task, webimage_bridge_session_load_icon(
                  web_image_session_get_handle(self), wanted, end_with_object, g_object_ref(task)));
}

void web_image_session_load_icon_async(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data) {
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    begin_load_icon(self, &wanted, cancellable, callback, user_data);
}

GFile *web_image_session_load_icon_finish(WebImageSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

GFile *web_image_session_load_icon(
    WebImageSession *self, WebImageRequest *request, GCancellable *cancellable, GError **error) {
    WebImageBridgeRequest wanted = web_image_request_describe(request);
    if (web_image_load_is_main_thread() &&
        (needs_server(request) || web_image_load_has_handler(self, wanted.uri))) {
        wanted.cache_policy = WEB_IMAGE_CACHE_POLICY_CACHE_ONLY;
    }
    Wait wait = wait_begin();
    begin_load_icon(self, &wanted, cancellable, wait_take_result, &wait);
    wait_until_done(&wait);
    GFile *file = web_image_session_load_icon_finish(self, wait.result, error);
    wait_end(&wait);
    return file;
}

#define _GNU_SOURCE

#include "error-private.h"
#include "load-private.h"

#include <unistd.h>

/**
 * WebImageLoad:
 *
 * A load that a handler of [signal@Session::load-requested] answers, now or later, once:
 *
 * ```python
 * def decrypt(session, load):
 *     async def answer():
 *         load.return_bytes(GLib.Bytes.new(await decrypted_media(load.get_uri())), "image/jpeg")
 *
 *     load.set_cacheable(False)
 *     asyncio.create_task(answer())
 *     return True
 *
 *
 * session.connect("load-requested::mxc", decrypt)
 * ```
 *
 * A load whose last reference is released without an answer fails. All functions may be called on any thread.
 *
 * Since: 0.3
 */
struct _WebImageLoad {
    GObject parent_instance;

    char *uri;
    GCancellable *cancellable;
    gint cacheable;
    // NULL once it is answered.
    WebImageBridgeOffer *offer;
};

enum { URI = 1, CANCELLABLE, CACHEABLE, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];
static guint load_requested;

G_DEFINE_FINAL_TYPE(WebImageLoad, web_image_load, G_TYPE_OBJECT)

// Returns the offer to the first caller, who answers it.
static WebImageBridgeOffer *web_image_load_take_offer(WebImageLoad *self) {
    WebImageBridgeOffer *offer = g_atomic_pointer_get(&self->offer);
    return offer != NULL && g_atomic_pointer_compare_and_exchange(&self->offer, offer, NULL) ? offer : NULL;
}

static void web_image_load_finalize(GObject *object) {
    WebImageLoad *self = WEB_IMAGE_LOAD(object);
    WebImageBridgeOffer *offer = web_image_load_take_offer(self);
    if (offer != NULL) webimage_bridge_offer_fail(offer, "a handler of load-requested released the load without an answer");
    g_free(self->uri);
    g_clear_object(&self->cancellable);
    G_OBJECT_CLASS(web_image_load_parent_class)->finalize(object);
}

static void web_image_load_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImageLoad *self = WEB_IMAGE_LOAD(object);
    switch (id) {
    case URI: g_value_set_string(value, self->uri); break;
    case CANCELLABLE: g_value_set_object(value, self->cancellable); break;
    case CACHEABLE: g_value_set_boolean(value, web_image_load_get_cacheable(self)); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_load_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    if (id == CACHEABLE) {
        web_image_load_set_cacheable(WEB_IMAGE_LOAD(object), g_value_get_boolean(value));
    } else {
        WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_load_class_init(WebImageLoadClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->finalize = web_image_load_finalize;
    object_class->get_property = web_image_load_get_property;
    object_class->set_property = web_image_load_set_property;
    const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

    /**
     * WebImageLoad:uri:
     *
     * The address of the image.
     *
     * Since: 0.3
     */
    properties[URI] = g_param_spec_string("uri", NULL, NULL, NULL, readable);

    /**
     * WebImageLoad:cancellable:
     *
     * Cancelled, on the main thread, when nothing waits for the image any more. An answer is then ignored.
     *
     * Since: 0.3
     */
    properties[CANCELLABLE] = g_param_spec_object("cancellable", NULL, NULL, G_TYPE_CANCELLABLE, readable);

    /**
     * WebImageLoad:cacheable:
     *
     * Whether the session stores the bytes on disk, under the URI; %TRUE by default. Set it before the answer.
     *
     * Without, decoded images are still cached in memory. Bytes of encrypted media are stored as they are returned, not encrypted.
     *
     * Since: 0.3
     */
    properties[CACHEABLE] = g_param_spec_boolean(
        "cacheable", NULL, NULL, TRUE, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

    g_object_class_install_properties(object_class, N_PROPERTIES, properties);
}

static void web_image_load_init(WebImageLoad *self) {
    self->cancellable = g_cancellable_new();
    self->cacheable = TRUE;
}

/**
 * web_image_load_get_uri:
 * @self: a load
 *
 * Returns the address of the image.
 *
 * Returns: the address
 *
 * Since: 0.3
 */
const char *web_image_load_get_uri(WebImageLoad *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_LOAD(self), NULL);
    return self->uri;
}

/**
 * web_image_load_get_cancellable:
 * @self: a load
 *
 * Returns what is cancelled when nothing waits for the image any more. Pass it to the functions that get the bytes.
 *
 * Returns: (transfer none): a cancellable
 *
 * Since: 0.3
 */
GCancellable *web_image_load_get_cancellable(WebImageLoad *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_LOAD(self), NULL);
    return self->cancellable;
}

/**
 * web_image_load_get_cacheable:
 * @self: a load
 *
 * Returns whether the session stores the bytes on disk.
 *
 * Returns: %TRUE by default
 *
 * Since: 0.3
 */
gboolean web_image_load_get_cacheable(WebImageLoad *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_LOAD(self), FALSE);
    return g_atomic_int_get(&self->cacheable);
}

/**
 * web_image_load_set_cacheable:
 * @self: a load
 * @cacheable: whether the session stores the bytes on disk
 *
 * Sets whether the session stores the bytes on disk. Call it before the answer.
 *
 * Since: 0.3
 */
void web_image_load_set_cacheable(WebImageLoad *self, gboolean cacheable) {
    g_return_if_fail(WEB_IMAGE_IS_LOAD(self));
    cacheable = cacheable != FALSE;
    if (cacheable == g_atomic_int_get(&self->cacheable)) return;
    g_atomic_int_set(&self->cacheable, cacheable);
    g_object_notify_by_pspec(G_OBJECT(self), properties[CACHEABLE]);
}

/**
 * web_image_load_return_bytes:
 * @self: a load
 * @bytes: the file of the image, as a server would send it, of at most 200 MiB
 * @content_type: (nullable): its MIME type, such as `image/png`; %NULL if it is not known. The session looks at the bytes anyway
 *
 * Ends the load with an image. A load is answered once.
 *
 * Since: 0.3
 */
void web_image_load_return_bytes(WebImageLoad *self, GBytes *bytes, const char *content_type) {
    g_return_if_fail(WEB_IMAGE_IS_LOAD(self));
    g_return_if_fail(bytes != NULL);
    WebImageBridgeOffer *offer = web_image_load_take_offer(self);
    g_return_if_fail(offer != NULL);
    webimage_bridge_offer_answer(offer, bytes, content_type, web_image_load_get_cacheable(self));
}

/**
 * web_image_load_return_error:
 * @self: a load
 * @error: why there is no image
 *
 * Ends the load with an error. Widgets and callers get %WEB_IMAGE_ERROR_CUSTOM with its message. A load is answered once.
 *
 * Since: 0.3
 */
void web_image_load_return_error(WebImageLoad *self, const GError *error) {
    g_return_if_fail(WEB_IMAGE_IS_LOAD(self));
    g_return_if_fail(error != NULL);
    WebImageBridgeOffer *offer = web_image_load_take_offer(self);
    g_return_if_fail(offer != NULL);
    webimage_bridge_offer_fail(offer, error->message);
}

// MARK: Session

// A session that may be gone.
typedef struct {
    GWeakRef session;
} Hook;

typedef struct {
    Hook *hook;
    WebImageLoad *load;
} Emission;

static void hook_clear(gpointer data) { g_weak_ref_clear(&((Hook *)data)->session); }
static void hook_unref(gpointer data) { g_atomic_rc_box_release_full(data, hook_clear); }

static void emission_free(gpointer data) {
    Emission *emission = data;
    g_object_unref(emission->load);
    hook_unref(emission->hook);
    g_free(emission);
}

// Returns 0 for one that no handler has named.
static GQuark get_detail(const char *scheme) {
    char *name = g_ascii_strdown(scheme, -1);
    const GQuark detail = g_quark_try_string(name);
    g_free(name);
    return detail;
}

static gboolean has_handler(WebImageSession *session, const char *scheme) {
    const GQuark detail = get_detail(scheme);
    return g_signal_has_handler_pending(session, load_requested, 0, FALSE) ||
           (detail != 0 && g_signal_has_handler_pending(session, load_requested, detail, FALSE));
}

static gboolean hook_wants(gpointer data, const char *scheme) {
    WebImageSession *session = g_weak_ref_get(&((Hook *)data)->session);
    if (session == NULL) return FALSE;
    const gboolean wants = has_handler(session, scheme);
    g_object_unref(session);
    return wants;
}

static gboolean emit_load_requested(gpointer data) {
    Emission *emission = data;
    gboolean is_handled = FALSE;
    WebImageSession *session = g_weak_ref_get(&emission->hook->session);
    if (session != NULL && !g_cancellable_is_cancelled(emission->load->cancellable)) {
        char *scheme = g_uri_parse_scheme(emission->load->uri);
        g_signal_emit(session, load_requested, get_detail(scheme == NULL ? "" : scheme), emission->load, &is_handled);
        g_free(scheme);
    }
    g_clear_object(&session);
    if (!is_handled) {
        WebImageBridgeOffer *offer = web_image_load_take_offer(emission->load);
        if (offer != NULL) webimage_bridge_offer_decline(offer);
    }
    return G_SOURCE_REMOVE;
}

// Runs under the main loop of the default context, never within the call.
static void invoke_later(GSourceFunc function, gpointer data, GDestroyNotify free_data) {
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, function, data, free_data);
    g_source_attach(source, NULL);
    g_source_unref(source);
}

static GCancellable *hook_offer(gpointer data, WebImageBridgeOffer *offer, const char *uri) {
    WebImageLoad *load = g_object_new(WEB_IMAGE_TYPE_LOAD, NULL);
    load->uri = g_strdup(uri);
    load->offer = offer;
    GCancellable *cancellable = g_object_ref(load->cancellable);
    Emission *emission = g_new(Emission, 1);
    *emission = (Emission){.hook = g_atomic_rc_box_acquire(data), .load = load};
    invoke_later(emit_load_requested, emission, emission_free);
    return cancellable;
}

static gboolean cancel_now(gpointer cancellable) {
    g_cancellable_cancel(cancellable);
    return G_SOURCE_REMOVE;
}

static void hook_cancel(GCancellable *cancellable) { invoke_later(cancel_now, g_object_ref(cancellable), g_object_unref); }

WebImageBridgeHook web_image_load_make_hook(WebImageSession *session) {
    Hook *hook = g_atomic_rc_box_new0(Hook);
    g_weak_ref_init(&hook->session, session);
    return (WebImageBridgeHook){
        .data = hook, .release_data = hook_unref, .wants = hook_wants, .offer = hook_offer, .cancel = hook_cancel};
}

gboolean web_image_load_has_handler(WebImageSession *session, const char *uri) {
    char *scheme = uri == NULL ? NULL : g_uri_parse_scheme(uri);
    const gboolean result = scheme != NULL && has_handler(session, scheme);
    g_free(scheme);
    return result;
}

gboolean web_image_load_is_main_thread(void) { return gettid() == getpid() || g_main_context_is_owner(NULL); }

void web_image_load_install_signal(GObjectClass *session_class) {
    /**
     * WebImageSession::load-requested:
     * @self: the session
     * @load: the load
     *
     * Emitted before an image is loaded from its source, so that the program can provide the bytes: of encrypted media, of an archive, of a
     * server with a protocol of its own.
     *
     * The detail is the scheme, in lowercase: a handler of `load-requested::mxc` gets the loads of `mxc:` URIs. One without a detail gets
     * those of all schemes, also `https`. What a cache has is not loaded, and loads of the same image share one emission.
     *
     * A handler returns %TRUE if it answers the load, with [method@Load.return_bytes] or [method@Load.return_error], at once or later. If
     * all return %FALSE, the session loads the image as without handlers.
     *
     * It is emitted on the main thread, under the default main context, never within a call of the session. Do not block in a handler:
     * begin the work, and answer when it is done.
     *
     * Returns: whether the handler answers the load
     *
     * Since: 0.3
     */
    load_requested = g_signal_new(
        "load-requested", G_OBJECT_CLASS_TYPE(session_class), G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0,
        g_signal_accumulator_true_handled, NULL, NULL, G_TYPE_BOOLEAN, 1, WEB_IMAGE_TYPE_LOAD);
}

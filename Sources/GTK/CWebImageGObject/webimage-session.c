#define _GNU_SOURCE
#include "error-private.h"
#include "session-private.h"

#include <dlfcn.h>

/**
 * WebImageSession:
 *
 * Loads images, and caches them in memory and on disk.
 *
 * ```python
 * session = WebImage.Session.get_default()
 * session.load_async(WebImage.Request(uri=uri, width=320), None, on_loaded)
 * ```
 *
 * Widgets use the default session unless they get another. All functions may be called on any thread. Asynchronous functions call back
 * in the thread-default main context of the caller. None of them needs a display.
 *
 * Loads of the same image share the work. Cancelling one of them does not cancel the others. A program may fork before the first
 * session is used, not after.
 */
struct _WebImageSession {
    GObject parent_instance;

    char *cache_directory, *user_agent, *shared_cache;
    guint64 disk_limit, memory_limit;
    WebImagePolicy policy;
    // A WebImageBridgeSession, which is made once; 0 before.
    gsize handle;
};

enum { CACHE_DIRECTORY = 1, DISK_LIMIT, MEMORY_LIMIT, USER_AGENT, SHARED_CACHE, POLICY, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_FINAL_TYPE(WebImageSession, web_image_session, G_TYPE_OBJECT)

// The cache of the program: named after the application, or else the program.
static char *default_cache_directory(WebImagePolicy policy) {
    GApplication *application = g_application_get_default();
    const char *name = application == NULL ? NULL : g_application_get_application_id(application);
    if (name == NULL) name = g_get_prgname();
    if (name == NULL) name = "webimage";
    // Users of a server must not get what an app has loaded for itself.
    return g_build_filename(
        g_get_user_cache_dir(), name, policy == WEB_IMAGE_POLICY_SERVER ? "server-images" : "images", NULL);
}

// The program that decodes, which is installed with the library; NULL to look for it where programs have it.
static char *decoder_beside_library(void) {
    static const char *const folders[] = {".", "../libexec/webimage", "../../libexec/webimage"};
    Dl_info info;
    if (dladdr((void *)web_image_session_get_type, &info) == 0 || info.dli_fname == NULL) return NULL;
    char *library = g_path_get_dirname(info.dli_fname);
    char *found = NULL;
    for (gsize index = 0; index < G_N_ELEMENTS(folders) && found == NULL; index++) {
        found = g_build_filename(library, folders[index], "webimage-decoder", NULL);
        if (!g_file_test(found, G_FILE_TEST_IS_EXECUTABLE)) g_clear_pointer(&found, g_free);
    }
    g_free(library);
    return found;
}

static void warn_of_configuration(gpointer data G_GNUC_UNUSED, const WebImageBridgeError *error) {
    g_warning("The session has no shared cache: %s", error->message);
}

static WebImageBridgeSession *web_image_session_make_handle(WebImageSession *self) {
    char *decoder = decoder_beside_library();
    WebImageBridgeConfiguration configuration = {
        .cache_directory = self->cache_directory,
        .disk_limit = self->disk_limit,
        .memory_limit = self->memory_limit,
        .user_agent = self->user_agent,
        .shared_cache = self->shared_cache,
        .policy = self->policy,
        .decoder = decoder,
    };
    WebImageBridgeSession *handle = webimage_bridge_session_new(&configuration, warn_of_configuration, NULL);
    if (handle == NULL) {
        configuration.shared_cache = NULL;
        handle = webimage_bridge_session_new(&configuration, warn_of_configuration, NULL);
    }
    g_free(decoder);
    return handle;
}

WebImageBridgeSession *web_image_session_get_handle(WebImageSession *self) {
    // Without a lock, which must not be held in calls of the library.
    if (g_once_init_enter(&self->handle)) {
        g_once_init_leave(&self->handle, (gsize)web_image_session_make_handle(self));
    }
    return (WebImageBridgeSession *)self->handle;
}

static void web_image_session_constructed(GObject *object) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    G_OBJECT_CLASS(web_image_session_parent_class)->constructed(object);
    if (self->cache_directory == NULL) self->cache_directory = default_cache_directory(self->policy);
}

static void web_image_session_finalize(GObject *object) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    if (self->handle != 0) webimage_bridge_release((gpointer)self->handle);
    g_free(self->cache_directory);
    g_free(self->user_agent);
    g_free(self->shared_cache);
    G_OBJECT_CLASS(web_image_session_parent_class)->finalize(object);
}

static void web_image_session_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    switch (id) {
    case CACHE_DIRECTORY: g_value_set_string(value, self->cache_directory); break;
    case DISK_LIMIT: g_value_set_uint64(value, self->disk_limit); break;
    case MEMORY_LIMIT: g_value_set_uint64(value, web_image_session_get_memory_limit(self)); break;
    case USER_AGENT: g_value_set_string(value, self->user_agent); break;
    case SHARED_CACHE: g_value_set_string(value, self->shared_cache); break;
    case POLICY: g_value_set_enum(value, self->policy); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_session_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    switch (id) {
    case CACHE_DIRECTORY: self->cache_directory = g_value_dup_string(value); break;
    case DISK_LIMIT: self->disk_limit = g_value_get_uint64(value); break;
    case MEMORY_LIMIT: web_image_session_set_memory_limit(self, g_value_get_uint64(value)); break;
    case USER_AGENT: self->user_agent = g_value_dup_string(value); break;
    case SHARED_CACHE: self->shared_cache = g_value_dup_string(value); break;
    case POLICY: self->policy = g_value_get_enum(value); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_session_class_init(WebImageSessionClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->constructed = web_image_session_constructed;
    object_class->finalize = web_image_session_finalize;
    object_class->get_property = web_image_session_get_property;
    object_class->set_property = web_image_session_set_property;
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

    /**
     * WebImageSession:cache-directory:
     *
     * Where images are cached on disk.
     *
     * By default `images` in a directory of the user's caches, which has the name of the application's identifier, or of the program.
     * Several programs may use the same directory.
     */
    properties[CACHE_DIRECTORY] =
        g_param_spec_string("cache-directory", NULL, NULL, NULL, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:disk-limit:
     *
     * The maximum size of the images on disk, in bytes.
     *
     * 0, the default, is 10 % of the free space, at least 64 MiB and at most 1 GiB.
     */
    properties[DISK_LIMIT] =
        g_param_spec_uint64("disk-limit", NULL, NULL, 0, G_MAXINT64, 0, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:memory-limit:
     *
     * The maximum size of the decoded images in memory, in bytes.
     *
     * 0, the default, is 20 % of the memory, at most 1 GiB.
     */
    properties[MEMORY_LIMIT] = g_param_spec_uint64(
        "memory-limit", NULL, NULL, 0, G_MAXINT64, 0, flags | G_PARAM_CONSTRUCT | G_PARAM_EXPLICIT_NOTIFY);

    /**
     * WebImageSession:user-agent:
     *
     * The field `User-Agent` of requests. %NULL, the default, is the name of this library.
     */
    properties[USER_AGENT] = g_param_spec_string("user-agent", NULL, NULL, NULL, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:shared-cache:
     *
     * The location of a cache in an S3 store that several computers share, such as `s3://bucket/images`; %NULL by default.
     *
     * The credentials are those of the environment. A location that is not valid is reported as a warning.
     */
    properties[SHARED_CACHE] =
        g_param_spec_string("shared-cache", NULL, NULL, NULL, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:policy:
     *
     * What the session loads, and with which limits.
     */
    properties[POLICY] = g_param_spec_enum(
        "policy", NULL, NULL, WEB_IMAGE_TYPE_POLICY, WEB_IMAGE_POLICY_APP, flags | G_PARAM_CONSTRUCT_ONLY);

    g_object_class_install_properties(object_class, N_PROPERTIES, properties);
}

static void web_image_session_init(WebImageSession *self G_GNUC_UNUSED) {}

static GMutex default_mutex;
static WebImageSession *default_session;

/**
 * web_image_session_get_default:
 *
 * Returns the session that widgets use. It is made when it is first needed.
 *
 * Returns: (transfer none): the default session
 */
WebImageSession *web_image_session_get_default(void) {
    g_mutex_lock(&default_mutex);
    if (default_session == NULL) default_session = web_image_session_new();
    WebImageSession *session = default_session;
    g_mutex_unlock(&default_mutex);
    return session;
}

/**
 * web_image_session_set_default:
 * @session: a session
 *
 * Sets the session that widgets use. Call it at the start of a program: what has begun with another session continues with that.
 */
void web_image_session_set_default(WebImageSession *session) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(session));
    // The session before stays, because other threads may use it.
    g_mutex_lock(&default_mutex);
    default_session = g_object_ref(session);
    g_mutex_unlock(&default_mutex);
}

/**
 * web_image_session_new:
 *
 * Makes a session with the defaults.
 *
 * Returns: (transfer full): a session
 */
WebImageSession *web_image_session_new(void) { return g_object_new(WEB_IMAGE_TYPE_SESSION, NULL); }

/**
 * web_image_session_get_cache_directory:
 * @self: a session
 *
 * Returns where images are cached on disk.
 *
 * Returns: (type filename): a path
 */
const char *web_image_session_get_cache_directory(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    return self->cache_directory;
}

/**
 * web_image_session_get_disk_limit:
 * @self: a session
 *
 * Returns the maximum size of the images on disk.
 *
 * Returns: the limit in bytes; 0 for the default
 */
guint64 web_image_session_get_disk_limit(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), 0);
    return self->disk_limit;
}

/**
 * web_image_session_get_memory_limit:
 * @self: a session
 *
 * Returns the maximum size of the decoded images in memory.
 *
 * Returns: the limit in bytes; 0 for the default
 */
guint64 web_image_session_get_memory_limit(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), 0);
    return self->memory_limit;
}

/**
 * web_image_session_set_memory_limit:
 * @self: a session
 * @limit: the limit in bytes; 0 for the default
 *
 * Sets the maximum size of the decoded images in memory, and releases what exceeds it.
 */
void web_image_session_set_memory_limit(WebImageSession *self, guint64 limit) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (limit == self->memory_limit) return;
    self->memory_limit = limit;
    if (g_atomic_pointer_get(&self->handle) != 0) {
        webimage_bridge_session_set_memory_limit(web_image_session_get_handle(self), limit);
    }
    g_object_notify_by_pspec(G_OBJECT(self), properties[MEMORY_LIMIT]);
}

/**
 * web_image_session_get_user_agent:
 * @self: a session
 *
 * Returns the field `User-Agent` of requests.
 *
 * Returns: (nullable): the field; %NULL for the default
 */
const char *web_image_session_get_user_agent(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    return self->user_agent;
}

/**
 * web_image_session_get_shared_cache:
 * @self: a session
 *
 * Returns the location of the shared cache.
 *
 * Returns: (nullable): the location
 */
const char *web_image_session_get_shared_cache(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), NULL);
    return self->shared_cache;
}

/**
 * web_image_session_get_policy:
 * @self: a session
 *
 * Returns what the session loads, and with which limits.
 *
 * Returns: the policy
 */
WebImagePolicy web_image_session_get_policy(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), WEB_IMAGE_POLICY_APP);
    return self->policy;
}

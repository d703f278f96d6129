#include "error-private.h"
#include "load-private.h"
#include "session-private.h"

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
 *
 * Since: 0.2
 */
GParamSpec *web_image_session_properties[SESSION_N_PROPERTIES];

G_DEFINE_FINAL_TYPE(WebImageSession, web_image_session, G_TYPE_OBJECT)

// The program that decodes, which is installed with the library; NULL to look for it where programs have it.
static char *decoder_beside_library(void) {
    static const char *const folders[] = {".", "../libexec/webimage", "../../libexec/webimage"};
    char *library = webimage_library_folder();
    if (library == NULL) return NULL;
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
        .proxy = self->proxy,
        .certificate_file = self->certificate_file,
        .max_connections = self->max_connections,
        .max_connections_per_host = self->max_connections_per_host,
        .max_megapixels = self->max_megapixels,
        .low_data_mode = self->low_data_mode,
        .decoder = decoder,
        .hook = web_image_load_make_hook(self),
    };
    WebImageBridgeSession *handle = webimage_bridge_session_new(&configuration, warn_of_configuration, NULL);
    if (handle == NULL) {
        configuration.shared_cache = NULL;
        configuration.hook = web_image_load_make_hook(self);
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
    if (self->cache_directory == NULL) self->cache_directory = web_image_session_default_directory(self->policy);
}

static void web_image_session_finalize(GObject *object) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    if (self->handle != 0) webimage_bridge_release((gpointer)self->handle);
    g_free(self->cache_directory);
    g_free(self->user_agent);
    g_free(self->shared_cache);
    g_free(self->proxy);
    g_free(self->certificate_file);
    G_OBJECT_CLASS(web_image_session_parent_class)->finalize(object);
}

static void web_image_session_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    switch (id) {
    case SESSION_CACHE_DIRECTORY: g_value_set_string(value, self->cache_directory); break;
    case SESSION_DISK_LIMIT: g_value_set_uint64(value, self->disk_limit); break;
    case SESSION_MEMORY_LIMIT: g_value_set_uint64(value, web_image_session_get_memory_limit(self)); break;
    case SESSION_USER_AGENT: g_value_set_string(value, self->user_agent); break;
    case SESSION_SHARED_CACHE: g_value_set_string(value, self->shared_cache); break;
    case SESSION_POLICY: g_value_set_enum(value, self->policy); break;
    case SESSION_PROXY: g_value_set_string(value, self->proxy); break;
    case SESSION_CERTIFICATE_FILE: g_value_set_string(value, self->certificate_file); break;
    case SESSION_MAX_CONNECTIONS: g_value_set_uint(value, self->max_connections); break;
    case SESSION_MAX_CONNECTIONS_PER_HOST: g_value_set_uint(value, self->max_connections_per_host); break;
    case SESSION_MAX_MEGAPIXELS: g_value_set_uint(value, self->max_megapixels); break;
    case SESSION_LOW_DATA_MODE: g_value_set_enum(value, self->low_data_mode); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_session_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImageSession *self = WEB_IMAGE_SESSION(object);
    switch (id) {
    case SESSION_CACHE_DIRECTORY: self->cache_directory = g_value_dup_string(value); break;
    case SESSION_DISK_LIMIT: self->disk_limit = g_value_get_uint64(value); break;
    case SESSION_MEMORY_LIMIT: web_image_session_set_memory_limit(self, g_value_get_uint64(value)); break;
    case SESSION_USER_AGENT: self->user_agent = g_value_dup_string(value); break;
    case SESSION_SHARED_CACHE: self->shared_cache = g_value_dup_string(value); break;
    case SESSION_POLICY: self->policy = g_value_get_enum(value); break;
    case SESSION_PROXY: web_image_session_set_proxy(self, g_value_get_string(value)); break;
    case SESSION_CERTIFICATE_FILE: web_image_session_set_certificate_file(self, g_value_get_string(value)); break;
    case SESSION_MAX_CONNECTIONS: web_image_session_set_max_connections(self, g_value_get_uint(value)); break;
    case SESSION_MAX_CONNECTIONS_PER_HOST: web_image_session_set_max_connections_per_host(self, g_value_get_uint(value)); break;
    case SESSION_MAX_MEGAPIXELS: self->max_megapixels = g_value_get_uint(value); break;
    case SESSION_LOW_DATA_MODE: web_image_session_set_low_data_mode(self, g_value_get_enum(value)); break;
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
     * By default `images` in a directory of the user's caches, which has the name of the application's identifier, or else of the program. A
     * script without an application has a directory of its own, with the name of its file. Several programs may use the same directory.
     *
     * Since: 0.2
     */
    web_image_session_properties[SESSION_CACHE_DIRECTORY] =
        g_param_spec_string("cache-directory", NULL, NULL, NULL, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:disk-limit:
     *
     * The maximum size of all files in the directory, in bytes: images and the index of them. Below 2 MiB, only the images count.
     *
     * 0, the default, is 10 % of the free space, at least 64 MiB and at most 1 GiB.
     *
     * Since: 0.2
     */
    web_image_session_properties[SESSION_DISK_LIMIT] =
        g_param_spec_uint64("disk-limit", NULL, NULL, 0, G_MAXINT64, 0, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:memory-limit:
     *
     * The maximum size of the decoded images in memory, in bytes.
     *
     * 0, the default, is 20 % of the memory, at most 1 GiB.
     *
     * Since: 0.2
     */
    web_image_session_properties[SESSION_MEMORY_LIMIT] = g_param_spec_uint64(
        "memory-limit", NULL, NULL, 0, G_MAXINT64, 0, flags | G_PARAM_CONSTRUCT | G_PARAM_EXPLICIT_NOTIFY);

    /**
     * WebImageSession:user-agent:
     *
     * The field `User-Agent` of requests. %NULL, the default, is the name of this library.
     *
     * Since: 0.2
     */
    web_image_session_properties[SESSION_USER_AGENT] = g_param_spec_string("user-agent", NULL, NULL, NULL, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:shared-cache:
     *
     * The location of a cache in an S3 store that several computers share, such as `s3://bucket/images`; %NULL by default.
     *
     * The credentials are those of the environment. A location that is not valid is reported as a warning.
     *
     * Since: 0.2
     */
    web_image_session_properties[SESSION_SHARED_CACHE] =
        g_param_spec_string("shared-cache", NULL, NULL, NULL, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:policy:
     *
     * What the session loads, and with which limits.
     *
     * Since: 0.2
     */
    web_image_session_properties[SESSION_POLICY] = g_param_spec_enum(
        "policy", NULL, NULL, WEB_IMAGE_TYPE_POLICY, WEB_IMAGE_POLICY_APP, flags | G_PARAM_CONSTRUCT_ONLY);

    const GParamFlags changeable = flags | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImageSession:proxy:
     *
     * The proxy for http and https, such as `http://proxy.example:3128`, `http://user:password@proxy.example` or `socks5h://127.0.0.1:1080`.
     *
     * %NULL, the default, is the proxy of the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`), or none with the policy
     * `SERVER`. `direct://` uses none. With an address that is not valid, loads from servers fail. It can be set until the session is used
     * first.
     *
     * Since: 0.3
     */
    web_image_session_properties[SESSION_PROXY] = g_param_spec_string("proxy", NULL, NULL, NULL, changeable);

    /**
     * WebImageSession:certificate-file:
     *
     * A PEM file with the authorities that sign the certificates of servers, in place of those of the system; %NULL, the default, for
     * those of the system. It can be set until the session is used first.
     *
     * Since: 0.3
     */
    web_image_session_properties[SESSION_CERTIFICATE_FILE] = g_param_spec_string("certificate-file", NULL, NULL, NULL, changeable);

    /**
     * WebImageSession:max-connections:
     *
     * How many images load from servers at once; 0, the default, for 32. It can be set until the session is used first.
     *
     * Since: 0.3
     */
    web_image_session_properties[SESSION_MAX_CONNECTIONS] = g_param_spec_uint("max-connections", NULL, NULL, 0, G_MAXUINT16, 0, changeable);

    /**
     * WebImageSession:max-connections-per-host:
     *
     * How many images load from one server at once; 0, the default, for 6. It can be set until the session is used first.
     *
     * Since: 0.3
     */
    web_image_session_properties[SESSION_MAX_CONNECTIONS_PER_HOST] =
        g_param_spec_uint("max-connections-per-host", NULL, NULL, 0, G_MAXUINT16, 0, changeable);

    /**
     * WebImageSession:max-megapixels:
     *
     * How large images may be, in millions of pixels; 0, the default, for 100. The limit of time for decoding grows with it.
     *
     * A [class@ZoomView] shows larger ones in tiles. Set it for images that the user has chosen.
     *
     * Since: 0.3
     */
    web_image_session_properties[SESSION_MAX_MEGAPIXELS] =
        g_param_spec_uint("max-megapixels", NULL, NULL, 0, 4294, 0, flags | G_PARAM_CONSTRUCT_ONLY);

    /**
     * WebImageSession:low-data-mode:
     *
     * When the session saves data; by default where the network is metered.
     *
     * Since: 0.3
     */
    web_image_session_properties[SESSION_LOW_DATA_MODE] = g_param_spec_enum(
        "low-data-mode", NULL, NULL, WEB_IMAGE_TYPE_LOW_DATA_MODE, WEB_IMAGE_LOW_DATA_MODE_AUTOMATIC, changeable);

    g_object_class_install_properties(object_class, SESSION_N_PROPERTIES, web_image_session_properties);
    web_image_load_install_signal(object_class);
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
 *
 * Since: 0.2
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
 *
 * Since: 0.2
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
 *
 * Since: 0.2
 */
WebImageSession *web_image_session_new(void) { return g_object_new(WEB_IMAGE_TYPE_SESSION, NULL); }

/**
 * web_image_session_new_full:
 * @cache_directory: (type filename) (nullable): where images are cached on disk; %NULL for the default
 * @disk_limit: the maximum size of the files on disk, in bytes; 0 for the default
 * @memory_limit: the maximum size of the decoded images in memory, in bytes; 0 for the default
 * @user_agent: (nullable): the field `User-Agent` of requests; %NULL for the name of this library
 * @shared_cache: (nullable): the location of a shared cache, such as `s3://bucket/images`
 * @policy: what the session loads, and with which limits
 *
 * Makes a session with everything that cannot be set later. Set the other properties before its first use.
 *
 * Returns: (transfer full): a session
 *
 * Since: 0.3
 */
WebImageSession *web_image_session_new_full(
    const char *cache_directory, guint64 disk_limit, guint64 memory_limit, const char *user_agent,
    const char *shared_cache, WebImagePolicy policy) {
    return g_object_new(
        WEB_IMAGE_TYPE_SESSION, "cache-directory", cache_directory, "disk-limit", disk_limit, "memory-limit", memory_limit,
        "user-agent", user_agent, "shared-cache", shared_cache, "policy", policy, NULL);
}

/**
 * web_image_session_get_cache_directory:
 * @self: a session
 *
 * Returns where images are cached on disk.
 *
 * Returns: (type filename): a path
 *
 * Since: 0.2
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
 *
 * Since: 0.2
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
 *
 * Since: 0.2
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
 *
 * Since: 0.2
 */
void web_image_session_set_memory_limit(WebImageSession *self, guint64 limit) {
    g_return_if_fail(WEB_IMAGE_IS_SESSION(self));
    if (limit == self->memory_limit) return;
    self->memory_limit = limit;
    if (g_atomic_pointer_get(&self->handle) != 0) {
        webimage_bridge_session_set_memory_limit(web_image_session_get_handle(self), limit);
    }
    g_object_notify_by_pspec(G_OBJECT(self), web_image_session_properties[SESSION_MEMORY_LIMIT]);
}

/**
 * web_image_session_get_user_agent:
 * @self: a session
 *
 * Returns the field `User-Agent` of requests.
 *
 * Returns: (nullable): the field; %NULL for the default
 *
 * Since: 0.2
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
 *
 * Since: 0.2
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
 *
 * Since: 0.2
 */
WebImagePolicy web_image_session_get_policy(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), WEB_IMAGE_POLICY_APP);
    return self->policy;
}

/**
 * web_image_session_get_max_megapixels:
 * @self: a session
 *
 * Returns how large images may be.
 *
 * Returns: millions of pixels; 0 for 100
 *
 * Since: 0.3
 */
guint web_image_session_get_max_megapixels(WebImageSession *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_SESSION(self), 0);
    return self->max_megapixels;
}

#include "request-private.h"

void request_source_make_properties(GParamSpec **properties) {
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImageRequest:file:
     *
     * A file to load, of any scheme that GIO reads; %NULL by default. Setting it clears [property@Request:uri],
     * [property@Request:bytes] and [property@Request:stream].
     *
     * An address in [property@Request:uri] never reads what GIO alone can reach, such as `sftp:`, because it may come from elsewhere. A file
     * is one that the program or its user has chosen.
     *
     * Since: 0.3
     */
    properties[REQUEST_SOURCE_FILE] = g_param_spec_object("file", NULL, NULL, G_TYPE_FILE, flags);

    /**
     * WebImageRequest:bytes:
     *
     * The file of an image in memory; %NULL by default. Setting it clears [property@Request:uri], [property@Request:file] and
     * [property@Request:stream].
     *
     * The bytes are not stored on disk. See [property@Request:identifier] for how the image is cached in memory.
     *
     * Since: 0.3
     */
    properties[REQUEST_SOURCE_BYTES] = g_param_spec_boxed("bytes", NULL, NULL, G_TYPE_BYTES, flags);

    /**
     * WebImageRequest:stream:
     *
     * A stream with the file of an image, of at most 200 MiB; %NULL by default. Setting it clears [property@Request:uri],
     * [property@Request:file] and [property@Request:bytes].
     *
     * The first load reads it, by blocking functions on a thread of the library, so it must not belong to a thread, as those of libsoup do.
     * Nothing else may read it. Loads at the same time wait for the same bytes, and later ones use them, because the request retains what
     * was read. A load that is cancelled leaves the stream where it is, and the next one continues there. After an error of the stream, all
     * loads fail with it. The bytes are not stored on disk.
     *
     * Since: 0.3
     */
    properties[REQUEST_SOURCE_STREAM] = g_param_spec_object("stream", NULL, NULL, G_TYPE_INPUT_STREAM, flags);

    /**
     * WebImageRequest:identifier:
     *
     * The name of [property@Request:bytes] or [property@Request:stream] in the cache in memory; %NULL by default. Set it before a load.
     *
     * Requests with the same name get the same image, so other bytes need another one. %NULL stands for a digest of the bytes, which takes
     * some milliseconds for each megabyte, and for the stream itself.
     *
     * Since: 0.3
     */
    properties[REQUEST_SOURCE_IDENTIFIER] = g_param_spec_string("identifier", NULL, NULL, NULL, flags);
}

static void request_source_clear_handle(RequestSource *self) {
    g_clear_pointer(&self->handle, webimage_bridge_release);
}

void request_source_clear(RequestSource *self) {
    g_clear_object(&self->file);
    g_clear_pointer(&self->bytes, g_bytes_unref);
    g_clear_object(&self->stream);
    g_clear_pointer(&self->identifier, g_free);
    request_source_clear_handle(self);
}

gboolean request_source_get_property(const RequestSource *self, guint property, GValue *value) {
    switch (property) {
    case REQUEST_SOURCE_FILE: g_value_set_object(value, self->file); return TRUE;
    case REQUEST_SOURCE_BYTES: g_value_set_boxed(value, self->bytes); return TRUE;
    case REQUEST_SOURCE_STREAM: g_value_set_object(value, self->stream); return TRUE;
    case REQUEST_SOURCE_IDENTIFIER: g_value_set_string(value, self->identifier); return TRUE;
    default: return FALSE;
    }
}

WebImageBridgeSource *request_source_get_handle(RequestSource *self) {
    if (self->handle != NULL) return self->handle;
    if (self->file != NULL) self->handle = webimage_bridge_source_new_file(self->file);
    if (self->bytes != NULL) self->handle = webimage_bridge_source_new_bytes(self->bytes, self->identifier);
    if (self->stream != NULL) self->handle = webimage_bridge_source_new_stream(self->stream, self->identifier);
    return self->handle;
}

gboolean web_image_request_set_source_property(WebImageRequest *self, guint property, const GValue *value) {
    switch (property) {
    case REQUEST_SOURCE_FILE: web_image_request_set_file(self, g_value_get_object(value)); return TRUE;
    case REQUEST_SOURCE_BYTES: web_image_request_set_bytes(self, g_value_get_boxed(value)); return TRUE;
    case REQUEST_SOURCE_STREAM: web_image_request_set_stream(self, g_value_get_object(value)); return TRUE;
    case REQUEST_SOURCE_IDENTIFIER: web_image_request_set_identifier(self, g_value_get_string(value)); return TRUE;
    default: return FALSE;
    }
}

void web_image_request_clear_sources(WebImageRequest *self) {
    web_image_request_set_file(self, NULL);
    web_image_request_set_bytes(self, NULL);
    web_image_request_set_stream(self, NULL);
}

/**
 * web_image_request_new_for_file:
 * @file: a file that the program or its user has chosen
 *
 * Makes a request for a file, of any scheme that GIO reads; see [property@Request:file].
 *
 * Returns: (transfer full): a request
 *
 * Since: 0.3
 */
WebImageRequest *web_image_request_new_for_file(GFile *file) {
    return g_object_new(WEB_IMAGE_TYPE_REQUEST, "file", file, NULL);
}

/**
 * web_image_request_new_for_bytes:
 * @bytes: the file of an image
 * @identifier: (nullable): the name of the bytes in the cache in memory; %NULL for a digest of them
 *
 * Makes a request for a file in memory; see [property@Request:bytes].
 *
 * Returns: (transfer full): a request
 *
 * Since: 0.3
 */
WebImageRequest *web_image_request_new_for_bytes(GBytes *bytes, const char *identifier) {
    return g_object_new(WEB_IMAGE_TYPE_REQUEST, "bytes", bytes, "identifier", identifier, NULL);
}

/**
 * web_image_request_new_for_stream:
 * @stream: a stream with the file of an image
 * @identifier: (nullable): the name of the bytes in the cache in memory; %NULL for the stream itself
 *
 * Makes a request for the rest of a stream, which is read once; see [property@Request:stream].
 *
 * Returns: (transfer full): a request
 *
 * Since: 0.3
 */
WebImageRequest *web_image_request_new_for_stream(GInputStream *stream, const char *identifier) {
    return g_object_new(WEB_IMAGE_TYPE_REQUEST, "stream", stream, "identifier", identifier, NULL);
}

/**
 * web_image_request_get_file:
 * @self: a request
 *
 * Returns the file to load.
 *
 * Returns: (transfer none) (nullable): the file
 *
 * Since: 0.3
 */
GFile *web_image_request_get_file(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return web_image_request_get_source(self)->file;
}

/**
 * web_image_request_set_file:
 * @self: a request
 * @file: (nullable): a file that the program or its user has chosen
 *
 * Sets the file to load, in place of an address, bytes or a stream.
 *
 * Since: 0.3
 */
void web_image_request_set_file(WebImageRequest *self, GFile *file) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    RequestSource *source = web_image_request_get_source(self);
    GFile *old = source->file;
    if (file == old || (file != NULL && old != NULL && g_file_equal(file, old))) return;
    web_image_request_prepare_source(self, file);
    g_set_object(&source->file, file);
    request_source_clear_handle(source);
    web_image_request_notify_source(self, REQUEST_SOURCE_FILE);
}

/**
 * web_image_request_get_bytes:
 * @self: a request
 *
 * Returns the file in memory.
 *
 * Returns: (transfer none) (nullable): the bytes
 *
 * Since: 0.3
 */
GBytes *web_image_request_get_bytes(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return web_image_request_get_source(self)->bytes;
}

/**
 * web_image_request_set_bytes:
 * @self: a request
 * @bytes: (nullable): the file of an image
 *
 * Sets the file in memory, in place of an address, a file or a stream.
 *
 * Since: 0.3
 */
void web_image_request_set_bytes(WebImageRequest *self, GBytes *bytes) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    RequestSource *source = web_image_request_get_source(self);
    if (bytes == source->bytes) return;
    web_image_request_prepare_source(self, bytes);
    GBytes *old = source->bytes;
    source->bytes = bytes == NULL ? NULL : g_bytes_ref(bytes);
    if (old != NULL) g_bytes_unref(old);
    request_source_clear_handle(source);
    web_image_request_notify_source(self, REQUEST_SOURCE_BYTES);
}

/**
 * web_image_request_get_stream:
 * @self: a request
 *
 * Returns the stream to load.
 *
 * Returns: (transfer none) (nullable): the stream
 *
 * Since: 0.3
 */
GInputStream *web_image_request_get_stream(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return web_image_request_get_source(self)->stream;
}

/**
 * web_image_request_set_stream:
 * @self: a request
 * @stream: (nullable): a stream with the file of an image
 *
 * Sets the stream to load, in place of an address, a file or bytes.
 *
 * Since: 0.3
 */
void web_image_request_set_stream(WebImageRequest *self, GInputStream *stream) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    RequestSource *source = web_image_request_get_source(self);
    if (stream == source->stream) return;
    web_image_request_prepare_source(self, stream);
    g_set_object(&source->stream, stream);
    request_source_clear_handle(source);
    web_image_request_notify_source(self, REQUEST_SOURCE_STREAM);
}

/**
 * web_image_request_get_identifier:
 * @self: a request
 *
 * Returns the name of bytes or a stream in the cache in memory.
 *
 * Returns: (nullable): the name
 *
 * Since: 0.3
 */
const char *web_image_request_get_identifier(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return web_image_request_get_source(self)->identifier;
}

/**
 * web_image_request_set_identifier:
 * @self: a request
 * @identifier: (nullable): the name
 *
 * Sets the name of bytes or a stream in the cache in memory.
 *
 * Since: 0.3
 */
void web_image_request_set_identifier(WebImageRequest *self, const char *identifier) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    RequestSource *source = web_image_request_get_source(self);
    if (g_strcmp0(identifier, source->identifier) == 0) return;
    char *copy = g_strdup(identifier);
    g_free(source->identifier);
    source->identifier = copy;
    // A stream cannot be read again, so it keeps its name once a load has begun.
    if (source->stream == NULL) request_source_clear_handle(source);
    web_image_request_notify_source(self, REQUEST_SOURCE_IDENTIFIER);
}

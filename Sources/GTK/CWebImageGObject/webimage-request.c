#include "error-private.h"
#include "processor-private.h"
#include "request-private.h"

/**
 * WebImageRequest:
 *
 * What to load, and how.
 *
 * ```python
 * request = WebImage.Request(uri="https://example.org/photo.jpg", width=320, height=240)
 * ```
 *
 * With a size the image is decoded at that size, which takes a fraction of the time and memory. A change of a request does not
 * affect loads that have begun.
 *
 * Since: 0.2
 */
GParamSpec *web_image_request_properties[REQUEST_N_PROPERTIES];

G_DEFINE_FINAL_TYPE(WebImageRequest, web_image_request, G_TYPE_OBJECT)

static void web_image_request_finalize(GObject *object) {
    WebImageRequest *self = WEB_IMAGE_REQUEST(object);
    g_free(self->uri);
    request_source_clear(&self->source);
    g_free(self->low_data_uri);
    g_clear_pointer(&self->processor, web_image_processor_unref);
    g_free(self->processing);
    g_strfreev(self->headers);
    g_strfreev(self->fields);
    G_OBJECT_CLASS(web_image_request_parent_class)->finalize(object);
}

static void web_image_request_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImageRequest *self = WEB_IMAGE_REQUEST(object);
    switch (id) {
    case REQUEST_URI: g_value_set_string(value, self->uri); break;
    case REQUEST_WIDTH: g_value_set_int(value, self->width); break;
    case REQUEST_HEIGHT: g_value_set_int(value, self->height); break;
    case REQUEST_CONTENT_FIT: g_value_set_enum(value, self->fit); break;
    case REQUEST_PROCESSOR: g_value_set_boxed(value, self->processor); break;
    case REQUEST_PROCESSING: g_value_set_string(value, self->processing); break;
    case REQUEST_HEADERS: g_value_set_boxed(value, self->headers); break;
    case REQUEST_PRIORITY: g_value_set_enum(value, self->priority); break;
    case REQUEST_CACHE_POLICY: g_value_set_enum(value, self->cache_policy); break;
    case REQUEST_LOW_DATA_URI: g_value_set_string(value, self->low_data_uri); break;
    case REQUEST_FOCUS_X: g_value_set_double(value, self->focus_x); break;
    case REQUEST_FOCUS_Y: g_value_set_double(value, self->focus_y); break;
    default:
        if (!request_source_get_property(&self->source, id - REQUEST_FIRST_OF_SOURCE, value)) WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_request_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImageRequest *self = WEB_IMAGE_REQUEST(object);
    switch (id) {
    case REQUEST_URI: web_image_request_set_uri(self, g_value_get_string(value)); break;
    case REQUEST_WIDTH: web_image_request_set_width(self, g_value_get_int(value)); break;
    case REQUEST_HEIGHT: web_image_request_set_height(self, g_value_get_int(value)); break;
    case REQUEST_CONTENT_FIT: web_image_request_set_content_fit(self, g_value_get_enum(value)); break;
    case REQUEST_PROCESSOR: web_image_request_set_processor(self, g_value_get_boxed(value)); break;
    case REQUEST_PROCESSING: web_image_request_set_processing(self, g_value_get_string(value)); break;
    case REQUEST_HEADERS: web_image_request_set_headers(self, g_value_get_boxed(value)); break;
    case REQUEST_PRIORITY: web_image_request_set_priority(self, g_value_get_enum(value)); break;
    case REQUEST_CACHE_POLICY: web_image_request_set_cache_policy(self, g_value_get_enum(value)); break;
    case REQUEST_LOW_DATA_URI: web_image_request_set_low_data_uri(self, g_value_get_string(value)); break;
    case REQUEST_FOCUS_X: web_image_request_set_focus(self, g_value_get_double(value), self->focus_y); break;
    case REQUEST_FOCUS_Y: web_image_request_set_focus(self, self->focus_x, g_value_get_double(value)); break;
    default:
        if (!web_image_request_set_source_property(self, id - REQUEST_FIRST_OF_SOURCE, value)) WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_request_class_init(WebImageRequestClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->finalize = web_image_request_finalize;
    object_class->get_property = web_image_request_get_property;
    object_class->set_property = web_image_request_set_property;
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImageRequest:uri:
     *
     * The address of the image: `https:`, `http:`, `file:`, `resource:`, `data:`, or one that a handler of
     * [signal@Session::load-requested] loads. Setting it clears [property@Request:file], [property@Request:bytes] and
     * [property@Request:stream].
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_URI] = g_param_spec_string("uri", NULL, NULL, NULL, flags);

    /**
     * WebImageRequest:width:
     *
     * The width to decode at, in pixels. 0, the default, does not limit it.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_WIDTH] = g_param_spec_int("width", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    /**
     * WebImageRequest:height:
     *
     * The height to decode at, in pixels. 0, the default, does not limit it.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_HEIGHT] = g_param_spec_int("height", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    /**
     * WebImageRequest:content-fit:
     *
     * How the image fits the box of [property@Request:width] and [property@Request:height].
     *
     * `CONTAIN`, the default, and `SCALE_DOWN` decode at most the size of the box. `COVER` cuts off what extends beyond it. `FILL`
     * distorts the image. No image is enlarged.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_CONTENT_FIT] = g_param_spec_enum(
        "content-fit", NULL, NULL, GTK_TYPE_CONTENT_FIT, GTK_CONTENT_FIT_CONTAIN, flags);

    /**
     * WebImageRequest:processor:
     *
     * Changes the image after decoding; %NULL by default.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_PROCESSOR] = g_param_spec_boxed("processor", NULL, NULL, WEB_IMAGE_TYPE_PROCESSOR, flags);

    /**
     * WebImageRequest:processing:
     *
     * [property@Request:processor] as a text, such as `rounded:12,blur:4`; %NULL, the default, if it was not made from one.
     *
     * The text is that of [ctor@Processor.new_from_string]. An invalid one logs a warning, and then no processor applies.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_PROCESSING] = g_param_spec_string("processing", NULL, NULL, NULL, flags);

    /**
     * WebImageRequest:headers:
     *
     * Header fields of the request to the server, such as `Authorization: Bearer …`; %NULL by default.
     *
     * Images that were loaded with other values of such fields are cached separately.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_HEADERS] = g_param_spec_boxed("headers", NULL, NULL, G_TYPE_STRV, flags);

    /**
     * WebImageRequest:priority:
     *
     * How urgent the load is.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_PRIORITY] = g_param_spec_enum(
        "priority", NULL, NULL, WEB_IMAGE_TYPE_PRIORITY, WEB_IMAGE_PRIORITY_NORMAL, flags);

    /**
     * WebImageRequest:cache-policy:
     *
     * Which of memory, disk and server may answer.
     *
     * Since: 0.2
     */
    web_image_request_properties[REQUEST_CACHE_POLICY] = g_param_spec_enum(
        "cache-policy", NULL, NULL, WEB_IMAGE_TYPE_CACHE_POLICY, WEB_IMAGE_CACHE_POLICY_CACHE_FIRST, flags);

    /**
     * WebImageRequest:low-data-uri:
     *
     * The address of the same image with fewer bytes, which a session loads in its [property@Session:low-data-mode]; %NULL by default.
     *
     * Since: 0.3
     */
    web_image_request_properties[REQUEST_LOW_DATA_URI] = g_param_spec_string("low-data-uri", NULL, NULL, NULL, flags);

    /**
     * WebImageRequest:focus-x:
     *
     * The point of the image that stays visible where `COVER` cuts parts off, from -1 at the left edge to 1 at the right edge; 0, the
     * default, for the middle.
     *
     * The coordinates are those of Mastodon's `meta.focus`. The result has this point in its center, as far as the image extends.
     *
     * Since: 0.3
     */
    web_image_request_properties[REQUEST_FOCUS_X] = g_param_spec_double("focus-x", NULL, NULL, -1, 1, 0, flags);

    /**
     * WebImageRequest:focus-y:
     *
     * The point of the image that stays visible where `COVER` cuts parts off, from -1 at the bottom edge to 1 at the top edge; 0, the
     * default, for the middle.
     *
     * Since: 0.3
     */
    web_image_request_properties[REQUEST_FOCUS_Y] = g_param_spec_double("focus-y", NULL, NULL, -1, 1, 0, flags);

    request_source_make_properties(web_image_request_properties + REQUEST_FIRST_OF_SOURCE);
    g_object_class_install_properties(object_class, REQUEST_N_PROPERTIES, web_image_request_properties);
}

static void web_image_request_init(WebImageRequest *self) {
    self->fit = GTK_CONTENT_FIT_CONTAIN;
    self->priority = WEB_IMAGE_PRIORITY_NORMAL;
}

WebImageBridgeRequest web_image_request_describe(WebImageRequest *self) {
    const gboolean is_empty = self->uri == NULL || self->uri[0] == '\0';
    return (WebImageBridgeRequest){
        .uri = is_empty ? NULL : self->uri,
        .source = request_source_get_handle(&self->source),
        .low_data_uri = self->low_data_uri,
        .headers = (const char *const *)self->fields,
        .header_count = self->fields == NULL ? 0 : g_strv_length(self->fields) / 2,
        .width = self->width,
        .height = self->height,
        .fit = self->fit,
        .focus_x = self->focus_x,
        .focus_y = self->focus_y,
        .priority = self->priority,
        .cache_policy = self->cache_policy,
        .processor = self->processor == NULL ? NULL : web_image_processor_get_handle(self->processor),
    };
}

RequestSource *web_image_request_get_source(WebImageRequest *self) { return &self->source; }

void web_image_request_notify_source(WebImageRequest *self, RequestSourceProperty property) {
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_FIRST_OF_SOURCE + property]);
}

void web_image_request_prepare_source(WebImageRequest *self, gconstpointer value) {
    if (value == NULL) return;
    web_image_request_set_uri(self, NULL);
    web_image_request_clear_sources(self);
}

/**
 * web_image_request_new:
 * @uri: (nullable): the address of the image
 *
 * Makes a request for a whole image.
 *
 * Returns: (transfer full): a request
 *
 * Since: 0.2
 */
WebImageRequest *web_image_request_new(const char *uri) {
    return g_object_new(WEB_IMAGE_TYPE_REQUEST, "uri", uri, NULL);
}

/**
 * web_image_request_new_sized:
 * @uri: (nullable): the address of the image
 * @width: the width to decode at, in pixels; 0 for no limit
 * @height: the height to decode at, in pixels; 0 for no limit
 *
 * Makes a request for an image that fits in a box.
 *
 * Returns: (transfer full): a request
 *
 * Since: 0.2
 */
WebImageRequest *web_image_request_new_sized(const char *uri, int width, int height) {
    return g_object_new(WEB_IMAGE_TYPE_REQUEST, "uri", uri, "width", width, "height", height, NULL);
}

/**
 * web_image_request_get_uri:
 * @self: a request
 *
 * Returns the address of the image.
 *
 * Returns: (nullable): the address
 *
 * Since: 0.2
 */
const char *web_image_request_get_uri(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return self->uri;
}

/**
 * web_image_request_set_uri:
 * @self: a request
 * @uri: (nullable): the address
 *
 * Sets the address of the image.
 *
 * Since: 0.2
 */
void web_image_request_set_uri(WebImageRequest *self, const char *uri) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (g_strcmp0(uri, self->uri) == 0) return;
    if (uri != NULL) web_image_request_clear_sources(self);
    char *copy = g_strdup(uri);
    g_free(self->uri);
    self->uri = copy;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_URI]);
}

/**
 * web_image_request_get_width:
 * @self: a request
 *
 * Returns the width to decode at.
 *
 * Returns: the width in pixels; 0 for no limit
 *
 * Since: 0.2
 */
int web_image_request_get_width(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), 0);
    return self->width;
}

/**
 * web_image_request_set_width:
 * @self: a request
 * @width: the width in pixels; 0 for no limit
 *
 * Sets the width to decode at.
 *
 * Since: 0.2
 */
void web_image_request_set_width(WebImageRequest *self, int width) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    g_return_if_fail(width >= 0);
    if (width == self->width) return;
    self->width = width;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_WIDTH]);
}

/**
 * web_image_request_get_height:
 * @self: a request
 *
 * Returns the height to decode at.
 *
 * Returns: the height in pixels; 0 for no limit
 *
 * Since: 0.2
 */
int web_image_request_get_height(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), 0);
    return self->height;
}

/**
 * web_image_request_set_height:
 * @self: a request
 * @height: the height in pixels; 0 for no limit
 *
 * Sets the height to decode at.
 *
 * Since: 0.2
 */
void web_image_request_set_height(WebImageRequest *self, int height) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    g_return_if_fail(height >= 0);
    if (height == self->height) return;
    self->height = height;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_HEIGHT]);
}

/**
 * web_image_request_get_content_fit:
 * @self: a request
 *
 * Returns how the image fits the box.
 *
 * Returns: the fit
 *
 * Since: 0.2
 */
GtkContentFit web_image_request_get_content_fit(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), GTK_CONTENT_FIT_CONTAIN);
    return self->fit;
}

/**
 * web_image_request_set_content_fit:
 * @self: a request
 * @fit: the fit
 *
 * Sets how the image fits the box.
 *
 * Since: 0.2
 */
void web_image_request_set_content_fit(WebImageRequest *self, GtkContentFit fit) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (fit == self->fit) return;
    self->fit = fit;
    g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_CONTENT_FIT]);
}

/**
 * web_image_request_get_processor:
 * @self: a request
 *
 * Returns the processor.
 *
 * Returns: (transfer none) (nullable): the processor
 *
 * Since: 0.2
 */
WebImageProcessor *web_image_request_get_processor(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return self->processor;
}

// Replaces the processor and its text, and takes ownership of both.
static void web_image_request_take_processor(WebImageRequest *self, WebImageProcessor *processor, char *processing) {
    g_object_freeze_notify(G_OBJECT(self));
    if (processor != self->processor) g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_PROCESSOR]);
    if (g_strcmp0(processing, self->processing) != 0) g_object_notify_by_pspec(G_OBJECT(self), web_image_request_properties[REQUEST_PROCESSING]);
    g_clear_pointer(&self->processor, web_image_processor_unref);
    g_free(self->processing);
    self->processor = processor;
    self->processing = processing;
    g_object_thaw_notify(G_OBJECT(self));
}

/**
 * web_image_request_set_processor:
 * @self: a request
 * @processor: (nullable): the processor
 *
 * Sets the processor.
 *
 * Since: 0.2
 */
void web_image_request_set_processor(WebImageRequest *self, WebImageProcessor *processor) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (processor == self->processor) return;
    web_image_request_take_processor(self, processor == NULL ? NULL : web_image_processor_ref(processor), NULL);
}

/**
 * web_image_request_get_processing:
 * @self: a request
 *
 * Returns the processor as a text.
 *
 * Returns: (nullable): the text; %NULL if the processor was not made from one
 *
 * Since: 0.2
 */
const char *web_image_request_get_processing(WebImageRequest *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_REQUEST(self), NULL);
    return self->processing;
}

/**
 * web_image_request_set_processing:
 * @self: a request
 * @processing: (nullable): a text as that of [ctor@Processor.new_from_string]
 *
 * Sets the processor as a text. An invalid text logs a warning, and then no processor applies.
 *
 * Since: 0.2
 */
void web_image_request_set_processing(WebImageRequest *self, const char *processing) {
    g_return_if_fail(WEB_IMAGE_IS_REQUEST(self));
    if (g_strcmp0(processing, self->processing) == 0) return;
    GError *error = NULL;
    WebImageProcessor *processor =
        processing == NULL ? NULL : web_image_processor_new_from_string(processing, &error);
    if (error != NULL) g_warning("%s", error->message);
    g_clear_error(&error);
    web_image_request_take_processor(self, processor, processor == NULL ? NULL : g_strdup(processing));
}

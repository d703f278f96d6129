#include "view-private.h"

/**
 * WebImageView:
 *
 * What shows the image of a URI: [class@Picture], [class@ZoomView] and [class@Paintable] have these properties, functions and signals.
 *
 * Only classes of this library implement the interface.
 *
 * Since: 0.3
 */
G_DEFINE_INTERFACE(WebImageView, web_image_view, G_TYPE_OBJECT)

GParamSpec *image_slot_properties[IMAGE_SLOT_N_PROPERTIES];
guint image_slot_signals[IMAGE_SLOT_N_SIGNALS];

ImageSlot *image_slot_of(WebImageView *view) { return WEB_IMAGE_VIEW_GET_IFACE(view)->get_slot(view); }

static void web_image_view_default_init(WebImageViewInterface *interface) {
    const GParamFlags writable = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
    const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    GParamSpec **properties = image_slot_properties;

    /**
     * WebImageView:uri:
     *
     * The address of the image: `https:`, `http:`, `file:`, `resource:` or `data:`, or one that a handler of [signal@Session::load-requested]
     * loads. %NULL, the default, and an empty text show no image.
     *
     * Only one of `uri`, `file`, `bytes` and `stream` is set: setting one clears the others.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_URI] = g_param_spec_string("uri", NULL, NULL, NULL, writable);

    /**
     * WebImageView:file:
     *
     * A file to show, of any scheme that GIO reads, which the program or its user has chosen; %NULL by default. See [property@Request:file].
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_FILE] = g_param_spec_object("file", NULL, NULL, G_TYPE_FILE, writable);

    /**
     * WebImageView:bytes:
     *
     * The file of an image in memory; %NULL by default. See [property@Request:bytes].
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_BYTES] = g_param_spec_boxed("bytes", NULL, NULL, G_TYPE_BYTES, writable);

    /**
     * WebImageView:stream:
     *
     * A stream with the file of an image, which is read once; %NULL by default. See [property@Request:stream].
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_STREAM] = g_param_spec_object("stream", NULL, NULL, G_TYPE_INPUT_STREAM, writable);

    /**
     * WebImageView:identifier:
     *
     * The name of `bytes` or `stream` in the cache in memory; %NULL by default. Set it together with them. See [property@Request:identifier].
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_IDENTIFIER] = g_param_spec_string("identifier", NULL, NULL, NULL, writable);

    /**
     * WebImageView:headers:
     *
     * Header fields of the request to the server, such as `Authorization: Bearer …`; %NULL by default.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_HEADERS] = g_param_spec_boxed("headers", NULL, NULL, G_TYPE_STRV, writable);

    /**
     * WebImageView:processor:
     *
     * Changes the image after decoding; %NULL by default.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_PROCESSOR] = g_param_spec_boxed("processor", NULL, NULL, WEB_IMAGE_TYPE_PROCESSOR, writable);

    /**
     * WebImageView:processing:
     *
     * [property@View:processor] as a text, such as `rounded:12,blur:4`; %NULL, the default, if it was not made from one.
     *
     * The text is that of [ctor@Processor.new_from_string]. An invalid one logs a warning, and then no processor applies.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_PROCESSING] = g_param_spec_string("processing", NULL, NULL, NULL, writable);

    /**
     * WebImageView:priority:
     *
     * How urgent the load is while the image is visible; `HIGH` by default. Otherwise it is at most `LOW`.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_PRIORITY] = g_param_spec_enum(
         "priority", NULL, NULL, WEB_IMAGE_TYPE_PRIORITY, WEB_IMAGE_PRIORITY_HIGH, writable);

    /**
     * WebImageView:cache-policy:
     *
     * Which of memory, disk and server may answer.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_CACHE_POLICY] = g_param_spec_enum(
         "cache-policy", NULL, NULL, WEB_IMAGE_TYPE_CACHE_POLICY, WEB_IMAGE_CACHE_POLICY_CACHE_FIRST, writable);

    /**
     * WebImageView:low-data-uri:
     *
     * The address of the same image with fewer bytes, which a session loads in its [property@Session:low-data-mode]; %NULL by default.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_LOW_DATA_URI] = g_param_spec_string("low-data-uri", NULL, NULL, NULL, writable);

    /**
     * WebImageView:session:
     *
     * The session that loads the image; %NULL, the default, for the default session.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_SESSION] = g_param_spec_object("session", NULL, NULL, WEB_IMAGE_TYPE_SESSION, writable);

    /**
     * WebImageView:placeholder:
     *
     * Shown until the image is loaded, and if the load fails; %NULL by default.
     *
     * It takes precedence over the hashes and the color.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_PLACEHOLDER] = g_param_spec_object("placeholder", NULL, NULL, GDK_TYPE_PAINTABLE, writable);

    /**
     * WebImageView:blur-hash:
     *
     * A [BlurHash](https://blurha.sh) that is shown until the image is loaded; %NULL by default.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_BLUR_HASH] = g_param_spec_string("blur-hash", NULL, NULL, NULL, writable);

    /**
     * WebImageView:thumb-hash:
     *
     * A [ThumbHash](https://evanw.github.io/thumbhash/), in base64, that is shown until the image is loaded; %NULL by default.
     *
     * The BlurHash takes precedence.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_THUMB_HASH] = g_param_spec_string("thumb-hash", NULL, NULL, NULL, writable);

    /**
     * WebImageView:placeholder-color:
     *
     * A color that is shown until the image is loaded; %NULL by default. The hashes take precedence.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_PLACEHOLDER_COLOR] = g_param_spec_boxed("placeholder-color", NULL, NULL, GDK_TYPE_RGBA, writable);

    /**
     * WebImageView:error-paintable:
     *
     * Shown in place of the placeholder if the load fails, such as an icon. It is not enlarged; %NULL by default.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_ERROR_PAINTABLE] = g_param_spec_object("error-paintable", NULL, NULL, GDK_TYPE_PAINTABLE, writable);

    /**
     * WebImageView:transition:
     *
     * How an image from disk or network replaces what is on display.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_TRANSITION] = g_param_spec_enum(
         "transition", NULL, NULL, WEB_IMAGE_TYPE_TRANSITION, WEB_IMAGE_TRANSITION_NONE, writable);

    /**
     * WebImageView:transition-duration:
     *
     * How long a transition takes, in milliseconds.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_TRANSITION_DURATION] = g_param_spec_uint(
         "transition-duration", NULL, NULL, 0, 60000, IMAGE_SLOT_TRANSITION_MILLISECONDS, writable);

    /**
     * WebImageView:animate:
     *
     * Whether animations play; %TRUE by default.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_ANIMATE] = g_param_spec_boolean("animate", NULL, NULL, TRUE, writable);

    /**
     * WebImageView:focus-x:
     *
     * The point of the image that stays visible where it is cropped, from -1 at the left edge to 1 at the right edge; 0, the default, for the
     * middle.
     *
     * The coordinates are those of Mastodon's `meta.focus`. The crop has this point in its center, as far as the image extends.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_FOCUS_X] = g_param_spec_double("focus-x", NULL, NULL, -1, 1, 0, writable);

    /**
     * WebImageView:focus-y:
     *
     * The point of the image that stays visible where it is cropped, from -1 at the bottom edge to 1 at the top edge; 0, the default, for the
     * middle.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_FOCUS_Y] = g_param_spec_double("focus-y", NULL, NULL, -1, 1, 0, writable);

    /**
     * WebImageView:loading:
     *
     * Whether the image is being loaded.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_LOADING] = g_param_spec_boolean("loading", NULL, NULL, FALSE, readable);

    /**
     * WebImageView:progress:
     *
     * How much of the image has arrived, from 0 to 1; 0 while the length is unknown.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_PROGRESS] = g_param_spec_double("progress", NULL, NULL, 0, 1, 0, readable);

    /**
     * WebImageView:error:
     *
     * Why the image could not be loaded, of the domain %WEB_IMAGE_ERROR; %NULL if the load has not failed.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_ERROR] = g_param_spec_boxed("error", NULL, NULL, G_TYPE_ERROR, readable);

    /**
     * WebImageView:image-width:
     *
     * The width of the image on display in pixels; 0 without an image.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_IMAGE_WIDTH] = g_param_spec_int("image-width", NULL, NULL, 0, G_MAXINT, 0, readable);

    /**
     * WebImageView:image-height:
     *
     * The height of the image on display in pixels; 0 without an image.
     *
     * Since: 0.2
     */
    properties[IMAGE_SLOT_IMAGE_HEIGHT] = g_param_spec_int("image-height", NULL, NULL, 0, G_MAXINT, 0, readable);

    /**
     * WebImageView:paintable:
     *
     * What is on display, such as for another widget; %NULL without an image, also while a placeholder is shown.
     *
     * Of a widget, a texture of the image, or of the frame of an animation. A [class@Paintable] is its own. Bind it to a property of a widget that
     * shows something of its own without a paintable, such as `custom-image` of an `AdwAvatar`.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_PAINTABLE] = g_param_spec_object("paintable", NULL, NULL, GDK_TYPE_PAINTABLE, readable);

    /**
     * WebImageView:http-status:
     *
     * The status of the response that the image on display came with, also from a cache, or that the load has failed with; 0 if the image did
     * not come over HTTP.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_HTTP_STATUS] = g_param_spec_int("http-status", NULL, NULL, 0, G_MAXINT, 0, readable);

    /**
     * WebImageView:final-uri:
     *
     * The address of the image on display after redirects, or the address that the failure is about; %NULL without an image.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_FINAL_URI] = g_param_spec_string("final-uri", NULL, NULL, NULL, readable);

    /**
     * WebImageView:content-type:
     *
     * The type that the server has declared, such as `image/png`; %NULL if the image did not come over HTTP.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_CONTENT_TYPE] = g_param_spec_string("content-type", NULL, NULL, NULL, readable);

    /**
     * WebImageView:origin:
     *
     * Where the image on display came from; %WEB_IMAGE_ORIGIN_NONE without an image.
     *
     * Since: 0.3
     */
    properties[IMAGE_SLOT_ORIGIN] = g_param_spec_enum("origin", NULL, NULL, WEB_IMAGE_TYPE_ORIGIN, WEB_IMAGE_ORIGIN_NONE, readable);

    for (guint id = 1; id < IMAGE_SLOT_N_PROPERTIES; id++) g_object_interface_install_property(interface, properties[id]);

    /**
     * WebImageView::loaded:
     * @self: the view
     *
     * Emitted after the image was loaded and is shown, also from memory.
     *
     * Since: 0.2
     */
    image_slot_signals[IMAGE_SLOT_LOADED] =
        g_signal_new("loaded", WEB_IMAGE_TYPE_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);

    /**
     * WebImageView::failed:
     * @self: the view
     * @error: why
     *
     * Emitted after a load has failed.
     *
     * Since: 0.2
     */
    image_slot_signals[IMAGE_SLOT_FAILED] =
        g_signal_new("failed", WEB_IMAGE_TYPE_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_ERROR);
}

/**
 * web_image_view_get_uri:
 * @self: a view
 *
 * Returns the address of the image.
 *
 * Returns: (nullable): the address
 *
 * Since: 0.3
 */
const char *web_image_view_get_uri(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_uri(slot->request);
}

/**
 * web_image_view_set_uri:
 * @self: a view
 * @uri: (nullable): the address of an image
 *
 * Shows another image, or none. The image before does not appear any more.
 *
 * Since: 0.3
 */
void web_image_view_set_uri(WebImageView *self, const char *uri) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "uri", uri, NULL);
}

/**
 * web_image_view_reload:
 * @self: a view
 *
 * Loads the image again: a failed load as before, another one from its server. The image stays on display until a newer one is loaded.
 *
 * Since: 0.3
 */
void web_image_view_reload(WebImageView *self) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    image_slot_reload(image_slot_of(self));
}

/**
 * web_image_view_cancel:
 * @self: a view
 *
 * Cancels the load in progress. What is on display stays.
 *
 * Since: 0.3
 */
void web_image_view_cancel(WebImageView *self) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    image_slot_cancel(image_slot_of(self));
}

#include "error-private.h"
#include "image-slot.h"
#include <webimage/webimage-paintable.h>

/**
 * WebImagePaintable:
 *
 * The image of a URI as a [iface@Gdk.Paintable], for any widget that shows paintables, for drawing, and for models of lists.
 *
 * ```python
 * image = Gtk.Image(paintable=WebImage.Paintable(uri=uri))
 * ```
 *
 * An animation plays while the paintable is drawn. [class@Picture] does more: it loads only while it is on screen, decodes
 * at its size, and has rounded corners.
 */
struct _WebImagePaintable {
    GObject parent_instance;

    ImageSlot slot;
};

enum { WIDTH = IMAGE_SLOT_N_PROPERTIES, HEIGHT, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];
static ImageSlotClass slot_class;

static void web_image_paintable_implement(GdkPaintableInterface *interface);

G_DEFINE_FINAL_TYPE_WITH_CODE(
    WebImagePaintable, web_image_paintable, G_TYPE_OBJECT,
    G_IMPLEMENT_INTERFACE(GDK_TYPE_PAINTABLE, web_image_paintable_implement))

// What draws: the substitute, or the paintable of the library.
static GdkPaintable *web_image_paintable_get_top(WebImagePaintable *self) {
    GtkContentFit fit;
    GdkPaintable *substitute = image_slot_get_substitute(&self->slot, &fit);
    if (self->slot.handle == NULL || (substitute != NULL && self->slot.state.width == 0)) return substitute;
    return webimage_bridge_slot_paintable(self->slot.handle);
}

static void web_image_paintable_snapshot(
    GdkPaintable *paintable, GdkSnapshot *snapshot, double width, double height) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(paintable);
    GtkContentFit fit = GTK_CONTENT_FIT_FILL;
    GdkPaintable *substitute = image_slot_get_substitute(&self->slot, &fit);
    const graphene_size_t area = GRAPHENE_SIZE_INIT((float)width, (float)height);
    if (substitute != NULL) image_slot_snapshot(substitute, GTK_SNAPSHOT(snapshot), fit, &area, NULL);
    if (self->slot.handle == NULL || (substitute != NULL && substitute == self->slot.error_paintable)) return;
    gdk_paintable_snapshot(webimage_bridge_slot_paintable(self->slot.handle), snapshot, width, height);
}

static int web_image_paintable_get_intrinsic_width(GdkPaintable *paintable) {
    GdkPaintable *top = web_image_paintable_get_top(WEB_IMAGE_PAINTABLE(paintable));
    return top == NULL ? 0 : gdk_paintable_get_intrinsic_width(top);
}

static int web_image_paintable_get_intrinsic_height(GdkPaintable *paintable) {
    GdkPaintable *top = web_image_paintable_get_top(WEB_IMAGE_PAINTABLE(paintable));
    return top == NULL ? 0 : gdk_paintable_get_intrinsic_height(top);
}

static GdkPaintable *web_image_paintable_get_current_image(GdkPaintable *paintable) {
    const int width = gdk_paintable_get_intrinsic_width(paintable);
    const int height = gdk_paintable_get_intrinsic_height(paintable);
    if (width <= 0 || height <= 0) return gdk_paintable_new_empty(0, 0);
    GtkSnapshot *snapshot = gtk_snapshot_new();
    gdk_paintable_snapshot(paintable, snapshot, width, height);
    return gtk_snapshot_free_to_paintable(snapshot, &GRAPHENE_SIZE_INIT(width, height));
}

static void web_image_paintable_implement(GdkPaintableInterface *interface) {
    interface->snapshot = web_image_paintable_snapshot;
    interface->get_intrinsic_width = web_image_paintable_get_intrinsic_width;
    interface->get_intrinsic_height = web_image_paintable_get_intrinsic_height;
    interface->get_current_image = web_image_paintable_get_current_image;
}

static void web_image_paintable_redraw(GObject *owner) {
    gdk_paintable_invalidate_contents(GDK_PAINTABLE(owner));
}

static void web_image_paintable_resize(GObject *owner) { gdk_paintable_invalidate_size(GDK_PAINTABLE(owner)); }

static void web_image_paintable_dispose(GObject *object) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(object);
    if (image_slot_defer_dispose(object)) return;
    if (self->slot.handle != NULL) {
        g_signal_handlers_disconnect_by_data(webimage_bridge_slot_paintable(self->slot.handle), self);
    }
    image_slot_dispose(&self->slot);
    G_OBJECT_CLASS(web_image_paintable_parent_class)->dispose(object);
}

static void web_image_paintable_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(object);
    if (image_slot_get_property(&self->slot, id, value) || self->slot.request == NULL) return;
    switch (id) {
    case WIDTH: g_value_set_int(value, web_image_request_get_width(self->slot.request)); break;
    case HEIGHT: g_value_set_int(value, web_image_request_get_height(self->slot.request)); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_paintable_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(object);
    if (image_slot_set_property(&self->slot, id, value) || self->slot.request == NULL) return;
    if (id != WIDTH && id != HEIGHT) {
        WARN_INVALID_PROPERTY(object, pspec);
        return;
    }
    if (!image_slot_forward(&self->slot, pspec, value)) return;
    image_slot_invalidate_request(&self->slot);
    g_object_notify_by_pspec(object, properties[id]);
}

static void web_image_paintable_class_init(WebImagePaintableClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->dispose = web_image_paintable_dispose;
    object_class->get_property = web_image_paintable_get_property;
    object_class->set_property = web_image_paintable_set_property;
    image_slot_class_init(&slot_class, object_class);
    slot_class.redraw = web_image_paintable_redraw;
    slot_class.resize = web_image_paintable_resize;

    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImagePaintable:width:
     *
     * The width to decode at, in pixels. 0, the default, does not limit it.
     */
    properties[WIDTH] = g_param_spec_int("width", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    /**
     * WebImagePaintable:height:
     *
     * The height to decode at, in pixels. 0, the default, does not limit it.
     */
    properties[HEIGHT] = g_param_spec_int("height", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    for (guint id = WIDTH; id < N_PROPERTIES; id++) {
        g_object_class_install_property(object_class, id, properties[id]);
    }
}

static void web_image_paintable_init(WebImagePaintable *self) {
    image_slot_init(&self->slot, &slot_class, G_OBJECT(self), NULL);
    GdkPaintable *inner = webimage_bridge_slot_paintable(self->slot.handle);
    g_signal_connect_swapped(inner, "invalidate-contents", G_CALLBACK(gdk_paintable_invalidate_contents), self);
    g_signal_connect_swapped(inner, "invalidate-size", G_CALLBACK(gdk_paintable_invalidate_size), self);
}

/**
 * web_image_paintable_new:
 * @uri: (nullable): the address of an image
 *
 * Makes a paintable that shows an image.
 *
 * Returns: (transfer full): a paintable
 */
WebImagePaintable *web_image_paintable_new(const char *uri) {
    return g_object_new(WEB_IMAGE_TYPE_PAINTABLE, "uri", uri, NULL);
}

/**
 * web_image_paintable_get_uri:
 * @self: a paintable
 *
 * Returns the address of the image.
 *
 * Returns: (nullable): the address
 */
const char *web_image_paintable_get_uri(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), NULL);
    return self->slot.request == NULL ? NULL : web_image_request_get_uri(self->slot.request);
}

/**
 * web_image_paintable_set_uri:
 * @self: a paintable
 * @uri: (nullable): the address of an image
 *
 * Shows another image, or none. The image before does not appear any more.
 */
void web_image_paintable_set_uri(WebImagePaintable *self, const char *uri) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    g_object_set(self, "uri", uri, NULL);
}

/**
 * web_image_paintable_get_loading:
 * @self: a paintable
 *
 * Returns whether the image is being loaded.
 *
 * Returns: %TRUE during a load
 */
gboolean web_image_paintable_get_loading(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), FALSE);
    gboolean loading;
    g_object_get(self, "loading", &loading, NULL);
    return loading;
}

/**
 * web_image_paintable_dup_error:
 * @self: a paintable
 *
 * Returns why the image could not be loaded.
 *
 * Returns: (transfer full) (nullable): an error; %NULL if the load has not failed
 */
GError *web_image_paintable_dup_error(WebImagePaintable *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PAINTABLE(self), NULL);
    GError *error;
    g_object_get(self, "error", &error, NULL);
    return error;
}

/**
 * web_image_paintable_reload:
 * @self: a paintable
 *
 * Loads the image again: a failed load as before, another one from its server. The image stays on display until a newer one is loaded.
 */
void web_image_paintable_reload(WebImagePaintable *self) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    image_slot_reload(&self->slot);
}

/**
 * web_image_paintable_cancel:
 * @self: a paintable
 *
 * Cancels the load in progress. What is shown stays.
 */
void web_image_paintable_cancel(WebImagePaintable *self) {
    g_return_if_fail(WEB_IMAGE_IS_PAINTABLE(self));
    image_slot_cancel(&self->slot);
}

#include "error-private.h"
#include "paintable-private.h"
#include "view-private.h"

/**
 * WebImagePaintable:
 *
 * The image of a URI as a [iface@Gdk.Paintable], for any widget that shows paintables, for drawing, and for models of lists.
 *
 * ```python
 * image = Gtk.Image(paintable=WebImage.Paintable(uri=uri))
 * ```
 *
 * A paintable is a [iface@Gio.Icon], too, for functions that take nothing else. [iface@Gio.LoadableIcon] has a stream with the file of the
 * image: as it is cached, or as PNG if it has a size or processing, or another format than PNG, JPEG, GIF and SVG. On the main thread,
 * g_loadable_icon_load() does not wait for a server: load the image before, or use g_loadable_icon_load_async(). A [class@Gtk.Image] shows
 * the paintable as such, without a stream: set [property@Gtk.Image:paintable].
 *
 * An animation plays while the paintable is drawn. [class@Picture] does more: it loads only while it is on screen, decodes
 * at its size, and has rounded corners.
 *
 * Since: 0.2
 */
struct _WebImagePaintable {
    GObject parent_instance;

    ImageSlot slot;
    // As it was set; 0 for that of the monitors.
    int scale_factor;
    // The monitors of the display, while they are followed.
    GListModel *monitors;
};

enum { WIDTH = IMAGE_SLOT_N_PROPERTIES, HEIGHT, CONTENT_FIT, SCALE_FACTOR, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];

static void web_image_paintable_implement(GdkPaintableInterface *interface);
static void web_image_paintable_implement_view(WebImageViewInterface *interface);

G_DEFINE_FINAL_TYPE_WITH_CODE(
    WebImagePaintable, web_image_paintable, G_TYPE_OBJECT,
    G_IMPLEMENT_INTERFACE(GDK_TYPE_PAINTABLE, web_image_paintable_implement)
    G_IMPLEMENT_INTERFACE(WEB_IMAGE_TYPE_VIEW, web_image_paintable_implement_view)
    G_IMPLEMENT_INTERFACE(G_TYPE_ICON, web_image_paintable_implement_icon)
    G_IMPLEMENT_INTERFACE(G_TYPE_LOADABLE_ICON, web_image_paintable_implement_loadable_icon))

static ImageSlot *web_image_paintable_get_slot(WebImageView *view) { return &WEB_IMAGE_PAINTABLE(view)->slot; }

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
    // A sign of failure is not enlarged.
    if (substitute != self->slot.error_paintable) fit = self->slot.display.fit;
    if (substitute != NULL) image_slot_snapshot(substitute, GTK_SNAPSHOT(snapshot), fit, &area, NULL);
    if (self->slot.handle == NULL || (substitute != NULL && substitute == self->slot.error_paintable)) return;
    gdk_paintable_snapshot(webimage_bridge_slot_paintable(self->slot.handle), snapshot, width, height);
}

// What has the size; NULL if the size is that of the area.
static GdkPaintable *web_image_paintable_get_sized(WebImagePaintable *self) {
    return self->slot.display.fit == GTK_CONTENT_FIT_FILL ? web_image_paintable_get_top(self) : NULL;
}

static int web_image_paintable_get_intrinsic_width(GdkPaintable *paintable) {
    GdkPaintable *top = web_image_paintable_get_sized(WEB_IMAGE_PAINTABLE(paintable));
    return top == NULL ? 0 : gdk_paintable_get_intrinsic_width(top);
}

static int web_image_paintable_get_intrinsic_height(GdkPaintable *paintable) {
    GdkPaintable *top = web_image_paintable_get_sized(WEB_IMAGE_PAINTABLE(paintable));
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

static void web_image_paintable_redraw(WebImageView *view) { gdk_paintable_invalidate_contents(GDK_PAINTABLE(view)); }

static void web_image_paintable_resize(WebImageView *view) { gdk_paintable_invalidate_size(GDK_PAINTABLE(view)); }

static void web_image_paintable_implement_view(WebImageViewInterface *interface) {
    interface->get_slot = web_image_paintable_get_slot;
    interface->redraw = web_image_paintable_redraw;
    interface->resize = web_image_paintable_resize;
}

// MARK: Scale factor

// That of the sharpest monitor.
static int web_image_paintable_measure_monitors(WebImagePaintable *self) {
    int factor = 1;
    for (guint index = 0; index < g_list_model_get_n_items(self->monitors); index++) {
        GdkMonitor *monitor = g_list_model_get_item(self->monitors, index);
        factor = MAX(factor, gdk_monitor_get_scale_factor(monitor));
        g_object_unref(monitor);
    }
    return factor;
}

// Loads the image with as many pixels as it needs now.
static void web_image_paintable_update_scale(WebImagePaintable *self) {
    const int factor = self->monitors == NULL ? self->scale_factor : web_image_paintable_measure_monitors(self);
    // One pixel per point is a size in pixels.
    const int wanted = factor > 1 ? factor : 0;
    if (wanted == self->slot.scale_factor) return;
    self->slot.scale_factor = wanted;
    image_slot_invalidate_request(&self->slot);
}

static void web_image_paintable_ignore_monitors(WebImagePaintable *self) {
    if (self->monitors != NULL) g_signal_handlers_disconnect_by_data(self->monitors, self);
    g_clear_object(&self->monitors);
}

static void web_image_paintable_replace_scale_factor(WebImagePaintable *self, int factor) {
    self->scale_factor = factor;
    web_image_paintable_ignore_monitors(self);
    GdkDisplay *display = factor == 0 ? gdk_display_get_default() : NULL;
    if (display != NULL) {
        self->monitors = g_object_ref(gdk_display_get_monitors(display));
        g_signal_connect_swapped(
            self->monitors, "items-changed", G_CALLBACK(web_image_paintable_update_scale), self);
    }
    web_image_paintable_update_scale(self);
}

static void web_image_paintable_dispose(GObject *object) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(object);
    if (image_slot_defer_dispose(object)) return;
    if (self->slot.handle != NULL) {
        g_signal_handlers_disconnect_by_data(webimage_bridge_slot_paintable(self->slot.handle), self);
    }
    web_image_paintable_ignore_monitors(self);
    image_slot_dispose(&self->slot);
    G_OBJECT_CLASS(web_image_paintable_parent_class)->dispose(object);
}

static void web_image_paintable_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(object);
    if (image_slot_get_property(&self->slot, id, value) || self->slot.request == NULL) return;
    switch (id) {
    case WIDTH: g_value_set_int(value, web_image_request_get_width(self->slot.request)); break;
    case HEIGHT: g_value_set_int(value, web_image_request_get_height(self->slot.request)); break;
    case CONTENT_FIT: g_value_set_enum(value, self->slot.display.fit); break;
    case SCALE_FACTOR: g_value_set_int(value, self->scale_factor); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_paintable_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImagePaintable *self = WEB_IMAGE_PAINTABLE(object);
    if (image_slot_set_property(&self->slot, id, value) || self->slot.request == NULL) return;
    switch (id) {
    case WIDTH:
    case HEIGHT:
        if (!image_slot_forward(&self->slot, pspec, value)) return;
        image_slot_invalidate_request(&self->slot);
        break;
    case CONTENT_FIT:
        if (g_value_get_enum(value) == (int)self->slot.display.fit) return;
        self->slot.display.fit = g_value_get_enum(value);
        image_slot_invalidate_display(&self->slot);
        gdk_paintable_invalidate_size(GDK_PAINTABLE(self));
        break;
    case SCALE_FACTOR:
        if (g_value_get_int(value) == self->scale_factor) return;
        web_image_paintable_replace_scale_factor(self, g_value_get_int(value));
        break;
    default: WARN_INVALID_PROPERTY(object, pspec); return;
    }
    g_object_notify_by_pspec(object, properties[id]);
}

static void web_image_paintable_class_init(WebImagePaintableClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->dispose = web_image_paintable_dispose;
    object_class->get_property = web_image_paintable_get_property;
    object_class->set_property = web_image_paintable_set_property;
    image_slot_override_properties(object_class);

    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImagePaintable:width:
     *
     * The width to decode at, in pixels. 0, the default, does not limit it.
     *
     * Since: 0.2
     */
    properties[WIDTH] = g_param_spec_int("width", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    /**
     * WebImagePaintable:height:
     *
     * The height to decode at, in pixels. 0, the default, does not limit it.
     *
     * Since: 0.2
     */
    properties[HEIGHT] = g_param_spec_int("height", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    /**
     * WebImagePaintable:content-fit:
     *
     * How the image fits the area in which it is drawn.
     *
     * `FILL`, the default, is for widgets that draw a paintable with its own proportions: the paintable has the size of the image. With
     * the others it has no size of its own, and takes the area that the widget gives it. Use `COVER` in widgets that show bars beside an image, such
     * as an `AdwAvatar`.
     *
     * Since: 0.3
     */
    properties[CONTENT_FIT] = g_param_spec_enum(
        "content-fit", NULL, NULL, GTK_TYPE_CONTENT_FIT, GTK_CONTENT_FIT_FILL, flags);

    /**
     * WebImagePaintable:scale-factor:
     *
     * How many pixels [property@Paintable:width] and [property@Paintable:height] have for each point; 1 by default, so that they are in
     * pixels.
     *
     * 0 is the scale factor of the sharpest monitor, and follows it. An image with more pixels per point has the same size in a layout.
     *
     * Since: 0.3
     */
    properties[SCALE_FACTOR] = g_param_spec_int("scale-factor", NULL, NULL, 0, 16, 1, flags);

    for (guint id = WIDTH; id < N_PROPERTIES; id++) {
        g_object_class_install_property(object_class, id, properties[id]);
    }
}

static void web_image_paintable_init(WebImagePaintable *self) {
    image_slot_init(
        &self->slot, G_OBJECT(self), webimage_bridge_slot_new_paintable(image_slot_state_changed, &self->slot));
    self->slot.display.is_eager = TRUE;
    self->scale_factor = 1;
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
 *
 * Since: 0.2
 */
WebImagePaintable *web_image_paintable_new(const char *uri) {
    return g_object_new(WEB_IMAGE_TYPE_PAINTABLE, "uri", uri, NULL);
}

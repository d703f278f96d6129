#include "error-private.h"
#include "view-private.h"
#include <webimage/webimage-zoom-view.h>

/**
 * WebImageZoomView:
 *
 * A widget that shows the image of a URI, and lets the user zoom, move and rotate it: a viewer of photographs, maps or scans.
 *
 * ```python
 * view = WebImage.ZoomView(uri="https://example.org/map.png")
 * view.connect("notify::zoom", lambda view, _: print(f"{view.props.zoom:.0%}"))
 * ```
 *
 * The wheel and a pinch zoom, a drag and two fingers move the image, a double click and the keys `+`, `-`, `0`, `1` and the arrow keys do both.
 * At 100 %, a pixel of the image is a pixel of the screen. The image is decoded at the size of the widget first, and with more pixels when
 * it is zoomed in: in tiles of the visible part, if it is too large for [property@ZoomView:memory-limit]. The widget takes the size that the
 * layout gives it.
 *
 * # CSS nodes
 *
 * `WebImageZoomView` has the name `webzoomview`, and one of the style classes `.loading`, `.loaded` and `.failed`.
 *
 * # Accessibility
 *
 * The child of the widget takes the focus, and has the role %GTK_ACCESSIBLE_ROLE_IMG and the zoom as its description.
 *
 * Since: 0.3
 */
struct _WebImageZoomView {
    GtkWidget parent_instance;

    ImageSlot slot;
    // The canvas of the library; NULL after dispose.
    GtkWidget *canvas;
    WebImageBridgeZoomSettings settings;
    // As last told to observers.
    WebImageBridgeZoom zoom;
    char *alternative_text;
};

enum {
    ZOOM = IMAGE_SLOT_N_PROPERTIES,
    ZOOM_MODE,
    QUARTER_TURNS,
    INITIAL_MODE,
    MINIMUM_ZOOM,
    MAXIMUM_ZOOM,
    MEMORY_LIMIT,
    HANDLE_KEYS,
    WHEEL_TURNS_PAGES,
    OVERLAY,
    OVERLAY_PAINTABLE,
    ALTERNATIVE_TEXT,
    N_PROPERTIES,
};

#define MEMORY_LIMIT_DEFAULT (160 << 20)
#define MAXIMUM_ZOOM_DEFAULT 20

static GParamSpec *properties[N_PROPERTIES];
static guint page_signal, moved_signal;

static void web_image_zoom_view_implement_view(WebImageViewInterface *interface);

G_DEFINE_FINAL_TYPE_WITH_CODE(
    WebImageZoomView, web_image_zoom_view, GTK_TYPE_WIDGET,
    G_IMPLEMENT_INTERFACE(WEB_IMAGE_TYPE_VIEW, web_image_zoom_view_implement_view))

static ImageSlot *web_image_zoom_view_get_slot(WebImageView *view) { return &WEB_IMAGE_ZOOM_VIEW(view)->slot; }

static void web_image_zoom_view_redraw(WebImageView *view) { gtk_widget_queue_draw(GTK_WIDGET(view)); }

static void web_image_zoom_view_state_changed(WebImageView *view) {
    image_slot_show_phase(&WEB_IMAGE_ZOOM_VIEW(view)->slot, WEB_IMAGE_ZOOM_VIEW(view)->canvas);
}

static void web_image_zoom_view_implement_view(WebImageViewInterface *interface) {
    interface->get_slot = web_image_zoom_view_get_slot;
    interface->redraw = web_image_zoom_view_redraw;
    // The size does not depend on the image.
    interface->resize = web_image_zoom_view_redraw;
    interface->state_changed = web_image_zoom_view_state_changed;
}

// Tells observers what has changed. They may do anything, also dispose of the view.
static void web_image_zoom_view_zoom_changed(gpointer data) {
    WebImageZoomView *self = data;
    if (self->slot.handle == NULL) return;
    const WebImageBridgeZoom old = self->zoom;
    webimage_bridge_zoom_get(self->slot.handle, &self->zoom);
    const WebImageBridgeZoom new = self->zoom;
    GObject *object = g_object_ref(G_OBJECT(self));
    g_object_freeze_notify(object);
    image_slot_size_changed(&self->slot);
    if (old.scale != new.scale) g_object_notify_by_pspec(object, properties[ZOOM]);
    if (old.mode != new.mode) g_object_notify_by_pspec(object, properties[ZOOM_MODE]);
    if (old.quarter_turns != new.quarter_turns) g_object_notify_by_pspec(object, properties[QUARTER_TURNS]);
    g_object_thaw_notify(object);
    g_signal_emit(object, moved_signal, 0);
    g_object_unref(object);
}

static void web_image_zoom_view_turn_page(gpointer self, int step) { g_signal_emit(self, page_signal, 0, step); }

// MARK: Widget

static void web_image_zoom_view_snapshot(GtkWidget *widget, GtkSnapshot *snapshot) {
    WebImageZoomView *self = WEB_IMAGE_ZOOM_VIEW(widget);
    if (self->canvas == NULL) return;
    image_slot_snapshot_widget(&self->slot, self->canvas, snapshot, GTK_CONTENT_FIT_CONTAIN);
}

static gboolean web_image_zoom_view_focus(GtkWidget *widget, GtkDirectionType direction) {
    GtkWidget *canvas = WEB_IMAGE_ZOOM_VIEW(widget)->canvas;
    return canvas != NULL && gtk_widget_child_focus(canvas, direction);
}

static gboolean web_image_zoom_view_grab_focus(GtkWidget *widget) {
    GtkWidget *canvas = WEB_IMAGE_ZOOM_VIEW(widget)->canvas;
    return canvas != NULL && gtk_widget_grab_focus(canvas);
}

static void web_image_zoom_view_replace_overlay_paintable(WebImageZoomView *self, GdkPaintable *paintable) {
    GdkPaintable **place = &self->settings.overlay_paintable;
    if (*place != NULL) g_signal_handlers_disconnect_by_data(*place, self->canvas);
    g_set_object(place, paintable);
    if (paintable == NULL) return;
    g_signal_connect_swapped(paintable, "invalidate-contents", G_CALLBACK(gtk_widget_queue_draw), self->canvas);
}

static void web_image_zoom_view_dispose(GObject *object) {
    WebImageZoomView *self = WEB_IMAGE_ZOOM_VIEW(object);
    if (image_slot_defer_dispose(object)) return;
    if (self->slot.handle != NULL) {
        web_image_zoom_view_replace_overlay_paintable(self, NULL);
        g_clear_object(&self->settings.overlay);
        webimage_bridge_zoom_configure(self->slot.handle, &self->settings);
    }
    image_slot_dispose(&self->slot);
    g_clear_pointer(&self->canvas, gtk_widget_unparent);
    g_clear_pointer(&self->alternative_text, g_free);
    G_OBJECT_CLASS(web_image_zoom_view_parent_class)->dispose(object);
}

// MARK: Properties

static void web_image_zoom_view_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImageZoomView *self = WEB_IMAGE_ZOOM_VIEW(object);
    if (image_slot_get_property(&self->slot, id, value)) return;
    WebImageBridgeZoom zoom = self->zoom;
    if (self->slot.handle != NULL) webimage_bridge_zoom_get(self->slot.handle, &zoom);
    switch (id) {
    case ZOOM: g_value_set_double(value, zoom.scale); break;
    case ZOOM_MODE: g_value_set_enum(value, zoom.mode); break;
    case QUARTER_TURNS: g_value_set_int(value, zoom.quarter_turns); break;
    case INITIAL_MODE: g_value_set_enum(value, self->settings.initial_mode); break;
    case MINIMUM_ZOOM: g_value_set_double(value, self->settings.minimum); break;
    case MAXIMUM_ZOOM: g_value_set_double(value, self->settings.maximum); break;
    case MEMORY_LIMIT: g_value_set_uint64(value, self->settings.memory_limit); break;
    case HANDLE_KEYS: g_value_set_boolean(value, self->settings.handles_keys); break;
    case WHEEL_TURNS_PAGES: g_value_set_boolean(value, self->settings.wheel_turns_pages); break;
    case OVERLAY: g_value_set_object(value, self->settings.overlay); break;
    case OVERLAY_PAINTABLE: g_value_set_object(value, self->settings.overlay_paintable); break;
    case ALTERNATIVE_TEXT: g_value_set_string(value, self->alternative_text); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_zoom_view_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImageZoomView *self = WEB_IMAGE_ZOOM_VIEW(object);
    if (image_slot_set_property(&self->slot, id, value) || self->slot.handle == NULL) return;
    WebImageBridgeZoomSettings *settings = &self->settings;
    WebImageBridgeZoom now;
    switch (id) {
    // Those of the zoom are told to observers when the main loop is idle, like changes by the user.
    case ZOOM: webimage_bridge_zoom_set(self->slot.handle, WEB_IMAGE_ZOOM_MODE_FREE, g_value_get_double(value), FALSE); return;
    case ZOOM_MODE: webimage_bridge_zoom_set(self->slot.handle, g_value_get_enum(value), 0, FALSE); return;
    case QUARTER_TURNS:
        webimage_bridge_zoom_get(self->slot.handle, &now);
        webimage_bridge_zoom_rotate(self->slot.handle, g_value_get_int(value) - now.quarter_turns);
        return;
    case INITIAL_MODE: settings->initial_mode = g_value_get_enum(value); break;
    case MINIMUM_ZOOM: settings->minimum = g_value_get_double(value); break;
    case MAXIMUM_ZOOM: settings->maximum = g_value_get_double(value); break;
    case MEMORY_LIMIT: settings->memory_limit = g_value_get_uint64(value); break;
    case HANDLE_KEYS: settings->handles_keys = g_value_get_boolean(value); break;
    case WHEEL_TURNS_PAGES: settings->wheel_turns_pages = g_value_get_boolean(value); break;
    case OVERLAY: g_set_object(&settings->overlay, g_value_get_object(value)); break;
    case OVERLAY_PAINTABLE: web_image_zoom_view_replace_overlay_paintable(self, g_value_get_object(value)); break;
    case ALTERNATIVE_TEXT:
        g_free(self->alternative_text);
        self->alternative_text = g_value_dup_string(value);
        webimage_bridge_slot_set_alternative_text(self->slot.handle, self->alternative_text);
        break;
    default: WARN_INVALID_PROPERTY(object, pspec); return;
    }
    if (id != ALTERNATIVE_TEXT) webimage_bridge_zoom_configure(self->slot.handle, settings);
}

static void web_image_zoom_view_class_init(WebImageZoomViewClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->dispose = web_image_zoom_view_dispose;
    object_class->get_property = web_image_zoom_view_get_property;
    object_class->set_property = web_image_zoom_view_set_property;
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    widget_class->snapshot = web_image_zoom_view_snapshot;
    widget_class->focus = web_image_zoom_view_focus;
    widget_class->grab_focus = web_image_zoom_view_grab_focus;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_css_name(widget_class, "webzoomview");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
    image_slot_override_properties(object_class);
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
    const GParamFlags explicit = flags | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImageZoomView:zoom:
     *
     * The pixels of the screen for a pixel of the image: 1 is 100 %. While the size of the image is unknown, it is relative to the widget.
     *
     * Setting it zooms at once, within [property@ZoomView:minimum-zoom] and [property@ZoomView:maximum-zoom]; [method@ZoomView.zoom_to] gets there in
     * some frames.
     *
     * Since: 0.3
     */
    properties[ZOOM] = g_param_spec_double("zoom", NULL, NULL, 0, G_MAXDOUBLE, 1, explicit);

    /**
     * WebImageZoomView:zoom-mode:
     *
     * Whether the image follows the size of the widget. Setting it to `FREE` leaves the zoom as it is.
     *
     * A new image begins with [property@ZoomView:initial-mode].
     *
     * Since: 0.3
     */
    properties[ZOOM_MODE] = g_param_spec_enum(
        "zoom-mode", NULL, NULL, WEB_IMAGE_TYPE_ZOOM_MODE, WEB_IMAGE_ZOOM_MODE_FIT, explicit);

    /**
     * WebImageZoomView:quarter-turns:
     *
     * The number of clockwise quarter turns by which the image is rotated on screen. A new image is not rotated.
     *
     * Since: 0.3
     */
    properties[QUARTER_TURNS] = g_param_spec_int("quarter-turns", NULL, NULL, 0, 3, 0, explicit);

    /**
     * WebImageZoomView:initial-mode:
     *
     * How a new image is shown: `FIT`, the default, `FILL`, or `FREE` for 100 %.
     *
     * Since: 0.3
     */
    properties[INITIAL_MODE] = g_param_spec_enum(
        "initial-mode", NULL, NULL, WEB_IMAGE_TYPE_ZOOM_MODE, WEB_IMAGE_ZOOM_MODE_FIT, flags);

    /**
     * WebImageZoomView:minimum-zoom:
     *
     * The smallest zoom; 0, the default, for that at which the whole image is visible.
     *
     * Since: 0.3
     */
    properties[MINIMUM_ZOOM] = g_param_spec_double("minimum-zoom", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

    /**
     * WebImageZoomView:maximum-zoom:
     *
     * The largest zoom; 20 by default.
     *
     * Since: 0.3
     */
    properties[MAXIMUM_ZOOM] = g_param_spec_double("maximum-zoom", NULL, NULL, 0.01, 1000, MAXIMUM_ZOOM_DEFAULT, flags);

    /**
     * WebImageZoomView:memory-limit:
     *
     * The maximum memory for the pixels of an image that is zoomed in, in bytes; 160 MiB by default. Larger images are drawn in tiles, for
     * which the same limit applies. See also [property@Session:max-megapixels]. A change applies to the next image.
     *
     * Since: 0.3
     */
    properties[MEMORY_LIMIT] = g_param_spec_uint64(
        "memory-limit", NULL, NULL, 1 << 20, G_MAXINT64, MEMORY_LIMIT_DEFAULT, flags);

    /**
     * WebImageZoomView:handle-keys:
     *
     * Whether the keys `+`, `-`, `0`, `1` and the arrow keys zoom and move the image; %TRUE by default.
     *
     * Since: 0.3
     */
    properties[HANDLE_KEYS] = g_param_spec_boolean("handle-keys", NULL, NULL, TRUE, flags);

    /**
     * WebImageZoomView:wheel-turns-pages:
     *
     * Whether the wheel without the Control key emits [signal@ZoomView::turn-page] instead of zooming; %FALSE by default.
     *
     * Since: 0.3
     */
    properties[WHEEL_TURNS_PAGES] = g_param_spec_boolean("wheel-turns-pages", NULL, NULL, FALSE, flags);

    /**
     * WebImageZoomView:overlay:
     *
     * A widget over the whole view, such as a spinner or labels; %NULL by default.
     *
     * Since: 0.3
     */
    properties[OVERLAY] = g_param_spec_object("overlay", NULL, NULL, GTK_TYPE_WIDGET, flags);

    /**
     * WebImageZoomView:overlay-paintable:
     *
     * Drawn over the image, with its area and its rotation, such as marks on a map; %NULL by default.
     *
     * Since: 0.3
     */
    properties[OVERLAY_PAINTABLE] = g_param_spec_object("overlay-paintable", NULL, NULL, GDK_TYPE_PAINTABLE, flags);

    /**
     * WebImageZoomView:alternative-text:
     *
     * The label of the image for assistive technologies; %NULL by default.
     *
     * Since: 0.3
     */
    properties[ALTERNATIVE_TEXT] = g_param_spec_string("alternative-text", NULL, NULL, NULL, flags);

    for (guint id = ZOOM; id < N_PROPERTIES; id++) g_object_class_install_property(object_class, id, properties[id]);

    /**
     * WebImageZoomView::turn-page:
     * @self: the view
     * @step: 1 for the next image, -1 for the previous one
     *
     * Emitted when the user swipes over an image that cannot be moved, or turns the wheel with [property@ZoomView:wheel-turns-pages].
     *
     * Since: 0.3
     */
    page_signal = g_signal_new(
        "turn-page", G_OBJECT_CLASS_TYPE(object_class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);

    /**
     * WebImageZoomView::moved:
     * @self: the view
     *
     * Emitted when the main loop is idle after the zoom, the place or the rotation of the image has changed.
     *
     * Since: 0.3
     */
    moved_signal = g_signal_new(
        "moved", G_OBJECT_CLASS_TYPE(object_class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void web_image_zoom_view_init(WebImageZoomView *self) {
    self->settings = (WebImageBridgeZoomSettings){
        .maximum = MAXIMUM_ZOOM_DEFAULT, .memory_limit = MEMORY_LIMIT_DEFAULT, .handles_keys = TRUE};
    const WebImageBridgeZoomHandlers handlers = {
        .state_changed = image_slot_state_changed,
        .slot = &self->slot,
        .zoom_changed = web_image_zoom_view_zoom_changed,
        .turn_page = web_image_zoom_view_turn_page,
        .view = self,
    };
    image_slot_init(&self->slot, G_OBJECT(self), webimage_bridge_slot_new_zoom(&handlers, &self->canvas));
    self->slot.display.decode_at_size = TRUE;
    gtk_widget_set_parent(self->canvas, GTK_WIDGET(self));
    webimage_bridge_zoom_get(self->slot.handle, &self->zoom);
}

/**
 * web_image_zoom_view_new:
 *
 * Makes a view without an image.
 *
 * Returns: a widget
 *
 * Since: 0.3
 */
GtkWidget *web_image_zoom_view_new(void) { return g_object_new(WEB_IMAGE_TYPE_ZOOM_VIEW, NULL); }

/**
 * web_image_zoom_view_zoom_in:
 * @self: a view
 *
 * Zooms in by a step, in some frames.
 *
 * Since: 0.3
 */
void web_image_zoom_view_zoom_in(WebImageZoomView *self) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_step(self->slot.handle, 1);
}

/**
 * web_image_zoom_view_zoom_out:
 * @self: a view
 *
 * Zooms out by a step, in some frames.
 *
 * Since: 0.3
 */
void web_image_zoom_view_zoom_out(WebImageZoomView *self) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_step(self->slot.handle, -1);
}

/**
 * web_image_zoom_view_zoom_to:
 * @self: a view
 * @zoom: the pixels of the screen for a pixel of the image
 *
 * Zooms in some frames, if the user allows animations: to 1 for 100 %.
 *
 * Since: 0.3
 */
void web_image_zoom_view_zoom_to(WebImageZoomView *self, double zoom) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_set(self->slot.handle, WEB_IMAGE_ZOOM_MODE_FREE, zoom, TRUE);
}

/**
 * web_image_zoom_view_fit:
 * @self: a view
 *
 * Shows the whole image, not enlarged, in some frames.
 *
 * Since: 0.3
 */
void web_image_zoom_view_fit(WebImageZoomView *self) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_set(self->slot.handle, WEB_IMAGE_ZOOM_MODE_FIT, 0, TRUE);
}

/**
 * web_image_zoom_view_fill:
 * @self: a view
 *
 * Covers the widget with the image, in some frames.
 *
 * Since: 0.3
 */
void web_image_zoom_view_fill(WebImageZoomView *self) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_set(self->slot.handle, WEB_IMAGE_ZOOM_MODE_FILL, 0, TRUE);
}

/**
 * web_image_zoom_view_rotate:
 * @self: a view
 * @turns: clockwise quarter turns; negative for counterclockwise
 *
 * Rotates the image on screen. The file stays as it is.
 *
 * Since: 0.3
 */
void web_image_zoom_view_rotate(WebImageZoomView *self, int turns) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_rotate(self->slot.handle, turns);
}

/**
 * web_image_zoom_view_pan:
 * @self: a view
 * @x: the distance to the right, in points
 * @y: the distance down, in points
 *
 * Moves the image, as far as it is larger than the widget.
 *
 * Since: 0.3
 */
void web_image_zoom_view_pan(WebImageZoomView *self, double x, double y) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    if (self->slot.handle != NULL) webimage_bridge_zoom_pan(self->slot.handle, x, y);
}

/**
 * web_image_zoom_view_show_part_of:
 * @self: a view
 * @other: another view
 *
 * Shows the same part as another view, so that two images can be compared: with the same zoom relative to that at which they fit. Call it
 * in a handler of [signal@ZoomView::moved] of the other one.
 *
 * Since: 0.3
 */
void web_image_zoom_view_show_part_of(WebImageZoomView *self, WebImageZoomView *other) {
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self));
    g_return_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(other));
    if (self->slot.handle == NULL || other->slot.handle == NULL) return;
    webimage_bridge_zoom_show_part_of(self->slot.handle, other->slot.handle);
}

/**
 * web_image_zoom_view_get_overlay:
 * @self: a view
 *
 * Returns the widget over the whole view.
 *
 * Returns: (transfer none) (nullable): a widget
 *
 * Since: 0.3
 */
GtkWidget *web_image_zoom_view_get_overlay(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), NULL);
    return self->settings.overlay;
}

/**
 * web_image_zoom_view_get_overlay_paintable:
 * @self: a view
 *
 * Returns what is drawn over the image.
 *
 * Returns: (transfer none) (nullable): a paintable
 *
 * Since: 0.3
 */
GdkPaintable *web_image_zoom_view_get_overlay_paintable(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), NULL);
    return self->settings.overlay_paintable;
}

/**
 * web_image_zoom_view_get_alternative_text:
 * @self: a view
 *
 * Returns the label of the image for assistive technologies.
 *
 * Returns: (nullable): the label
 *
 * Since: 0.3
 */
const char *web_image_zoom_view_get_alternative_text(WebImageZoomView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_ZOOM_VIEW(self), NULL);
    return self->alternative_text;
}

#include "error-private.h"
#include "view-private.h"
#include <webimage/webimage-picture.h>

#include <math.h>

/**
 * WebImagePicture:
 *
 * A widget that shows the image of a URI.
 *
 * ```xml
 * <object class="WebImagePicture">
 *   <property name="uri">https://example.org/photo.jpg</property>
 *   <property name="content-fit">cover</property>
 * </object>
 * ```
 *
 * The image loads while the widget is on screen, or less than a page away in a scrolled window; see [property@Picture:lazy]. When the
 * widget leaves the screen, its load is cancelled, and starts again when it returns; an animation pauses. A load that begins off screen,
 * as in a list, has a low priority. Setting another URI replaces the image: in a list, set [property@View:uri] when an item is
 * bound, and the image of another item never appears.
 *
 * The widget has the size of its image, unless the layout gives it another; see [property@Picture:content-fit]. In a list, set a size
 * request, so that rows do not move when images arrive.
 *
 * # CSS nodes
 *
 * `WebImagePicture` has the name `webpicture`, and one of the style classes `.loading`, `.loaded` and `.failed`. Its only child has the
 * name `picture`.
 *
 * # Accessibility
 *
 * `WebImagePicture` has the role %GTK_ACCESSIBLE_ROLE_IMG; see [property@Picture:alternative-text]. The keyboard and assistive
 * technologies can start a failed load again; see [property@Picture:retry-on-click].
 *
 * Since: 0.2
 */
struct _WebImagePicture {
    GtkWidget parent_instance;

    ImageSlot slot;
    // A GtkPicture, which lays the image out.
    GtkWidget *picture;
    GtkContentFit fit;
    double corner_radius;
    gboolean circular;
    char *alternative_text;
};

enum {
    CONTENT_FIT = IMAGE_SLOT_N_PROPERTIES,
    CORNER_RADIUS,
    CIRCULAR,
    RETRY_ON_CLICK,
    DECODE_AT_SIZE,
    LAZY,
    ALTERNATIVE_TEXT,
    DRAGGABLE,
    N_PROPERTIES,
};

// Of a paintable without a size of its own, as in GtkPicture.
enum { DEFAULT_SIZE = 16 };

static GParamSpec *properties[N_PROPERTIES];

static void web_image_picture_implement_view(WebImageViewInterface *interface);

G_DEFINE_FINAL_TYPE_WITH_CODE(
    WebImagePicture, web_image_picture, GTK_TYPE_WIDGET,
    G_IMPLEMENT_INTERFACE(WEB_IMAGE_TYPE_VIEW, web_image_picture_implement_view))

static ImageSlot *web_image_picture_get_slot(WebImageView *view) { return &WEB_IMAGE_PICTURE(view)->slot; }

static void web_image_picture_redraw(WebImageView *view) { gtk_widget_queue_draw(GTK_WIDGET(view)); }

static void web_image_picture_resize(WebImageView *view) { gtk_widget_queue_resize(GTK_WIDGET(view)); }

// The keys, and that a failed picture takes the focus, are WebPicture's.
static const char RETRY_ACTION[] = "image.retry";

static void web_image_picture_retry(GtkWidget *widget, const char *name G_GNUC_UNUSED, GVariant *parameter G_GNUC_UNUSED) {
    web_image_view_reload(WEB_IMAGE_VIEW(widget));
}

static void web_image_picture_offer_retry(WebImagePicture *self) {
    const gboolean has_failed = self->slot.state.phase == WEBIMAGE_BRIDGE_PHASE_FAILED;
    gtk_widget_action_set_enabled(GTK_WIDGET(self), RETRY_ACTION, has_failed && self->slot.display.retry_on_click);
}

static void web_image_picture_state_changed(WebImageView *view) {
    web_image_picture_offer_retry(WEB_IMAGE_PICTURE(view));
    image_slot_show_phase(&WEB_IMAGE_PICTURE(view)->slot, GTK_WIDGET(view));
}

static void web_image_picture_implement_view(WebImageViewInterface *interface) {
    interface->get_slot = web_image_picture_get_slot;
    interface->redraw = web_image_picture_redraw;
    interface->resize = web_image_picture_resize;
    interface->state_changed = web_image_picture_state_changed;
}

// MARK: Layout and drawing

static GtkSizeRequestMode web_image_picture_get_request_mode(GtkWidget *widget G_GNUC_UNUSED) {
    return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void web_image_picture_measure(
    GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural, int *minimum_baseline,
    int *natural_baseline) {
    WebImagePicture *self = WEB_IMAGE_PICTURE(widget);
    *minimum_baseline = *natural_baseline = -1;
    *minimum = *natural = 0;
    if (self->picture == NULL) return;
    gtk_widget_measure(self->picture, orientation, for_size, minimum, natural, NULL, NULL);
    GtkContentFit fit = self->fit;
    GdkPaintable *substitute = image_slot_get_substitute(&self->slot, &fit);
    // Below an image that fades in, the size is that of the image.
    if (substitute == NULL || self->slot.state.width > 0) return;
    const double known = for_size < 0 ? 0 : for_size;
    const gboolean is_width = orientation == GTK_ORIENTATION_HORIZONTAL;
    double width = 0, height = 0;
    gdk_paintable_compute_concrete_size(
        substitute, is_width ? 0 : known, is_width ? known : 0, DEFAULT_SIZE, DEFAULT_SIZE, &width, &height);
    *natural = MAX(*natural, (int)ceil(is_width ? width : height));
}

static void web_image_picture_size_allocate(GtkWidget *widget, int width, int height, int baseline) {
    WebImagePicture *self = WEB_IMAGE_PICTURE(widget);
    gtk_widget_size_allocate(self->picture, &(GtkAllocation){0, 0, width, height}, baseline);
}

// The visible shape: rounded corners of the image, or the largest circle in it.
static GskRoundedRect web_image_picture_get_shape(WebImagePicture *self, const graphene_size_t *area) {
    const gboolean has_image = self->slot.state.width > 0;
    GdkPaintable *paintable = gtk_picture_get_paintable(GTK_PICTURE(self->picture));
    graphene_rect_t place = GRAPHENE_RECT_INIT(0, 0, area->width, area->height);
    if (has_image && paintable != NULL) {
        place = image_slot_place(
            gdk_paintable_get_intrinsic_width(paintable), gdk_paintable_get_intrinsic_height(paintable), self->fit, area);
        graphene_rect_intersection(&place, &GRAPHENE_RECT_INIT(0, 0, area->width, area->height), &place);
    }
    double radius = self->corner_radius;
    if (self->circular) {
        const float side = MIN(place.size.width, place.size.height);
        graphene_rect_inset(&place, (place.size.width - side) / 2, (place.size.height - side) / 2);
        radius = side / 2;
    }
    GskRoundedRect shape;
    return *gsk_rounded_rect_init_from_rect(&shape, &place, (float)radius);
}

// The outline of a picture that has the focus, outside of its rounded corners.
static void web_image_picture_snapshot_focus(WebImagePicture *self, GtkSnapshot *snapshot, const graphene_size_t *area) {
    enum { OUTLINE_WIDTH = 2 };
    GtkWidget *widget = GTK_WIDGET(self);
    if (!self->slot.display.retry_on_click || !(gtk_widget_get_state_flags(widget) & GTK_STATE_FLAG_FOCUS_VISIBLE)) return;
    GskRoundedRect outline;
    gsk_rounded_rect_init_from_rect(&outline, &GRAPHENE_RECT_INIT(0, 0, area->width, area->height), OUTLINE_WIDTH);
    GdkRGBA color = image_slot_get_color(widget);
    color.alpha /= 2;
    gtk_snapshot_append_border(
        snapshot, &outline, (const float[]){OUTLINE_WIDTH, OUTLINE_WIDTH, OUTLINE_WIDTH, OUTLINE_WIDTH},
        (const GdkRGBA[]){color, color, color, color});
}

static void web_image_picture_snapshot(GtkWidget *widget, GtkSnapshot *snapshot) {
    WebImagePicture *self = WEB_IMAGE_PICTURE(widget);
    const graphene_size_t area = GRAPHENE_SIZE_INIT(gtk_widget_get_width(widget), gtk_widget_get_height(widget));
    if (area.width <= 0 || area.height <= 0) return;
    const gboolean is_clipped = self->circular || self->corner_radius > 0;
    if (is_clipped) {
        const GskRoundedRect shape = web_image_picture_get_shape(self, &area);
        gtk_snapshot_push_rounded_clip(snapshot, &shape);
    }
    image_slot_snapshot_widget(&self->slot, self->picture, snapshot, self->fit);
    if (is_clipped) gtk_snapshot_pop(snapshot);
    web_image_picture_snapshot_focus(self, snapshot, &area);
}

// MARK: Object

static void web_image_picture_dispose(GObject *object) {
    WebImagePicture *self = WEB_IMAGE_PICTURE(object);
    if (image_slot_defer_dispose(object)) return;
    image_slot_dispose(&self->slot);
    g_clear_pointer(&self->picture, gtk_widget_unparent);
    g_clear_pointer(&self->alternative_text, g_free);
    G_OBJECT_CLASS(web_image_picture_parent_class)->dispose(object);
}

static void web_image_picture_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImagePicture *self = WEB_IMAGE_PICTURE(object);
    if (image_slot_get_property(&self->slot, id, value)) return;
    switch (id) {
    case CONTENT_FIT: g_value_set_enum(value, self->fit); break;
    case CORNER_RADIUS: g_value_set_double(value, self->corner_radius); break;
    case CIRCULAR: g_value_set_boolean(value, self->circular); break;
    case RETRY_ON_CLICK: g_value_set_boolean(value, self->slot.display.retry_on_click); break;
    case DECODE_AT_SIZE: g_value_set_boolean(value, self->slot.display.decode_at_size); break;
    case LAZY: g_value_set_boolean(value, !self->slot.display.is_eager); break;
    case ALTERNATIVE_TEXT: g_value_set_string(value, self->alternative_text); break;
    case DRAGGABLE: g_value_set_boolean(value, self->slot.display.draggable); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_picture_replace_alternative_text(WebImagePicture *self, const char *text) {
    g_free(self->alternative_text);
    self->alternative_text = g_strdup(text);
    if (text == NULL) {
        gtk_accessible_reset_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION);
    } else {
        gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
    }
}

// Sets a flag. Returns whether it has changed.
static gboolean replace_flag(gboolean *place, const GValue *value) {
    const gboolean flag = g_value_get_boolean(value);
    if (flag == *place) return FALSE;
    *place = flag;
    return TRUE;
}

static void web_image_picture_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImagePicture *self = WEB_IMAGE_PICTURE(object);
    if (image_slot_set_property(&self->slot, id, value) || self->picture == NULL) return;
    switch (id) {
    case CONTENT_FIT: web_image_picture_set_content_fit(self, g_value_get_enum(value)); return;
    case CORNER_RADIUS:
        if (g_value_get_double(value) == self->corner_radius) return;
        self->corner_radius = g_value_get_double(value);
        gtk_widget_queue_draw(GTK_WIDGET(self));
        break;
    case CIRCULAR:
        if (!replace_flag(&self->circular, value)) return;
        gtk_widget_queue_draw(GTK_WIDGET(self));
        break;
    case RETRY_ON_CLICK:
        if (!replace_flag(&self->slot.display.retry_on_click, value)) return;
        image_slot_invalidate_display(&self->slot);
        web_image_picture_offer_retry(self);
        break;
    case DECODE_AT_SIZE:
        if (!replace_flag(&self->slot.display.decode_at_size, value)) return;
        image_slot_invalidate_display(&self->slot);
        image_slot_invalidate_request(&self->slot);
        break;
    case LAZY:
        if (g_value_get_boolean(value) != self->slot.display.is_eager) return;
        self->slot.display.is_eager = !g_value_get_boolean(value);
        image_slot_invalidate_display(&self->slot);
        break;
    case ALTERNATIVE_TEXT:
        if (g_strcmp0(g_value_get_string(value), self->alternative_text) == 0) return;
        web_image_picture_replace_alternative_text(self, g_value_get_string(value));
        break;
    case DRAGGABLE:
        if (!replace_flag(&self->slot.display.draggable, value)) return;
        image_slot_invalidate_display(&self->slot);
        break;
    default: WARN_INVALID_PROPERTY(object, pspec); return;
    }
    g_object_notify_by_pspec(object, properties[id]);
}

// Lets the image be decoded at the size of a list's cell before the first layout.
static void web_image_picture_size_request_changed(WebImagePicture *self) {
    if (self->picture == NULL) return;
    int width, height;
    gtk_widget_get_size_request(GTK_WIDGET(self), &width, &height);
    gtk_widget_set_size_request(self->picture, width, height);
}

static void web_image_picture_class_init(WebImagePictureClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->dispose = web_image_picture_dispose;
    object_class->get_property = web_image_picture_get_property;
    object_class->set_property = web_image_picture_set_property;
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    widget_class->get_request_mode = web_image_picture_get_request_mode;
    widget_class->measure = web_image_picture_measure;
    widget_class->size_allocate = web_image_picture_size_allocate;
    widget_class->snapshot = web_image_picture_snapshot;
    gtk_widget_class_set_css_name(widget_class, "webpicture");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
    gtk_widget_class_install_action(widget_class, RETRY_ACTION, NULL, web_image_picture_retry);
    image_slot_override_properties(object_class);

    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImagePicture:content-fit:
     *
     * How the image fits the area of the widget, as in [property@Gtk.Picture:content-fit].
     *
     * Since: 0.2
     */
    properties[CONTENT_FIT] = g_param_spec_enum(
        "content-fit", NULL, NULL, GTK_TYPE_CONTENT_FIT, GTK_CONTENT_FIT_CONTAIN, flags);

    /**
     * WebImagePicture:corner-radius:
     *
     * The radius of the corners of the image, in points; 0 by default.
     *
     * Since: 0.2
     */
    properties[CORNER_RADIUS] = g_param_spec_double("corner-radius", NULL, NULL, 0, G_MAXUINT16, 0, flags);

    /**
     * WebImagePicture:circular:
     *
     * Whether only the largest circle in the middle of the image is visible, as for avatars; %FALSE by default.
     *
     * Since: 0.2
     */
    properties[CIRCULAR] = g_param_spec_boolean("circular", NULL, NULL, FALSE, flags);

    /**
     * WebImagePicture:retry-on-click:
     *
     * Whether a click or tap on the widget starts a failed load again; %FALSE by default.
     *
     * While the load has failed, the widget also takes the focus, starts the load with Enter or Space, and has the action `image.retry`.
     *
     * Since: 0.2
     */
    properties[RETRY_ON_CLICK] = g_param_spec_boolean("retry-on-click", NULL, NULL, FALSE, flags);

    /**
     * WebImagePicture:decode-at-size:
     *
     * Whether the image is decoded at the size of the widget, and again when the widget grows; %FALSE by default.
     *
     * That takes a fraction of the time and memory. The layout must give the widget a size that does not depend on the image, such as a
     * size request.
     *
     * Since: 0.2
     */
    properties[DECODE_AT_SIZE] = g_param_spec_boolean("decode-at-size", NULL, NULL, FALSE, flags);

    /**
     * WebImagePicture:lazy:
     *
     * Whether the image loads only while the widget is mapped, and less than a page away from the visible area of each
     * [class@Gtk.ScrolledWindow] around it; %TRUE by default.
     *
     * With %FALSE it loads at once, with a low priority until the widget is mapped. Cells of a [class@Gtk.ListView] or
     * [class@Gtk.GridView] do so in any case, because a list binds only the items near its visible area.
     *
     * Since: 0.3
     */
    properties[LAZY] = g_param_spec_boolean("lazy", NULL, NULL, TRUE, flags);

    /**
     * WebImagePicture:alternative-text:
     *
     * The description of the image for assistive technologies; %NULL by default.
     *
     * Since: 0.2
     */
    properties[ALTERNATIVE_TEXT] = g_param_spec_string("alternative-text", NULL, NULL, NULL, flags);

    /**
     * WebImagePicture:draggable:
     *
     * Whether the mouse drags the image to other programs, as a texture and as its address; %FALSE by default.
     *
     * Since: 0.3
     */
    properties[DRAGGABLE] = g_param_spec_boolean("draggable", NULL, NULL, FALSE, flags);

    for (guint id = CONTENT_FIT; id < N_PROPERTIES; id++) {
        g_object_class_install_property(object_class, id, properties[id]);
    }
}

static void web_image_picture_init(WebImagePicture *self) {
    self->fit = GTK_CONTENT_FIT_CONTAIN;
    // The role is that of this widget.
    self->picture = g_object_new(GTK_TYPE_PICTURE, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, NULL);
    gtk_widget_set_parent(self->picture, GTK_WIDGET(self));
    image_slot_init(
        &self->slot, G_OBJECT(self),
        webimage_bridge_slot_new_picture(GTK_PICTURE(self->picture), image_slot_state_changed, &self->slot));
    gtk_widget_action_set_enabled(GTK_WIDGET(self), RETRY_ACTION, FALSE);
    g_signal_connect(self, "notify::width-request", G_CALLBACK(web_image_picture_size_request_changed), NULL);
    g_signal_connect(self, "notify::height-request", G_CALLBACK(web_image_picture_size_request_changed), NULL);
}

// MARK: Functions

/**
 * web_image_picture_new:
 *
 * Makes a picture without an image.
 *
 * Returns: a widget
 *
 * Since: 0.2
 */
GtkWidget *web_image_picture_new(void) { return g_object_new(WEB_IMAGE_TYPE_PICTURE, NULL); }

/**
 * web_image_picture_new_for_uri:
 * @uri: (nullable): the address of an image
 *
 * Makes a picture that shows an image.
 *
 * Returns: a widget
 *
 * Since: 0.2
 */
GtkWidget *web_image_picture_new_for_uri(const char *uri) {
    return g_object_new(WEB_IMAGE_TYPE_PICTURE, "uri", uri, NULL);
}

/**
 * web_image_picture_get_content_fit:
 * @self: a picture
 *
 * Returns how the image fits the area of the widget.
 *
 * Returns: the fit
 *
 * Since: 0.2
 */
GtkContentFit web_image_picture_get_content_fit(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), GTK_CONTENT_FIT_CONTAIN);
    return self->fit;
}

/**
 * web_image_picture_set_content_fit:
 * @self: a picture
 * @fit: the fit
 *
 * Sets how the image fits the area of the widget.
 *
 * Since: 0.2
 */
void web_image_picture_set_content_fit(WebImagePicture *self, GtkContentFit fit) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    if (fit == self->fit || self->picture == NULL) return;
    self->fit = fit;
    gtk_picture_set_content_fit(GTK_PICTURE(self->picture), fit);
    // The image may be decoded at another size.
    image_slot_invalidate_request(&self->slot);
    gtk_widget_queue_draw(GTK_WIDGET(self));
    g_object_notify_by_pspec(G_OBJECT(self), properties[CONTENT_FIT]);
}

/**
 * web_image_picture_get_alternative_text:
 * @self: a picture
 *
 * Returns the description of the image for assistive technologies.
 *
 * Returns: (nullable): the description
 *
 * Since: 0.3
 */
const char *web_image_picture_get_alternative_text(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), NULL);
    return self->alternative_text;
}

/**
 * web_image_picture_set_alternative_text:
 * @self: a picture
 * @text: (nullable): the description
 *
 * Sets the description of the image for assistive technologies.
 *
 * Since: 0.3
 */
void web_image_picture_set_alternative_text(WebImagePicture *self, const char *text) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_object_set(self, "alternative-text", text, NULL);
}

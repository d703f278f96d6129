#include "error-private.h"
#include "image-slot.h"
#include <webimage/webimage-avatar.h>

/**
 * WebImageAvatar:
 *
 * The round picture of a person or a group, and the initials of its name on a color until there is a picture, and if there is none.
 *
 * ```xml
 * <object class="WebImageAvatar">
 *   <property name="text">Ada Lovelace</property>
 *   <property name="uri">https://example.org/ada.jpg</property>
 * </object>
 * ```
 *
 * The initials are the first letters of the first and the last word. Each name has one color, in every program, with a contrast for white
 * text, in light and dark themes. They return if another URI is set, and stay if the load fails.
 *
 * [property@Avatar:picture] has everything else, such as the headers of the request and [property@View:focus-x].
 *
 * # CSS nodes
 *
 * `WebImageAvatar` has the name `webavatar`. Its only child has the name `webpicture`.
 *
 * # Accessibility
 *
 * `WebImageAvatar` has the role %GTK_ACCESSIBLE_ROLE_IMG, and its text as a label.
 *
 * Since: 0.3
 */
struct _WebImageAvatar {
    GtkWidget parent_instance;

    // NULL after dispose.
    WebImagePicture *picture;
    char *text;
    int size;
};

enum { DEFAULT_SIZE = 48 };

enum { TEXT = 1, SIZE, URI, PICTURE, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_FINAL_TYPE(WebImageAvatar, web_image_avatar, GTK_TYPE_WIDGET)

// The size, whatever the size of the picture.
static void web_image_avatar_measure(
    GtkWidget *widget, GtkOrientation orientation G_GNUC_UNUSED, int for_size G_GNUC_UNUSED, int *minimum, int *natural,
    int *minimum_baseline, int *natural_baseline) {
    *minimum = *natural = WEB_IMAGE_AVATAR(widget)->size;
    *minimum_baseline = *natural_baseline = -1;
}

static void web_image_avatar_size_allocate(GtkWidget *widget, int width, int height, int baseline) {
    WebImageAvatar *self = WEB_IMAGE_AVATAR(widget);
    if (self->picture == NULL) return;
    const GtkAllocation place = {(width - self->size) / 2, (height - self->size) / 2, self->size, self->size};
    gtk_widget_size_allocate(GTK_WIDGET(self->picture), &place, baseline);
}

static void web_image_avatar_dispose(GObject *object) {
    WebImageAvatar *self = WEB_IMAGE_AVATAR(object);
    if (image_slot_defer_dispose(object)) return;
    if (self->picture != NULL) {
        g_signal_handlers_disconnect_by_data(self->picture, self);
        gtk_widget_unparent(GTK_WIDGET(self->picture));
        self->picture = NULL;
    }
    g_clear_pointer(&self->text, g_free);
    G_OBJECT_CLASS(web_image_avatar_parent_class)->dispose(object);
}

static void web_image_avatar_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec) {
    WebImageAvatar *self = WEB_IMAGE_AVATAR(object);
    switch (id) {
    case TEXT: g_value_set_string(value, self->text); break;
    case SIZE: g_value_set_int(value, self->size); break;
    case URI: g_value_set_string(value, web_image_avatar_get_uri(self)); break;
    case PICTURE: g_value_set_object(value, self->picture); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_avatar_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec) {
    WebImageAvatar *self = WEB_IMAGE_AVATAR(object);
    switch (id) {
    case TEXT: web_image_avatar_set_text(self, g_value_get_string(value)); break;
    case SIZE: web_image_avatar_set_size(self, g_value_get_int(value)); break;
    case URI: web_image_avatar_set_uri(self, g_value_get_string(value)); break;
    default: WARN_INVALID_PROPERTY(object, pspec);
    }
}

static void web_image_avatar_class_init(WebImageAvatarClass *class) {
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    object_class->dispose = web_image_avatar_dispose;
    object_class->get_property = web_image_avatar_get_property;
    object_class->set_property = web_image_avatar_set_property;
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    widget_class->measure = web_image_avatar_measure;
    widget_class->size_allocate = web_image_avatar_size_allocate;
    gtk_widget_class_set_css_name(widget_class, "webavatar");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

    /**
     * WebImageAvatar:text:
     *
     * The name, also for assistive technologies. %NULL, the default, and an empty text show a figure in place of initials.
     *
     * Since: 0.3
     */
    properties[TEXT] = g_param_spec_string("text", NULL, NULL, NULL, flags);

    /**
     * WebImageAvatar:size:
     *
     * The diameter in points; 48 by default.
     *
     * Since: 0.3
     */
    properties[SIZE] = g_param_spec_int("size", NULL, NULL, 1, G_MAXUINT16, DEFAULT_SIZE, flags);

    /**
     * WebImageAvatar:uri:
     *
     * The address of the picture, as [property@View:uri]; %NULL by default.
     *
     * Since: 0.3
     */
    properties[URI] = g_param_spec_string("uri", NULL, NULL, NULL, flags);

    /**
     * WebImageAvatar:picture:
     *
     * The widget that shows the picture, and the initials as its placeholder.
     *
     * Since: 0.3
     */
    properties[PICTURE] = g_param_spec_object(
        "picture", NULL, NULL, WEB_IMAGE_TYPE_PICTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

    g_object_class_install_properties(object_class, N_PROPERTIES, properties);
}

static void web_image_avatar_show_text(WebImageAvatar *self) {
    GdkPaintable *initials = web_image_avatar_create_initials(self->text);
    web_image_view_set_placeholder(WEB_IMAGE_VIEW(self->picture), initials);
    g_object_unref(initials);
}

static void web_image_avatar_uri_changed(WebImageAvatar *self) {
    g_object_notify_by_pspec(G_OBJECT(self), properties[URI]);
}

static void web_image_avatar_init(WebImageAvatar *self) {
    self->size = DEFAULT_SIZE;
    // The role is that of this widget. Its size is known, so that the picture is decoded at that size.
    self->picture = g_object_new(
        WEB_IMAGE_TYPE_PICTURE, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, "content-fit", GTK_CONTENT_FIT_COVER,
        "circular", TRUE, "decode-at-size", TRUE, "width-request", DEFAULT_SIZE, "height-request", DEFAULT_SIZE, NULL);
    gtk_widget_set_parent(GTK_WIDGET(self->picture), GTK_WIDGET(self));
    g_signal_connect_swapped(self->picture, "notify::uri", G_CALLBACK(web_image_avatar_uri_changed), self);
    web_image_avatar_show_text(self);
}

/**
 * web_image_avatar_new:
 * @size: the diameter in points
 * @text: (nullable): the name
 *
 * Makes an avatar without a picture.
 *
 * Returns: a widget
 *
 * Since: 0.3
 */
GtkWidget *web_image_avatar_new(int size, const char *text) {
    return g_object_new(WEB_IMAGE_TYPE_AVATAR, "size", size, "text", text, NULL);
}

/**
 * web_image_avatar_create_initials:
 * @text: (nullable): a name
 *
 * Makes a paintable that fills its area with the color of a name, and its initials, such as for [property@View:placeholder].
 *
 * Returns: (transfer full): a paintable
 *
 * Since: 0.3
 */
GdkPaintable *web_image_avatar_create_initials(const char *text) {
    return webimage_bridge_initials_new(text == NULL ? "" : text);
}

/**
 * web_image_avatar_get_text:
 * @self: an avatar
 *
 * Returns the name.
 *
 * Returns: (nullable): the name
 *
 * Since: 0.3
 */
const char *web_image_avatar_get_text(WebImageAvatar *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_AVATAR(self), NULL);
    return self->text;
}

/**
 * web_image_avatar_set_text:
 * @self: an avatar
 * @text: (nullable): the name
 *
 * Sets the name.
 *
 * Since: 0.3
 */
void web_image_avatar_set_text(WebImageAvatar *self, const char *text) {
    g_return_if_fail(WEB_IMAGE_IS_AVATAR(self));
    if (self->picture == NULL || g_strcmp0(text, self->text) == 0) return;
    char *copy = g_strdup(text);
    g_free(self->text);
    self->text = copy;
    web_image_avatar_show_text(self);
    if (copy == NULL || copy[0] == '\0') {
        gtk_accessible_reset_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL);
    } else {
        gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, copy, -1);
    }
    g_object_notify_by_pspec(G_OBJECT(self), properties[TEXT]);
}

/**
 * web_image_avatar_get_size:
 * @self: an avatar
 *
 * Returns the diameter.
 *
 * Returns: the diameter in points
 *
 * Since: 0.3
 */
int web_image_avatar_get_size(WebImageAvatar *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_AVATAR(self), 0);
    return self->size;
}

/**
 * web_image_avatar_set_size:
 * @self: an avatar
 * @size: the diameter in points
 *
 * Sets the diameter.
 *
 * Since: 0.3
 */
void web_image_avatar_set_size(WebImageAvatar *self, int size) {
    g_return_if_fail(WEB_IMAGE_IS_AVATAR(self));
    g_return_if_fail(size > 0);
    if (self->picture == NULL || size == self->size) return;
    self->size = size;
    gtk_widget_set_size_request(GTK_WIDGET(self->picture), size, size);
    g_object_notify_by_pspec(G_OBJECT(self), properties[SIZE]);
}

/**
 * web_image_avatar_get_uri:
 * @self: an avatar
 *
 * Returns the address of the picture.
 *
 * Returns: (nullable): the address
 *
 * Since: 0.3
 */
const char *web_image_avatar_get_uri(WebImageAvatar *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_AVATAR(self), NULL);
    return self->picture == NULL ? NULL : web_image_view_get_uri(WEB_IMAGE_VIEW(self->picture));
}

/**
 * web_image_avatar_set_uri:
 * @self: an avatar
 * @uri: (nullable): the address of a picture
 *
 * Shows another picture, or the initials.
 *
 * Since: 0.3
 */
void web_image_avatar_set_uri(WebImageAvatar *self, const char *uri) {
    g_return_if_fail(WEB_IMAGE_IS_AVATAR(self));
    if (self->picture != NULL) web_image_view_set_uri(WEB_IMAGE_VIEW(self->picture), uri);
}

/**
 * web_image_avatar_get_picture:
 * @self: an avatar
 *
 * Returns the widget that shows the picture.
 *
 * Returns: (transfer none) (nullable): the widget; %NULL once the avatar was disposed
 *
 * Since: 0.3
 */
WebImagePicture *web_image_avatar_get_picture(WebImageAvatar *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_AVATAR(self), NULL);
    return self->picture;
}

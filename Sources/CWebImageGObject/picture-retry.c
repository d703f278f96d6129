#include "picture-retry.h"
#include "image-slot.h"
#include <webimage/webimage-picture.h>

static const char ACTION[] = "image.retry";

// In points.
static const float OUTLINE_WIDTH = 2;

static void retry(GtkWidget *picture, const char *name G_GNUC_UNUSED, GVariant *parameter G_GNUC_UNUSED) {
    web_image_picture_reload(WEB_IMAGE_PICTURE(picture));
}

void picture_retry_class_init(GtkWidgetClass *class) {
    const guint keys[] = {GDK_KEY_Return, GDK_KEY_ISO_Enter, GDK_KEY_KP_Enter, GDK_KEY_space, GDK_KEY_KP_Space};
    gtk_widget_class_install_action(class, ACTION, NULL, retry);
    for (gsize index = 0; index < G_N_ELEMENTS(keys); index++) {
        gtk_widget_class_add_binding_action(class, keys[index], 0, ACTION, NULL);
    }
}

// The focus stays during another attempt, so that its user keeps the place.
static void picture_retry_update_focus(PictureRetry *self, GtkWidget *picture) {
    if (self->is_offered && !gtk_widget_get_focusable(picture)) {
        self->takes_focus = TRUE;
        gtk_widget_set_focusable(picture, TRUE);
    } else if (!self->is_offered && self->takes_focus && !gtk_widget_is_focus(picture)) {
        self->takes_focus = FALSE;
        gtk_widget_set_focusable(picture, FALSE);
    }
}

static void picture_retry_focus_left(GtkEventController *controller, PictureRetry *self) {
    picture_retry_update_focus(self, gtk_event_controller_get_widget(controller));
}

// The outline depends on the state.
static void picture_retry_state_changed(GtkWidget *picture, GtkStateFlags old G_GNUC_UNUSED, PictureRetry *self) {
    if (self->takes_focus) gtk_widget_queue_draw(picture);
}

void picture_retry_init(PictureRetry *self, GtkWidget *picture) {
    gtk_widget_action_set_enabled(picture, ACTION, FALSE);
    GtkEventController *controller = gtk_event_controller_focus_new();
    g_signal_connect(controller, "leave", G_CALLBACK(picture_retry_focus_left), self);
    gtk_widget_add_controller(picture, controller);
    g_signal_connect(picture, "state-flags-changed", G_CALLBACK(picture_retry_state_changed), self);
}

void picture_retry_offer(PictureRetry *self, GtkWidget *picture, gboolean is_offered) {
    if (is_offered == self->is_offered) return;
    self->is_offered = is_offered;
    gtk_widget_action_set_enabled(picture, ACTION, is_offered);
    if (is_offered) {
        gtk_accessible_update_property(
            GTK_ACCESSIBLE(picture), GTK_ACCESSIBLE_PROPERTY_KEY_SHORTCUTS, "Enter Space", -1);
    } else {
        gtk_accessible_reset_property(GTK_ACCESSIBLE(picture), GTK_ACCESSIBLE_PROPERTY_KEY_SHORTCUTS);
    }
    picture_retry_update_focus(self, picture);
}

void picture_retry_snapshot(const PictureRetry *self, GtkWidget *picture, GtkSnapshot *snapshot) {
    if (!self->takes_focus || !(gtk_widget_get_state_flags(picture) & GTK_STATE_FLAG_FOCUS_VISIBLE)) return;
    const float width = (float)gtk_widget_get_width(picture), height = (float)gtk_widget_get_height(picture);
    GskRoundedRect outline;
    gsk_rounded_rect_init_from_rect(&outline, &GRAPHENE_RECT_INIT(0, 0, width, height), OUTLINE_WIDTH);
    GdkRGBA color = image_slot_get_color(picture);
    color.alpha /= 2;
    gtk_snapshot_append_border(
        snapshot, &outline, (const float[]){OUTLINE_WIDTH, OUTLINE_WIDTH, OUTLINE_WIDTH, OUTLINE_WIDTH},
        (const GdkRGBA[]){color, color, color, color});
}

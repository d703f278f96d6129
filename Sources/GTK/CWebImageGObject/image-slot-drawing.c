#include "image-slot.h"

GdkPaintable *image_slot_get_substitute(ImageSlot *self, GtkContentFit *fit) {
    if (self->handle == NULL) return NULL;
    WebImageBridgeState state;
    webimage_bridge_slot_get_state(self->handle, &state);
    if (state.width > 0 && !state.in_transition) return NULL;
    if (state.phase == WEBIMAGE_BRIDGE_PHASE_FAILED && self->error_paintable != NULL) {
        // It is a sign, such as an icon, and not an image.
        *fit = GTK_CONTENT_FIT_SCALE_DOWN;
        return self->error_paintable;
    }
    return self->placeholder;
}

graphene_rect_t image_slot_place(double width, double height, GtkContentFit fit, const graphene_size_t *area) {
    if (width <= 0 || height <= 0 || fit == GTK_CONTENT_FIT_FILL) {
        return GRAPHENE_RECT_INIT(0, 0, area->width, area->height);
    }
    const double horizontal = area->width / width, vertical = area->height / height;
    double scale = fit == GTK_CONTENT_FIT_COVER ? MAX(horizontal, vertical) : MIN(horizontal, vertical);
    if (fit == GTK_CONTENT_FIT_SCALE_DOWN) scale = MIN(scale, 1);
    return GRAPHENE_RECT_INIT(
        (float)((area->width - width * scale) / 2), (float)((area->height - height * scale) / 2),
        (float)(width * scale), (float)(height * scale));
}

GdkRGBA image_slot_get_color(GtkWidget *widget) {
    GdkRGBA color;
#if GTK_CHECK_VERSION(4, 10, 0)
    gtk_widget_get_color(widget, &color);
#else
    gtk_style_context_get_color(gtk_widget_get_style_context(widget), &color);
#endif
    return color;
}

static void snapshot_at_size(
    GdkPaintable *paintable, GtkSnapshot *snapshot, double width, double height, GtkWidget *color_source) {
    if (color_source == NULL || !GTK_IS_SYMBOLIC_PAINTABLE(paintable)) {
        gdk_paintable_snapshot(paintable, snapshot, width, height);
        return;
    }
    const GdkRGBA color = image_slot_get_color(color_source);
    gtk_symbolic_paintable_snapshot_symbolic(GTK_SYMBOLIC_PAINTABLE(paintable), snapshot, width, height, &color, 1);
}

void image_slot_snapshot(
    GdkPaintable *paintable, GtkSnapshot *snapshot, GtkContentFit fit, const graphene_size_t *area,
    GtkWidget *color_source) {
    const graphene_rect_t place = image_slot_place(
        gdk_paintable_get_intrinsic_width(paintable), gdk_paintable_get_intrinsic_height(paintable), fit, area);
    gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, area->width, area->height));
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(snapshot, &place.origin);
    snapshot_at_size(paintable, snapshot, place.size.width, place.size.height, color_source);
    gtk_snapshot_restore(snapshot);
    gtk_snapshot_pop(snapshot);
}

void image_slot_snapshot_widget(ImageSlot *self, GtkWidget *child, GtkSnapshot *snapshot, GtkContentFit fit) {
    GtkWidget *widget = GTK_WIDGET(self->owner);
    const graphene_size_t area = GRAPHENE_SIZE_INIT(gtk_widget_get_width(widget), gtk_widget_get_height(widget));
    GdkPaintable *substitute = image_slot_get_substitute(self, &fit);
    if (substitute != NULL) image_slot_snapshot(substitute, snapshot, fit, &area, widget);
    // A sign of failure takes the place of a placeholder.
    if (substitute != NULL && substitute == self->error_paintable) return;
    gtk_widget_snapshot_child(widget, child, snapshot);
}

void image_slot_show_phase(ImageSlot *self, GtkWidget *image) {
    static const char *const classes[] = {NULL, "loading", "loaded", "failed"};
    GtkWidget *widget = GTK_WIDGET(self->owner);
    const WebImageBridgePhase phase = self->state.phase;
    if (phase != WEBIMAGE_BRIDGE_PHASE_IDLE && gtk_widget_has_css_class(widget, classes[phase])) return;
    for (gsize index = 1; index < G_N_ELEMENTS(classes); index++) {
        if (gtk_widget_has_css_class(widget, classes[index])) gtk_widget_remove_css_class(widget, classes[index]);
    }
    if (phase != WEBIMAGE_BRIDGE_PHASE_IDLE) gtk_widget_add_css_class(widget, classes[phase]);
    gtk_accessible_update_state(
        GTK_ACCESSIBLE(image), GTK_ACCESSIBLE_STATE_BUSY, phase == WEBIMAGE_BRIDGE_PHASE_LOADING, -1);
}

#pragma once

#include <gtk/gtk.h>

// What a click on a failed picture is for the keyboard and for assistive technologies: the action `image.retry`. While it is offered, the
// picture takes the focus, and Enter and Space are its keys.

typedef struct {
    gboolean is_offered;
    // Whether the picture takes the focus for this reason, and not because the program has set it.
    gboolean takes_focus;
} PictureRetry;

void picture_retry_class_init(GtkWidgetClass *class);
void picture_retry_init(PictureRetry *self, GtkWidget *picture);
void picture_retry_offer(PictureRetry *self, GtkWidget *picture, gboolean is_offered);
// Draws the outline of a picture that has the focus.
void picture_retry_snapshot(const PictureRetry *self, GtkWidget *picture, GtkSnapshot *snapshot);

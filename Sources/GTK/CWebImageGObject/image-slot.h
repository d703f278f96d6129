#pragma once

#include "bridge.h"
#include <webimage/webimage-view.h>

// The place of one image: what the classes that implement WebImageView have in common. Their instances contain it, and pass it the
// properties of this table, whose IDs begin with 1.
//
// Properties take effect together, before the next frame or when the state is read, so that their order does not matter: a request
// does not go out before its headers are set. Only the image of an earlier URI goes at once.

typedef enum {
    IMAGE_SLOT_URI = 1,
    IMAGE_SLOT_FILE,
    IMAGE_SLOT_BYTES,
    IMAGE_SLOT_STREAM,
    IMAGE_SLOT_IDENTIFIER,
    IMAGE_SLOT_HEADERS,
    IMAGE_SLOT_PROCESSOR,
    IMAGE_SLOT_PROCESSING,
    IMAGE_SLOT_PRIORITY,
    IMAGE_SLOT_CACHE_POLICY,
    IMAGE_SLOT_LOW_DATA_URI,
    IMAGE_SLOT_SESSION,
    IMAGE_SLOT_PLACEHOLDER,
    IMAGE_SLOT_BLUR_HASH,
    IMAGE_SLOT_THUMB_HASH,
    IMAGE_SLOT_PLACEHOLDER_COLOR,
    IMAGE_SLOT_ERROR_PAINTABLE,
    IMAGE_SLOT_TRANSITION,
    IMAGE_SLOT_TRANSITION_DURATION,
    IMAGE_SLOT_ANIMATE,
    IMAGE_SLOT_FOCUS_X,
    IMAGE_SLOT_FOCUS_Y,
    IMAGE_SLOT_LOADING,
    IMAGE_SLOT_PROGRESS,
    IMAGE_SLOT_ERROR,
    IMAGE_SLOT_IMAGE_WIDTH,
    IMAGE_SLOT_IMAGE_HEIGHT,
    IMAGE_SLOT_PAINTABLE,
    IMAGE_SLOT_HTTP_STATUS,
    IMAGE_SLOT_FINAL_URI,
    IMAGE_SLOT_CONTENT_TYPE,
    IMAGE_SLOT_ORIGIN,
    IMAGE_SLOT_N_PROPERTIES,
} ImageSlotProperty;

typedef enum { IMAGE_SLOT_LOADED, IMAGE_SLOT_FAILED, IMAGE_SLOT_N_SIGNALS } ImageSlotSignal;

enum { IMAGE_SLOT_TRANSITION_MILLISECONDS = 200 };

// The properties and the signals of WebImageView.
extern GParamSpec *image_slot_properties[IMAGE_SLOT_N_PROPERTIES];
extern guint image_slot_signals[IMAGE_SLOT_N_SIGNALS];

typedef struct {
    // A WebImageView.
    GObject *owner;
    // NULL once the owner was disposed.
    WebImageBridgeSlot *handle;
    WebImageRequest *request;
    WebImageSession *session;
    GdkPaintable *placeholder, *error_paintable;
    char *blur_hash, *thumb_hash;
    GdkRGBA *color;
    WebImageBridgeDisplay display;
    // As last told to observers.
    WebImageBridgeState state;
    // How often it has changed.
    guint64 changes;
    guint update_source;
    // Of a widget with a pending update: its clock, and the handler of the layout.
    GdkFrameClock *frame_clock;
    gulong layout_handler;
    gboolean display_is_stale, request_is_stale;
    // Pixels per point of the size to decode at; 0 for a size in pixels.
    int scale_factor;
    // Set by the request when one of its properties gets another value.
    gboolean request_has_changed;
} ImageSlot;

// Lets a class have the properties of WebImageView.
void image_slot_override_properties(GObjectClass *owner);
// `handle` is a new reference to what shows the image, made with image_slot_state_changed and the slot.
void image_slot_init(ImageSlot *self, GObject *owner, WebImageBridgeSlot *handle);
// Tells observers what has changed. They may do anything, also dispose of the owner.
void image_slot_state_changed(gpointer slot);
// GTK's objects are disposed of on the main thread. On another one, as when a garbage collector releases the last reference there, this
// keeps `owner`, which is disposed of on the main thread soon. Returns whether it is kept.
gboolean image_slot_defer_dispose(GObject *owner);
void image_slot_dispose(ImageSlot *self);
// Tells observers that the size of the image has changed, if it has.
void image_slot_size_changed(ImageSlot *self);

gboolean image_slot_get_property(ImageSlot *self, guint id, GValue *value);
gboolean image_slot_set_property(ImageSlot *self, guint id, const GValue *value);
// Sets a property that the request has by the same name. Returns whether it has changed.
gboolean image_slot_forward(ImageSlot *self, GParamSpec *spec, const GValue *value);
// Applies changed properties before the next layout of a widget, with the next turn of the main loop at the latest, or now. Observers may
// dispose of the owner meanwhile.
void image_slot_invalidate_display(ImageSlot *self);
void image_slot_invalidate_request(ImageSlot *self);
void image_slot_update(ImageSlot *self);

void image_slot_reload(ImageSlot *self);
void image_slot_cancel(ImageSlot *self);

// That of the text of a widget.
GdkRGBA image_slot_get_color(GtkWidget *widget);
// Gives a widget the style class of the state, and tells assistive technologies of `image` whether it is loading.
void image_slot_show_phase(ImageSlot *self, GtkWidget *image);
// Draws a child of the owner, which shows the image, and what is drawn in its place.
void image_slot_snapshot_widget(ImageSlot *self, GtkWidget *child, GtkSnapshot *snapshot, GtkContentFit fit);
// What is drawn in place of an image, or below one that fades in; NULL for nothing.
GdkPaintable *image_slot_get_substitute(ImageSlot *self, GtkContentFit *fit);
// The place in an area of a paintable with its own proportions.
graphene_rect_t image_slot_place(double width, double height, GtkContentFit fit, const graphene_size_t *area);
// `color_source` has the color of symbolic icons; NULL for black.
void image_slot_snapshot(
    GdkPaintable *paintable, GtkSnapshot *snapshot, GtkContentFit fit, const graphene_size_t *area,
    GtkWidget *color_source);

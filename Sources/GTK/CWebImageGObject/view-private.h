#pragma once

#include "image-slot.h"

// What the classes implement.
struct _WebImageViewInterface {
    GTypeInterface parent_interface;

    ImageSlot *(*get_slot)(WebImageView *self);
    // Draws the view again, or lays it out again, after what is shown in place of an image has changed.
    void (*redraw)(WebImageView *self);
    void (*resize)(WebImageView *self);
    // Called after the state has changed, and before observers are told; NULL for nothing.
    void (*state_changed)(WebImageView *self);
};

// The slot of a view.
ImageSlot *image_slot_of(WebImageView *view);

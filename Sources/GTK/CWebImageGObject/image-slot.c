#define _GNU_SOURCE

#include "error-private.h"
#include "request-private.h"
#include "session-private.h"
#include "view-private.h"

#include <unistd.h>

void image_slot_override_properties(GObjectClass *owner) {
    for (guint id = 1; id < IMAGE_SLOT_N_PROPERTIES; id++) {
        g_object_class_override_property(owner, id, g_param_spec_get_name(image_slot_properties[id]));
    }
}

// MARK: State

static void image_slot_notify(ImageSlot *self, ImageSlotProperty property) {
    g_object_notify_by_pspec(self->owner, image_slot_properties[property]);
}

static WebImageViewInterface *image_slot_get_interface(ImageSlot *self) { return WEB_IMAGE_VIEW_GET_IFACE(self->owner); }

static void image_slot_redraw(ImageSlot *self) {
    if (self->handle != NULL) image_slot_get_interface(self)->redraw(WEB_IMAGE_VIEW(self->owner));
}

static void image_slot_resize(ImageSlot *self) {
    if (self->handle != NULL) image_slot_get_interface(self)->resize(WEB_IMAGE_VIEW(self->owner));
}

static void copy_error(gpointer place, const WebImageBridgeError *error) {
    *(GError **)place = web_image_error_new(error);
}

static GError *image_slot_get_error(ImageSlot *self) {
    GError *error = NULL;
    if (self->handle != NULL) webimage_bridge_slot_get_error(self->handle, copy_error, &error);
    return error;
}

static void image_slot_notify_size(ImageSlot *self, const WebImageBridgeState *old) {
    if (old->width != self->state.width) image_slot_notify(self, IMAGE_SLOT_IMAGE_WIDTH);
    if (old->height != self->state.height) image_slot_notify(self, IMAGE_SLOT_IMAGE_HEIGHT);
}

void image_slot_state_changed(gpointer slot) {
    ImageSlot *self = slot;
    if (self->handle == NULL) return;
    const WebImageBridgeState old = self->state;
    webimage_bridge_slot_get_state(self->handle, &self->state);
    const WebImageBridgeState new = self->state;
    const guint64 change = ++self->changes;
    GObject *owner = g_object_ref(self->owner);
    if (self->placeholder != NULL || self->error_paintable != NULL) image_slot_resize(self);
    image_slot_redraw(self);
    void (*state_changed)(WebImageView *) = image_slot_get_interface(self)->state_changed;
    if (state_changed != NULL) state_changed(WEB_IMAGE_VIEW(owner));
    g_object_freeze_notify(owner);
    if ((old.phase == WEBIMAGE_BRIDGE_PHASE_LOADING) != (new.phase == WEBIMAGE_BRIDGE_PHASE_LOADING)) {
        image_slot_notify(self, IMAGE_SLOT_LOADING);
    }
    if (MAX(old.progress, 0) != MAX(new.progress, 0)) image_slot_notify(self, IMAGE_SLOT_PROGRESS);
    image_slot_notify_size(self, &old);
    const gboolean has_loaded =
        new.phase == WEBIMAGE_BRIDGE_PHASE_LOADED && old.phase != WEBIMAGE_BRIDGE_PHASE_LOADED;
    if (has_loaded || (old.width > 0) != (new.width > 0)) image_slot_notify(self, IMAGE_SLOT_PAINTABLE);
    const gboolean has_failed = new.phase == WEBIMAGE_BRIDGE_PHASE_FAILED;
    if (has_failed || old.phase == WEBIMAGE_BRIDGE_PHASE_FAILED) image_slot_notify(self, IMAGE_SLOT_ERROR);
    // A reload has the same phase, and another response.
    if (old.phase != new.phase || new.phase == WEBIMAGE_BRIDGE_PHASE_LOADED) {
        for (guint id = IMAGE_SLOT_HTTP_STATUS; id <= IMAGE_SLOT_ORIGIN; id++) image_slot_notify(self, id);
    }
    GError *error = has_failed ? image_slot_get_error(self) : NULL;
    g_object_thaw_notify(owner);
    // Unless an observer has begun something else, or disposed of the owner.
    if (change == self->changes && self->handle != NULL) {
        if (error != NULL) g_signal_emit(owner, image_slot_signals[IMAGE_SLOT_FAILED], 0, error);
        if (new.phase == WEBIMAGE_BRIDGE_PHASE_LOADED) g_signal_emit(owner, image_slot_signals[IMAGE_SLOT_LOADED], 0);
    }
    g_clear_error(&error);
    g_object_unref(owner);
}

void image_slot_size_changed(ImageSlot *self) {
    WebImageBridgeState new;
    webimage_bridge_slot_get_state(self->handle, &new);
    const WebImageBridgeState old = self->state;
    self->state.width = new.width;
    self->state.height = new.height;
    image_slot_notify_size(self, &old);
}

// The request belongs to the slot alone, and is released with it.
static void image_slot_request_changed(ImageSlot *self) { self->request_has_changed = TRUE; }

void image_slot_init(ImageSlot *self, GObject *owner, WebImageBridgeSlot *handle) {
    self->owner = owner;
    self->handle = handle;
    self->request = web_image_request_new(NULL);
    g_signal_connect_swapped(self->request, "notify", G_CALLBACK(image_slot_request_changed), self);
    web_image_request_set_priority(self->request, WEB_IMAGE_PRIORITY_HIGH);
    self->display.animate = TRUE;
    self->display.transition_milliseconds = IMAGE_SLOT_TRANSITION_MILLISECONDS;
}

static void image_slot_set_paintable(ImageSlot *self, GdkPaintable **place, GdkPaintable *paintable) {
    // One paintable may have both places, and is connected once.
    GdkPaintable *other = place == &self->placeholder ? self->error_paintable : self->placeholder;
    if (*place != NULL && *place != other) g_signal_handlers_disconnect_by_data(*place, self);
    g_clear_object(place);
    if (paintable == NULL) return;
    *place = g_object_ref(paintable);
    if (paintable == other) return;
    g_signal_connect_swapped(paintable, "invalidate-contents", G_CALLBACK(image_slot_redraw), self);
    g_signal_connect_swapped(paintable, "invalidate-size", G_CALLBACK(image_slot_resize), self);
}

static gboolean dispose_of(gpointer owner) {
    // Not only by the reference: the other thread may still have its own, and finalize what was disposed of here.
    g_object_run_dispose(owner);
    return G_SOURCE_REMOVE;
}

gboolean image_slot_defer_dispose(GObject *owner) {
    if (gettid() == getpid()) return FALSE;
    g_idle_add_full(G_PRIORITY_DEFAULT, dispose_of, g_object_ref(owner), g_object_unref);
    return TRUE;
}

static void image_slot_end_waiting(ImageSlot *self) {
    g_clear_handle_id(&self->update_source, g_source_remove);
    if (self->frame_clock == NULL) return;
    // The clock of a destroyed window has no handlers any more.
    if (g_signal_handler_is_connected(self->frame_clock, self->layout_handler)) {
        g_signal_handler_disconnect(self->frame_clock, self->layout_handler);
    }
    g_clear_object(&self->frame_clock);
}

void image_slot_dispose(ImageSlot *self) {
    image_slot_end_waiting(self);
    image_slot_set_paintable(self, &self->placeholder, NULL);
    image_slot_set_paintable(self, &self->error_paintable, NULL);
    WebImageBridgeSlot *handle = g_steal_pointer(&self->handle);
    if (handle != NULL) {
        webimage_bridge_slot_retire(handle);
        webimage_bridge_release(handle);
    }
    self->state = (WebImageBridgeState){0};
    g_clear_object(&self->request);
    g_clear_object(&self->session);
    g_clear_pointer(&self->blur_hash, g_free);
    g_clear_pointer(&self->thumb_hash, g_free);
    g_clear_pointer(&self->color, gdk_rgba_free);
}

// MARK: Updates

static gboolean image_slot_update_idle(gpointer data) {
    ImageSlot *self = data;
    self->update_source = 0;
    image_slot_update(self);
    return G_SOURCE_REMOVE;
}

static void image_slot_invalidate(ImageSlot *self) {
    if (self->handle == NULL || self->update_source != 0) return;
    // Before layouts and frames.
    self->update_source = g_idle_add_full(G_PRIORITY_HIGH_IDLE, image_slot_update_idle, self, NULL);
    if (!GTK_IS_WIDGET(self->owner)) return;
    // During a frame, as when a list that scrolls binds its rows, the source comes after drawing.
    GdkFrameClock *clock = gtk_widget_get_frame_clock(GTK_WIDGET(self->owner));
    if (clock == NULL) return;
    self->frame_clock = g_object_ref(clock);
    self->layout_handler = g_signal_connect_swapped(clock, "layout", G_CALLBACK(image_slot_update), self);
    gdk_frame_clock_request_phase(clock, GDK_FRAME_CLOCK_PHASE_LAYOUT);
}

void image_slot_invalidate_display(ImageSlot *self) {
    self->display_is_stale = TRUE;
    image_slot_invalidate(self);
}

void image_slot_invalidate_request(ImageSlot *self) {
    self->request_is_stale = TRUE;
    image_slot_invalidate(self);
}

static void image_slot_load(ImageSlot *self, WebImageCachePolicy policy) {
    WebImageSession *session = self->session == NULL ? web_image_session_get_default() : self->session;
    WebImageBridgeRequest request = web_image_request_describe(self->request);
    request.cache_policy = policy;
    request.scale_factor = self->scale_factor;
    const gboolean is_covered = self->placeholder != NULL;
    const WebImageBridgePlaceholder placeholder = {
        .blur_hash = is_covered ? NULL : self->blur_hash,
        .thumb_hash = is_covered ? NULL : self->thumb_hash,
        .color = is_covered ? NULL : self->color,
    };
    webimage_bridge_slot_load(self->handle, web_image_session_get_handle(session), &request, &placeholder);
}

void image_slot_update(ImageSlot *self) {
    image_slot_end_waiting(self);
    GObject *owner = g_object_ref(self->owner);
    if (self->handle != NULL && self->display_is_stale) {
        self->display_is_stale = FALSE;
        webimage_bridge_slot_configure(self->handle, &self->display);
    }
    if (self->handle != NULL && self->request_is_stale) {
        self->request_is_stale = FALSE;
        image_slot_load(self, web_image_request_get_cache_policy(self->request));
    }
    g_object_unref(owner);
}

// Removes what the slot shows, and cancels its load: it is of an earlier URI.
static void image_slot_clear(ImageSlot *self) {
    WebImageBridgeState state;
    webimage_bridge_slot_get_state(self->handle, &state);
    if (state.phase != WEBIMAGE_BRIDGE_PHASE_IDLE || state.width > 0) webimage_bridge_slot_clear(self->handle);
}

void image_slot_reload(ImageSlot *self) {
    if (self->handle == NULL) return;
    GObject *owner = g_object_ref(self->owner);
    self->request_is_stale = FALSE;
    image_slot_update(self);
    // A failed load is repeated as it was. An image on display stays while its server is asked for another.
    const gboolean has_failed = self->state.phase == WEBIMAGE_BRIDGE_PHASE_FAILED;
    if (self->handle != NULL) {
        image_slot_load(
            self, has_failed ? web_image_request_get_cache_policy(self->request) : WEB_IMAGE_CACHE_POLICY_REFRESH);
    }
    g_object_unref(owner);
}

void image_slot_cancel(ImageSlot *self) {
    if (self->handle == NULL) return;
    GObject *owner = g_object_ref(self->owner);
    image_slot_update(self);
    if (self->handle != NULL) webimage_bridge_slot_cancel(self->handle);
    g_object_unref(owner);
}

// MARK: Properties

// A property of the response, and its value.
typedef struct {
    guint id;
    GValue *value;
} ResponseProperty;

static void read_response(gpointer data, const WebImageBridgeResponse *response) {
    const ResponseProperty *property = data;
    switch (property->id) {
    case IMAGE_SLOT_HTTP_STATUS: g_value_set_int(property->value, response->http_status); break;
    case IMAGE_SLOT_FINAL_URI: g_value_set_string(property->value, response->final_uri); break;
    case IMAGE_SLOT_CONTENT_TYPE: g_value_set_string(property->value, response->content_type); break;
    default: g_value_set_enum(property->value, response->origin); break;
    }
}

gboolean image_slot_get_property(ImageSlot *self, guint id, GValue *value) {
    WebImageBridgeState state = {0};
    if (self->handle != NULL && id >= IMAGE_SLOT_LOADING && id < IMAGE_SLOT_N_PROPERTIES) {
        image_slot_update(self);
        if (self->handle != NULL) webimage_bridge_slot_get_state(self->handle, &state);
    }
    switch (id) {
    case IMAGE_SLOT_URI:
    case IMAGE_SLOT_FILE:
    case IMAGE_SLOT_BYTES:
    case IMAGE_SLOT_STREAM:
    case IMAGE_SLOT_IDENTIFIER:
    case IMAGE_SLOT_HEADERS:
    case IMAGE_SLOT_PROCESSOR:
    case IMAGE_SLOT_PROCESSING:
    case IMAGE_SLOT_PRIORITY:
    case IMAGE_SLOT_CACHE_POLICY:
    case IMAGE_SLOT_LOW_DATA_URI:
        if (self->request == NULL) return TRUE;
        g_object_get_property(G_OBJECT(self->request), g_param_spec_get_name(image_slot_properties[id]), value);
        return TRUE;
    case IMAGE_SLOT_SESSION: g_value_set_object(value, self->session); return TRUE;
    case IMAGE_SLOT_PLACEHOLDER: g_value_set_object(value, self->placeholder); return TRUE;
    case IMAGE_SLOT_BLUR_HASH: g_value_set_string(value, self->blur_hash); return TRUE;
    case IMAGE_SLOT_THUMB_HASH: g_value_set_string(value, self->thumb_hash); return TRUE;
    case IMAGE_SLOT_PLACEHOLDER_COLOR: g_value_set_boxed(value, self->color); return TRUE;
    case IMAGE_SLOT_ERROR_PAINTABLE: g_value_set_object(value, self->error_paintable); return TRUE;
    case IMAGE_SLOT_TRANSITION: g_value_set_enum(value, self->display.transition); return TRUE;
    case IMAGE_SLOT_TRANSITION_DURATION:
        g_value_set_uint(value, self->display.transition_milliseconds);
        return TRUE;
    case IMAGE_SLOT_ANIMATE: g_value_set_boolean(value, self->display.animate); return TRUE;
    case IMAGE_SLOT_LOADING:
        g_value_set_boolean(value, state.phase == WEBIMAGE_BRIDGE_PHASE_LOADING);
        return TRUE;
    case IMAGE_SLOT_PROGRESS: g_value_set_double(value, CLAMP(state.progress, 0, 1)); return TRUE;
    case IMAGE_SLOT_ERROR: g_value_take_boxed(value, image_slot_get_error(self)); return TRUE;
    case IMAGE_SLOT_IMAGE_WIDTH: g_value_set_int(value, state.width); return TRUE;
    case IMAGE_SLOT_IMAGE_HEIGHT: g_value_set_int(value, state.height); return TRUE;
    case IMAGE_SLOT_FOCUS_X: g_value_set_double(value, self->display.focus_x); return TRUE;
    case IMAGE_SLOT_FOCUS_Y: g_value_set_double(value, self->display.focus_y); return TRUE;
    case IMAGE_SLOT_PAINTABLE:
        if (state.width == 0) return TRUE;
        if (GDK_IS_PAINTABLE(self->owner)) g_value_set_object(value, self->owner);
        else g_value_take_object(value, webimage_bridge_slot_texture(self->handle));
        return TRUE;
    case IMAGE_SLOT_HTTP_STATUS:
    case IMAGE_SLOT_FINAL_URI:
    case IMAGE_SLOT_CONTENT_TYPE:
    case IMAGE_SLOT_ORIGIN:
        if (self->handle != NULL) {
            webimage_bridge_slot_get_response(self->handle, read_response, &(ResponseProperty){id, value});
        }
        return TRUE;
    default: return FALSE;
    }
}

static gboolean replace_text(char **place, const char *text) {
    if (g_strcmp0(*place, text) == 0) return FALSE;
    g_free(*place);
    *place = g_strdup(text);
    return TRUE;
}

static gboolean replace_color(GdkRGBA **place, const GdkRGBA *color) {
    if (color == *place || (color != NULL && *place != NULL && gdk_rgba_equal(color, *place))) return FALSE;
    g_clear_pointer(place, gdk_rgba_free);
    if (color != NULL) *place = gdk_rgba_copy(color);
    return TRUE;
}

gboolean image_slot_forward(ImageSlot *self, GParamSpec *spec, const GValue *value) {
    self->request_has_changed = FALSE;
    g_object_set_property(G_OBJECT(self->request), g_param_spec_get_name(spec), value);
    return self->request_has_changed;
}

static gboolean image_slot_has_source(ImageSlot *self, ImageSlotProperty id) {
    switch (id) {
    case IMAGE_SLOT_URI: return web_image_request_get_uri(self->request) != NULL;
    case IMAGE_SLOT_FILE: return web_image_request_get_file(self->request) != NULL;
    case IMAGE_SLOT_BYTES: return web_image_request_get_bytes(self->request) != NULL;
    default: return web_image_request_get_stream(self->request) != NULL;
    }
}

// Sets what is loaded, which clears other sources. Returns whether it has changed.
static gboolean image_slot_set_source(ImageSlot *self, ImageSlotProperty id, const GValue *value) {
    gboolean had[IMAGE_SLOT_STREAM + 1];
    for (guint other = IMAGE_SLOT_URI; other <= IMAGE_SLOT_STREAM; other++) had[other] = image_slot_has_source(self, other);
    if (!image_slot_forward(self, image_slot_properties[id], value)) return FALSE;
    image_slot_clear(self);
    for (guint other = IMAGE_SLOT_URI; other <= IMAGE_SLOT_STREAM && self->handle != NULL; other++) {
        if (other != id && had[other] != image_slot_has_source(self, other)) image_slot_notify(self, other);
    }
    return TRUE;
}

// Sets a property whose change affects the load. Returns whether it has changed.
static gboolean image_slot_set_request_property(ImageSlot *self, guint id, const GValue *value) {
    switch (id) {
    case IMAGE_SLOT_URI:
    case IMAGE_SLOT_FILE:
    case IMAGE_SLOT_BYTES:
    case IMAGE_SLOT_STREAM: return image_slot_set_source(self, id, value);
    case IMAGE_SLOT_IDENTIFIER:
    case IMAGE_SLOT_HEADERS:
    case IMAGE_SLOT_PROCESSOR:
    case IMAGE_SLOT_PROCESSING:
    case IMAGE_SLOT_PRIORITY:
    case IMAGE_SLOT_CACHE_POLICY:
    case IMAGE_SLOT_LOW_DATA_URI: return image_slot_forward(self, image_slot_properties[id], value);
    case IMAGE_SLOT_SESSION: return g_set_object(&self->session, g_value_get_object(value));
    case IMAGE_SLOT_BLUR_HASH: return replace_text(&self->blur_hash, g_value_get_string(value));
    case IMAGE_SLOT_THUMB_HASH: return replace_text(&self->thumb_hash, g_value_get_string(value));
    case IMAGE_SLOT_PLACEHOLDER_COLOR: return replace_color(&self->color, g_value_get_boxed(value));
    case IMAGE_SLOT_PLACEHOLDER:
        if (g_value_get_object(value) == self->placeholder) return FALSE;
        image_slot_set_paintable(self, &self->placeholder, g_value_get_object(value));
        return TRUE;
    default: return FALSE;
    }
}

// Sets a property whose change affects how the image is shown. Returns whether it has changed.
static gboolean image_slot_set_display_property(ImageSlot *self, guint id, const GValue *value) {
    const WebImageBridgeDisplay old = self->display;
    switch (id) {
    case IMAGE_SLOT_TRANSITION: self->display.transition = g_value_get_enum(value); break;
    case IMAGE_SLOT_TRANSITION_DURATION: self->display.transition_milliseconds = g_value_get_uint(value); break;
    case IMAGE_SLOT_FOCUS_X: self->display.focus_x = g_value_get_double(value); break;
    case IMAGE_SLOT_FOCUS_Y: self->display.focus_y = g_value_get_double(value); break;
    default: self->display.animate = g_value_get_boolean(value); break;
    }
    return old.focus_x != self->display.focus_x || old.focus_y != self->display.focus_y ||
           old.transition != self->display.transition || old.animate != self->display.animate ||
           old.transition_milliseconds != self->display.transition_milliseconds;
}

gboolean image_slot_set_property(ImageSlot *self, guint id, const GValue *value) {
    if (id == 0 || id >= IMAGE_SLOT_LOADING) return FALSE;
    // After dispose nothing is set.
    if (self->handle == NULL) return TRUE;
    switch (id) {
    case IMAGE_SLOT_ERROR_PAINTABLE:
        if (g_value_get_object(value) == self->error_paintable) return TRUE;
        image_slot_set_paintable(self, &self->error_paintable, g_value_get_object(value));
        image_slot_resize(self);
        break;
    case IMAGE_SLOT_TRANSITION:
    case IMAGE_SLOT_TRANSITION_DURATION:
    case IMAGE_SLOT_ANIMATE:
    case IMAGE_SLOT_FOCUS_X:
    case IMAGE_SLOT_FOCUS_Y:
        if (!image_slot_set_display_property(self, id, value)) return TRUE;
        image_slot_invalidate_display(self);
        break;
    default:
        if (!image_slot_set_request_property(self, id, value)) return TRUE;
        image_slot_invalidate_request(self);
        if (id == IMAGE_SLOT_PLACEHOLDER) image_slot_resize(self);
        break;
    }
    image_slot_notify(self, id);
    // Two forms of one value.
    if (id == IMAGE_SLOT_PROCESSOR) image_slot_notify(self, IMAGE_SLOT_PROCESSING);
    if (id == IMAGE_SLOT_PROCESSING) image_slot_notify(self, IMAGE_SLOT_PROCESSOR);
    return TRUE;
}

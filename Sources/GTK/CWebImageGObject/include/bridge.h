#pragma once

// The functions of the Swift library that the classes call: `WebImageGObject` implements them, and the compiler checks both sides
// against this file. It is not installed.
//
// Handles are references to Swift objects, which webimage_bridge_release releases, on any thread. Texts are UTF-8. A text or an array
// that is an argument is valid during the call only.

#include <gtk/gtk.h>
#include <webimage/webimage-enums.h>

typedef struct WebImageBridgeSession WebImageBridgeSession;
typedef struct WebImageBridgeLoad WebImageBridgeLoad;
typedef struct WebImageBridgeSlot WebImageBridgeSlot;
typedef struct WebImageBridgeProcessor WebImageBridgeProcessor;

void webimage_bridge_retain(gpointer _Nonnull handle);
void webimage_bridge_release(gpointer _Nonnull handle);

// What to load.
typedef struct {
    const char *_Nullable uri;
    // Names and values by turns.
    const char *const _Nonnull *_Nullable headers;
    gsize header_count;
    // In pixels; 0 for no limit.
    int width, height;
    GtkContentFit fit;
    WebImagePriority priority;
    WebImageCachePolicy cache_policy;
    WebImageBridgeProcessor *_Nullable processor;
} WebImageBridgeRequest;

// Why something failed. Valid during the call only.
typedef struct {
    int code;
    const char *_Nonnull message;
} WebImageBridgeError;

// Processors: new handles.

WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_resize(int width, int height, GtkContentFit fit);
WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_rounded(double radius);
WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_circle(void);
WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_blur(double radius);
WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_grayscale(void);
WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_tint(double red, double green, double blue, double alpha);
WebImageBridgeProcessor *_Nonnull webimage_bridge_processor_chain(
    WebImageBridgeProcessor *_Nonnull const *_Nullable processors, gsize count);
// Returns NULL after setting `message` to a new text, for g_free, if `text` is invalid.
WebImageBridgeProcessor *_Nullable webimage_bridge_processor_parse(
    const char *_Nonnull text, char *_Nullable *_Nonnull message);
// A new text, for g_free.
char *_Nonnull webimage_bridge_processor_text(WebImageBridgeProcessor *_Nonnull processor);

// Sessions. Their functions may be called on any thread.

typedef struct {
    const char *_Nonnull cache_directory;
    // In bytes; 0 for the default.
    guint64 disk_limit;
    guint64 memory_limit;
    const char *_Nullable user_agent;
    // The location of a shared cache in an S3 store.
    const char *_Nullable shared_cache;
    WebImagePolicy policy;
    // The program that decodes, beside the library; NULL to look for it elsewhere.
    const char *_Nullable decoder;
} WebImageBridgeConfiguration;

typedef struct {
    guint64 requests, memory_hits, disk_hits, loads, failures, cancellations;
    guint64 memory_bytes, memory_limit, disk_bytes;
} WebImageBridgeStatistics;

// Called once, on any thread, and not within the call that got it. The function owns `value`; it is NULL if there is an error, or
// nothing to return.
typedef void (*WebImageBridgeDone)(
    gpointer _Nullable data, gpointer _Nullable value, const WebImageBridgeError *_Nullable error);
typedef void (*WebImageBridgeFailed)(gpointer _Nullable data, const WebImageBridgeError *_Nonnull error);

// Returns NULL after calling `failed` within the call, if the configuration is invalid.
WebImageBridgeSession *_Nullable webimage_bridge_session_new(
    const WebImageBridgeConfiguration *_Nonnull configuration, WebImageBridgeFailed _Nonnull failed,
    gpointer _Nullable data);
// In bytes; 0 for the default.
void webimage_bridge_session_set_memory_limit(WebImageBridgeSession *_Nonnull session, guint64 limit);

// The value is a GdkTexture.
WebImageBridgeLoad *_Nonnull webimage_bridge_session_load(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nonnull request,
    WebImageBridgeDone _Nonnull done, gpointer _Nullable data);
// The value is a GBytes.
WebImageBridgeLoad *_Nonnull webimage_bridge_session_load_bytes(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nonnull request,
    WebImageBridgeDone _Nonnull done, gpointer _Nullable data);
// The value is a GFile, whose file stays as long as the object. `format` is the name of a format or an extension; NULL for that of the
// original.
WebImageBridgeLoad *_Nonnull webimage_bridge_session_load_file(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nonnull request,
    const char *_Nullable format, WebImageBridgeDone _Nonnull done, gpointer _Nullable data);
// The value is the number of images that are cached now, as by GSIZE_TO_POINTER.
WebImageBridgeLoad *_Nonnull webimage_bridge_session_prefetch(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nullable requests, gsize count,
    WebImageBridgeDone _Nonnull done, gpointer _Nullable data);
void webimage_bridge_load_cancel(WebImageBridgeLoad *_Nonnull load);

// A new reference to a texture in memory.
GdkTexture *_Nullable webimage_bridge_session_cached(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nonnull request);
void webimage_bridge_session_remove(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nonnull request,
    WebImageBridgeDone _Nonnull done, gpointer _Nullable data);
void webimage_bridge_session_clear(
    WebImageBridgeSession *_Nonnull session, gboolean memory, gboolean disk, WebImageBridgeDone _Nonnull done,
    gpointer _Nullable data);
// The value is a WebImageBridgeStatistics, for g_free.
void webimage_bridge_session_statistics(
    WebImageBridgeSession *_Nonnull session, WebImageBridgeDone _Nonnull done, gpointer _Nullable data);

// Slots: places of images, on the main thread only.

typedef enum {
    WEBIMAGE_BRIDGE_PHASE_IDLE,
    WEBIMAGE_BRIDGE_PHASE_LOADING,
    WEBIMAGE_BRIDGE_PHASE_LOADED,
    WEBIMAGE_BRIDGE_PHASE_FAILED,
} WebImageBridgePhase;

typedef struct {
    WebImageBridgePhase phase;
    // From 0 to 1; negative while the length is unknown.
    double progress;
    // Of the image on display or a preview of it, in pixels; 0 without one.
    int width, height;
    // Whether the image fades in, so that what is below it is still visible.
    gboolean in_transition;
} WebImageBridgeState;

typedef struct {
    const char *_Nullable blur_hash;
    const char *_Nullable thumb_hash;
    const GdkRGBA *_Nullable color;
} WebImageBridgePlaceholder;

typedef struct {
    WebImageTransition transition;
    guint transition_milliseconds;
    gboolean animate;
    gboolean retry_on_click;
    gboolean decode_at_size;
} WebImageBridgeDisplay;

// Called after each change of the state.
typedef void (*WebImageBridgeChanged)(gpointer _Nullable data);

// `picture` is a GtkPicture, which shows the image; NULL for a slot whose paintable is drawn elsewhere.
WebImageBridgeSlot *_Nonnull webimage_bridge_slot_new(
    GtkPicture *_Nullable picture, WebImageBridgeChanged _Nonnull changed, gpointer _Nullable data);
// Cancels the load. `changed` is not called any more.
void webimage_bridge_slot_retire(WebImageBridgeSlot *_Nonnull slot);
// Not a new reference.
GdkPaintable *_Nonnull webimage_bridge_slot_paintable(WebImageBridgeSlot *_Nonnull slot);
void webimage_bridge_slot_configure(
    WebImageBridgeSlot *_Nonnull slot, const WebImageBridgeDisplay *_Nonnull display);
void webimage_bridge_slot_load(
    WebImageBridgeSlot *_Nonnull slot, WebImageBridgeSession *_Nonnull session,
    const WebImageBridgeRequest *_Nonnull request, const WebImageBridgePlaceholder *_Nonnull placeholder);
void webimage_bridge_slot_clear(WebImageBridgeSlot *_Nonnull slot);
void webimage_bridge_slot_cancel(WebImageBridgeSlot *_Nonnull slot);
void webimage_bridge_slot_get_state(WebImageBridgeSlot *_Nonnull slot, WebImageBridgeState *_Nonnull state);
// Calls `failed` within the call, if the load has failed.
void webimage_bridge_slot_get_error(
    WebImageBridgeSlot *_Nonnull slot, WebImageBridgeFailed _Nonnull failed, gpointer _Nullable data);

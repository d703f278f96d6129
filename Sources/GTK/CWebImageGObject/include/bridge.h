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
typedef struct WebImageBridgeSource WebImageBridgeSource;
typedef struct WebImageBridgeOffer WebImageBridgeOffer;

void webimage_bridge_retain(gpointer _Nonnull handle);
void webimage_bridge_release(gpointer _Nonnull handle);

// What to load.
typedef struct {
    const char *_Nullable uri;
    // What is loaded in place of the URI.
    WebImageBridgeSource *_Nullable source;
    // The same image with fewer bytes.
    const char *_Nullable low_data_uri;
    // Names and values by turns.
    const char *const _Nonnull *_Nullable headers;
    gsize header_count;
    // In pixels; 0 for no limit.
    int width, height;
    GtkContentFit fit;
    // As WebImageRequest:focus-x and focus-y.
    double focus_x, focus_y;
    // Pixels per point of the width and the height; 0 for sizes in pixels.
    int scale_factor;
    WebImagePriority priority;
    WebImageCachePolicy cache_policy;
    WebImageBridgeProcessor *_Nullable processor;
} WebImageBridgeRequest;

// Why something failed. Valid during the call only.
typedef struct {
    int code;
    const char *_Nonnull message;
    // What the server has answered; 0 and NULL if that is not known.
    int http_status;
    const char *_Nullable uri;
    const char *_Nullable content_type;
} WebImageBridgeError;

// Sources that are not URIs: new handles. `id` is the name in caches.

WebImageBridgeSource *_Nonnull webimage_bridge_source_new_file(GFile *_Nonnull file);
WebImageBridgeSource *_Nonnull webimage_bridge_source_new_bytes(GBytes *_Nonnull bytes, const char *_Nullable id);
WebImageBridgeSource *_Nonnull webimage_bridge_source_new_stream(
    GInputStream *_Nonnull stream, const char *_Nullable id);

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

// Loads that the program may answer in place of the library. All these functions may be called on any thread.

typedef struct {
    gpointer _Nonnull data;
    GDestroyNotify _Nonnull release_data;
    // Whether the program is asked about URIs of a scheme.
    gboolean (*_Nonnull wants)(gpointer _Nonnull data, const char *_Nonnull scheme);
    // Owns `offer`, and passes it to one of the functions below, later. Returns a new reference to what `cancel` takes.
    GCancellable *_Nonnull (*_Nonnull offer)(
        gpointer _Nonnull data, WebImageBridgeOffer *_Nonnull offer, const char *_Nonnull uri);
    void (*_Nonnull cancel)(GCancellable *_Nonnull cancellable);
} WebImageBridgeHook;

// These release the offer.

void webimage_bridge_offer_answer(
    WebImageBridgeOffer *_Nonnull offer, GBytes *_Nonnull bytes, const char *_Nullable content_type,
    gboolean cacheable);
void webimage_bridge_offer_fail(WebImageBridgeOffer *_Nonnull offer, const char *_Nonnull message);
// The library loads the image itself.
void webimage_bridge_offer_decline(WebImageBridgeOffer *_Nonnull offer);

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
    // The address of a proxy; NULL for that of the environment, direct:// for none.
    const char *_Nullable proxy;
    // A PEM file with the authorities that are trusted; NULL for the system's.
    const char *_Nullable certificate_file;
    // 0 for the default.
    guint max_connections, max_connections_per_host, max_megapixels;
    WebImageLowDataMode low_data_mode;
    // The program that decodes, beside the library; NULL to look for it elsewhere.
    const char *_Nullable decoder;
    WebImageBridgeHook hook;
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

// Returns NULL after calling `failed` within the call, if the configuration is invalid. Owns the data of the hook in both cases.
WebImageBridgeSession *_Nullable webimage_bridge_session_new(
    const WebImageBridgeConfiguration *_Nonnull configuration, WebImageBridgeFailed _Nonnull failed,
    gpointer _Nullable data);
// In bytes; 0 for the default.
void webimage_bridge_session_set_memory_limit(WebImageBridgeSession *_Nonnull session, guint64 limit);

void webimage_bridge_session_set_low_data_mode(WebImageBridgeSession *_Nonnull session, WebImageLowDataMode mode);

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
// The value is a GFile as that of load_file, in a format that GdkPixbuf reads, and with the MIME type in its data
// "webimage-content-type".
WebImageBridgeLoad *_Nonnull webimage_bridge_session_load_icon(
    WebImageBridgeSession *_Nonnull session, const WebImageBridgeRequest *_Nonnull request,
    WebImageBridgeDone _Nonnull done, gpointer _Nullable data);
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

// What came with the image on display, or with a failure. Valid during the call only.
typedef struct {
    // 0 without HTTP.
    int http_status;
    WebImageOrigin origin;
    const char *_Nullable final_uri;
    const char *_Nullable content_type;
} WebImageBridgeResponse;

typedef void (*WebImageBridgeResponded)(gpointer _Nullable data, const WebImageBridgeResponse *_Nonnull response);

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
    double focus_x, focus_y;
    // Of a slot without a picture, whose GtkPicture has its own.
    GtkContentFit fit;
    // Of a slot with a picture.
    gboolean draggable;
    // Whether the image loads off screen too.
    gboolean is_eager;
} WebImageBridgeDisplay;

// Called after each change of the state.
typedef void (*WebImageBridgeChanged)(gpointer _Nullable data);

// `picture` is a GtkPicture, which shows the image.
WebImageBridgeSlot *_Nonnull webimage_bridge_slot_new_picture(
    GtkPicture *_Nonnull picture, WebImageBridgeChanged _Nonnull changed, gpointer _Nullable data);
// A slot whose paintable is drawn elsewhere.
WebImageBridgeSlot *_Nonnull webimage_bridge_slot_new_paintable(
    WebImageBridgeChanged _Nonnull changed, gpointer _Nullable data);

// Of a slot with a zoom view.
typedef struct {
    WebImageBridgeChanged _Nonnull state_changed;
    gpointer _Nullable slot;
    // Called when the main loop is idle after a change of the zoom, the place, the rotation or the size of the image.
    WebImageBridgeChanged _Nonnull zoom_changed;
    // 1 for the next image, -1 for the previous one.
    void (*_Nonnull turn_page)(gpointer _Nullable view, int step);
    gpointer _Nullable view;
} WebImageBridgeZoomHandlers;

// `widget` gets the widget of the view, with a floating reference.
WebImageBridgeSlot *_Nonnull webimage_bridge_slot_new_zoom(
    const WebImageBridgeZoomHandlers *_Nonnull handlers, GtkWidget *_Nullable *_Nonnull widget);
// Cancels the load. The functions that the slot was made with are not called any more.
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
// Of a slot with a widget: a new reference to what is on display, NULL without an image.
GdkTexture *_Nullable webimage_bridge_slot_texture(WebImageBridgeSlot *_Nonnull slot);
// Of a slot with a picture: copies what is on display to the clipboard. Returns whether there is an image.
gboolean webimage_bridge_slot_copy(WebImageBridgeSlot *_Nonnull slot);
void webimage_bridge_slot_set_alternative_text(WebImageBridgeSlot *_Nonnull slot, const char *_Nullable text);
// A new paintable of the initials of a name on a color.
GdkPaintable *_Nonnull webimage_bridge_initials_new(const char *_Nonnull name);
// Calls `responded` within the call, if the image of an address is on display, or its load has failed.
void webimage_bridge_slot_get_response(
    WebImageBridgeSlot *_Nonnull slot, WebImageBridgeResponded _Nonnull responded, gpointer _Nullable data);

// Slots with a zoom view.

typedef struct {
    WebImageZoomMode initial_mode;
    // The limits of the zoom; a minimum of 0 is that at which the image fits.
    double minimum, maximum;
    // In bytes.
    guint64 memory_limit;
    gboolean handles_keys, wheel_turns_pages;
    GtkWidget *_Nullable overlay;
    // Stays valid until it is replaced.
    GdkPaintable *_Nullable overlay_paintable;
} WebImageBridgeZoomSettings;

typedef struct {
    // Pixels of the screen for a pixel of the image.
    double scale;
    WebImageZoomMode mode;
    // 0 to 3.
    int quarter_turns;
} WebImageBridgeZoom;

void webimage_bridge_zoom_configure(
    WebImageBridgeSlot *_Nonnull slot, const WebImageBridgeZoomSettings *_Nonnull settings);
void webimage_bridge_zoom_get(WebImageBridgeSlot *_Nonnull slot, WebImageBridgeZoom *_Nonnull zoom);
// A free zoom with a scale of 0 is the present one.
void webimage_bridge_zoom_set(
    WebImageBridgeSlot *_Nonnull slot, WebImageZoomMode mode, double scale, gboolean is_animated);
// In for 1, out for -1.
void webimage_bridge_zoom_step(WebImageBridgeSlot *_Nonnull slot, int step);
void webimage_bridge_zoom_rotate(WebImageBridgeSlot *_Nonnull slot, int quarter_turns);
void webimage_bridge_zoom_pan(WebImageBridgeSlot *_Nonnull slot, double x, double y);
void webimage_bridge_zoom_show_part_of(WebImageBridgeSlot *_Nonnull slot, WebImageBridgeSlot *_Nonnull other);

// Of C, for Swift.

// The folder of the shared library, or of the program that contains it: a new text, for g_free. NULL if it is not known.
char *_Nullable webimage_library_folder(void);

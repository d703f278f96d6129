#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/**
 * WebImagePriority:
 * @WEB_IMAGE_PRIORITY_VERY_LOW: a result that is not needed yet
 * @WEB_IMAGE_PRIORITY_LOW: an image outside the visible part of a list
 * @WEB_IMAGE_PRIORITY_NORMAL: the default of requests
 * @WEB_IMAGE_PRIORITY_HIGH: the default of widgets, while they are on screen
 * @WEB_IMAGE_PRIORITY_VERY_HIGH: an image that the user has just requested
 *
 * How urgent a load is.
 *
 * Loads of the same image share the work, at the highest priority among them.
 *
 * Since: 0.2
 */
typedef enum {
    WEB_IMAGE_PRIORITY_VERY_LOW,
    WEB_IMAGE_PRIORITY_LOW,
    WEB_IMAGE_PRIORITY_NORMAL,
    WEB_IMAGE_PRIORITY_HIGH,
    WEB_IMAGE_PRIORITY_VERY_HIGH,
} WebImagePriority;

/**
 * WebImageCachePolicy:
 * @WEB_IMAGE_CACHE_POLICY_CACHE_FIRST: uses the cached copy regardless of age. The default
 * @WEB_IMAGE_CACHE_POLICY_HTTP: follows the rules of HTTP for a private cache
 * @WEB_IMAGE_CACHE_POLICY_REFRESH: shows the cached copy, while the server is contacted for a newer one
 * @WEB_IMAGE_CACHE_POLICY_RELOAD: loads from the server, and replaces the cached copy
 * @WEB_IMAGE_CACHE_POLICY_CACHE_ONLY: uses the cached copy, and never contacts a server
 * @WEB_IMAGE_CACHE_POLICY_OFFLINE: as `HTTP` without a server
 *
 * Which of memory, disk and server may answer a request.
 *
 * Since: 0.2
 */
typedef enum {
    WEB_IMAGE_CACHE_POLICY_CACHE_FIRST,
    WEB_IMAGE_CACHE_POLICY_HTTP,
    WEB_IMAGE_CACHE_POLICY_REFRESH,
    WEB_IMAGE_CACHE_POLICY_RELOAD,
    WEB_IMAGE_CACHE_POLICY_CACHE_ONLY,
    WEB_IMAGE_CACHE_POLICY_OFFLINE,
} WebImageCachePolicy;

/**
 * WebImageTransition:
 * @WEB_IMAGE_TRANSITION_NONE: the image appears at once
 * @WEB_IMAGE_TRANSITION_FADE: the image fades in
 * @WEB_IMAGE_TRANSITION_FLIP: the old and the new image are the sides of a card that turns
 * @WEB_IMAGE_TRANSITION_SLIDE: the new image pushes the old one out
 * @WEB_IMAGE_TRANSITION_ZOOM: the new image grows from the center
 *
 * How an image replaces what is on display before it.
 *
 * Images from memory appear at once, and so do all images where the user has disabled animations.
 *
 * Since: 0.2
 */
typedef enum {
    WEB_IMAGE_TRANSITION_NONE,
    WEB_IMAGE_TRANSITION_FADE,
    WEB_IMAGE_TRANSITION_FLIP,
    WEB_IMAGE_TRANSITION_SLIDE,
    WEB_IMAGE_TRANSITION_ZOOM,
} WebImageTransition;

/**
 * WebImagePolicy:
 * @WEB_IMAGE_POLICY_APP: for an app, which chooses the URLs. The default
 * @WEB_IMAGE_POLICY_SERVER: for URLs that users give. Loads only http and https URLs from the public internet, and no
 *   files, with limits on time, size and memory
 *
 * What a [class@Session] loads, and with which limits.
 *
 * Since: 0.2
 */
typedef enum {
    WEB_IMAGE_POLICY_APP,
    WEB_IMAGE_POLICY_SERVER,
} WebImagePolicy;

/**
 * WebImageLowDataMode:
 * @WEB_IMAGE_LOW_DATA_MODE_AUTOMATIC: where the network is metered, as [iface@Gio.NetworkMonitor] tells a program with widgets. The default
 * @WEB_IMAGE_LOW_DATA_MODE_ON: always
 * @WEB_IMAGE_LOW_DATA_MODE_OFF: never
 *
 * When a [class@Session] saves data.
 *
 * It then loads [property@Request:low-data-uri] of images that are not cached, and begins no more prefetches.
 *
 * Since: 0.3
 */
typedef enum {
    WEB_IMAGE_LOW_DATA_MODE_AUTOMATIC,
    WEB_IMAGE_LOW_DATA_MODE_ON,
    WEB_IMAGE_LOW_DATA_MODE_OFF,
} WebImageLowDataMode;

/**
 * WebImageOrigin:
 * @WEB_IMAGE_ORIGIN_NONE: no image was loaded
 * @WEB_IMAGE_ORIGIN_MEMORY: the cache in memory
 * @WEB_IMAGE_ORIGIN_DISK: the cache on disk
 * @WEB_IMAGE_ORIGIN_SOURCE: the server, the file or the `data:` URI
 *
 * Where an image came from.
 *
 * Since: 0.3
 */
typedef enum {
    WEB_IMAGE_ORIGIN_NONE,
    WEB_IMAGE_ORIGIN_MEMORY,
    WEB_IMAGE_ORIGIN_DISK,
    WEB_IMAGE_ORIGIN_SOURCE,
} WebImageOrigin;

/**
 * WebImageZoomMode:
 * @WEB_IMAGE_ZOOM_MODE_FIT: the whole image, not enlarged; it follows the size of the widget
 * @WEB_IMAGE_ZOOM_MODE_FILL: as small as covers the widget; it follows its size
 * @WEB_IMAGE_ZOOM_MODE_FREE: another zoom, which stays
 *
 * How a [class@ZoomView] shows its image.
 *
 * Since: 0.3
 */
typedef enum {
    WEB_IMAGE_ZOOM_MODE_FIT,
    WEB_IMAGE_ZOOM_MODE_FILL,
    WEB_IMAGE_ZOOM_MODE_FREE,
} WebImageZoomMode;

#define WEB_IMAGE_TYPE_PRIORITY (web_image_priority_get_type())
GType web_image_priority_get_type(void);

#define WEB_IMAGE_TYPE_CACHE_POLICY (web_image_cache_policy_get_type())
GType web_image_cache_policy_get_type(void);

#define WEB_IMAGE_TYPE_TRANSITION (web_image_transition_get_type())
GType web_image_transition_get_type(void);

#define WEB_IMAGE_TYPE_POLICY (web_image_policy_get_type())
GType web_image_policy_get_type(void);

#define WEB_IMAGE_TYPE_LOW_DATA_MODE (web_image_low_data_mode_get_type())
GType web_image_low_data_mode_get_type(void);

#define WEB_IMAGE_TYPE_ORIGIN (web_image_origin_get_type())
GType web_image_origin_get_type(void);

#define WEB_IMAGE_TYPE_ZOOM_MODE (web_image_zoom_mode_get_type())
GType web_image_zoom_mode_get_type(void);

G_END_DECLS

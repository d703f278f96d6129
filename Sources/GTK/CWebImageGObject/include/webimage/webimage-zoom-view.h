#pragma once

#include <webimage/webimage-view.h>

G_BEGIN_DECLS

#define WEB_IMAGE_TYPE_ZOOM_VIEW (web_image_zoom_view_get_type())
G_DECLARE_FINAL_TYPE(WebImageZoomView, web_image_zoom_view, WEB_IMAGE, ZOOM_VIEW, GtkWidget)

GtkWidget *web_image_zoom_view_new(void);
void web_image_zoom_view_zoom_in(WebImageZoomView *self);
void web_image_zoom_view_zoom_out(WebImageZoomView *self);
void web_image_zoom_view_zoom_to(WebImageZoomView *self, double zoom);
void web_image_zoom_view_fit(WebImageZoomView *self);
void web_image_zoom_view_fill(WebImageZoomView *self);
void web_image_zoom_view_rotate(WebImageZoomView *self, int turns);
void web_image_zoom_view_pan(WebImageZoomView *self, double x, double y);
void web_image_zoom_view_show_part_of(WebImageZoomView *self, WebImageZoomView *other);

double web_image_zoom_view_get_zoom(WebImageZoomView *self);
void web_image_zoom_view_set_zoom(WebImageZoomView *self, double zoom);
WebImageZoomMode web_image_zoom_view_get_zoom_mode(WebImageZoomView *self);
void web_image_zoom_view_set_zoom_mode(WebImageZoomView *self, WebImageZoomMode mode);
int web_image_zoom_view_get_quarter_turns(WebImageZoomView *self);
void web_image_zoom_view_set_quarter_turns(WebImageZoomView *self, int turns);
WebImageZoomMode web_image_zoom_view_get_initial_mode(WebImageZoomView *self);
void web_image_zoom_view_set_initial_mode(WebImageZoomView *self, WebImageZoomMode mode);
double web_image_zoom_view_get_minimum_zoom(WebImageZoomView *self);
void web_image_zoom_view_set_minimum_zoom(WebImageZoomView *self, double zoom);
double web_image_zoom_view_get_maximum_zoom(WebImageZoomView *self);
void web_image_zoom_view_set_maximum_zoom(WebImageZoomView *self, double zoom);
guint64 web_image_zoom_view_get_memory_limit(WebImageZoomView *self);
void web_image_zoom_view_set_memory_limit(WebImageZoomView *self, guint64 limit);
gboolean web_image_zoom_view_get_handle_keys(WebImageZoomView *self);
void web_image_zoom_view_set_handle_keys(WebImageZoomView *self, gboolean handle_keys);
gboolean web_image_zoom_view_get_wheel_turns_pages(WebImageZoomView *self);
void web_image_zoom_view_set_wheel_turns_pages(WebImageZoomView *self, gboolean turns_pages);
GtkWidget *web_image_zoom_view_get_overlay(WebImageZoomView *self);
void web_image_zoom_view_set_overlay(WebImageZoomView *self, GtkWidget *overlay);
GdkPaintable *web_image_zoom_view_get_overlay_paintable(WebImageZoomView *self);
void web_image_zoom_view_set_overlay_paintable(WebImageZoomView *self, GdkPaintable *paintable);
const char *web_image_zoom_view_get_alternative_text(WebImageZoomView *self);
void web_image_zoom_view_set_alternative_text(WebImageZoomView *self, const char *text);

G_END_DECLS

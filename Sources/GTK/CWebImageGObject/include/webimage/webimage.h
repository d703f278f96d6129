#pragma once

#include <webimage/webimage-avatar.h>
#include <webimage/webimage-enums.h>
#include <webimage/webimage-error.h>
#include <webimage/webimage-load.h>
#include <webimage/webimage-paintable.h>
#include <webimage/webimage-picture.h>
#include <webimage/webimage-processor.h>
#include <webimage/webimage-request.h>
#include <webimage/webimage-session.h>
#include <webimage/webimage-view.h>
#include <webimage/webimage-zoom-view.h>

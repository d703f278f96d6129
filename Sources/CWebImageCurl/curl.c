#include "CWebImageCurl.h"

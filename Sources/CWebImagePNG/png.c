#include "CWebImagePNG.h"

#include "CWebImageKernels.h"

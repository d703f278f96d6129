// GTK's types belong to its own module, so that both modules have the same.
#include "../CWebImageGTK/umbrella.h"
#include <shumate/shumate.h>

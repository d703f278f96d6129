#define _GNU_SOURCE
#include "CWebImageSystem.h"

#include <pthread.h>
#include <string.h>

void cwi_set_thread_name(const char *name) {
    char shortened[16] = {0};
    strncpy(shortened, name, sizeof shortened - 1);
    pthread_setname_np(pthread_self(), shortened);
}

const char *cwi_error_description(int error) {
    return strerrordesc_np(error);
}

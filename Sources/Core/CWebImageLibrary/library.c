#include "CWebImageLibrary.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { UNKNOWN, LOADED, MISSING };

/// Looks up all functions. Returns what is missing, or NULL.
static const char *find(cwi_library *library) {
    static char missing[96];
    void *handles[CWI_LIBRARY_FILES] = {NULL};
    for (int index = 0; index < CWI_LIBRARY_FILES && library->files[index]; index++) {
        handles[index] = dlopen(library->files[index], RTLD_LAZY | RTLD_LOCAL);
        if (!handles[index]) return dlerror();
    }
    library->handle = handles[0];
    for (const cwi_function *function = library->functions; function->name; function++) {
        // A handle also finds the functions of the libraries that its file needs.
        for (int index = 0; index < CWI_LIBRARY_FILES && handles[index] && !*function->address; index++)
            *function->address = dlsym(handles[index], function->name);
        if (*function->address) continue;
        snprintf(missing, sizeof missing, "%s has no %s", library->files[0], function->name);
        return missing;
    }
    return NULL;
}

bool cwi_library_load(cwi_library *library) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int state = __atomic_load_n(&library->state, __ATOMIC_ACQUIRE);
    if (state != UNKNOWN) return state == LOADED;
    pthread_mutex_lock(&lock);
    if (library->state == UNKNOWN) {
        const char *missing = find(library);
        if (missing) snprintf(library->problem, sizeof library->problem, "%s (install %s)", missing, library->package);
        __atomic_store_n(&library->state, missing ? MISSING : LOADED, __ATOMIC_RELEASE);
    }
    state = library->state;
    pthread_mutex_unlock(&lock);
    return state == LOADED;
}

#ifndef CWI_WITHOUT_SVG

#include "svg_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static cwi_svg_library library;
static char problem[128];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    // A handle also finds the functions of the libraries that librsvg needs.
    void *handle = dlopen("librsvg-2.so.2", RTLD_LAZY | RTLD_LOCAL);
    const char *missing = handle ? NULL : dlerror();
#define FIND(name)                                                    \
    if (!missing) {                                                   \
        library.name = (__typeof__(name) *)dlsym(handle, #name);      \
        if (!library.name) missing = "librsvg-2.so.2 has no " #name;  \
    }
    CWI_SVG_FUNCTIONS(FIND)
#undef FIND
    if (missing) snprintf(problem, sizeof problem, "a library that cannot be loaded (%s)", missing);
}

const cwi_svg_library *cwi_svg(void) {
    pthread_once(&once, load);
    return problem[0] ? NULL : &library;
}

const char *cwi_svg_problem(void) { return problem; }

#endif

// Libraries that are loaded when they are needed, and not with the program.
//
// A header lists the functions that are used, and includes the library's own header after that:
//
//     #define CWI_AVIF_FUNCTIONS(F) F(avifDecoderCreate) F(avifDecoderDestroy)
//     CWI_AVIF_FUNCTIONS(CWI_REDIRECT)
//     #include <avif/avif.h>
//
// One C file defines the library with `CWI_LIBRARY`. All others call the functions by their own names, once `cwi_library_load` has
// succeeded. Nothing is linked.

#ifndef CWEBIMAGE_LIBRARY_H
#define CWEBIMAGE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/// A function, and where its address is stored.
typedef struct {
    const char *name;
    void **address;
} cwi_function;

enum { CWI_LIBRARY_FILES = 2 };

typedef struct {
    /// The names of its files, with the version of their binary interface.
    const char *files[CWI_LIBRARY_FILES];
    /// The package of Debian that has them.
    const char *package;
    /// Ends with a name that is NULL.
    const cwi_function *functions;
    /// The first file, once it is loaded.
    void *handle;
    /// Why the library cannot be used, once `cwi_library_load` has returned false.
    char problem[160];
    /// Of `cwi_library_load`.
    int state;
} cwi_library;

/// Loads a library, unless that was tried before. May be called by several threads. Returns whether its functions can be called.
bool cwi_library_load(cwi_library *library);

#define CWI_PRAGMA(text) _Pragma(#text)

/// Lets calls of a function that is declared later go to the address that is looked up. Its own name may be linked elsewhere in the program.
#define CWI_REDIRECT(name) CWI_PRAGMA(redefine_extname name cwi_found_##name)

#if defined(__x86_64__)
#define CWI_JUMP(address) "jmp *" address "(%rip)\n"
#elif defined(__aarch64__)
#define CWI_JUMP(address) "adrp x16, " address "\nldr x16, [x16, :lo12:" address "]\nbr x16\n"
#else
#error "the jump to the address in a variable is missing for this processor"
#endif

/// Defines what calls go to. It jumps, because C cannot pass variable arguments on.
#define CWI_DEFINE_FUNCTION(name)                                                                                  \
    __attribute__((visibility("hidden"))) void *cwi_address_##name;                                                \
    __asm__(".pushsection .text\n.globl cwi_found_" #name "\n.hidden cwi_found_" #name "\n.type cwi_found_" #name  \
            ", %function\ncwi_found_" #name ":\n" CWI_JUMP("cwi_address_" #name) ".size cwi_found_" #name          \
            ", . - cwi_found_" #name "\n.popsection");
#define CWI_LIST_FUNCTION(name) {#name, &cwi_address_##name},

/// Defines a library. `FUNCTIONS` is the macro that lists its functions; the names of its files and of its package follow.
#define CWI_LIBRARY(library, FUNCTIONS, ...)                                                                       \
    FUNCTIONS(CWI_DEFINE_FUNCTION)                                                                                 \
    static const cwi_function library##_functions[] = {FUNCTIONS(CWI_LIST_FUNCTION){NULL, NULL}};                  \
    cwi_library library = {.functions = library##_functions, __VA_ARGS__};

#endif

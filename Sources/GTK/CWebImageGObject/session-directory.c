#define _GNU_SOURCE

#include "session-private.h"

#include <dlfcn.h>
#include <string.h>

static gboolean is_interpreter(const char *name) {
    static const char *const prefixes[] = {"python", "pypy", "gjs", "node", "lua", "perl", "ruby"};
    for (gsize index = 0; index < G_N_ELEMENTS(prefixes); index++) {
        if (g_str_has_prefix(name, prefixes[index])) return TRUE;
    }
    return FALSE;
}

// The script that an interpreter runs: its first argument that is no option, or NULL.
static const char *find_script(const char *arguments, gsize length) {
    for (gsize place = strlen(arguments) + 1; place < length; place += strlen(arguments + place) + 1) {
        const char *argument = arguments + place;
        // What follows is a program, or nothing.
        if (g_str_equal(argument, "-c") || g_str_equal(argument, "-")) return NULL;
        if (argument[0] != '-') return argument;
    }
    return NULL;
}

// The name of a script's file, and a part of a hash of its path: other scripts may have the same name.
static char *name_of_script(const char *script) {
    char *path = g_canonicalize_filename(script, NULL);
    char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, path, -1);
    char *base = g_path_get_basename(script);
    char *name = g_strdup_printf("%s-%.8s", base, hash);
    g_free(base);
    g_free(hash);
    g_free(path);
    return name;
}

// A new text.
static char *name_of_program(void) {
    char *arguments = NULL;
    gsize length = 0;
    char *name = NULL;
    if (g_file_get_contents("/proc/self/cmdline", &arguments, &length, NULL) && length > 0) {
        char *program = g_path_get_basename(arguments);
        const char *script = is_interpreter(program) ? find_script(arguments, length) : NULL;
        if (script != NULL) name = name_of_script(script);
        g_free(program);
    }
    g_free(arguments);
    if (name != NULL) return name;
    return g_strdup(g_get_prgname() == NULL ? "webimage" : g_get_prgname());
}

char *web_image_session_default_directory(WebImagePolicy policy) {
    GApplication *application = g_application_get_default();
    const char *identifier = application == NULL ? NULL : g_application_get_application_id(application);
    char *name = identifier == NULL ? name_of_program() : g_strdup(identifier);
    // Users of a server must not get what an app has loaded for itself.
    char *directory = g_build_filename(
        g_get_user_cache_dir(), name, policy == WEB_IMAGE_POLICY_SERVER ? "server-images" : "images", NULL);
    g_free(name);
    return directory;
}

char *webimage_library_folder(void) {
    Dl_info info;
    if (dladdr((void *)webimage_library_folder, &info) == 0 || info.dli_fname == NULL) return NULL;
    return g_path_get_dirname(info.dli_fname);
}

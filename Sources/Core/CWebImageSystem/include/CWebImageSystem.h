#ifndef CWEBIMAGE_SYSTEM_H
#define CWEBIMAGE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

// GNU functions that Swift's Glibc module does not show.

/// Names the calling thread for debuggers and `top -H`; the kernel keeps the first 15 bytes.
void cwi_set_thread_name(const char *name);

/// The kernel's number of the calling thread.
int cwi_thread_id(void);

/// Whether the calling thread is the first of the process. Takes system calls only once for each thread.
bool cwi_is_first_thread(void);

/// The words for an error number, such as "No such file or directory", or NULL. The text is never freed.
const char *cwi_error_description(int error);

/// Opens a file without a name in a directory, for reading and writing: it is gone with its last descriptor. -1 and errno
/// where that fails.
int cwi_open_unnamed_file(const char *directory);

/// Takes the language and the characters of messages from the environment. Numbers stay as they are.
void cwi_use_language_of_environment(void);

/// The path of a folder relative to that of this program's file, or NULL if there is none. The caller frees it.
char *cwi_folder_beside_program(const char *relative);

/// Sets the folder of the translations of a domain, or NULL for the system's, and takes them in UTF-8.
void cwi_bind_translations(const char *domain, const char *folder);

/// The translation of a text into the user's language, or the text itself. It is never freed.
const char *cwi_translation(const char *domain, const char *text);

/// The translation of a text that says a count, in the form of that count, or one of the two texts itself. It is never freed.
const char *cwi_plural_translation(const char *domain, const char *one, const char *other, unsigned long count);

/// Whether an open file lies on a file system that keeps its files in memory, so that nothing is gained by writing there: 1 or
/// 0, and -1 and errno where that is not known.
int cwi_is_in_memory(int descriptor);

/// Whether there is a route to addresses that no other route has: 1 or 0, and -1 where the kernel does not tell.
int cwi_has_default_route(void);

/// Opens a descriptor that can be read when routes or links may have changed. It does not block; -1 and errno where that
/// fails.
int cwi_open_route_events(void);

/// Maps the first bytes of a file. Where the file has become shorter, or cannot be read, there are zeros: the process does not end with
/// SIGBUS, for which a handler is installed with the first mapping. NULL without address space, and for more than 64 files at once.
void *cwi_map_file(int descriptor, size_t length);

/// Takes back what `cwi_map_file` returned.
void cwi_unmap_file(void *start, size_t length);

#endif

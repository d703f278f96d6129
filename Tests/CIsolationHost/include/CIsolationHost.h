// What surrounds programs in containers, for tests of isolation in such places.

#ifndef CISOLATIONHOST_H
#define CISOLATIONHOST_H

#include <stdbool.h>

/// Adds a filter of system calls as containers have it: no namespaces can be made, nothing can be mounted. 0 or an error number.
int host_refuse_namespaces(void);

/// Allows this program and its children to read and execute files only, as a profile of AppArmor can. 0 or an error number.
int host_allow_only_reading(void);

/// Whether the kernel gives this program a user namespace. It gives none in a chroot.
bool host_has_user_namespaces(void);

/// Whether the root is a mount, which a process can exchange in a namespace of its own. That of a chroot may be a folder. True if that cannot be
/// tried without privileges.
bool host_root_is_mount(void);

/// Opens a process as a descriptor, which tells when it has ended; -1 if there is none.
int host_open_process(int pid);

/// Sends a byte with as many copies of a descriptor. 0 or an error number.
int host_send_descriptors(int socket, int descriptor, int count);

/// Creates memory without seals, or returns -1.
int host_create_memory(void);

/// The seals of memory, or -1.
int host_seals(int descriptor);

/// Adds seals. 0 or an error number.
int host_seal(int descriptor, int seals);

#endif

// What surrounds programs in containers, for tests of isolation in such places.

#ifndef CISOLATIONHOST_H
#define CISOLATIONHOST_H

/// Adds a filter of system calls as containers have it: no namespaces can be made, nothing can be mounted. 0 or an error number.
int host_refuse_namespaces(void);

/// Allows this program and its children to read and execute files only, as a profile of AppArmor can. 0 or an error number.
int host_allow_only_reading(void);

#endif

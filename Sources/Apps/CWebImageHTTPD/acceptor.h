// Accepts the connections of a listening socket, on a thread of its own.
//
// libmicrohttpd could do it, but not stop: MHD_quiesce_daemon of 0.9.75 and 1.0.1 ends the process if a thread of a pool takes the socket out
// of its epoll set at the same time, and the socket must stay open until all connections are closed.
#ifndef CWI_ACCEPTOR_H
#define CWI_ACCEPTOR_H

#include <sys/socket.h>

typedef struct cwi_acceptor cwi_acceptor;

// Takes over a connection, which counts until cwi_acceptor_note_closed.
typedef void (*cwi_accepted)(void *context, int connection, const struct sockaddr *address, socklen_t length);

// Owns the socket from now on, and accepts nothing yet. Returns NULL if the socket is not listening, or without memory or a thread; the socket
// is closed then.
cwi_acceptor *cwi_acceptor_make(int socket, unsigned int connection_limit, cwi_accepted accepted, void *context);

void cwi_acceptor_start(cwi_acceptor *acceptor);

// A connection has ended. Beyond the limit, others wait in the socket's queue for that. From any thread, until the acceptor is freed.
void cwi_acceptor_note_closed(cwi_acceptor *acceptor);

// Accepts no more, waits for the thread, and closes the socket. Only the first call counts.
void cwi_acceptor_stop(cwi_acceptor *acceptor);

// Stops first, if necessary.
void cwi_acceptor_free(cwi_acceptor *acceptor);

#endif

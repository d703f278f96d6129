// An HTTP/1.1 server on a listening socket, with libmicrohttpd. Swift cannot call its variadic functions, and a request that waits needs
// a lock around its suspension.
//
// The server's threads call back; they must not be blocked. A request is answered within the call of `received` or later, from any
// thread.
#ifndef CWI_HTTPD_H
#define CWI_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cwi_httpd cwi_httpd;
// A request. Each side has a reference: the server until `finished`, and the program until cwi_request_release.
typedef struct cwi_request cwi_request;

typedef struct {
    const char *name;
    const char *value;
} cwi_field;

// What follows a piece of a body.
typedef enum {
    CWI_BODY_GO_ON,
    // No more is read before cwi_request_read_on.
    CWI_BODY_WAIT,
    // The connection is closed.
    CWI_BODY_CLOSE
} cwi_body_step;

typedef struct {
    void *context;
    // A client has connected, or left. The descriptor is valid between both.
    void (*opened)(void *context, uint64_t connection, int descriptor);
    void (*closed)(void *context, uint64_t connection);
    // Whether a POST with this target may have a body. One that may is `received` with its head.
    bool (*takes_body)(void *context, const char *target);
    // A request is complete, but for its body if it may have one. The program gets a reference.
    void (*received)(void *context, uint64_t connection, cwi_request *request);
    // A piece of a body, and its end. An answer waits for the end. One within the call of `received` does not if the body is long, or if the client
    // waits with it.
    cwi_body_step (*piece)(void *context, uint64_t connection, const void *bytes, size_t count);
    void (*body_ended)(void *context, uint64_t connection);
    // A request was refused by this side, with a text. The program gets a reference, and does not answer.
    void (*refused)(void *context, uint64_t connection, cwi_request *request, unsigned int status, const char *text);
    // libmicrohttpd has refused what it could not read as a request: a head that is too long or invalid. It does not tell which.
    void (*unread)(void *context, unsigned int status);
    // Its answer is being sent: `sending` has that many bytes, without the head.
    void (*sending)(void *context, uint64_t connection, uint64_t byte_count);
    // Its answer was sent, or could not be.
    void (*finished)(void *context, uint64_t connection, bool is_sent);
} cwi_httpd_callbacks;

typedef struct {
    unsigned int thread_count;
    unsigned int connection_limit;
    // The longest head of a request. A longer one gets 431 or 414.
    size_t head_byte_count;
    // A connection without a byte in either direction for so long is closed.
    unsigned int idle_seconds;
} cwi_httpd_limits;

// A server for a listening socket, which it owns from now on; it accepts nothing yet. Returns NULL without memory or threads, or if the
// socket is not listening; the socket is closed then.
cwi_httpd *cwi_httpd_make(int socket, cwi_httpd_limits limits, cwi_httpd_callbacks callbacks);

// Begins to accept connections.
void cwi_httpd_start(cwi_httpd *server);

// Accepts no more connections, and closes the listening socket. It is not shut down: connections to one that another process has too, such as
// systemd, wait for whatever accepts them next.
void cwi_httpd_quiesce(cwi_httpd *server);

// Closes all connections, and waits for the threads, so it is not called by one of them. Every request must have been answered.
void cwi_httpd_stop(cwi_httpd *server);

// The parts of a request, which are valid as long as it is.
const char *cwi_request_method(const cwi_request *request);
const char *cwi_request_target(const cwi_request *request);
size_t cwi_request_field_count(const cwi_request *request);
cwi_field cwi_request_field(const cwi_request *request, size_t index);
bool cwi_request_takes_body(const cwi_request *request);

// Reads a body while it is sent, from any thread: exactly `count` bytes, or the connection ends. `release` is called once.
typedef struct {
    void *context;
    bool (*read)(void *context, uint64_t position, void *buffer, size_t count);
    void (*release)(void *context);
} cwi_reader;

// Answers a request; only the first call counts. The body is copied; with a reader, `body` is ignored and nothing is. `length` is what
// Content-Length says: that of the body, but for answers to HEAD and 304.
void cwi_request_answer(
    cwi_request *request, unsigned int status, const cwi_field *fields, size_t field_count, const void *body, size_t byte_count,
    const cwi_reader *reader, uint64_t length, bool closes);

// Another reference.
void cwi_request_retain(cwi_request *request);
void cwi_request_release(cwi_request *request);

// Reads on after CWI_BODY_WAIT, from any thread.
void cwi_request_read_on(cwi_request *request);

// A watch tells which clients have left, of connections that nothing is read from. Glibc's module for Swift has no epoll.

// Returns the descriptor of a watch; -1 if there is none.
int cwi_watch_make(void);
// Reports once if the other side ends the connection. The descriptor must be removed before it is closed, or closed for all processes.
void cwi_watch_add(int watch, int descriptor, uint64_t number);
void cwi_watch_remove(int watch, int descriptor);
// Waits for at most so many milliseconds. Returns how many numbers of connections it has written.
size_t cwi_watch_wait(int watch, uint64_t *numbers, size_t capacity, int milliseconds);

#endif

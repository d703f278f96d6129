#define _GNU_SOURCE

#include "CWebImageHTTPD.h"

#include "acceptor.h"
#include "head.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// A thread and its connections. A pool of libmicrohttpd would need a listening socket of its own.
struct worker {
    cwi_httpd *server;
    struct MHD_Daemon *daemon;
    atomic_uint connection_count;
};

struct cwi_httpd {
    cwi_httpd_callbacks callbacks;
    atomic_uint_fast64_t last_connection;
    cwi_acceptor *acceptor;
    unsigned int worker_count, next_worker;
    struct worker workers[];
};

struct cwi_request {
    atomic_int reference_count;
    char *target;
    // Where it was received.
    uintptr_t target_place;
    char *method;
    cwi_field *fields;
    size_t field_count, field_capacity;
    // Whether its head was read, and all of it; whether a body belongs to it.
    bool is_known, is_complete, takes_body, is_invalid;
    uint64_t connection_number;
    struct MHD_Connection *connection;

    // Guards what follows.
    pthread_mutex_t lock;
    struct MHD_Response *response;
    unsigned int status;
    uint64_t body_byte_count;
    bool is_answered, is_suspended;
    // Whether its body is not read for now, and whether the program has asked for more since the last piece.
    bool is_paused, reads_on;
};

void cwi_request_retain(cwi_request *request) { atomic_fetch_add(&request->reference_count, 1); }

void cwi_request_release(cwi_request *request) {
    if (atomic_fetch_sub(&request->reference_count, 1) != 1) return;
    for (size_t i = 0; i < request->field_count; i++) {
        free((char *)request->fields[i].name);
        free((char *)request->fields[i].value);
    }
    if (request->response) MHD_destroy_response(request->response);
    free(request->fields);
    free(request->method);
    free(request->target);
    pthread_mutex_destroy(&request->lock);
    free(request);
}

const char *cwi_request_method(const cwi_request *request) { return request->method; }
const char *cwi_request_target(const cwi_request *request) { return request->target; }
size_t cwi_request_field_count(const cwi_request *request) { return request->field_count; }
cwi_field cwi_request_field(const cwi_request *request, size_t index) { return request->fields[index]; }
bool cwi_request_takes_body(const cwi_request *request) { return request->takes_body; }

// Called with the target as it came, before anything else of a request.
static void *begin(void *context, const char *target, struct MHD_Connection *connection) {
    (void)context;
    cwi_request *request = calloc(1, sizeof *request);
    if (!request) return NULL;
    atomic_init(&request->reference_count, 1);
    pthread_mutex_init(&request->lock, NULL);
    request->target = strdup(target ? target : "");
    request->target_place = (uintptr_t)target;
    request->connection = connection;
    return request;
}

static enum MHD_Result add_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    cwi_request *request = context;
    if (request->field_count == request->field_capacity) {
        size_t capacity = request->field_capacity ? request->field_capacity * 2 : 16;
        cwi_field *fields = realloc(request->fields, capacity * sizeof *fields);
        if (!fields) {
            request->is_invalid = true;
            return MHD_NO;
        }
        request->fields = fields;
        request->field_capacity = capacity;
    }
    cwi_field field = {strdup(name ? name : ""), strdup(value ? value : "")};
    request->fields[request->field_count++] = field;
    if (!field.name || !field.value) request->is_invalid = true;
    return MHD_YES;
}

// Whether the fields announce a body. Each field counts: what is in front may look at another one of the same name.
static bool has_body(const cwi_request *request) {
    for (size_t i = 0; i < request->field_count; i++) {
        if (strcasecmp(request->fields[i].name, "Transfer-Encoding") == 0) return true;
        if (strcasecmp(request->fields[i].name, "Content-Length") == 0 && strcmp(request->fields[i].value, "0") != 0)
            return true;
    }
    return false;
}

// Whether a body has one length, or arrives in chunks.
static bool has_one_length(const cwi_request *request) {
    unsigned int length_count = 0, coding_count = 0;
    for (size_t i = 0; i < request->field_count; i++) {
        const char *value = request->fields[i].value;
        if (strcasecmp(request->fields[i].name, "Content-Length") == 0) {
            length_count++;
            if (!*value || value[strspn(value, "0123456789")]) return false;
        } else if (strcasecmp(request->fields[i].name, "Transfer-Encoding") == 0) {
            coding_count++;
            if (strcasecmp(value, "chunked") != 0) return false;
        }
    }
    return length_count + coding_count <= 1;
}

// Whether the rest of a body is read even if its answer is there. A client that is still sending when its connection is closed may not see the
// answer; one that waits before it sends does.
static bool is_read_to_its_end(const cwi_request *request) {
    for (size_t i = 0; i < request->field_count; i++) {
        if (strcasecmp(request->fields[i].name, "Expect") == 0) return false;
        if (strcasecmp(request->fields[i].name, "Content-Length") == 0 &&
            strtoull(request->fields[i].value, NULL, 10) > 1 << 20)
            return false;
    }
    return true;
}

static uint64_t *number(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// Both have an own lock: with this one held, the answer is neither set nor missed.
static enum MHD_Result queue_locked(cwi_httpd *server, cwi_request *request) {
    uint64_t byte_count = request->body_byte_count;
    server->callbacks.sending(server->callbacks.context, request->connection_number, byte_count);
    return MHD_queue_response(request->connection, request->status, request->response);
}

static enum MHD_Result refuse(
    cwi_httpd *server, cwi_request *request, struct MHD_Connection *connection, unsigned int status, const char *text) {
    cwi_request_retain(request);
    server->callbacks.refused(server->callbacks.context, request->connection_number, request, status, text);
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    MHD_add_response_header(response, "Connection", "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

// Hands a request over, whose answer may be there afterwards.
static void receive(cwi_httpd *server, cwi_request *request) {
    cwi_request_retain(request);
    server->callbacks.received(server->callbacks.context, request->connection_number, request);
}

// Queues the answer if it is there.
static enum MHD_Result queue_if_answered(cwi_httpd *server, cwi_request *request) {
    pthread_mutex_lock(&request->lock);
    enum MHD_Result result = MHD_YES;
    if (request->is_answered) result = request->response ? queue_locked(server, request) : MHD_NO;
    pthread_mutex_unlock(&request->lock);
    return result;
}

static enum MHD_Result take_piece(
    cwi_httpd *server, cwi_request *request, struct MHD_Connection *connection, const char *bytes, size_t count) {
    pthread_mutex_lock(&request->lock);
    request->reads_on = false;
    pthread_mutex_unlock(&request->lock);
    cwi_body_step step = server->callbacks.piece(server->callbacks.context, request->connection_number, bytes, count);
    if (step == CWI_BODY_CLOSE) return MHD_NO;
    pthread_mutex_lock(&request->lock);
    // Chunks that have arrived with this one are read nevertheless.
    if (step == CWI_BODY_WAIT && !request->reads_on && !request->is_paused && !request->is_answered) {
        request->is_paused = true;
        MHD_suspend_connection(connection);
    }
    pthread_mutex_unlock(&request->lock);
    return MHD_YES;
}

static void resume_if_paused(cwi_request *request) {
    if (!request->is_paused) return;
    request->is_paused = false;
    MHD_resume_connection(request->connection);
}

void cwi_request_read_on(cwi_request *request) {
    pthread_mutex_lock(&request->lock);
    request->reads_on = true;
    resume_if_paused(request);
    pthread_mutex_unlock(&request->lock);
}

// Called when the head is there, for each piece of a body, at the end of a request, and after it was resumed.
static enum MHD_Result handle(
    void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *upload, size_t *upload_size, void **state) {
    (void)url;
    cwi_httpd *server = context;
    cwi_request *request = *state;
    if (!request || !request->target) return MHD_NO;
    if (!request->is_known) {
        request->is_known = true;
        request->method = strdup(method);
        MHD_get_connection_values(connection, MHD_HEADER_KIND, add_field, request);
        uint64_t *connection_number = number(connection);
        if (!connection_number || request->is_invalid || !request->method) return MHD_NO;
        request->connection_number = *connection_number;
        cwi_request_line line = {method, request->target_place, strlen(request->target), version};
        if (!cwi_head_is_valid(connection, request->target, line))
            return refuse(server, request, connection, MHD_HTTP_BAD_REQUEST, "The head is not valid in HTTP/1.1.\n");
        if (strcmp(method, "POST") == 0 && server->callbacks.takes_body(server->callbacks.context, request->target)) {
            if (!has_one_length(request))
                return refuse(server, request, connection, MHD_HTTP_BAD_REQUEST, "The length of the body is not valid.\n");
            request->takes_body = true;
            receive(server, request);
            return is_read_to_its_end(request) ? MHD_YES : queue_if_answered(server, request);
        }
        // What has a body is no request for an image, and two lengths of one body are an attack.
        if (has_body(request))
            return refuse(server, request, connection, MHD_HTTP_BAD_REQUEST, "Requests have no body.\n");
        // What a browser asks before another request.
        if (strcmp(method, "OPTIONS") == 0) return MHD_YES;
        if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
            return refuse(server, request, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are supported.\n");
        return MHD_YES;
    }
    if (*upload_size) {
        size_t count = *upload_size;
        *upload_size = 0;
        return request->takes_body ? take_piece(server, request, connection, upload, count) : MHD_YES;
    }
    if (!request->is_complete) {
        request->is_complete = true;
        if (request->takes_body) {
            server->callbacks.body_ended(server->callbacks.context, request->connection_number);
        } else {
            receive(server, request);
        }
    }
    pthread_mutex_lock(&request->lock);
    enum MHD_Result result = MHD_YES;
    if (request->is_answered) {
        result = request->response ? queue_locked(server, request) : MHD_NO;
    } else if (!request->is_suspended) {
        request->is_suspended = true;
        MHD_suspend_connection(connection);
    }
    pthread_mutex_unlock(&request->lock);
    return result;
}

// The body of an answer to HEAD, and of a 304, is never read.
static ssize_t no_body(void *context, uint64_t position, char *buffer, size_t size) {
    (void)context, (void)position, (void)buffer, (void)size;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

// A body that is read piece by piece.
struct body {
    cwi_reader reader;
    uint64_t byte_count;
};

static ssize_t read_body(void *context, uint64_t position, char *buffer, size_t size) {
    struct body *body = context;
    if (position >= body->byte_count) return MHD_CONTENT_READER_END_OF_STREAM;
    if (size > body->byte_count - position) size = body->byte_count - position;
    return body->reader.read(body->reader.context, position, buffer, size) ? (ssize_t)size : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_body(void *context) {
    struct body *body = context;
    body->reader.release(body->reader.context);
    free(body);
}

static struct MHD_Response *make_streamed(uint64_t byte_count, cwi_reader reader) {
    struct body *body = malloc(sizeof *body);
    if (body) {
        *body = (struct body){reader, byte_count};
        struct MHD_Response *response = MHD_create_response_from_callback(byte_count, 32 << 10, read_body, body, free_body);
        if (response) return response;
        free(body);
    }
    reader.release(reader.context);
    return NULL;
}

void cwi_request_answer(
    cwi_request *request, unsigned int status, const cwi_field *fields, size_t field_count, const void *body, size_t byte_count,
    const cwi_reader *reader, uint64_t length, bool closes) {
    struct MHD_Response *response =
        byte_count == 0 && length > 0 ? MHD_create_response_from_callback(length, 1024, no_body, NULL, NULL)
        : reader                      ? make_streamed(byte_count, *reader)
                                      : MHD_create_response_from_buffer(byte_count, (void *)body, MHD_RESPMEM_MUST_COPY);
    for (size_t i = 0; response && i < field_count; i++) MHD_add_response_header(response, fields[i].name, fields[i].value);
    if (response && closes) MHD_add_response_header(response, "Connection", "close");
    pthread_mutex_lock(&request->lock);
    if (request->is_answered) {
        if (response) MHD_destroy_response(response);
    } else {
        request->is_answered = true;
        request->response = response;
        request->status = status;
        request->body_byte_count = byte_count;
        if (request->is_suspended) MHD_resume_connection(request->connection);
        resume_if_paused(request);
    }
    pthread_mutex_unlock(&request->lock);
}

static void finish(
    void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
    (void)connection;
    cwi_httpd *server = context;
    cwi_request *request = *state;
    *state = NULL;
    if (!request) return;
    if (request->connection_number)
        server->callbacks.finished(
            server->callbacks.context, request->connection_number, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    cwi_request_release(request);
}

static void notice(
    void *context, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode code) {
    struct worker *worker = context;
    cwi_httpd *server = worker->server;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        uint64_t *connection_number = info ? malloc(sizeof *connection_number) : NULL;
        *socket_context = connection_number;
        if (!connection_number) return;
        *connection_number = atomic_fetch_add(&server->last_connection, 1) + 1;
        server->callbacks.opened(server->callbacks.context, *connection_number, info->connect_fd);
        return;
    }
    if (*socket_context) {
        server->callbacks.closed(server->callbacks.context, *(uint64_t *)*socket_context);
        free(*socket_context);
        *socket_context = NULL;
    }
    atomic_fetch_sub(&worker->connection_count, 1);
    cwi_acceptor_note_closed(server->acceptor);
}

// Gives a connection to the thread with the fewest; to each in turn where they have equally many.
static void add_connection(void *context, int connection, const struct sockaddr *address, socklen_t length) {
    cwi_httpd *server = context;
    struct worker *best = NULL;
    for (unsigned int i = 0; i < server->worker_count; i++) {
        struct worker *worker = &server->workers[(server->next_worker + i) % server->worker_count];
        if (!best || atomic_load(&worker->connection_count) < atomic_load(&best->connection_count)) best = worker;
    }
    server->next_worker = (unsigned int)(best - server->workers + 1) % server->worker_count;
    atomic_fetch_add(&best->connection_count, 1);
    // It closes the connection if it cannot add it.
    if (MHD_add_connection(best->daemon, connection, address, length) == MHD_YES) return;
    atomic_fetch_sub(&best->connection_count, 1);
    cwi_acceptor_note_closed(server->acceptor);
}

// Targets stay as they came.
static size_t keep(void *context, struct MHD_Connection *connection, char *text) {
    (void)context, (void)connection;
    return strlen(text);
}

// The only trace of a refusal by the library itself is its message, such as "… (HTTP response code is 431 ('…')) …".
static void hear(void *context, const char *format, va_list arguments) {
    cwi_httpd *server = context;
    char message[256];
    vsnprintf(message, sizeof message, format, arguments);
    static const char mark[] = "HTTP response code is ";
    const char *found = strstr(message, mark);
    unsigned int status = found ? (unsigned int)strtoul(found + sizeof mark - 1, NULL, 10) : 0;
    if (status >= 400 && status < 600) server->callbacks.unread(server->callbacks.context, status);
}

static struct MHD_Daemon *start_worker(struct worker *worker, cwi_httpd_limits limits) {
    cwi_httpd *server = worker->server;
    // The acceptor keeps the limit; one more connection may be about to be closed.
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC, 0,
        NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, hear, server, MHD_OPTION_CONNECTION_LIMIT,
        limits.connection_limit + 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.head_byte_count, MHD_OPTION_CONNECTION_TIMEOUT,
        limits.idle_seconds, MHD_OPTION_NOTIFY_COMPLETED, finish, server, MHD_OPTION_NOTIFY_CONNECTION, notice, worker,
        MHD_OPTION_URI_LOG_CALLBACK, begin, server, MHD_OPTION_UNESCAPE_CALLBACK, keep, NULL, MHD_OPTION_STRICT_FOR_CLIENT,
        cwi_head_strictness(), MHD_OPTION_END);
}

cwi_httpd *cwi_httpd_make(int socket, cwi_httpd_limits limits, cwi_httpd_callbacks callbacks) {
    unsigned int worker_count = limits.thread_count ? limits.thread_count : 1;
    cwi_httpd *server = calloc(1, sizeof *server + worker_count * sizeof server->workers[0]);
    if (!server) {
        close(socket);
        return NULL;
    }
    server->callbacks = callbacks;
    atomic_init(&server->last_connection, 0);
    server->acceptor = cwi_acceptor_make(socket, limits.connection_limit, add_connection, server);
    while (server->acceptor && server->worker_count < worker_count) {
        struct worker *worker = &server->workers[server->worker_count];
        worker->server = server;
        atomic_init(&worker->connection_count, 0);
        worker->daemon = start_worker(worker, limits);
        if (!worker->daemon) break;
        server->worker_count++;
    }
    if (server->worker_count == worker_count) return server;
    cwi_httpd_stop(server);
    return NULL;
}

void cwi_httpd_start(cwi_httpd *server) { cwi_acceptor_start(server->acceptor); }

void cwi_httpd_quiesce(cwi_httpd *server) { cwi_acceptor_stop(server->acceptor); }

void cwi_httpd_stop(cwi_httpd *server) {
    if (server->acceptor) cwi_acceptor_stop(server->acceptor);
    for (unsigned int i = 0; i < server->worker_count; i++) MHD_stop_daemon(server->workers[i].daemon);
    if (server->acceptor) cwi_acceptor_free(server->acceptor);
    free(server);
}

#define _GNU_SOURCE

#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct cwi_acceptor {
    int socket, wake;
    unsigned int connection_limit;
    cwi_accepted accepted;
    void *context;
    pthread_t thread;
    atomic_uint connection_count;
    atomic_bool is_started, is_stopping;
};

static bool is_listening(int socket) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value;
}

static void wake(cwi_acceptor *acceptor) {
    // It fails only if the thread was woken very often already.
    eventfd_write(acceptor->wake, 1);
}

static bool is_open(cwi_acceptor *acceptor) {
    return atomic_load(&acceptor->is_started) && !atomic_load(&acceptor->is_stopping) &&
           atomic_load(&acceptor->connection_count) < acceptor->connection_limit;
}

// Accepts what waits. Returns false if that fails for a reason that stays for a while, such as too many open files.
static bool accept_all(cwi_acceptor *acceptor) {
    while (is_open(acceptor)) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        int connection = accept4(acceptor->socket, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection < 0) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            return errno == EAGAIN;
        }
        atomic_fetch_add(&acceptor->connection_count, 1);
        acceptor->accepted(
            acceptor->context, connection, (struct sockaddr *)&address, length < sizeof address ? length : sizeof address);
    }
    return true;
}

static void *run(void *context) {
    cwi_acceptor *acceptor = context;
    bool is_failing = false;
    while (!atomic_load(&acceptor->is_stopping)) {
        int socket = is_failing || !is_open(acceptor) ? -1 : acceptor->socket;
        struct pollfd places[] = {{.fd = acceptor->wake, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
        poll(places, 2, is_failing ? 100 : -1);
        eventfd_t count;
        if (places[0].revents) eventfd_read(acceptor->wake, &count);
        is_failing = places[1].revents && !accept_all(acceptor);
    }
    return NULL;
}

// Signals are for the program's threads.
static bool start_thread(cwi_acceptor *acceptor) {
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    int status = pthread_create(&acceptor->thread, NULL, run, acceptor);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (status == 0) pthread_setname_np(acceptor->thread, "webimage-accept");
    return status == 0;
}

cwi_acceptor *cwi_acceptor_make(int socket, unsigned int connection_limit, cwi_accepted accepted, void *context) {
    cwi_acceptor *acceptor = is_listening(socket) ? calloc(1, sizeof *acceptor) : NULL;
    int wake = acceptor ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (wake >= 0) {
        // Another process may accept what poll has reported.
        fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
        acceptor->socket = socket;
        acceptor->wake = wake;
        acceptor->connection_limit = connection_limit;
        acceptor->accepted = accepted;
        acceptor->context = context;
        if (start_thread(acceptor)) return acceptor;
        close(wake);
    }
    free(acceptor);
    close(socket);
    return NULL;
}

void cwi_acceptor_start(cwi_acceptor *acceptor) {
    atomic_store(&acceptor->is_started, true);
    wake(acceptor);
}

void cwi_acceptor_note_closed(cwi_acceptor *acceptor) {
    if (atomic_fetch_sub(&acceptor->connection_count, 1) >= acceptor->connection_limit) wake(acceptor);
}

void cwi_acceptor_stop(cwi_acceptor *acceptor) {
    if (acceptor->socket < 0) return;
    atomic_store(&acceptor->is_stopping, true);
    wake(acceptor);
    pthread_join(acceptor->thread, NULL);
    close(acceptor->socket);
    acceptor->socket = -1;
}

void cwi_acceptor_free(cwi_acceptor *acceptor) {
    cwi_acceptor_stop(acceptor);
    close(acceptor->wake);
    free(acceptor);
}

#define _GNU_SOURCE
#include "probe.h"

#include "CWebImageIsolation.h"
#include "CWebImageSandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// Enters the sandbox as a decoder does, and then does what a test says. Only for tests.
//
//     test ── "start SITUATION…" ─▶ probe ── what it was started with ─▶ test
//     test ── "enter" ────────────▶ probe ── layers, "LAYER ERROR" ───▶ test
//     test ── a command ──────────▶ probe ── its lines ───────────────▶ test
//
// With --program SITUATIONS it is a program that has started such a process.

extern char **environ;

static char reply[CWI_MAXIMUM_MESSAGE];
static size_t reply_length;

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reply + reply_length, sizeof reply - reply_length, format, arguments);
    va_end(arguments);
    if (length > 0 && reply_length + (size_t)length < sizeof reply) reply_length += (size_t)length;
}

static void send_reply(void) {
    if (reply_length == 0) say("done\n");
    if (cwi_channel_send(CWI_CHANNEL_DESCRIPTOR, reply, reply_length, NULL, 0) != CWI_CHANNEL_OK) _exit(1);
    reply_length = 0;
}

/// What the program gave the process.
static void say_inheritance(void) {
    say("descriptors");
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0) say(" %d", descriptor);
    }
    say("\nenvironment");
    for (char **entry = environ; *entry; entry++) say(" %s", *entry);
    say("\nwritable");
    for (int descriptor = 0; descriptor < 3; descriptor++) {
        if (write(descriptor, "x", 1) == 1 || ftruncate(descriptor, 4096) == 0) say(" %d", descriptor);
    }
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    say("\nsignals");
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        bool is_ignored = sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        if (is_ignored || sigismember(&mask, number) == 1) say(" %d", number);
    }
    say("\ngroup %s\n", getpgrp() == getpid() ? "own" : "inherited");
}

static void *wait_forever(void *unused) {
    (void)unused;
    for (;;) poll(NULL, 0, -1);
}

static void start_threads(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    int count = 0, error = 0;
    pthread_t thread;
    while (count < 20000 && !(error = pthread_create(&thread, &attributes, wait_forever, NULL))) count++;
    say("threads %d %d\n", count, error);
}

static void touch_memory(void) {
    // First the limits, as far as the process may raise them.
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limits;
        if (getrlimit(resource, &limits) != 0) continue;
        limits.rlim_cur = limits.rlim_max;
        setrlimit(resource, &limits);
    }
    static const int kinds[] = {MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | MAP_GROWSDOWN};
    size_t count = 0, length = 1 << 20;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        while (count < 6 << 10) {
            void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, kinds[kind] | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) break;
            memset(memory, 1, length);
            count++;
        }
    }
    say("megabytes %zu\n", count);
}

static void use_time(void) {
    struct timespec used;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec < 60);
}

static void ignore_everything(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_IGN);
    send_reply();
    for (;;) poll(NULL, 0, -1);
}

static void enter(void) {
    cwi_sandbox_report report =
        cwi_sandbox_enter((cwi_sandbox_limits){.memory_length = 2 << 29, .processor_seconds = 600, .thread_count = 64});
    for (int layer = 0; layer < CWI_LAYER_COUNT; layer++) {
        say("%d %d\n", layer, report.active >> layer & 1 ? 0 : report.errors[layer] ? report.errors[layer] : -1);
    }
}

// MARK: A program that starts one

static const char *path;
static cwi_decoder_process started;

static void *start(void *situations) {
    char command[256], answer[CWI_MAXIMUM_MESSAGE];
    snprintf(command, sizeof command, "start %s", (const char *)situations);
    if (cwi_decoder_start(path, "", &started) != 0) _exit(5);
    const char *commands[] = {command, "enter"};
    for (int index = 0; index < 2; index++) {
        size_t length, count;
        int descriptors[CWI_MAXIMUM_DESCRIPTORS];
        cwi_channel_send(started.channel, commands[index], strlen(commands[index]), NULL, 0);
        if (cwi_channel_receive(started.channel, answer, sizeof answer, &length, descriptors, &count, -1) != CWI_CHANNEL_OK) _exit(6);
    }
    return NULL;
}

/// Starts a process from a thread that ends, has it ignore everything, and waits.
static void be_program(char *situations) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, situations) != 0) _exit(5);
    pthread_join(thread, NULL);
    char answer[16];
    size_t length, count;
    int descriptors[CWI_MAXIMUM_DESCRIPTORS];
    cwi_channel_send(started.channel, "ignore", 6, NULL, 0);
    if (cwi_channel_receive(started.channel, answer, sizeof answer, &length, descriptors, &count, -1) != CWI_CHANNEL_OK) _exit(6);
    printf("%d %d\n", getpid(), started.pid);
    fflush(stdout);
    for (;;) poll(NULL, 0, -1);
}

int main(int argument_count, char **arguments) {
    if (argument_count == 3 && strcmp(arguments[1], "--program") == 0) {
        path = arguments[0];
        be_program(arguments[2]);
    }
    static char command[4096];
    for (;;) {
        size_t length, count;
        int descriptors[CWI_MAXIMUM_DESCRIPTORS];
        cwi_channel_status status =
            cwi_channel_receive(CWI_CHANNEL_DESCRIPTOR, command, sizeof command - 1, &length, descriptors, &count, -1);
        if (status != CWI_CHANNEL_OK) _exit(0);
        command[length] = 0;
        char *rest = NULL, *word = strtok_r(command, " ", &rest);
        if (!word) continue;
        if (strcmp(word, "start") == 0) {
            say_inheritance();
            prepare_acts();
            for (char *situation; (situation = strtok_r(NULL, " ", &rest));) enter_situation(situation);
        } else if (strcmp(word, "enter") == 0) {
            enter();
        } else if (strcmp(word, "acts") == 0) {
            try_acts(rest);
        } else if (strcmp(word, "threads") == 0) {
            start_threads();
        } else if (strcmp(word, "memory") == 0) {
            touch_memory();
        } else if (strcmp(word, "time") == 0) {
            use_time();
        } else if (strcmp(word, "ignore") == 0) {
            ignore_everything();
        } else if (strcmp(word, "crash") == 0) {
            // As a process with much memory does on a busy machine, where it has no descriptors long before it has ended.
            if (strcmp(rest, "slowly") == 0) {
                close(CWI_CHANNEL_DESCRIPTOR);
                usleep(100000);
            }
            raise(SIGSEGV);
            *(volatile int *)8 = 1;
        }
        send_reply();
    }
}

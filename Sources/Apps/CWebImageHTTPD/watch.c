#define _GNU_SOURCE

#include "CWebImageHTTPD.h"

#include <sys/epoll.h>

int cwi_watch_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

void cwi_watch_add(int watch, int descriptor, uint64_t number) {
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.u64 = number};
    epoll_ctl(watch, EPOLL_CTL_ADD, descriptor, &event);
}

void cwi_watch_remove(int watch, int descriptor) { epoll_ctl(watch, EPOLL_CTL_DEL, descriptor, NULL); }

size_t cwi_watch_wait(int watch, uint64_t *numbers, size_t capacity, int milliseconds) {
    struct epoll_event events[64];
    int count = epoll_wait(watch, events, capacity < 64 ? (int)capacity : 64, milliseconds);
    for (int i = 0; i < count; i++) numbers[i] = events[i].data.u64;
    return count > 0 ? (size_t)count : 0;
}

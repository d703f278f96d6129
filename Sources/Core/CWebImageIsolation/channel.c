#define _GNU_SOURCE
#include "CWebImageIsolation.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

cwi_channel_status cwi_channel_send(
    int channel, const void *bytes, size_t length, const int *descriptors, size_t descriptor_count) {
    if (length > CWI_MAXIMUM_MESSAGE || descriptor_count > CWI_MAXIMUM_DESCRIPTORS) {
        errno = EMSGSIZE;
        return CWI_CHANNEL_FAILED;
    }
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CWI_MAXIMUM_DESCRIPTORS)] = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor_count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptor_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptor_count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * descriptor_count);
    }
    ssize_t sent;
    do {
        sent = sendmsg(channel, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)length) return CWI_CHANNEL_OK;
    return sent < 0 && (errno == EPIPE || errno == ECONNRESET) ? CWI_CHANNEL_CLOSED : CWI_CHANNEL_FAILED;
}

static void close_all(const int *descriptors, size_t count) {
    for (size_t index = 0; index < count; index++) close(descriptors[index]);
}

/// Takes the descriptors out of a message; those beyond the capacity are closed. Returns how many there were.
static size_t take_descriptors(struct msghdr *message, int *descriptors) {
    size_t count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t length = header->cmsg_len - CMSG_LEN(0);
        for (size_t offset = 0; offset + sizeof(int) <= length; offset += sizeof(int)) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + offset, sizeof descriptor);
            if (count < CWI_MAXIMUM_DESCRIPTORS) {
                descriptors[count] = descriptor;
            } else {
                close(descriptor);
            }
            count++;
        }
    }
    return count;
}

cwi_channel_status cwi_channel_receive(
    int channel, void *bytes, size_t capacity, size_t *length, int descriptors[CWI_MAXIMUM_DESCRIPTORS],
    size_t *descriptor_count, int milliseconds) {
    *length = 0;
    *descriptor_count = 0;
    if (milliseconds >= 0) {
        struct pollfd waiting = {.fd = channel, .events = POLLIN};
        int ready = poll(&waiting, 1, milliseconds);
        // A signal counts as time that has passed: the caller looks at its clock.
        if (ready == 0 || (ready < 0 && errno == EINTR)) return CWI_CHANNEL_IDLE;
        if (ready < 0) return CWI_CHANNEL_FAILED;
    }
    // Room for more descriptors than are allowed, so that none is lost in the kernel unseen.
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 16)];
    struct iovec part = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t received;
    do {
        received = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return errno == ECONNRESET ? CWI_CHANNEL_CLOSED : CWI_CHANNEL_FAILED;
    size_t count = take_descriptors(&message, descriptors);
    if (count > CWI_MAXIMUM_DESCRIPTORS || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        close_all(descriptors, count < CWI_MAXIMUM_DESCRIPTORS ? count : CWI_MAXIMUM_DESCRIPTORS);
        errno = EMSGSIZE;
        return CWI_CHANNEL_FAILED;
    }
    // No message is empty, so this is the end.
    if (received == 0) {
        close_all(descriptors, count);
        return CWI_CHANNEL_CLOSED;
    }
    *length = (size_t)received;
    *descriptor_count = count;
    return CWI_CHANNEL_OK;
}

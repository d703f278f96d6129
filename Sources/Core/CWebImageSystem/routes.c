#include "CWebImageSystem.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int open_route_socket(int flags, unsigned groups) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE);
    if (descriptor < 0)
        return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

int cwi_open_route_events(void) {
    return open_route_socket(SOCK_NONBLOCK, RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

static int is_default_route(const struct nlmsghdr *header) {
    if (header->nlmsg_type != RTM_NEWROUTE || header->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg)))
        return 0;
    const struct rtmsg *route = NLMSG_DATA(header);
    // IPv6 has a default route that leads nowhere (RTN_UNREACHABLE) where it has no other.
    return (route->rtm_family == AF_INET || route->rtm_family == AF_INET6) && route->rtm_dst_len == 0 &&
           route->rtm_type == RTN_UNICAST && route->rtm_table != RT_TABLE_LOCAL &&
           !(route->rtm_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN));
}

int cwi_has_default_route(void) {
    int descriptor = open_route_socket(0, 0);
    if (descriptor < 0)
        return -1;
    // The kernel answers at once; otherwise the wait ends.
    struct timeval limit = {.tv_sec = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    struct {
        struct nlmsghdr header;
        struct rtmsg route;
    } request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                   .nlmsg_type = RTM_GETROUTE,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .route = {.rtm_family = AF_UNSPEC},
    };
    int result = -1;
    if (send(descriptor, &request, request.header.nlmsg_len, 0) == (ssize_t)request.header.nlmsg_len) {
        _Alignas(struct nlmsghdr) char buffer[32 << 10];
        int is_over = 0;
        while (!is_over) {
            ssize_t count = recv(descriptor, buffer, sizeof buffer, 0);
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                break;
            int rest = (int)count;
            for (const struct nlmsghdr *header = (const struct nlmsghdr *)buffer; NLMSG_OK(header, rest);
                 header = NLMSG_NEXT(header, rest)) {
                if (is_default_route(header))
                    result = is_over = 1;
                if (header->nlmsg_type == NLMSG_ERROR)
                    is_over = 1;
                if (header->nlmsg_type == NLMSG_DONE) {
                    is_over = 1;
                    if (result < 0)
                        result = 0;
                }
                if (is_over)
                    break;
            }
        }
    }
    close(descriptor);
    return result;
}

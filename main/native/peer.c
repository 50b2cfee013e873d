#include "peer.h"

#include <string.h>

static const uint8_t MAPPED_PREFIX[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void write_mapped(uint8_t address[16], const struct in_addr *from) {
  memcpy(address, MAPPED_PREFIX, sizeof MAPPED_PREFIX);
  memcpy(address + sizeof MAPPED_PREFIX, &from->s_addr, 4);
}

static bool is_mapped(const uint8_t address[16]) {
  return memcmp(address, MAPPED_PREFIX, sizeof MAPPED_PREFIX) == 0;
}

/*
 * Takes the asked address out of IP_PKTINFO. The interface is cleared, so that the answer follows
 * the routing table like any other packet.
 */
static void read_local_v4(struct peer *peer, struct cmsghdr *header) {
  struct in_pktinfo info;
  memcpy(&info, CMSG_DATA(header), sizeof info);
  info.ipi_ifindex = 0;
  memcpy(CMSG_DATA(header), &info, sizeof info);
  write_mapped(peer->local, &info.ipi_spec_dst);
  peer->has_local = 1;
}

/* The same for IPV6_PKTINFO. A link-local source means nothing without its interface: kept. */
static void read_local_v6(struct peer *peer, struct cmsghdr *header) {
  struct in6_pktinfo info;
  memcpy(&info, CMSG_DATA(header), sizeof info);
  if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) info.ipi6_ifindex = 0;
  memcpy(CMSG_DATA(header), &info, sizeof info);
  memcpy(peer->local, &info.ipi6_addr, 16);
  peer->local_scope = info.ipi6_ifindex;
  peer->has_local = 1;
}

static void read_local(struct peer *peer, struct msghdr *message) {
  peer->has_local = 0;
  peer->local_scope = 0;
  for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO &&
        at->cmsg_len >= CMSG_LEN(sizeof(struct in_pktinfo))) {
      read_local_v4(peer, at);
    } else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO &&
               at->cmsg_len >= CMSG_LEN(sizeof(struct in6_pktinfo))) {
      read_local_v6(peer, at);
    }
  }
}

void peer_read(struct peer *peer, struct msghdr *message) {
  const union endpoint *from = message->msg_name;
  if (from->any.sa_family == AF_INET) {
    write_mapped(peer->address, &from->v4.sin_addr);
    peer->port = ntohs(from->v4.sin_port);
    peer->family = 4;
    peer->scope = 0;
  } else {
    memcpy(peer->address, &from->v6.sin6_addr, 16);
    peer->port = ntohs(from->v6.sin6_port);
    peer->family = 6;
    peer->scope = from->v6.sin6_scope_id;
  }
  read_local(peer, message);
}

socklen_t peer_endpoint(const struct peer *peer, int family, union endpoint *to) {
  memset(to, 0, sizeof *to);
  if (family == AF_INET) {
    if (!is_mapped(peer->address)) return 0;
    to->v4.sin_family = AF_INET;
    to->v4.sin_port = htons(peer->port);
    memcpy(&to->v4.sin_addr.s_addr, peer->address + 12, 4);
    return sizeof to->v4;
  }
  to->v6.sin6_family = AF_INET6;
  to->v6.sin6_port = htons(peer->port);
  to->v6.sin6_scope_id = peer->scope;
  memcpy(&to->v6.sin6_addr, peer->address, 16);
  return sizeof to->v6;
}

size_t peer_control(const struct peer *peer, int family, union control *control) {
  if (!peer->has_local) return 0;
  memset(control, 0, sizeof *control);
  struct cmsghdr *header = &control->header;
  if (family == AF_INET) {
    if (!is_mapped(peer->local)) return 0;
    struct in_pktinfo info = {0};
    memcpy(&info.ipi_spec_dst.s_addr, peer->local + 12, 4);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(header), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
  }
  struct in6_pktinfo info = {.ipi6_ifindex = peer->local_scope};
  memcpy(&info.ipi6_addr, peer->local, 16);
  header->cmsg_level = IPPROTO_IPV6;
  header->cmsg_type = IPV6_PKTINFO;
  header->cmsg_len = CMSG_LEN(sizeof info);
  memcpy(CMSG_DATA(header), &info, sizeof info);
  return CMSG_SPACE(sizeof info);
}

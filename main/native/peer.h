/*
 * Addresses in the three forms that the add-on needs: what the kernel uses (endpoint and control),
 * and the flat record that JavaScript reads, keeps and hands back (peer).
 */
#ifndef SLUICE_PEER_H
#define SLUICE_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket address that is either IPv4 or IPv6. */
union endpoint {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

/* Room for one control message that names the local address of a datagram. */
union control {
  struct cmsghdr header;
  uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/*
 * One peer as JavaScript sees it: 64 bytes, of which the first 48 mean something.
 *
 *    0 address      16 bytes, IPv4 as ::ffff:a.b.c.d
 *   16 port         host byte order
 *   18 has_local    1 when local and local_scope are set
 *   19 family       4 or 6: family of the socket that received it (a mapped address may be 6)
 *   20 scope        IPv6 zone of a link-local address, else 0
 *   24 local        the address that was asked, written as address is
 *   40 local_scope  interface index when local is link-local, else 0
 */
struct peer {
  uint8_t address[16];
  uint16_t port;
  uint8_t has_local;
  uint8_t family;
  uint32_t scope;
  uint8_t local[16];
  uint32_t local_scope;
  uint8_t spare[20];
};
_Static_assert(sizeof(struct peer) == 64, "the stride of peers is part of the interface");
_Static_assert(offsetof(struct peer, port) == 16, "JavaScript reads the port at byte 16");
_Static_assert(offsetof(struct peer, local_scope) == 40, "the record ends within 48 bytes");

/* Fills a record from a received message; makes its control message fit for the answer. */
void peer_read(struct peer *peer, struct msghdr *message);

/* Writes the address of a record for a socket of that family. Returns its size, 0 if it cannot. */
socklen_t peer_endpoint(const struct peer *peer, int family, union endpoint *to);

/* Writes the control message that makes an answer leave from peer->local; 0 bytes for none. */
size_t peer_control(const struct peer *peer, int family, union control *control);

#endif

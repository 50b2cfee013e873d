/* Makes a tun device of the given name and holds it open, as a VPN client does. */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct ifreq request;
  int device = open("/dev/net/tun", O_RDWR);
  if (argc != 2 || device < 0) return 1;
  memset(&request, 0, sizeof request);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  strncpy(request.ifr_name, argv[1], IFNAMSIZ - 1);
  if (ioctl(device, TUNSETIFF, &request) < 0) return 2;
  for (;;) pause();
}

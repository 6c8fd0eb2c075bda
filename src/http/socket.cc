#include "src/http/socket.h"

#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace sluice::http {

std::string Socket::PeerAddress() const {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getpeername(fd_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  if (storage.ss_family == AF_UNIX) return "unix:";
  const void* bytes = nullptr;
  if (storage.ss_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
  } else {
    bytes = &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(storage.ss_family, bytes, text.data(), text.size()) == nullptr) return {};
  return text.data();
}

void Socket::SendAtOnce() const {
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace sluice::http

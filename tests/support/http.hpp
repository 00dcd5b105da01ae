// A reader of one page over HTTP, as blocking calls.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace xtune::test {

/// Sends a text to a port of 127.0.0.1, and returns all that comes back until the other end closes; "" if it refuses.
inline std::string exchange(int port, const std::string& text) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&place), sizeof(place)) == 0 &&
      ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
    char buffer[4096];
    for (ssize_t count; (count = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(fd);
  return answer;
}

/// Of "http://127.0.0.1:PORT/PATH".
inline int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

/// The answer, headers and all, to a GET request. more: further headers, each with "\r\n".
inline std::string get(const std::string& address, const std::string& more = "") {
  const std::size_t path = address.find('/', address.rfind(':'));
  return exchange(port_of(address), "GET " + address.substr(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more + "\r\n");
}

}  // namespace xtune::test

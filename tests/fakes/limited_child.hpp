// Runs a function in a separate process with a resource limit.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

namespace xtune::fakes {

/// The text that body returns in a child with this soft limit.
inline std::string under_limit(decltype(RLIMIT_CPU) resource, rlim_t limit, const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit now{};
    ::getrlimit(resource, &now);
    now.rlim_cur = limit;
    ::setrlimit(resource, &now);
    std::string text;
    try {
      text = body();
    } catch (...) {
      text = "thrown";
    }
    _exit(::write(ends[1], text.data(), text.size()) < 0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 512> bytes{};
  for (ssize_t n = 0; (n = ::read(ends[0], bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

}  // namespace xtune::fakes

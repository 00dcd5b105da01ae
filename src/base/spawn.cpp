// Pipes, environment and options of uv_spawn, and the descriptions of its failures.
#include "base/spawn.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

extern char** environ;

namespace xtune::base {
namespace {

std::vector<std::string> merged_environment(const Environment& extra) {
  std::vector<std::string> result;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(extra.begin(), extra.end(), [&](const auto& pair) { return pair.first == name; }))
      result.emplace_back(text);
  }
  for (const auto& [name, value] : extra) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void fail_to_start(const SubprocessOptions& options, int reason) {
  std::string message = "cannot start " + printable(options.argv[0]) + ": " + uv_strerror(reason);
  struct stat info {};
  if (!options.cwd.empty() && (::stat(options.cwd.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)))
    message += " (there is no directory " + printable(options.cwd) + " to start it in)";
  throw CannotStart(-reason, message);
}

}  // namespace

PipeEnds::~PipeEnds() {
  for (const int fd : fds_)
    if (fd >= 0) ::close(fd);
}

int PipeEnds::release_read_end() noexcept { return std::exchange(fds_[0], -1); }
int PipeEnds::release_write_end() noexcept { return std::exchange(fds_[1], -1); }

ChildPipes::ChildPipes(const SubprocessOptions& options) {
  int failed = in.open(0, UV_NONBLOCK_PIPE);
  if (!failed) failed = out.open(UV_NONBLOCK_PIPE, 0);
  if (!failed) failed = err.open(UV_NONBLOCK_PIPE, 0);
  if (failed) fail_to_start(options, failed);
}

void spawn(uv_loop_t* loop, uv_process_t& process, const SubprocessOptions& options, const ChildPipes& pipes,
           uv_exit_cb on_exit) {
  std::vector<std::string> argv = options.argv, environment = merged_environment(options.env);
  std::vector<char*> argv_pointers = pointers(argv), environment_pointers = pointers(environment);
  std::array<uv_stdio_container_t, 3> stdio{};
  const std::array<int, 3> child_ends{pipes.in.read_end(), pipes.out.write_end(), pipes.err.write_end()};
  for (std::size_t i = 0; i < stdio.size(); ++i) {
    stdio[i].flags = UV_INHERIT_FD;
    stdio[i].data.fd = child_ends[i];
  }
  uv_process_options_t what{};
  what.file = argv[0].c_str();
  what.args = argv_pointers.data();
  what.env = environment_pointers.data();
  what.cwd = options.cwd.empty() ? nullptr : options.cwd.c_str();
  what.flags =
      options.own_group ? UV_PROCESS_DETACHED : 0;  // setsid(): a group and a session, so no terminal signals either
  what.stdio_count = static_cast<int>(stdio.size());
  what.stdio = stdio.data();
  what.exit_cb = on_exit;
  if (const int failed = uv_spawn(loop, &process, &what)) fail_to_start(options, failed);
}

}  // namespace xtune::base

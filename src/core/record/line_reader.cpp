// Reads with pread in steps that fit in the processor's cache; a line that a step divides is moved to the front.
#include "core/record/line_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::record {
namespace {

constexpr std::size_t read_bytes = 512u << 10;

class File {
 public:
  explicit File(const RecordSource& source)
      : fd_(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), name_(source.name) {
    if (fd_ < 0) fail(errno);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t size() const {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail(errno);
    return static_cast<std::uint64_t>(info.st_size);
  }
  std::size_t read(char* to, std::size_t bytes, std::uint64_t offset) const {
    for (;;) {
      const ssize_t n = ::pread(fd_, to, bytes, static_cast<off_t>(offset));
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) fail(errno);
    }
  }

 private:
  [[noreturn]] void fail(int reason) const {
    throw Error(ErrorKind::io, "cannot read " + name_ + ": " + std::strerror(reason));
  }
  int fd_;
  std::string name_;
};

}  // namespace

std::string text_of(LinesEnd end) {
  if (end == LinesEnd::torn) return "the last line is torn (its writer was stopped); dropped";
  return end == LinesEnd::too_long ? "skipped: the line is longer than " + base::human_bytes(max_line_bytes) : "";
}

std::pair<std::uint64_t, std::uint64_t> range_of(const RecordSource& source) {
  const std::uint64_t size = File(source).size(), begin = std::min(source.offset, size),
                      end = begin + std::min(source.bytes, size - begin);
  if (source.bytes != UINT64_MAX && end - begin < source.bytes)
    throw Error(ErrorKind::io, "cannot read " + source.name + ": it is shorter than it was");
  return {begin, end};
}

LinesEnd each_line(const RecordSource& source, std::uint64_t begin, std::uint64_t end, std::vector<char>& buffer,
                   const std::function<bool(std::string_view line, std::uint64_t offset)>& visit) {
  const File file(source);
  const std::uint64_t source_end =
      source.bytes > UINT64_MAX - source.offset ? UINT64_MAX : source.offset + source.bytes;
  // The first line is the one after the newline before begin: the text before belongs to another range's line.
  bool skipping = begin != source.offset;
  std::uint64_t position = skipping ? begin - 1 : begin;
  std::size_t filled = 0;
  for (;;) {
    if (buffer.size() - filled < read_bytes / 2) buffer.resize(buffer.size() + read_bytes);
    const std::uint64_t next = position + filled;
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size() - filled, source_end - next));
    const std::size_t got = wanted ? file.read(buffer.data() + filled, wanted, next) : 0;
    const char* const last = buffer.data() + filled + got;
    const char* line = buffer.data();
    const char* search = line + filled;
    while (const auto* newline =
               static_cast<const char*>(std::memchr(search, '\n', static_cast<std::size_t>(last - search)))) {
      const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
      if (!skipping && offset >= end) return LinesEnd::done;
      if (!skipping && !visit({line, static_cast<std::size_t>(newline - line)}, offset)) return LinesEnd::stopped;
      skipping = false;
      line = search = newline + 1;
    }
    if (skipping) {
      // No line has begun yet, and the rest of another range's line is not kept.
      position = next + got, filled = 0;
      if (got == 0 || position >= end) return LinesEnd::done;
      continue;
    }
    const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
    if (offset >= end) return LinesEnd::done;
    filled = static_cast<std::size_t>(last - line);
    if (got == 0) return filled ? LinesEnd::torn : LinesEnd::done;
    if (filled > max_line_bytes) return LinesEnd::too_long;
    std::memmove(buffer.data(), line, filled);
    position = offset;
  }
}

}  // namespace xtune::record

// Gzip through zlib, with a limit on the output.
#include "base/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/files.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {
namespace {

struct Inflater {
  z_stream stream{};
  Inflater() {
    constexpr int gzip_of_any_window = 15 + 16;
    if (inflateInit2(&stream, gzip_of_any_window) != Z_OK) throw Error(ErrorKind::io, "zlib cannot start");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

std::string read_file_gunzipped(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  std::string packed = read_file(path, limit_bytes);
  if (!packed.starts_with("\x1f\x8b")) return packed;
  const auto fail = [&](const std::string& why) { throw Error(ErrorKind::io, printable(path.string()) + ": " + why); };
  Inflater inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  std::size_t left = packed.size();
  std::string text;
  std::string chunk(std::size_t{1} << 18, '\0');
  for (;;) {
    const auto given = static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int state = inflate(&stream, Z_NO_FLUSH);
    left -= given - stream.avail_in;
    text.append(chunk, 0, chunk.size() - stream.avail_out);
    if (text.size() > limit_bytes) fail("more than " + human_bytes(limit_bytes) + " once decompressed");
    if (state == Z_STREAM_END) {
      // Bytes after the last member that are not gzip are padding, as for gzip(1).
      if (left < 2 || stream.next_in[0] != 0x1f || stream.next_in[1] != 0x8b) return text;
      inflateReset(&stream);
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      fail(std::string("the gzip archive is damaged: ") + (stream.msg ? stream.msg : "unknown reason"));
    } else if (left == 0 && stream.avail_out > 0) {
      fail("the gzip archive is truncated: copy the file again");
    }
  }
}

}  // namespace xtune::base

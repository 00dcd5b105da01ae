// The .npy header is a Python dict literal; the data follow it in memory order.
#include "core/validate/npy.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/text.hpp"
#include "core/validate/inputs.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::validate {

namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};
// NumPy itself refuses headers of more than 10,000 characters by default.
constexpr std::uint64_t header_limit = std::uint64_t{1} << 16;
constexpr std::size_t rank_limit = 64;  // NumPy's own

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, ErrorKind kind = ErrorKind::io) {
  throw Error(kind, path.string() + ": " + what);
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Reads the one dict that NumPy writes: string keys; string, boolean and tuple-of-integers values.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr") {
        if (peek() == '[') {
          header.descr = "a structured type";
          return header;
        }
        const auto value = string();
        if (!value) return std::nullopt;
        header.descr = *value;
        has_descr = true;
      } else if (*key == "fortran_order") {
        has_order = true;
        header.fortran_order = word("True");
        if (!header.fortran_order && !word("False")) return std::nullopt;
      } else if (*key == "shape") {
        has_shape = true;
        if (!tuple(header.shape)) return std::nullopt;
      } else {
        return std::nullopt;
      }
      if (!take(',') && peek() != '}') return std::nullopt;
    }
    if (!has_descr || !has_order || !has_shape) return std::nullopt;
    skip_space();
    return rest_.empty() ? std::optional(header) : std::nullopt;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  char peek() {
    skip_space();
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view expected) {
    skip_space();
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const auto end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool tuple(std::vector<std::uint64_t>& values) {
    if (!take('(')) return false;
    while (!take(')')) {
      if (values.size() == rank_limit) return false;
      std::uint64_t value = 0;
      bool digits = false;
      for (char c = peek(); c >= '0' && c <= '9'; c = rest_.empty() ? '\0' : rest_.front()) {
        if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value))
          return false;
        digits = true;
        rest_.remove_prefix(1);
      }
      if (!digits) return false;
      values.push_back(value);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view rest_;
};

constexpr std::pair<std::string_view, DType> type_codes[] = {
    {"f2", DType::f16}, {"f4", DType::f32},     {"f8", DType::f64}, {"i1", DType::i8},   {"i2", DType::i16},
    {"i4", DType::i32}, {"i8", DType::i64},     {"u1", DType::u8},  {"u2", DType::u16},  {"u4", DType::u32},
    {"u8", DType::u64}, {"b1", DType::boolean}, {"c8", DType::c64}, {"c16", DType::c128}};

std::optional<DType> dtype_of(std::string_view code) {
  for (const auto& [name, type] : type_codes)
    if (name == code) return type;
  return std::nullopt;
}

std::string code_of(DType type) {
  for (const auto& [name, known] : type_codes)
    if (known == npy_storage(type)) return (size_of(known) == 1 ? "|" : "<") + std::string(name);
  throw std::invalid_argument("write_npy: no type of NumPy");
}

DType checked_dtype(const std::filesystem::path& path, const Header& header) {
  const std::string_view descr = header.descr;
  const auto type = descr.size() > 1 ? dtype_of(descr.substr(1)) : std::nullopt;
  if (!type || std::string_view("<|=>").find(descr[0]) == std::string_view::npos)
    fail(path,
         fmt::format("dtype '{}' is not supported; known: f2 f4 f8, i1 to i8, u1 to u8, b1, c8 c16 (bf16 and fp8: save "
                     "array.view('u2') "
                     "or array.view('u1'))",
                     base::printable(descr, 60)),
         ErrorKind::unsupported);
  if (descr[0] == '>')
    fail(path, "big-endian data are not supported; save array.newbyteorder('<')", ErrorKind::unsupported);
  if (header.fortran_order && header.shape.size() > 1)
    fail(path, "Fortran order is not supported; save numpy.ascontiguousarray(array)", ErrorKind::unsupported);
  return *type;
}

std::uint64_t read_exactly(std::ifstream& file, char* to, std::uint64_t bytes) {
  file.read(to, static_cast<std::streamsize>(bytes));
  return static_cast<std::uint64_t>(file.gcount());
}

// Returns the header's text; the file is then at its data.
std::string read_header_text(const std::filesystem::path& path, std::ifstream& file, std::uint64_t file_bytes,
                             std::uint64_t& offset) {
  unsigned char start[12] = {};
  const std::uint64_t got = read_exactly(file, reinterpret_cast<char*>(start), 10);
  if (got < 10 || std::memcmp(start, magic.data(), magic.size()) != 0) fail(path, "not a .npy file");
  const int version = start[6];
  if (version < 1 || version > 3)
    fail(path, fmt::format(".npy version {}.{}; known: 1 to 3", version, start[7]), ErrorKind::unsupported);
  std::uint64_t length = start[8] | std::uint64_t(start[9]) << 8;
  offset = 10;
  if (version > 1) {
    if (read_exactly(file, reinterpret_cast<char*>(start + 10), 2) < 2) fail(path, "the file ends within its header");
    length |= std::uint64_t(start[10]) << 16 | std::uint64_t(start[11]) << 24;
    offset = 12;
  }
  if (length > header_limit)
    fail(path, fmt::format("a header of {} bytes; no array needs more than {}", length, header_limit));
  if (length > file_bytes - offset) fail(path, "the file ends within its header");
  std::string text(length, '\0');
  if (read_exactly(file, text.data(), length) < length) fail(path, "the file ends within its header");
  offset += length;
  return text;
}

}  // namespace

DType npy_storage(DType type) noexcept {
  if (type == DType::bf16) return DType::u16;
  return type == DType::f8e4m3 || type == DType::f8e5m2 ? DType::u8 : type;
}

NpyHeader read_npy_header(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(path, "no such file");
  if (!std::filesystem::is_regular_file(status)) fail(path, "not a regular file");
  const std::uint64_t file_bytes = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) fail(path, std::strerror(error ? error.value() : errno));
  std::uint64_t offset = 0;
  const auto header = HeaderParser(read_header_text(path, file, file_bytes, offset)).parse();
  if (!header) fail(path, "damaged .npy header");
  ArgumentLayout layout;
  layout.dtype = checked_dtype(path, *header);
  layout.shape = header->shape;
  const std::uint64_t bytes = layout.bytes();
  if (bytes != file_bytes - offset)
    fail(path, fmt::format("{} bytes of data where {} need {}: truncated or damaged", file_bytes - offset,
                           describe(layout.dtype, layout.shape), bytes));
  return {layout.dtype, layout.shape, offset, bytes};
}

// Read, not mapped: if another process truncates a mapped file, a signal would end this one.
void read_npy_data(const std::filesystem::path& path, const NpyHeader& header, std::span<std::byte> data) {
  std::ifstream file(path, std::ios::binary);
  if (!file.seekg(static_cast<std::streamoff>(header.offset)) ||
      read_exactly(file, reinterpret_cast<char*>(data.data()), header.bytes) < header.bytes)
    fail(path, "the data could not be read");
}

NpyArray read_npy(const std::filesystem::path& path) {
  const NpyHeader header = read_npy_header(path);
  NpyArray array{header.dtype, header.shape, std::vector<std::byte>(header.bytes)};
  read_npy_data(path, header, array.data);
  return array;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  ArgumentLayout layout;
  layout.dtype = array.dtype;
  layout.shape = array.shape;
  if (layout.bytes() != array.data.size())
    throw std::invalid_argument("write_npy: the data are not as long as the shape says");
  std::string shape;
  for (const std::uint64_t extent : array.shape) shape += std::to_string(extent) + ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code_of(array.dtype), shape);
  // The data begin at a multiple of 64 bytes, so that they can be mapped; the header ends with a newline.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  if (header.size() > 0xFFFF) throw std::invalid_argument("write_npy: too many dimensions");
  std::string bytes(magic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  system::write_file_atomically(path, bytes);
}

}  // namespace xtune::validate

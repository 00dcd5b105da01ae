// The .npy header is a Python dict literal; the data follow it in memory order.
#include "core/validate/npy.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

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

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::io, path.string() + ": " + what);
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

/// NumPy writes the dict of a Python program, whose keys may be in any order.
std::optional<Header> parse_header(const std::string& text) {
  static const std::string entry =
      R"re(\s*(?:'(?:descr|fortran_order|shape)'|"(?:descr|fortran_order|shape)")\s*:\s*)re"
      R"re((?:'[^']*'|"[^"]*"|True|False|\((?:\s*\d+\s*,)*(?:\s*\d+)?\s*\))\s*)re";
  static const RE2 dict(R"re(\s*\{)re" + entry + "(?:," + entry + R"re()*,?\s*\}\s*)re", RE2::Latin1);
  static const RE2 structured(R"re(['"]descr['"]\s*:\s*\[)re", RE2::Latin1);
  static const RE2 descr(R"re(['"]descr['"]\s*:\s*['"]([^'"]*))re", RE2::Latin1);
  static const RE2 order(R"re(['"]fortran_order['"]\s*:\s*(True|False))re", RE2::Latin1);
  static const RE2 shape(R"re(['"]shape['"]\s*:\s*\(([^)]*)\))re", RE2::Latin1), extent(R"re(\s*(\d+)\s*,?\s*)re");
  Header header;
  if (RE2::PartialMatch(text, structured)) return Header{"a structured type", false, {}};
  std::string fortran, extents;
  if (!RE2::FullMatch(text, dict) || !RE2::PartialMatch(text, descr, &header.descr) ||
      !RE2::PartialMatch(text, order, &fortran) || !RE2::PartialMatch(text, shape, &extents))
    return std::nullopt;
  header.fortran_order = fortran == "True";
  re2::StringPiece rest(extents);
  std::uint64_t value = 0;
  while (RE2::Consume(&rest, extent, &value)) header.shape.push_back(value);
  const bool fits = RE2::FullMatch(rest, R"(\s*)") && header.shape.size() <= rank_limit;  // else one overflows
  return fits ? std::optional(header) : std::nullopt;
}

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
                     "array.view('u2') or array.view('u1'))",
                     base::printable(descr, 60)));
  if (descr[0] == '>') fail(path, "big-endian data are not supported; save array.newbyteorder('<')");
  if (header.fortran_order && header.shape.size() > 1)
    fail(path, "Fortran order is not supported; save numpy.ascontiguousarray(array)");
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
  if (version < 1 || version > 3) fail(path, fmt::format(".npy version {}.{}; known: 1 to 3", version, start[7]));
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
  const auto header = parse_header(read_header_text(path, file, file_bytes, offset));
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

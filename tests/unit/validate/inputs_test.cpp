// Input fills, layouts and .npy files, with the absurd and the damaged.
#include "core/validate/inputs.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"
#include "core/validate/npy.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;

namespace {

ArgumentLayout layout_of(DType dtype, std::vector<std::uint64_t> shape, Fill fill = Fill::automatic) {
  ArgumentLayout layout;
  layout.name = "A";
  layout.dtype = dtype;
  layout.shape = std::move(shape);
  layout.fill = fill;
  return layout;
}

std::vector<std::byte> bytes_of(const ArgumentLayout& layout, std::uint64_t seed = 1) {
  std::vector<std::byte> data(layout.bytes());
  fill_input(layout, seed, data);
  return data;
}

std::vector<double> values_of(const ArgumentLayout& layout, std::uint64_t seed = 1) {
  const auto data = bytes_of(layout, seed);
  std::vector<double> values(layout.elements());
  decode(layout.dtype, data.data(), values);
  return values;
}

std::set<double> distinct(const std::vector<double>& values) { return {values.begin(), values.end()}; }

template <class Call>
ErrorKind kind_of(const Call& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::io;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string npy_text(const std::string& header, const std::string& data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  if (version > 1) text += std::string(2, '\0');
  return text + header + data;
}

}  // namespace

TEST_CASE("layouts of absurd size") {
  const std::uint64_t huge = std::uint64_t{1} << 40;
  CHECK(layout_of(DType::f32, {}).elements() == 1);
  CHECK(layout_of(DType::f32, {3, 5}).bytes() == 60);
  CHECK(layout_of(DType::f32, {huge, 0, huge}).bytes() == 0);
  CHECK(layout_of(DType::f64, {huge, huge}).elements() == ~std::uint64_t{0});
  std::string message;
  CHECK(kind_of([&] { layout_bytes(layout_of(DType::f64, {huge, huge})); }, &message) == ErrorKind::invalid_argument);
  CHECK(message.find("'A' is f64[1099511627776, 1099511627776]") != std::string::npos);
  // 2^62 elements of 8 bytes: a product that wraps to 0.
  CHECK(kind_of([] {
          layout_bytes(layout_of(DType::f64, {std::uint64_t{1} << 31, std::uint64_t{1} << 31}));
        }) == ErrorKind::invalid_argument);
  CHECK(kind_of([] { layout_bytes(layout_of(DType::u8, {std::uint64_t{1} << 55})); }) == ErrorKind::invalid_argument);
  CHECK(kind_of([&] { layout_bytes(layout_of(DType::f32, {100}), 399); }, &message) == ErrorKind::invalid_argument);
  CHECK(layout_bytes(layout_of(DType::f32, {100}), 400) == 400);
  std::vector<std::byte> wrong(8);
  CHECK_THROWS_AS(fill_input(layout_of(DType::f32, {3}), 1, wrong), std::invalid_argument);
}

TEST_CASE("fills depend only on seed, name and index") {
  ArgumentLayout layout = layout_of(DType::f32, {300000});
  const auto whole = bytes_of(layout);
  CHECK(bytes_of(layout) == whole);
  CHECK(bytes_of(layout, 2) != whole);
  // A shorter argument is the longer one's beginning, however many threads either took.
  const auto start = bytes_of(layout_of(DType::f32, {1000}));
  CHECK(std::memcmp(start.data(), whole.data(), start.size()) == 0);
  layout.name = "B";
  CHECK(bytes_of(layout) != whole);
}

TEST_CASE("fills are the same on every machine and in every version") {
  const auto values = values_of(layout_of(DType::f64, {3}));
  const std::uint64_t key = mix64(mix64(1) ^ 'A');
  for (std::uint64_t i = 0; i < 3; ++i)
    CHECK(values[i] == 2 * ((static_cast<double>(mix64(key + i) >> 12) + 0.5) * 0x1.0p-52) - 1);
}

TEST_CASE("fill rules keep their ranges") {
  const std::vector<std::uint64_t> shape{20000};
  const std::set<double> small{-2, -1, 0, 1, 2}, small_unsigned{0, 1, 2}, bits{0, 1};
  for (const DType type : {DType::i8, DType::i16, DType::i32, DType::i64, DType::f8e4m3, DType::f8e5m2})
    CHECK(distinct(values_of(layout_of(type, shape))) == small);
  for (const DType type : {DType::u8, DType::u16, DType::u32, DType::u64})
    CHECK(distinct(values_of(layout_of(type, shape))) == small_unsigned);
  CHECK(distinct(values_of(layout_of(DType::boolean, shape))) == bits);
  CHECK(distinct(values_of(layout_of(DType::boolean, shape, Fill::uniform))) == bits);
  CHECK(distinct(values_of(layout_of(DType::f16, shape, Fill::integer))) == small);
  CHECK(distinct(values_of(layout_of(DType::bf16, shape, Fill::one))) == std::set<double>{1});
  CHECK(distinct(values_of(layout_of(DType::i32, shape, Fill::zero))) == std::set<double>{0});
  CHECK(distinct(values_of(layout_of(DType::u8, shape, Fill::uniform))).size() == 256);
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    double sum = 0;
    for (const double value : values_of(layout_of(type, shape))) {
      CHECK_MESSAGE(std::abs(value) <= 1, "value " << value);
      sum += value;
    }
    CHECK(std::abs(sum / 20000) < 0.02);
  }
  for (const double value : values_of(layout_of(DType::f64, shape))) CHECK(std::abs(value) < 1);
}

TEST_CASE("Random integers of a range: each of them, and no others") {
  for (const DType type : {DType::i8, DType::u16, DType::i32, DType::u64}) {
    ArgumentLayout layout = layout_of(type, {2000});
    layout.fill = Fill::integers;
    layout.numbers = {3, 8};
    CHECK(distinct(values_of(layout)) == std::set<double>{3, 4, 5, 6, 7});
  }
  ArgumentLayout whole = layout_of(DType::i64, {4000});
  whole.fill = Fill::integers;
  whole.numbers = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  const std::vector<double> values = values_of(whole);
  CHECK(*std::min_element(values.begin(), values.end()) < -9.2e18);
  CHECK(*std::max_element(values.begin(), values.end()) > 9.2e18);
}

TEST_CASE("Sorted numbers ascend in each row, over the whole range") {
  for (const DType type : {DType::boolean, DType::i8, DType::u16, DType::i64, DType::u64, DType::f16, DType::f64}) {
    CAPTURE(to_string(type));
    const std::vector<double> values = values_of(layout_of(type, {3, 1000}, Fill::sorted));
    for (std::size_t row = 0; row < 3; ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * 1000);
      CHECK(std::is_sorted(begin, begin + 1000));
    }
    const double low =
        std::map<DType, double>{{DType::i8, -128}, {DType::i64, -0x1p63}, {DType::f16, -1}, {DType::f64, -1}}[type];
    const double high =
        std::map<DType, double>{{DType::boolean, 1},  {DType::i8, 127}, {DType::u16, 65535}, {DType::i64, 0x1p63},
                                {DType::u64, 0x1p64}, {DType::f16, 1},  {DType::f64, 1}}[type];
    CHECK(values[0] >= low);
    CHECK(values[0] <= low + (high - low) / 500);
    CHECK(values[999] <= high);
    CHECK(values[999] >= high - (high - low) / 500);
  }
  ArgumentLayout layout = layout_of(DType::i32, {2000}, Fill::sorted);
  layout.numbers = {-3, 4};
  const std::vector<double> values = values_of(layout);
  CHECK(std::is_sorted(values.begin(), values.end()));
  CHECK(distinct(values) == std::set<double>{-3, -2, -1, 0, 1, 2, 3});
}

TEST_CASE("A permutation has each number of a row once, and another order in each row") {
  const std::vector<double> values = values_of(layout_of(DType::u16, {2, 500}, Fill::permutation));
  const std::vector<double> first(values.begin(), values.begin() + 500), second(values.begin() + 500, values.end());
  for (const auto& row : {first, second}) {
    CHECK(distinct(row).size() == 500);
    CHECK(*std::max_element(row.begin(), row.end()) == 499);
    CHECK_FALSE(std::is_sorted(row.begin(), row.end()));
  }
  CHECK(first != second);
}

TEST_CASE("A one-hot row has as many ones as asked for, at all places alike") {
  for (const DType type : {DType::boolean, DType::u8, DType::f32, DType::bf16}) {
    ArgumentLayout layout = layout_of(type, {4000, 8}, Fill::one_hot);
    for (const std::size_t ones : {1, 3, 8}) {
      layout.numbers = {static_cast<std::int64_t>(ones)};
      if (ones == 1) layout.numbers.clear();
      const std::vector<double> values = values_of(layout);
      std::vector<double> by_place(8);
      for (std::size_t row = 0; row < 4000; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < 8; ++i) {
          sum += values[row * 8 + i];
          by_place[i] += values[row * 8 + i];
        }
        REQUIRE(sum == static_cast<double>(ones));
      }
      for (const double count : by_place) CHECK(std::abs(count - 500.0 * static_cast<double>(ones)) < 150);
    }
  }
}

TEST_CASE("Offsets begin at 0, never descend, end at their number, and make rows of many lengths") {
  ArgumentLayout layout = layout_of(DType::i32, {1001}, Fill::offsets);
  layout.numbers = {5000};
  const std::vector<double> values = values_of(layout);
  CHECK(values.front() == 0);
  CHECK(values.back() == 5000);
  CHECK(std::is_sorted(values.begin(), values.end()));
  double longest = 0, empty = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    longest = std::max(longest, values[i + 1] - values[i]);
    empty += values[i + 1] == values[i];
  }
  CHECK(longest > 15);
  CHECK(empty > 50);
  layout.numbers = {0};
  CHECK(distinct(values_of(layout)) == std::set<double>{0});
}

TEST_CASE("A formula makes each element from its place") {
  ArgumentLayout layout = layout_of(DType::i32, {3, 2, 4}, Fill::formula);
  layout.formula = "100 * i0 + 10 * i1 + i2 + (index - 8 * i0 - 4 * i1 - i2) * N";
  layout.names = {{"N", 5}};
  const std::vector<double> values = values_of(layout);
  for (std::size_t i = 0; i < 24; ++i)
    CHECK(values[i] == static_cast<double>(100 * (i / 8) + 10 * (i / 4 % 2) + i % 4));
  layout.formula = "N / 2 if index % 2 else -0.25";
  layout.dtype = DType::f32;
  CHECK(distinct(values_of(layout)) == std::set<double>{-0.25, 2.5});
  layout.dtype = DType::f64;
  layout.formula = "2**63";
  CHECK(distinct(values_of(layout)) == std::set<double>{0x1p63});
  // Many pieces, each by another thread.
  layout = layout_of(DType::u32, {300'000}, Fill::formula);
  layout.formula = "index * 2654435769 % 2**32";
  const std::vector<double> scattered = values_of(layout);
  for (std::size_t i = 0; i < scattered.size(); i += 997)
    CHECK(scattered[i] == static_cast<double>(static_cast<std::uint32_t>(i * 2654435769)));
}

TEST_CASE("An element of a formula that has no value in the type is named") {
  const auto refused = [](DType type, const std::string& formula, bool is_seen_early) {
    ArgumentLayout layout = layout_of(type, {10}, Fill::formula);
    layout.formula = formula;
    std::string message;
    if (is_seen_early)
      CHECK(kind_of([&] { check_contents(layout); }, &message) == ErrorKind::invalid_argument);
    else
      CHECK_NOTHROW(check_contents(layout));
    CHECK(kind_of([&] { values_of(layout); }, &message) == ErrorKind::invalid_argument);
    return message;
  };
  CHECK(refused(DType::i8, "index * 100", true) ==
        "argument 'A' i8[10]: fill by formula \"index * 100\": element 2: 200 does not fit");
  CHECK(refused(DType::i32, "1 // (index - 4)", false).find("element 4: division by zero") != std::string::npos);
  CHECK(refused(DType::u8, "index - 1", true).find("element 0: -1 does not fit") != std::string::npos);
  CHECK(refused(DType::i32, "index / 2", true).find("element 1: 0.5 does not fit") != std::string::npos);
  CHECK(refused(DType::i32, "i0 + i1", true).find("'i1' is the index in a dimension that it does not have") !=
        std::string::npos);
  CHECK(refused(DType::i64, "2.0**63", true).find("does not fit") != std::string::npos);
  CHECK(refused(DType::u64, "2.0**64", true).find("does not fit") != std::string::npos);
  CHECK(refused(DType::f32, "'x'", true).find("element 0: x does not fit") != std::string::npos);
}

TEST_CASE("Numbers that do not fit type or shape are refused") {
  const auto refused = [](Fill fill, DType type, std::vector<std::int64_t> numbers, std::uint64_t length,
                          const std::string& words) {
    ArgumentLayout layout = layout_of(type, {2, length}, fill);
    layout.numbers = std::move(numbers);
    std::string message;
    CHECK(kind_of([&] { check_contents(layout); }, &message) == ErrorKind::invalid_argument);
    CHECK_MESSAGE(message.find("argument 'A' ") == 0, message);
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused(Fill::integers, DType::i32, {}, 4, "it takes the first integer and the one after the last");
  refused(Fill::integers, DType::f16, {0, 3000}, 4,
          "2999 does not fit f16, which has all integers only from -2048 to 2048: keep");
  refused(Fill::integers, DType::f32, {0, 16777218}, 4, "16777217 does not fit f32");
  ArgumentLayout all = layout_of(DType::f32, {2, 4}, Fill::integers);
  all.numbers = {-16777216, 16777217};  // ends at 2^24
  CHECK_NOTHROW(check_contents(all));
  refused(Fill::integers, DType::u8, {-1, 3}, 4, "-1 does not fit u8");
  refused(Fill::sorted, DType::i32, {4}, 4, "it takes no number, or two");
  refused(Fill::sorted, DType::i8, {0, 129}, 4, "128 does not fit i8");
  refused(Fill::permutation, DType::u8, {}, 257, "rows of 257 elements have more numbers than u8 represents");
  refused(Fill::permutation, DType::u8, {3}, 4, "it takes no number");
  refused(Fill::offsets, DType::i32, {}, 4, "it takes the number of elements that the rows have");
  refused(Fill::offsets, DType::f32, {9}, 4, "it needs an integer type");
  refused(Fill::offsets, DType::u8, {256}, 4, "256 does not fit u8");
  refused(Fill::offsets, DType::i32, {-1}, 4, "the number of elements is negative");
  refused(Fill::offsets, DType::i32, {9}, 1, "N rows have N + 1 offsets");
  refused(Fill::one_hot, DType::u8, {5}, 4, "a row of 4 elements has from 0 to 4 ones");
  refused(Fill::normal, DType::f32, {5}, 4, "it takes no number");
  for (const DType type : {DType::i8, DType::i64, DType::u64, DType::f16}) {
    ArgumentLayout layout = layout_of(type, {100}, Fill::integers);
    layout.numbers = {type == DType::u64 ? 0 : -128, 128};
    CHECK_NOTHROW(check_contents(layout));
  }
}

TEST_CASE("normal fills have mean 0 and standard deviation 1") {
  for (const Fill fill : {Fill::normal, Fill::randn}) {
    double sum = 0, squares = 0, largest = 0;
    const auto values = values_of(layout_of(DType::f64, {200000}, fill));
    for (const double value : values) {
      sum += value;
      squares += value * value;
      largest = std::max(largest, std::abs(value));
    }
    CHECK(std::abs(sum / 200000) < 0.01);
    CHECK(std::sqrt(squares / 200000) == doctest::Approx(1).epsilon(0.01));
    CHECK(largest > 3.5);
    CHECK(largest < 9);
  }
}

TEST_CASE(".npy files come back as written") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "a.npy";
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{{}, {7}, {3, 4}, {0, 5}, {1, 1, 2, 3}})
    for (const DType type : {DType::f16, DType::f32, DType::f64, DType::i8, DType::i64, DType::u16, DType::u64,
                             DType::boolean, DType::bf16, DType::c64, DType::c128}) {
      const auto layout = layout_of(type, shape);
      write_npy(path, {type, shape, bytes_of(layout)});
      const NpyArray read = read_npy(path);
      CHECK(read.dtype == npy_storage(type));
      CHECK(read.shape == shape);
      CHECK(read.data == bytes_of(layout));
    }
}

TEST_CASE("arguments come from .npy files of their own shape and dtype") {
  const TemporaryDirectory folder;
  auto layout = layout_of(DType::bf16, {2, 3});
  const auto data = bytes_of(layout);
  layout.file = folder.path() / "a.npy";
  write_npy(layout.file, {DType::bf16, {2, 3}, data});
  CHECK(bytes_of(layout) == data);
  layout.shape = {3, 2};
  std::string message;
  CHECK(kind_of([&] { bytes_of(layout); }, &message) == ErrorKind::invalid_argument);
  CHECK(message.find("holds u16[2, 3], but argument 'A' is bf16[3, 2]") != std::string::npos);
  layout.shape = {2, 3};
  layout.dtype = DType::f16;
  CHECK(kind_of([&] { bytes_of(layout); }) == ErrorKind::invalid_argument);
}

TEST_CASE("a file of the wrong kind is refused by its header, and its data are read where they belong") {
  const TemporaryDirectory folder;
  auto layout = layout_of(DType::f32, {4});
  layout.file = folder.path() / "a.npy";
  // 8 TiB of data that take no room on the disk: reading them would take memory that there is not.
  const std::string header = npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2199023255552,), }\n", "");
  write_text(layout.file, header);
  std::error_code too_large;
  std::filesystem::resize_file(layout.file, header.size() + (std::uint64_t{4} << 41), too_large);
  std::string message;
  CHECK(kind_of([&] { check_contents(layout); }, &message) ==
        (too_large ? ErrorKind::io : ErrorKind::invalid_argument));
  if (!too_large) CHECK(message.find("holds f32[2199023255552], but argument 'A' is f32[4]") != std::string::npos);
  std::filesystem::remove(layout.file);
  layout.file.clear();
  const auto data = bytes_of(layout);
  layout.file = folder.path() / "a.npy";
  write_npy(layout.file, {DType::f32, {4}, data});
  CHECK_NOTHROW(check_contents(layout));
  CHECK(bytes_of(layout) == data);
}

TEST_CASE("headers that NumPy writes in other ways") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "a.npy";
  const std::string data(8, '\1');
  for (const char version : {1, 2, 3}) {
    write_text(path, npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n", data, version));
    CHECK(read_npy(path).shape == std::vector<std::uint64_t>{2});
  }
  write_text(path, npy_text("{\"shape\":(2),\"fortran_order\":True,\"descr\":\"=f4\"}", data));
  CHECK(read_npy(path).dtype == DType::f32);
}

TEST_CASE("damaged and foreign .npy files are refused, with the kind that fits") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "a.npy";
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", data(8, '\0');
  const auto kind = [&](const std::string& text) {
    write_text(path, text);
    return kind_of([&] { read_npy(path); });
  };
  CHECK(kind_of([&] { read_npy(folder.path() / "missing.npy"); }) == ErrorKind::io);
  CHECK(kind_of([&] { read_npy(folder.path()); }) == ErrorKind::io);
  mkfifo((folder.path() / "pipe.npy").c_str(), 0600);
  CHECK(kind_of([&] { read_npy(folder.path() / "pipe.npy"); }) == ErrorKind::io);
  CHECK(kind("") == ErrorKind::io);
  CHECK(kind("PK\3\4 this is an .npz file") == ErrorKind::io);
  CHECK(kind(npy_text(good, data.substr(1))) == ErrorKind::io);
  CHECK(kind(npy_text(good, data + "x")) == ErrorKind::io);
  CHECK(kind(npy_text(good, data, 9)) == ErrorKind::io);
  const auto whole = npy_text(good, data);
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK(kind(whole.substr(0, length)) == ErrorKind::io);
  // A header said to be 4 GiB long, and data said to be far larger than the file.
  CHECK(kind(std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12) + good) == ErrorKind::io);
  for (const char* shape :
       {"(4611686018427387904, 8)", "(18446744073709551616,)", "(-1,)", "(2.5,)", "(2", "(,)", "[2]", "(2 3)", "()"})
    CHECK(kind(npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }\n", data)) ==
          ErrorKind::io);
  for (const char* dtype : {"'>f4'", "'<c32'", "'|O'", "'<f16'", "''", "'<'", "[('a', '<f4')]", "'<U5'"})
    CHECK(kind(npy_text("{'descr': " + std::string(dtype) + ", 'fortran_order': False, 'shape': (2,), }\n", data)) ==
          ErrorKind::io);
  CHECK(kind(npy_text("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }\n", data)) == ErrorKind::io);
  CHECK(kind(npy_text("{'descr': '<f4', 'shape': (2,), }\n", data)) == ErrorKind::io);
  CHECK(kind(npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'extra': 1}\n", data)) == ErrorKind::io);
}

TEST_CASE("random bytes for a .npy file never do worse than an error") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "a.npy";
  const std::string whole =
      npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", std::string(8, '\0'));
  Random random(7);
  for (int i = 0; i < 1500; ++i) {
    std::string text = whole;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    write_text(path, text);
    try {
      const NpyArray array = read_npy(path);
      CHECK(array.data.size() == 8);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
    }
  }
}

TEST_CASE("an array that contradicts itself is not written") {
  const TemporaryDirectory folder;
  CHECK_THROWS_AS(write_npy(folder.path() / "a.npy", {DType::f32, {3}, std::vector<std::byte>(8)}),
                  std::invalid_argument);
  CHECK(kind_of([&] { write_npy("/dev/null/a.npy", {DType::f32, {2}, std::vector<std::byte>(8)}); }) == ErrorKind::io);
}

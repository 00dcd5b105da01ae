// The self-test of an exported kernel: runs its cases, and a reference kernel on the same inputs. Written by
// `xtune export`; yours to use and change under any licence.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "runtime.hpp"

namespace {

struct TestBuffer {
  const char* name;
  const char* type;
  long long elements;
  bool is_input, is_output;
  const char* file;  ///< its contents; null: random ones
  std::size_t bytes() const {
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(element_bytes(type));
  }
};

struct TestCase {
  const char* text;
  int (*call)(void* stream, void* const* buffers);
  double rtol, atol, mismatched;  ///< below 0: from the type of the output
  std::vector<TestBuffer> buffers;
};

struct ReferenceArgument {
  int buffer;  ///< -1: null; -2: a value
  unsigned char bytes[16];
};

struct Reference {
  const char* arch;
  std::size_t test;
  Image image;
  const char* symbol;
  Launch launch;
  std::vector<ReferenceArgument> arguments;
};

struct Words {
  int count;
  char** words;
  /// The word after this one; "" at the end; null if it is not there.
  const char* after(std::string_view word) const {
    for (int i = 1; i < count; ++i)
      if (words[i] == word) return i + 1 < count ? words[i + 1] : "";
    return nullptr;
  }
};

/// A float of a short format as a double.
inline double widened(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = bits & ((1u << mantissa_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1 && !(exponent_bits == 4 && mantissa != 7))
    return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * std::ldexp(exponent ? std::ldexp(1, mantissa_bits) + mantissa : mantissa,
                           std::max(exponent, 1) - static_cast<int>(bias) - mantissa_bits);
}

template <class T>
double read_as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

/// A number; of complex ones, parts are numbers of their own.
inline double element(std::string_view type, const char* at) {
  if (type == "f32" || type == "c64") return read_as<float>(at);
  if (type == "f64" || type == "c128") return read_as<double>(at);
  if (type == "f16") return widened(read_as<std::uint16_t>(at) + 0u, 5, 10);
  if (type == "bf16") return widened(static_cast<unsigned>(read_as<std::uint16_t>(at)), 8, 7);
  if (type == "f8e4m3") return widened(static_cast<unsigned char>(*at), 4, 3);
  if (type == "f8e5m2") return widened(static_cast<unsigned char>(*at), 5, 2);
  if (type == "i64") return read_as<std::int64_t>(at);
  if (type == "u64") return read_as<std::uint64_t>(at);
  if (type == "i32") return read_as<std::int32_t>(at);
  if (type == "u32") return read_as<std::uint32_t>(at);
  if (type == "i16") return read_as<std::int16_t>(at);
  if (type == "u16") return read_as<std::uint16_t>(at);
  return type == "i8" ? read_as<std::int8_t>(at) : read_as<std::uint8_t>(at);
}

/// Small numbers that every type has: multiples of 1/8 in floats, whole numbers in others.
inline std::vector<char> random_bytes(const TestBuffer& buffer) {
  std::vector<char> bytes(buffer.bytes());
  const std::string_view type = buffer.type;
  std::uint64_t state = 1;
  for (const char* letter = buffer.name; *letter; ++letter) state = state * 31 + static_cast<unsigned char>(*letter);
  const bool is_complex = type[0] == 'c';
  const std::size_t step = static_cast<std::size_t>(element_bytes(type)) / (is_complex ? 2 : 1);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int number = static_cast<int>(state >> 60) - 8;
    const float value = static_cast<float>(number) / 8;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    const unsigned sign = bits >> 31, exponent = bits >> 23 & 255, mantissa = bits >> 20 & 7;
    const auto short_float = [&](int exponent_bits, int mantissa_bits) {
      if (number == 0) return 0u;
      const unsigned biased = exponent - 127 + (1u << (exponent_bits - 1)) - 1;
      return sign << (exponent_bits + mantissa_bits) | biased << mantissa_bits | mantissa << (mantissa_bits - 3);
    };
    std::uint64_t stored = static_cast<std::uint64_t>(type[0] == 'i' ? number / 4 : (number + 8) / 6);
    if (type == "bool") stored = number > 0;
    const double wide = value;
    if (type == "f32" || type == "c64") stored = bits;
    if (type == "f64" || type == "c128") std::memcpy(&stored, &wide, sizeof wide);
    if (type == "f16") stored = short_float(5, 10);
    if (type == "bf16") stored = bits >> 16;
    if (type == "f8e4m3") stored = short_float(4, 3);
    if (type == "f8e5m2") stored = short_float(5, 3) >> 1;
    std::memcpy(bytes.data() + at, &stored, step);
  }
  return bytes;
}

inline std::vector<char> contents(const TestBuffer& buffer) {
  if (!buffer.is_input) return std::vector<char>(buffer.bytes(), '\xff');
  if (!buffer.file) return random_bytes(buffer);
  std::vector<char> bytes(buffer.bytes());
  std::ifstream file(buffer.file, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    fail("cannot read ", buffer.file, ": start the test in the directory of the sources");
  return bytes;
}

/// The unit roundoff of a type; 0 for whole numbers.
inline double roundoff(std::string_view type) {
  const int bits = type == "f64" || type == "c128"  ? 53
                   : type == "f32" || type == "c64" ? 24
                   : type == "f16"                  ? 11
                   : type == "bf16"                 ? 8
                   : type == "f8e4m3"               ? 4
                   : type == "f8e5m2"               ? 3
                                                    : 0;
  return bits ? std::ldexp(1, -bits) : 0;
}

/// Empty if the output agrees with the reference.
inline std::string difference(const TestCase& test, const TestBuffer& buffer, const std::vector<char>& found,
                              const std::vector<char>& expected) {
  const std::string_view type = buffer.type;
  const std::size_t step = static_cast<std::size_t>(element_bytes(type)) / (type[0] == 'c' ? 2 : 1);
  double squares = 0;
  for (std::size_t at = 0; at < expected.size(); at += step)
    if (const double value = element(type, &expected[at]); std::isfinite(value)) squares += value * value;
  const double u = roundoff(type), eta = u == 0 ? 0 : 2 * u + 8 * 256 * (u < 1e-12 ? u : std::ldexp(1, -24));
  const double rtol = test.rtol >= 0 ? test.rtol : eta;
  const double count = static_cast<double>(expected.size() / step);
  const double atol = test.atol >= 0 ? test.atol : eta * std::sqrt(squares / std::max(count, 1.0));
  double wrong = 0;
  std::string first;
  for (std::size_t at = 0; at < expected.size(); at += step) {
    const double a = element(type, &found[at]), b = element(type, &expected[at]);
    if (std::isnan(a) ? std::isnan(b) : a == b || std::abs(a - b) <= atol + rtol * std::abs(b)) continue;
    if (++wrong == 1)
      first = "element " + std::to_string(at / step) + " is " + std::to_string(a) + ", the reference's " +
              std::to_string(b);
  }
  return wrong > count * std::max(test.mismatched, 0.0) ? first : "";
}

/// The buffers of a test in the device's memory.
class Memory {
 public:
  Memory(Backend& backend, const TestCase& test) : backend_(backend), test_(test) {
    for (const TestBuffer& buffer : test.buffers) {
      addresses.push_back(backend.allocate(std::max<std::size_t>(buffer.bytes(), 256), nullptr, false));
      start.push_back(contents(buffer));
    }
    reset();
  }
  void reset() {
    for (std::size_t i = 0; i < start.size(); ++i) backend_.copy(addresses[i], start[i].data(), start[i].size(), true);
  }
  std::vector<char> read(std::size_t i) {
    std::vector<char> bytes(test_.buffers[i].bytes());
    backend_.synchronize();
    backend_.copy(bytes.data(), addresses[i], bytes.size(), false);
    return bytes;
  }
  std::vector<void*> addresses;
  std::vector<std::vector<char>> start;

 private:
  Backend& backend_;
  const TestCase& test_;
};

/// False: there is none for this device.
inline bool run_reference(Backend& backend, const std::vector<Reference>& references, std::size_t number,
                          Memory& memory) {
  const Reference* best = nullptr;
  for (const Reference& each : references)
    if (each.test == number && backend.fit(each.arch) > (best ? backend.fit(best->arch) : 0)) best = &each;
  if (!best) return false;
  void* const function = backend.load(best->image, best->symbol, best->launch);
  const void* null = nullptr;
  std::vector<void*> parameters;
  for (const ReferenceArgument& each : best->arguments)
    parameters.push_back(each.buffer >= 0 ? static_cast<void*>(&memory.addresses[static_cast<std::size_t>(each.buffer)])
                         : each.buffer == -1 ? static_cast<void*>(&null)
                                             : const_cast<unsigned char*>(each.bytes));
  if (const int status = backend.launch(function, best->launch, nullptr, parameters.data()))
    fail("the reference kernel: ", backend.text(status));
  return true;
}

inline void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream file(path, std::ios::binary);
  if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
    throw std::runtime_error("cannot write " + path);
}

/// Nanoseconds that a call takes on the CPU; its kernel runs meanwhile.
inline double call_ns(Backend& backend, const TestCase& test, Memory& memory) {
  constexpr int calls = 50;  // as many as the driver queues without waiting
  double best = 1e300;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) {
    backend.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) test.call(nullptr, memory.addresses.data());
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / calls);
  }
  backend.synchronize();
  return best;
}

/// Prints the results of one case; whether they are right.
inline bool run_case(Backend& backend, const std::vector<TestCase>& cases, const std::vector<Reference>& references,
                     std::size_t number, const Words& words, const char* (*error)()) {
  const TestCase& test = cases[number];
  Memory memory(backend, test);
  if (test.call(nullptr, memory.addresses.data()) != 0)
    return std::printf("FAILED %s: %s\n", test.text, error()), false;
  std::vector<std::vector<char>> found;
  for (std::size_t i = 0; i < test.buffers.size(); ++i) found.push_back(memory.read(i));
  memory.reset();
  const bool has_reference = run_reference(backend, references, number, memory);
  bool passed = true;
  std::string text;
  for (std::size_t i = 0; i < test.buffers.size(); ++i) {
    const TestBuffer& buffer = test.buffers[i];
    if (const char* const folder = words.after("--dump"))
      write_file(std::string(folder) + "/" + std::to_string(number) + "." + buffer.name,
                 buffer.is_output ? found[i] : memory.start[i]);
    if (!buffer.is_output) continue;
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const char byte : found[i]) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    text += std::string(" ") + buffer.name + "=" + digits;
    const std::string why = has_reference ? difference(test, buffer, found[i], memory.read(i)) : "";
    if (!why.empty()) text += " (" + why + ")", passed = false;
  }
  if (words.after("--time"))
    text += " " + std::to_string(static_cast<long>(call_ns(backend, test, memory))) + " ns a call";
  std::printf("%s %s:%s%s\n", passed ? "ok" : "FAILED", test.text, text.c_str(),
              has_reference ? "" : " (no reference: only run)");
  return passed;
}

/// Exit code 0: all is right; 1: a case failed; 77: no device. --time: the time of a call; --dump DIR: writes inputs
/// and outputs.
template <std::size_t N>
int self_test(const Words& words, const OpenBackend (&open)[N], const std::vector<TestCase>& cases,
              const std::vector<Reference>& references, const char* (*error)()) {
  Backend* backend = nullptr;
  try {
    backend = &open_first(open);
    backend->select_device();
  } catch (const Failure& failure) {
    std::printf("%s\n", failure.what());
    return 77;
  }
  bool passed = true;
  try {
    for (std::size_t i = 0; i < cases.size(); ++i)
      passed = run_case(*backend, cases, references, i, words, error) && passed;
  } catch (const std::exception& failure) {
    std::printf("FAILED: %s\n", failure.what());
    return 1;
  }
  return passed ? 0 : 1;
}

}  // namespace

// Reads procfs and sysfs, and searches PATH. Caches: clflushopt or clflush on x86-64, dc civac on 64-bit Arm, where
// Linux lets programs use it.
#include "backends/cpu/cpu.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/text.hpp"
#include "core/build/compiler_places.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/mman.h>
#endif

namespace xtune::cpu {
namespace {

constexpr std::int64_t kib = 1024;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The leading number, or 0.
std::int64_t leading_number(std::string_view text) {
  const auto start = std::min(text.find_first_not_of(" \t"), text.size());
  std::int64_t number = 0;
  std::from_chars(text.data() + start, text.data() + text.size(), number);
  return number;
}

/// The text after the colon on the first line that begins with `label`.
std::string field(const std::filesystem::path& path, std::string_view label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(label) || colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

/// "512K", "32768K", "32M" as sysfs writes them.
std::int64_t cache_bytes(const std::string& text) {
  const std::int64_t number = leading_number(text);
  if (text.ends_with('K')) return number * kib;
  if (text.ends_with('M')) return number * kib * kib;
  return number;
}

std::int64_t last_level_cache_bytes(const std::filesystem::path& root) {
  std::int64_t level = 0, bytes = 0;
  for (int i = 0; i < 10; ++i) {
    const auto folder = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(i));
    const std::int64_t this_level = leading_number(first_line(folder / "level"));
    if (this_level < level || this_level == 0 || first_line(folder / "type") == "Instruction") continue;
    level = this_level;
    bytes = cache_bytes(first_line(folder / "size"));
  }
  return bytes;
}

constexpr std::size_t usual_line_bytes = 64;

#if defined(__x86_64__)

// clflushopt does not wait for the line before it.
[[gnu::target("clflushopt")]] void evict_independently(const std::byte* line, const std::byte* end) noexcept {
  for (; line < end; line += usual_line_bytes) _mm_clflushopt(const_cast<std::byte*>(line));
}

void evict_in_order(const std::byte* line, const std::byte* end) noexcept {
  for (; line < end; line += usual_line_bytes) _mm_clflush(line);
}

bool has_clflushopt() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & bit_CLFLUSHOPT) != 0;
}

std::size_t line_bytes() noexcept { return usual_line_bytes; }

void evict(const std::byte* line, const std::byte* end) noexcept {
  static const bool independently = has_clflushopt();
  independently ? evict_independently(line, end) : evict_in_order(line, end);
  _mm_mfence();
}

#elif defined(__aarch64__)

/// The smallest line of all data caches.
std::size_t line_bytes() noexcept {
  std::uint64_t cache_type = 0;
  asm("mrs %0, ctr_el0" : "=r"(cache_type));
  return std::size_t{4} << (cache_type >> 16 & 15);
}

void evict(const std::byte* line, const std::byte* end) noexcept {
  for (const std::size_t step = line_bytes(); line < end; line += step)
    asm volatile("dc civac, %0" : : "r"(line) : "memory");
  asm volatile("dsb ish" : : : "memory");
}

#else

std::size_t line_bytes() noexcept { return usual_line_bytes; }
void evict(const std::byte*, const std::byte*) noexcept {}

#endif

}  // namespace

device::DeviceInfo cpu_info(const std::filesystem::path& root) {
  device::DeviceInfo info;
  info.backend = "host";
  info.arch = own_arch();
  info.vendor = "cpu";
  info.name = base::printable(field(root / "proc/cpuinfo", "model name"), 120);
  if (info.name.empty()) {  // Linux on Arm has only numbers, such as 0x41 0xd4f of Grace
    info.name = info.arch + " CPU";
    for (const char* label : {"CPU implementer", "CPU part"})
      if (const std::string number = base::printable(field(root / "proc/cpuinfo", label), 20); !number.empty())
        info.name += " " + number;
  }
  info.warp_size = 32;
  info.compute_units = static_cast<int>(system::usable_cpus());
  if (const std::int64_t quota = system::cpu_quota_milli(root); quota < info.compute_units * std::int64_t{1000})
    info.cpu_quota_milli = quota;
  info.shared_per_block = 48 * kib;
  info.shared_per_block_optin = info.shared_per_compute_unit = 227 * kib;
  info.registers_per_block = info.registers_per_compute_unit = 65536;
  info.max_threads_per_compute_unit = info.max_threads_per_block;
  info.l2_bytes = std::min(last_level_cache_bytes(root), 32 * kib * kib);
  info.memory_bytes = leading_number(field(root / "proc/meminfo", "MemTotal")) * kib;
  info.clock_khz = leading_number(first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  if (info.clock_khz == 0) info.clock_khz = leading_number(field(root / "proc/cpuinfo", "cpu MHz")) * 1000;
  return info;
}

std::string find_compiler() {
  if (const char* wanted = std::getenv("XTUNE_HOST_CXX"); wanted && *wanted) {
    std::string found = system::find_program(wanted);
    if (found.empty())
      throw system::NotInstalled(std::string("XTUNE_HOST_CXX names '") + wanted +
                                 "', which is not a program here: give the path of g++ or clang++, or unset it");
    return found;
  }
  for (const char* name : {"g++", "clang++"})
    if (std::string found = system::find_program(name); !found.empty()) return found;
  if (std::string found = build::zig_compiler(); !found.empty()) return found;
  throw system::NotInstalled(
      "neither g++ nor clang++ is in PATH: the host backend compiles kernels with them; install one (Debian: "
      "g++; beside xtune's wheel: pip install 'xtune[host]'), or name one in XTUNE_HOST_CXX");
}

const std::vector<std::string>& known_host_archs() {
#if defined(__x86_64__)
  static const std::vector<std::string> archs = {"x86_64", "x86_64_v2", "x86_64_v3", "x86_64_v4"};
#else
  static const std::vector<std::string> archs = {"aarch64"};
#endif
  return archs;
}

std::string own_arch() {
#if defined(__x86_64__)
  // As Linux names them. Not by __builtin_cpu_supports, which finds nothing in a program that Zig linked.
  static const std::vector<std::string> features = base::split(field("/proc/cpuinfo", "flags"), ' ');
  const auto all = [](auto... names) {
    return (... && (std::find(features.begin(), features.end(), names) != features.end()));
  };
  if (!all("pni", "ssse3", "sse4_1", "sse4_2", "popcnt")) return "x86_64";
  if (!all("avx", "avx2", "bmi1", "bmi2", "fma")) return "x86_64_v2";
  if (!all("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")) return "x86_64_v3";
  return "x86_64_v4";
#else
  return "aarch64";
#endif
}

bool runs_on(const std::string& arch, const std::string& own) {
  const auto& known = known_host_archs();
  const auto needed = std::find(known.begin(), known.end(), arch);
  return needed != known.end() && needed <= std::find(known.begin(), known.end(), own);
}

std::string arch_flag(const std::string& arch) {
  const auto& known = known_host_archs();
  if (std::find(known.begin(), known.end(), arch) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::invalid_argument, "the host backend does not compile for '" + base::printable(arch, 80) +
                                                 "'" + base::did_you_mean(arch, known) + "; here it knows " + names);
  }
  std::string level = arch;
  if (level == "aarch64") return "-march=armv8-a";
  std::replace(level.begin(), level.end(), '_', '-');
  return "-march=x86-64" + level.substr(6);
}

void evict_lines(std::span<const std::byte> memory) noexcept {
  if (memory.empty()) return;
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % line_bytes();
  evict(memory.data() - before, memory.data() + memory.size());
}

void drop_translations() noexcept {
#if defined(__x86_64__)
  // Linux drops all translations of the process when more than 33 pages lose a permission. These are the zero page.
  constexpr std::size_t bytes = std::size_t{64} * 4096;
  static void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) return;
  mprotect(pages, bytes, PROT_NONE);
  mprotect(pages, bytes, PROT_READ);
#endif
}

void overwrite_lines(std::span<std::byte> memory, std::byte value) noexcept {
  // Not memset, which writes much memory past the caches.
  for (std::size_t at = 0; at < memory.size(); at += usual_line_bytes)
    *static_cast<volatile std::byte*>(memory.data() + at) = value;
}

}  // namespace xtune::cpu

#include "emulator/host_calls.hpp"

#include <fmt/printf.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "emulator/memory.hpp"

namespace xtune::emulator {
namespace {

constexpr std::size_t words_of_lane = 8, lanes_of_packet = 64;
constexpr std::uint32_t service_print = 2;

// The first word of a lane: whether a message begins or ends, the number of words that follow, and the message.
constexpr std::uint64_t begins = 1, ends = 2;
constexpr int count_shift = 5, message_shift = 8;

/// The words of a message after its first one: the format, and its arguments.
class PrintArguments {
 public:
  PrintArguments(const std::vector<std::uint64_t>& message, std::size_t next) : message_(message), next_(next) {}

  std::uint64_t word() { return next_ < message_.size() ? message_[next_++] : 0; }
  /// Texts end with a zero, and fill whole words.
  std::string text() {
    std::string bytes;
    while (next_ < message_.size()) {
      const std::uint64_t word = message_[next_++];
      for (int shift = 0; shift < 64; shift += 8) {
        const char one = static_cast<char>(word >> shift & 0xff);
        if (one == 0) return bytes;
        bytes += one;
      }
    }
    return bytes;
  }

 private:
  const std::vector<std::uint64_t>& message_;
  std::size_t next_;
};

/// The value of an integer conversion: "hh", "h" and none are narrower than a word.
std::int64_t narrowed(std::uint64_t word, std::string_view length, bool is_signed) {
  const int bits = length == "hh" ? 8 : length == "h" ? 16 : length.empty() ? 32 : 64;
  const int unused = 64 - bits;
  if (is_signed) return static_cast<std::int64_t>(word << unused) >> unused;
  return static_cast<std::int64_t>(word << unused >> unused);
}

/// One conversion: "%-8.3" with its length ("ll") and its letter.
std::string converted(const std::string& flags, std::string_view length, char letter, PrintArguments& arguments) {
  constexpr std::string_view of_integers = "diouxX", of_reals = "aAeEfFgG";
  if (of_integers.find(letter) != std::string_view::npos) {
    const bool is_signed = letter == 'd' || letter == 'i';
    const std::int64_t value = narrowed(arguments.word(), length, is_signed);
    if (is_signed) return fmt::sprintf(flags + letter, value);
    return fmt::sprintf(flags + letter, static_cast<std::uint64_t>(value));
  }
  if (of_reals.find(letter) != std::string_view::npos)
    return fmt::sprintf(flags + letter, std::bit_cast<double>(arguments.word()));
  if (letter == 's') return fmt::sprintf(flags + letter, arguments.text());
  if (letter == 'c') return fmt::sprintf(flags + letter, static_cast<char>(arguments.word()));
  if (letter == 'p') return fmt::sprintf("%#x", arguments.word());
  arguments.word();
  return {};
}

/// As printf.
std::string printed(const std::string& format, PrintArguments& arguments) {
  std::string text;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || format.substr(at, 2) == "%%") {
      text += format[at];
      at += format[at] == '%' ? 1 : 0;
      continue;
    }
    std::string flags = "%";
    for (++at; at < format.size() && std::string_view("-+ #0123456789.*").find(format[at]) != std::string_view::npos;
         ++at)
      flags += format[at] == '*' ? std::to_string(static_cast<std::int32_t>(arguments.word())) : format.substr(at, 1);
    const std::size_t length = at;
    while (at < format.size() && std::string_view("hlLqjzt").find(format[at]) != std::string_view::npos) ++at;
    if (at < format.size())
      text += converted(flags, std::string_view(format).substr(length, at - length), format[at], arguments);
  }
  return text;
}

}  // namespace

struct HostCalls::Header {
  std::uint64_t next, active;
  std::uint32_t service, control;  ///< control: bit 0 is set until the call is answered
};

struct HostCalls::Buffer {
  Header* headers;
  std::uint64_t* payloads;  ///< words_of_lane for each lane of each packet
  void* doorbell;           ///< a signal that is counted up for each call
  std::uint64_t free_stack, ready_stack;
  std::uint64_t index_mask;  ///< of the packets' pointers; the bits above are a tag that changes with each use
  std::uint64_t signal[8];   ///< amd_signal_t: kind, value, and no mailbox
};

// Kernels keep a pointer of 0 for an empty stack, so that of the first packet begins with a tag.
HostCalls::HostCalls(std::size_t waves) {
  const std::size_t packets = std::bit_ceil(std::max<std::size_t>(waves, 2));
  const std::size_t headers_at = (sizeof(Buffer) + 63) / 64 * 64;
  const std::size_t payloads_at = (headers_at + packets * sizeof(Header) + 63) / 64 * 64;
  bytes_ = payloads_at + packets * lanes_of_packet * words_of_lane * sizeof(std::uint64_t);
  memory_.reset(std::calloc(bytes_, 1));  // pages that no wave uses cost nothing
  if (!memory_) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(memory_.get());
  Buffer& all = buffer();
  all.headers = reinterpret_cast<Header*>(begin + headers_at);
  all.payloads = reinterpret_cast<std::uint64_t*>(begin + payloads_at);
  all.doorbell = all.signal;
  all.index_mask = packets - 1;
  for (std::size_t i = 0; i < packets; ++i) {
    all.headers[i].next = all.free_stack;
    all.free_stack = i == 0 ? packets : i;
  }
}

HostCalls::Buffer& HostCalls::buffer() const noexcept { return *static_cast<Buffer*>(memory_.get()); }

void HostCalls::add_to(Memory& memory) const { memory.add(memory_.get(), bytes_, true); }

std::uint32_t HostCalls::serve() {
  Buffer& all = buffer();
  std::uint64_t pointer = std::exchange(all.ready_stack, 0);
  while (pointer != 0) {
    const std::uint64_t index = pointer & all.index_mask;
    Header& header = all.headers[index];
    if (header.service != service_print) return std::max(header.service, 1u);
    for (std::size_t lane = 0; lane < lanes_of_packet; ++lane)
      if (header.active >> lane & 1) answer(all.payloads + (index * lanes_of_packet + lane) * words_of_lane);
    pointer = header.next;
    header.control &= ~1u;
  }
  return 0;
}

void HostCalls::answer(std::uint64_t* slot) {
  std::uint64_t first = slot[0];
  if (first & begins) first = (first & 0xff & ~begins) | ++messages_begun_ << message_shift;
  std::vector<std::uint64_t>& message = messages_[first >> message_shift];
  const auto count = static_cast<std::ptrdiff_t>(first >> count_shift & 7);
  message.insert(message.end(), slot + 1, slot + 1 + count);
  slot[0] = first;
  if (!(first & ends)) return;
  slot[0] = static_cast<std::uint64_t>(print(message));  // the result of the kernel's printf
  messages_.erase(first >> message_shift);
}

int HostCalls::print(const std::vector<std::uint64_t>& message) {
  PrintArguments arguments(message, 1);
  const std::string format = arguments.text();
  const std::string text = printed(format, arguments);
  const bool to_errors = !message.empty() && (message[0] & 1);
  if (to_errors)  // only failed assertions write there
    error_line_ = text.substr(0, text.find('\n'));
  else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    return -1;
  return static_cast<int>(text.size());
}

}  // namespace xtune::emulator

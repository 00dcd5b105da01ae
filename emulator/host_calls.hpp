// Calls of the host by kernels: printf, and the text of a failed assertion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace xtune::emulator {

class Memory;

/// The buffer through which the waves of a launch call the host, and the host's side of it. Its layout is that of
/// ROCm's device libraries (hostcall_impl.cl, services.cl): a wave takes a packet from a stack, writes eight words for
/// each lane, puts the packet on another stack, and sleeps until the packet is marked as answered. Single-threaded.
class HostCalls {
 public:
  /// waves: the maximum number that run at the same time. Each has at most one packet.
  explicit HostCalls(std::size_t waves);

  /// What the hidden argument holds.
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(memory_.get()); }
  /// Lets kernels access the buffer.
  void add_to(Memory& memory) const;
  /// Answers all calls so far, and writes what kernels print to standard output. Returns the number of a service that
  /// is not known, 0: none.
  std::uint32_t serve();
  /// The line of the last failed assertion, which is for standard error; empty: none.
  const std::string& error_line() const noexcept { return error_line_; }

 private:
  struct Buffer;
  struct Header;
  struct Release {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  Buffer& buffer() const noexcept;
  void answer(std::uint64_t* slot);
  /// Returns the number of characters, or -1 if they cannot be written, as printf does.
  int print(const std::vector<std::uint64_t>& message);

  std::size_t bytes_ = 0;
  std::unique_ptr<void, Release> memory_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> messages_;  ///< begun, by their numbers
  std::uint64_t messages_begun_ = 0;
  std::string error_line_;
};

}  // namespace xtune::emulator

// Calls through a unit's table; its failures are returned as status and text.
#include "backends/kokkos/unit.hpp"

#include <fmt/core.h>

#include <array>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

/// Buffer for a unit's message.
class Words {
 public:
  XtuneKokkosText* room() noexcept { return &text_; }
  std::string said() const { return base::printable(buffer_.data()); }

 private:
  std::array<char, 600> buffer_{};
  XtuneKokkosText text_{buffer_.data(), buffer_.size()};
};

[[noreturn]] void fail(int status, const std::string& said) {
  if (status == xtune_kokkos_refused)
    throw build::CandidateFailure(Outcome::launch_failed, "the kernel was not launched: " + said);
  const std::string limits = system::user_limits();
  if (!limits.empty())
    throw build::ShortageFailure(build::Lack::unclear, Outcome::crashed,
                                 "the kernel failed: " + said + build::under(limits));
  throw build::CandidateFailure(Outcome::crashed, "the kernel failed: " + said);
}

}  // namespace

Unit::Unit(const build::Artifact& artifact, const std::string& own_arch, const StartOptions& options)
    : library_(artifact, XTUNE_KOKKOS_MARKER, own_arch), table_(static_cast<const XtuneKokkosUnit*>(library_.entry())) {
  Words words;
  if (table_->start(options.device, options.threads, words.room()) != xtune_kokkos_done)
    throw Error(ErrorKind::unavailable, "Kokkos does not start: " + words.said());
}

Unit::~Unit() { table_->finish(); }

void Unit::check(std::span<const measure::KernelArgument> arguments) const {
  cpu::check_arguments(arguments, {table_->argument_count, table_->argument_bytes, table_->argument_is_pointer});
}

double Unit::run(std::span<const std::span<const measure::KernelArgument>> launches) {
  std::vector<cpu::ArgumentAddresses> places;
  places.reserve(launches.size());
  std::vector<void* const*> addresses;
  for (const auto& arguments : launches) addresses.push_back(places.emplace_back(arguments).data());
  Words words;
  double time_ms = 0;
  if (const int status = table_->run(addresses.data(), addresses.size(), &time_ms, words.room()))
    fail(status, words.said());
  return time_ms;
}

void Unit::fill(void* memory, std::size_t bytes, unsigned long long value) {
  Words words;
  if (const int status = table_->fill(memory, bytes, value, words.room())) fail(status, words.said());
}

}  // namespace xtune::kokkos

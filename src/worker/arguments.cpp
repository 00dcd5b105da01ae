// Guard zones around device memory, and host memory over mmap and mprotect. The most serious errors are checked first:
// a kernel that writes out of bounds has no right results.
#include "worker/arguments.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "core/validate/compare.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

// Every float type of at least two bytes, and f8e5m2, reads it as NaN at any even address, so that results computed
// from memory beyond the arguments show, even if they are multiplied by 0. It is not one repeated byte, which memset
// overruns would write.
std::vector<std::byte> GuardedBuffer::zone_contents(std::size_t bytes) {
  std::vector<std::byte> zone(bytes, std::byte{0xFE});
  for (std::size_t i = 1; i < bytes; i += 2) zone[i] = std::byte{0xFF};
  return zone;
}

GuardedBuffer::GuardedBuffer(measure::Device& device, std::size_t bytes, std::size_t zone_bytes)
    : size_(bytes), guard_(zone_bytes), memory_(device.allocate(bytes + 2 * zone_bytes)) {}

void* GuardedBuffer::address() noexcept { return static_cast<std::byte*>(memory_->address()) + guard_; }

void GuardedBuffer::write(std::size_t offset, std::span<const std::byte> bytes) {
  check(offset, bytes.size());
  memory_->write(guard_ + offset, bytes);
}

void GuardedBuffer::read(std::size_t offset, std::span<std::byte> bytes) {
  check(offset, bytes.size());
  memory_->read(guard_ + offset, bytes);
}

void GuardedBuffer::fill(std::size_t offset, std::size_t size, std::byte value) {
  check(offset, size);
  memory_->fill(guard_ + offset, size, value);
}

void GuardedBuffer::renew_guards() {
  const std::vector<std::byte> fresh = zone_contents(guard_);
  memory_->write(0, fresh);
  memory_->write(guard_ + size_, fresh);
}

void GuardedBuffer::zero_guards() {
  memory_->fill(0, guard_, std::byte{0});
  memory_->fill(guard_ + size_, guard_, std::byte{0});
}

const char* GuardedBuffer::damage() {
  return damaged(guard_ + size_) ? "past the end of" : damaged(0) ? "before the start of" : nullptr;
}

std::array<std::uint64_t, 2> GuardedBuffer::zones() const noexcept {
  const std::uint64_t start = reinterpret_cast<std::uintptr_t>(memory_->address());
  return {start, start + guard_ + size_};
}

// The memory's own check would allow a range that reaches into a zone.
void GuardedBuffer::check(std::size_t offset, std::size_t size) const {
  if (offset > size_ || size > size_ - offset) throw std::out_of_range("a range outside of its buffer");
}

bool GuardedBuffer::damaged(std::size_t offset) {
  std::vector<std::byte> zone(guard_);
  memory_->read(offset, zone);
  return zone != zone_contents(guard_);
}

SealedMemory::SealedMemory(std::size_t bytes) : size_(bytes) {
  void* memory =
      mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::unavailable,
                "not enough memory for " + base::human_bytes(bytes) + " of test data on this host");
  data_ = static_cast<std::byte*>(memory);
}

SealedMemory::~SealedMemory() {
  if (data_) munmap(data_, std::max<std::size_t>(size_, 1));
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void SealedMemory::seal() noexcept {
  // A failure only loses the protection.
  if (data_) mprotect(data_, std::max<std::size_t>(size_, 1), PROT_READ);
}

void at_place(const std::string& at, const std::function<void()>& make) {
  try {
    make();
  } catch (const MissingArtifact&) {
    throw;  // the driver compiles it again: it must stay what it is
  } catch (const Error& error) {
    if (at.empty() || error.kind() == ErrorKind::unavailable) throw;  // memory ran out: not of the spec's making
    const bool argument = error.kind() == ErrorKind::invalid_argument;
    throw Error(argument ? ErrorKind::invalid_spec : error.kind(), at + ": " + error.what());
  }
}

TestArgument filled_argument(const validate::ArgumentLayout& layout, std::uint64_t seed) {
  TestArgument argument{layout, {}, {}, {}};
  if (layout.role == spec::ArgRole::out) return argument;
  argument.pristine = SealedMemory(layout.bytes());
  at_place(layout.at, [&] { validate::fill_input(layout, seed, argument.pristine.writable()); });
  argument.pristine.seal();
  return argument;
}

std::optional<GuardDamage> damaged_guard(const std::vector<TestArgument>& arguments, BufferSet& set) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const char* const where = set[i]->damage()) return GuardDamage{arguments[i].layout.name, where};
  return std::nullopt;
}

namespace {

bool refuse(run::BenchAnswer& answer, std::string message) {
  answer.outcome = Outcome::wrong_result;
  answer.message = std::move(message);
  return false;
}

}  // namespace

bool refuse_damage(const GuardDamage& damage, run::BenchAnswer& answer) {
  return refuse(answer, damage.argument + ": the kernel wrote " + damage.where + " this buffer");
}

bool check_guards(const std::vector<TestArgument>& arguments, BufferSet& set, run::BenchAnswer& answer) {
  const auto damage = damaged_guard(arguments, set);
  return !damage || refuse_damage(*damage, answer);
}

bool check_outputs(const std::vector<TestArgument>& arguments, BufferSet& set, run::BenchAnswer& answer) {
  if (!check_guards(arguments, set, answer)) return false;
  std::vector<std::byte> actual;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TestArgument& argument = arguments[i];
    if (argument.expected.bytes().empty()) continue;
    actual.resize(argument.layout.bytes());
    set[i]->read(0, actual);
    // With several outputs the record keeps the first that failed, else the last.
    answer.validation = validate::compare(argument.layout.name, argument.layout.dtype, actual,
                                          argument.expected.bytes(), argument.layout.shape, argument.tolerance);
    if (!answer.validation->passed) return refuse(answer, answer.validation->text());
  }
  return true;
}

bool check_unchanged(const TestArgument& argument, measure::Buffer& buffer, const char* what,
                     run::BenchAnswer& answer) {
  const validate::ArgumentLayout& layout = argument.layout;
  const auto change =
      validate::bit_difference(layout, argument.pristine.bytes(),
                               [&](std::size_t offset, std::span<std::byte> bytes) { buffer.read(offset, bytes); });
  return !change || refuse(answer, fmt::format("{}: the kernel changed this {}: {}; if it is meant to, the argument's "
                                               "role is \"inout\" (in Python xtune.InOut)",
                                               layout.name, what, change->text()));
}

bool check_inputs(const std::vector<TestArgument>& arguments, BufferSet& set, run::BenchAnswer& answer) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].layout.role == spec::ArgRole::in && !check_unchanged(arguments[i], *set[i], "input", answer))
      return false;
  return true;
}

std::filesystem::path exchange_folder(const run::OpenJob& job, const std::string& name) {
  return job.scratch / (name + "-" + std::to_string(::getpid()));
}

// Files of only this run, read once and soon: nothing is flushed to the disk.
void leave_outputs(const run::OpenJob& job, const std::vector<TestArgument>& arguments, BufferSet& set,
                   const std::string& launch) {
  if (job.outputs.empty()) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!spec::is_output(arguments[i].layout.role)) continue;
    std::vector<char> bytes(arguments[i].layout.bytes());
    set[i]->read(0, std::as_writable_bytes(std::span(bytes)));
    const std::filesystem::path path = output_path(job.outputs, launch, i);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
      throw Error(ErrorKind::io, path.string() + " cannot be written: is the disk full? (XTUNE_TMP_DIR names another)");
  }
}

}  // namespace xtune::worker

#include "emulator/access.hpp"

#include <fmt/format.h>

namespace xtune::emulator {

namespace {

/// Why an address is in no allocation, or where it is instead.
std::string reason_for(const Memory& memory, std::uint64_t address, std::size_t bytes) {
  for (const MissingService& one : missing_services)
    if (address >= one.address && address - one.address < missing_service_bytes)
      return fmt::format(": {} need a buffer that the emulator does not have", one.words);
  const std::string beside = memory.beside(address, bytes);
  return beside.empty() ? beside : ": " + beside;
}

/// An address of 32 bits that kernels compute from signed numbers.
std::int64_t as_signed(std::uint64_t address) {
  return address >> 32 ? static_cast<std::int64_t>(address) : static_cast<std::int32_t>(address);
}

}  // namespace

std::byte* global_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use) {
  std::byte* const place = wave.group->state->memory.find(address, bytes);
  if (place == nullptr)
    wave.fault(FaultKind::global_bounds,
               fmt::format("{} {} bytes at {:#x}, which is in no allocation{}", use == Use::read ? "reads" : "writes",
                           bytes, address, reason_for(wave.group->state->memory, address, bytes)),
               lane);
  Report& report = wave.group->state->report;
  if (use != Use::write) report.global_bytes_read += bytes;
  if (use != Use::read) report.global_bytes_written += bytes;
  return place;
}

std::byte* lds_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use) {
  Workgroup& group = *wave.group;
  if (address > group.lds.size() || bytes > group.lds.size() - address)
    wave.fault(FaultKind::lds_bounds,
               fmt::format("{} {} bytes of LDS at {}, but the workgroup has {}", use == Use::read ? "reads" : "writes",
                           bytes, as_signed(address), group.lds.size()),
               lane);
  const std::uint32_t number = wave.outstanding.started[static_cast<unsigned>(Counter::lds)] + 1;
  const LdsAccess access{wave.number, lane, number, address, bytes, use};
  const auto mistake = group.history.access(access, group.lds.data());
  if (use == Use::read && (mistake ? mistake->unwritten : !group.unwritten_reads.empty())) {
    read_undefined(wave, access, mistake ? mistake->words : "");
  } else if (mistake && mistake->after_update) {
    // A loop that polls would fill the memory.
    if (wave.unordered_reads.size() == 1024) check_unordered_reads(wave);
    wave.unordered_reads.push_back({wave.current, address, bytes, lane, mistake->words});
  } else if (mistake) {
    wave.fault(mistake->kind, mistake->words, mistake->lane);
  }
  if (use != Use::write) group.state->report.lds_bytes_read += bytes;
  if (use != Use::read) group.state->report.lds_bytes_written += bytes;
  return group.lds.data() + address;
}

void settle_lds(Wave& wave, bool changed) {
  Workgroup& group = *wave.group;
  if (!group.history.unsettled()) return;
  if (const auto mistake = group.history.settle(group.lds.data(), changed))
    wave.fault(mistake->kind, mistake->words, mistake->lane);
}

void confirm_reads(Wave& wave, std::size_t address, std::size_t bytes) {
  std::erase_if(wave.unordered_reads, [&](const UnorderedRead& one) {
    return one.address < address + bytes && address < one.address + one.bytes;
  });
}

void check_unordered_reads(Wave& wave) {
  if (wave.unordered_reads.empty()) return;
  const UnorderedRead& first = wave.unordered_reads.front();
  wave.current = first.instruction;
  wave.fault(FaultKind::lds_race, first.words, first.lane);
}

std::byte* scratch_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane) {
  if (address > wave.scratch_bytes || bytes > wave.scratch_bytes - address)
    wave.fault(FaultKind::scratch_bounds,
               fmt::format("accesses {} bytes of scratch memory at {}, but a lane has {}", bytes, as_signed(address),
                           wave.scratch_bytes),
               lane);
  return wave.scratch.data() + std::size_t{wave.scratch_bytes} * static_cast<unsigned>(lane) + address;
}

std::byte* flat_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use) {
  const std::uint64_t aperture = address & ~std::uint64_t{0xffffffff};
  if (is_shared(address)) return lds_place(wave, address & 0xffffffff, bytes, lane, use);
  if (aperture == private_aperture) return scratch_place(wave, address & 0xffffffff, bytes, lane);
  return global_place(wave, address, bytes, lane, use);
}

}  // namespace xtune::emulator

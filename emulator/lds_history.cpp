#include "emulator/lds_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace xtune::emulator {

void LdsHistory::begin(std::size_t bytes, std::size_t waves) {
  waves_ = waves;
  dwords_.assign((bytes + 3) / 4, Cell());
  bytes_.clear();
  updated_.clear();
  suspects_.clear();
  seen_.assign(waves * waves, 0);
  for (std::size_t i = 0; i < waves; ++i) seen_[i * waves + i] = 1;
  signalled_.assign(waves, 0);
  updated_lately_.assign(waves, 0);
}

void LdsHistory::next_interval(int wave) {
  constexpr std::uint32_t last = (1u << 26) - 1;  // then nothing more is found
  std::uint32_t& interval = seen(wave)[wave];
  if (interval < last) ++interval;
  updated_lately_[static_cast<unsigned>(wave)] = 0;
}

LdsHistory::Found LdsHistory::touch_read(Cell& cell, int wave) {
  if (cell.copying) return {Conflict::copying, cell.write, false};
  for (const Mark mark : {cell.write, cell.other_write})
    if (unordered(mark, wave)) return {Conflict::write, mark, not_waited(cell, mark, wave)};
  const Mark mine = mark_of(wave, false);
  // Two waves suffice to know that a later writer is not the only reader.
  if (wave_of(cell.read) == wave || !unordered(cell.read, wave))
    cell.read = mine;
  else if (wave_of(cell.other_read) == wave || !unordered(cell.other_read, wave))
    cell.other_read = mine;
  return {cell.write == 0 && cell.undefined == 0 ? Conflict::unwritten : Conflict::none, 0, false};
}

LdsHistory::Found LdsHistory::touch_write(Cell& cell, int wave, std::uint32_t number, bool atomic) {
  Found found;
  for (const Mark mark : {cell.write, cell.other_write})
    if (unordered(mark, wave) && !(atomic && (mark & 1))) found = {Conflict::write, mark, not_waited(cell, mark, wave)};
  for (const Mark mark : {cell.read, cell.other_read})
    if (found.conflict == Conflict::none && unordered(mark, wave)) found = {Conflict::read, mark, false};
  const Mark mine = mark_of(wave, atomic);
  cell.other_write = atomic && unordered(cell.write, wave) ? cell.write : 0;
  // A plain write of the same interval before the update stays one.
  if (!atomic || cell.write != (mine & ~Mark{1})) cell.write = mine;
  cell.read = cell.other_read = 0;
  cell.number = number;
  cell.copying = cell.not_waited = false;
  cell.undefined = 0;
  return found;
}

LdsHistory::Found LdsHistory::touch(Cell& cell, int wave, std::uint32_t number, Use use) {
  if (use == Use::read) return touch_read(cell, wave);
  const bool atomic = use != Use::write;
  if (atomic && cell.copying) return {Conflict::copying, cell.write, false};
  if (atomic && (cell.write == 0 || cell.undefined != 0)) return {Conflict::unwritten, 0, false};
  return touch_write(cell, wave, number, atomic);
}

LdsHistory::Mistake LdsHistory::mistake_of(const Found& found, std::size_t place, const LdsAccess& access) {
  const std::string own = fmt::format("{} {} bytes of LDS at {}, ", access.use == Use::read ? "reads" : "writes",
                                      access.bytes, access.address);
  if (found.conflict == Conflict::unwritten)
    return {FaultKind::uninitialised_lds, access.lane, own + "which no lane has written", false,
            access.use == Use::read};
  if (found.conflict == Conflict::copying)
    return {FaultKind::uninitialised_lds, access.lane,
            own + "which no lane has written: a load to them is outstanding, and a wait is missing"};
  const int other = wave_of(found.with);
  if (found.not_waited)
    return {FaultKind::missing_wait, access.lane,
            own + fmt::format("of which wave {} wrote byte {} and did not wait for its store before the barrier: a "
                              "wait is missing",
                              other, place)};
  return {FaultKind::lds_race, access.lane,
          own + fmt::format("of which wave {} {} byte {} too: a barrier between the two is missing", other,
                            found.conflict == Conflict::read ? "reads" : "writes", place),
          access.use == Use::read && (found.with & 1) != 0};
}

void LdsHistory::divide(std::size_t dword) {
  Cell& cell = dwords_[dword];
  if (cell.divided) return;
  if (bytes_.empty()) bytes_.resize(4 * dwords_.size());
  std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(4 * dword), 4, cell);
  cell.divided = true;
}

/// Calls f(cell, first byte, bytes) for the cells of a range.
template <class F>
void LdsHistory::each_cell(std::size_t address, std::size_t bytes, const F& f) {
  const std::size_t end = address + bytes;
  while (address < end) {
    const std::size_t dword = address / 4;
    const bool whole = address % 4 == 0 && end - address >= 4;
    if (!whole) divide(dword);
    Cell& cell = dwords_[dword];
    if (!cell.divided) {
      f(cell, address, std::size_t{4});
      address += 4;
      continue;
    }
    const std::size_t stop = std::min(end, 4 * (dword + 1));
    for (; address < stop; ++address) f(bytes_[address], address, std::size_t{1});
  }
}

/// An update of LDS publishes what the wave has done; one that fetches the old value learns what others have published.
void LdsHistory::order_update(int wave, std::size_t dword, bool fetches) {
  if (waves_ < 2) return;
  if (updated_.empty()) updated_.resize(dwords_.size() * waves_);
  std::uint32_t *const of_dword = updated_.data() + dword * waves_, *const own = seen(wave);
  for (std::size_t i = 0; i < waves_; ++i) {
    if (fetches && static_cast<int>(i) != wave) own[i] = std::max(own[i], of_dword[i]);
    of_dword[i] = std::max(of_dword[i], own[i]);
  }
  updated_lately_[static_cast<unsigned>(wave)] = 1;
}

std::optional<LdsHistory::Mistake> LdsHistory::access(const LdsAccess& one, const std::byte* lds) {
  if (one.use == Use::update || one.use == Use::fetch)
    order_update(one.wave, one.address / 4, one.use == Use::fetch);
  else if (updated_lately_[static_cast<unsigned>(one.wave)])
    next_interval(one.wave);
  std::optional<Mistake> mistake;
  each_cell(one.address, one.bytes, [&](Cell& cell, std::size_t place, std::size_t size) {
    const Found found = touch(cell, one.wave, one.number, one.use);
    if (found.conflict == Conflict::none || (mistake && !mistake->unwritten)) return;
    if (one.use != Use::write) {
      mistake = mistake_of(found, place, one);
      return;
    }
    Suspect suspect{mistake_of(found, place, one), place, size, {}};
    std::memcpy(suspect.old.data(), lds + place, size);
    suspects_.push_back(std::move(suspect));
  });
  return mistake;
}

std::optional<LdsHistory::Mistake> LdsHistory::settle(const std::byte* lds, bool changed) {
  const std::vector<Suspect> suspects = std::move(suspects_);
  suspects_.clear();
  for (const Suspect& one : suspects)
    if (changed || std::memcmp(lds + one.place, one.old.data(), one.bytes) != 0) return one.mistake;
  return std::nullopt;
}

void LdsHistory::set_undefined(std::size_t address, std::size_t bytes, std::uint16_t read, bool only_unwritten) {
  each_cell(address, bytes, [&](Cell& cell, std::size_t, std::size_t) {
    if (!only_unwritten || (cell.write == 0 && cell.undefined == 0)) cell.undefined = read;
  });
}

void LdsHistory::start_copy(std::size_t address, std::size_t bytes) {
  each_cell(address, bytes, [](Cell& cell, std::size_t, std::size_t) { cell.copying = true; });
}

void LdsHistory::finish_copy(int wave, std::size_t address, std::size_t bytes) {
  const Mark mine = mark_of(wave, false);
  each_cell(address, bytes, [&](Cell& cell, std::size_t, std::size_t) {
    cell.copying = false;
    cell.write = mine;
    cell.number = 0;
  });
}

void LdsHistory::signal(int wave, std::uint32_t arrived, bool outstanding) {
  const std::uint32_t* const own = seen(wave);
  for (std::size_t i = 0; i < waves_; ++i) signalled_[i] = std::max(signalled_[i], own[i]);
  next_interval(wave);
  if (!outstanding) return;
  const Mark mine = mark_of(wave, false);
  for (std::vector<Cell>* const cells : {&dwords_, &bytes_})
    for (Cell& cell : *cells) {
      if (cell.write == 0 || cell.copying || wave_of(cell.write) != wave || cell.number <= arrived) continue;
      cell.write = mine | (cell.write & 1);
      cell.not_waited = true;
    }
}

void LdsHistory::pass(int wave) {
  std::uint32_t* const own = seen(wave);
  for (std::size_t i = 0; i < waves_; ++i)
    if (static_cast<int>(i) != wave) own[i] = std::max(own[i], signalled_[i]);
}

}  // namespace xtune::emulator

// The moves between lanes that DPP can make.
#include <functional>
#include <vector>

#include "base/text.hpp"
#include "emulator/parse.hpp"

namespace xtune::emulator {
namespace {

/// The numbers between the brackets of "quad_perm:[1,0,3,2]".
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> numbers;
  const std::size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos) return numbers;
  for (const std::string& part : base::split(text.substr(open + 1, close - open - 1), ','))
    numbers.push_back(static_cast<int>(parse_number(part).value_or(0)));
  return numbers;
}

void fill_move(LaneMove& move, int wave_size, const std::function<int(int)>& from) {
  for (int lane = 0; lane < 64; ++lane) {
    const int source = lane < wave_size ? from(lane) : -1;
    move.from[static_cast<unsigned>(lane)] = static_cast<std::int8_t>(source < wave_size ? source : -1);
  }
}

int in_row(int lane, int place) { return place < 0 || place > 15 ? -1 : (lane & ~15) | place; }

/// The source of a lane by the name of the control and its number; -2: there is no such control.
int source_lane(std::string_view name, int n, int lane) {
  const int place = lane & 15;
  if (name == "row_shl") return in_row(lane, place + n);
  if (name == "row_shr") return in_row(lane, place - n);
  if (name == "row_ror") return in_row(lane, (place + 16 - n) & 15);
  if (name == "row_mirror") return in_row(lane, 15 - place);
  if (name == "row_half_mirror") return in_row(lane, (place & 8) | (7 - (place & 7)));
  if (name == "row_share" || name == "row_newbcast") return in_row(lane, n);
  if (name == "row_xmask") return in_row(lane, place ^ n);
  if (name == "row_bcast") return n == 15 ? (lane < 16 ? -1 : (lane & ~15) - 1) : (lane < 32 ? -1 : 31);
  if (name == "wave_shl") return lane + 1;
  if (name == "wave_shr") return lane - 1;
  if (name == "wave_rol") return (lane + 1) & 63;
  if (name == "wave_ror") return (lane + 63) & 63;
  return -2;
}

/// One bit of the mask for each row (16 lanes), or for each bank of 4 lanes in all rows.
std::uint64_t masked_lanes(int mask, bool banks) {
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < 64; ++lane)
    if (mask >> (banks ? lane % 16 / 4 : lane / 16) & 1) lanes |= std::uint64_t{1} << lane;
  return lanes;
}

}  // namespace

bool add_lane_move(std::string_view word, int wave_size, std::optional<LaneMove>& move) {
  const std::string_view name = word.substr(0, word.find(':'));
  const std::string_view text = name.size() < word.size() ? word.substr(name.size() + 1) : std::string_view();
  const int n = static_cast<int>(parse_number(text).value_or(0));
  const bool known = name == "quad_perm" || name == "dpp8" || name == "bound_ctrl" || name == "fi" ||
                     name == "row_mask" || name == "bank_mask" || source_lane(name, n, 0) != -2;
  if (!known) return false;
  if (!move) move.emplace();
  if (name == "bound_ctrl") {
    move->zero_outside = true;
  } else if (name == "fi") {
    move->fetch_inactive = n != 0;
  } else if (name == "row_mask" || name == "bank_mask") {
    move->writable &= masked_lanes(n, name == "bank_mask");
  } else if (name == "quad_perm" || name == "dpp8") {
    const std::vector<int> numbers = numbers_in(text);
    const int size = name == "dpp8" ? 8 : 4;
    if (static_cast<int>(numbers.size()) != size) return false;
    fill_move(*move, wave_size,
              [&](int lane) { return (lane & ~(size - 1)) | numbers[static_cast<unsigned>(lane & (size - 1))]; });
  } else {
    fill_move(*move, wave_size, [&](int lane) { return source_lane(name, n, lane); });
  }
  return true;
}

}  // namespace xtune::emulator

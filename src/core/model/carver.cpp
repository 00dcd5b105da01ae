// Carver's cost of a tile: the bytes it moves, times the waves of the grid.
#include "core/model/carver.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"

namespace xtune::model {

CarverScore carver_score(const CarverView& view, const device::DeviceModel& device) {
  CarverScore score;
  score.tile_elements = view.tile_elements;
  for (const TileTraffic& tensor : view.tensors) {
    const double transaction = (tensor.written ? 32 : 128) / std::max(1.0, tensor.bytes);
    score.traffic +=
        transaction * tensor.elements / std::min(transaction, std::max(1.0, tensor.contiguous)) * tensor.bytes;
  }
  const auto capacity = static_cast<double>(device.info.shared_per_block);
  const auto file = static_cast<double>(device.info.registers_per_compute_unit);
  const double registers = std::floor(2 * view.tile_elements * view.tile_bits / 32);
  if (!(score.traffic > 0 && view.tile_elements >= 1 && view.grid >= 1)) return score;  // invalid sizes
  if (view.shared_bytes > capacity || registers > file) return score;
  score.blocks = static_cast<int>(std::min(
      {std::floor(2 * capacity / std::max(1.0, view.shared_bytes)), std::floor(file / std::max(1.0, registers)), 4.0}));
  score.waves = std::ceil(view.grid /
                          (std::max(1, score.blocks) * std::max(1.0, static_cast<double>(device.info.compute_units))));
  score.cost = (score.traffic + 1) * score.waves;
  return score;
}

std::string describe(const CarverScore& score) {
  return fmt::format(
      "{} a tile, {:g} wave{} of {} block{} a compute unit",
      base::human_bytes(static_cast<std::uint64_t>(score.traffic >= 0 ? std::min(score.traffic, 9e18) : 0)),
      score.waves, score.waves == 1 ? "" : "s", score.blocks, score.blocks == 1 ? "" : "s");
}

}  // namespace xtune::model

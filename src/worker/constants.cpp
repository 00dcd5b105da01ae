// Every program has its own variables, so what one writes to them changes no other.
#include "worker/constants.hpp"

#include <fmt/core.h>

#include <numeric>

#include "xtune/outcome.hpp"

namespace xtune::worker {

Constants::Constants(const std::vector<validate::ArgumentLayout>& layouts, std::uint64_t seed) {
  for (const validate::ArgumentLayout& layout : layouts) constants_.push_back(filled_argument(layout, seed));
}

void Constants::fill(measure::Program& program) const {
  std::vector<std::size_t> numbers(constants_.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  fill(program, numbers);
}

void Constants::fill(measure::Program& program, const std::vector<std::size_t>& numbers) const {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const TestArgument& constant = constants_.at(numbers[i]);
    const std::unique_ptr<measure::Buffer> variable = program.variable(i);
    const std::uint64_t bytes = constant.layout.bytes();
    if (variable->size() < bytes)
      throw build::CandidateFailure(
          Outcome::launch_failed,
          fmt::format("constant '{}': the variable in the source has {} bytes, and {} takes {}: declare it larger, or "
                      "give the argument fewer elements",
                      constant.layout.name, variable->size(),
                      validate::describe(constant.layout.dtype, constant.layout.shape), bytes));
    variable->write(0, constant.pristine.bytes());
  }
}

bool Constants::check(measure::Program& program, ipc::BenchAnswer& answer) const {
  for (std::size_t i = 0; i < constants_.size(); ++i)
    if (!check_unchanged(constants_[i], *program.variable(i), "constant", answer)) return false;
  return true;
}

const TestArgument* Constants::find(const std::string& name) const noexcept {
  for (const TestArgument& constant : constants_)
    if (constant.layout.name == name) return &constant;
  return nullptr;
}

}  // namespace xtune::worker

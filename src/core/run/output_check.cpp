// The order of the checks is that of their weight: a kernel that writes where it must not has no right results.
#include "core/run/output_check.hpp"

namespace xtune {

void reset(const std::vector<TestArgument>& arguments, BufferSet& set) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].layout.role == ArgRole::out)
      set[i]->fill(0, arguments[i].layout.bytes(), poison_byte);
    else
      set[i]->write(0, arguments[i].pristine.bytes());
    set[i]->renew_guards();
  }
}

void restore_in_place(const std::vector<TestArgument>& arguments, BufferSet& set) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].layout.role == ArgRole::inout) set[i]->write(0, arguments[i].pristine.bytes());
}

std::optional<Damage> damaged_guard(const std::vector<TestArgument>& arguments, BufferSet& set) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const char* const where = set[i]->damage()) return Damage{arguments[i].layout.name, where};
  return std::nullopt;
}

namespace {

bool refuse(BenchAnswer& answer, std::string message) {
  answer.outcome = Outcome::wrong_result;
  answer.message = std::move(message);
  return false;
}

Tolerance tolerance_of(const OpenJob& job, const ArgumentLayout& layout) {
  for (const auto& [name, given] : job.tolerances)
    if (name == layout.name) return given;
  return default_tolerance(layout.dtype);
}

}  // namespace

bool check_outputs(const OpenJob& job, const std::vector<TestArgument>& arguments, BufferSet& set,
                   BenchAnswer& answer) {
  if (const auto damage = damaged_guard(arguments, set))
    return refuse(answer, damage->argument + ": the kernel wrote " + damage->where + " this buffer");
  std::vector<std::byte> actual;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TestArgument& argument = arguments[i];
    if (argument.expected.bytes().empty()) continue;
    actual.resize(argument.layout.bytes());
    set[i]->read(0, actual);
    // Several outputs: the record keeps the first that failed, else the last.
    answer.validation = compare(argument.layout.name, argument.layout.dtype, actual, argument.expected.bytes(),
                                argument.layout.shape, tolerance_of(job, argument.layout));
    if (!answer.validation->passed) return refuse(answer, answer.validation->text());
  }
  return true;
}

}  // namespace xtune

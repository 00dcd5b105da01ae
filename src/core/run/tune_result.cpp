// Views of a run's result.
#include "core/run/tuner.hpp"

namespace xtune::run {

std::uint64_t TuneResult::evaluated() const {
  std::uint64_t count = records.size();
  for (const auto& [outcome, more] : unread) count += more;
  return count;
}

std::vector<const record::Record*> TuneResult::all() const {
  std::vector<const record::Record*> pointers;
  for (const std::vector<record::Record>* list : {&records, &further})
    for (const record::Record& record : *list) pointers.push_back(&record);
  return pointers;
}

}  // namespace xtune::run

// Views of a run's result.
#include "core/run/tuner.hpp"

namespace xtune {

std::uint64_t TuneResult::evaluated() const {
  std::uint64_t count = records.size();
  for (const auto& [outcome, more] : unread) count += more;
  return count;
}

std::vector<const Record*> TuneResult::all() const {
  std::vector<const Record*> pointers;
  for (const std::vector<Record>* list : {&records, &further})
    for (const Record& record : *list) pointers.push_back(&record);
  return pointers;
}

}  // namespace xtune

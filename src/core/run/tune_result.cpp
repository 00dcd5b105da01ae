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

void TuneResult::scale_times(const record::Criterion& criterion) {
  std::vector<record::Record*> pointers;
  for (std::vector<record::Record>* list : {&records, &further})
    for (record::Record& record : *list) pointers.push_back(&record);
  const record::Standings standings(all(), criterion);
  slowdown = standings.slowdown();
  record::put_on_one_scale(pointers, standings);
}

}  // namespace xtune::run

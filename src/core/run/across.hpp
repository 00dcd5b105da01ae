// One configuration for several cases: selects those to measure in all cases, and the one to choose.
#pragma once

#include <functional>
#include <vector>

#include "core/record/objective.hpp"
#include "core/run/tuner.hpp"

namespace xtune::run {

/// The `count` best configurations of each case, each once.
std::vector<Bindings> shortlist(const record::Objective& objective, const std::vector<TuneResult>& cases,
                                std::size_t count);

/// The configurations in the list that the case has neither measured in full nor seen fail.
std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list);

/// A case in the form for choose_across. Does not own the result's records.
record::CaseRecords records_of(const TuneResult& of_case);

/// Measures the eight best of each case in full in the other cases too, and adds the measurements to their results.
/// measure: runs the case with this index with exactly these configurations. Ends early once `stopped` returns true.
void measure_across(const record::Objective& objective, std::vector<TuneResult>& cases,
                    const std::function<TuneResult(std::size_t, const std::vector<Bindings>&)>& measure,
                    const std::function<bool()>& stopped);

/// A case that was run: its spec, which may differ between cases because of data, its problem, and its result.
struct RunCase {
  const spec::Spec* spec;
  const TuneResult* result;
};

/// choose_across over the results of the runs and those of `stored` that can be used for each case, so that `xtune
/// best` gives the same answer. The result refers to the records of both.
std::optional<record::AcrossChoice> choose_across(const std::vector<RunCase>& cases, const target::Target& target,
                                                  const std::vector<record::Record>& stored);

}  // namespace xtune::run

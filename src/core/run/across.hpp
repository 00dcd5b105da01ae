// One configuration for several cases: which to measure in all of them, and which of those to choose.
#pragma once

#include <functional>
#include <vector>

#include "core/record/across.hpp"
#include "core/run/tuner.hpp"

namespace xtune::run {

/// The `most` best configurations of each case, each once.
std::vector<Bindings> shortlist(const record::Objective& objective, const std::vector<TuneResult>& cases,
                                std::size_t most);

/// Those of the list that the case has neither measured in full nor seen fail.
std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list);

/// A case as choose_across sees it. Borrows the result's records.
record::CaseRecords records_of(const TuneResult& of_case);

/// Has the eight best of each case measured in full in the others too, and adds what comes of it to their results.
/// measure: a run of the case at this place, of these configurations and no others. Ends early once `stopped` says so.
void measure_across(const record::Objective& objective, std::vector<TuneResult>& cases,
                    const std::function<TuneResult(std::size_t, const std::vector<Bindings>&)>& measure,
                    const std::function<bool()>& stopped);

/// A case that was run: what was asked, which data may make another spec for each case, and what was found.
struct RunCase {
  const spec::Spec* spec;
  const TuneResult* result;
};

/// choose_across over what the runs found and what of `stored` still answers for each case, so that `xtune best` says
/// the same. The answer borrows the records of both.
std::optional<record::AcrossChoice> choose_across(const std::vector<RunCase>& cases, const target::Target& target,
                                                  const std::vector<record::Record>& stored);

}  // namespace xtune::run

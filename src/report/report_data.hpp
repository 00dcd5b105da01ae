// The data of a report: records of one problem on one kind of device, their specs, and the answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/best.hpp"
#include "core/record/lookup.hpp"
#include "core/record/objective.hpp"
#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// Records of one problem on one kind of device. A copy shares the records.
struct ReportCase {
  std::shared_ptr<const spec::Spec> spec;
  Bindings problem;  ///< the problem of the records
  device::DeviceInfo device;
  /// By the time at which they ended; their times are on the scale of the best one's (record::put_on_one_scale).
  std::shared_ptr<const std::vector<record::Record>> records;
  std::shared_ptr<const record::Standings> standings;
  std::vector<const record::Record*> ranked;  ///< standings->order()
  std::optional<record::Best> best;
  Bindings asked;                              ///< the requested problem
  record::Match match = record::Match::exact;  ///< how well the records fit the request
  std::vector<std::string> notes;              ///< about the answer, one sentence each
  std::uint64_t space_size = 0;                ///< valid configurations; 0: unknown
  std::optional<Bindings> default_config;      ///< what a call runs without a measurement; unset: unknown
};

struct ReportData {
  std::vector<ReportCase> cases;
  std::vector<std::string> run_command;  ///< for measuring again; empty: unknown
  std::vector<std::string> command;      ///< that wrote the report
  std::string version;                   ///< of xtune
  std::int64_t written_unix_ms = 0;
};

/// Sorts the records, and ranks them by the spec's objective. answer: the key of the record that a lookup has chosen,
/// empty if it has chosen none: records that rank before it do not answer, and are drawn but not ranked. Unset: the
/// best answers.
ReportCase make_report_case(std::shared_ptr<const spec::Spec> spec, Bindings problem, device::DeviceInfo device,
                            std::vector<record::Record> records,
                            const std::optional<std::string>& answer = std::nullopt);
/// From records that a run measured or found in the store.
ReportCase report_case_of(std::shared_ptr<const spec::Spec> spec, const run::TuneResult& result);

/// A spec for records whose spec is unknown: their parameters with the values that occur, by name. records: not empty;
/// the newest one determines the parameters.
spec::Spec spec_of_records(const std::string& kernel, const std::vector<record::Record>& records);

}  // namespace xtune::report

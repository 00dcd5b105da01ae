// The limits are not part of the key, so that results within the limit stay valid when the limits change.
#include "core/run/time_limits.hpp"

#include "core/spec/process_spec.hpp"

namespace xtune::run {

double limit_beside_key(const spec::Spec& spec, std::string_view stage) {
  if (stage == "compile") return spec.kernel.compile_timeout_s;
  return spec.process ? spec.process->timeout_s : 0;
}

bool answers_under_limits(const record::Record& record, const spec::Spec& spec) {
  if (record.outcome != Outcome::timed_out) return true;
  return limit_beside_key(spec, record.stage) <= record.limit_s;
}

}  // namespace xtune::run

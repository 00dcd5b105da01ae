// Reads the outputs of one set of buffers and hands them to the check.
#include "worker/command_check.hpp"

#include <unistd.h>

#include "worker/command_reference.hpp"
#include "xtune/outcome.hpp"

namespace xtune::worker {

void CommandCheck::judge(BufferSet& set, const std::string& after) const {
  if (job_.check.empty()) return;
  CommandCall call{job_.check, job_.folder, exchange_folder(job_, "check"), job_.measure.timeout_s};
  std::vector<std::vector<std::byte>> contents(arguments_.size());
  std::vector<validate::ArrayView> outputs;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const validate::ArgumentLayout& layout = arguments_[i].layout;
    if (spec::is_input(layout.role)) call.inputs.push_back({&layout, arguments_[i].pristine.bytes()});
    if (!spec::is_output(layout.role)) continue;
    contents[i].resize(layout.bytes());
    set[i]->read(0, contents[i]);
    outputs.push_back({&layout, contents[i]});
  }
  for (const TestArgument& constant : constants_.all())
    call.inputs.push_back({&constant.layout, constant.pristine.bytes()});
  try {
    run_command_check(call, outputs);
  } catch (const build::CandidateFailure& failure) {
    if (after.empty() || failure.outcome() != Outcome::wrong_result || build::lack_of(failure) != build::Lack::none)
      throw;
    throw build::CandidateFailure(failure.outcome(), failure.what() + after, failure.log());
  }
}

}  // namespace xtune::worker

// Uses a file that the first process creates.
#include "cluster/one_device.hpp"

#include <fmt/core.h>

#include "base/host_name.hpp"
#include "base/text.hpp"
#include "cluster/agreement.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

void require_one_device(const std::filesystem::path& store, const std::string& study, const std::string& component,
                        const std::string& name, const std::string& arch) {
  const std::string device = base::printable(name) + " (" + base::printable(arch) + ")";
  const std::string found = agree_on(study_folder(store, study) / "components" / record::path_component(component),
                                     device + "\non " + base::printable(base::host_name()) + "\n");
  const std::size_t end = found.find('\n');
  if (found.substr(0, end) == device) return;
  std::string where = end == std::string::npos ? "" : found.substr(end + 1);
  if (!where.empty() && where.back() == '\n') where.pop_back();
  throw Error(
      ErrorKind::unavailable,
      fmt::format("component {} of this job has {} {} and {} on {}: results of two types of GPU cannot be mixed; give "
                  "each type its own (xtune submit --arch-component ... --arch-component ..., or "
                  "--constraint, --gres for one type)",
                  base::printable(component, 40), found.substr(0, end), where, device,
                  base::printable(base::host_name())));
}

}  // namespace xtune::cluster

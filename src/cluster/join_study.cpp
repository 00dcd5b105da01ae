// Files that exactly one process succeeds in creating.
#include "cluster/join_study.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "base/trust.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace fs = std::filesystem;

std::string join_study(const fs::path& store, const std::string& study, const std::string& place) {
  for (int run = 1;; ++run) {
    const std::string name = run == 1 ? study : fmt::format("{}+{}", study, run);
    const fs::path folder = study_folder(store, name) / "seats" / record::path_component(place);
    const std::error_code error = base::make_directories(folder.parent_path());
    const int file = error ? -1 : ::open(folder.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0) {
      ::close(file);
      return name;
    }
    const int reason = error ? error.value() : errno;
    if (reason != EEXIST || error)
      throw Error(ErrorKind::io,
                  fmt::format("cannot make {}: {}", base::printable(folder.string()), std::strerror(reason)));
  }
}

bool is_run_of(const std::string& study, const std::string& name) {
  if (!study.starts_with(name)) return false;
  const std::string rest = study.substr(name.size());
  return rest.empty() ||
         (rest.size() > 1 && rest[0] == '+' && rest.find_first_not_of("0123456789", 1) == std::string::npos);
}

}  // namespace xtune::cluster

// A file that appears atomically, by a link.
#include "cluster/agreement.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/files.hpp"
#include "core/record/attempt.hpp"

namespace xtune::cluster {

std::string agree_on(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path own = file.parent_path() / ("." + record::new_attempt());
  base::write_file_atomically(own, text);
  if (::link(own.c_str(), file.c_str()) != 0 && errno != EEXIST && base::read_if_there(file).empty())
    base::write_file_atomically(file, text);
  std::error_code ignored;
  std::filesystem::remove(own, ignored);
  return base::read_file(file);
}

}  // namespace xtune::cluster

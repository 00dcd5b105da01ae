// The rule about existing files, for all commands that write specs.
#include "cli/existing_files.hpp"

#include "base/text.hpp"
#include "cli/command_text.hpp"
#include "xtune/error.hpp"

namespace xtune::cli {

void add_force_option(CLI::App& command, bool& force) {
  command.add_flag("--force", force, "Replace existing files")->group(option_group::output);
}

void require_new_files(const std::vector<std::filesystem::path>& files, bool force, const std::string& otherwise) {
  if (force) return;
  for (const std::filesystem::path& file : files) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(file, ignored)))
      throw Error(ErrorKind::invalid_argument,
                  base::printable(file.string()) + ": the file exists; --force replaces it, " + otherwise);
  }
}

}  // namespace xtune::cli

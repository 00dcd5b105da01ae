// A temporary directory for what the workers of this process share.
#pragma once

#include <filesystem>

#include "base/subprocess.hpp"

namespace xtune::base {

/// Variables for workers: they find the directory by shared_folder(). The directory is made at the first call and
/// removed at the end of the process. Empty if it cannot be made, such as on a full disk.
Environment shared_folder_variables() noexcept;

/// In a worker: the directory of the process that started it. Empty: there is none.
std::filesystem::path shared_folder();

}  // namespace xtune::base

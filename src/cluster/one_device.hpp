// Processes of one component of a job have devices of one type.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::cluster {

/// The first process of a component says which device it has (`name` of `arch`), the others compare. Throws
/// Error(unavailable) where another type is at work already, Error(io) where the store cannot be written.
void require_one_device(const std::filesystem::path& store, const std::string& study, const std::string& component,
                        const std::string& name, const std::string& arch);

}  // namespace xtune::cluster

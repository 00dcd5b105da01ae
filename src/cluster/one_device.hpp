// Checks that processes of one component of a job have devices of one type.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::cluster {

/// The first process of a component writes its device (`name` of `arch`), the others compare. Throws Error(unavailable)
/// if another type is already in use, Error(io) if the store cannot be written.
void require_one_device(const std::filesystem::path& store, const std::string& study, const std::string& component,
                        const std::string& name, const std::string& arch);

}  // namespace xtune::cluster

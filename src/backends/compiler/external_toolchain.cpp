#include "backends/compiler/external_toolchain.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "backends/compiler/compile_step.hpp"
#include "backends/compiler/identity.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/system_headers.hpp"
#include "xtune/outcome.hpp"

namespace xtune::compiler {

std::vector<std::string> names_of(const build::CompileRequest& request) {
  std::vector<std::string> names = build::entries_of(request);
  names.insert(names.end(), request.variables.begin(), request.variables.end());
  return names;
}

std::string pointer_name(std::size_t number) { return fmt::format("xtune_name_{}", number); }

std::string pointers_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format(
        "\n# {0} \"<name>\"\n"
        "extern \"C\" __attribute__((device, used)) const void* {1} = (const void*)&{2}; "
        "__attribute__((used)) static const void* {1}_on_host = (const void*)&{2};\n",
        i + 1, pointer_name(i), names[i]);
  return text;
}

void throw_if_wrong_name(const build::CandidateFailure& failure, const build::CompileRequest& request) {
  constexpr std::string_view place = "<name>", label = "error: ";
  const std::string_view error = failure.what();
  if (failure.outcome() != Outcome::compile_failed || !error.starts_with(place)) return;
  const std::vector<std::string> names = names_of(request);
  std::size_t number = 0;
  std::from_chars(error.data() + place.size() + 1, error.data() + error.size(), number);  // after ":" or "("
  if (number < 1 || number > names.size()) return;
  const bool is_entry = number + request.variables.size() <= names.size();
  const std::size_t reason = error.find(label);
  const std::string wrong = fmt::format("{} '{}' names no {} of {}: {}", is_entry ? "entry" : "constant",
                                        names[number - 1], is_entry ? "kernel" : "variable", request.source_name,
                                        reason == error.npos ? error : error.substr(reason + label.size()));
  throw build::CandidateFailure(Outcome::compile_failed, base::printable(wrong, 600), failure.log());
}

void require_named(const system::CommandResult& result, const build::CompileRequest& request,
                   const std::string& compiler) {
  try {
    require_compiled(result, "", request, compiler);
  } catch (const build::CandidateFailure& failure) {
    throw_if_wrong_name(failure, request);
    throw;
  }
}

std::vector<std::string> listing_options() {
  return {"-Xclang",          "-dependency-file", "-Xclang", "read",    "-Xclang",
          "-sys-header-deps", "-Xclang",          "-MT",     "-Xclang", "image"};
}

ExternalToolchain::ExternalToolchain(build::KernelCompiler kind, Identity identity, std::string driver,
                                     std::vector<std::string> language)
    : HintedToolchain(kind, build::shared_header_folders()),
      identity_(std::move(identity)),
      driver_(std::move(driver)),
      parts_(driver_, std::move(language)) {
  refresh();
}

void ExternalToolchain::refresh() {
  parts_.refresh();
  if (files_.files.files.empty() || !build::are_untouched(files_.files)) files_ = identity_.find_files();
}

std::string ExternalToolchain::fingerprint() {
  const std::lock_guard lock(mutex_);
  refresh();
  const std::string all = parts_.digest() + build::digest_of(files_) + identity_.details;
  return fmt::format("{}, parts {}", identity_.text, base::sha256(all).substr(0, 12));
}

build::ToolFiles ExternalToolchain::parts() {
  const std::lock_guard lock(mutex_);
  refresh();
  build::ToolFiles all = parts_.files();
  all.files.add(files_.files);
  return all;
}

std::optional<build::FilesRead> ExternalToolchain::files_read(const build::CompileRequest& request,
                                                              const std::vector<std::string>& flags,
                                                              const std::filesystem::path& work, OwnFiles own) {
  auto files = files_of_rule(work / "read", work);
  if (!files) return std::nullopt;
  std::erase_if(*files, build::is_system_header_path);
  {
    const std::lock_guard lock(mutex_);
    if (!driver_folders_) driver_folders_ = compiler_folders(driver_);
    own.header_folders.insert(own.header_folders.end(), driver_folders_->begin(), driver_folders_->end());
  }
  own.parts = parts();
  own.library_folders.push_back(work.string());
  const ListedFiles listed{files_outside(std::move(*files), own.header_folders), {}};
  return compiler::files_read(driver_, flags, request, listed, own);
}

}  // namespace xtune::compiler

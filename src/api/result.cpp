// Functions of a result, and its directory.
#include "xtune/result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/failures.hpp"
#include "api/result_json.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/json_error.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr const char* best_file = "best_config.json";
constexpr const char* latency_file = "latency.json";
constexpr const char* source_file = "kernel.cu";

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// Reads one of the files; errors are reported with its path.
void take_in(const std::filesystem::path& path, const std::string& text,
             const std::function<void(const nlohmann::json&)>& take) {
  try {
    take(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::io, path.string() + " is not a saved result: " + base::json_error_text(error));
  } catch (const Error& error) {
    throw Error(ErrorKind::io, path.string() + ": " + error.what());
  }
}

/// The file system takes "" for the working directory, but it is probably a mistake of the caller.
void require_folder(const std::filesystem::path& folder, const char* who) {
  if (folder.empty())
    throw Error(ErrorKind::invalid_argument,
                std::string(who) + ": the directory has no name; \".\" is the working directory");
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder, ignored))
    throw Error(ErrorKind::invalid_argument, std::string(who) + ": " + base::printable(folder.string()) +
                                                 " is a file, and a saved result is a directory with " + best_file +
                                                 " and other files: name a directory");
}

/// For a file that a directory from elsewhere names: never a path outside of it.
std::string binary_name(const std::string& format) {
  const bool plain = !format.empty() && format.size() <= 16 &&
                     format.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
  if (!plain) throw Error(ErrorKind::io, "'" + format + "' is not a format of a binary (cubin, hsaco, so)");
  return "kernel." + format;
}

/// " (TFLOPS is inf)": of the first configuration that ran; empty: all are finite.
std::string infinite_metrics(const std::vector<Measurement>& measurements) {
  const auto ran = std::find_if(measurements.begin(), measurements.end(),
                                [](const Measurement& each) { return each.outcome == Outcome::ok; });
  if (ran == measurements.end()) return "";
  std::string text;
  for (const auto& [name, value] : ran->metrics)
    if (!std::isfinite(value)) text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

const Measurement& Result::best() const {
  if (winner) return *winner;
  std::string message = "no configuration of '" + kernel_name + "' passed";
  if (interrupted) message += "; the run was interrupted";
  if (out_of_time) message += "; its time was up";
  std::vector<Failed> failures;
  for (const Measurement& each : measurements) failures.push_back({each.outcome, each.message});
  if (!failures.empty()) message += ": " + failures_text(failures);
  if (counts.contains(Outcome::ok))
    message += ". What ran gave the goal no finite value" + infinite_metrics(measurements);
  throw Error(ErrorKind::nothing_valid, message);
}

void Result::save(const std::filesystem::path& folder) const {
  require_folder(folder, "Result::save");
  const nlohmann::ordered_json best_config = best_config_json(*this);
  if (binary) {
    base::write_file_atomically(folder / binary_name(binary->format), binary->binary);
    if (!binary->source.empty()) base::write_file_atomically(folder / source_file, binary->source);
  }
  base::write_file_atomically(folder / latency_file, dump(latency_json(*this)));
  base::write_file_atomically(folder / best_file, dump(best_config));
}

Result Result::load(const std::filesystem::path& folder) {
  require_folder(folder, "Result::load");
  Result result;
  SavedBinary saved;
  const std::string best = base::read_file_of_named(folder, best_file),
                    latency = base::read_file_of_named(folder, latency_file);
  take_in(folder / latency_file, latency, [&](const nlohmann::json& json) { read_latency(json, result); });
  take_in(folder / best_file, best, [&](const nlohmann::json& json) {
    saved = read_best_config(json, result);
    if (result.binary) binary_name(result.binary->format);
  });
  if (!result.binary) return result;
  const auto read_saved = [&](const std::string& name, const std::string& hash, const char* what) {
    std::string contents = base::read_file_of_named(folder, name);
    if (base::sha256(contents) != hash)
      throw Error(ErrorKind::io, (folder / name).string() + " is not the " + what +
                                     " that was saved: its SHA-256 differs from " + (folder / best_file).string() +
                                     "'s");
    return contents;
  };
  result.binary->binary = read_saved(binary_name(result.binary->format), saved.sha256, "binary");
  // The directory may have been copied without the source; a source of an earlier result must not remain.
  std::error_code ignored;
  if (saved.source_sha256 != base::sha256("") && std::filesystem::exists(folder / source_file, ignored))
    result.binary->source = read_saved(source_file, saved.source_sha256, "source");
  return result;
}

}  // namespace xtune

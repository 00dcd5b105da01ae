// Chooses the launches to capture, and reads their data; the application is disturbed only by waits.
#include "dispatch/capture.hpp"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::dispatch {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool names(std::string_view patterns, const std::string& kernel) {
  while (!patterns.empty()) {
    const auto comma = patterns.find(',');
    if (fnmatch(std::string(patterns.substr(0, comma)).c_str(), kernel.c_str(), 0) == 0) return true;
    patterns.remove_prefix(comma == std::string_view::npos ? patterns.size() : comma + 1);
  }
  return false;
}

std::uint64_t limit(const char* name, std::uint64_t usual, const std::function<void(const std::string&)>& say) {
  const std::string text = environment(name);
  if (text.empty()) return usual;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value <= (std::uint64_t{1} << 40)) return value;
  say(fmt::format("{}='{}' is not a number; {} is used", name, base::printable(text, 80), usual));
  return usual;
}

}  // namespace

std::unique_ptr<Capture> Capture::from_environment(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow,
                                                   std::function<void(const std::string&)> say) {
  if (!names(environment("XTUNE_CAPTURE"), spec.kernel.name)) return nullptr;
  if (std::any_of(spec.args.begin(), spec.args.end(),
                  [](const spec::ArgSpec& argument) { return argument.kind == spec::ArgKind::constant; })) {
    say(spec.kernel.name +
        ": its launches are not captured: the contents of its constants are not among the arguments");
    return nullptr;
  }
  return std::unique_ptr<Capture>(new Capture(spec, plan, std::move(narrow), std::move(say)));
}

Capture::Capture(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow,
                 std::function<void(const std::string&)> say)
    : spec_(spec),
      plan_(plan),
      narrow_(std::move(narrow)),
      say_(std::move(say)),
      folder_(environment("XTUNE_CAPTURE_DIR")),
      launches_left_(limit("XTUNE_CAPTURE_COUNT", 8, say_)),
      bytes_left_(limit("XTUNE_CAPTURE_MB", 1024, say_) << 20) {
  if (folder_.empty()) folder_ = "xtune-capture";
  // An absolute path does not change with the program's working directory. If the latter has been removed, writing
  // reports it.
  std::error_code failed;
  if (std::filesystem::path whole = std::filesystem::absolute(folder_, failed); !failed) folder_ = std::move(whole);
}

bool Capture::wants(const Bindings& problem, const std::vector<std::uint64_t>& bytes) {
  if (launches_left_ == 0 || !seen_.insert(problem).second) return false;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t copies = plan_.passed(i).role == spec::ArgRole::inout ? 2 : 1;
    if (__builtin_add_overflow(total, bytes[i], &total)) return false;
    if (copies == 2 && __builtin_add_overflow(total, bytes[i], &total)) return false;
  }
  if (total > bytes_left_) {
    say_(fmt::format("{}, {}: not captured: its data take {}, and {} are left (XTUNE_CAPTURE_MB)", spec_.kernel.name,
                     space::shown_text(problem), base::human_bytes(total), base::human_bytes(bytes_left_)));
    return false;
  }
  bytes_left_ -= total;
  --launches_left_;
  return true;
}

void Capture::read_all(backend::Runtime& runtime, void* stream, const void* const* values,
                       const std::vector<std::uint64_t>& bytes, bool after, std::vector<std::string>& into) const {
  into.resize(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const spec::ArgSpec& argument = plan_.passed(i);
    if (argument.kind == spec::ArgKind::scalar) {
      if (!after) into[i].assign(static_cast<const char*>(values[i]), size_of(argument.dtype));
      continue;
    }
    if (!(after ? spec::is_output(argument.role) : spec::is_input(argument.role))) continue;
    const void* address = nullptr;
    __builtin_memcpy(&address, values[i], sizeof address);
    if (const auto has = runtime.accessible_bytes(address, bytes[i]); has && *has < bytes[i])
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("'{}' has {} bytes of the device's memory and needs {}", argument.name, *has, bytes[i]));
    into[i].resize(bytes[i]);
    runtime.read(into[i].data(), address, bytes[i], stream);
  }
}

int Capture::around(backend::Runtime& runtime, void* stream, const void* const* values,
                    const std::function<Bindings()>& problem, const std::function<int()>& launch) noexcept {
  CapturedLaunch captured;
  std::vector<std::uint64_t> bytes;
  device::DeviceInfo device;
  bool wanted = false;
  const auto guarded = [&](const auto& work) {
    try {
      work();
    } catch (const std::exception& error) {
      wanted = false;
      try {
        say_(fmt::format("{}: a launch is not captured: {}", spec_.kernel.name, error.what()));
      } catch (...) {
      }
    }
  };
  guarded([&] {
    const std::lock_guard lock(mutex_);
    if (launches_left_ == 0 || runtime.is_capturing(stream)) return;
    captured.problem = problem();
    if (seen_.contains(captured.problem)) return;
    device = runtime.device();
    bytes = plan_.buffer_bytes(captured.problem, device, {});
    wanted = wants(captured.problem, bytes);
    if (wanted) read_all(runtime, stream, values, bytes, false, captured.before);
  });
  const int status = launch();
  if (!wanted || status != 0) return status;
  guarded([&] {
    read_all(runtime, stream, values, bytes, true, captured.after);
    write(device, captured);
  });
  return status;
}

std::filesystem::path Capture::new_folder() const {
  std::filesystem::create_directories(folder_);
  for (int number = 1; number < 100000; ++number) {
    const std::filesystem::path folder = folder_ / fmt::format("{}-{}", spec_.kernel.name, number);
    if (std::filesystem::create_directory(folder)) return folder;
  }
  throw Error(ErrorKind::io, folder_.string() + " is full of captures of " + spec_.kernel.name);
}

void Capture::write(const device::DeviceInfo& device, const CapturedLaunch& launch) {
  const std::lock_guard lock(mutex_);
  const std::filesystem::path folder = new_folder();
  try {
    spec::Spec narrowed = spec_;
    if (narrow_) narrow_(narrowed, launch.problem, device::device_facts(device));
    write_capture(folder, narrowed, plan_, device, launch);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    throw;
  }
  say_(fmt::format("{}, {}: captured; xtune run {}", spec_.kernel.name, space::shown_text(launch.problem),
                   (folder / "spec.toml").string()));
}

}  // namespace xtune::dispatch

// The process backend: one run of the build command for each configuration for which its words differ.
#include <fmt/core.h>

#include <filesystem>

#include "backends/backend.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/process/device.hpp"
#include "backends/process/run_program.hpp"
#include "base/text.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/shortage.hpp"
#include "core/device/program_call.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::process {
namespace {

class ProcessToolchain final : public build::Toolchain {
 public:
  // The facts about the compiler come from the spec: worker/ipc/target.hpp.
  std::string fingerprint() override { return "the spec's own commands"; }
  std::string default_arch() override { return cpu::own_arch(); }

  build::Artifact compile(const build::CompileRequest& request) override {
    build::Artifact artifact;
    artifact.arch = request.arch;
    artifact.format = "program";
    if (request.options.empty()) return artifact;
    const system::TemporaryDirectory work;
    std::error_code ignored;
    std::filesystem::create_directory(work.path() / "tmp", ignored);
    const device::ProgramPlaces places{(work.path() / "program").string(), (work.path() / "tmp").string()};
    ProgramRun build;
    build.argv = device::from_call_texts(request.options, places);
    build.folder = request.folder;
    build.env = {{"TMPDIR", places.tmp}, {"LC_ALL", "C"}, {"XTUNE_OUT", places.out}, {"XTUNE_TMP", places.tmp}};
    for (const auto& [name, text] : request.defines) build.env.emplace_back(name, device::from_call_text(text, places));
    const std::uint64_t kills_before = system::memory_kills();
    const ProgramEnd end = run_program(build, "the build", Outcome::compile_failed);
    if (end.ok()) build::throw_if_no_room(build.argv[0], work.path());
    // Diagnostics are usually on standard error, and some tools print all of them to standard output.
    artifact.log = end.stderr_text + end.stdout_text;
    artifact.compile_s = end.wall_s;
    try {
      if (!end.ok()) refuse(build.argv[0], end, artifact.log, work.path());
      artifact.image = image_of(places.out, artifact.log);
    } catch (const build::CandidateFailure& failure) {
      build::rethrow_counting_kills(failure, kills_before, build::Lack::killed);
    }
    return artifact;
  }

 private:
  [[noreturn]] static void refuse(const std::string& program, const ProgramEnd& end, const std::string& log,
                                  const std::filesystem::path& directory) {
    build::throw_if_not_the_source({program, log, end.exit_code, end.signal, directory});
    if (end.signal != 0 || log.find("internal compiler error") != std::string::npos ||
        log.find("PLEASE submit a bug report") != std::string::npos)
      throw build::CandidateFailure(
          Outcome::crashed,
          fmt::format("{} crashed: {}", program,
                      end.signal != 0 ? system::describe_exit(0, end.signal) : build::first_error_or_first_line(log)),
          log);
    throw build::CandidateFailure(
        Outcome::compile_failed,
        "the build " + system::describe_end(end.exit_code, 0, build::first_error_or_first_line(log)), log);
  }

  /// Earlier versions reported "left an empty file at {out}", also if a disk was full
  /// (core/store/record_check.hpp).
  [[noreturn]] static void refuse_empty(const std::string& log) {
    build::throw_if_not_the_source({"the build succeeded but left {out} empty", log});
    throw build::CandidateFailure(Outcome::compile_failed, "the build succeeded but left {out} empty", log);
  }

  static std::string image_of(const std::string& out, const std::string& log) {
    std::error_code ignored;
    const auto type = std::filesystem::status(out, ignored).type();
    if (type == std::filesystem::file_type::not_found)
      build::throw_if_not_the_source({"the build succeeded but left no file at {out}", log});
    if (type != std::filesystem::file_type::regular)
      throw build::CandidateFailure(Outcome::compile_failed,
                                    type == std::filesystem::file_type::directory
                                        ? "the build made {out} a directory; it must be one file"
                                        : "the build succeeded but left no file at {out}",
                                    log);
    std::string image = system::read_file(out);
    if (image.empty()) refuse_empty(log);
    return image;
  }
};

class ProcessDevice final : public measure::Device {
 public:
  explicit ProcessDevice(int index) : info_(cpu::cpu_info()), index_(index) { info_.backend = "process"; }

  const device::DeviceInfo& info() const noexcept override { return info_; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t /*bytes*/) override {
    throw Error(ErrorKind::unsupported, "a program has no xtune buffers");
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    if (!launch.call) throw Error(ErrorKind::unsupported, "backend 'process' runs programs, and this is a kernel");
    if (!launch.call->request.empty()) return servers_.load(artifact, *launch.call);
    return load_program(artifact, *launch.call, index_);
  }
  std::vector<int> kept_processes() const override { return servers_.processes(); }

 private:
  device::DeviceInfo info_;
  int index_;
  ServedPrograms servers_{index_};
};

class ProcessBackend final : public backend::Backend {
 public:
  const char* name() const noexcept override { return "process"; }
  backend::DeviceList list_devices() override {
    device::DeviceInfo machine = cpu::cpu_info();
    machine.backend = name();
    return {{machine}, ""};
  }
  std::unique_ptr<build::Toolchain> open_toolchain() override { return std::make_unique<ProcessToolchain>(); }
  std::unique_ptr<measure::Device> open_device(int index) override { return process::make_device(index); }
  std::shared_ptr<backend::Runtime> open_runtime() override {
    throw Error(ErrorKind::unsupported,
                "a program is not a kernel: start it with the best configuration's values yourself");
  }
};

}  // namespace

std::unique_ptr<measure::Device> make_device(int index) { return std::make_unique<ProcessDevice>(index); }

std::unique_ptr<backend::Backend> make_backend() { return std::make_unique<ProcessBackend>(); }

}  // namespace xtune::process

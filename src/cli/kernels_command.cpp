// xtune kernels: the kernels that come with xtune, which other commands take by name.
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/store/best.hpp"
#include "dispatch/arguments.hpp"
#include "worker/ipc/installed.hpp"

namespace xtune::cli {
namespace {

struct KernelsOptions {
  CommonOptions common;
  std::string path;
};

struct ShippedKernel {
  std::string name, comment;  ///< comment: what opens the spec, in one line
  spec::Spec spec;
  std::vector<KernelArgument> arguments;  ///< of a call; none of a Kokkos unit
  std::string device;                     ///< that of a run here; empty: none
  std::vector<Bindings> tuned;            ///< problems with a stored best on it

  std::string summary() const {
    const std::string sentence = comment.substr(0, comment.find(". "));
    return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
  }
  /// Empty: nothing but a GPU or a CPU.
  std::string needs() const {
    const auto is_map = [](const spec::ArgSpec& argument) { return argument.kind == spec::ArgKind::tensor_map; };
    if (spec.for_kokkos()) return "Kokkos";
    return std::any_of(spec.args.begin(), spec.args.end(), is_map) ? "sm_90" : "";
  }
};

std::string opening_comment(const std::string& toml) {
  std::string text;
  for (const std::string_view line : base::split_lines(toml)) {
    if (!line.starts_with("# ")) break;
    text.append(text.empty() ? "" : " ").append(line.substr(2));
  }
  return text;
}

/// What runs would use, by backend; nullopt: no device of this machine.
using Targets = std::map<std::string, std::optional<run::Target>>;

const std::optional<run::Target>& target_for(const spec::Spec& spec, const CommonOptions& options, Targets& targets) {
  const worker::TargetOptions target = for_kernel(spec, options.target_options(worker::TargetNeed::device));
  const auto [found, is_new] = targets.try_emplace(target.backend);
  if (is_new) try {
      found->second = worker::choose_target(spec, target);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable) throw;
    }
  return found->second;
}

/// Whether the store answers with a result of this kernel: another one may have its name.
bool is_tuned(const spec::Spec& spec, const CommonOptions& options, const run::Target& target,
              const store::StoreView& view, const Bindings& problem) try {
  store::SpecFit fit = fit_of(spec, problem, target, options.store_path());
  const store::LookupResult found = view.look_up(problem, target.device, fit.rules());
  return found.match == store::Match::exact && (found.stale || found.differences.empty());
} catch (const Error&) {
  return false;  // the spec's expressions have no value for it
}

ShippedKernel kernel_at(const std::string& path, const CommonOptions& options, Targets& targets) {
  ShippedKernel kernel;
  kernel.name = std::filesystem::path(path).stem().string();
  kernel.spec = read_spec(path, options, "");
  kernel.comment = opening_comment(*kernel.spec.text);
  if (!kernel.spec.for_kokkos()) {
    dispatch::require_kernel(kernel.spec);
    kernel.arguments = dispatch::ArgumentPlan(kernel.spec).passed_arguments();
  }
  if (const auto& target = target_for(kernel.spec, options, targets)) {
    kernel.device = target->device.name;
    const auto view = store::StoreView::load(options.store_path(), target->device.arch, kernel.spec.kernel.name);
    tell_warnings(view.warnings());
    const spec::Spec spec = read_spec(path, options, target->backend.name);
    for (const store::StoreView::Group& group : view.groups()) {
      const Bindings& problem = view.row_set().problems[group.problem].sizes;
      if (store::same_device(view.row_set().devices[group.device], target->device) &&
          is_tuned(spec, options, *target, view, problem))
        kernel.tuned.push_back(problem);
    }
  }
  return kernel;
}

std::string argument_text(const KernelArgument& argument) {
  std::string text = argument.name + ": ";
  text += argument.struct_bytes > 0 ? counted(argument.struct_bytes, "byte") : to_string(argument.dtype);
  if (argument.is_buffer) text += fmt::format("[{}]", fmt::join(argument.shape, ", "));
  return text + (argument.is_written ? " (written)" : "");
}

Json kernel_json(const ShippedKernel& kernel) {
  Json json{{"name", kernel.name},
            {"spec", kernel.spec.path.string()},
            {"computes", kernel.summary()},
            {"needs", kernel.needs().empty() ? Json() : Json(kernel.needs())},
            {"problem", space::bindings_json(kernel.spec.cases.front())},
            {"arguments", Json::array()},
            {"device", kernel.device.empty() ? Json() : Json(kernel.device)},
            {"tuned", Json::array()}};
  for (const KernelArgument& argument : kernel.arguments) {
    Json one{{"name", argument.name}, {"dtype", to_string(argument.dtype)}};
    if (argument.is_buffer) one.update({{"shape", argument.shape}, {"written", argument.is_written}});
    json["arguments"].push_back(std::move(one));
  }
  for (const Bindings& problem : kernel.tuned) json["tuned"].push_back(space::bindings_json(problem));
  return json;
}

void print_kernel(const ShippedKernel& kernel) {
  print_out("{}\n", kernel.comment);
  print_out("spec: {}\n", kernel.spec.path.string());
  if (kernel.needs() == "sm_90") print_out("needs: an NVIDIA GPU of sm_90, or a CPU, which imitates it slowly\n");
  print_out("problem: {}\n", space::shown_text(kernel.spec.cases.front()));
  if (!kernel.arguments.empty()) print_out("arguments of a call:\n");
  for (const KernelArgument& argument : kernel.arguments) print_out("  {}\n", argument_text(argument));
  if (kernel.device.empty()) return;
  print_out("tuned on {}: {}\n", kernel.device, counted(kernel.tuned.size(), "problem"));
  for (const Bindings& problem : kernel.tuned) print_out("  {}\n", space::shown_text(problem));
}

void print_table_of(const std::vector<ShippedKernel>& kernels) {
  report::FittedTable table{{{"name"}, {"tuned"}, {"needs"}, {"computes", report::FittedTable::Kind::text}}};
  for (const ShippedKernel& kernel : kernels)
    table.rows.push_back({kernel.name, kernel.tuned.empty() ? "-" : std::to_string(kernel.tuned.size()),
                          kernel.needs().empty() ? "-" : kernel.needs(), kernel.summary()});
  print_table(table);
  const std::string& device = kernels.front().device;
  print_out("tuned: problems with a stored best{}; `xtune run NAME` tunes one, `xtune kernels NAME` shows more\n",
            device.empty() ? "" : " on " + device);
}

int list_kernels(const KernelsOptions& options) {
  Targets targets;
  if (!options.path.empty()) {
    const ShippedKernel kernel = kernel_at(options.path, options.common, targets);
    print_answer(
        options.common.format, [&] { return kernel_json(kernel); }, [&] { print_kernel(kernel); });
    return done;
  }
  std::vector<ShippedKernel> kernels;
  for (const std::filesystem::path& path : worker::shipped_specs())
    if (!spec::load_suite(path)) kernels.push_back(kernel_at(path.string(), options.common, targets));
  if (kernels.empty())
    throw Error(ErrorKind::unavailable, "the kernels of xtune (share/xtune/configs) are not installed");
  if (options.common.text()) return print_table_of(kernels), done;
  Json list = Json::array();
  for (const ShippedKernel& kernel : kernels) list.push_back(kernel_json(kernel));
  print_json(list);
  return done;
}

}  // namespace

void add_kernels_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<KernelsOptions>(
      app, context, "kernels", "List the kernels that come with xtune, which every command takes by name",
      "xtune kernels\n  xtune kernels gemm_hopper", list_kernels);
  add_spec_argument(command, options.path)->required(false);
  add_format_option(command, options.common.format);
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli

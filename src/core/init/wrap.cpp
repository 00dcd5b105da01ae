// Wrappers of kernels that take a functor or a lambda.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>

#include "core/init/drafting.hpp"
#include "xtune/error.hpp"

namespace xtune::init {

namespace {

bool is_functor(const KernelFunction& kernel, const FunctionArgument& argument) {
  const auto made_of = [&](const TemplateParameter& each) { return each.is_type() && each.name == argument.type; };
  const Tokens& body = kernel.body;
  for (std::size_t i = 0; i + 1 < body.size(); ++i)
    if (body[i].is(argument.name) && (body[i + 1].is("(") || body[i + 1].is(".")))
      return argument.pointers == 0 && std::ranges::any_of(kernel.templates, made_of);
  return false;
}

/// As the source has it, without marks of functions.
std::string written(const std::string& source, const Tokens& tokens) {
  if (tokens.empty()) return "";
  std::string text = source.substr(tokens[0].begin, tokens[0].end - tokens[0].begin);
  if (tokens[0].end == 0) text = tokens[0].text;
  if (tokens.size() > 1) text += source.substr(tokens[1].begin, tokens.back().end - tokens[1].begin);
  RE2::GlobalReplace(&text, "__(?:device|host)__ *", "");
  return text;
}

class Wrapper {
 public:
  Wrapper(const KernelFunction& kernel, const Launch* launch, const HostCode& host, const std::string& source)
      : kernel_(kernel), host_(host), source_(source) {
    wrapped_.kernel = kernel;
    wrapped_.kernel.name = wrapped_.kernel.qualified = kernel.name + "_wrapped";
    wrapped_.kernel.arguments.clear();
    wrapped_.kernel.templates.clear();
    if (!launch || launch->arguments.size() != kernel.arguments.size()) return;
    wrapped_.launch = *launch;
    wrapped_.launch->arguments.clear();
    wrapped_.launch->templates.clear();
    launch_ = launch;
    definitions_ = host.definitions_at(*launch);
  }

  WrappedKernel run(const std::string& include) {
    const std::vector<Tokens> declared = split_arguments(kernel_.declared);
    for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
      FunctionArgument argument = kernel_.arguments[i];
      if (argument.name.empty()) argument.name = fmt::format("argument_{}", i + 1);
      passed_.push_back(argument.name);
      if (is_functor(kernel_, argument))
        make(argument, i);
      else
        add(argument, launch_ ? launch_->arguments[i] : Tokens(),
            text_of(declared[i]) + (kernel_.arguments[i].name.empty() ? " " + argument.name : ""));
    }
    std::vector<std::string> templates, given;
    for (std::size_t i = 0; i < kernel_.templates.size(); ++i) {
      const TemplateParameter& each = kernel_.templates[i];
      if (each.name.empty() || each.is_pack) break;  // the rest follows from the arguments
      const auto made = functor_of(each.name);
      given.push_back(made.empty() ? each.name : "decltype(" + made + ")");
      if (!made.empty()) continue;
      templates.push_back((each.is_type() ? "class" : each.type) + " " + each.name);
      wrapped_.kernel.templates.push_back(each);
      if (launch_ && i < launch_->templates.size()) wrapped_.launch->templates.push_back(launch_->templates[i]);
    }
    wrapped_.text = fmt::format(
        "// written by xtune init --wrap for {0} ({1}, line {2}): makes what a spec cannot pass.\n"
        "// {0} is a __device__ function here.\n"
        "#pragma push_macro(\"__global__\")\n#pragma push_macro(\"__launch_bounds__\")\n"
        "#undef __global__\n#undef __launch_bounds__\n#define __global__ __device__\n#define __launch_bounds__(...)\n"
        "#include \"{1}\"\n#undef __global__\n#undef __launch_bounds__\n"
        "#pragma pop_macro(\"__launch_bounds__\")\n#pragma pop_macro(\"__global__\")\n"
        "#ifdef __CUDACC_RTC__  // NVRTC has no push_macro\n#define __global__ __attribute__((global))\n"
        "#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))\n#endif\n\n",
        kernel_.name, include, kernel_.line);
    if (!templates.empty()) wrapped_.text += fmt::format("template <{}>\n", fmt::join(templates, ", "));
    std::vector<std::string> bounds;
    for (const Tokens& each : kernel_.launch_bounds) bounds.push_back(text_of(each));
    wrapped_.text +=
        fmt::format("__global__ void {}{}({}) {{\n{}  {}{}({});\n}}\n",
                    bounds.empty() ? "" : fmt::format("__launch_bounds__({}) ", fmt::join(bounds, ", ")),
                    wrapped_.kernel.name, fmt::join(parameters_, ", "), lines_, kernel_.qualified,
                    given.empty() ? "" : fmt::format("<{}>", fmt::join(given, ", ")), fmt::join(passed_, ", "));
    return std::move(wrapped_);
  }

 private:
  std::string functor_of(const std::string& type) const {
    for (const FunctionArgument& each : kernel_.arguments)
      if (each.type == type && is_functor(kernel_, each)) return each.name;
    return "";
  }

  void add(const FunctionArgument& argument, const Tokens& passed, const std::string& text) {
    wrapped_.kernel.arguments.push_back(argument);
    parameters_.push_back(text);
    if (wrapped_.launch) wrapped_.launch->arguments.push_back(passed);
  }

  void make(const FunctionArgument& argument, std::size_t number) {
    Tokens expression = launch_ ? launch_->arguments[number] : Tokens();
    if (expression.size() == 1)
      if (const auto made = definitions_.find(expression.front().text); made != definitions_.end())
        expression = made->second;
    for (const Token& token : expression)
      if (token.is_word() && captured_.insert(object_of(token)).second)
        capture(object_of(token), expression[expression.size() > 1].begin);
    const std::vector<std::string> types = host_.callable_types();
    const std::string from = launch_ ? fmt::format("as on line {}", launch_->line)
                             : types.empty()
                                 ? "fill in: no launch shows it"
                                 : fmt::format("guess: no launch shows it; the source has {}", fmt::join(types, ", "));
    const std::string value = !expression.empty() ? written(source_, expression)
                              : types.empty()     ? "?"
                                                  : types[0] + "{}";
    lines_ += fmt::format("  auto {} = {};  // {}\n", argument.name, value, from);
  }

  /// A variable of host code that a functor is made of: its value, or an argument.
  void capture(const std::string& name, std::size_t before) {
    const auto declared = launch_ ? host_.declared(name, *launch_, before) : std::nullopt;
    if (!declared) return;
    const auto made = definitions_.find(name);
    const bool is_literal = declared->pointers == 0 && made != definitions_.end() && !made->second.empty() &&
                            std::ranges::none_of(made->second, [](const Token& each) { return each.is_word(); });
    if (is_literal) {
      lines_ += fmt::format("  const {} {} = {};\n", declared->type, name, written(source_, made->second));
      return;
    }
    for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
      if (kernel_.arguments[i].name != name) continue;
      if (text_of(launch_->arguments[i]) == name) return;
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("the functor has '{}' of host code (line {}), and the kernel has an argument of that name "
                      "with another value: rename one",
                      name, launch_->line));
    }
    add(*declared, {{Token::Kind::word, name}}, text_of(*declared));
  }

  const KernelFunction& kernel_;
  const HostCode& host_;
  const std::string& source_;
  const Launch* launch_ = nullptr;
  std::map<std::string, Tokens> definitions_;
  std::set<std::string> captured_;
  std::vector<std::string> parameters_, passed_;
  std::string lines_;  ///< of the wrapper, before the call
  WrappedKernel wrapped_;
};

}  // namespace

std::optional<std::size_t> functor_argument(const KernelFunction& kernel) {
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i)
    if (is_functor(kernel, kernel.arguments[i])) return i;
  return std::nullopt;
}

WrappedKernel wrapped_kernel(const KernelFunction& kernel, const Launch* launch, const HostCode& host,
                             const std::string& source, const std::string& include) {
  return Wrapper(kernel, launch, host, source).run(include);
}

}  // namespace xtune::init

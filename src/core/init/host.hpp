// What host code shows of the launches of kernels, and of the memory that they get.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/init/expressions.hpp"

namespace xtune::init {

/// for (int i = begin; i < end; i += step) around a launch.
struct LaunchLoop {
  std::size_t at = 0, line = 0;  ///< of its first token
  std::string index;             ///< empty: its rounds cannot be counted, or it is a condition
  Tokens begin, end, step;
  bool closed = false;                           ///< i <= end
  std::map<std::string, std::size_t> changed{};  ///< variables that a round changes, and the line
  std::size_t exit = 0;                          ///< the line of a break, continue or goto in it; 0: none
  bool is_condition = false;                     ///< of if, else or switch
};

struct Launch {
  std::string kernel;  ///< without scopes
  std::vector<Tokens> templates, grid, block, arguments;
  Tokens shared;
  bool is_cooperative = false;
  std::size_t at = 0, line = 0;    ///< of the kernel's name
  std::size_t function = 0;        ///< in which it is
  std::vector<LaunchLoop> around;  ///< the outermost first
};

/// A call of cudaMalloc, cudaMemset or cudaMemcpy, or of HIP's.
struct MemoryUse {
  enum class Kind { allocated, zeroed, to_device, to_host };
  Kind kind = Kind::allocated;
  std::string pointer;  ///< as pointer_text
  Tokens bytes;
  std::size_t at = 0, line = 0;
};

class HostCode {
 public:
  HostCode(const TokenizedSource& source, const std::vector<KernelFunction>& kernels);

  const std::vector<Launch>& launches() const { return launches_; }
  const std::map<std::string, Formula>& formulas() const { return formulas_; }
  /// What constants and macros of the file itself stand for; of two definitions, nothing.
  const std::map<std::string, Tokens>& constants() const { return constants_; }
  /// The name of a function; empty: none.
  std::string function_name(std::size_t function) const;
  /// The line of what makes a loop's rounds differ: an exit, a change of its index, or a condition around a launch;
  /// 0: nothing is seen.
  std::size_t uneven(const LaunchLoop& loop) const;
  /// What else the device has to do between two launches of one function, and its line: copies to the device and
  /// within it, memset, unknown kernels, and functions that launch. before is null: from the loop around the other one;
  /// after is null: to the end of the function.
  std::vector<std::pair<std::size_t, Tokens>> other_work(const Launch* before, const Launch* after) const;
  /// What names stand for where a launch is. One that changes in other ways than by "=" has an empty definition.
  std::map<std::string, Tokens> definitions_at(const Launch& launch) const;
  /// A variable of the launch's function; nullopt: no declaration is seen before this byte of the source.
  std::optional<FunctionArgument> declared(const std::string& name, const Launch& launch, std::size_t before) const;
  /// The names of structs and classes that can be called.
  std::vector<std::string> callable_types() const;
  /// The uses of a pointer in the launch's function.
  std::vector<MemoryUse> memory_of(const std::string& pointer, const Launch& launch) const;
  /// Whether the launch's function copies anything to the host.
  bool copies_back(const Launch& launch) const;

 private:
  struct Function {
    std::size_t name = 0, begin = 0, end = 0;
  };
  void find_functions();
  void find_launching();
  void find_constants(std::size_t begin, std::size_t end);
  void add_constant(const std::string& name, const Tokens& value);
  void find_launches(const std::set<std::string>& kernels);
  void find_memory();
  std::optional<Launch> marked_launch(std::size_t at, const std::set<std::string>& kernels) const;
  std::optional<Launch> called_launch(std::size_t at, const std::set<std::string>& kernels) const;
  std::vector<LaunchLoop> loops_around(std::size_t at, const Function& function) const;
  /// The extents of a dim3.
  static std::vector<Tokens> extents_of(Tokens tokens, const std::map<std::string, Tokens>& definitions);

  Tokens tokens_;
  std::vector<Function> functions_;
  std::vector<Launch> launches_;
  std::vector<MemoryUse> memory_;
  std::map<std::string, Formula> formulas_;
  std::map<std::string, Tokens> constants_;
  std::set<std::string> launching_;  ///< functions that launch, also by others
};

/// An address without casts and "&": the variable that holds it, as a rule.
std::string pointer_text(Tokens tokens);

}  // namespace xtune::init

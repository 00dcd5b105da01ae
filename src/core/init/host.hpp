// What host code shows of the launches of kernels, and of the memory that they get.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/init/expressions.hpp"

namespace xtune::init {

/// Where host code gives a variable a value, or may do so: an assignment, a step, a call that gets it by reference.
struct Change {
  std::string name;
  std::size_t at = 0, line = 0;
  std::optional<Tokens> value{};  ///< nullopt: it is not seen
  bool declares = false;
  std::string member{};  ///< x, y or z: the value is that of a dim3's member, in a statement
};

/// for (int i = begin; i < end; i += step) around a launch, or something else that decides how often it happens.
struct LaunchLoop {
  enum class Kind { loop, condition, directive, lambda };  ///< condition: if, else, switch or ?
  std::size_t at = 0, line = 0;                            ///< of its first token
  std::string index;                                       ///< empty: its rounds cannot be counted
  Tokens begin, end, step;                                 ///< end: also what an if or switch asks for
  bool closed = false;                                     ///< i <= end
  std::map<std::string, std::size_t> changed{};            ///< by a round, and the line; the index also by an exit
  Kind kind = Kind::loop;
  std::size_t body = 0, last = 0;  ///< what it repeats: [body, last)
};

struct Launch {
  std::string kernel;  ///< without scopes
  std::vector<Tokens> templates, grid, block, arguments;
  Tokens shared;
  std::string block_name{};  ///< the variable whose extents the block has; empty: none
  bool is_cooperative = false;
  std::size_t at = 0, line = 0;    ///< of the kernel's name
  std::size_t function = 0;        ///< in which it is
  std::vector<LaunchLoop> around;  ///< the outermost first
  bool is_read = true;             ///< false: grid and block are the statement that has the kernel
};

/// A call of cudaMalloc, cudaMemset or cudaMemcpy, or of HIP's.
struct MemoryUse {
  enum class Kind { allocated, zeroed, to_device, to_host };
  Kind kind = Kind::allocated;
  std::string pointer;  ///< as pointer_text
  Tokens bytes;
  std::size_t at = 0, line = 0, end = 0;  ///< end: behind the call
  bool is_last = true;                    ///< nothing else has the pointer before the launch
};

class HostCode {
 public:
  HostCode(const TokenizedSource& source, const std::vector<KernelFunction>& kernels);

  const std::vector<Launch>& launches() const { return launches_; }
  const std::map<std::string, Formula>& formulas() const { return formulas_; }
  /// What constants and macros of the file itself stand for where a launch is; of two definitions, nothing.
  std::map<std::string, Tokens> constants_at(const Launch& launch) const;
  /// Whether a variable of this name may be a dim3.
  bool is_dim3(const std::string& name) const;
  /// Whether the file has a function, or macro with arguments, of this name.
  bool defines(const std::string& name) const;
  /// The name of a function; empty: none.
  std::string function_name(std::size_t function) const;
  /// The line of what makes a loop's rounds differ: an exit, a change of its index, or a condition around a launch;
  /// 0: nothing is seen.
  std::size_t uneven(const LaunchLoop& loop) const;
  /// What else the device has to do between two launches of one function, and its line: copies to the device and
  /// within it, memset, unknown kernels, libraries, functions that launch, and changes of what launches pass. before is
  /// null: from the loop around the other one; after is null: to the end of the function.
  std::vector<std::pair<std::size_t, Tokens>> other_work(const Launch* before, const Launch* after) const;
  /// What names stand for where a launch is, constants too; nothing, if they may have several values there.
  std::map<std::string, Tokens> definitions_at(const Launch& launch) const;
  /// A variable of the launch's function; nullopt: no declaration is seen before this byte of the source.
  std::optional<FunctionArgument> declared(const std::string& name, const Launch& launch, std::size_t before) const;
  /// The names of structs and classes that can be called.
  std::vector<std::string> callable_types() const;
  /// The uses of a pointer in the launch's function; "*": of all.
  std::vector<MemoryUse> memory_of(const std::string& pointer, const Launch& launch) const;

 private:
  struct Function {
    std::size_t name = 0, begin = 0, body = 0, end = 0;
  };
  struct Constant {
    std::string name;
    Tokens value;
    std::size_t begin = 0, end = std::string::npos;  ///< where it is seen
  };
  using Places = std::vector<std::pair<std::size_t, std::size_t>>;
  void read(const TokenizedSource& source);
  void find_functions();
  void find_launching();
  void find_constants(std::size_t begin, std::size_t end, const Places& classes);
  void add_formula(const std::string& name, Formula formula);
  void note_references(const std::string& name, const Tokens& arguments);
  void find_launches(const std::set<std::string>& kernels);
  void find_memory();
  std::optional<Launch> marked_launch(std::size_t at, const std::set<std::string>& kernels) const;
  std::optional<Launch> called_launch(std::size_t at, const std::set<std::string>& kernels) const;
  std::vector<LaunchLoop> loops_around(std::size_t at, const Function& function) const;

  Tokens tokens_;
  std::vector<std::size_t> block_ends_;  ///< where the block of each token closes
  Places conditions_;                    ///< of directives, as bytes
  std::vector<std::size_t> condition_lines_;
  std::vector<Function> functions_, lambdas_;
  std::map<std::string, std::set<std::size_t>> references_;  ///< arguments that functions and macros may change
  std::vector<Change> changes_;
  std::vector<Launch> launches_;
  std::vector<MemoryUse> memory_;
  std::map<std::string, Formula> formulas_;
  std::vector<Constant> constants_;
  std::set<std::string> launching_;  ///< functions that launch, also by others
};

/// An address without casts and "&": the variable that holds it, as a rule.
std::string pointer_text(Tokens tokens);

}  // namespace xtune::init

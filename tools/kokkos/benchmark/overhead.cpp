// The time that the Kokkos connector adds to a kernel and to a context of an application: overhead CONNECTOR [CALLS]. A
// stand-in for Kokkos' runtime, linked statically as most applications link Kokkos, calls the library through its C
// interface. Exits with 1 if the library does not answer.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/kokkos/abi.hpp"

struct Kokkos_Tools_VariableValue;

namespace Kokkos::Tools::Experimental {

using Callback = void (*)(std::size_t, std::size_t, const Kokkos_Tools_VariableValue*, std::size_t,
                          Kokkos_Tools_VariableValue*);
Callback callback = nullptr;
/// The connector finds this function by its name in the program's symbols.
[[gnu::used, gnu::noinline]] void set_request_output_values_callback(Callback chosen) { callback = chosen; }

}  // namespace Kokkos::Tools::Experimental

namespace {

namespace abi = xtune::kokkos_tools::abi;
using Kokkos::Tools::Experimental::callback;

class Connector {
 public:
  explicit Connector(const char* path) : library_(::dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      std::exit(1);
    }
    find(begin, "kokkosp_begin_parallel_for");
    find(end, "kokkosp_end_parallel_for");
    find(declare, "kokkosp_declare_output_type");
    find(begin_context, "kokkosp_begin_context");
    find(end_context, "kokkosp_end_context");
    find(callback, "kokkosp_request_values");
    void (*initialize)(int, std::uint64_t, std::uint32_t, void*) = nullptr;
    find(initialize, "kokkosp_init_library");
    if (!initialize || !callback || !begin || !end || !declare || !begin_context || !end_context) {
      std::fprintf(stderr, "the library lacks a function that Kokkos looks up\n");
      std::exit(1);
    }
    initialize(0, 20'210'225, 0, nullptr);
  }

  void (*begin)(const char*, std::uint32_t, std::uint64_t*) = nullptr;
  void (*end)(std::uint64_t) = nullptr;
  void (*declare)(const char*, std::size_t, const abi::VariableInfo*) = nullptr;
  void (*begin_context)(std::size_t) = nullptr;
  void (*end_context)(std::size_t, abi::VariableValue) = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }
  void* library_;
};

volatile double sink = 0;

void work(std::int64_t units) {
  double sum = 0;
  for (std::int64_t i = 0; i < units * 200; ++i) sum += static_cast<double>(i) * 1e-9;
  sink = sum;
}

void request(std::size_t context, std::vector<abi::VariableValue>& values) {
  if (callback)
    callback(context, 0, nullptr, values.size(), reinterpret_cast<Kokkos_Tools_VariableValue*>(values.data()));
}

abi::VariableInfo fractions() {
  abi::VariableInfo info{abi::type_double, abi::interval, abi::candidates_range, {}, nullptr};
  info.candidates.range = {};
  info.candidates.range.upper.real = 0.999;
  info.candidates.range.step.real = 0.999 / 15;
  info.candidates.range.open_lower = info.candidates.range.open_upper = true;
  return info;
}

/// A kernel of three tuned sizes, as Kokkos runs it. Returns the first fraction, 0 for Kokkos' own choice.
double run_kernel(Connector& connector, bool tuned, bool works, std::vector<abi::VariableValue>& values,
                  std::size_t& context) {
  static const char* const name = "N12application5stageI6VectorIdEE(the name of a functor has about this length)";
  std::uint64_t number = 0;
  connector.begin(name, 1u << 24, &number);
  connector.begin_context(++context);
  if (tuned && values.empty())
    for (std::size_t id = 1; id <= 3; ++id) {
      const abi::VariableInfo info = fractions();
      connector.declare((name + ("_size_" + std::to_string(id))).c_str(), id, &info);
      values.push_back({id, {}, nullptr});
    }
  for (abi::VariableValue& each : values) each.value.real = 0;
  if (tuned && callback) {
    connector.begin_context(++context);
    request(context, values);
  }
  const double first = values.empty() ? 0 : values.front().value.real;
  if (works) work(first > 0.5 ? 10 : 40);
  connector.end(number);
  connector.end_context(context, {});
  if (tuned && callback) connector.end_context(context, {});
  return first;
}

template <class Function>
double nanoseconds(int calls, const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) function();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: overhead CONNECTOR [CALLS]\n"), 2;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 200'000;
  Connector connector(argv[1]);
  std::size_t context = 0;
  std::vector<abi::VariableValue> none, sizes;
  std::printf("kernel without sizes to tune: %.0f ns\n",
              nanoseconds(calls, [&] { run_kernel(connector, false, false, none, context); }));

  double first = 0;
  for (int i = 0; i < 20'000; ++i) first = run_kernel(connector, true, true, sizes, context);
  std::printf("kernel after tuning: %.0f ns (first size at %.3f of its list)\n",
              nanoseconds(calls, [&] { run_kernel(connector, true, false, sizes, context); }), first);

  const std::vector<std::int64_t> choices{0, 1, 2};
  abi::VariableInfo info{abi::type_integer, abi::categorical, abi::candidates_set, {}, nullptr};
  info.candidates.set = {choices.size(), {choices.data()}};
  connector.declare("algorithm", 77, &info);
  std::vector<abi::VariableValue> choice{{77, {}, nullptr}};
  const auto run_context = [&](bool works) {
    choice[0].value.integer = 0;
    connector.begin_context(++context);
    request(context, choice);
    if (works) work(choice[0].value.integer == 1 ? 10 : 40);
    connector.end_context(context, {});
  };
  for (int i = 0; i < 5000; ++i) run_context(true);
  std::printf("context after tuning: %.0f ns (choice %d)\n", nanoseconds(calls, [&] { run_context(false); }),
              static_cast<int>(choice[0].value.integer));
  return 0;
}

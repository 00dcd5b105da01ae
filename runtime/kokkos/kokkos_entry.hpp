// Makes the table that a unit exports from its entry function.
#pragma once

#include <xtune/kokkos_abi.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>
#include <xtune/kokkos.hpp>

namespace xtune::kokkos {

/// Measures from its construction to stop(), including everything launched in between.
template <class Space>
class Stopwatch {
 public:
  double stop_ms() {
    Kokkos::fence();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Measures with a pair of events in the stream of a GPU.
#define XTUNE_EVENT_STOPWATCH(Space, api, stream)           \
  template <>                                               \
  class Stopwatch<Space> {                                  \
   public:                                                  \
    Stopwatch() {                                           \
      (void)api##EventCreate(&start_);                      \
      (void)api##EventCreate(&stop_);                       \
      (void)api##EventRecord(start_, Space().stream());     \
    }                                                       \
    ~Stopwatch() {                                          \
      (void)api##EventDestroy(start_);                      \
      (void)api##EventDestroy(stop_);                       \
    }                                                       \
    Stopwatch(const Stopwatch&) = delete;                   \
    Stopwatch& operator=(const Stopwatch&) = delete;        \
    double stop_ms() {                                      \
      (void)api##EventRecord(stop_, Space().stream());      \
      Kokkos::fence();                                      \
      float time_ms = 0;                                    \
      (void)api##EventElapsedTime(&time_ms, start_, stop_); \
      return time_ms;                                       \
    }                                                       \
                                                            \
   private:                                                 \
    api##Event_t start_ = nullptr, stop_ = nullptr;         \
  };
#ifdef KOKKOS_ENABLE_CUDA
XTUNE_EVENT_STOPWATCH(Kokkos::Cuda, cuda, cuda_stream)
#endif
#ifdef KOKKOS_ENABLE_HIP
#if KOKKOS_VERSION >= 40000
XTUNE_EVENT_STOPWATCH(Kokkos::HIP, hip, hip_stream)
#else
XTUNE_EVENT_STOPWATCH(Kokkos::Experimental::HIP, hip, hip_stream)
#endif
#endif
#undef XTUNE_EVENT_STOPWATCH

struct FillWords {
  unsigned long long* words;
  unsigned long long value;
  KOKKOS_INLINE_FUNCTION void operator()(long i) const { words[i] = value; }
};

inline void tell(XtuneKokkosText* failure, const char* text) {
  if (failure->bytes == 0) return;
  std::strncpy(failure->text, text, failure->bytes - 1);
  failure->text[failure->bytes - 1] = '\0';
}

/// Converts an action's exception to a status and a text: no exception leaves a unit.
template <class Action>
int guarded(XtuneKokkosText* failure, const int& status, const Action& action) {
  try {
    action();
    return xtune_kokkos_done;
  } catch (const std::exception& error) {
    tell(failure, error.what());
  } catch (...) {
    tell(failure, "an exception of no standard type");
  }
  return status;
}

/// Whether this unit has initialised Kokkos, and therefore must finalise it.
inline bool& is_starter() {
  static bool value = false;
  return value;
}

inline int start(int device, int threads, XtuneKokkosText* failure) {
  return guarded(failure, xtune_kokkos_refused, [&] {
    if (Kokkos::is_initialized()) return;
#if KOKKOS_VERSION >= 30700
    Kokkos::InitializationSettings settings;
    if (device >= 0) settings.set_device_id(device);
    if (threads > 0) settings.set_num_threads(threads);
    settings.set_disable_warnings(true);
#else
    Kokkos::InitArguments settings;
    settings.device_id = device;
    settings.num_threads = threads;
    settings.disable_warnings = true;
#endif
    Kokkos::initialize(settings);
    is_starter() = true;
  });
}

inline void finish() {
  if (is_starter()) Kokkos::finalize();
  is_starter() = false;
}

inline int fill(void* memory, unsigned long bytes, unsigned long long value, XtuneKokkosText* failure) {
  return guarded(failure, xtune_kokkos_faulted, [&] {
    const long count = static_cast<long>(bytes / sizeof value);
    Kokkos::parallel_for(Kokkos::RangePolicy<ExecutionSpace>(0, count),
                         FillWords{static_cast<unsigned long long*>(memory), value});
    Kokkos::fence();
  });
}

/// Queues it, as launches are.
inline void zero(const XtuneKokkosMemory& memory) {
  Kokkos::deep_copy(ExecutionSpace(), view(static_cast<char*>(memory.address), memory.bytes), char(0));
}

}  // namespace xtune::kokkos

template <auto entry>
struct XtuneKokkosEntry {
  static_assert(entry == nullptr,
                "the entry of a Kokkos unit is a function that returns nothing: void gemm(const float* a, int n)");
};

template <class... A, void (*entry)(A...)>
struct XtuneKokkosEntry<entry> {
  static_assert((... && !std::is_reference_v<A>), "the entry of a Kokkos unit takes pointers and numbers, by value");
  static constexpr int count = sizeof...(A);
  static constexpr unsigned bytes[count + 1] = {sizeof(A)..., 0};
  static constexpr bool is_pointer[count + 1] = {std::is_pointer_v<A>..., false};

  template <std::size_t... I>
  static void call(void* const* arguments, std::index_sequence<I...>) {
    (void)arguments;
    entry(*static_cast<std::remove_const_t<A>*>(arguments[I])...);
  }
  static int run(void* const* const* arguments, unsigned long launches, const XtuneKokkosMemory* zeroed,
                 unsigned long zeroed_count, double* time_ms, XtuneKokkosText* failure) {
    int status = xtune_kokkos_refused;
    return xtune::kokkos::guarded(failure, status, [&] {
      Kokkos::fence();
      xtune::kokkos::Stopwatch<xtune::kokkos::ExecutionSpace> stopwatch;
      for (unsigned long i = 0; i < launches; ++i) {
        for (unsigned long k = 0; k < zeroed_count; ++k) xtune::kokkos::zero(zeroed[k]);
        call(arguments[i], std::index_sequence_for<A...>());
      }
      status = xtune_kokkos_faulted;
      *time_ms = stopwatch.stop_ms();
    });
  }
  static constexpr XtuneKokkosUnit xtune_table = {
      XTUNE_KOKKOS_MARKER,  count, bytes, is_pointer, xtune::kokkos::start, run, xtune::kokkos::fill,
      xtune::kokkos::finish};
};

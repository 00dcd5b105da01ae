// Wraps the entry function so that it can be called with an array of argument addresses.
#pragma once
#pragma GCC system_header

#include "xtune_host_threads.h"

template <int... I>
struct XtuneIndices {};
template <int N, int... I>
struct XtuneCount : XtuneCount<N - 1, N - 1, I...> {};
template <int... I>
struct XtuneCount<0, I...> {
  using type = XtuneIndices<I...>;
};

template <class T>
struct XtuneIsPointer {
  static constexpr bool value = false;
};
template <class T>
struct XtuneIsPointer<T*> {
  static constexpr bool value = true;
};

/// As XtuneParameter says.
template <class T>
struct XtuneElement {
  static constexpr char kind = 'o';
  static constexpr unsigned bytes = sizeof(T);
};
template <class T>
struct XtuneElement<const T> : XtuneElement<T> {};
template <class T>
struct XtuneElement<volatile T> : XtuneElement<T> {};
template <class T>
struct XtuneElement<const volatile T> : XtuneElement<T> {};
template <>
struct XtuneElement<void> {
  static constexpr char kind = 'o';
  static constexpr unsigned bytes = 0;
};
#define XTUNE_ELEMENT(T, K)                      \
  template <>                                    \
  struct XtuneElement<T> {                       \
    static constexpr char kind = K;              \
    static constexpr unsigned bytes = sizeof(T); \
  };
XTUNE_ELEMENT(float, 'f')
XTUNE_ELEMENT(double, 'f')
XTUNE_ELEMENT(short, 'i')
XTUNE_ELEMENT(int, 'i')
XTUNE_ELEMENT(long, 'i')
XTUNE_ELEMENT(long long, 'i')
XTUNE_ELEMENT(unsigned short, 'u')
XTUNE_ELEMENT(unsigned, 'u')
XTUNE_ELEMENT(unsigned long, 'u')
XTUNE_ELEMENT(unsigned long long, 'u')
XTUNE_ELEMENT(bool, 'b')
XTUNE_ELEMENT(char, 'c')
XTUNE_ELEMENT(signed char, 'c')
XTUNE_ELEMENT(unsigned char, 'c')
template <class T>
struct XtunePointee {
  using type = T;
};
template <class T>
struct XtunePointee<T*> {
  using type = T;
};
// A function type is no element.
template <class R, class... A>
struct XtuneElement<R(A...)> : XtuneElement<void> {};
template <class T>
constexpr const char* xtune_text_of() {
  return __PRETTY_FUNCTION__;
}

static void xtune_bind(const XtuneServices* services) { xtune_services = services; }
static void xtune_begin_launch(XtuneUint3 grid, XtuneUint3 block, void* dynamic_shared) {
  gridDim = dim3(grid.x, grid.y, grid.z);
  blockDim = dim3(block.x, block.y, block.z);
  xtune_dynamic_shared_memory = dynamic_shared;
}
static void xtune_begin_block(XtuneUint3 index) {
  blockIdx = {index.x, index.y, index.z};
  ++xtune_blocks;
  // Used in any case: the process finds a library's thread-local variables only where one of them was used.
  __asm__ __volatile__("" ::"r"(&xtune_blocks) : "memory");
}

template <class T>
struct XtuneIsConst {
  static constexpr bool value = false;
};
template <class T>
struct XtuneIsConst<const T> {
  static constexpr bool value = true;
};
template <class T, size_t N>
struct XtuneIsConst<T[N]> : XtuneIsConst<T> {};

template <class T>
constexpr XtuneVariable xtune_variable(T* variable) {
  static_assert(!XtuneIsConst<T>::value,
                "a constant of the spec is filled before launches, so it must not be const in the source");
  return {const_cast<void*>(static_cast<const volatile void*>(variable)), sizeof(T)};
}

template <bool>
struct XtuneChoice {};

template <class... A>
struct XtuneArguments {
  static constexpr int count = sizeof...(A);
  static constexpr unsigned bytes[count + 1] = {sizeof(A)..., 0};
  static constexpr bool is_pointer[count + 1] = {XtuneIsPointer<A>::value..., false};
  static constexpr XtuneParameter parameters[count + 1] = {
      {xtune_text_of<A>(), XtuneElement<typename XtunePointee<A>::type>::kind,
       XtuneElement<typename XtunePointee<A>::type>::bytes}...,
      {nullptr, 'o', 0}};

  /// The function that the process calls to run `entry`; only one of the two forms, so that it is compiled once.
  /// Everything is inlined into it, as GPU compilers do: arrays of a thread then stay in registers.
  template <void (*entry)(A...), bool uses_fibers>
  struct Runner {
    template <int... I>
    static inline __attribute__((always_inline)) void run_one(void* const* arguments, XtuneIndices<I...>) {
      (void)arguments;
      entry(*static_cast<A*>(arguments[I])...);
    }
    __attribute__((flatten)) static void run_thread(void* const* arguments, XtuneUint3 index) {
      threadIdx = {index.x, index.y, index.z};
      run_one(arguments, typename XtuneCount<count>::type());
      if (xtune_end_thread) xtune_end_thread();
    }

    // By value: a store through one argument cannot change another, so that simple kernels become vector loops.
    static inline __attribute__((always_inline)) void run_all(A... values) {
      const unsigned size_x = blockDim.x, size_y = blockDim.y, size_z = blockDim.z;
      for (unsigned z = 0; z < size_z; ++z)
        for (unsigned y = 0; y < size_y; ++y)
          for (unsigned x = 0; x < size_x; ++x) {
            threadIdx = {x, y, z};
            entry(values...);
            if (xtune_end_thread) xtune_end_thread();
          }
    }
    template <int... I>
    static inline __attribute__((always_inline)) void unpack(void* const* arguments, XtuneIndices<I...>) {
      (void)arguments;
      run_all(*static_cast<A*>(arguments[I])...);
    }
    __attribute__((flatten)) static void run_block(void* const* arguments, XtuneUint3 block_index) {
      xtune_begin_block(block_index);
      unpack(arguments, typename XtuneCount<count>::type());
    }

    static constexpr XtuneKernel describe(const char* marker, bool uses_hopper,
                                          const unsigned char* racing_begin = nullptr,
                                          const unsigned char* racing_end = nullptr) {
      XtuneKernel kernel = {
          marker,      count,       bytes,      is_pointer,         parameters, racing_begin,      racing_end,
          uses_hopper, uses_fibers, xtune_bind, xtune_begin_launch, nullptr,    xtune_begin_block, nullptr};
      choose(kernel, XtuneChoice<uses_fibers>());
      return kernel;
    }
    static constexpr void choose(XtuneKernel& kernel, XtuneChoice<true>) { kernel.run_thread = run_thread; }
    static constexpr void choose(XtuneKernel& kernel, XtuneChoice<false>) { kernel.run_block = run_block; }
  };
};
template <class... A>
constexpr unsigned XtuneArguments<A...>::bytes[];
template <class... A>
constexpr bool XtuneArguments<A...>::is_pointer[];
template <class... A>
constexpr XtuneParameter XtuneArguments<A...>::parameters[];

template <class... A>
XtuneArguments<A...> xtune_arguments_of(void (*)(A...));

// For Kokkos translation units that xtune tunes, and for applications that use them afterwards: the execution space,
// and Views of memory that is owned elsewhere.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

namespace xtune::kokkos {

/// The execution space that is tuned; in an application Kokkos' default one.
#ifdef XTUNE_EXECUTION_SPACE
using ExecutionSpace = XTUNE_EXECUTION_SPACE;
#else
using ExecutionSpace = Kokkos::DefaultExecutionSpace;
#endif

/// An unmanaged View in the execution space's memory. Rows are contiguous, as in a spec's shapes, unless another Layout
/// is given: View<float**, Kokkos::LayoutLeft>.
template <class T, class Layout = Kokkos::LayoutRight>
using View = Kokkos::View<T, Layout, ExecutionSpace::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
View<T*> view(T* data, std::size_t n0) {
  return View<T*>(data, n0);
}
template <class T>
View<T**> view(T* data, std::size_t n0, std::size_t n1) {
  return View<T**>(data, n0, n1);
}
template <class T>
View<T***> view(T* data, std::size_t n0, std::size_t n1, std::size_t n2) {
  return View<T***>(data, n0, n1, n2);
}
template <class T>
View<T****> view(T* data, std::size_t n0, std::size_t n1, std::size_t n2, std::size_t n3) {
  return View<T****>(data, n0, n1, n2, n3);
}

}  // namespace xtune::kokkos

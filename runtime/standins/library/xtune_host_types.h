// In the place of C++'s headers that a compiler for devices cannot read: their types, for the CPU's side of structs and
// classes that kernels use too. With the sizes of libstdc++, and declarations of functions, which kernels cannot call.
#pragma once
#include "cstddef"
#include "type_traits"
#include "xtune_limits.h"

namespace std {

#if defined(__CUDACC__)
#define XTUNE_HD __host__ __device__
#else
#define XTUNE_HD
#endif
#define XTUNE_OPAQUE(bytes) unsigned long long opaque[bytes / 8];
#define XTUNE_CONTAINER(Container)         \
  XTUNE_HD Container(const Container&);    \
  template <class... T>                    \
  XTUNE_HD Container(const T&...);         \
  XTUNE_HD ~Container();                   \
  template <class T>                       \
  XTUNE_HD Container& operator=(const T&); \
  XTUNE_HD size_t size() const;            \
  XTUNE_HD size_t length() const;          \
  XTUNE_HD bool empty() const;             \
  XTUNE_HD void clear();                   \
  template <class... T>                    \
  XTUNE_HD void resize(const T&...);       \
  template <class... T>                    \
  XTUNE_HD void reserve(const T&...);

struct string {
  XTUNE_OPAQUE(32)
  XTUNE_CONTAINER(string)
  XTUNE_HD const char* c_str() const;
  XTUNE_HD char& operator[](size_t) const;
  template <class T>
  XTUNE_HD string& operator+=(const T&);
};
template <class T>
XTUNE_HD string operator+(const string&, const T&);
XTUNE_HD string operator+(const char*, const string&);
template <class T>
XTUNE_HD string to_string(const T&);

template <class E, class A = void>
struct vector {
  XTUNE_OPAQUE(24)
  XTUNE_CONTAINER(vector)
  XTUNE_HD E* data() const;
  XTUNE_HD E* begin() const;
  XTUNE_HD E* end() const;
  XTUNE_HD E& back() const;
  XTUNE_HD E& operator[](size_t) const;
  template <class... T>
  XTUNE_HD void push_back(const T&...);
  template <class... T>
  XTUNE_HD void emplace_back(const T&...);
};
template <class, class = void, class = void>
struct set {
  XTUNE_OPAQUE(48)
  XTUNE_CONTAINER(set)
};
template <class, class, class = void, class = void>
struct map {
  XTUNE_OPAQUE(48)
  XTUNE_CONTAINER(map)
};
template <class, class = void, class = void, class = void>
struct unordered_set {
  XTUNE_OPAQUE(56)
  XTUNE_CONTAINER(unordered_set)
};
template <class, class, class = void, class = void, class = void>
struct unordered_map {
  XTUNE_OPAQUE(56)
  XTUNE_CONTAINER(unordered_map)
};
template <class T>
struct shared_ptr {
  XTUNE_OPAQUE(16)
  XTUNE_HD T* get() const;
  XTUNE_HD T* operator->() const;
  XTUNE_HD T& operator*() const;
};
template <class T, class = void>
struct unique_ptr {
  XTUNE_OPAQUE(8)
  XTUNE_HD T* get() const;
  XTUNE_HD T* operator->() const;
  XTUNE_HD T& operator*() const;
};
struct mutex {
  XTUNE_OPAQUE(40)
};

#if defined(__CUDACC__)  // hipRTC has declarations of streams built in
struct ostream {
  template <class T>
  XTUNE_HD const ostream& operator<<(const T&) const;
};
struct istream {
  template <class T>
  XTUNE_HD const istream& operator>>(T&) const;
};
constexpr ostream cout{}, cerr{}, clog{};
constexpr istream cin{};
constexpr char endl = '\n';
struct ofstream;
struct ifstream;
struct ostringstream;
struct stringstream;
#endif

struct exception {
  XTUNE_HD exception() noexcept;
  XTUNE_HD virtual ~exception();
  XTUNE_HD virtual const char* what() const noexcept;
};
struct runtime_error : exception {
  template <class T>
  XTUNE_HD explicit runtime_error(const T&);
  void* text;
};
struct invalid_argument : runtime_error {
  using runtime_error::runtime_error;
};

#undef XTUNE_CONTAINER
#undef XTUNE_OPAQUE
#undef XTUNE_HD

}  // namespace std

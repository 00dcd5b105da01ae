// For compilers without the C library (NVRTC, hipRTC), which have assert without a header, but do not know NDEBUG.
// Without #pragma once: each time it is included, NDEBUG decides again.
#ifdef NDEBUG
#undef assert
#define assert(...) static_cast<void>(0)
#endif

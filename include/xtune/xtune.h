/// \file
/// The C interface of the library, for C99 and languages that call C: kernels of spec files are loaded and called with
/// arrays. It is stable: later versions only add to it, and XTUNE_C_VERSION counts the additions.
#ifndef XTUNE_XTUNE_H
#define XTUNE_XTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface, for the preprocessor.
#define XTUNE_C_VERSION 1

/// What functions that can fail return. Later versions may add codes.
enum xtune_status {
  XTUNE_OK = 0,                ///< it was done
  XTUNE_INVALID_SPEC = 1,      ///< the spec file is wrong; the text opens with `file:line:column`
  XTUNE_INVALID_ARGUMENT = 2,  ///< an argument is wrong or missing, or arguments contradict each other
  XTUNE_UNAVAILABLE = 3,       ///< a device, driver, compiler or backend is missing
  XTUNE_UNSUPPORTED = 4,       ///< understood, but this build, backend or version cannot do it
  XTUNE_NOTHING_VALID = 5,     ///< no configuration runs here
  XTUNE_IO = 6,                ///< a file could not be read or written
  XTUNE_INTERRUPTED = 7,       ///< the user or the scheduler asked to stop
  XTUNE_INTERNAL = 8           ///< anything else, such as a lack of memory
};

/// The types of elements.
enum xtune_type {
  XTUNE_F8E4M3 = 1,  ///< 8-bit float, 4 bits of exponent
  XTUNE_F8E5M2 = 2,  ///< 8-bit float, 5 bits of exponent
  XTUNE_F16 = 3,     ///< IEEE half precision
  XTUNE_BF16 = 4,    ///< the upper half of a float
  XTUNE_F32 = 5,     ///< float
  XTUNE_F64 = 6,     ///< double
  XTUNE_I8 = 7,      ///< int8_t
  XTUNE_I16 = 8,     ///< int16_t
  XTUNE_I32 = 9,     ///< int32_t
  XTUNE_I64 = 10,    ///< int64_t
  XTUNE_U8 = 11,     ///< uint8_t
  XTUNE_U16 = 12,    ///< uint16_t
  XTUNE_U32 = 13,    ///< uint32_t
  XTUNE_U64 = 14,    ///< uint64_t
  XTUNE_BOOL = 15,   ///< bool, one byte
  XTUNE_C64 = 16,    ///< float _Complex
  XTUNE_C128 = 17    ///< double _Complex
};

/// What an argument is.
enum xtune_kind {
  XTUNE_ARRAY = 1,    ///< memory with a type and a shape
  XTUNE_INTEGER = 2,  ///< a scalar, or a size of the problem
  XTUNE_REAL = 3,     ///< a scalar, or a number of the problem
  XTUNE_BOOLEAN = 4,  ///< a scalar, or a switch of the problem
  XTUNE_TEXT = 5      ///< a word of the problem
};

/// The maximum number of dimensions.
#define XTUNE_MAX_RANK 8

/// An argument by its name, made by one of the functions below. It owns nothing. Its layout never changes.
typedef struct xtune_argument {
  const char* name;                 ///< of an argument of the call, or a name of the spec's [problem]
  int32_t kind;                     ///< an xtune_kind
  int32_t type;                     ///< of an array: an xtune_type
  void* data;                       ///< of an array: the first element, in memory of the kernel's device
  int32_t is_read_only;             ///< of an array: not 0: an error if the kernel writes it
  int32_t rank;                     ///< of an array: number of dimensions
  int64_t shape[XTUNE_MAX_RANK];    ///< of an array: extents, the outermost first
  int64_t strides[XTUNE_MAX_RANK];  ///< of an array: elements from an index to the next; all 0: C order
  int64_t integer;                  ///< the value of an integer, or of a boolean
  double real;                      ///< the value of a real
  const char* text;                 ///< the value of a text
} xtune_argument;

/// What a first call on a new problem does.
enum xtune_policy {
  XTUNE_LOOKUP = 0,             ///< runs the nearest problem's configuration, or the default one
  XTUNE_TUNE_ONCE = 1,          ///< tunes the problem within the call
  XTUNE_TUNE_IN_BACKGROUND = 2  ///< runs as XTUNE_LOOKUP, and tunes in a thread
};

/// How a kernel is loaded: xtune_settings settings = XTUNE_SETTINGS; then set what differs. Zeros and null pointers are
/// the defaults of xtune::LoadSettings. Later versions add members at the end.
typedef struct xtune_settings {
  size_t size;                    ///< sizeof(xtune_settings)
  const char* backend;            ///< "cuda", "hip", "host", "gpu" or "auto"
  const char* compiler;           ///< of a backend with several
  const char* arch;               ///< "sm_90a"; null: the device's own
  const char* store;              ///< directory; null: XTUNE_CACHE_DIR, else ~/.cache/xtune
  const char* bundle;             ///< file of `xtune store bundle`, used besides the store
  const xtune_argument* defines;  ///< parameters and words of the spec, as -D NAME=value
  size_t define_count;            ///< of `defines`
  int32_t policy;                 ///< an xtune_policy
  int32_t is_frozen;              ///< not 0: only the bundle answers
  int32_t is_unchecked;           ///< not 0: types, sizes and memory of calls are not checked
  int32_t never_compiles;         ///< not 0: only compiled kernels from store or bundle are run
  double tune_seconds;            ///< limit for tuning a problem; 0: the spec's
  void (*on_message)(const char* text, void* on_message_data);  ///< receives warnings, on any thread; null: stderr
  void* on_message_data;                                        ///< passed to on_message
} xtune_settings;

/// The initial value of xtune_settings.
#define XTUNE_SETTINGS \
  { .size = sizeof(xtune_settings) }

/// A kernel of a spec. Any number of threads may use it at once; xtune_free is its last use.
typedef struct xtune_kernel xtune_kernel;

/// What a call may pass by name. Set `size` before asking.
typedef struct xtune_argument_info {
  size_t size;          ///< sizeof(xtune_argument_info)
  const char* name;     ///< valid as long as the kernel
  int32_t is_array;     ///< otherwise a scalar
  int32_t type;         ///< of a scalar; of an array unless the problem decides
  int32_t is_written;   ///< an array that the kernel writes
  int32_t is_output;    ///< an array that the kernel only writes
  int32_t is_required;  ///< an input that every call passes
} xtune_argument_info;

/// The XTUNE_C_VERSION of the loaded library: at least the program's, or functions are missing.
int xtune_c_version(void);
/// Why the last function failed on this thread; "" if none did. Valid until the next failure on this thread.
const char* xtune_error(void);

/// Loads the kernel of a spec file. settings: may be null.
int xtune_load(xtune_kernel** kernel, const char* spec, const xtune_settings* settings);
/// Loads a kernel of a bundle that has its spec. name: may be null if the bundle has only one spec.
int xtune_load_bundle(xtune_kernel** kernel, const char* bundle, const char* name, const xtune_settings* settings);
/// Frees a kernel; null: does nothing.
void xtune_free(xtune_kernel* kernel);

/// Queues one launch. stream: a cudaStream_t, CUstream, hipStream_t or null; the host backend ignores it and returns
/// when the kernel has ended. Sizes, types and layouts follow from the arrays, and what is not passed has the spec's
/// value.
int xtune_call(const xtune_kernel* kernel, void* stream, const xtune_argument* arguments, size_t count);
/// Prepares the problem of such a call, which chooses and loads, or compiles, a configuration, but launches nothing.
/// Arrays need no data.
int xtune_prepare(const xtune_kernel* kernel, const xtune_argument* arguments, size_t count);

/// The number of arguments that a call may pass.
int xtune_argument_count(const xtune_kernel* kernel, size_t* count);
/// Describes one of them, counted from 0.
int xtune_describe_argument(const xtune_kernel* kernel, size_t number, xtune_argument_info* info);

/// An argument without a value; the functions below fill it in.
static inline xtune_argument xtune_named(const char* name, int32_t kind) {
#ifdef __cplusplus
  xtune_argument argument = {};
#else
  xtune_argument argument = {0};
#endif
  argument.name = name;
  argument.kind = kind;
  return argument;
}
/// An array of `rank` dimensions in C order; shape: its extents, the outermost first. What an argument refers to must
/// stay until the call returns, or on a GPU until the launch has ended.
static inline xtune_argument xtune_array(const char* name, int32_t type, const void* data, int32_t rank,
                                         const int64_t* shape) {
  xtune_argument argument = xtune_named(name, XTUNE_ARRAY);
  argument.type = type;
  argument.data = (void*)(uintptr_t)data;
  argument.rank = rank;
  for (int32_t i = 0; i < rank && i < XTUNE_MAX_RANK; ++i) argument.shape[i] = shape[i];
  return argument;
}
/// An array of one dimension.
static inline xtune_argument xtune_vector(const char* name, int32_t type, const void* data, int64_t extent) {
  return xtune_array(name, type, data, 1, &extent);
}
/// An array of two dimensions in C order.
static inline xtune_argument xtune_matrix(const char* name, int32_t type, const void* data, int64_t rows,
                                          int64_t columns) {
  const int64_t shape[2] = {rows, columns};
  return xtune_array(name, type, data, 2, shape);
}
/// The same matrix with both dimensions exchanged, for kernels that take such a view. matrix: in C order.
static inline xtune_argument xtune_transposed(xtune_argument matrix) {
  const int64_t rows = matrix.shape[0];
  matrix.strides[0] = 1;
  matrix.strides[1] = matrix.shape[0] = matrix.shape[1];
  matrix.shape[1] = rows;
  return matrix;
}
/// The same array, which the kernel must not write: if it does, the call is an error.
static inline xtune_argument xtune_read_only(xtune_argument array) {
  array.is_read_only = 1;
  return array;
}
/// An integer: a scalar of the kernel, or a size of the problem.
static inline xtune_argument xtune_integer(const char* name, int64_t value) {
  xtune_argument argument = xtune_named(name, XTUNE_INTEGER);
  argument.integer = value;
  return argument;
}
/// A floating-point number.
static inline xtune_argument xtune_real(const char* name, double value) {
  xtune_argument argument = xtune_named(name, XTUNE_REAL);
  argument.real = value;
  return argument;
}
/// A boolean; value: not 0 is true.
static inline xtune_argument xtune_boolean(const char* name, int value) {
  xtune_argument argument = xtune_named(name, XTUNE_BOOLEAN);
  argument.integer = value != 0;
  return argument;
}
/// A word of the problem.
static inline xtune_argument xtune_text(const char* name, const char* value) {
  xtune_argument argument = xtune_named(name, XTUNE_TEXT);
  argument.text = value;
  return argument;
}

#ifdef __cplusplus
}
#endif

#endif

/* Calls by C99: test SPEC. */
#include <stdio.h>
#include <string.h>

#include "xtune/xtune.h"

enum { M = 4, N = 5 };
static float x[M * N], y[M * N];
static int failures;

static void check(int is_right, int line, const char* what) {
  if (is_right) return;
  ++failures;
  fprintf(stderr, "line %d: %s (the last error: %s)\n", line, what, xtune_error());
}
#define CHECK(condition) check((condition), __LINE__, #condition)
/* The status, and a part of the text. */
#define CHECK_ERROR(call, status, part)                         \
  do {                                                          \
    CHECK((call) == (status));                                  \
    check(strstr(xtune_error(), part) != NULL, __LINE__, part); \
  } while (0)

static void remember(const char* text, void* count) {
  if (text[0] != '\0') ++*(int*)count;
}

static void test_calls(xtune_kernel* kernel) {
  xtune_argument call[4];
  call[0] = xtune_read_only(xtune_matrix("x", XTUNE_F32, x, M, N));
  call[1] = xtune_matrix("y", XTUNE_F32, y, M, N);
  CHECK(xtune_prepare(kernel, call, 2) == XTUNE_OK);
  CHECK(xtune_call(kernel, NULL, call, 2) == XTUNE_OK);
  CHECK(y[N] == 2 * x[N]);
  call[2] = xtune_real("alpha", 0.5);
  call[3] = xtune_text("SIGN", "minus");
  CHECK(xtune_call(kernel, NULL, call, 4) == XTUNE_OK);
  CHECK(y[N] == -0.5f * x[N]);
  call[2] = xtune_integer("alpha", 3);
  call[3] = xtune_boolean("NEGATED", 1);
  CHECK(xtune_call(kernel, NULL, call, 4) == XTUNE_OK);
  CHECK(y[N] == -3 * x[N]);
  call[0] = xtune_transposed(xtune_matrix("x", XTUNE_F32, x, N, M));
  CHECK(xtune_call(kernel, NULL, call, 2) == XTUNE_OK);
  CHECK(y[N] == 2 * x[1]);
  /* Without data. */
  call[0] = xtune_matrix("x", XTUNE_F32, NULL, 9, 3);
  CHECK(xtune_prepare(kernel, call, 1) == XTUNE_OK);
}

static void test_wrong_calls(const xtune_kernel* kernel) {
  const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const xtune_argument right[] = {xtune_matrix("x", XTUNE_F32, x, M, N), xtune_matrix("y", XTUNE_F32, y, M, N)};
  xtune_argument wrong[2];
#define CHECK_REFUSED(number, argument, part)                                      \
  do {                                                                             \
    memcpy(wrong, right, sizeof wrong);                                            \
    wrong[number] = argument;                                                      \
    CHECK_ERROR(xtune_call(kernel, NULL, wrong, 2), XTUNE_INVALID_ARGUMENT, part); \
  } while (0)
  CHECK_ERROR(xtune_call(kernel, NULL, right + 1, 1), XTUNE_INVALID_ARGUMENT, "argument 'x' is missing");
  CHECK_ERROR(xtune_call(kernel, NULL, right, 1), XTUNE_INVALID_ARGUMENT, "the output 'y' is missing");
  CHECK_REFUSED(0, xtune_matrix("x", XTUNE_F64, x, M, N), "'x' is a buffer of f32 and was given an array of f64");
  CHECK_REFUSED(1, xtune_matrix("y", XTUNE_F32, y, M, N - 1), "'y' has 4 elements in dimension 2");
  CHECK_REFUSED(1, xtune_vector("y", XTUNE_F32, y, M * N), "'y' has the shape (20)");
  CHECK_REFUSED(1, xtune_read_only(right[1]), "'y' is written by the kernel");
  CHECK_REFUSED(0, xtune_matrix("x", XTUNE_F32, NULL, M, N), "'x', was given a null pointer");
  CHECK_REFUSED(0, xtune_matrix(NULL, XTUNE_F32, x, M, N), "the name of argument 0 is a null pointer");
  CHECK_REFUSED(0, xtune_matrix("x", 99, x, M, N), "'x' has the type 99");
  CHECK_REFUSED(0, xtune_matrix("x", XTUNE_F32, x, -M, N), "'x' has the negative extent -4");
  CHECK_REFUSED(0, xtune_array("x", XTUNE_F32, x, 9, nine), "'x' has 9 dimensions");
  CHECK_REFUSED(0, xtune_matrix("z", XTUNE_F32, x, M, N), "combine takes no array 'z'");
  CHECK_REFUSED(0, xtune_text("SIGN", NULL), "'SIGN' is a text that is a null pointer");
  memcpy(wrong, right, sizeof wrong);
  wrong[0].kind = 99;
  CHECK_ERROR(xtune_call(kernel, NULL, wrong, 2), XTUNE_INVALID_ARGUMENT, "'x' has the kind 99");
  wrong[0] = right[0];
  wrong[0].strides[0] = 2 * N;
  wrong[0].strides[1] = 2;
  CHECK_ERROR(xtune_call(kernel, NULL, wrong, 2), XTUNE_INVALID_ARGUMENT, "'x' is not contiguous");
  CHECK_ERROR(xtune_call(kernel, NULL, NULL, 2), XTUNE_INVALID_ARGUMENT, "xtune_call: 'arguments' is a null pointer");
  CHECK_ERROR(xtune_call(NULL, NULL, right, 2), XTUNE_INVALID_ARGUMENT, "xtune_call: 'kernel' is a null pointer");
  CHECK_ERROR(xtune_prepare(NULL, right, 2), XTUNE_INVALID_ARGUMENT, "xtune_prepare: 'kernel' is a null pointer");
}

static void test_descriptions(const xtune_kernel* kernel) {
  size_t count = 0;
  CHECK(xtune_argument_count(kernel, &count) == XTUNE_OK);
  CHECK(count == 5); /* not m and n, which are sizes */
  xtune_argument_info info = {0};
  CHECK_ERROR(xtune_describe_argument(kernel, 0, &info), XTUNE_INVALID_ARGUMENT, "'size' of the info is not set");
  info.size = sizeof info;
  CHECK(xtune_describe_argument(kernel, 0, &info) == XTUNE_OK);
  CHECK(strcmp(info.name, "x") == 0 && info.is_array && info.type == XTUNE_F32 && info.is_required);
  CHECK(xtune_describe_argument(kernel, 1, &info) == XTUNE_OK);
  CHECK(strcmp(info.name, "y") == 0 && info.is_output && info.is_written && !info.is_required);
  CHECK(xtune_describe_argument(kernel, 2, &info) == XTUNE_OK);
  CHECK(strcmp(info.name, "alpha") == 0 && !info.is_array && info.type == XTUNE_F32);
  CHECK_ERROR(xtune_describe_argument(kernel, count, &info), XTUNE_INVALID_ARGUMENT, "no argument 5");
}

static void test_loading(const char* spec) {
  xtune_kernel* kernel = NULL;
  xtune_settings settings = XTUNE_SETTINGS;
  settings.backend = "host";
  CHECK_ERROR(xtune_load(&kernel, "no-such.toml", &settings), XTUNE_IO, "no-such.toml");
  CHECK(kernel == NULL);
  CHECK_ERROR(xtune_load(NULL, spec, &settings), XTUNE_INVALID_ARGUMENT, "xtune_load: 'kernel' is a null pointer");
  CHECK_ERROR(xtune_load(&kernel, NULL, &settings), XTUNE_INVALID_ARGUMENT, "xtune_load: 'spec' is a null pointer");
  CHECK_ERROR(xtune_load_bundle(&kernel, "no.bundle", NULL, &settings), XTUNE_IO, "no.bundle");
  settings.backend = "abacus";
  CHECK_ERROR(xtune_load(&kernel, spec, &settings), XTUNE_INVALID_ARGUMENT, "abacus");
  settings.backend = "host";
  settings.policy = 7;
  CHECK_ERROR(xtune_load(&kernel, spec, &settings), XTUNE_INVALID_ARGUMENT, "the policy 7");
  settings.policy = XTUNE_LOOKUP;
  settings.define_count = 1;
  CHECK_ERROR(xtune_load(&kernel, spec, &settings), XTUNE_INVALID_ARGUMENT, "'defines' is a null pointer");
  const xtune_argument size = xtune_integer("M", 8);
  settings.defines = &size;
  CHECK_ERROR(xtune_load(&kernel, spec, &settings), XTUNE_INVALID_ARGUMENT, "'M' among the defines is a problem size");
  settings.size = 0;
  CHECK_ERROR(xtune_load(&kernel, spec, &settings), XTUNE_INVALID_ARGUMENT, "begin with XTUNE_SETTINGS");
  settings.size = sizeof settings + 8;
  CHECK_ERROR(xtune_load(&kernel, spec, &settings), XTUNE_UNSUPPORTED, "a later version of the C interface");
}

/* A kernel that is tuned within its first call, and a program that knows fewer settings. */
static void test_tuning(const char* spec) {
  xtune_kernel* kernel = NULL;
  int messages = 0;
  xtune_settings settings = XTUNE_SETTINGS;
  settings.backend = "host";
  settings.policy = XTUNE_TUNE_ONCE;
  settings.tune_seconds = -1; /* which the tuner refuses: a message, and the default runs */
  settings.on_message = remember;
  settings.on_message_data = &messages;
  CHECK(xtune_load(&kernel, spec, &settings) == XTUNE_OK);
  const xtune_argument call[] = {xtune_matrix("x", XTUNE_F32, x, M, N), xtune_matrix("y", XTUNE_F32, y, M, N)};
  CHECK(xtune_call(kernel, NULL, call, 2) == XTUNE_OK);
  CHECK(y[N] == 2 * x[N]);
  CHECK(messages > 0);
  xtune_free(kernel);
  settings.tune_seconds = 5;
  CHECK(xtune_load(&kernel, spec, &settings) == XTUNE_OK);
  CHECK(xtune_call(kernel, NULL, call, 2) == XTUNE_OK);
  CHECK(y[N] == 2 * x[N]);
  xtune_free(kernel);
  settings.size = offsetof(xtune_settings, policy);
  CHECK(xtune_load(&kernel, spec, &settings) == XTUNE_OK);
  xtune_free(kernel);
  xtune_free(NULL);
}

int main(int argc, char** argv) {
  const char* const spec = argc > 1 ? argv[1] : "";
  for (int i = 0; i < M * N; ++i) x[i] = (float)(i + 1);
  CHECK(xtune_c_version() == XTUNE_C_VERSION);
  CHECK(strcmp(xtune_error(), "") == 0);
  xtune_kernel* kernel = NULL;
  xtune_settings settings = XTUNE_SETTINGS;
  settings.backend = "host";
  CHECK(xtune_load(&kernel, spec, &settings) == XTUNE_OK);
  test_calls(kernel);
  test_wrong_calls(kernel);
  test_descriptions(kernel);
  xtune_free(kernel);
  test_loading(spec);
  test_tuning(spec);
  return failures != 0;
}

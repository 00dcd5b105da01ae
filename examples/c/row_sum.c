/* The kernel of a spec, called from C: row_sum SPEC [BACKEND]. On a GPU the arrays would be memory of the device. */
#include <stdio.h>
#include <stdlib.h>

#include "xtune/xtune.h"

int main(int argc, char** argv) {
  enum { ROWS = 256, N = 4096 };
  float* const x = malloc(sizeof(float) * ROWS * N);
  float* const y = malloc(sizeof(float) * ROWS);
  if (argc < 2) fprintf(stderr, "usage: %s SPEC [BACKEND]\n", argv[0]);
  if (argc < 2 || !x || !y) return 2;
  for (int i = 0; i < ROWS * N; ++i) x[i] = (float)(i % 8);

  xtune_settings settings = XTUNE_SETTINGS;
  settings.backend = argc > 2 ? argv[2] : "host";
  xtune_kernel* row_sum = NULL;
  int status = xtune_load(&row_sum, argv[1], &settings);
  if (status == XTUNE_OK) {
    const xtune_argument arguments[] = {xtune_matrix("x", XTUNE_F32, x, ROWS, N),
                                        xtune_vector("y", XTUNE_F32, y, ROWS)};
    status = xtune_call(row_sum, NULL, arguments, 2);
  }
  if (status != XTUNE_OK)
    fprintf(stderr, "%s\n", xtune_error());
  else
    printf("the sum of the last row is %g\n", y[ROWS - 1]);
  xtune_free(row_sum);
  free(x);
  free(y);
  return status;
}

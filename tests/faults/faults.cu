// y = 2x, with a selectable fault: faults.toml tests what each fault costs a tuning run, and campaign.py what very
// many cost a run that is killed repeatedly.
//
//   FAULT                what happens                                        outcome         stage
//   none                 works; WORK only makes it slower                    ok              measure
//   compile_error        the source is wrong                                 compile_failed  compile
//   compiler_crash       a type of a million levels, or a petabyte of data   crashed         compile
//   illegal_address      writes through a wild pointer                       crashed         run
//   trap                 executes a trap instruction                         crashed         run
//   infinite_loop        waits for what never comes                          timed_out       run
//   wrong_result         y = 3x                                              wrong_result    validate
//   nan_output           y = NaN                                             wrong_result    validate
//   out_of_bounds_write  also writes y[n]                                    wrong_result    validate
//   changed_input        also writes x[0]                                    wrong_result    measure
//   heap_overrun         host only: y = 3x, and writes past malloc's block   wrong_result    validate
//                        or, where the worker does not survive it            crashed         run
//   kill_worker          host only: kill -9 of its own process               (not stored: it may have been for memory)
//   exit_worker          host only: ends its process in good order           crashed         run
//   too_much_shared      asks for 64 MiB of shared memory (faults.toml)      rejected        space
//   too_many_threads     asks for blocks of 4096 threads (faults.toml)       rejected        space
#define none 0
#define compile_error 1
#define compiler_crash 2
#define illegal_address 3
#define trap 4
#define infinite_loop 5
#define wrong_result 6
#define nan_output 7
#define out_of_bounds_write 8
#define too_much_shared 9
#define too_many_threads 10
#define changed_input 11
#define kill_worker 12
#define exit_worker 13
#define heap_overrun 14

#if FAULT == compile_error
#error "this configuration does not compile"
#endif

#if FAULT == compiler_crash
#if XTUNE_HOST
#define STARS_1 * * * * * * * * * *
#define STARS_2 STARS_1 STARS_1 STARS_1 STARS_1 STARS_1 STARS_1 STARS_1 STARS_1 STARS_1 STARS_1
#define STARS_3 STARS_2 STARS_2 STARS_2 STARS_2 STARS_2 STARS_2 STARS_2 STARS_2 STARS_2 STARS_2
#define STARS_4 STARS_3 STARS_3 STARS_3 STARS_3 STARS_3 STARS_3 STARS_3 STARS_3 STARS_3 STARS_3
#define STARS_5 STARS_4 STARS_4 STARS_4 STARS_4 STARS_4 STARS_4 STARS_4 STARS_4 STARS_4 STARS_4
#define STARS_6 STARS_5 STARS_5 STARS_5 STARS_5 STARS_5 STARS_5 STARS_5 STARS_5 STARS_5 STARS_5
__device__ int STARS_6 deep_pointer();
#define CRASH_VALUE 0
#elif XTUNE_HIP
__device__ int huge[1ull << 40] = {1, 2};
#define CRASH_VALUE (float)huge[i]
#else
__device__ const char huge[1ull << 50] = "ab";
#define CRASH_VALUE huge[i]
#endif
#else
#define CRASH_VALUE 0
#endif

#if FAULT == kill_worker || FAULT == exit_worker
extern "C" int getpid();
extern "C" int kill(int process, int signal);
extern "C" void _exit(int status);
#endif
#if FAULT == heap_overrun
extern "C" void* malloc(__SIZE_TYPE__ bytes);
#endif

extern "C" __global__ void faults(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = CRASH_VALUE;
  // Read again in each turn, so that the work cannot be optimised away.
  for (int turn = 0; turn < WORK; ++turn) value = *(const volatile float*)(x + i);
#if FAULT == illegal_address
  *(volatile float*)16 = value;
#elif FAULT == trap
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
  __trap();
#else
  __builtin_trap();
#endif
#elif FAULT == infinite_loop
  while (*(const volatile float*)(x + i) < 1e30f) {
  }
#elif FAULT == out_of_bounds_write
  if (i == 0) y[n] = value;
#elif FAULT == changed_input
  if (i == 0) const_cast<float*>(x)[i] = value + 1;
#elif FAULT == heap_overrun
  if (i == 0) {
    volatile char* const block = static_cast<char*>(malloc(16));
    for (int k = 0; k < 64; ++k) block[k] = 0x55;
  }
#elif FAULT == kill_worker
  kill(getpid(), 9);
#elif FAULT == exit_worker
  _exit(0);
#endif
#if FAULT == wrong_result || FAULT == heap_overrun
  y[i] = 3 * value;
#elif FAULT == nan_output
  y[i] = (value - value) / (value - value);
#else
  y[i] = 2 * value;
#endif
}

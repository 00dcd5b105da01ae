// For NVRTC, which refuses a class with a member that only the host has.
#undef __host__
#define __host__

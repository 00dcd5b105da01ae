// A library that looks like HIP's runtime to a search for it.
extern "C" int hipInit(unsigned) { return 0; }

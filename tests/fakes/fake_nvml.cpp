// A library in the place of NVML, for the calls that fix clocks. Its device's state is in its own variables.
namespace {

unsigned locked_mhz = 0;  // 0: not locked
int refusal = 0;          // what the calls that change clocks answer
bool has_default = true;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** handle) {
  *handle = &locked_mhz;
  return address[0] == '0' ? 0 : 6;
}
int nvmlDeviceGetDefaultApplicationsClock(void*, int clock, unsigned* mhz) {
  *mhz = 1500;
  return has_default && clock == 0 ? 0 : 3;
}
int nvmlDeviceSetGpuLockedClocks(void*, unsigned least, unsigned most) {
  if (refusal != 0) return refusal;
  if (least != most || most > 3000) return 2;
  locked_mhz = most;
  return 0;
}
int nvmlDeviceResetGpuLockedClocks(void*) {
  if (refusal == 0) locked_mhz = 0;
  return refusal;
}
const char* nvmlErrorString(int code) {
  return code == 2 ? "Invalid Argument" : code == 4 ? "Insufficient Permissions" : "Not Supported";
}

unsigned fake_nvml_locked_mhz() { return locked_mhz; }
void fake_nvml_refuse(int code) { refusal = code; }
void fake_nvml_set_default(bool known) { has_default = known; }
}

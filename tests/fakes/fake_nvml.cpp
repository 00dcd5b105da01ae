// A library in the place of NVML: the calls that fix clocks, and the processes of a device and of its MIG part, among
// them clients of MPS. The device's state is in its own variables.
namespace {

struct Process {
  unsigned id;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

unsigned locked_mhz = 0;  // 0: not locked
unsigned clients = 0;     // of MPS: the last processes
int refusal = 0;          // what the calls that change clocks answer
bool has_default = true, part = false;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** handle) {
  *handle = &locked_mhz;
  return address[0] == '0' ? 0 : 6;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  *handle = &part;
  return uuid[0] == 'M' && uuid[4] == 'a' ? 0 : 6;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Process* processes) {
  *count = handle == &part ? 1 : 2;
  for (unsigned i = 0; i < *count; ++i) processes[i] = {4711 + i, 0, 0, 0};
  return 0;
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  *count = clients;
  for (unsigned i = 0; i < clients; ++i) processes[i] = {4712 - i, 0, 0, 0};
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* energy_mj) {
  *energy_mj = 5000;
  return handle == &locked_mhz ? 0 : 3;
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* power_mw) {
  *power_mw = 300000;
  return handle == &locked_mhz ? 0 : 3;
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
void fake_nvml_set_clients(unsigned count) { clients = count; }
void fake_nvml_set_default(bool known) { has_default = known; }
}

// NVML without hardware: two GPUs whose values depend on how often they were read. The second GPU is not the stand-in
// driver's device; it lets tests check that a device is found by its PCI address.
#include <stdio.h>
#include <string.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

typedef struct {
    const char *name, *bus_id, *uuid;
    unsigned calls;
    unsigned long long energy_mj;
} gpu;

static gpu gpus[2] = {
    {"stand-in on the CPU (no GPU)", "00000000:19:00.0", "GPU-00000000-0000-0000-0000-000000000019", 0, 0},
    {"stand-in on the CPU (no GPU)", "00000000:18:00.0", "GPU-00000000-0000-0000-0000-000000000018", 0, 5000},
};

static int is_second(const gpu *device) { return device == &gpus[0]; }

int nvmlInit_v2(void) { return OK; }
int nvmlInitWithFlags(unsigned flags) { return (void)flags, OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return (void)code, "an error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { return snprintf(text, length, "580.00"), OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = 2, OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **device) {
    return index < 2 ? (*device = &gpus[index], OK) : INVALID;
}
// The driver writes the domain of a PCI address with four digits, NVML with eight; both are accepted.
int nvmlDeviceGetHandleByPciBusId_v2(const char *text, gpu **device) {
    for (int i = 0; i < 2; i++)
        if (!strcmp(text, gpus[i].bus_id) || !strcmp(text, gpus[i].bus_id + 4)) return *device = &gpus[i], OK;
    return NOT_FOUND;
}
int nvmlDeviceGetName(gpu *device, char *text, unsigned length) {
    return snprintf(text, length, "%s", device->name), OK;
}
int nvmlDeviceGetUUID(gpu *device, char *text, unsigned length) {
    return snprintf(text, length, "%s", device->uuid), OK;
}
typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
} address;
int nvmlDeviceGetPciInfo_v3(gpu *device, address *found) {
    memset(found, 0, sizeof *found);
    found->bus = is_second(device) ? 0x19 : 0x18;
    snprintf(found->legacy, sizeof found->legacy, "%s", device->bus_id + 4);
    return snprintf(found->text, sizeof found->text, "%s", device->bus_id), OK;
}
int nvmlDeviceGetCudaComputeCapability(gpu *device, int *major, int *minor) {
    return (void)device, *major = 9, *minor = 0, OK;
}
typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory;
int nvmlDeviceGetMemoryInfo_v2(gpu *device, memory *found) {
    (void)device;
    found->total = 1ull << 30, found->reserved = 1 << 20, found->used = 3 << 20;
    return found->free = found->total - found->used, OK;
}
typedef struct {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
} process;
int nvmlDeviceGetComputeRunningProcesses_v3(gpu *device, unsigned *count, process *found) {
    if (is_second(device)) return *count = 0, OK;
    if (!found || !*count) return *count = 1, INSUFFICIENT_SIZE;
    *count = 1;
    return *found = (process){1, 2 << 20, ~0u, ~0u}, OK;
}

// Busy 60 %, 80 % and 100 % of the time in turn.
int nvmlDeviceGetUtilizationRates(gpu *device, unsigned rates[2]) {
    return rates[0] = 60 + device->calls++ % 3 * 20, rates[1] = 30, OK;
}
int nvmlDeviceGetClockInfo(gpu *device, int which, unsigned *mhz) {
    return (void)device, *mhz = which == 1 ? 1980 : which == 2 ? 3201 : 1980, OK;
}
int nvmlDeviceGetMaxClockInfo(gpu *device, int which, unsigned *mhz) { return nvmlDeviceGetClockInfo(device, which, mhz); }
int nvmlDeviceGetTemperature(gpu *device, int sensor, unsigned *celsius) {
    return (void)sensor, *celsius = 40 + device->calls % 3, OK;
}
int nvmlDeviceGetPowerUsage(gpu *device, unsigned *milliwatts) { return (void)device, *milliwatts = 350000, OK; }
int nvmlDeviceGetEnforcedPowerLimit(gpu *device, unsigned *milliwatts) { return (void)device, *milliwatts = 700000, OK; }
// Every reading is 1.5 J higher than the last; the second GPU has no energy counter.
int nvmlDeviceGetTotalEnergyConsumption(gpu *device, unsigned long long *millijoules) {
    if (is_second(device)) return NOT_SUPPORTED;
    return *millijoules = device->energy_mj += 1500, OK;
}
// Every third reading has the reasons power cap (4) and idle (1); idling does not count as throttling.
int nvmlDeviceGetCurrentClocksThrottleReasons(gpu *device, unsigned long long *reasons) {
    return *reasons = device->calls % 3 ? 0 : 4 | 1, OK;
}

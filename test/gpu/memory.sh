#!/bin/bash
# Says what the memory of this machine's GPUs is to the driver (nvidia-smi, MiB) and to a program (CUDA, bytes).
set -euo pipefail
nvidia-smi --query-gpu=name,pci.device_id,memory.total,memory.reserved,driver_version --format=csv
python3 - <<'EOF'
import ctypes

def ask(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        raise SystemExit(f"{name}: CUDA error {status}")

cuda = ctypes.CDLL("libcuda.so.1")
ask("cuInit", 0)
count = ctypes.c_int()
ask("cuDeviceGetCount", ctypes.byref(count))
for i in range(count.value):
    device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
    total, free, shown = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_size_t()
    ask("cuDeviceGet", ctypes.byref(device), i)
    ask("cuDeviceGetName", name, len(name), device)
    ask("cuDeviceTotalMem_v2", ctypes.byref(total), device)
    ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    ask("cuCtxSetCurrent", context)
    ask("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(shown))
    print(f"{name.value.decode()}: cuDeviceTotalMem {total.value}, cuMemGetInfo total {shown.value}, free {free.value}")
    ask("cuDevicePrimaryCtxRelease_v2", device)
EOF

# Takes the memory of GPU argv[1] but for argv[2] MiB by plain allocation, says so, and keeps it until it is killed.
import ctypes
import signal
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    if status := getattr(cuda, name)(*args):
        sys.exit(f"{name}: CUDA error {status}")


device, context = ctypes.c_int(), ctypes.c_void_p()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), int(sys.argv[1]))
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
free, total, pointer = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(free.value - (int(sys.argv[2]) << 20)))
print(f"holds all but {sys.argv[2]} MiB of {total.value >> 20} MiB", flush=True)
signal.pause()

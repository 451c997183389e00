// collectives measures NCCL's collectives over all GPUs of this machine from one process, checks every
// result, and prints the table that nccl-tests prints.
//
//   collectives COLLECTIVE MIN MAX FACTOR ITERATIONS [int8]
//
// Sizes are bytes as nccl-tests counts them: of the larger of the two buffers of a rank. The time is that of
// the host from the first launch to the last completion, over the number of iterations.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CUDA(call) check((call) == cudaSuccess, #call)
#define NCCL(call) check((call) == ncclSuccess, #call)

static void check(bool ok, const char* call) {
  if (ok) return;
  fprintf(stderr, "collectives: %s failed: cuda: %s, nccl: %s\n", call, cudaGetErrorString(cudaGetLastError()), ncclGetLastError(nullptr));
  exit(1);
}

template <typename T>
__global__ void fill(T* p, size_t n, T value) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = value;
}

template <typename T>
__global__ void count(const T* p, size_t n, T want, unsigned long long* wrong) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    if (p[i] != want) atomicAdd(wrong, 1ull);
}

enum Kind { all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, sendrecv, gather, scatter };
static const char* names[] = {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "sendrecv", "gather", "scatter"};

struct Rank {
  int device;
  char *send, *recv;
  unsigned long long* wrong;
  cudaStream_t stream;
  ncclComm_t comm;
};

template <typename T>
struct Bench {
  Kind kind;
  ncclDataType_t type;
  std::vector<Rank> ranks;
  int n() const { return (int)ranks.size(); }
  bool split() const { return kind == all_gather || kind == reduce_scatter || kind == alltoall || kind == gather || kind == scatter; }

  // where a rank's input and output lie when one buffer serves for both
  T* input(int r, size_t piece, bool in_place) const {
    if (!in_place) return (T*)ranks[r].send;
    T* p = (T*)ranks[r].recv;
    return kind == all_gather || kind == gather ? p + r * piece : p;
  }
  T* output(int r, size_t piece, bool in_place) const {
    T* p = (T*)ranks[r].recv;
    return in_place && (kind == reduce_scatter || kind == scatter) ? p + r * piece : p;
  }

  void launch(size_t elements, bool in_place) {
    size_t piece = elements / n();
    NCCL(ncclGroupStart());
    for (int r = 0; r < n(); r++) {
      Rank& k = ranks[r];
      T *in = input(r, piece, in_place), *out = output(r, piece, in_place);
      switch (kind) {
        case all_reduce: NCCL(ncclAllReduce(in, out, elements, type, ncclSum, k.comm, k.stream)); break;
        case all_gather: NCCL(ncclAllGather(in, out, piece, type, k.comm, k.stream)); break;
        case reduce_scatter: NCCL(ncclReduceScatter(in, out, piece, type, ncclSum, k.comm, k.stream)); break;
        case broadcast: NCCL(ncclBroadcast(in, out, elements, type, 0, k.comm, k.stream)); break;
        case reduce: NCCL(ncclReduce(in, out, elements, type, ncclSum, 0, k.comm, k.stream)); break;
        case alltoall:
          for (int p = 0; p < n(); p++) {
            NCCL(ncclSend(in + p * piece, piece, type, p, k.comm, k.stream));
            NCCL(ncclRecv(out + p * piece, piece, type, p, k.comm, k.stream));
          }
          break;
        case sendrecv:
          NCCL(ncclSend(in, elements, type, (r + 1) % n(), k.comm, k.stream));
          NCCL(ncclRecv(out, elements, type, (r + n() - 1) % n(), k.comm, k.stream));
          break;
        case gather:
          NCCL(ncclSend(in, piece, type, 0, k.comm, k.stream));
          for (int p = 0; r == 0 && p < n(); p++) NCCL(ncclRecv(out + p * piece, piece, type, p, k.comm, k.stream));
          break;
        case scatter:
          for (int p = 0; r == 0 && p < n(); p++) NCCL(ncclSend(in + p * piece, piece, type, p, k.comm, k.stream));
          NCCL(ncclRecv(out, piece, type, 0, k.comm, k.stream));
          break;
      }
    }
    NCCL(ncclGroupEnd());
  }

  void sync() {
    for (Rank& k : ranks) {
      CUDA(cudaSetDevice(k.device));
      CUDA(cudaStreamSynchronize(k.stream));
    }
  }

  // the number of elements that are not what they should be, of one run on fresh input
  unsigned long long wrong(size_t elements, bool in_place) {
    size_t piece = elements / n();
    T sum = (T)(n() * (n() + 1) / 2);
    for (int r = 0; r < n(); r++) {
      CUDA(cudaSetDevice(ranks[r].device));
      CUDA(cudaMemsetAsync(ranks[r].recv, 0, elements * sizeof(T), ranks[r].stream));
      size_t mine = kind == all_gather || kind == gather ? piece : elements;
      fill<T><<<256, 256, 0, ranks[r].stream>>>(input(r, piece, in_place), mine, (T)(r + 1));
      CUDA(cudaMemsetAsync(ranks[r].wrong, 0, sizeof(unsigned long long), ranks[r].stream));
    }
    sync();
    launch(elements, in_place);
    for (int r = 0; r < n(); r++) {
      CUDA(cudaSetDevice(ranks[r].device));
      auto expect = [&](T* p, size_t m, T v) { count<T><<<256, 256, 0, ranks[r].stream>>>(p, m, v, ranks[r].wrong); };
      T* out = output(r, piece, in_place);
      switch (kind) {
        case all_reduce: expect(out, elements, sum); break;
        case reduce_scatter: expect(out, piece, sum); break;
        case broadcast: expect(out, elements, (T)1); break;
        case sendrecv: expect(out, elements, (T)((r + n() - 1) % n() + 1)); break;
        case scatter: expect(out, piece, (T)1); break;
        case reduce: if (r == 0) expect(out, elements, sum); break;
        case gather: if (r) break;  // else as all_gather
        case all_gather:
        case alltoall: for (int p = 0; p < n(); p++) expect(out + p * piece, piece, (T)(p + 1)); break;
      }
    }
    sync();
    unsigned long long total = 0, one;
    for (Rank& k : ranks) {
      CUDA(cudaMemcpy(&one, k.wrong, sizeof one, cudaMemcpyDeviceToHost));
      total += one;
    }
    return total;
  }

  double micros(size_t elements, bool in_place, int iterations) {
    for (int i = 0; i < 5; i++) launch(elements, in_place);
    sync();
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; i++) launch(elements, in_place);
    sync();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / iterations;
  }

  double factor() const {
    double share = (n() - 1.0) / n();
    return kind == all_reduce ? 2 * share : split() ? share : 1;
  }

  double total = 0;  // of all bus bandwidths, GB/s, for the footer
  int cells = 0;
  unsigned long long bad_total = 0;

  void run(size_t min, size_t max, int step, int iterations, const char* type_name) {
    for (size_t bytes = min; bytes <= max; bytes *= step) {
      size_t elements = bytes / sizeof(T);
      if (split()) elements = elements / n() * n();
      if (!elements) continue;
      size_t size = elements * sizeof(T);
      // short ones are repeated more often: a host that is late for a moment counts for less
      int iters = size >= ((size_t)1 << 30) ? (iterations + 3) / 4 : size <= ((size_t)16 << 20) ? 5 * iterations : iterations;
      printf("%12zu  %12zu  %8s  %6s  %6d", size, split() ? elements / n() : elements, type_name,
             kind == all_reduce || kind == reduce_scatter || kind == reduce ? "sum" : "none", kind == broadcast || kind == reduce || kind == gather || kind == scatter ? 0 : -1);
      for (bool in_place : {false, true}) {
        if (in_place && (kind == alltoall || kind == sendrecv)) {
          printf("  %8s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
          continue;
        }
        unsigned long long bad = wrong(elements, in_place);
        double us = micros(elements, in_place, iters), algbw = size / us / 1e3;
        total += algbw * factor();
        cells++;
        bad_total += bad;
        printf("  %8.2f  %6.2f  %6.2f  %6llu", us, algbw, algbw * factor(), bad);
      }
      printf("\n");
      fflush(stdout);
    }
  }
};

template <typename T>
static void measure(Kind kind, ncclDataType_t type, const char* type_name, char** argv) {
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  size_t min = strtoull(argv[2], nullptr, 10), max = strtoull(argv[3], nullptr, 10);
  int step = atoi(argv[4]), iterations = atoi(argv[5]);
  check(devices > 0 && min > 0 && max >= min && step > 1 && iterations > 0, "arguments");
  int version = 0;
  NCCL(ncclGetVersion(&version));
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  printf("# nccl-library=%d\n# Collective test starting: %s_perf\n", version, names[kind]);
  printf("# nThread 1 nGpus %d minBytes %zu maxBytes %zu step: %d(factor) warmup iters: 5 iters: %d agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n", devices, min, max, step, iterations);
  Bench<T> b{kind, type, std::vector<Rank>(devices)};
  std::vector<ncclComm_t> comms(devices);
  for (int r = 0; r < devices; r++) {
    cudaDeviceProp prop;
    CUDA(cudaGetDeviceProperties(&prop, r));
    printf("#  Rank %2d Group  0 Pid %6d on %10s device %2d [%04x:%02x:%02x] %s\n", r, getpid(), host, r, prop.pciDomainID, prop.pciBusID, prop.pciDeviceID, prop.name);
  }
  NCCL(ncclCommInitAll(comms.data(), devices, nullptr));
  for (int r = 0; r < devices; r++) {
    Rank& k = b.ranks[r];
    k.device = r;
    k.comm = comms[r];
    CUDA(cudaSetDevice(r));
    CUDA(cudaMalloc(&k.send, max));
    CUDA(cudaMalloc(&k.recv, max));
    CUDA(cudaMalloc(&k.wrong, sizeof *k.wrong));
    CUDA(cudaStreamCreateWithFlags(&k.stream, cudaStreamNonBlocking));
  }
  printf("#\n#                                                              out-of-place                       in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n");
  b.run(min, max, step, iterations, type_name);
  printf("# Out of bounds values : %llu %s\n# Avg bus bandwidth    : %g\n#\n", b.bad_total, b.bad_total ? "FAILED" : "OK", b.total / b.cells);
  printf("# Collective test concluded: %s_perf\n", names[kind]);
  for (Rank& k : b.ranks) NCCL(ncclCommDestroy(k.comm));
}

int main(int argc, char** argv) {
  if (argc < 6 || argc > 7) {
    fprintf(stderr, "usage: collectives COLLECTIVE MIN MAX FACTOR ITERATIONS [int8]\n");
    return 64;
  }
  for (int k = 0; k < 9; k++) {
    if (std::string(argv[1]) != names[k]) continue;
    if (argc == 7) measure<signed char>((Kind)k, ncclInt8, "int8", argv);
    else measure<float>((Kind)k, ncclFloat32, "float", argv);
    return 0;
  }
  fprintf(stderr, "collectives: collective \"%s\": unknown\n", argv[1]);
  return 64;
}

// collectives measures NCCL's collectives, checks every result, and prints the table that nccl-tests prints.
//
//   collectives [-g GPUS] [-w RANK] COLLECTIVE MIN MAX FACTOR ITERATIONS [int8]
//
// One process runs them over all GPUs of the machine. Built with -DWITH_MPI and started by mpirun, each process has
// -g GPUs (default 1) of its host, as in nccl-tests: the first process of a host the first ones; NCCL_TESTS_DEVICE
// names the first one instead. -w says which process waits for ever before it joins: the hang is wanted.
// Sizes are bytes as nccl-tests counts them: of the larger of the two buffers of a rank. The time is that of
// the host from the first launch to the last completion, over the number of iterations, the mean of the processes.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static char host[64] = "";

#define CUDA(call) cuda_check((call), __LINE__)
#define NCCL(call) nccl_check((call), __LINE__)

[[noreturn]] static void fail(int line) {
  printf(" .. %s pid %d: Test failure %s:%d\n", host, getpid(), __FILE__, line);
  fflush(stdout);
  exit(1);
}

static void cuda_check(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  printf("%s: Test CUDA failure %s:%d '%s'\n", host, __FILE__, line, cudaGetErrorString(e));
  fail(line);
}

static void nccl_check(ncclResult_t e, int line) {
  if (e == ncclSuccess) return;
  printf("%s: Test NCCL failure %s:%d '%s / %s'\n", host, __FILE__, line, ncclGetErrorString(e), ncclGetLastError(nullptr));
  fail(line);
}

// Processes is all processes of a run, of which this one is the rank-th.
struct Processes {
  int rank = 0, count = 1, local = 0;  // local: its place among those of its host
#ifdef WITH_MPI
  Processes(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    std::vector<char> hosts(count * sizeof host);
    MPI_Allgather(host, sizeof host, MPI_CHAR, hosts.data(), sizeof host, MPI_CHAR, MPI_COMM_WORLD);
    for (int r = 0; r < rank; r++) local += !strcmp(&hosts[r * sizeof host], host);
  }
  ~Processes() { MPI_Finalize(); }
  void broadcast(ncclUniqueId* id) const { MPI_Bcast(id, sizeof *id, MPI_BYTE, 0, MPI_COMM_WORLD); }
  void barrier() const { MPI_Barrier(MPI_COMM_WORLD); }
  double sum(double one) const {
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return one;
  }
  // what every process says, in the order of the processes; only the first one gets it
  std::string gather(const std::string& mine) const {
    const int most = 1 << 14;
    std::vector<char> one(most), all((size_t)most * count);
    snprintf(one.data(), most, "%s", mine.c_str());
    MPI_Gather(one.data(), most, MPI_CHAR, all.data(), most, MPI_CHAR, 0, MPI_COMM_WORLD);
    std::string text;
    for (int r = 0; r < count; r++) text += &all[(size_t)r * most];
    return text;
  }
#else
  Processes(int*, char***) {}
  void broadcast(ncclUniqueId*) const {}
  void barrier() const {}
  double sum(double one) const { return one; }
  std::string gather(const std::string& mine) const { return mine; }
#endif
};

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
  int rank, device;
  char *send, *recv;
  unsigned long long* wrong;
  cudaStream_t stream;
  ncclComm_t comm;
};

template <typename T>
struct Bench {
  Kind kind;
  ncclDataType_t type;
  const Processes& processes;
  std::vector<Rank> ranks;  // those of this process
  int n() const { return (int)ranks.size() * processes.count; }
  bool split() const { return kind == all_gather || kind == reduce_scatter || kind == alltoall || kind == gather || kind == scatter; }

  // the elements of a size: pieces of ranks are multiples of four, as in nccl-tests, or threads could not load 16 bytes at once
  size_t elements_of(size_t bytes) const {
    size_t unit = split() ? 4 * n() : 1;
    return bytes / sizeof(T) / unit * unit;
  }

  // where a rank's input and output lie when one buffer serves for both
  T* input(const Rank& k, size_t piece, bool in_place) const {
    if (!in_place) return (T*)k.send;
    T* p = (T*)k.recv;
    return kind == all_gather || kind == gather ? p + k.rank * piece : p;
  }
  T* output(const Rank& k, size_t piece, bool in_place) const {
    T* p = (T*)k.recv;
    return in_place && (kind == reduce_scatter || kind == scatter) ? p + k.rank * piece : p;
  }

  void launch(size_t elements, bool in_place) {
    size_t piece = elements / n();
    NCCL(ncclGroupStart());
    for (Rank& k : ranks) {
      int r = k.rank;
      T *in = input(k, piece, in_place), *out = output(k, piece, in_place);
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

  // waits for the streams; a communicator that failed meanwhile is aborted, as nccl-tests does it
  void sync() {
    for (Rank& k : ranks) {
      CUDA(cudaSetDevice(k.device));
      for (cudaError_t e; (e = cudaStreamQuery(k.stream)) != cudaSuccess;) {
        if (e != cudaErrorNotReady) CUDA(e);
        ncclResult_t state;
        NCCL(ncclCommGetAsyncError(k.comm, &state));
        if (state == ncclSuccess) continue;
        ncclCommAbort(k.comm);
        NCCL(state);
      }
    }
  }

  // the number of elements that are not what they should be, of one run on fresh input
  unsigned long long wrong(size_t elements, bool in_place) {
    size_t piece = elements / n();
    T sum = (T)(n() * (n() + 1) / 2);
    for (Rank& k : ranks) {
      int r = k.rank;
      CUDA(cudaSetDevice(k.device));
      CUDA(cudaMemsetAsync(k.recv, 0, elements * sizeof(T), k.stream));
      size_t mine = kind == all_gather || kind == gather ? piece : elements;
      fill<T><<<256, 256, 0, k.stream>>>(input(k, piece, in_place), mine, (T)(r + 1));
      CUDA(cudaMemsetAsync(k.wrong, 0, sizeof(unsigned long long), k.stream));
    }
    sync();
    launch(elements, in_place);
    for (Rank& k : ranks) {
      int r = k.rank;
      CUDA(cudaSetDevice(k.device));
      auto expect = [&](T* p, size_t m, T v) { count<T><<<256, 256, 0, k.stream>>>(p, m, v, k.wrong); };
      T* out = output(k, piece, in_place);
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
    return (unsigned long long)processes.sum((double)total);
  }

  double micros(size_t elements, bool in_place, int iterations) {
    for (int i = 0; i < 5; i++) launch(elements, in_place);
    sync();
    processes.barrier();
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; i++) launch(elements, in_place);
    sync();
    double mine = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / iterations;
    return processes.sum(mine) / processes.count;
  }

  double factor() const {
    double share = (n() - 1.0) / n();
    return kind == all_reduce ? 2 * share : split() ? share : 1;
  }

  double total = 0;  // of all bus bandwidths, GB/s, for the footer
  int cells = 0;
  unsigned long long bad_total = 0;

  // a piece of the table, which the first process prints
  template <typename... A>
  void say(const char* format, A... a) const {
    if (processes.rank == 0) printf(format, a...);
  }

  // the largest and the smallest size, before the first row, as nccl-tests does it: connections are made here
  void warm_up(size_t min, size_t max) {
    for (size_t bytes : {max, min}) {
      size_t elements = elements_of(bytes);
      for (int i = 0; elements && i < 5; i++) launch(elements, false);
      sync();
    }
  }

  void run(size_t min, size_t max, int step, int iterations, const char* type_name) {
    for (size_t bytes = min; bytes <= max; bytes *= step) {
      size_t elements = elements_of(bytes);
      if (!elements) continue;
      size_t size = elements * sizeof(T);
      // short ones are repeated more often: a host that is late for a moment counts for less
      int iters = size >= ((size_t)1 << 30) ? (iterations + 3) / 4 : size <= ((size_t)16 << 20) ? 5 * iterations : iterations;
      say("%12zu  %12zu  %8s  %6s  %6d", size, split() ? elements / n() : elements, type_name,
             kind == all_reduce || kind == reduce_scatter || kind == reduce ? "sum" : "none", kind == broadcast || kind == reduce || kind == gather || kind == scatter ? 0 : -1);
      for (bool in_place : {false, true}) {
        if (in_place && (kind == alltoall || kind == sendrecv)) {
          say("  %8s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
          continue;
        }
        unsigned long long bad = wrong(elements, in_place);
        double us = micros(elements, in_place, iters), algbw = size / us / 1e3;
        total += algbw * factor();
        cells++;
        bad_total += bad;
        say("  %8.2f  %6.2f  %6.2f  %6llu", us, algbw, algbw * factor(), bad);
      }
      say("%s\n", "");
      fflush(stdout);
    }
  }
};

struct Options {
  int gpus = 0, waits = -1;  // of a process; 0: all of the machine, or one where there are several processes
  Kind kind;
  size_t min, max;
  int step, iterations;
};

// joins all ranks of this process to one communicator
static void join(const Processes& processes, std::vector<Rank>& ranks) {
  ncclUniqueId id;
  if (processes.rank == 0) NCCL(ncclGetUniqueId(&id));
  processes.broadcast(&id);
  NCCL(ncclGroupStart());
  for (Rank& k : ranks) {
    CUDA(cudaSetDevice(k.device));
    NCCL(ncclCommInitRank(&k.comm, (int)ranks.size() * processes.count, id, k.rank));
  }
  NCCL(ncclGroupEnd());
}

static std::string device_line(const Rank& k) {
  cudaDeviceProp prop;
  CUDA(cudaGetDeviceProperties(&prop, k.device));
  char line[512];
  snprintf(line, sizeof line, "#  Rank %2d Group  0 Pid %6d on %10s device %2d [%04x:%02x:%02x] %s\n", k.rank, getpid(), host, k.device, prop.pciDomainID, prop.pciBusID, prop.pciDeviceID, prop.name);
  return line;
}

template <typename T>
static void measure(const Processes& processes, const Options& o, ncclDataType_t type, const char* type_name) {
  int version = 0, gpus = o.gpus;
  NCCL(ncclGetVersion(&version));
  if (!gpus && processes.count == 1) CUDA(cudaGetDeviceCount(&gpus));
  if (!gpus) gpus = 1;
  Bench<T> b{o.kind, type, processes, std::vector<Rank>(gpus)};
  b.say("# nccl-library=%d\n# Collective test starting: %s_perf\n", version, names[o.kind]);
  b.say("# nThread 1 nGpus %d minBytes %zu maxBytes %zu step: %d(factor) warmup iters: 5 iters: %d agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n", gpus, o.min, o.max, o.step, o.iterations);
  const char* first = getenv("NCCL_TESTS_DEVICE");
  std::string lines;
  for (int r = 0; r < gpus; r++) {
    b.ranks[r].rank = processes.rank * gpus + r;
    b.ranks[r].device = (first ? atoi(first) : processes.local * gpus) + r;
    lines += device_line(b.ranks[r]);
  }
  b.say("%s", processes.gather(lines).c_str());
  fflush(stdout);
  if (processes.rank == o.waits) pause();
  join(processes, b.ranks);
  for (Rank& k : b.ranks) {
    CUDA(cudaSetDevice(k.device));
    CUDA(cudaMalloc(&k.send, o.max));
    CUDA(cudaMalloc(&k.recv, o.max));
    CUDA(cudaMalloc(&k.wrong, sizeof *k.wrong));
    CUDA(cudaStreamCreateWithFlags(&k.stream, cudaStreamNonBlocking));
  }
  b.say("%s", "#\n#                                                              out-of-place                       in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n");
  fflush(stdout);
  b.warm_up(o.min, o.max);
  b.run(o.min, o.max, o.step, o.iterations, type_name);
  b.say("# Out of bounds values : %llu %s\n# Avg bus bandwidth    : %g\n#\n", b.bad_total, b.bad_total ? "FAILED" : "OK", b.total / b.cells);
  b.say("# Collective test concluded: %s_perf\n", names[o.kind]);
  for (Rank& k : b.ranks) NCCL(ncclCommDestroy(k.comm));
}

static int usage(const char* problem) {
  fprintf(stderr, "collectives: %s\nusage: collectives [-g GPUS] [-w RANK] COLLECTIVE MIN MAX FACTOR ITERATIONS [int8]\n", problem);
  return 64;
}

int main(int argc, char** argv) {
  gethostname(host, sizeof host - 1);
  Processes processes(&argc, &argv);
  Options o;
  for (int c; (c = getopt(argc, argv, "+g:w:")) != -1;) {
    if (c == 'g') o.gpus = atoi(optarg);
    else if (c == 'w') o.waits = atoi(optarg);
    else return usage("option unknown");
  }
  argc -= optind;
  argv += optind;
  if (argc < 5 || argc > 6) return usage("arguments: five or six");
  o.min = strtoull(argv[1], nullptr, 10), o.max = strtoull(argv[2], nullptr, 10);
  o.step = atoi(argv[3]), o.iterations = atoi(argv[4]);
  if (o.min == 0 || o.max < o.min || o.step < 2 || o.iterations < 1 || o.gpus < 0) return usage("arguments out of range");
  for (int k = 0; k < 9; k++) {
    if (strcmp(argv[0], names[k])) continue;
    o.kind = (Kind)k;
    if (argc == 6) measure<signed char>(processes, o, ncclInt8, "int8");
    else measure<float>(processes, o, ncclFloat32, "float");
    return 0;
  }
  return usage("collective unknown");
}

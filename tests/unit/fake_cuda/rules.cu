// The kernels that the tests of CUDA's rules launch on a GPU; the double has twins of them.
extern "C" __global__ void rules_store(int *to, int value) { *to = value; }

extern "C" __global__ void rules_fault() { *reinterpret_cast<volatile int *>(16) = 1; }

extern "C" __global__ void rules_wait(const volatile int *flag) {
  while (*flag == 0) {
  }
}

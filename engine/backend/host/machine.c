/* What the machine is, from /proc and the scheduler. Files are read into the stack: nothing is allocated. */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/backend/host/host_internal.h"

/* The first bytes of a file, terminated; empty where it cannot be read. */
static void read_head(const char *path, char *bytes, size_t capacity) {
  bytes[0] = '\0';
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t length = read(file, bytes, capacity - 1);
  bytes[length > 0 ? length : 0] = '\0';
  close(file);
}

/* The decimal number that a text starts with; UINT64_MAX where there is none (a control group's "max"). */
static uint64_t number_of(const char *text) {
  if (!text || *text < '0' || *text > '9') return UINT64_MAX;
  uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; text++) {
    if (__builtin_mul_overflow(number, 10, &number)) return UINT64_MAX;
    if (__builtin_add_overflow(number, (uint64_t)(*text - '0'), &number)) return UINT64_MAX;
  }
  return number;
}

uint32_t gr_host_quota_cores(const char *text) {
  const char *blank = strchr(text, ' ');
  uint64_t quota = number_of(text), period = number_of(blank ? blank + 1 : NULL);
  if (quota == UINT64_MAX || quota == 0 || period == UINT64_MAX || period == 0) return UINT32_MAX;
  uint64_t cores = quota / period + (quota % period != 0);
  return cores < UINT32_MAX ? (uint32_t)cores : UINT32_MAX;
}

uint32_t gr_host_core_count(void) {
  enum { SETS = 8 }; /* 8192 cores; one set knows 1024 */
  cpu_set_t cores[SETS];
  memset(cores, 0, sizeof cores);
  uint32_t count = 0;
  if (sched_getaffinity(0, sizeof cores, cores) == 0) {
    for (int i = 0; i < SETS; i++) count += (uint32_t)CPU_COUNT(&cores[i]);
  }
  /* A container with two cores' time of a hundred: a hundred workers would only wear it out with waiting. */
  char text[64];
  read_head("/sys/fs/cgroup/cpu.max", text, sizeof text);
  uint32_t quota = gr_host_quota_cores(text);
  if (count > quota) count = quota;
  return count > 0 ? count : 1;
}

uint64_t gr_host_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
  char text[64];
  read_head("/sys/fs/cgroup/memory.max", text, sizeof text);
  uint64_t limit = number_of(text);
  return limit < bytes ? limit : bytes;
}

/* What follows "key", blanks and a colon at the start of a line; null where there is none. */
static const char *value_of(const char *text, const char *key) {
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, key, strlen(key)) != 0) continue;
    const char *colon = strchr(line, ':');
    if (!colon) continue;
    return colon + 1 + strspn(colon + 1, " \t");
  }
  return NULL;
}

static uint64_t kibibytes_of(const char *text, const char *key) {
  uint64_t kibibytes = number_of(value_of(text, key));
  return kibibytes > UINT64_MAX / 1024 ? 0 : kibibytes * 1024;
}

void gr_host_free_memory(uint64_t *free_bytes, uint64_t *with_swap_bytes) {
  char text[4096];
  read_head("/proc/meminfo", text, sizeof text);
  uint64_t most = gr_host_memory_bytes();
  uint64_t available = kibibytes_of(text, "MemAvailable");
  *free_bytes = available < most ? available : most;
  if (__builtin_add_overflow(*free_bytes, kibibytes_of(text, "SwapFree"), with_swap_bytes)) *with_swap_bytes = most;
}

static void processor_name(char *name, size_t capacity) {
  char text[4096];
  read_head("/proc/cpuinfo", text, sizeof text);
  const char *value = value_of(text, "model name");
  struct utsname system;
  size_t length = value ? strcspn(value, "\n") : 0;
  if (length == 0) { /* ARM's kernel gives numbers only */
    value = uname(&system) == 0 ? system.machine : "CPU";
    length = strlen(value);
  }
  if (length >= capacity) length = capacity - 1;
  memcpy(name, value, length);
  name[length] = '\0';
}

void gr_host_machine(struct gr_device_info *info) {
  memset(info, 0, sizeof *info);
  processor_name(info->name, sizeof info->name);
  info->memory_bytes = gr_host_memory_bytes();
  uint64_t with_swap_bytes;
  gr_host_free_memory(&info->free_bytes, &with_swap_bytes);
  info->unit_count = gr_host_core_count();
}

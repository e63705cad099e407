/* What the machine is, from /proc and the scheduler. Files are read into the stack: nothing is allocated. */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/backend/host/host_internal.h"

uint32_t gr_host_core_count(void) {
  enum { SETS = 8 }; /* 8192 cores; one set knows 1024 */
  cpu_set_t cores[SETS];
  memset(cores, 0, sizeof cores);
  int count = 0;
  if (sched_getaffinity(0, sizeof cores, cores) == 0) {
    for (int i = 0; i < SETS; i++) count += CPU_COUNT(&cores[i]);
  }
  return count > 0 ? (uint32_t)count : 1;
}

uint64_t gr_host_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

/* The first bytes of a file, terminated; empty where it cannot be read. */
static void read_head(const char *path, char *bytes, size_t capacity) {
  bytes[0] = '\0';
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t length = read(file, bytes, capacity - 1);
  bytes[length > 0 ? length : 0] = '\0';
  close(file);
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

static uint64_t available_bytes(void) {
  char text[4096];
  read_head("/proc/meminfo", text, sizeof text);
  const char *value = value_of(text, "MemAvailable");
  uint64_t kibibytes = 0;
  for (; value && *value >= '0' && *value <= '9'; value++) kibibytes = kibibytes * 10 + (uint64_t)(*value - '0');
  return kibibytes * 1024;
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
  info->free_bytes = available_bytes();
  info->unit_count = gr_host_core_count();
}

/* The public header alone, without any other before it, in a program that is C11 and knows no GNU extensions. */
#include "engine/graphrun.h"

static bool is_same(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    a++;
    b++;
  }
  return *a == *b;
}

int main(void) {
  struct gr_run_options options = {.struct_size = sizeof options};
  return options.repeat == 0 && is_same(gr_version(), GR_VERSION) ? 0 : 1;
}

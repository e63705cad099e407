/* Copies and fills of boxes, against loops over single bytes. */
#include "engine/backend/host/host_internal.h"
#include "tests/unit/backend/host/support.h"

enum { ROOM = 4096 };

START_TEST(copies_move_boxes_and_nothing_else) {
  static char from[ROOM], to[ROOM], wanted[ROOM];
  uint64_t random = 1;
  for (int i = 0; i < ROOM; i++) from[i] = (char)graph_random(&random);
  for (int round = 0; round < 500; round++) {
    struct host_copy copy = {.from = from + graph_random_below(&random, 16),
                             .to = to + graph_random_below(&random, 16)};
    copy.width = graph_random_below(&random, 20);
    copy.height = 1 + graph_random_below(&random, 7);
    copy.depth = 1 + graph_random_below(&random, 5);
    copy.from_pitch = copy.width + graph_random_below(&random, 9);
    copy.to_pitch = copy.width + graph_random_below(&random, 9);
    copy.from_plane = copy.from_pitch * (copy.height + graph_random_below(&random, 3));
    copy.to_plane = copy.to_pitch * (copy.height + graph_random_below(&random, 3));
    memset(to, 7, ROOM);
    memset(wanted, 7, ROOM);
    for (uint64_t z = 0; z < copy.depth; z++) {
      for (uint64_t y = 0; y < copy.height; y++) {
        for (uint64_t x = 0; x < copy.width; x++) {
          wanted[(copy.to - to) + (ptrdiff_t)(z * copy.to_plane + y * copy.to_pitch + x)] =
              copy.from[z * copy.from_plane + y * copy.from_pitch + x];
        }
      }
    }
    gr_host_copy(&copy);
    ck_assert_mem_eq(to, wanted, ROOM);
  }
}
END_TEST

START_TEST(fills_write_elements_of_every_size) {
  static char to[ROOM], wanted[ROOM];
  uint64_t random = 2;
  for (int round = 0; round < 500; round++) {
    struct host_fill fill = {.to = to + 8, .bits = graph_random(&random)};
    fill.element_bytes = 1u << (round % 4);
    fill.width = graph_random_below(&random, 20) * fill.element_bytes;
    fill.height = 1 + graph_random_below(&random, 3);
    fill.depth = 1 + graph_random_below(&random, 3);
    fill.pitch = fill.width + 8 * graph_random_below(&random, 3);
    fill.plane = fill.pitch * (fill.height + graph_random_below(&random, 2));
    memset(to, 7, ROOM);
    memset(wanted, 7, ROOM);
    for (uint64_t z = 0; z < fill.depth; z++) {
      for (uint64_t y = 0; y < fill.height; y++) {
        for (uint64_t x = 0; x < fill.width; x++) {
          uint64_t shift = 8 * (x % fill.element_bytes);
          wanted[8 + z * fill.plane + y * fill.pitch + x] = (char)(fill.bits >> shift);
        }
      }
    }
    gr_host_fill(&fill);
    ck_assert_mem_eq(to, wanted, ROOM);
  }
}
END_TEST

/* Longer than the stretch that rows are built from, and no multiple of it. */
START_TEST(long_rows_are_filled_to_their_end) {
  enum { ELEMENTS = 100003 };
  for (uint32_t element_bytes = 1; element_bytes <= 8; element_bytes *= 2) {
    unsigned char *row = calloc(ELEMENTS + 1, element_bytes);
    ck_assert_ptr_nonnull(row);
    struct host_fill fill = {.to = (char *)row, .height = 1, .depth = 1, .element_bytes = element_bytes};
    fill.bits = UINT64_C(0x8877665544332211);
    fill.width = (uint64_t)ELEMENTS * element_bytes;
    gr_host_fill(&fill);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < fill.width; i++) wrong += row[i] != (fill.bits >> (8 * (i % element_bytes)) & 0xff);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(row[fill.width], 0);
    free(row);
  }
}
END_TEST

static void write_argument_count(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  (void)kernel;
  uint32_t *seen = frame->arguments[1].data;
  seen[0] = frame->argument_count;
  seen[1] = (uint32_t)frame->arguments[0].integer;
  seen[2] = frame->scratch == NULL;
  seen[3] = frame->launch_index;
}

START_TEST(kernels_get_their_arguments) {
  uint32_t seen[4] = {0};
  struct gr_kernel kernel = {.name = "seen", .host = write_argument_count};
  struct host_call *call = calloc(1, sizeof *call + 2 * sizeof call->arguments[0]);
  ck_assert_ptr_nonnull(call);
  call->kernel = &kernel;
  call->argument_count = 2;
  call->arguments[0].integer = 77;
  call->arguments[1].data = seen;
  struct host_task task = {.kind = HOST_TASK_KERNEL, .work = call};
  struct gr_kernel_frame frame = {0};
  gr_host_work(&task, &frame);
  ck_assert_uint_eq(seen[0], 2);
  ck_assert_uint_eq(seen[1], 77);
  ck_assert_uint_eq(seen[2], 1);
  ck_assert_uint_eq(seen[3], 0);
  free(call);
}
END_TEST

START_TEST(nothing_is_nothing) {
  struct host_task task = {.kind = HOST_TASK_NOTHING};
  struct gr_kernel_frame frame = {0};
  gr_host_work(&task, &frame);
  struct host_copy copy = {.height = 3, .depth = 2}; /* no width: no address is touched */
  gr_host_copy(&copy);
  struct host_fill fill = {.height = 3, .depth = 2, .element_bytes = 4};
  gr_host_fill(&fill);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      copies_move_boxes_and_nothing_else,
      fills_write_elements_of_every_size,
      long_rows_are_filled_to_their_end,
      kernels_get_their_arguments,
      nothing_is_nothing,
  };
  return run_suite("host_work", tests, sizeof tests / sizeof tests[0], 60);
}

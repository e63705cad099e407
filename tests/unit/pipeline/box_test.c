/* Boxes: the bytes that a box names are the bytes of its slice, in order, and no box is larger than it has to be. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pipeline/fixture.h"

static void read_file(struct fixture *fixture, const char *shape, const char *from, const char *to) {
  char text[1000];
  snprintf(text, sizeof text,
           "graphrun: 1\nbuffers:\n  x: {type: u16, shape: %s}\n  y: {type: u16, shape: %s}\nnodes:\n"
           "  - {id: c, copy: {from: '%s', to: '%s'}}\n",
           shape, shape, from, to);
  fixture_read(fixture, text);
}

struct row {
  const char *shape;
  const char *from;
  const char *to;
  struct gr_copy_box box;
};

START_TEST(boxes_are_folded) {
  static const struct row rows[] = {
      {"[4, 6]", "x", "y", {{0, 0, 48, 48}, {1, 0, 48, 48}, 48, 1, 1}},
      {"[4, 6]", "x[1:3, :]", "y[2:4, :]", {{0, 12, 24, 24}, {1, 24, 24, 24}, 24, 1, 1}},
      {"[4, 6]", "x[1:3, 2:5]", "y[0:2, 0:3]", {{0, 16, 12, 24}, {1, 0, 12, 24}, 6, 2, 1}},
      {"[4, 6]", "x[:, 5:6]", "y[:, 0:1]", {{0, 10, 12, 48}, {1, 0, 12, 48}, 2, 4, 1}},
      {"[4, 6]", "x[1:2, 2:5]", "y[3:4, 3:6]", {{0, 16, 6, 6}, {1, 42, 6, 6}, 6, 1, 1}},
      {"[2, 4, 6]", "x[:, 1:3, 2:5]", "y[:, 0:2, 0:3]", {{0, 16, 12, 48}, {1, 0, 12, 48}, 6, 2, 2}},
      {"[2, 4, 6]", "x[:, 1:3, :]", "y[:, 0:2, :]", {{0, 12, 48, 96}, {1, 0, 48, 96}, 24, 2, 1}},
      {"[2, 4, 6]", "x[:, :, 1:3]", "y[:, :, 0:2]", {{0, 2, 12, 96}, {1, 0, 12, 96}, 4, 8, 1}},
      {"[2, 3, 4, 6]", "x[:, :, 1:3, 2:5]", "y[:, :, 0:2, 0:3]", {{0, 16, 12, 48}, {1, 0, 12, 48}, 6, 2, 6}},
      {"[2, 3, 4, 6]", "x[1:2, 0:2, 1:3, 2:5]", "y[0:1, 0:2, 0:2, 0:3]", {{0, 160, 12, 48}, {1, 0, 12, 48}, 6, 2, 2}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct fixture fixture;
    read_file(&fixture, rows[i].shape, rows[i].from, rows[i].to);
    ck_assert_msg(fixture.status == GR_OK, "%s", fixture.said.bytes);
    struct gr_copy_box box;
    memset(&box, 0xEE, sizeof box);
    gr_pipeline_copy_box(fixture.pipeline, 0, &box);
    ck_assert_msg(box.width_bytes == rows[i].box.width_bytes && box.height == rows[i].box.height &&
                      box.depth == rows[i].box.depth,
                  "%s: %" PRIu64 " x %" PRIu64 " x %" PRIu64, rows[i].from, box.width_bytes, box.height, box.depth);
    ck_assert_msg(box.from.offset_bytes == rows[i].box.from.offset_bytes &&
                      box.from.pitch_bytes == rows[i].box.from.pitch_bytes &&
                      box.from.plane_bytes == rows[i].box.from.plane_bytes && box.from.buffer_index == 0,
                  "%s: %" PRIu64 " %" PRIu64 " %" PRIu64, rows[i].from, box.from.offset_bytes, box.from.pitch_bytes,
                  box.from.plane_bytes);
    ck_assert_msg(box.to.offset_bytes == rows[i].box.to.offset_bytes &&
                      box.to.pitch_bytes == rows[i].box.to.pitch_bytes &&
                      box.to.plane_bytes == rows[i].box.to.plane_bytes && box.to.buffer_index == 1,
                  "%s: %" PRIu64 " %" PRIu64 " %" PRIu64, rows[i].to, box.to.offset_bytes, box.to.pitch_bytes,
                  box.to.plane_bytes);
    fixture_release(&fixture);
  }
}
END_TEST

START_TEST(more_than_three_dimensions_are_refused) {
  fixture_expect(
      "graphrun: 1\nbuffers:\n  x: {type: u16, shape: [3, 3, 3, 3]}\n  y: {type: u16, shape: [3, 3, 3, 3]}\nnodes:\n"
      "  - {id: c, copy: {from: 'x[0:2, 0:2, 0:2, 0:2]', to: 'y[1:3, 1:3, 1:3, 1:3]'}}\n"
      "  - {id: f, fill: {buffer: 'x[0:2, 0:2, 0:2, 0:2]', value: 1}}\n"
      "  - {id: z, fill: {buffer: 'x[0:2, 0:2, 0:2, 0:0]', value: 1}}\n",
      "",
      "6:19 error: node \"c\": copy: copying \"x[0:2, 0:2, 0:2, 0:2]\" to \"y[1:3, 1:3, 1:3, 1:3]\" needs more than 3 "
      "dimensions, also after folding those that lie side by side; copy it in parts\n"
      "7:28 error: node \"f\": fill: filling \"x[0:2, 0:2, 0:2, 0:2]\" needs more than 3 dimensions, also after "
      "folding "
      "those that lie side by side; fill it in parts\n");
}
END_TEST

/* ---- properties ---- */

/* Any byte of a box, in the order in which a copy goes. */
static uint64_t byte_of(const struct gr_box *box, const struct gr_copy_box *copy, uint64_t n) {
  uint64_t column = n % copy->width_bytes;
  uint64_t row = n / copy->width_bytes % copy->height;
  uint64_t plane = n / copy->width_bytes / copy->height;
  return box->offset_bytes + column + row * box->pitch_bytes + plane * box->plane_bytes;
}

/* The same from the reference. */
static uint64_t byte_of_reference(const struct gr_buffer *buffer, const struct gr_reference *reference, uint64_t n) {
  uint64_t size = gr_type_size(buffer->type);
  uint64_t element = n / size;
  uint64_t index = 0;
  uint64_t stride = 1;
  for (uint32_t i = reference->rank; i-- > 0;) {
    index += (element % reference->extents[i] + (reference->starts ? reference->starts[i] : 0)) * stride;
    element /= reference->extents[i];
    stride *= buffer->shape[i];
  }
  return index * size + n % size;
}

static void check_box(const struct gr_box *box, const struct gr_copy_box *copy, const struct gr_buffer *buffer,
                      const struct gr_reference *reference) {
  uint64_t size = reference->element_count * gr_type_size(buffer->type);
  ck_assert_uint_eq(copy->width_bytes * copy->height * copy->depth, size);
  for (uint64_t n = 0; n < size; n++) ck_assert_uint_eq(byte_of(box, copy, n), byte_of_reference(buffer, reference, n));
  if (copy->depth > 1) ck_assert_uint_eq(box->plane_bytes % box->pitch_bytes, 0);
  ck_assert_uint_le(copy->width_bytes, box->pitch_bytes);
}

static size_t put_slice(char *out, uint64_t *state, const char *name, uint32_t rank, const uint64_t *shape,
                        const uint64_t *extents) {
  size_t used = (size_t)sprintf(out, "%s[", name);
  for (uint32_t i = 0; i < rank; i++) {
    uint64_t start = fixture_random(state) % (shape[i] - extents[i] + 1);
    used += (size_t)sprintf(out + used, "%s%" PRIu64 ":%" PRIu64, i ? "," : "", start, start + extents[i]);
  }
  return used + (size_t)sprintf(out + used, "]");
}

static size_t put_shape(char *out, uint32_t rank, const uint64_t *shape) {
  size_t used = (size_t)sprintf(out, "[");
  for (uint32_t i = 0; i < rank; i++) used += (size_t)sprintf(out + used, "%s%" PRIu64, i ? ", " : "", shape[i]);
  return used + (size_t)sprintf(out + used, "]");
}

static void try_one(uint64_t *state, int *taken) {
  static const char *const types[] = {"u8", "i16", "f32", "f64"};
  const char *type = types[fixture_random(state) % 4];
  uint32_t rank = (uint32_t)(1 + fixture_random(state) % 5);
  uint64_t shapes[2][5];
  uint64_t extents[5];
  for (uint32_t i = 0; i < rank; i++) {
    extents[i] = 1 + fixture_random(state) % 4;
    for (int side = 0; side < 2; side++)
      shapes[side][i] = extents[i] + (fixture_random(state) % 3 == 0 ? fixture_random(state) % 3 : 0);
  }
  char text[1000];
  size_t used = (size_t)sprintf(text, "graphrun: 1\nbuffers:\n");
  for (int side = 0; side < 2; side++) {
    used += (size_t)sprintf(text + used, "  %s: {type: %s, shape: ", side ? "y" : "x", type);
    used += put_shape(text + used, rank, shapes[side]);
    used += (size_t)sprintf(text + used, "}\n");
  }
  used += (size_t)sprintf(text + used, "nodes:\n  - {id: c, copy: {from: '");
  used += put_slice(text + used, state, "x", rank, shapes[0], extents);
  used += (size_t)sprintf(text + used, "', to: '");
  used += put_slice(text + used, state, "y", rank, shapes[1], extents);
  sprintf(text + used, "'}}\n");
  struct fixture fixture;
  fixture_read(&fixture, text);
  if (fixture.status == GR_OK) {
    const struct gr_pipeline *pipeline = fixture.pipeline;
    const struct gr_node *node = &pipeline->nodes[0];
    struct gr_copy_box box;
    gr_pipeline_copy_box(pipeline, 0, &box);
    check_box(&box.from, &box, &pipeline->buffers[0], &pipeline->references[node->copy.from]);
    check_box(&box.to, &box, &pipeline->buffers[1], &pipeline->references[node->copy.to]);
    (*taken)++;
  } else {
    ck_assert_msg(strstr(fixture.said.bytes, "needs more than 3 dimensions") != NULL, "%s", fixture.said.bytes);
  }
  fixture_release(&fixture);
}

START_TEST(random_boxes_name_the_bytes_of_their_slices) {
  uint64_t state = 21;
  int taken = 0;
  for (int i = 0; i < 3000; i++) try_one(&state, &taken);
  ck_assert_int_gt(taken, 2000);
  ck_assert_int_lt(taken, 3000);
}
END_TEST

START_TEST(a_fill_box_has_the_value) {
  struct fixture fixture;
  fixture_read(&fixture,
               "graphrun: 1\nbuffers:\n  x: {type: i16, shape: [4, 6]}\nnodes:\n"
               "  - {id: f, fill: {buffer: 'x[1:3, 2:5]', value: -2}}\n");
  ck_assert_int_eq(fixture.status, GR_OK);
  struct gr_fill_box box;
  gr_pipeline_fill_box(fixture.pipeline, 0, &box);
  ck_assert_uint_eq(box.bits, 0xFFFE);
  ck_assert_uint_eq(box.element_bytes, 2);
  ck_assert_uint_eq(box.width_bytes, 6);
  ck_assert_uint_eq(box.height, 2);
  ck_assert_uint_eq(box.depth, 1);
  ck_assert_uint_eq(box.to.offset_bytes, 16);
  ck_assert_uint_eq(box.to.pitch_bytes, 12);
  fixture_release(&fixture);
}
END_TEST

START_TEST(a_box_of_nothing_has_no_width) {
  struct fixture fixture;
  read_file(&fixture, "[4, 6]", "x[1:1, 2:5]", "y[0:0, 0:3]");
  ck_assert_int_eq(fixture.status, GR_OK);
  struct gr_copy_box box;
  gr_pipeline_copy_box(fixture.pipeline, 0, &box);
  ck_assert_uint_eq(box.width_bytes, 0);
  ck_assert_uint_eq(box.height, 1);
  ck_assert_uint_eq(box.depth, 1);
  fixture_release(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("box");
  TCase *rules = tcase_create("rules");
  tcase_set_timeout(rules, 280);
  tcase_add_test(rules, boxes_are_folded);
  tcase_add_test(rules, more_than_three_dimensions_are_refused);
  tcase_add_test(rules, random_boxes_name_the_bytes_of_their_slices);
  tcase_add_test(rules, a_fill_box_has_the_value);
  tcase_add_test(rules, a_box_of_nothing_has_no_width);
  suite_add_tcase(suite, rules);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}

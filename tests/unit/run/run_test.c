#include <sys/resource.h>

#include "tests/unit/run/support.h"

static struct gr_executable *executable;
static struct gr_report report;
static struct gr_error error;

static enum gr_status run_with(const struct gr_run_settings *settings) {
  if (!world.plan) make_plan();
  memset(&error, 0, sizeof error);
  return gr_run(&world.memory, &fake_backend, executable, world.plan, settings, &report, &error);
}

static void begin(void) {
  executable = make_fake();
  gr_report_init(&report, &world.memory);
}

static void end(void) {
  gr_report_release(&report);
  drop_fake(executable);
}

static uint32_t word_at(uint32_t buffer, uint64_t index) {
  uint32_t value;
  memcpy(&value, executable->bytes[buffer] + 4 * index, 4);
  return value;
}

/* Initial values before the first replay and once more after the warm-up; replays go on from one another. */
START_TEST(the_order_of_a_run) {
  give_init(add_vector("count", GR_TYPE_U32, 3), GR_INIT_ZEROS);
  for (uint32_t direct = 0; direct < 2; direct++) {
    begin();
    executable->has_addresses = direct;
    ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 5, .warmup = 3}), GR_OK);
    ck_assert_uint_eq(executable->launch_count, 8);
    ck_assert_uint_eq(word_at(0, 2), 5);
    ck_assert_uint_eq(report.replays_done, 5);
    ck_assert_uint_eq(report.repeat, 5);
    ck_assert_uint_eq(report.warmup, 3);
    ck_assert_int_eq(report.states[0], GR_NODE_OK);
    ck_assert_uint_eq(report.facts.host_bytes, 77);
    ck_assert_int_eq(report.status, GR_OK);
    ck_assert_int_eq(error.status, GR_OK);
    ck_assert_uint_gt(report.total_ns, 0);
    /* From the last state on. */
    ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 2, .warmup = 1, .keep_state = true}), GR_OK);
    ck_assert_uint_eq(word_at(0, 0), 8);
    /* And anew. */
    ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
    ck_assert_uint_eq(word_at(0, 0), 1);
    end();
  }
}
END_TEST

START_TEST(no_replay_is_no_run) {
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 0}), GR_ERR_ARGUMENT);
  ck_assert_uint_eq(executable->call_count, 0);
  end();
}
END_TEST

/* Of the words 7, 10, 13, ... in the first buffer. */
static uint64_t count_wrong(uint64_t count) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; i++) wrong += word_at(0, i) != 7 + 3 * i;
  return wrong;
}

/* A chunk is 4 MiB: what is loaded, compared and saved is larger, and ends in the middle of one. */
START_TEST(data_of_many_chunks) {
  uint64_t count = 3000001;
  struct gr_buffer *buffer = add_vector("big", GR_TYPE_U32, count);
  struct gr_init *init = give_init(buffer, GR_INIT_IOTA);
  init->start = integer_number(7);
  init->step = integer_number(3);
  buffer->save = "big.bin";
  for (uint32_t direct = 0; direct < 2; direct++) {
    begin();
    executable->has_addresses = direct;
    ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
    ck_assert_uint_eq(count_wrong(count), 0);
    ck_assert_uint_eq(report.saved_count, 1);
    end();
  }
  init->kind = GR_INIT_LOAD;
  init->path = "big.bin";
  struct gr_expect *expect = give_expect(buffer, GR_EXPECT_LOAD);
  expect->path = "big.bin";
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert_uint_eq(count_wrong(count), 0);
  ck_assert_uint_eq(report.expect_count, 1);
  ck_assert(report.expects[0].is_met);
  end();
}
END_TEST

/* Two good results and one that is not as expected: nothing is saved, whatever was there before stays. */
START_TEST(a_mismatch_saves_nothing) {
  for (uint32_t i = 0; i < 2; i++) {
    struct gr_buffer *buffer = add_vector(i == 0 ? "count0" : "count1", GR_TYPE_U32, 2);
    give_init(buffer, GR_INIT_ZEROS);
    buffer->save = i == 0 ? "a.npy" : "b.npy";
    give_expect(buffer, GR_EXPECT_EQUALS)->value = integer_number(i == 0 ? 1 : 5);
  }
  write_file("a.npy", "old", 3);
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_ERR_EXPECT);
  ck_assert_str_eq(error.message,
                   "buffer \"count1\" is not as expected: 2 of 2 elements differ; the first, [0] is 1, not 5");
  ck_assert_str_eq(error.node, "count1");
  ck_assert_uint_eq(error.line, 21);
  ck_assert_uint_eq(report.expect_count, 2);
  ck_assert(report.expects[0].is_met);
  ck_assert(!report.expects[1].is_met);
  ck_assert_uint_eq(report.saved_count, 0);
  ck_assert_int_eq(report.states[1], GR_NODE_OK);
  ck_assert_uint_eq(count_files(), 1);
  /* Without outputs the same run is fine, and with a right expectation both are saved. */
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1, .no_outputs = true}), GR_OK);
  ck_assert_uint_eq(count_files(), 1);
  ck_assert_uint_eq(report.expect_count, 0);
  world.expects[1].value = integer_number(1);
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert_uint_eq(report.saved_count, 2);
  ck_assert_uint_eq(count_files(), 2);
  end();
}
END_TEST

START_TEST(a_failed_node_saves_nothing) {
  struct gr_buffer *buffer = add_vector("count", GR_TYPE_U32, 2);
  give_init(buffer, GR_INIT_ZEROS);
  buffer->save = "a.npy";
  begin();
  executable->node_fails = true;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_ERR_NODE);
  ck_assert_str_eq(error.node, "second");
  ck_assert_str_eq(report.error.backend_code, "cudaErrorIllegalAddress");
  ck_assert_int_eq(report.states[1], GR_NODE_FAILED);
  ck_assert_uint_eq(count_files(), 0);
  end();
}
END_TEST

/* Nothing has run when the folder of a save or the file of an expectation is not there. */
START_TEST(what_is_missing_fails_first) {
  struct gr_buffer *buffer = add_vector("count", GR_TYPE_U32, 2);
  give_init(buffer, GR_INIT_ZEROS);
  buffer->save = "nowhere/a.npy";
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_ERR_IO);
  char expected[1024];
  snprintf(expected, sizeof expected, "cannot write \"%snowhere/a.npy\": No such file or directory", world.folder);
  ck_assert_str_eq(error.message, expected);
  ck_assert_uint_eq(error.line, 20);
  ck_assert_uint_eq(executable->call_count, 0);
  ck_assert_int_eq(report.states[0], GR_NODE_NOT_RUN);
  buffer->save = "d.npy";
  ck_assert_int_eq(mkdir(path_of("d.npy"), 0700), 0);
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "d.npy\": it is a directory"));
  ck_assert_uint_eq(executable->call_count, 0);
  buffer->save = NULL;
  give_expect(buffer, GR_EXPECT_LOAD)->path = "golden.npy";
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_ERR_IO);
  snprintf(expected, sizeof expected, "cannot read \"%sgolden.npy\": No such file or directory", world.folder);
  ck_assert_str_eq(error.message, expected);
  ck_assert_uint_eq(executable->call_count, 0);
  end();
}
END_TEST

/* Nor when nothing may be written there. */
START_TEST(a_folder_that_may_not_be_written_fails_first) {
  struct gr_buffer *buffer = add_vector("count", GR_TYPE_U32, 2);
  give_init(buffer, GR_INIT_ZEROS);
  buffer->save = "a.npy";
  begin();
  uid_t user = getuid();
  ck_assert_int_eq(chmod(world.folder, 0555), 0);
  /* Root may write everywhere, and a sandbox may know nobody else. */
  if (user == 0 && setresuid(65534, 65534, 0) != 0) {
    end();
    return;
  }
  enum gr_status status = run_with(&(struct gr_run_settings){.repeat = 1});
  ck_assert_int_eq(setresuid(user, user, (uid_t)-1), 0);
  ck_assert_int_eq(chmod(world.folder, 0755), 0);
  ck_assert_int_eq(status, GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "a.npy\": Permission denied"));
  ck_assert_uint_eq(executable->call_count, 0);
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  end();
}
END_TEST

static uint64_t asked_count, asked_limit;
static bool stop_when_asked(void *context) {
  (void)context;
  return ++asked_count > asked_limit;
}

/* Whenever the caller says stop: the run ends, nothing is saved, no temporary file stays. */
START_TEST(cancelling_at_every_question) {
  struct gr_buffer *buffer = add_vector("count", GR_TYPE_U32, 2000000); /* two chunks */
  give_init(buffer, GR_INIT_ZEROS);
  give_expect(buffer, GR_EXPECT_EQUALS)->value = integer_number(3);
  buffer->save = "a.npy";
  uint64_t cancelled_count = 0;
  for (asked_limit = 0;; asked_limit++) {
    begin();
    asked_count = 0;
    enum gr_status status = run_with(&(struct gr_run_settings){.repeat = 3, .warmup = 2, .cancelled = stop_when_asked});
    if (status == GR_OK) {
      end();
      break;
    }
    ck_assert_int_eq(status, GR_ERR_CANCELLED);
    ck_assert_str_eq(error.message, "the run was cancelled");
    ck_assert_uint_eq(count_files(), 0);
    cancelled_count++;
    end();
  }
  /* twice two chunks in, five launches, two chunks to compare, two to save */
  ck_assert_uint_eq(cancelled_count, 13);
  ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(cancelling_while_something_hangs) {
  begin();
  executable->waits_for_ever = true;
  asked_count = 0;
  asked_limit = 100;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1, .cancelled = stop_when_asked}), GR_ERR_CANCELLED);
  ck_assert_int_eq(report.states[1], GR_NODE_TIMEOUT);
  end();
}
END_TEST

/* What is in flight is broken off by the back end, which also knows the states; a failure of a node is the better news.
 */
START_TEST(cancelling_between_launches) {
  begin();
  executable->waits_for_ever = true;
  asked_count = 0;
  asked_limit = 1;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 5, .cancelled = stop_when_asked}), GR_ERR_CANCELLED);
  ck_assert_uint_eq(executable->launch_count, 1);
  ck_assert_uint_eq(executable->call_count, 2);
  ck_assert_int_eq(report.states[0], GR_NODE_OK);
  ck_assert_int_eq(report.states[1], GR_NODE_TIMEOUT);
  executable->waits_for_ever = false;
  executable->node_fails = true;
  asked_count = 0;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 5, .cancelled = stop_when_asked}), GR_ERR_NODE);
  ck_assert_int_eq(report.states[1], GR_NODE_FAILED);
  /* Before the first launch nothing has run, whatever an earlier run did. */
  asked_count = asked_limit = 0;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 5, .cancelled = stop_when_asked}), GR_ERR_CANCELLED);
  ck_assert_int_eq(report.states[0], GR_NODE_NOT_RUN);
  end();
}
END_TEST

START_TEST(timeouts) {
  begin();
  executable->waits_for_ever = true;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1, .timeout_ns = 20000000}), GR_ERR_TIMEOUT);
  ck_assert_int_eq(report.status, GR_ERR_TIMEOUT);
  ck_assert_uint_ge(report.replays_ns, 20000000);
  executable->waits_for_ever = false;
  /* Replays that end within their launch: the run looks at the clock itself. The warm-up counts. */
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = UINT64_MAX, .timeout_ns = 20000000}), GR_ERR_TIMEOUT);
  ck_assert_ptr_nonnull(strstr(error.message, "of 18446744073709551615 replays were started"));
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1, .warmup = UINT64_MAX, .timeout_ns = 20000000}),
                   GR_ERR_TIMEOUT);
  ck_assert_uint_eq(report.replays_done, 0);
  /* Neither takes longer than the timeout, both together do. */
  executable->launch_ns = 30000000;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 3, .warmup = 3, .timeout_ns = 100000000}),
                   GR_ERR_TIMEOUT);
  executable->launch_ns = 0;
  /* As long as there is time: no overflow. */
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1, .timeout_ns = UINT64_MAX}), GR_OK);
  end();
}
END_TEST

static uint64_t told_count, told_last, told_total;
static void note_progress(void *context, uint64_t done, uint64_t total) {
  (void)context;
  told_count++;
  ck_assert_uint_ge(done, told_last);
  told_last = done;
  told_total = total;
}

START_TEST(progress_is_told_now_and_then) {
  begin();
  told_count = told_last = 0;
  ck_assert_int_eq(
      run_with(&(struct gr_run_settings){.repeat = UINT64_MAX, .timeout_ns = 450000000, .progress = note_progress}),
      GR_ERR_TIMEOUT);
  ck_assert_uint_ge(told_count, 1);
  ck_assert_uint_le(told_count, 4);
  ck_assert_uint_eq(told_total, UINT64_MAX);
  /* A short run says nothing. */
  told_count = 0;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 3, .progress = note_progress}), GR_OK);
  ck_assert_uint_eq(told_count, 0);
  /* One that lasts does, while it is waited for. */
  executable->waits_for_ever = true;
  told_last = 0;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1, .timeout_ns = 450000000, .progress = note_progress}),
                   GR_ERR_TIMEOUT);
  ck_assert_uint_ge(told_count, 1);
  ck_assert_uint_le(told_count, 4);
  ck_assert_uint_eq(told_total, 1);
  end();
}
END_TEST

/* Everything in one pipeline: load, init, expectations of each kind, two saves. */
static void add_everything(void) {
  static const char header[] = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n";
  static const float columns[] = {1, 3, 2, 4};
  write_npy("in.npy", 1, header, columns, sizeof columns);
  struct gr_buffer *count = add_vector("count", GR_TYPE_U32, 4);
  give_init(count, GR_INIT_ZEROS);
  give_expect(count, GR_EXPECT_SUM)->value = integer_number(8);
  count->save = "count.npy";
  struct gr_buffer *matrix = add_buffer("matrix", GR_TYPE_F32, 2, (uint64_t[]){2, 2});
  give_init(matrix, GR_INIT_LOAD)->path = "in.npy";
  give_expect(matrix, GR_EXPECT_LOAD)->path = "in.npy";
  matrix->save = "matrix.bin";
}

START_TEST(nth_call_of_the_backend_fails) {
  add_everything();
  for (uint64_t n = 1;; n++) {
    begin();
    executable->fail_at = n;
    enum gr_status status = run_with(&(struct gr_run_settings){.repeat = 2, .warmup = 1});
    if (status == GR_OK) {
      ck_assert_uint_lt(executable->call_count, n);
      end();
      break;
    }
    char expected[64];
    snprintf(expected, sizeof expected, "call %d failed", (int)n);
    ck_assert_int_eq(status, GR_ERR_BACKEND);
    ck_assert_str_eq(error.message, expected);
    ck_assert_str_eq(report.error.message, expected);
    ck_assert_uint_eq(count_files(), 1);
    end();
  }
  ck_assert_uint_eq(count_files(), 3);
  ck_assert(has_file("count.npy") && has_file("matrix.bin"));
}
END_TEST

START_TEST(nth_allocation_fails) {
  add_everything();
  make_plan();
  uint64_t live = world.memory.live_count;
  for (uint64_t n = 1;; n++) {
    begin();
    world.memory.fail_at = world.memory.call_count + n;
    enum gr_status status = run_with(&(struct gr_run_settings){.repeat = 2, .warmup = 1});
    bool has_failed = world.memory.call_count >= world.memory.fail_at;
    world.memory.fail_at = 0;
    ck_assert_int_eq(status, has_failed ? GR_ERR_NO_MEMORY : GR_OK);
    ck_assert_int_eq(error.status, status);
    if (has_failed) ck_assert_uint_eq(count_files(), 1);
    end();
    ck_assert_uint_eq(world.memory.live_count, live);
    if (!has_failed) break;
  }
  ck_assert_uint_eq(count_files(), 3);
}
END_TEST

/* More outputs than a process may have open files. */
START_TEST(many_saves) {
  static struct gr_buffer buffers[300];
  static char names[300][16];
  struct rlimit limit;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  struct gr_buffer *first = add_vector("x", GR_TYPE_U32, 1);
  give_init(first, GR_INIT_ZEROS);
  for (uint32_t i = 0; i < 300; i++) {
    snprintf(names[i], sizeof names[i], "%u.npy", i);
    buffers[i] = *first;
    buffers[i].save = names[i];
  }
  struct gr_executable many = {.pipeline = &world.pipeline};
  world.pipeline.buffers = buffers;
  world.pipeline.buffer_count = 300;
  uint32_t word = 0;
  executable = &many;
  gr_report_init(&report, &world.memory);
  many.only = (unsigned char *)&word;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert_uint_eq(report.saved_count, 300);
  ck_assert_uint_eq(count_files(), 300);
  /* The last one cannot be written: none of the others is replaced, and no temporary file stays. */
  word = 7;
  buffers[299].save = "d.npy";
  ck_assert_int_eq(mkdir(path_of("d.npy"), 0700), 0);
  for (uint32_t i = 0; i < 300; i++) buffers[i].init = NULL;
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "d.npy\": it is a directory"));
  ck_assert_uint_eq(report.saved_count, 0);
  ck_assert_uint_eq(count_files(), 301);
  struct gr_file_bytes bytes = {0};
  ck_assert_int_eq(gr_file_read(&world.memory, path_of("0.npy"), NULL, &bytes, NULL), GR_OK);
  ck_assert_int_eq(memcmp(bytes.bytes + bytes.length - 4, "\0\0\0", 4), 0);
  gr_file_bytes_release(&bytes);
  gr_report_release(&report);
}
END_TEST

/* What was saved is what NumPy would write, and what this loads again. */
START_TEST(saved_bytes) {
  static const char expected[] =
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }"
      "                                                          \n";
  struct gr_buffer *buffer = add_buffer("count", GR_TYPE_U32, 2, (uint64_t[]){2, 3});
  give_init(buffer, GR_INIT_ZEROS);
  buffer->save = "a.npy";
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 9}), GR_OK);
  end();
  struct gr_file_bytes bytes = {0};
  ck_assert_int_eq(gr_file_read(&world.memory, path_of("a.npy"), NULL, &bytes, NULL), GR_OK);
  ck_assert_uint_eq(bytes.length, 128 + 24);
  ck_assert_uint_eq(sizeof expected - 1, 128);
  ck_assert_int_eq(memcmp(bytes.bytes, expected, 128), 0);
  for (uint32_t i = 0; i < 6; i++) ck_assert_int_eq(memcmp(bytes.bytes + 128 + 4 * i, "\x09\0\0\0", 4), 0);
  gr_file_bytes_release(&bytes);
}
END_TEST

/* Nothing is a result, too; and a single number. */
START_TEST(saves_of_no_elements_and_of_one) {
  struct gr_buffer *empty = add_buffer("empty", GR_TYPE_F64, 2, (uint64_t[]){0, 5});
  give_expect(empty, GR_EXPECT_SUM)->value = integer_number(0);
  empty->save = "empty.npy";
  struct gr_buffer *nothing = add_vector("nothing", GR_TYPE_U8, 0);
  nothing->save = "nothing.bin";
  struct gr_buffer *scalar = add_buffer("count", GR_TYPE_U32, 0, NULL);
  give_init(scalar, GR_INIT_ZEROS);
  scalar->save = "scalar.npy";
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert_uint_eq(report.saved_count, 3);
  /* And they can be loaded again. */
  give_init(empty, GR_INIT_LOAD)->path = "empty.npy";
  give_init(nothing, GR_INIT_LOAD)->path = "nothing.bin";
  give_init(scalar, GR_INIT_LOAD)->path = "scalar.npy";
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert_uint_eq(word_at(2, 0), 2);
  end();
}
END_TEST

/* A link stays a link; what it points to is replaced. An absolute path does not start from the pipeline's folder. */
START_TEST(saves_through_links_and_absolute_paths) {
  char absolute[512];
  struct stat state;
  struct gr_buffer *buffer = add_vector("count", GR_TYPE_U32, 1);
  give_init(buffer, GR_INIT_ZEROS);
  write_file("old.bin", "old data", 8);
  ck_assert_int_eq(symlink("old.bin", path_of("link.bin")), 0);
  buffer->save = "link.bin";
  begin();
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert_int_eq(lstat(path_of("link.bin"), &state), 0);
  ck_assert(S_ISLNK(state.st_mode));
  ck_assert_int_eq(stat(path_of("old.bin"), &state), 0);
  ck_assert_int_eq(state.st_size, 4);
  snprintf(absolute, sizeof absolute, "%sabsolute.bin", world.folder);
  buffer->save = absolute;
  world.pipeline.folder = "/nowhere/";
  ck_assert_int_eq(run_with(&(struct gr_run_settings){.repeat = 1}), GR_OK);
  ck_assert(has_file("absolute.bin"));
  end();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("run");
  TCase *cases = tcase_create("run");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, the_order_of_a_run);
  tcase_add_test(cases, no_replay_is_no_run);
  tcase_add_test(cases, data_of_many_chunks);
  tcase_add_test(cases, a_mismatch_saves_nothing);
  tcase_add_test(cases, a_failed_node_saves_nothing);
  tcase_add_test(cases, what_is_missing_fails_first);
  tcase_add_test(cases, a_folder_that_may_not_be_written_fails_first);
  tcase_add_test(cases, cancelling_at_every_question);
  tcase_add_test(cases, cancelling_while_something_hangs);
  tcase_add_test(cases, cancelling_between_launches);
  tcase_add_test(cases, timeouts);
  tcase_add_test(cases, progress_is_told_now_and_then);
  tcase_add_test(cases, nth_call_of_the_backend_fails);
  tcase_add_test(cases, nth_allocation_fails);
  tcase_add_test(cases, many_saves);
  tcase_add_test(cases, saved_bytes);
  tcase_add_test(cases, saves_of_no_elements_and_of_one);
  tcase_add_test(cases, saves_through_links_and_absolute_paths);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

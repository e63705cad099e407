/* Faults, hangs, cancellations: what is said, what is known of each node, and that nothing blocks. */
#include "engine/base/clock.h"
#include "tests/unit/backend/cuda/support.h"

static const enum gr_mode modes[] = {GR_MODE_GRAPH, GR_MODE_STREAM, GR_MODE_SERIAL};

/* b is the one kernel `mix` that is started first. */
static const char chain_text[] = "a:w:x a>b b:r:x b:u:y b>c c:w:z a>e e:w:u e2!no_op a>e2 bar c,e>bar";

static double run_and_fail(struct bench *bench, uint64_t timeout_ns, bool (*cancelled)(void *), enum gr_status expected,
                           struct gr_error *error) {
  uint64_t begun_ns = gr_clock_now_ns();
  struct gr_wait_options options = {.deadline_ns = timeout_ns ? begun_ns + timeout_ns : 0, .cancelled = cancelled};
  memset(error, 0, sizeof *error);
  enum gr_status status = cuda->launch(bench->executable, &options, error);
  if (status == GR_OK) status = cuda->wait(bench->executable, &options, error);
  ck_assert_msg(status == expected, "%s: %s", gr_status_name(status), error->message);
  ck_assert_int_eq(error->status, expected);
  return (double)(gr_clock_now_ns() - begun_ns) / 1e9;
}

/* ---- faults ---- */

START_TEST(a_fault_is_told_as_it_is_known) {
  enum gr_mode mode = modes[_i];
  struct bench bench;
  bench_text(&bench, chain_text, mode, 3);
  fake_cuda_fault_at_kernel("mix", 1, cudaErrorIllegalAddress);
  struct gr_error error, later = {0};
  run_and_fail(&bench, 0, NULL, GR_ERR_NODE, &error);
  ck_assert_str_eq(error.backend_code, "cudaErrorIllegalAddress");
  if (mode == GR_MODE_SERIAL) {
    ck_assert_str_eq(error.node, "b");
    ck_assert_uint_eq(error.line, 2);
    ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_FAILED);
    ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
    ck_assert_int_eq(bench_state(&bench, "bar"), GR_NODE_SKIPPED);
  } else {
    ck_assert_str_eq(error.node, "");
    ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_SUSPECT);
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SUSPECT);
    ck_assert_int_eq(bench_state(&bench, "e2"), GR_NODE_NO_OP);
  }
  struct gr_error cause = {0};
  ck_assert(cuda->is_lost(bench.device, &cause));
  ck_assert_str_eq(cause.message, error.message);
  /* From now on one answer, with the first cause, and at once. */
  uint32_t word = 0;
  struct gr_executable *executable = NULL;
  struct gr_build_options options = {.mode = mode};
  ck_assert_int_eq(cuda->launch(bench.executable, NULL, &later), GR_ERR_DEVICE_LOST);
  ck_assert_ptr_nonnull(strstr(later.message, error.message));
  ck_assert_int_eq(cuda->wait(bench.executable, NULL, &later), GR_ERR_DEVICE_LOST);
  ck_assert_int_eq(cuda->read(bench.executable, 0, 0, &word, 4, &later), GR_ERR_DEVICE_LOST);
  ck_assert_int_eq(cuda->write(bench.executable, 0, 0, &word, 4, &later), GR_ERR_DEVICE_LOST);
  ck_assert_int_eq(cuda->build(bench.device, bench.plan, &options, &executable, &later), GR_ERR_DEVICE_LOST);
  /* Another handle finds the same, with the same cause. */
  struct gr_device *device = NULL;
  struct gr_device_options device_options = {.catalogue = mix_catalogue()};
  memset(&later, 0, sizeof later);
  ck_assert_int_eq(cuda->open(&bench.memory, &device_options, &device, &later), GR_ERR_DEVICE_LOST);
  ck_assert_ptr_nonnull(strstr(later.message, error.message));
  ck_assert_str_eq(later.backend_code, "cudaErrorIllegalAddress");
  bench_unbuild(&bench);
  cuda->close(bench.device);
  bench.device = NULL;
  bench_release(&bench);
}
END_TEST

/* The only node that does anything is known even in a graph. */
START_TEST(a_lone_culprit_is_named) {
  struct bench bench;
  bench_text(&bench, "b:u:y b:r:x b>bar", modes[_i], 3);
  fake_cuda_fault_at_kernel("mix", 1, cudaErrorMisalignedAddress);
  struct gr_error error;
  run_and_fail(&bench, 0, NULL, GR_ERR_NODE, &error);
  ck_assert_str_eq(error.node, "b");
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_FAILED);
  bench_unbuild(&bench);
  cuda->close(bench.device);
  bench.device = NULL;
  bench_release(&bench);
}
END_TEST

/* Two graphs of one process: who finds the context broken by another does not blame its own nodes. */
START_TEST(the_others_nodes_are_not_blamed) {
  struct bench one, other;
  bench_text(&one, chain_text, modes[_i], 3);
  bench_init(&other);
  bench_plan(&other, graph_from_text(&other.memory, "f:w:x f>g g:r:x g:w:y"), GR_POLICY_LEVELS, 0);
  bench_open(&other);
  bench_build(&other, modes[_i]);
  mix_pipeline = one.pipeline;
  fake_cuda_fault_at_kernel("mix", 1, cudaErrorIllegalAddress);
  struct gr_error error, later;
  run_and_fail(&one, 0, NULL, GR_ERR_NODE, &error);
  if (_i == 1) {
    /* Here it is a transfer that finds out. */
    uint32_t word = 0;
    memset(&later, 0, sizeof later);
    ck_assert_int_eq(cuda->read(other.executable, 0, 0, &word, 4, &later), GR_ERR_DEVICE_LOST);
    ck_assert_ptr_nonnull(strstr(later.message, error.message));
  }
  run_and_fail(&other, 0, NULL, GR_ERR_DEVICE_LOST, &later);
  ck_assert_str_eq(later.node, "");
  ck_assert_ptr_nonnull(strstr(later.message, error.message));
  ck_assert(cuda->is_lost(other.device, NULL));
  struct bench *benches[] = {&one, &other};
  for (int i = 0; i < 2; i++) {
    bench_unbuild(benches[i]);
    cuda->close(benches[i]->device);
    benches[i]->device = NULL;
    bench_release(benches[i]);
  }
}
END_TEST

/* ---- hangs ---- */

/* Left on purpose: reachable from here, it does not count as lost. */
struct gr_executable *left;

/* What could not be freed is let go on, and the double ends without a complaint of a call that blocked. */
static void let_go(struct bench *bench) {
  left = bench->executable;
  uint64_t begun_ns = gr_clock_now_ns();
  cuda->destroy(bench->executable);
  cuda->close(bench->device);
  ck_assert_uint_lt(gr_clock_now_ns() - begun_ns, 1000000000);
  ck_assert_msg(fake_cuda_complaint_count() == 0, "complaint: %s", fake_cuda_complaint(0));
  bench->executable = NULL;
  bench->device = NULL;
}

START_TEST(a_hang_ends_in_a_timeout) {
  enum gr_mode mode = modes[_i];
  struct bench bench;
  bench_text(&bench, chain_text, mode, 3);
  fake_cuda_hang_kernel("mix");
  struct gr_error error, later = {0};
  double taken = run_and_fail(&bench, 200000000, NULL, GR_ERR_TIMEOUT, &error);
  ck_assert(taken >= 0.2 && taken < 2);
  if (mode == GR_MODE_SERIAL) {
    ck_assert_str_eq(error.node, "b");
    ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_TIMEOUT);
    ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
  } else if (mode == GR_MODE_STREAM) {
    ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SUSPECT);
    ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_NOT_RUN);
  } else {
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SUSPECT);
  }
  ck_assert(!cuda->is_lost(bench.device, NULL));
  uint32_t word = 0;
  struct gr_executable *executable = NULL;
  struct gr_build_options options = {.mode = mode};
  ck_assert_int_eq(cuda->launch(bench.executable, NULL, &later), GR_ERR_STATE);
  ck_assert_int_eq(cuda->wait(bench.executable, NULL, &later), GR_ERR_STATE);
  ck_assert_int_eq(cuda->read(bench.executable, 0, 0, &word, 4, &later), GR_ERR_STATE);
  ck_assert_int_eq(cuda->build(bench.device, bench.plan, &options, &executable, &later), GR_ERR_STATE);
  struct gr_device *device = NULL;
  struct gr_device_options device_options = {.catalogue = mix_catalogue()};
  ck_assert_int_eq(cuda->open(&bench.memory, &device_options, &device, &later), GR_ERR_STATE);
  let_go(&bench);
}
END_TEST

/* Left on purpose, likewise. */
struct gr_executable *left_beside;

/* Replays that nobody waited for, while something else hangs: they may still run, so they keep what they use. */
START_TEST(replays_in_flight_beside_a_hang) {
  struct bench one, other;
  bench_text(&one, chain_text, modes[_i], 3);
  bench_init(&other);
  bench_plan(&other, graph_from_text(&other.memory, "f:w:x f>g g:r:x g:u:y"), GR_POLICY_LEVELS, 0);
  bench_open(&other);
  bench_build(&other, GR_MODE_GRAPH);
  fake_cuda_hang_kernel("mix");
  struct gr_error error = {0};
  must(cuda->launch(other.executable, NULL, &error), &error);
  left_beside = other.executable;
  run_and_fail(&one, 50000000, NULL, GR_ERR_TIMEOUT, &error);
  uint64_t live = other.memory.live_count;
  cuda->destroy(other.executable);
  ck_assert_uint_eq(other.memory.live_count, live);
  cuda->close(other.device);
  let_go(&one);
}
END_TEST

/* What was broken off and has ended by then is freed after all. */
START_TEST(what_ended_after_all_is_freed) {
  struct bench bench;
  bench_text(&bench, chain_text, modes[_i], 3);
  fake_cuda_hang_kernel("mix");
  struct gr_error error;
  run_and_fail(&bench, 50000000, NULL, GR_ERR_TIMEOUT, &error);
  fake_cuda_hang_kernel(NULL);
  fake_cuda_release_hung();
  ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
  bench_unbuild(&bench);
  bench_build(&bench, modes[_i]);
  bench_run(&bench, 1);
  oracle_compare(&bench, 1, "after a hang that ended");
  bench_release(&bench);
}
END_TEST

static bool after_a_while(void *context) {
  static int asked;
  (void)context;
  return ++asked % 50 == 0;
}

START_TEST(a_hang_is_cancelled) {
  struct bench bench;
  bench_text(&bench, chain_text, modes[_i], 3);
  fake_cuda_hang_kernel("mix");
  struct gr_error error;
  ck_assert(run_and_fail(&bench, 0, after_a_while, GR_ERR_CANCELLED, &error) < 2);
  if (modes[_i] == GR_MODE_SERIAL) ck_assert_str_eq(error.node, "b");
  let_go(&bench);
}
END_TEST

/* A run of some replays, of which all but the last have ended when it is broken off. */
static enum gr_status break_off_in_the_last(struct bench *bench, uint32_t replays, bool is_cancelled,
                                            struct gr_error *error) {
  struct gr_wait_options options = {0};
  if (is_cancelled) options.cancelled = after_a_while;
  else options.deadline_ns = gr_clock_now_ns() + 100000000;
  for (uint32_t i = 1; i < replays; i++) must(cuda->launch(bench->executable, NULL, error), error);
  ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
  fake_cuda_hang_kernel("mix");
  enum gr_status status = cuda->launch(bench->executable, &options, error);
  return status == GR_OK ? cuda->wait(bench->executable, &options, error) : status;
}

/* Nodes that ran in an earlier replay of the run are ok after a cancellation, as on the host. */
START_TEST(nodes_that_ran_are_ok_when_cancelled) {
  static const char *const names[] = {"a", "b", "c", "e", "bar"};
  static const struct {
    uint32_t replays, known; /* known: as few fences tell, but for serial mode */
  } rows[] = {{1, 0}, {2, 1}, {130, 125}};
  enum gr_mode mode = modes[_i / 3];
  uint32_t replays = rows[_i % 3].replays, known = mode == GR_MODE_SERIAL ? replays - 1 : rows[_i % 3].known;
  struct bench bench;
  bench_text(&bench, chain_text, mode, 3);
  struct gr_error error = {0};
  bench_run(&bench, 3); /* another run */
  cuda->reset_times(bench.executable);
  ck_assert_int_eq(break_off_in_the_last(&bench, replays, true, &error), GR_ERR_CANCELLED);
  for (size_t i = 0; replays > 1 && i < sizeof names / sizeof names[0]; i++) {
    enum gr_node_state state = bench_state(&bench, names[i]);
    ck_assert_msg(state == GR_NODE_OK, "%s is %s", names[i], gr_node_state_name(state));
  }
  if (replays == 1) ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SUSPECT);
  if (replays == 1) ck_assert_int_eq(bench_state(&bench, "bar"), GR_NODE_NOT_RUN);
  if (replays > 1) ck_assert_int_eq(bench_state(&bench, "e2"), GR_NODE_NO_OP);
  struct gr_replay_times times;
  cuda->times(bench.executable, &times);
  ck_assert_uint_eq(times.replays, known);
  let_go(&bench);
}
END_TEST

/* In serial mode a failure, too, leaves what does not wait for it as the replay before left it. */
START_TEST(nodes_that_ran_before_a_failure) {
  struct bench bench;
  bench_text(&bench, chain_text, GR_MODE_SERIAL, 3);
  bench_run(&bench, 1);
  fake_cuda_fault_at_kernel("mix", 1, cudaErrorIllegalAddress);
  struct gr_error error;
  run_and_fail(&bench, 0, NULL, GR_ERR_NODE, &error);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_FAILED);
  ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
  ck_assert_int_eq(bench_state(&bench, "bar"), GR_NODE_SKIPPED);
  ck_assert_int_eq(bench_state(&bench, "e"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "e2"), GR_NODE_NO_OP);
  bench_unbuild(&bench);
  cuda->close(bench.device);
  bench.device = NULL;
  bench_release(&bench);
}
END_TEST

/* States are those of the replays since the times were reset. */
START_TEST(a_new_run_has_run_nothing) {
  struct bench bench;
  bench_text(&bench, chain_text, modes[_i], 3);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_NOT_RUN);
  bench_run(&bench, 2);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "bar"), GR_NODE_OK);
  cuda->reset_times(bench.executable);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_NOT_RUN);
  bench_run(&bench, 1);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
  bench_release(&bench);
}
END_TEST

/* After a timeout only those that surely are not to blame. */
START_TEST(nodes_that_ran_after_a_timeout) {
  struct bench bench;
  bench_text(&bench, chain_text, modes[_i], 3);
  struct gr_error error = {0};
  ck_assert_int_eq(break_off_in_the_last(&bench, 2, false, &error), GR_ERR_TIMEOUT);
  if (modes[_i] == GR_MODE_SERIAL) {
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_TIMEOUT);
    ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
  } else {
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SUSPECT);
    ck_assert_int_eq(bench_state(&bench, "c"), modes[_i] == GR_MODE_GRAPH ? GR_NODE_SUSPECT : GR_NODE_OK);
    ck_assert_ptr_nonnull(strstr(error.message, "after at least 1 of 2 replays"));
  }
  let_go(&bench);
}
END_TEST

/* A plain stream is broken off while a replay is issued whose fence is not recorded: an older one lies in its place. */
START_TEST(a_fence_to_come_counts_nothing) {
  struct bench bench;
  double_start(1);
  bench_init(&bench);
  struct graph_spec spec = {.pattern = GRAPH_CHAIN, .width = 1, .steps = 3000, .cell_elements = 1};
  bench_plan(&bench, graph_generate(&bench.memory, &spec), GR_POLICY_LEVELS, 0);
  bench_open(&bench);
  bench_build(&bench, GR_MODE_STREAM); /* with a fence behind every 21st replay */
  bench_run(&bench, 104);
  cuda->reset_times(bench.executable);
  fake_cuda_hang_kernel("mix");
  struct gr_error error;
  run_and_fail(&bench, 100000000, NULL, GR_ERR_TIMEOUT, &error);
  struct gr_replay_times times;
  cuda->times(bench.executable, &times);
  ck_assert_uint_eq(times.replays, 0);
  let_go(&bench);
}
END_TEST

/* A node's own timeout: known in serial mode, else it bounds the replay. */
START_TEST(a_nodes_timeout) {
  struct bench bench;
  double_start(3);
  bench_init(&bench);
  struct gr_pipeline *pipeline = graph_from_text(&bench.memory, "b:u:y b:r:x");
  bench_node(pipeline, "b")->timeout_ns = 150000000;
  bench_plan(&bench, pipeline, GR_POLICY_LEVELS, 0);
  bench_open(&bench);
  bench_build(&bench, modes[_i]);
  fake_cuda_hang_kernel("mix");
  struct gr_error error;
  double taken = run_and_fail(&bench, 0, NULL, GR_ERR_TIMEOUT, &error);
  ck_assert(taken >= 0.15 && taken < 1.5);
  ck_assert_str_eq(error.node, "b");
  ck_assert_str_eq(error.message, "node \"b\" took longer than its timeout of 0.150 s");
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_TIMEOUT);
  let_go(&bench);
}
END_TEST

/* Replays that queue behind a hang make no launch outlast the deadline. */
START_TEST(many_launches_behind_a_hang) {
  struct bench bench;
  bench_text(&bench, chain_text, modes[_i], 3);
  fake_cuda_hang_kernel("mix");
  uint64_t begun_ns = gr_clock_now_ns();
  struct gr_wait_options options = {.deadline_ns = begun_ns + 200000000};
  struct gr_error error = {0};
  enum gr_status status = GR_OK;
  for (int i = 0; i < 2000 && status == GR_OK; i++) status = cuda->launch(bench.executable, &options, &error);
  ck_assert_int_eq(status, GR_ERR_TIMEOUT);
  ck_assert_uint_lt(gr_clock_now_ns() - begun_ns, 2000000000);
  let_go(&bench);
}
END_TEST

/* A thousand calls that wait fill a queue of the device, and the next one would block: so few are issued ahead. */
START_TEST(streams_are_not_filled_far_ahead) {
  struct bench bench;
  double_start(1);
  bench_init(&bench);
  struct graph_spec spec = {.pattern = GRAPH_CHAIN, .width = 1, .steps = 3000, .cell_elements = 1};
  bench_plan(&bench, graph_generate(&bench.memory, &spec), GR_POLICY_LEVELS, 0);
  bench_open(&bench);
  bench_build(&bench, GR_MODE_STREAM);
  uint64_t before = fake_cuda_function_count("cudaLaunchKernelExC");
  fake_cuda_hang_kernel("mix");
  struct gr_error error;
  run_and_fail(&bench, 100000000, NULL, GR_ERR_TIMEOUT, &error);
  uint64_t issued = fake_cuda_function_count("cudaLaunchKernelExC") - before;
  ck_assert_uint_ge(issued, 100);
  ck_assert_uint_le(issued, 900);
  let_go(&bench);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("backend/cuda/wait");
  TCase *tcase = tcase_create("wait");
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, a_fault_is_told_as_it_is_known, 0, 3);
  tcase_add_loop_test(tcase, a_lone_culprit_is_named, 0, 3);
  tcase_add_loop_test(tcase, the_others_nodes_are_not_blamed, 0, 3);
  tcase_add_loop_test(tcase, a_hang_ends_in_a_timeout, 0, 3);
  tcase_add_loop_test(tcase, replays_in_flight_beside_a_hang, 0, 3);
  tcase_add_loop_test(tcase, what_ended_after_all_is_freed, 0, 3);
  tcase_add_loop_test(tcase, a_hang_is_cancelled, 0, 3);
  tcase_add_loop_test(tcase, nodes_that_ran_are_ok_when_cancelled, 0, 9);
  tcase_add_test(tcase, nodes_that_ran_before_a_failure);
  tcase_add_loop_test(tcase, a_new_run_has_run_nothing, 0, 3);
  tcase_add_loop_test(tcase, nodes_that_ran_after_a_timeout, 0, 3);
  tcase_add_test(tcase, a_fence_to_come_counts_nothing);
  tcase_add_loop_test(tcase, a_nodes_timeout, 0, 3);
  tcase_add_loop_test(tcase, many_launches_behind_a_hang, 0, 3);
  tcase_add_test(tcase, streams_are_not_filled_far_ahead);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Whatever the number of workers, the mode and the policy: the bytes are those of a plain loop in topological order.
 * And how runs end early. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/backend/host/support.h"

static const uint32_t worker_counts[] = {1, 2, 3, 8, 64};
enum { WORKER_COUNTS = sizeof worker_counts / sizeof worker_counts[0] };
#define MILLISECOND UINT64_C(1000000)

/* ---- same bytes ---- */

static void check_graph(struct graph_spec spec, enum gr_policy policy, uint32_t worker_count) {
  struct bench bench;
  bench_init(&bench);
  bench_plan(&bench, graph_generate(&bench.memory, &spec), policy, worker_count);
  unsigned char **expected = oracle_run(bench.plan, 3);
  for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
    char what[128];
    snprintf(what, sizeof what, "%s, seed %u, %s, %s, %u workers", graph_pattern_name(spec.pattern),
             (unsigned)spec.seed, gr_policy_name(policy), gr_mode_name((enum gr_mode)mode), worker_count);
    bench_build(&bench, (enum gr_mode)mode);
    bench_run(&bench, 3);
    oracle_compare(&bench, expected, what);
    bench_unbuild(&bench);
  }
  oracle_release(bench.plan, expected);
  bench_release(&bench);
}

START_TEST(patterns_give_the_bytes_of_topological_order) {
  for (int pattern = 0; pattern < GRAPH_PATTERN_COUNT; pattern++) {
    for (int policy = GR_POLICY_LEVELS; policy <= GR_POLICY_SERIAL; policy++) {
      for (uint32_t i = 0; i < WORKER_COUNTS; i++) {
        struct graph_spec spec = {.pattern = (enum graph_pattern)pattern, .width = 7, .steps = 9, .seed = 1};
        spec.cell_elements = 5;
        check_graph(spec, (enum gr_policy)policy, worker_counts[i]);
      }
    }
  }
}
END_TEST

START_TEST(random_graphs_give_the_bytes_of_topological_order) {
  for (uint32_t seed = 1; seed <= 40; seed++) {
    struct graph_spec spec = {.pattern = seed % 2 ? GRAPH_RANDOM : GRAPH_RANDOM_LAYERED, .seed = seed};
    spec.width = 1 + seed % 17;
    spec.steps = 1 + seed * 7 % 23;
    spec.radix = 1 + seed % 5;
    spec.cell_elements = 1 + seed % 9;
    check_graph(spec, GR_POLICY_LEVELS, worker_counts[seed % WORKER_COUNTS]);
  }
}
END_TEST

START_TEST(state_goes_from_replay_to_replay) {
  for (uint32_t i = 0; i < WORKER_COUNTS; i++) {
    struct bench bench;
    bench_text(&bench, "a:u:x b:u:y a>c b>c c:r:x c:u:y c:w:z c>d d:u:x d:r:z", GR_MODE_GRAPH, worker_counts[i]);
    for (uint32_t replays = 1; replays <= 400; replays += 133) {
      bench_unbuild(&bench);
      bench_build(&bench, GR_MODE_GRAPH);
      bench_run(&bench, replays);
      unsigned char **expected = oracle_run(bench.plan, replays);
      oracle_compare(&bench, expected, "replays");
      oracle_release(bench.plan, expected);
      struct gr_replay_times times;
      gr_backend_host.times(bench.executable, &times);
      ck_assert_uint_eq(times.replays, replays);
    }
    bench_release(&bench);
  }
}
END_TEST

/* More steps at once than a deque holds, so that the ring is used, over and over. */
START_TEST(wide_graphs_overflow_into_the_ring) {
  for (uint32_t i = 0; i < WORKER_COUNTS; i++) {
    struct graph_spec spec = {.pattern = GRAPH_FAN_OUT, .width = 1, .steps = 5000, .cell_elements = 1};
    check_graph(spec, GR_POLICY_LEVELS, worker_counts[i]);
  }
}
END_TEST

/* Each step starts only after its predecessors, seen from inside: a kernel that looks at its own marks. */
START_TEST(many_short_replays_keep_their_order) {
  struct bench bench;
  bench_text(&bench, "a:u:x a>b,c,d b:r:x b:w:p c:r:x c:w:q d:r:x d:w:r b,c,d>e e:r:p e:r:q e:r:r e:u:x", GR_MODE_GRAPH,
             4);
  bench_run(&bench, 20000);
  unsigned char **expected = oracle_run(bench.plan, 20000);
  oracle_compare(&bench, expected, "20000 replays");
  oracle_release(bench.plan, expected);
  bench_release(&bench);
}
END_TEST

/* ---- chains and fans of 200,000, in threads with small stacks ---- */

static void run_large(enum graph_pattern pattern) {
  struct bench bench;
  bench_init(&bench);
  struct graph_spec spec = {.pattern = pattern, .width = 1, .steps = 200000};
  bench_plan(&bench, graph_generate(&bench.memory, &spec), GR_POLICY_LEVELS, 1);
  enum gr_node_state *states = calloc(bench.plan->step_count, sizeof *states);
  ck_assert_ptr_nonnull(states);
  for (uint32_t worker_count = 1; worker_count <= 8; worker_count *= 2) {
    bench_open(&bench, worker_count);
    bench_build(&bench, GR_MODE_GRAPH);
    uint64_t begun_ns = gr_clock_now_ns();
    bench_run(&bench, 5);
    ck_assert_msg(gr_clock_now_ns() - begun_ns < 20000 * MILLISECOND, "%s is slow", graph_pattern_name(pattern));
    gr_backend_host.states(bench.executable, states);
    uint32_t done = 0;
    for (uint32_t i = 0; i < bench.plan->step_count; i++) done += states[i] == GR_NODE_OK;
    ck_assert_uint_eq(done, bench.plan->step_count);
    bench_unbuild(&bench);
  }
  free(states);
  bench_release(&bench);
}

static void *run_all_large(void *unused) {
  run_large(GRAPH_CHAIN);
  run_large(GRAPH_FAN_OUT);
  run_large(GRAPH_FAN_IN);
  run_large(GRAPH_TRIVIAL);
  return unused;
}

START_TEST(large_graphs_need_little_stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  ck_assert_int_eq(pthread_attr_init(&attributes), 0);
  ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  ck_assert_int_eq(pthread_create(&thread, &attributes, run_all_large, NULL), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_int_eq(pthread_attr_destroy(&attributes), 0);
}
END_TEST

/* ---- a kernel that a test holds back ---- */

static _Atomic bool gate_is_open;
static _Atomic uint32_t held_count;

static void hold_host(const struct gr_kernel *kernel, const struct gr_kernel_frame *frame) {
  atomic_fetch_add(&held_count, 1);
  while (!atomic_load(&gate_is_open)) sched_yield();
  graph_mix_host(kernel, frame);
}

/* Static: what still runs after everything was destroyed may touch nothing but this. */
static struct gr_kernel hold_kernel;
static struct gr_kernel_parameter hold_parameters[GR_KERNEL_ARGUMENT_MAX];

static void hold_node(struct gr_pipeline *pipeline, const char *name) {
  struct gr_node *node = bench_node(pipeline, name);
  ck_assert_int_eq(node->kind, GR_NODE_KERNEL);
  hold_kernel = *node->kernel.kernel;
  memcpy(hold_parameters, hold_kernel.parameters, hold_kernel.parameter_count * sizeof hold_parameters[0]);
  hold_kernel.parameters = hold_parameters;
  hold_kernel.host = hold_host;
  node->kernel.kernel = &hold_kernel;
}

static void wait_until_held(uint32_t count) {
  while (atomic_load(&held_count) < count) sched_yield();
}

/* "h" is held, with a timeout where it is not 0. */
static void bench_held(struct bench *bench, const char *text, uint64_t timeout_ns, enum gr_mode mode) {
  bench_init(bench);
  struct gr_pipeline *pipeline = graph_from_text(&bench->memory, text);
  hold_node(pipeline, "h");
  bench_node(pipeline, "h")->timeout_ns = timeout_ns;
  bench_plan(bench, pipeline, GR_POLICY_LEVELS, 3);
  bench_build(bench, mode);
}

static const char *const held_text = "a:u:x a>h h:u:x h>b b:u:x b>c c:r:x c:u:y d:u:z";

START_TEST(a_step_that_takes_too_long_is_named) {
  for (int mode = GR_MODE_GRAPH; mode <= GR_MODE_SERIAL; mode++) {
    struct bench bench;
    struct gr_error error = {0};
    atomic_store(&gate_is_open, false);
    bench_held(&bench, held_text, 20 * MILLISECOND, (enum gr_mode)mode);
    must(gr_backend_host.launch(bench.executable, NULL, &error), &error);
    ck_assert_int_eq(gr_backend_host.wait(bench.executable, NULL, &error), GR_ERR_TIMEOUT);
    ck_assert_str_eq(error.message, "node \"h\" took longer than its timeout of 0.020 s");
    ck_assert_str_eq(error.node, "h");
    ck_assert_uint_eq(error.line, graph_node(bench.pipeline, "h") + 1);
    ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
    ck_assert_int_eq(bench_state(&bench, "h"), GR_NODE_TIMEOUT);
    ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SKIPPED);
    ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
    error.message[0] = '\0';
    ck_assert_int_eq(gr_backend_host.launch(bench.executable, NULL, &error), GR_ERR_STATE);
    ck_assert_str_eq(error.message, "an earlier run was broken off, and a node of it may still be running");
    atomic_store(&gate_is_open, true);
    bench_release(&bench);
  }
}
END_TEST

/* Nobody looked while it ran: the worker itself knows. */
START_TEST(a_step_that_took_too_long_is_found_afterwards) {
  struct bench bench;
  struct gr_error error = {0};
  atomic_store(&gate_is_open, false);
  atomic_store(&held_count, 0);
  bench_held(&bench, held_text, MILLISECOND, GR_MODE_GRAPH);
  must(gr_backend_host.launch(bench.executable, NULL, &error), &error);
  wait_until_held(1);
  uint64_t until_ns = gr_clock_now_ns() + 2 * MILLISECOND;
  while (gr_clock_now_ns() < until_ns) sched_yield();
  atomic_store(&gate_is_open, true);
  ck_assert_int_eq(gr_backend_host.wait(bench.executable, NULL, &error), GR_ERR_TIMEOUT);
  ck_assert_str_eq(error.node, "h");
  ck_assert_int_eq(bench_state(&bench, "h"), GR_NODE_TIMEOUT);
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SKIPPED);
  bench_release(&bench);
}
END_TEST

START_TEST(a_timeout_that_is_kept_changes_nothing) {
  struct bench bench;
  atomic_store(&gate_is_open, true);
  bench_held(&bench, held_text, UINT64_MAX, GR_MODE_GRAPH);
  bench_run(&bench, 50);
  unsigned char **expected = oracle_run(bench.plan, 50);
  oracle_compare(&bench, expected, "kept timeout");
  oracle_release(bench.plan, expected);
  ck_assert_int_eq(bench_state(&bench, "h"), GR_NODE_OK);
  bench_release(&bench);
}
END_TEST

START_TEST(the_deadline_of_the_run_names_what_runs) {
  struct bench bench;
  struct gr_error error = {0};
  atomic_store(&gate_is_open, false);
  atomic_store(&held_count, 0);
  bench_held(&bench, held_text, 0, GR_MODE_GRAPH);
  must(gr_backend_host.launch(bench.executable, NULL, &error), &error);
  wait_until_held(1);
  while (bench_state(&bench, "d") != GR_NODE_OK) sched_yield();
  struct gr_wait_options options = {.deadline_ns = gr_clock_now_ns() + 20 * MILLISECOND};
  ck_assert_int_eq(gr_backend_host.wait(bench.executable, &options, &error), GR_ERR_TIMEOUT);
  ck_assert_uint_ge(gr_clock_now_ns(), options.deadline_ns);
  ck_assert_str_eq(error.message, "the time for the run was over with 3 of 5 nodes not finished; still running: \"h\"");
  ck_assert_str_eq(error.node, "h");
  ck_assert_int_eq(bench_state(&bench, "d"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "h"), GR_NODE_TIMEOUT);
  ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
  atomic_store(&gate_is_open, true);
  bench_release(&bench);
}
END_TEST

static bool count_down(void *context) {
  int *left = context;
  return (*left)-- == 0;
}

START_TEST(a_run_can_be_cancelled) {
  struct bench bench;
  struct gr_error error = {0};
  int left = 3;
  struct gr_wait_options options = {.cancelled = count_down, .context = &left};
  atomic_store(&gate_is_open, false);
  atomic_store(&held_count, 0);
  bench_held(&bench, held_text, 0, GR_MODE_SERIAL);
  must(gr_backend_host.launch(bench.executable, &options, &error), &error);
  wait_until_held(1);
  ck_assert_int_eq(gr_backend_host.wait(bench.executable, &options, &error), GR_ERR_CANCELLED);
  ck_assert_int_eq(left, -1);
  ck_assert_int_eq(bench_state(&bench, "h"), GR_NODE_NOT_RUN);
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_NOT_RUN);
  atomic_store(&gate_is_open, true);
  bench_release(&bench);
}
END_TEST

/* A step is what it was in the replay before, where a halt keeps it from running once more. */
START_TEST(what_has_run_before_has_run) {
  struct bench bench;
  struct gr_error error = {0};
  int left = 3;
  struct gr_wait_options options = {.cancelled = count_down, .context = &left};
  for (int is_reset = 0; is_reset < 2; is_reset++) {
    enum gr_node_state before = is_reset ? GR_NODE_NOT_RUN : GR_NODE_OK;
    left = 3;
    atomic_store(&gate_is_open, true);
    bench_held(&bench, held_text, 0, GR_MODE_SERIAL);
    bench_run(&bench, 3);
    atomic_store(&gate_is_open, false);
    atomic_store(&held_count, 0);
    if (is_reset) gr_backend_host.reset_times(bench.executable);
    ck_assert_int_eq(bench_state(&bench, "b"), before);
    must(gr_backend_host.launch(bench.executable, &options, &error), &error);
    wait_until_held(1);
    ck_assert_int_eq(gr_backend_host.wait(bench.executable, &options, &error), GR_ERR_CANCELLED);
    ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
    ck_assert_int_eq(bench_state(&bench, "h"), before);
    ck_assert_int_eq(bench_state(&bench, "b"), before);
    atomic_store(&gate_is_open, true);
    bench_release(&bench);
  }
}
END_TEST

/* But what follows from a step that was too slow is skipped, in whatever replay. */
START_TEST(a_late_step_of_a_later_replay) {
  struct bench bench;
  struct gr_error error = {0};
  atomic_store(&gate_is_open, true);
  bench_held(&bench, held_text, 20 * MILLISECOND, GR_MODE_GRAPH);
  bench_run(&bench, 3);
  atomic_store(&gate_is_open, false);
  must(gr_backend_host.launch(bench.executable, NULL, &error), &error);
  ck_assert_int_eq(gr_backend_host.wait(bench.executable, NULL, &error), GR_ERR_TIMEOUT);
  ck_assert_int_eq(bench_state(&bench, "a"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "d"), GR_NODE_OK);
  ck_assert_int_eq(bench_state(&bench, "h"), GR_NODE_TIMEOUT);
  ck_assert_int_eq(bench_state(&bench, "b"), GR_NODE_SKIPPED);
  ck_assert_int_eq(bench_state(&bench, "c"), GR_NODE_SKIPPED);
  atomic_store(&gate_is_open, true);
  bench_release(&bench);
}
END_TEST

/* The queue of replays is bounded; what is in the way then bounds the launch. */
START_TEST(a_launch_behind_a_stuck_replay_ends_too) {
  struct bench bench;
  struct gr_error error = {0};
  atomic_store(&gate_is_open, false);
  bench_held(&bench, held_text, 0, GR_MODE_GRAPH);
  struct gr_wait_options options = {.deadline_ns = gr_clock_now_ns() + 30 * MILLISECOND};
  enum gr_status status = GR_OK;
  uint32_t launches = 0;
  for (; status == GR_OK; launches++) {
    ck_assert_uint_lt(launches, 1000);
    status = gr_backend_host.launch(bench.executable, &options, &error);
  }
  ck_assert_int_eq(status, GR_ERR_TIMEOUT);
  ck_assert_str_eq(error.node, "h");
  atomic_store(&gate_is_open, true);
  bench_release(&bench);
}
END_TEST

/* ---- blocks that the test frees itself, after what nobody could free ---- */

enum { KEPT_MAX = 4096 };
static void *kept[KEPT_MAX];
static _Atomic uint32_t kept_count;

static void *keep_allocate(void *context, size_t size_bytes) {
  (void)context;
  void *address = malloc(size_bytes);
  kept[atomic_fetch_add(&kept_count, 1)] = address;
  return address;
}

static void *keep_resize(void *context, void *address, size_t size_bytes) {
  void *wider = keep_allocate(context, size_bytes);
  ck_assert_ptr_nonnull(wider);
  ck_assert_ptr_null(address); /* nothing here grows */
  return wider;
}

static void keep_release(void *context, void *address) {
  (void)context;
  for (uint32_t i = 0; i < kept_count; i++) {
    if (kept[i] != address) continue;
    kept[i] = NULL;
    free(address);
    return;
  }
  ck_abort_msg("released twice");
}

static void free_kept(void) {
  for (uint32_t i = 0; i < kept_count; i++) free(kept[i]);
  kept_count = 0;
}

/* A kernel that does not end must not keep `destroy` from returning, nor lose the memory that it writes to. */
START_TEST(what_cannot_be_ended_is_left_alone) {
  struct bench bench;
  struct gr_error error = {0};
  struct gr_memory memory;
  struct gr_memory_hooks hooks = {keep_allocate, keep_resize, keep_release, NULL};
  gr_memory_init(&memory, &hooks);
  atomic_store(&gate_is_open, false);
  atomic_store(&held_count, 0);
  bench_held(&bench, held_text, 0, GR_MODE_GRAPH);
  bench_unbuild(&bench);
  struct gr_device_options device_options = {.worker_count = 3};
  struct gr_device *device;
  must(gr_backend_host.open(&memory, &device_options, &device, &error), &error);
  struct gr_build_options build_options = {.mode = GR_MODE_GRAPH};
  struct gr_executable *executable;
  must(gr_backend_host.build(device, bench.plan, &build_options, &executable, &error), &error);
  must(gr_backend_host.launch(executable, NULL, &error), &error);
  wait_until_held(1);
  struct gr_wait_options options = {.deadline_ns = 1};
  ck_assert_int_eq(gr_backend_host.wait(executable, &options, &error), GR_ERR_TIMEOUT);
  uint64_t begun_ns = gr_clock_now_ns();
  gr_backend_host.destroy(executable);
  gr_backend_host.close(device);
  ck_assert_uint_lt(gr_clock_now_ns() - begun_ns, 5000 * MILLISECOND);
  ck_assert_uint_gt(memory.live_count, 0);
  bench_release(&bench); /* plan and pipeline go, too */
  atomic_store(&gate_is_open, true);
  /* Not to be known from outside when the last thread is gone: the blocks stay reachable and end with the process. */
}
END_TEST

START_TEST(a_destroyed_pool_needs_no_wait) {
  for (uint32_t i = 0; i < 50; i++) {
    struct bench bench;
    bench_text(&bench, "a:u:x a>b b:u:x b>c c:r:x c:u:y", GR_MODE_GRAPH, 4);
    struct gr_error error = {0};
    for (uint32_t k = 0; k < i % 5; k++) must(gr_backend_host.launch(bench.executable, NULL, &error), &error);
    bench_release(&bench);
  }
}
END_TEST

/* ---- fork ---- */

START_TEST(a_forked_child_is_refused) {
  struct bench bench;
  struct gr_error error = {0};
  bench_text(&bench, "a:u:x a>b b:u:x", GR_MODE_GRAPH, 2);
  bench_run(&bench, 3);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    const char *wanted = "the process was forked after the pipeline was built: its workers run in the parent only";
    bool is_refused = gr_backend_host.launch(bench.executable, NULL, &error) == GR_ERR_STATE &&
                      strcmp(error.message, wanted) == 0 &&
                      gr_backend_host.wait(bench.executable, NULL, &error) == GR_ERR_STATE;
    gr_backend_host.destroy(bench.executable);
    gr_backend_host.close(bench.device);
    _exit(is_refused ? 0 : 1);
  }
  int code;
  ck_assert_int_eq(waitpid(child, &code, 0), child);
  ck_assert(WIFEXITED(code) && WEXITSTATUS(code) == 0);
  bench_run(&bench, 3);
  bench_release(&bench);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      patterns_give_the_bytes_of_topological_order,
      random_graphs_give_the_bytes_of_topological_order,
      state_goes_from_replay_to_replay,
      wide_graphs_overflow_into_the_ring,
      many_short_replays_keep_their_order,
      large_graphs_need_little_stack,
      a_step_that_takes_too_long_is_named,
      a_step_that_took_too_long_is_found_afterwards,
      a_timeout_that_is_kept_changes_nothing,
      the_deadline_of_the_run_names_what_runs,
      a_run_can_be_cancelled,
      what_has_run_before_has_run,
      a_late_step_of_a_later_replay,
      a_launch_behind_a_stuck_replay_ends_too,
      what_cannot_be_ended_is_left_alone,
      a_destroyed_pool_needs_no_wait,
      a_forked_child_is_refused,
  };
  int code = run_suite("host_pool", tests, sizeof tests / sizeof tests[0], 280);
  free_kept(); /* only what a test of this very process left, where Check does not fork */
  return code;
}

/* When work runs in the double: in every order that streams, events and edges allow and in no other, so that a missing
 * edge shows under some seed and a right program is right under all. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda_control.h"
#include "tests/unit/fake_cuda/fixture.h"

enum { SEEDS = 60 };

static void set_up(void) {
  fixture_set_up();
  memset(fixture.mapped, 0, FIXTURE_BYTES);
}

static void tear_down(void) {
  fake_cuda_set_seed(0);
  fixture_tear_down();
  ck_assert_uint_eq(fake_cuda_live_count(), 0);
  ck_assert_msg(fake_cuda_complaint_count() == 0, "%s", fake_cuda_complaint(0));
}

/* A value through two streams, with or without the wait between them. What arrives. */
static int relay(bool waits) {
  fixture.pinned[0] = 5;
  fixture.pinned[1] = -1;
  expect(cudaSuccess, cudaMemset(fixture.device, 0, 4));
  expect(cudaSuccess, cudaDeviceSynchronize());
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.pinned, 4, cudaMemcpyHostToDevice, fixture.origin));
  if (waits) join(fixture.origin, fixture.side);
  expect(cudaSuccess, cudaMemcpyAsync(fixture.pinned + 1, fixture.device, 4, cudaMemcpyDeviceToHost, fixture.side));
  expect(cudaSuccess, cudaStreamSynchronize(fixture.side));
  int arrived = fixture.pinned[1];
  expect(cudaSuccess, cudaDeviceSynchronize());
  return arrived;
}

START_TEST(test_missing_wait_shows) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    ck_assert_int_eq(relay(true), 5);
    wrong += relay(false) != 5;
  }
  ck_assert_int_gt(wrong, SEEDS / 6);
  ck_assert_int_lt(wrong, SEEDS);
}
END_TEST

/* Reading before the stream was waited for. */
START_TEST(test_missing_synchronization_shows) {
  int early = 0;
  for (uint64_t seed = 0; seed <= SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    fixture.mapped[0] = 0;
    expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped, 1));
    early += fixture.mapped[0] == 0;
    expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
    ck_assert_int_eq(fixture.mapped[0], 1);
  }
  ck_assert_int_gt(early, SEEDS / 3);
  ck_assert_int_lt(early, SEEDS);
}
END_TEST

/* A source that changes before the copy was waited for. */
START_TEST(test_changed_source_shows) {
  int changed = 0;
  for (uint64_t seed = 0; seed <= SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    fixture.pinned[0] = 1;
    expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.pinned, 4, cudaMemcpyHostToDevice, fixture.origin));
    fixture.pinned[0] = 2;
    expect(cudaSuccess, cudaMemcpyAsync(fixture.pinned + 1, fixture.device, 4, cudaMemcpyDeviceToHost, fixture.origin));
    expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
    changed += fixture.pinned[1] == 2;
  }
  ck_assert_int_gt(changed, SEEDS / 3);
  ck_assert_int_lt(changed, SEEDS);
}
END_TEST

/* --- Any graph, any seed: no node runs before its predecessors --- */

enum { NODES = 30, EDGES_MAX = 3 };
struct order {
  int time_of[NODES];
  int clock;
};
static struct order order;

static void stamp(void *data) { order.time_of[(intptr_t)data] = ++order.clock; }

struct shape {
  int before[NODES][EDGES_MAX];
  int count[NODES];
};

static void make_shape(struct shape *shape, unsigned seed) {
  srand(seed);
  memset(shape, 0, sizeof *shape);
  for (int i = 1; i < NODES; i++) {
    int wanted = rand() % (EDGES_MAX + 1);
    for (int k = 0; k < wanted; k++) shape->before[i][shape->count[i]++] = rand() % i;
  }
}

static void capture_shape(const struct shape *shape, cudaGraphExec_t *exec) {
  cudaGraphNode_t nodes[NODES];
  cudaGraph_t graph = NULL;
  begin(fixture.origin);
  for (intptr_t i = 0; i < NODES; i++) {
    cudaGraphNode_t before[EDGES_MAX];
    for (int k = 0; k < shape->count[i]; k++) before[k] = nodes[shape->before[i][k]];
    expect(cudaSuccess, cudaStreamUpdateCaptureDependencies(fixture.origin, before, NULL, (size_t)shape->count[i],
                                                            cudaStreamSetCaptureDependencies));
    expect(cudaSuccess, cudaLaunchHostFunc(fixture.origin, stamp, (void *)i));
    ck_assert_uint_eq(dependencies_of(fixture.origin, &nodes[i]), 1);
  }
  expect(cudaSuccess, cudaStreamEndCapture(fixture.origin, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(exec, graph, 0));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}

START_TEST(test_graphs_keep_their_edges) {
  struct shape shape;
  cudaGraphExec_t exec = NULL;
  int inversions = 0;
  make_shape(&shape, (unsigned)_i);
  capture_shape(&shape, &exec);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    memset(&order, 0, sizeof order);
    expect(cudaSuccess, cudaGraphLaunch(exec, fixture.origin));
    while (cudaStreamQuery(fixture.origin) == cudaErrorNotReady) continue;
    expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
    ck_assert_int_eq(order.clock, NODES);
    for (int i = 0; i < NODES; i++) {
      for (int k = 0; k < shape.count[i]; k++) {
        ck_assert_int_lt(order.time_of[shape.before[i][k]], order.time_of[i]);
      }
      if (i > 0) inversions += order.time_of[i] < order.time_of[i - 1];
    }
  }
  /* And what has no edge between it does come in other orders. */
  ck_assert_int_gt(inversions, SEEDS);
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
}
END_TEST

/* The same without a graph: streams and events alone. */
START_TEST(test_streams_keep_their_waits) {
  struct shape shape;
  cudaStream_t const streams[] = {fixture.origin, fixture.side, fixture.third};
  make_shape(&shape, (unsigned)_i);
  cudaEvent_t events[NODES];
  for (int i = 0; i < NODES; i++) expect(cudaSuccess, cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    memset(&order, 0, sizeof order);
    for (intptr_t i = 0; i < NODES; i++) {
      cudaStream_t stream = streams[i % 3];
      for (int k = 0; k < shape.count[i]; k++) {
        expect(cudaSuccess, cudaStreamWaitEvent(stream, events[shape.before[i][k]], 0));
      }
      expect(cudaSuccess, cudaLaunchHostFunc(stream, stamp, (void *)i));
      expect(cudaSuccess, cudaEventRecord(events[i], stream));
    }
    expect(cudaSuccess, cudaEventSynchronize(events[NODES - 1]));
    ck_assert_int_gt(order.time_of[NODES - 1], 0);
    expect(cudaSuccess, cudaDeviceSynchronize());
    for (int i = 0; i < NODES; i++) {
      if (i >= 3) ck_assert_int_lt(order.time_of[i - 3], order.time_of[i]);
      for (int k = 0; k < shape.count[i]; k++) {
        ck_assert_int_lt(order.time_of[shape.before[i][k]], order.time_of[i]);
      }
    }
  }
  for (int i = 0; i < NODES; i++) expect(cudaSuccess, cudaEventDestroy(events[i]));
}
END_TEST

/* Launches of one executable come one after the other, on whatever streams. */
START_TEST(test_launches_do_not_overlap) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  begin(fixture.origin);
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device, fixture.pinned, 4, cudaMemcpyHostToDevice, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.pinned, fixture.device + 1, 4, cudaMemcpyDeviceToHost, fixture.origin));
  expect(cudaSuccess, cudaMemcpyAsync(fixture.device + 1, fixture.device, 4, cudaMemcpyDeviceToDevice, fixture.origin));
  expect(cudaSuccess, cudaStreamEndCapture(fixture.origin, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    /* Each launch swaps two values through a third place. */
    fixture.pinned[0] = 1;
    expect(cudaSuccess, cudaMemsetAsync(fixture.device, 0, 8, fixture.origin));
    expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
    for (int i = 0; i < 5; i++) {
      expect(cudaSuccess, cudaGraphLaunch(exec, i % 2 == 0 ? fixture.origin : fixture.side));
    }
    expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
    ck_assert_int_eq(fixture.pinned[0], 0);
  }
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

START_TEST(test_legacy_stream_orders_blocking_streams) {
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    memset(&order, 0, sizeof order);
    expect(cudaSuccess, cudaLaunchHostFunc(fixture.blocking, stamp, (void *)0));
    expect(cudaSuccess, cudaLaunchHostFunc(NULL, stamp, (void *)1));
    expect(cudaSuccess, cudaLaunchHostFunc(fixture.blocking, stamp, (void *)2));
    expect(cudaSuccess, cudaLaunchHostFunc(fixture.side, stamp, (void *)3));
    expect(cudaSuccess, cudaDeviceSynchronize());
    ck_assert_int_lt(order.time_of[0], order.time_of[1]);
    ck_assert_int_lt(order.time_of[1], order.time_of[2]);
    ck_assert_int_gt(order.time_of[3], 0);
  }
}
END_TEST

/* Events recorded inside a graph can be waited for outside, launch by launch. */
START_TEST(test_external_events) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  begin(fixture.origin);
  expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped, 9));
  expect(cudaSuccess, cudaEventRecordWithFlags(fixture.never, fixture.origin, cudaEventRecordExternal));
  expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped + 1, 9));
  expect(cudaSuccess, cudaStreamEndCapture(fixture.origin, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    fake_cuda_set_seed(seed);
    fixture.mapped[0] = 0;
    expect(cudaSuccess, cudaGraphLaunch(exec, fixture.origin));
    expect(cudaSuccess, cudaEventSynchronize(fixture.never));
    ck_assert_int_eq(fixture.mapped[0], 9);
    expect(cudaSuccess, cudaStreamSynchronize(fixture.origin));
  }
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

START_TEST(test_time_passes) {
  cudaEvent_t second = NULL;
  float milliseconds = -1;
  expect(cudaSuccess, cudaEventCreateWithFlags(&second, cudaEventDefault));
  expect(cudaSuccess, cudaEventRecord(fixture.timed, fixture.origin));
  for (int i = 0; i < 10; i++) expect(cudaSuccess, launch(fixture.origin));
  expect(cudaSuccess, cudaEventRecord(second, fixture.origin));
  expect(cudaErrorNotReady, cudaEventElapsedTime(&milliseconds, fixture.timed, second));
  expect(cudaSuccess, cudaEventSynchronize(second));
  expect(cudaSuccess, cudaEventElapsedTime(&milliseconds, fixture.timed, second));
  ck_assert(milliseconds > 0);
  expect(cudaSuccess, cudaEventDestroy(second));
}
END_TEST

/* Large graphs take no stack and no more than linear time. */
START_TEST(test_large_graph) {
  enum { COUNT = 20000 };
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  fake_cuda_set_seed((uint64_t)_i);
  begin(fixture.origin);
  for (int i = 0; i < COUNT; i++) expect(cudaSuccess, launch_store(fixture.origin, fixture.mapped, i));
  expect(cudaSuccess, cudaStreamEndCapture(fixture.origin, &graph));
  expect(cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
  expect(cudaSuccess, cudaGraphLaunch(exec, fixture.origin));
  while (cudaStreamQuery(fixture.origin) == cudaErrorNotReady) continue;
  ck_assert_int_eq(fixture.mapped[0], COUNT - 1);
  expect(cudaSuccess, cudaGraphExecDestroy(exec));
  expect(cudaSuccess, cudaGraphDestroy(graph));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("work");
  TCase *work = tcase_create("work");
  tcase_add_checked_fixture(work, set_up, tear_down);
  tcase_set_timeout(work, 120);
  tcase_add_test(work, test_missing_wait_shows);
  tcase_add_test(work, test_missing_synchronization_shows);
  tcase_add_test(work, test_changed_source_shows);
  tcase_add_loop_test(work, test_graphs_keep_their_edges, 0, 5);
  tcase_add_loop_test(work, test_streams_keep_their_waits, 0, 5);
  tcase_add_test(work, test_launches_do_not_overlap);
  tcase_add_test(work, test_legacy_stream_orders_blocking_streams);
  tcase_add_test(work, test_external_events);
  tcase_add_test(work, test_time_passes);
  tcase_add_loop_test(work, test_large_graph, 0, 4);
  suite_add_tcase(suite, work);
  return platform_run(suite);
}

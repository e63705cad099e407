/* Transitive reduction by bit sets and by search, against brute force, and under every budget. */
#include "engine/plan/plan_internal.h"
#include "tests/unit/plan/support.h"

enum { SMALL_MAX = 64 };

/* is_redundant for each of dag->predecessors: is there another path? */
static void reduce_by_force(const struct gr_dag *dag, uint8_t *is_redundant) {
  static bool reaches[SMALL_MAX][SMALL_MAX];
  uint32_t count = dag->node_count;
  memset(reaches, 0, sizeof reaches);
  for (uint32_t i = count; i-- > 0;) {
    uint32_t node = dag->order[i];
    for (uint64_t k = dag->successor_begin[node]; k < dag->successor_begin[node + 1]; k++) {
      uint32_t to = dag->successors[k];
      reaches[node][to] = true;
      for (uint32_t j = 0; j < count; j++) reaches[node][j] |= reaches[to][j];
    }
  }
  for (uint32_t node = 0; node < count; node++) {
    for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
      is_redundant[k] = 0;
      for (uint64_t j = dag->predecessor_begin[node]; j < dag->predecessor_begin[node + 1]; j++) {
        if (reaches[dag->predecessors[k]][dag->predecessors[j]]) is_redundant[k] = 1;
      }
    }
  }
}

static struct gr_dag *random_dag(struct gr_memory *memory, uint64_t seed, uint32_t node_count, uint32_t edge_count) {
  uint64_t state = seed;
  uint32_t *place = gr_memory_allocate_zeroed(memory, node_count, sizeof *place);
  uint32_t *edges = gr_memory_allocate_zeroed(memory, edge_count, 2 * sizeof *edges);
  struct gr_dag *dag = NULL;
  struct gr_error error = {0};
  for (uint32_t i = 0; i < node_count; i++) {
    uint32_t k = graph_random_below(&state, i + 1);
    place[i] = place[k];
    place[k] = i;
  }
  for (uint32_t i = 0; i < edge_count; i++) {
    uint32_t to = 1 + graph_random_below(&state, node_count - 1), from = graph_random_below(&state, to);
    edges[2 * i] = place[from];
    edges[2 * i + 1] = place[to];
  }
  ck_assert_msg(gr_dag_from_edges(memory, node_count, edges, edge_count, &dag, &error) == GR_OK, "%s", error.message);
  gr_memory_release(memory, place);
  gr_memory_release(memory, edges);
  return dag;
}

/* The budget at which bit sets are affordable for the first time is what they cost. */
static uint64_t cost_of_blocks(struct gr_memory *memory, const struct gr_dag *dag, uint8_t *is_redundant) {
  bool is_affordable = false;
  uint64_t budget = 0;
  while (!is_affordable) {
    memset(is_redundant, 0, dag->edge_count);
    ck_assert(gr_plan_reduce_by_blocks(memory, dag, budget++, is_redundant, &is_affordable));
  }
  return budget - 1;
}

static void check_budgets(struct gr_memory *memory, const struct gr_dag *dag, const uint8_t *want) {
  uint8_t *got = gr_memory_allocate_zeroed(memory, dag->edge_count, 1);
  uint64_t cost = cost_of_blocks(memory, dag, got);
  ck_assert_mem_eq(got, want, dag->edge_count);
  for (uint64_t budget = 0; budget < cost; budget += 1 + budget / 16) {
    bool is_complete = true;
    ck_assert(gr_plan_reduce(memory, dag, budget, got, &is_complete));
    for (uint64_t k = 0; k < dag->edge_count; k++) ck_assert_uint_le(got[k], want[k]);
    if (is_complete) ck_assert_mem_eq(got, want, dag->edge_count);
  }
  gr_memory_release(memory, got);
}

START_TEST(against_brute_force) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  uint64_t redundant = 0;
  for (uint64_t seed = 0; seed < 120; seed++) {
    uint32_t node_count = 2 + (uint32_t)(seed * 7 % (SMALL_MAX - 2));
    struct gr_dag *dag = random_dag(&memory, seed, node_count, node_count * (1 + (uint32_t)seed % 8));
    uint8_t *want = gr_memory_allocate_zeroed(&memory, dag->edge_count, 1);
    reduce_by_force(dag, want);
    for (uint64_t k = 0; k < dag->edge_count; k++) redundant += want[k];
    check_budgets(&memory, dag, want);
    gr_memory_release(&memory, want);
    gr_dag_destroy(dag);
  }
  ck_assert_uint_gt(redundant, 1000);
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

/* The largest budget with which bit sets are not affordable. */
static uint64_t too_little(struct gr_memory *memory, const struct gr_dag *dag, uint8_t *is_redundant) {
  uint64_t low = 0, high = UINT64_C(1) << 24;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    bool is_affordable = false;
    ck_assert(gr_plan_reduce_by_blocks(memory, dag, middle, is_redundant, &is_affordable));
    if (is_affordable) high = middle;
    else low = middle;
  }
  return low;
}

/* More sources than one row has bits, so that blocks meet; the search with what is just too little for them; and every
 * pair asked one by one. */
START_TEST(several_blocks) {
  struct gr_memory memory;
  gr_memory_init(&memory, NULL);
  for (uint64_t seed = 0; seed < 4; seed++) {
    struct gr_dag *dag = random_dag(&memory, seed, 1800, 1800 * (1 + 3 * (uint32_t)seed));
    uint8_t *by_blocks = gr_memory_allocate_zeroed(&memory, dag->edge_count, 1);
    uint8_t *by_search = gr_memory_allocate_zeroed(&memory, dag->edge_count, 1);
    bool is_affordable = false, is_complete = true;
    uint64_t budget = too_little(&memory, dag, by_search);
    ck_assert(gr_plan_reduce(&memory, dag, budget, by_search, &is_complete));
    ck_assert(is_complete || seed > 0); /* the sparse one is searched whole */
    memset(by_blocks, 0, dag->edge_count);
    ck_assert(gr_plan_reduce_by_blocks(&memory, dag, budget + 1, by_blocks, &is_affordable));
    ck_assert(is_affordable);
    struct gr_reach *reach = gr_reach_create(&memory, dag, UINT64_MAX);
    for (uint32_t node = 0; node < dag->node_count; node++) {
      for (uint64_t k = dag->predecessor_begin[node]; k < dag->predecessor_begin[node + 1]; k++) {
        bool is_redundant = false;
        for (uint64_t j = dag->predecessor_begin[node]; j < dag->predecessor_begin[node + 1] && !is_redundant; j++) {
          is_redundant = j != k && gr_reach_path(reach, dag->predecessors[k], dag->predecessors[j]) == GR_REACH_YES;
        }
        ck_assert_uint_eq(by_blocks[k], is_redundant);
        ck_assert(is_complete ? by_search[k] == by_blocks[k] : by_search[k] <= by_blocks[k]);
      }
    }
    gr_reach_destroy(reach);
    gr_memory_release(&memory, by_blocks);
    gr_memory_release(&memory, by_search);
    gr_dag_destroy(dag);
  }
  ck_assert_uint_eq(memory.live_count, 0);
}
END_TEST

START_TEST(an_empty_budget_says_so) {
  struct planned planned;
  planned_text(&planned, "a>b>c>d a>d a>c", GR_POLICY_CHAINS, 0);
  ck_assert_uint_eq(planned.plan->counts.redundant_edges, 2);
  ck_assert_uint_eq(planned.plan->counts.wait_minimum, 0);
  const struct gr_plan *plan = planned_plan(&planned, GR_POLICY_CHAINS, 0, 1);
  ck_assert(!plan->counts.reduction_is_complete);
  ck_assert_uint_le(plan->counts.redundant_edges, 1);
  ck_assert_uint_eq(plan->counts.emitted_edges, 5 - plan->counts.redundant_edges);
  ck_assert_uint_eq(plan->counts.wait_minimum, UINT64_MAX);
  planned_release(&planned);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {against_brute_force, several_blocks, an_empty_budget_says_so};
  return run_tests("reduction", tests, sizeof tests / sizeof *tests);
}

/* What a run was and how each node went: plain data, shown as a short table or as one strict JSON document. */
#ifndef GRAPHRUN_ENGINE_RUN_REPORT_H
#define GRAPHRUN_ENGINE_RUN_REPORT_H

#include "engine/backend/backend.h"

struct gr_report_expect {
  uint32_t buffer_index;
  bool is_met;
  uint64_t different_count;                                      /* elements that do not match */
  uint64_t first_index, worst_index;                             /* flat, row-major */
  struct gr_number first_got, first_want, worst_got, worst_want; /* exact, but for sums of integers past 64 bits */
  double largest_difference; /* over all elements, also when met; NaN where one is NaN */
};

struct gr_report {
  struct gr_memory *memory;
  const struct gr_plan *plan;                /* outlives the report; null when the run never got that far */
  const char *pipeline_file, *pipeline_name; /* owned */
  const char *backend_name;                  /* static */
  const char *backend_reason; /* owned; why it was chosen, such as "no usable GPU: no driver"; null: asked for */
  struct gr_device_info device;
  enum gr_mode mode;
  enum gr_status status;
  struct gr_error error; /* the cause, where status is not GR_OK */

  enum gr_node_state *states; /* [plan->step_count], by step; null before a build */
  struct gr_build_facts facts;
  struct gr_replay_times times;
  uint64_t repeat, warmup;
  uint64_t replays_done;
  uint64_t load_ns, check_ns, plan_ns, open_ns, build_ns, inputs_ns, warmup_ns, replays_ns, outputs_ns, total_ns;
  struct gr_report_expect *expects; /* [expect_count] */
  uint32_t expect_count;
  uint32_t saved_count;
};

void gr_report_init(struct gr_report *report, struct gr_memory *memory);
void gr_report_release(struct gr_report *report);

/* For people: a head line (pipeline, backend, device, mode), a short table of nodes (bounded: the first ones, and every
 * one that is not ok), expectations, saves, times. */
void gr_report_show(const struct gr_report *report, struct gr_text *out, bool color);
/* One JSON document with everything; also on failure. docs/format.md lists the members. */
void gr_report_show_json(const struct gr_report *report, struct gr_text *out);

#endif

/* What the files of this room share: the plan while it is made. */
#ifndef GRAPHRUN_ENGINE_PLAN_PLAN_INTERNAL_H
#define GRAPHRUN_ENGINE_PLAN_PLAN_INTERNAL_H

#include "engine/plan/plan.h"

#define GR_PLAN_NONE UINT32_MAX

enum { GR_PLAN_ALIGNMENT_BYTES = 256 }; /* of every buffer and scratch, whatever less a back end asks for */

/* Neighbours of each step, in one array; `begin` has one entry more than there are steps. */
struct gr_plan_links {
  uint64_t *begin;
  uint32_t *items;
};

struct gr_plan_draft {
  struct gr_memory *memory;
  struct gr_plan *plan;        /* its const arrays are filled in as they are made */
  struct gr_step *steps;       /* plan->steps */
  struct gr_plan_links before; /* emitted predecessors, ascending; in the plan's arena */
  struct gr_plan_links after;  /* the reverse, ascending; temporary; null under the serial policy */
  uint32_t *lane_previous;     /* the step before it on its lane, or GR_PLAN_NONE; temporary */
  struct gr_reach *reach;      /* over the dag's nodes; made when first needed */
  uint64_t budget;
  uint32_t lane_limit; /* 0: any number */
};

/* Numbers the steps and fills node, level and operation; width and level count. All `bool` functions here are false
 * only without memory. */
bool gr_plan_number_steps(struct gr_plan_draft *draft);

/* Marks the predecessor edges of `dag` that another path enforces: is_redundant[k] for dag->predecessors[k]. Walks at
 * most about `budget` edges; where that was not enough *is_complete is set to false, else it is left alone. */
bool gr_plan_reduce(struct gr_memory *memory, const struct gr_dag *dag, uint64_t budget, uint8_t *is_redundant,
                    bool *is_complete);

/* The same by bit sets, whole, if that costs no more than the budget; else only *is_affordable is set, to false. */
bool gr_plan_reduce_by_blocks(struct gr_memory *memory, const struct gr_dag *dag, uint64_t budget,
                              uint8_t *is_redundant, bool *is_affordable);
/* The cheap cuts: false for an edge that is surely needed. */
bool gr_plan_may_be_redundant(const struct gr_dag *dag, uint32_t from, uint32_t to);

/* Fills `before` and `after` with what the captured graph orders. */
bool gr_plan_emit(struct gr_plan_draft *draft);

/* Fills the lanes, by policy. */
bool gr_plan_lanes_by_level(struct gr_plan_draft *draft);
bool gr_plan_lanes_by_chain(struct gr_plan_draft *draft); /* and wait_minimum */

/* Is the order of two steps surely the dag's? False also where the search ran out of budget. */
bool gr_plan_need_reach(struct gr_plan_draft *draft);
bool gr_plan_is_ordered(const struct gr_plan_draft *draft, uint32_t from_step, uint32_t to_step);

/* Fills lane_order_is_emitted, is_recorded, waits, sinks and the counts that go with them. */
bool gr_plan_join_lanes(struct gr_plan_draft *draft);

/* Lays out memory. GR_ERR_INVALID, GR_ERR_NO_DEVICE, GR_ERR_NOT_SUPPORTED, GR_ERR_NO_MEMORY. */
enum gr_status gr_plan_lay_out(struct gr_plan_draft *draft, const struct gr_limits *limits, struct gr_error *error);

enum gr_status gr_plan_no_memory(struct gr_error *error);

/* The second half of gr_plan_verify, for a plan whose fields fit each other. */
enum gr_status gr_plan_verify_order(struct gr_memory *memory, const struct gr_plan *plan, struct gr_error *error);

/* ---- what both ways of showing a plan need ---- */

/* "copy", "fill", "kernel", "empty"; a static string. */
const char *gr_plan_operation_name(uint8_t operation);

/* What a plan does not hold since only people ask for it. */
struct gr_plan_reasons {
  uint8_t *is_declared;    /* [waits]: the node's `after` has the one that it waits for */
  uint32_t *lane_previous; /* [steps]: where lane order orders what the dag does not, the lane's previous step; else
                              GR_PLAN_NONE */
};
bool gr_plan_find_reasons(const struct gr_plan *plan, struct gr_memory *memory, struct gr_plan_reasons *reasons);
void gr_plan_release_reasons(struct gr_memory *memory, struct gr_plan_reasons *reasons);
/* Appends why there is that wait: `after`, and the first bytes that both touch. */
void gr_plan_append_reason(const struct gr_plan *plan, const struct gr_plan_reasons *reasons, uint64_t wait_index,
                           struct gr_text *out);

#endif

#include <inttypes.h>

#include "engine/dag/dag_internal.h"

void gr_dag_show(const struct gr_dag *dag, const struct gr_pipeline *pipeline, struct gr_text *out) {
  gr_text_append_format(out, "dag: %" PRIu32 " nodes, %" PRIu64 " edges (%" PRIu64 " declared), %" PRIu32 " levels\n",
                        dag->node_count, dag->edge_count, dag->declared_edge_count, dag->level_count);
  for (uint32_t i = 0; i < dag->node_count; i++) {
    gr_text_append_format(out, "  level %" PRIu32 "  ", dag->level[i]);
    gr_pipeline_append_name(out, pipeline->nodes[i].name);
    for (uint64_t k = dag->successor_begin[i]; k < dag->successor_begin[i + 1]; k++) {
      gr_text_append_text(out, k == dag->successor_begin[i] ? " -> " : ", ");
      gr_pipeline_append_name(out, pipeline->nodes[dag->successors[k]].name);
    }
    gr_text_append_text(out, "\n");
  }
}

/* Inside a quoted label Graphviz knows \" and escapes such as \n and \N, and it replaces &name; as HTML does. */
static void append_label(struct gr_text *out, const char *text) {
  for (const char *at = text; *at; at++) {
    switch (*at) {
      case '"':
        gr_text_append_text(out, "\\\"");
        break;
      case '\\':
        gr_text_append_text(out, "\\\\");
        break;
      case '&':
        gr_text_append_text(out, "&amp;");
        break;
      case '\n':
        gr_text_append_text(out, "\\n");
        break;
      default:
        gr_text_append(out, at, 1);
    }
  }
}

/* What it does: a kernel's name, or the kind. */
static const char *work_of(const struct gr_node *node) {
  if (node->kind == GR_NODE_KERNEL) return node->kernel.kernel->name;
  if (node->kind == GR_NODE_LAUNCH) return node->launch.kernel->name;
  return gr_node_kind_name((enum gr_node_kind)node->kind);
}

static void append_dot_node(struct gr_text *out, const struct gr_node *node, uint32_t index) {
  static const char *const shapes[] = {"cds",     "note", "box",
                                       "diamond", "box",  "ellipse"}; /* by enum gr_node_kind; none is a record */
  gr_text_append_format(out, "  n%" PRIu32 " [shape=%s%s, label=\"", index, shapes[node->kind],
                        node->is_no_op ? ", style=dashed" : "");
  append_label(out, node->name);
  gr_text_append_text(out, "\\n");
  append_label(out, work_of(node));
  gr_text_append_text(out, "\"];\n");
}

void gr_dag_show_dot(const struct gr_dag *dag, const struct gr_pipeline *pipeline, struct gr_text *out) {
  gr_text_append_text(out, "digraph pipeline {\n  label=\"");
  append_label(out, pipeline->name);
  gr_text_append_text(out, "\";\n  node [fontname=\"sans-serif\"];\n");
  for (uint32_t i = 0; i < dag->node_count; i++) append_dot_node(out, &pipeline->nodes[i], i);
  for (uint32_t i = 0; i < dag->node_count; i++) {
    for (uint64_t k = dag->successor_begin[i]; k < dag->successor_begin[i + 1]; k++) {
      gr_text_append_format(out, "  n%" PRIu32 " -> n%" PRIu32 ";\n", i, dag->successors[k]);
    }
  }
  gr_text_append_text(out, "}\n");
}

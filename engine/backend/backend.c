#include "engine/backend/backend.h"

const char *gr_mode_name(enum gr_mode mode) {
  switch (mode) {
    case GR_MODE_GRAPH:
      return "graph";
    case GR_MODE_STREAM:
      return "stream";
    case GR_MODE_SERIAL:
      return "serial";
  }
  return "unknown";
}

const char *gr_node_state_name(enum gr_node_state state) {
  switch (state) {
    case GR_NODE_NOT_RUN:
      return "not_run";
    case GR_NODE_OK:
      return "ok";
    case GR_NODE_FAILED:
      return "failed";
    case GR_NODE_SUSPECT:
      return "suspect";
    case GR_NODE_TIMEOUT:
      return "timeout";
    case GR_NODE_SKIPPED:
      return "skipped";
    case GR_NODE_NO_OP:
      return "no_op";
  }
  return "unknown";
}

enum gr_status gr_backend_verify(const struct gr_backend *backend, struct gr_error *error) {
  const struct {
    const char *name;
    bool is_there;
  } members[] = {
      {"name", backend->name != NULL},
      {"probe", backend->probe != NULL},
      {"describe", backend->describe != NULL},
      {"open", backend->open != NULL},
      {"close", backend->close != NULL},
      {"limits", backend->limits != NULL},
      {"build", backend->build != NULL},
      {"destroy", backend->destroy != NULL},
      {"write", backend->write != NULL},
      {"read", backend->read != NULL},
      {"address", backend->address != NULL},
      {"launch", backend->launch != NULL},
      {"wait", backend->wait != NULL},
      {"states", backend->states != NULL},
      {"facts", backend->facts != NULL},
      {"times", backend->times != NULL},
      {"reset_times", backend->reset_times != NULL},
  };
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    if (members[i].is_there) continue;
    return gr_error_set(error, GR_ERR_INTERNAL, "the backend %s lacks the member '%s'",
                        backend->name ? backend->name : "without a name", members[i].name);
  }
  return GR_OK;
}

bool gr_backend_is_lost(const struct gr_backend *backend, const struct gr_device *device, struct gr_error *cause) {
  return backend->is_lost && backend->is_lost(device, cause);
}

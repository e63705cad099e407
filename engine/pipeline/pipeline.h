/* A pipeline with types: names resolved to indexes, expressions evaluated, defaults filled in, sizes in bytes. Made
 * once by gr_pipeline_read from a document, then only read.
 *
 * Invariants: every index is in range; every size and offset fits 63 bits; every reference lies inside its buffer;
 * every copy and fill is a box of at most three dimensions; every kernel call has passed the kernel's own check; no
 * node overlaps its own inputs in a way that the kind forbids. */
#ifndef GRAPHRUN_ENGINE_PIPELINE_PIPELINE_H
#define GRAPHRUN_ENGINE_PIPELINE_PIPELINE_H

#include "engine/base/sources.h"
#include "engine/base/types.h"
#include "engine/document/document.h"
#include "engine/kernel.h"

/* "device", "pinned", …; a static string. */
const char *gr_place_name(enum gr_place place);

enum gr_init_kind {
  GR_INIT_NONE, /* undefined bytes */
  GR_INIT_ZEROS,
  GR_INIT_FILL,
  GR_INIT_IOTA,
  GR_INIT_RANDOM,
  GR_INIT_VALUES,
  GR_INIT_LOAD,
};

/* A number in the type that its buffer has: the element's bytes, little-endian, in the low gr_type_size bytes. */
struct gr_element {
  uint64_t bits;
};

/* A scalar before it is given a type: an integer (with the sign apart, so that all of i64 and u64 fit) or a real. */
struct gr_number {
  bool is_real;
  bool is_negative;   /* integers */
  uint64_t magnitude; /* integers */
  double real;        /* reals */
};

struct gr_init {
  enum gr_init_kind kind;
  struct gr_mark mark;
  struct gr_element value;      /* FILL */
  struct gr_number start, step; /* IOTA: element i is start + i*step: integers exactly and checked to fit the type,
                                   floats in f64 and then rounded */
  uint64_t seed;                /* RANDOM: see gr_random_* in engine/run */
  struct gr_number low, high;
  const unsigned char *values; /* VALUES: size_bytes of the buffer, already in its type */
  const char *path;            /* LOAD: as in the file; gr_pipeline_path makes it usable */
};

enum gr_expect_kind {
  GR_EXPECT_NONE,
  GR_EXPECT_LOAD,
  GR_EXPECT_EQUALS,
  GR_EXPECT_SUM,
};

struct gr_expect {
  enum gr_expect_kind kind;
  struct gr_mark mark;
  const char *path;       /* LOAD */
  struct gr_number value; /* EQUALS (representable in the type, or a real that is compared as f64), SUM */
  double rtol;
  double atol;
};

struct gr_buffer {
  const char *name; /* terminated, valid UTF-8, 1 to 256 bytes */
  struct gr_mark mark;
  enum gr_type type;
  enum gr_place place;
  uint32_t device;
  uint32_t rank;
  const uint64_t *shape; /* [rank] */
  uint64_t element_count;
  uint64_t size_bytes;
  const struct gr_init *init;     /* null: undefined bytes */
  const struct gr_expect *expect; /* null: none */
  const char *save;               /* null: none; as in the file */
  struct gr_mark save_mark;
};

/* A buffer or a slice of one. */
struct gr_reference {
  uint32_t buffer_index;
  uint32_t rank;           /* the buffer's */
  const uint64_t *starts;  /* [rank]; null for a whole buffer: all 0 */
  const uint64_t *extents; /* [rank]; the buffer's shape for a whole buffer */
  uint64_t element_count;
  uint64_t offset_bytes; /* of the first element */
  bool is_contiguous;    /* the elements lie side by side (also when there are none) */
  struct gr_mark mark;
};

/* ---- kernels of the user's own, and functions on the CPU ---- */

/* A function on the CPU: of a shared object, or one that the program registered. */
struct gr_function {
  const char *library;        /* usable as it is, see gr_declared_kernel.source; null: the program's own */
  const char *entry;          /* the symbol, or the name that it was registered by */
  gr_host_function *function; /* null where the library is to be opened */
  void *context;
  struct gr_mark mark;
};

enum gr_source_kind {
  GR_SOURCE_NONE, /* no file: nothing for the CUDA back end, or a handle of the program's */
  GR_SOURCE_CU,
  GR_SOURCE_PTX,
  GR_SOURCE_CUBIN,
  GR_SOURCE_FATBIN,
};

/* A kernel that the file declares in `kernels:`, or that the program registered. */
struct gr_declared_kernel {
  const char *name;
  struct gr_mark mark;
  const struct gr_declared_parameter *parameters; /* in the order of the kernel's own */
  uint32_t parameter_count;
  const char *entry; /* the symbol in the module; never null */
  enum gr_source_kind source_kind;
  const char *source; /* behind the folder of the file that names it: usable from the working folder; null: none */
  struct gr_view source_text; /* of a .cu: its bytes as the check saw them, which outlive the pipeline (gr_sources) */
  struct gr_mark source_mark;
  const char *const *options; /* of the compiler, [option_count] */
  uint32_t option_count;
  const struct gr_function *host; /* null: none; the host back end then compiles a .cu for the CPU */
  enum gr_cuda_handle_kind handle_kind;
  const void *handle;
};

/* How a declared kernel is launched. Every number has passed CUDA's limits; what depends on the kernel or on the device
 * (threads a block that its registers allow, shared memory, clusters) is for `build`. */
struct gr_launch {
  struct gr_mark mark;
  bool is_by_elements; /* grid follows from `elements` and block: ceil_div(elements, block[0]) */
  bool is_block_auto;  /* the device chooses the block; block[0] is then 256, for who has no device */
  uint64_t elements;   /* 0: the node is a no_op */
  uint32_t grid[3];    /* set also where it follows from elements (for block[0]) */
  uint32_t block[3];
  uint32_t cluster[3]; /* all 0: none */
  uint64_t shared_bytes;
  bool is_cooperative;
};

enum gr_node_kind {
  GR_NODE_COPY,
  GR_NODE_FILL,
  GR_NODE_KERNEL,
  GR_NODE_BARRIER,
  GR_NODE_LAUNCH, /* a declared kernel; shown as "kernel" */
  GR_NODE_HOST,
};
/* "copy", …; a static string. */
const char *gr_node_kind_name(enum gr_node_kind kind);

/* One argument of a kernel node: a buffer or a scalar. */
struct gr_argument {
  uint32_t reference_index; /* into `references`; UINT32_MAX for a scalar */
  struct gr_mark mark;
  union {
    double real;
    int64_t integer;
    struct gr_element element; /* of a declared kernel or a host node: in the parameter's type */
  };
};

/* What a node does to one buffer, for the race check and for `order: data`. */
struct gr_node_access {
  uint32_t reference_index;
  uint32_t access; /* enum gr_access */
};

struct gr_node {
  const char *name; /* terminated, valid UTF-8, 1 to 256 bytes */
  struct gr_mark mark;
  uint8_t kind;          /* enum gr_node_kind */
  bool is_no_op;         /* nothing to do: a barrier never is; it still keeps its place in the order */
  uint32_t first_after;  /* into `after` */
  uint32_t after_count;  /* distinct, in file order */
  uint32_t first_access; /* into `accesses`: buffers only, no_op nodes have none */
  uint32_t access_count;
  uint64_t timeout_ns; /* 0: none */
  const char *note;    /* null: none */
  union {
    struct {
      uint32_t from; /* into `references` */
      uint32_t to;
    } copy;
    struct {
      uint32_t to;
      struct gr_element value;
    } fill;
    struct {
      const struct gr_kernel *kernel;
      uint32_t first_argument; /* into `arguments`; kernel->parameter_count of them, in the kernel's order */
      uint64_t scratch_bytes;  /* device scratch */
    } kernel;
    struct {
      const struct gr_declared_kernel *kernel;
      const struct gr_launch *launch;
      uint32_t first_argument; /* kernel->parameter_count of them */
    } launch;
    struct {
      const struct gr_function *function;
      const struct gr_declared_parameter *parameters; /* declared, or made of the values */
      uint32_t parameter_count;
      uint32_t first_argument; /* parameter_count of them */
    } host;
  };
};

struct gr_after {
  uint32_t node_index; /* the predecessor */
  struct gr_mark mark;
};

enum gr_order { GR_ORDER_EXPLICIT, GR_ORDER_DATA };
enum gr_races { GR_RACES_ERROR, GR_RACES_WARN, GR_RACES_ALLOW };
enum gr_policy { GR_POLICY_LEVELS, GR_POLICY_CHAINS, GR_POLICY_TUNED, GR_POLICY_SERIAL };
const char *gr_policy_name(enum gr_policy policy);

struct gr_param {
  const char *name;
  struct gr_number value; /* after overrides */
  struct gr_mark mark;
};

struct gr_pipeline {
  struct gr_arena arena;
  bool is_flawed;     /* see gr_pipeline_read */
  const char *file;   /* shown in messages */
  const char *folder; /* relative paths start here; ends in '/' or is empty for the working folder */
  const char *name;
  enum gr_order order;
  enum gr_races races;
  enum gr_policy policy;
  uint32_t stream_max; /* 0: no cap */

  const struct gr_param *params;
  uint32_t param_count;
  const struct gr_buffer *buffers;
  uint32_t buffer_count;
  const struct gr_node *nodes; /* in file order */
  uint32_t node_count;
  const struct gr_after *after;
  const struct gr_reference *references;
  const struct gr_node_access *accesses;
  const struct gr_argument *arguments;
  const struct gr_declared_kernel *kernels; /* of the file's own, in file order */
  uint32_t kernel_count;
};

/* A param set from outside the file (`--set`, gr_graph_set_*). */
struct gr_override {
  const char *name;
  struct gr_number value;
};

struct gr_pipeline_options {
  const char *folder;                   /* see struct gr_pipeline; copied */
  const struct gr_catalogue *catalogue; /* outlives the pipeline */
  const struct gr_override *overrides;  /* a name that the file does not declare is an error with 'did you mean' */
  uint32_t override_count;
  struct gr_sources *sources; /* where other files come from and stay; null: files may not name any */
  /* What the program registered; outlives the pipeline. A file's own kernel of the name comes first, then these, then
   * the catalogue. */
  const struct gr_declared_kernel *registered;
  uint32_t registered_count;
};

/* Reads a document. Every problem of the file goes to `diagnostics` in one pass; errors give GR_ERR_INVALID (or
 * GR_ERR_NOT_SUPPORTED when all errors are of that kind, GR_ERR_NO_MEMORY), and so does a flawed document, whose errors
 * have been said. Where nodes could be read all the same, *pipeline is then a flawed one, for gr_dag_check_cycles and
 * gr_pipeline_destroy only: it holds each node's name and mark, and of its edges and accesses those that are right.
 * Otherwise, and without memory, *pipeline stays untouched. The pipeline keeps no pointer into the document. Linear in
 * items (n log n where names are looked up). */
enum gr_status gr_pipeline_read(struct gr_memory *memory, const struct gr_document *document,
                                const struct gr_pipeline_options *options, struct gr_diagnostics *diagnostics,
                                struct gr_pipeline **pipeline);
void gr_pipeline_destroy(struct gr_pipeline *pipeline);

/* Parses a number as the format spells it (for `--set`): integers with 0x and Ki/Mi/Gi, floats, .inf, .nan. False if it
 * is none. No expressions. */
bool gr_number_parse(struct gr_view text, struct gr_number *number);
/* The element of that type with exactly this value; floats round to nearest even and must not overflow to infinity from
 * a finite value; integers must fit and have no fraction. False where it does not fit. */
bool gr_number_to_element(struct gr_number number, enum gr_type type, struct gr_element *element);
double gr_number_to_double(struct gr_number number);
/* An element's value as f64 (64-bit integers round). */
double gr_element_to_double(enum gr_type type, const void *bytes);

/* A path of the file made usable: absolute ones as they are, others behind `folder`. Caller releases with
 * gr_memory_release; null without memory. */
char *gr_pipeline_path(const struct gr_pipeline *pipeline, struct gr_memory *memory, const char *path);

/* A copy or fill as a box of bytes of up to three dimensions. `width` bytes lie side by side, `height` rows are `pitch`
 * apart, `depth` planes are `plane` apart (a plane is a multiple of the pitch where depth > 1). Dimensions that are not
 * needed are 1 with pitch and plane set as if the box were packed. */
struct gr_box {
  uint32_t buffer_index;
  uint64_t offset_bytes;
  uint64_t pitch_bytes;
  uint64_t plane_bytes;
};
struct gr_copy_box {
  struct gr_box from;
  struct gr_box to;
  uint64_t width_bytes; /* 0 for a no_op */
  uint64_t height;
  uint64_t depth;
};
struct gr_fill_box {
  struct gr_box to;
  uint64_t width_bytes;
  uint64_t height;
  uint64_t depth;
  uint32_t element_bytes;
  uint64_t bits;
};
/* The boxes of one node of that kind; folded to as few dimensions as possible. */
void gr_pipeline_copy_box(const struct gr_pipeline *pipeline, uint32_t node_index, struct gr_copy_box *box);
void gr_pipeline_fill_box(const struct gr_pipeline *pipeline, uint32_t node_index, struct gr_fill_box *box);

/* Do the two share an element of one buffer? */
bool gr_reference_overlaps(const struct gr_reference *a, const struct gr_reference *b);

/* A name as it is, or in quotes where it could be taken for something else; for what is shown as text. */
void gr_pipeline_append_name(struct gr_text *out, const char *name);
/* The typed pipeline as stable text, for --dump=pipeline and goldens. */
void gr_pipeline_show(const struct gr_pipeline *pipeline, struct gr_text *out);

#endif

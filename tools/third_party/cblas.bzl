"""A CBLAS of the system: its header at build time, the library itself at run time.

Why not linked: the static OpenBLAS adds 25 MB to each program that holds it,
starts a thread a core before main, also for `graphrun check`, and a linked
shared one keeps the program from starting where it is not installed. So the
library is opened by name when the first gemm needs it, as cuBLAS is; where it
cannot be opened the built-in kernel does the work. Whoever opens it sets its
threads to one (`openblas_set_num_threads`): the engine's workers are the
parallelism, and the sums must not depend on how many cores there are.

What depends on @cblas//:cblas sees GR_HAVE_CBLAS, <cblas.h>, and in
<cblas_names.h> GR_CBLAS_NAMES: string literals, best first.
"""

load(":search.bzl", "find", "include_dirs", "library_dirs", "machine")

_NAMES = ["libopenblas.so.0", "libopenblasp.so.0", "libcblas.so.3", "libblas.so.3"]

_FOUND = """
cc_library(
    name = "cblas",
    hdrs = glob(["include/*.h"]),
    defines = ["GR_HAVE_CBLAS=1"],
    includes = ["include"],
    linkopts = ["-ldl"],
    visibility = ["//visibility:public"],
)
"""

_ABSENT = """
cc_library(
    name = "cblas",
    visibility = ["//visibility:public"],
)
"""

def _cblas_library_impl(ctx):
    includes = []
    for dir in include_dirs(ctx):
        includes += [dir + sub for sub in ["", "/openblas", "/openblas-pthread", "/openblas-serial"]]
    header = find(ctx, includes, ["cblas.h"])
    libraries = library_dirs(ctx)
    for sub in ["/openblas-pthread", "/openblas-serial"]:
        libraries.append("/usr/lib/%s-linux-gnu%s" % (machine(ctx), sub))
    names = [name for name in _NAMES if find(ctx, libraries, [name])]
    found = header != None and len(names) > 0
    ctx.file("config.bzl", "CBLAS_FOUND = %s\n" % found, executable = False)
    ctx.file("BUILD", _FOUND if found else _ABSENT, executable = False)
    if not found:
        return
    ctx.symlink(header, "include/cblas.h")

    # OpenBLAS's header includes this one from beside itself.
    config = ctx.path(str(header.dirname) + "/openblas_config.h")
    if config.exists:
        ctx.symlink(config, "include/openblas_config.h")
    ctx.file(
        "include/cblas_names.h",
        "#define GR_CBLAS_NAMES %s\n" % ", ".join(['"%s"' % name for name in names]),
        executable = False,
    )

cblas_library = repository_rule(
    implementation = _cblas_library_impl,
    local = True,
)

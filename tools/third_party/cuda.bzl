"""The CUDA toolkit, where there is one.

Looked for in $CUDA_PATH, then by nvcc on the PATH, then in /usr/local/cuda;
GRAPHRUN_NO_CUDA=1 hides it. What is found is a pair of headers and runtime of
the same version; an older one than the engine is written for counts as none,
and says so.
"""

load(":search.bzl", "library_dirs", "machine")

# Since 13.0 the capture functions carry edge data under their plain names.
_MIN_VERSION = 13000

_FOUND = """
exports_files(["version.txt"])

cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"]),
    # System headers: the warnings are for our code.
    includes = ["include"],
    visibility = ["//visibility:public"],
)

cc_library(
    name = "cudart",
    srcs = ["lib/libcudart_static.a"],
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"]),
    includes = ["include"],
    linkopts = [
        "-ldl",
        "-lrt",
        "-lpthread",
    ],
    visibility = ["//visibility:public"],
)
"""

_ABSENT = """
cc_library(
    name = "headers",
    visibility = ["//visibility:public"],
)

cc_library(
    name = "cudart",
    visibility = ["//visibility:public"],
)
"""

def _version(ctx, include):
    for line in ctx.read(include + "/cuda_runtime_api.h").splitlines():
        words = [word for word in line.split(" ") if word]
        if len(words) == 3 and words[:2] == ["#define", "CUDART_VERSION"]:
            return int(words[2])
    return 0

def _toolkit(ctx, root):
    """The parts of the toolkit under root as a struct, or None where one is missing."""
    nvcc = ctx.path(root + "/bin/nvcc")
    include = root + "/include"
    if not nvcc.exists or not ctx.path(include + "/cuda_runtime_api.h").exists:
        return None
    for dir in [root + "/lib64", root + "/lib", root + "/targets/%s-linux/lib" % machine(ctx)] + library_dirs(ctx):
        cudart = ctx.path(dir + "/libcudart_static.a")
        if cudart.exists:
            return struct(nvcc = str(nvcc), include = include, cudart = cudart, version = _version(ctx, include))
    return None

def _find(ctx):
    if ctx.os.environ.get("GRAPHRUN_NO_CUDA", "") not in ["", "0"]:
        return None
    roots = []
    if ctx.os.environ.get("CUDA_PATH", ""):
        roots.append(ctx.os.environ["CUDA_PATH"])
    nvcc = ctx.which("nvcc")
    if nvcc:
        # A link in /usr/bin leads to the toolkit it belongs to.
        roots.append(str(nvcc.realpath.dirname.dirname))
    roots.append("/usr/local/cuda")
    for root in roots:
        toolkit = _toolkit(ctx, root)
        if toolkit and toolkit.version >= _MIN_VERSION:
            return toolkit
        if toolkit:
            # buildifier: disable=print
            print("The CUDA toolkit in %s has version %d; %d or later is needed. Not used." % (root, toolkit.version, _MIN_VERSION))
    return None

def _cuda_toolkit_impl(ctx):
    toolkit = _find(ctx)
    ctx.file(
        "config.bzl",
        "CUDA_FOUND = %s\nCUDA_VERSION = %d\nNVCC = %r\n" % (
            toolkit != None,
            toolkit.version if toolkit else 0,
            toolkit.nvcc if toolkit else "",
        ),
        executable = False,
    )
    ctx.file("BUILD", _FOUND if toolkit else _ABSENT, executable = False)
    if not toolkit:
        return
    ctx.symlink(toolkit.include, "include")
    ctx.symlink(toolkit.cudart, "lib/libcudart_static.a")

    # An input of every fat binary, so that another compiler makes new ones.
    version = ctx.execute([toolkit.nvcc, "--version"])
    ctx.file("version.txt", version.stdout, executable = False)

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    configure = True,
    environ = [
        "CUDA_PATH",
        "GRAPHRUN_NO_CUDA",
        "PATH",
    ],
    local = True,
)

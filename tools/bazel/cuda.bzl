"""Device code as a C library, and what a BUILD needs to know about CUDA.

Without a toolkit every target here still exists, empty; no BUILD needs two versions.
"""

load("@cuda//:config.bzl", "NVCC", _CUDA_FOUND = "CUDA_FOUND")

CUDA_FOUND = _CUDA_FOUND

# For `local_defines` of what must know whether there is a CUDA backend in this build.
GR_CUDA_DEFINES = ["GR_HAVE_CUDA=1"] if CUDA_FOUND else []

def if_cuda(with_cuda, without = []):
    """One of two lists, by whether a toolkit was found."""
    return with_cuda if CUDA_FOUND else without

# The fat binary goes into the read-only data as it is. The path is the one the
# compiler's working folder gives, which needs no include path and so is the
# same for gcc and clang. An empty .note.GNU-stack keeps the stack
# non-executable: the assembler, unlike the compiler, does not add it.
_ASSEMBLY = """\
    .section .rodata, "a", %progbits
    .balign 64
    .globl {name}_begin
    .hidden {name}_begin
    .type {name}_begin, %object
{name}_begin:
    .incbin "{path}"
    .size {name}_begin, . - {name}_begin
    .globl {name}_end
    .hidden {name}_end
    .type {name}_end, %object
{name}_end:
    .byte 0
    .size {name}_end, 1
    .section .note.GNU-stack, "", %progbits
"""

def _embedded_fatbin_impl(ctx):
    fatbin = ctx.actions.declare_file(ctx.attr.symbol + ".fatbin")
    ctx.actions.run(
        executable = NVCC,
        arguments = [
            "-fatbin",
            # Machine code for each major architecture of the toolkit, and PTX
            # of the newest for those that come later.
            "-arch=all-major",
            "-Xfatbin=-compress-all",
            "-std=c++17",
            "-O3",
            "-Werror=all-warnings",
            # The host compiler only preprocesses here: no host code is made.
            "-allow-unsupported-compiler",
            "-I.",
            ctx.file.src.path,
            "-o",
            fatbin.path,
        ] + ctx.attr.nvccopts,
        inputs = [ctx.file.src, ctx.file._version] + ctx.files.hdrs,
        outputs = [fatbin],
        mnemonic = "CudaFatbin",
        progress_message = "Compiling %s for all GPU architectures" % ctx.file.src.short_path,
        # nvcc calls the host's preprocessor, which it looks for on the PATH.
        use_default_shell_env = True,
    )
    assembly = ctx.actions.declare_file(ctx.attr.symbol + ".S")
    ctx.actions.write(assembly, _ASSEMBLY.format(name = ctx.attr.symbol, path = fatbin.path))
    return [
        DefaultInfo(files = depset([assembly])),
        OutputGroupInfo(fatbin = depset([fatbin])),
    ]

_embedded_fatbin = rule(
    implementation = _embedded_fatbin_impl,
    attrs = {
        "hdrs": attr.label_list(allow_files = True),
        "nvccopts": attr.string_list(),
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
        "symbol": attr.string(mandatory = True),
        "_version": attr.label(allow_single_file = True, default = "@cuda//:version.txt"),
    },
)

def _for_all_configurations_impl(ctx):
    return [ctx.attr.src[DefaultInfo], ctx.attr.src[OutputGroupInfo]]

# Device code knows nothing of the C compiler and its sanitizers. Made in the one
# configuration that all others share, it is compiled once for all of them.
_for_all_configurations = rule(
    implementation = _for_all_configurations_impl,
    attrs = {"src": attr.label(cfg = "host", mandatory = True)},
)

def cuda_fatbin(name, src, hdrs = [], nvccopts = [], **kwargs):
    """A cc_library that holds `src` compiled by `nvcc -fatbin` for all GPUs.

    C declares `extern const unsigned char NAME_begin[], NAME_end[];` with the
    target's name for NAME; NAME_begin is aligned to 64 bytes.

    Args:
      name: the library, and the symbols' stem.
      src: one .cu file with device code only.
      hdrs: what it includes, with paths from the root of the workspace.
      nvccopts: more options for this file.
      **kwargs: visibility, tags, testonly.
    """
    if not CUDA_FOUND:
        native.cc_library(name = name, **kwargs)
        return
    shared = {key: kwargs[key] for key in ["tags", "testonly"] if key in kwargs}
    _embedded_fatbin(
        name = name + "_made",
        src = src,
        hdrs = hdrs,
        nvccopts = nvccopts,
        symbol = name,
        visibility = ["//visibility:private"],
        **shared
    )
    _for_all_configurations(
        name = name + "_stub",
        src = name + "_made",
        visibility = ["//visibility:private"],
        **shared
    )
    native.filegroup(
        name = name + "_file",
        srcs = [name + "_stub"],
        output_group = "fatbin",
        visibility = ["//visibility:private"],
        **shared
    )
    native.cc_library(
        name = name,
        srcs = [name + "_stub"],
        # Not a header, but the way to make it an input of the assembler.
        textual_hdrs = [name + "_file"],
        **kwargs
    )

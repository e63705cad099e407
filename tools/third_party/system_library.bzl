"""A library of the distribution as a Bazel target.

The static archive is preferred, so that a program runs on another machine that
lacks the library. Only the named headers are linked into the repository, not
their folder: with layering_check on, a target that includes one without
depending on the library is then refused.
"""

load(":search.bzl", "find", "include_dirs", "library_dirs")

_LIBRARY = """
cc_library(
    name = "{name}",
    srcs = {srcs},
    hdrs = {hdrs},
    defines = {defines},
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:{visibility}"],
    deps = {deps},
)
"""

_SWITCH = """
cc_library(name = "none")

alias(
    name = "{name}",
    actual = select({{
        "@graphrun//tools/bazel:sanitizer": ":none",
        "//conditions:default": ":{actual}",
    }}),
    visibility = ["//visibility:public"],
)
"""

def _add_archive(ctx, lib, optional):
    """Links the archive into the repository. Returns (srcs, linkopts), or None for an optional one not found."""
    dirs = library_dirs(ctx)
    archive = find(ctx, dirs, ["lib%s.a" % lib])
    if archive:
        ctx.symlink(archive, "lib/lib%s.a" % lib)
        return (["lib/lib%s.a" % lib], [])
    if find(ctx, dirs, ["lib%s.so" % lib]):
        return ([], ["-l" + lib])
    if optional:
        return None
    fail("lib%s.a is not in %s: install %s (`tools/dev setup` does)." % (lib, ", ".join(dirs), ctx.attr.package))

def _system_library_impl(ctx):
    dirs = include_dirs(ctx)
    hdrs = []
    for name in ctx.attr.hdrs:
        header = find(ctx, dirs, [name])
        if not header:
            fail("<%s> is not in %s: install %s (`tools/dev setup` does)." % (name, ", ".join(dirs), ctx.attr.package))
        ctx.symlink(header, "include/" + name)
        hdrs.append("include/" + name)

    main = ctx.attr.target + ("_always" if ctx.attr.not_with_sanitizers else "")
    build = ""

    # One target an archive, each depending on the next: that fixes the order
    # on the linker's command line.
    archives = [(lib, _add_archive(ctx, lib, False)) for lib in ctx.attr.libs]
    archives += [(lib, _add_archive(ctx, lib, True)) for lib in ctx.attr.optional_libs]
    archives = [(lib, found) for lib, found in archives if found]
    for index, (lib, found) in enumerate(archives):
        srcs, linkopts = found
        first = index == 0
        last = index == len(archives) - 1
        build += _LIBRARY.format(
            name = main if first else "lib" + lib,
            srcs = srcs,
            hdrs = hdrs if first else [],
            defines = ctx.attr.defines if first else [],
            linkopts = linkopts + (["-l" + system for system in ctx.attr.system_libs] if last else []),
            visibility = "public" if first and not ctx.attr.not_with_sanitizers else "private",
            deps = [] if last else [":lib" + archives[index + 1][0]],
        )
    if ctx.attr.not_with_sanitizers:
        build += _SWITCH.format(name = ctx.attr.target, actual = main)
    ctx.file("BUILD", build, executable = False)

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "defines": attr.string_list(doc = "Seen by all that depend on the target."),
        "hdrs": attr.string_list(mandatory = True),
        "libs": attr.string_list(mandatory = True, doc = "Without `lib` and ending; users before what they use."),
        "not_with_sanitizers": attr.bool(doc = "Under --config=asan and its like the target is empty and defines nothing."),
        "optional_libs": attr.string_list(doc = "Linked where they are found."),
        "package": attr.string(mandatory = True, doc = "Debian's package, for the message."),
        "system_libs": attr.string_list(doc = "What the archives need of libc's companions."),
        "target": attr.string(mandatory = True),
    },
    local = True,
)

"""The three repositories that Bazel 4 would download although it needs nothing from them.

rules_cc and rules_java only re-export rules that are built into this Bazel, and
the coverage tools are named by every test but used by `bazel coverage` alone.
"""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "objc_library",
]

_JAVA_RULES = [
    "java_binary",
    "java_import",
    "java_library",
    "java_package_configuration",
    "java_plugin",
    "java_runtime",
    "java_test",
    "java_toolchain",
]

def _written_impl(ctx):
    for path, text in ctx.attr.texts.items():
        ctx.file(path, text, executable = False)

_written = repository_rule(
    implementation = _written_impl,
    attrs = {"texts": attr.string_dict(mandatory = True)},
)

def _re_export(rules):
    return "".join(["%s = native.%s\n" % (rule, rule) for rule in rules])

def bazel_builtins():
    """Declares rules_cc, rules_java and remote_coverage_tools without a network."""
    _written(
        name = "rules_cc",
        texts = {"BUILD": "", "cc/BUILD": "", "cc/defs.bzl": _re_export(_CC_RULES)},
    )
    _written(
        name = "rules_java",
        texts = {"BUILD": "", "java/BUILD": "", "java/defs.bzl": _re_export(_JAVA_RULES)},
    )
    _written(
        name = "remote_coverage_tools",
        texts = {"BUILD": """filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
"""},
    )

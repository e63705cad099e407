"""The one list of compiler options for our own C. Every target passes `copts = GR_COPTS` in sight."""

GR_COPTS = [
    # glibc hides its extensions (memfd, affinity, pthread names) under plain
    # -std=c17. Decided once here, not by a #define before some includes.
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-Wcast-align",
    "-Wcast-qual",
    "-Wconversion",  # in C this means signedness, too
    "-Wformat=2",
    "-Wimplicit-fallthrough",
    "-Wmissing-prototypes",
    "-Wnested-externs",
    "-Wold-style-definition",
    "-Wpointer-arith",
    "-Wredundant-decls",
    "-Wshadow",
    "-Wstrict-prototypes",
    "-Wundef",
    "-Wvla",
    "-Wwrite-strings",
    # A result must not depend on whether the compiler fuses a multiply and an add.
    "-ffp-contract=off",
]

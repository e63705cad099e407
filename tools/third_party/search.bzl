"""Where the usual distributions keep headers and libraries."""

def machine(ctx):
    """The processor as the kernel names it, such as x86_64."""
    result = ctx.execute(["uname", "-m"])
    if result.return_code != 0:
        fail("`uname -m` does not work: " + result.stderr)
    return result.stdout.strip()

def include_dirs(ctx):
    triplet = machine(ctx) + "-linux-gnu"
    return ["/usr/local/include", "/usr/include/" + triplet, "/usr/include"]

def library_dirs(ctx):
    triplet = machine(ctx) + "-linux-gnu"
    return [
        "/usr/local/lib64",
        "/usr/local/lib/" + triplet,
        "/usr/local/lib",
        "/usr/lib/" + triplet,
        "/usr/lib64",
        "/usr/lib",
    ]

def find(ctx, dirs, names):
    """The first existing file: names in order of preference, each in all dirs. None if there is none."""
    for name in names:
        for dir in dirs:
            path = ctx.path(dir + "/" + name)
            if path.exists:
                return path
    return None

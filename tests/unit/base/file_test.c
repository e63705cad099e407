/* Reading whole files and streams, and writing so that the final name never shows half a file. */
#include "engine/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/text.h"
#include "tests/unit/base/support.h"

static struct gr_memory memory;
static char folder[PATH_MAX];

/* Every test works in a new folder of its own, which is its working folder. */
static void set_up(void) {
  gr_memory_init(&memory, NULL);
  const char *base = getenv("TEST_TMPDIR");
  char made[PATH_MAX];
  snprintf(made, sizeof made, "%s/file_test.XXXXXX", base ? base : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(made));
  ck_assert_ptr_nonnull(realpath(made, folder));
  ck_assert_int_eq(chdir(folder), 0);
}

static int count_entries(void) {
  DIR *dir = opendir(folder);
  ck_assert_ptr_nonnull(dir);
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(dir));)
    count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
  closedir(dir);
  return count;
}

static void tear_down(void) {
  ck_assert_uint_eq(memory.live_count, 0);
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; (entry = readdir(dir));) unlinkat(dirfd(dir), entry->d_name, 0);
  closedir(dir);
  ck_assert_int_eq(chdir("/"), 0);
  rmdir(folder);
}

static void put(const char *name, const char *bytes, size_t length) {
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
  ck_assert_int_eq(fclose(file), 0);
}

static void expect_file(const char *name, const char *content) {
  struct gr_file_bytes bytes;
  ck_assert_int_eq(gr_file_read(&memory, name, NULL, &bytes, NULL), GR_OK);
  ck_assert_uint_eq(bytes.length, strlen(content));
  ck_assert_str_eq(bytes.bytes, content);
  gr_file_bytes_release(&bytes);
}

/* Reading must fail with "cannot read "FOLDER/name": reason", and leave the output alone. */
static void expect_unreadable(const char *name, const struct gr_file_rules *rules, const char *reason) {
  struct gr_file_bytes bytes = {NULL, NULL, 77};
  struct gr_error error;
  ck_assert_int_eq(gr_file_read(&memory, name, rules, &bytes, &error), GR_ERR_IO);
  char expected[PATH_MAX + 200];
  snprintf(expected, sizeof expected, "cannot read \"%s/%s\": %s", folder, name, reason);
  ck_assert_str_eq(error.message, expected);
  ck_assert_uint_eq(bytes.length, 77);
}

START_TEST(files_of_every_size) {
  static char content[200001];
  for (size_t i = 0; i < sizeof content; i++) content[i] = (char)(i * 31);
  static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200001};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    put("f", content, sizes[i]);
    struct gr_file_bytes bytes;
    uint64_t calls = memory.call_count;
    ck_assert_int_eq(gr_file_read(&memory, "f", NULL, &bytes, NULL), GR_OK);
    ck_assert_uint_eq(memory.call_count, calls + 1); /* a known size costs one allocation */
    ck_assert_uint_eq(bytes.length, sizes[i]);
    ck_assert_int_eq(memcmp(bytes.bytes, content, sizes[i]), 0);
    ck_assert_int_eq(bytes.bytes[bytes.length], 0);
    gr_file_bytes_release(&bytes);
    gr_file_bytes_release(&bytes);
  }
}
END_TEST

/* Their size is said to be 0. */
START_TEST(files_of_the_kernel) {
  struct gr_file_bytes bytes;
  ck_assert_int_eq(gr_file_read(&memory, "/proc/self/maps", NULL, &bytes, NULL), GR_OK);
  ck_assert_uint_gt(bytes.length, 100);
  gr_file_bytes_release(&bytes);
}
END_TEST

START_TEST(what_cannot_be_read) {
  struct gr_file_rules regular = {0, true};
  struct gr_file_rules small = {10, false};
  expect_unreadable("none", NULL, "No such file or directory");
  expect_unreadable("none/below", NULL, "No such file or directory");
  ck_assert_int_eq(mkdir("d", 0700), 0);
  expect_unreadable("d", NULL, "it is a directory");
  ck_assert_int_eq(mkfifo("p", 0600), 0);
  expect_unreadable("p", &regular, "it is a pipe, not a regular file"); /* and does not wait for a writer */
  put("f", "12345678901", 11);
  expect_unreadable("f", &small, "it is larger than the limit of 10 bytes");
  expect_unreadable("f/g", NULL, "Not a directory");
  put("f", "1234567890", 10);
  struct gr_file_bytes bytes;
  ck_assert_int_eq(gr_file_read(&memory, "f", &small, &bytes, NULL), GR_OK);
  gr_file_bytes_release(&bytes);
  struct gr_error error;
  ck_assert_int_eq(gr_file_read(&memory, "/dev/null", &regular, &bytes, &error), GR_ERR_IO);
  ck_assert_str_eq(error.message, "cannot read \"/dev/null\": it is a device, not a regular file");
  ck_assert_int_eq(gr_file_read(&memory, "/dev/null", NULL, &bytes, &error), GR_OK);
  ck_assert_uint_eq(bytes.length, 0);
  gr_file_bytes_release(&bytes);
  ck_assert_int_eq(rmdir("d"), 0);
}
END_TEST

START_TEST(reading_without_memory) {
  put("f", "x", 1);
  memory.fail_at = memory.call_count + 1;
  struct gr_file_bytes bytes;
  struct gr_error error;
  ck_assert_int_eq(gr_file_read(&memory, "f", NULL, &bytes, &error), GR_ERR_NO_MEMORY);
  ck_assert_str_eq(error.message, "out of host memory while reading \"f\"");
  memory.fail_at = 0;
}
END_TEST

/* A stream of `length` bytes in pieces of at most `piece`; fails at `fails_at`, if not 0. */
struct stream {
  uint64_t length, given, piece, fails_at;
};
static int64_t read_stream(void *context, void *into, size_t capacity) {
  struct stream *stream = context;
  uint64_t count = stream->length - stream->given;
  if (stream->fails_at > 0 && stream->given >= stream->fails_at) {
    errno = EIO;
    return -1;
  }
  if (count > stream->piece) count = stream->piece;
  if (count > capacity) count = capacity;
  for (uint64_t i = 0; i < count; i++) ((char *)into)[i] = (char)(stream->given + i);
  stream->given += count;
  return (int64_t)count;
}

START_TEST(streams) {
  static const uint64_t lengths[] = {0, 1, 65536, 65537, 300000};
  static const uint64_t pieces[] = {1000, 70000, 300000};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
      struct stream stream = {lengths[i], 0, pieces[k], 0};
      struct gr_file_bytes bytes;
      ck_assert_int_eq(gr_file_read_stream(&memory, "s", read_stream, &stream, lengths[i], &bytes, NULL), GR_OK);
      ck_assert_uint_eq(bytes.length, lengths[i]);
      size_t same = 0;
      while (same < bytes.length && bytes.bytes[same] == (char)same) same++;
      ck_assert_uint_eq(same, bytes.length);
      gr_file_bytes_release(&bytes);
    }
  }
}
END_TEST

START_TEST(streams_that_fail) {
  struct gr_file_bytes bytes;
  struct gr_error error;
  struct stream broken = {300000, 0, 1000, 100000};
  ck_assert_int_eq(gr_file_read_stream(&memory, "/s", read_stream, &broken, 0, &bytes, &error), GR_ERR_IO);
  ck_assert_str_eq(error.message, "cannot read \"/s\": Input/output error");
  struct stream endless = {UINT64_MAX, 0, 1000, 0};
  ck_assert_int_eq(gr_file_read_stream(&memory, "/s", read_stream, &endless, 99999, &bytes, &error), GR_ERR_IO);
  ck_assert_str_eq(error.message, "cannot read \"/s\": it is larger than the limit of 99999 bytes");
  ck_assert_uint_lt(endless.given, 110000);
  for (uint64_t n = 1;; n++) {
    struct stream stream = {300000, 0, 1000, 0};
    memory.fail_at = memory.call_count + n;
    enum gr_status status = gr_file_read_stream(&memory, "s", read_stream, &stream, 0, &bytes, &error);
    memory.fail_at = 0;
    if (status == GR_OK) {
      ck_assert_uint_ge(n, 3);
      break;
    }
    ck_assert_int_eq(status, GR_ERR_NO_MEMORY);
    ck_assert_uint_eq(memory.live_count, 0);
  }
  gr_file_bytes_release(&bytes);
}
END_TEST

START_TEST(descriptors_stay_open) {
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq((int)write(ends[1], "hello", 5), 5);
  close(ends[1]);
  struct gr_file_bytes bytes;
  ck_assert_int_eq(gr_file_read_descriptor(&memory, "-", ends[0], 0, &bytes, NULL), GR_OK);
  ck_assert_str_eq(bytes.bytes, "hello");
  gr_file_bytes_release(&bytes);
  ck_assert_int_eq(close(ends[0]), 0);
}
END_TEST

/* Like a file system that knows no files without a name, where a test wants one. */
static bool all_are_named;

int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (all_are_named && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void set_up_named(void) {
  set_up();
  all_are_named = true;
}

static struct gr_file_writer open_writer(const char *name) {
  struct gr_file_writer writer;
  struct gr_error error = {.message = ""};
  enum gr_status status = gr_file_writer_open(&writer, &memory, name, &error);
  ck_assert_msg(status == GR_OK, "%s", error.message);
  return writer;
}

static void write_file(const char *name, const char *content, bool durable) {
  struct gr_file_writer writer = open_writer(name);
  ck_assert_int_eq(gr_file_writer_write(&writer, content, strlen(content), NULL), GR_OK);
  ck_assert_int_eq(gr_file_writer_commit(&writer, durable, NULL), GR_OK);
  gr_file_writer_abort(&writer); /* of an ended one does nothing */
}

START_TEST(the_target_changes_only_at_the_commit) {
  put("f", "old", 3);
  struct gr_file_writer writer = open_writer("f");
  ck_assert_int_eq(gr_file_writer_write(&writer, "ne", 2, NULL), GR_OK);
  ck_assert_int_eq(gr_file_writer_write(&writer, "w!", 2, NULL), GR_OK);
  ck_assert_int_eq(gr_file_writer_write(&writer, NULL, 0, NULL), GR_OK);
  expect_file("f", "old");
  ck_assert_int_eq(count_entries(), writer.is_unnamed ? 1 : 2);
  ck_assert_int_eq(access(writer.temporary, F_OK) == 0, !writer.is_unnamed);
  ck_assert_int_eq(gr_file_writer_commit(&writer, false, NULL), GR_OK);
  expect_file("f", "new!");
  ck_assert_int_eq(count_entries(), 1);
  write_file("f", "durable", true);
  expect_file("f", "durable");
  write_file("g", "", true);
  expect_file("g", "");
}
END_TEST

START_TEST(an_abort_leaves_everything_as_it_was) {
  put("f", "old", 3);
  struct gr_file_writer writer = open_writer("f");
  ck_assert_int_eq(gr_file_writer_write(&writer, "new", 3, NULL), GR_OK);
  gr_file_writer_abort(&writer);
  gr_file_writer_abort(&writer);
  expect_file("f", "old");
  struct gr_file_writer other = open_writer("g");
  gr_file_writer_abort(&other);
  ck_assert_int_eq(count_entries(), 1);
  struct gr_file_writer zeroed;
  memset(&zeroed, 0, sizeof zeroed);
  gr_file_writer_abort(&zeroed);
  ck_assert_int_eq(fcntl(0, F_GETFD) < 0, 0); /* descriptor 0 was not taken for its own */
}
END_TEST

/* Complete closes and keeps the name for later; a commit then only renames. */
START_TEST(completing_before_the_commit) {
  struct gr_file_writer a = open_writer("a");
  struct gr_file_writer b = open_writer("b");
  ck_assert_int_eq(gr_file_writer_write(&a, "1", 1, NULL), GR_OK);
  ck_assert_int_eq(gr_file_writer_write(&b, "2", 1, NULL), GR_OK);
  ck_assert_int_eq(gr_file_writer_complete(&a, true, NULL), GR_OK);
  ck_assert_int_eq(gr_file_writer_complete(&a, true, NULL), GR_OK);
  ck_assert_int_eq(access("a", F_OK), -1);
  ck_assert_int_eq(gr_file_writer_commit(&a, true, NULL), GR_OK);
  expect_file("a", "1");
  ck_assert_int_eq(gr_file_writer_complete(&b, false, NULL), GR_OK);
  gr_file_writer_abort(&b);
  ck_assert_int_eq(count_entries(), 1);
}
END_TEST

/* As many descriptors as are allowed would not do for more files than that. Those that cannot wait without a name get
 * one. */
START_TEST(very_many_complete_files) {
  enum { COUNT = 200 };
  static struct gr_file_writer writers[COUNT];
  static char names[COUNT][16];
  struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < COUNT; i++) {
      snprintf(names[i], sizeof names[i], "f%d", i);
      writers[i] = open_writer(names[i]);
      ck_assert_int_eq(gr_file_writer_write(&writers[i], names[i], strlen(names[i]), NULL), GR_OK);
      ck_assert_int_eq(gr_file_writer_complete(&writers[i], false, NULL), GR_OK);
    }
    for (int i = 0; i < COUNT; i++) {
      if (round == 1) gr_file_writer_abort(&writers[i]);
      else ck_assert_int_eq(gr_file_writer_commit(&writers[i], false, NULL), GR_OK);
    }
    ck_assert_int_eq(count_entries(), round == 1 ? 0 : COUNT);
    for (int i = 0; round != 1 && i < COUNT; i++) {
      expect_file(names[i], names[i]);
      unlink(names[i]);
    }
  }
}
END_TEST

/* Whatever ends a process while it writes: nothing is left. */
START_TEST(a_dead_process_leaves_nothing) {
  struct gr_file_writer probe = open_writer("f");
  bool is_unnamed = probe.is_unnamed;
  gr_file_writer_abort(&probe);
  if (!is_unnamed) return; /* this file system cannot do it */
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    struct gr_file_writer writers[2] = {open_writer("f"), open_writer("g")};
    if (gr_file_writer_write(&writers[0], "half", 4, NULL) != GR_OK) _exit(1);
    if (gr_file_writer_complete(&writers[0], false, NULL) != GR_OK) _exit(1);
    raise(SIGKILL);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status));
  ck_assert_int_eq(count_entries(), 0);
}
END_TEST

START_TEST(permissions_are_kept) {
  put("f", "old", 3);
  ck_assert_int_eq(chmod("f", 0640), 0);
  write_file("f", "new", false);
  struct stat now;
  ck_assert_int_eq(stat("f", &now), 0);
  ck_assert_uint_eq(now.st_mode & 07777, 0640);
}
END_TEST

START_TEST(links_are_followed) {
  ck_assert_int_eq(mkdir("d", 0700), 0);
  put("d/f", "old", 3);
  ck_assert_int_eq(symlink("d/f", "l"), 0);
  write_file("l", "new", false);
  struct stat link;
  ck_assert_int_eq(lstat("l", &link), 0);
  ck_assert(S_ISLNK(link.st_mode));
  expect_file("d/f", "new");
  unlink("d/f");
  write_file("l", "made", false); /* points to nothing yet */
  ck_assert_int_eq(lstat("l", &link), 0);
  ck_assert(S_ISLNK(link.st_mode));
  expect_file("d/f", "made");
  unlink("d/f");
  ck_assert_int_eq(rmdir("d"), 0); /* no temporary was left in it */
  ck_assert_int_eq(symlink("loop", "loop"), 0);
  struct gr_file_writer writer;
  struct gr_error error;
  ck_assert_int_eq(gr_file_writer_open(&writer, &memory, "loop", &error), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "Too many levels of symbolic links"));
}
END_TEST

START_TEST(what_cannot_be_written) {
  struct gr_file_writer writer;
  struct gr_error error;
  char expected[PATH_MAX + 100];
  ck_assert_int_eq(gr_file_writer_open(&writer, &memory, "none/f", &error), GR_ERR_IO);
  snprintf(expected, sizeof expected, "cannot write \"%s/none/f\": No such file or directory", folder);
  ck_assert_str_eq(error.message, expected);
  ck_assert_int_eq(mkdir("d", 0700), 0);
  ck_assert_int_eq(gr_file_writer_open(&writer, &memory, "d", &error), GR_ERR_IO);
  snprintf(expected, sizeof expected, "cannot write \"%s/d\": it is a directory", folder);
  ck_assert_str_eq(error.message, expected);
  ck_assert_int_eq(rmdir("d"), 0);
  char long_name[300];
  memset(long_name, 'n', sizeof long_name);
  long_name[sizeof long_name - 1] = '\0';
  ck_assert_int_eq(gr_file_writer_open(&writer, &memory, long_name, &error), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "File name too long"));
  char *long_path = malloc(5001); /* the reason is said all the same */
  ck_assert_ptr_nonnull(long_path);
  for (int i = 0; i < 5000; i++) long_path[i] = i % 5 == 4 ? '/' : "f\xe5\x9b\xb3"[i % 5];
  long_path[5000] = '\0';
  ck_assert_int_eq(gr_file_writer_open(&writer, &memory, long_path, &error), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "f\xe5\x9b\xb3/\": File name too long"));
  ck_assert_int_eq(strncmp(error.message, "cannot write \"\xe2\x80\xa6", 17), 0);
  ck_assert(gr_utf8_valid(gr_view_of(error.message), NULL));
  free(long_path);
  long_name[255] = '\0'; /* as long as allowed: the temporary's name must not be longer */
  write_file(long_name, "x", false);
  expect_file(long_name, "x");
  ck_assert_int_eq(count_entries(), 1);
}
END_TEST

START_TEST(a_file_that_may_not_be_written_stays) {
  if (geteuid() == 0) return; /* root may write everything */
  put("f", "old", 3);
  ck_assert_int_eq(chmod("f", 0400), 0);
  struct gr_file_writer writer;
  ck_assert_int_eq(gr_file_writer_open(&writer, &memory, "f", NULL), GR_ERR_IO);
  expect_file("f", "old");
  ck_assert_int_eq(count_entries(), 1);
}
END_TEST

/* A disk that is full: here a limit on the size of files. */
START_TEST(a_failed_write_leaves_the_old_file) {
  put("f", "old", 3);
  struct rlimit limit = {4096, 4096};
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, SIG_IGN);
  static char much[10000];
  struct gr_file_writer writer = open_writer("f");
  struct gr_error error;
  ck_assert_int_eq(gr_file_writer_write(&writer, much, sizeof much, &error), GR_ERR_IO);
  char expected[PATH_MAX + 100];
  snprintf(expected, sizeof expected, "cannot write \"%s/f\": File too large", folder);
  ck_assert_str_eq(error.message, expected);
  gr_file_writer_abort(&writer);
  expect_file("f", "old");
  ck_assert_int_eq(count_entries(), 1);
}
END_TEST

START_TEST(a_full_device) {
  if (access("/dev/full", W_OK) != 0) return;
  struct gr_file_writer writer = open_writer("/dev/full");
  ck_assert_ptr_null(writer.temporary); /* devices are written directly */
  struct gr_error error;
  ck_assert_int_eq(gr_file_writer_write(&writer, "x", 1, &error), GR_ERR_IO);
  ck_assert_str_eq(error.message, "cannot write \"/dev/full\": No space left on device");
  gr_file_writer_abort(&writer);
}
END_TEST

START_TEST(a_target_that_became_a_folder) {
  struct gr_file_writer writer = open_writer("f");
  ck_assert_int_eq(mkdir("f", 0700), 0);
  struct gr_error error;
  ck_assert_int_eq(gr_file_writer_commit(&writer, false, &error), GR_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "Is a directory"));
  ck_assert_int_eq(rmdir("f"), 0);
  ck_assert_int_eq(count_entries(), 0);
}
END_TEST

START_TEST(writing_without_memory) {
  put("f", "old", 3);
  for (uint64_t n = 1;; n++) {
    struct gr_file_writer writer = {.descriptor = 77};
    struct gr_error error;
    memory.fail_at = memory.call_count + n;
    enum gr_status status = gr_file_writer_open(&writer, &memory, "f", &error);
    memory.fail_at = 0;
    if (status == GR_OK) {
      ck_assert_uint_eq(n, 3);
      gr_file_writer_abort(&writer);
      break;
    }
    ck_assert_int_eq(status, GR_ERR_NO_MEMORY);
    ck_assert_int_eq(writer.descriptor, 77);
    ck_assert_uint_eq(memory.live_count, 0);
    ck_assert_int_eq(count_entries(), 1);
  }
}
END_TEST

/* Many writers for one target at once: each has its own temporary, the last commit wins. */
START_TEST(writers_do_not_meet) {
  struct gr_file_writer writers[50];
  for (int i = 0; i < 50; i++) {
    writers[i] = open_writer("f");
    char content[8];
    int length = snprintf(content, sizeof content, "%d", i);
    ck_assert_int_eq(gr_file_writer_write(&writers[i], content, (size_t)length, NULL), GR_OK);
  }
  ck_assert_int_eq(count_entries(), writers[0].is_unnamed ? 0 : 50);
  for (int i = 0; i < 50; i++) ck_assert_int_eq(gr_file_writer_commit(&writers[i], false, NULL), GR_OK);
  expect_file("f", "49");
  ck_assert_int_eq(count_entries(), 1);
}
END_TEST

/* All of it with and without names for what is not complete. */
static void add_writing(Suite *suite, const char *name, SFun before) {
  TCase *writing = tcase_create(name);
  tcase_add_checked_fixture(writing, before, tear_down);
  tcase_add_test(writing, the_target_changes_only_at_the_commit);
  tcase_add_test(writing, an_abort_leaves_everything_as_it_was);
  tcase_add_test(writing, completing_before_the_commit);
  tcase_add_test(writing, very_many_complete_files);
  tcase_add_test(writing, a_dead_process_leaves_nothing);
  tcase_add_test(writing, permissions_are_kept);
  tcase_add_test(writing, links_are_followed);
  tcase_add_test(writing, what_cannot_be_written);
  tcase_add_test(writing, a_file_that_may_not_be_written_stays);
  tcase_add_test(writing, a_failed_write_leaves_the_old_file);
  tcase_add_test(writing, a_full_device);
  tcase_add_test(writing, a_target_that_became_a_folder);
  tcase_add_test(writing, writing_without_memory);
  tcase_add_test(writing, writers_do_not_meet);
  suite_add_tcase(suite, writing);
}

int main(void) {
  Suite *suite = suite_create("base/file");
  TCase *reading = tcase_create("reading");
  tcase_add_checked_fixture(reading, set_up, tear_down);
  tcase_add_test(reading, files_of_every_size);
  tcase_add_test(reading, files_of_the_kernel);
  tcase_add_test(reading, what_cannot_be_read);
  tcase_add_test(reading, reading_without_memory);
  tcase_add_test(reading, streams);
  tcase_add_test(reading, streams_that_fail);
  tcase_add_test(reading, descriptors_stay_open);
  suite_add_tcase(suite, reading);
  add_writing(suite, "writing", set_up);
  add_writing(suite, "writing with names", set_up_named);
  return run_suite(suite);
}

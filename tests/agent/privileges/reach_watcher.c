/* A container's root that looks for what is not the container's, for tests of collectors.
 *
 *   reach_watcher FILES ROOT   copies FILES (with this program as /watcher in it) into a file
 *                              system of its own at ROOT, and starts /watcher there: with all of
 *                              root's rights, as the first process of its PID namespace, in
 *                              namespaces of its own of every kind but the user's. Prints "pid
 *                              NUMBER".
 *   reach_watcher watch        inside: looks again and again at what /proc/PID leads to, of every
 *                              process but itself: exe, cwd, root, fd, map_files, maps, ns. Prints
 *                              "foreign …" for what is neither the container's nor a pipe nor a
 *                              sealed file in memory; "seen entry" and "seen command" when it has
 *                              looked at a process that runs from such a file, and from the
 *                              container's.
 *   reach_watcher command      what a collector runs: prints its descriptors, then stays a while.
 *   reach_watcher namespaces   another: prints what became of three tries to get a user namespace.
 *   reach_watcher open PATH    another such command: prints "opened", or why not.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FINDINGS = 100, COMMAND_STAYS_US = 60000, SHORT_PATH = 64 };

static dev_t g_root, g_proc;
static int g_findings, g_seen_entry, g_seen_command;

static void Foreign(const char* path, const char* target) {
  if (g_findings++ < MOST_FINDINGS) printf("foreign %s -> %s\n", path, target);
}

static int IsSealed(const char* path) {
  const int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
  if (fd >= 0) close(fd);
  return seals >= 0 && (seals & all) == all;
}

static void JudgeFile(const char* path, int file) {
  char own[SHORT_PATH], target[PATH_MAX] = "";
  struct stat facts;
  const int is_program = strstr(path, "/exe") != NULL;
  if (fstat(file, &facts) != 0 || S_ISFIFO(facts.st_mode)) return;
  snprintf(own, sizeof(own), "/proc/self/fd/%d", file);
  if (facts.st_dev == g_root || facts.st_dev == g_proc) {
    if (is_program && !g_seen_command++) puts("seen command");
  } else if (IsSealed(own)) {
    if (is_program && !g_seen_entry++) puts("seen entry");
  } else {
    (void)!readlink(own, target, sizeof(target) - 1);
    Foreign(path, target);
  }
}

/* One descriptor for all questions: a process may execute another file meanwhile. */
static void Judge(const char* path) {
  const int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return;
  JudgeFile(path, file);
  close(file);
}

static void JudgeAll(const char* folder) {
  char path[2 * SHORT_PATH + NAME_MAX + 2];
  DIR* const listing = opendir(folder);
  if (listing == NULL) return;
  for (const struct dirent* entry; (entry = readdir(listing)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
    Judge(path);
  }
  closedir(listing);
}

/* A line of maps has the device and the inode even where map_files does not say them. */
static void JudgeMaps(const char* process) {
  char path[2 * SHORT_PATH], line[PATH_MAX];
  unsigned major_number, minor_number;
  unsigned long inode;
  snprintf(path, sizeof(path), "%s/maps", process);
  FILE* const maps = fopen(path, "re");
  if (maps == NULL) return;
  while (fgets(line, sizeof(line), maps) != NULL) {
    if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major_number, &minor_number, &inode) != 3) continue;
    if (inode == 0 || makedev(major_number, minor_number) == g_root) continue;
    if (strstr(line, "/memfd:stackray-enter (deleted)") != NULL) continue;
    if (g_findings++ < MOST_FINDINGS) printf("foreign map of %s: %s", process, line);
  }
  fclose(maps);
}

static void JudgeNamespaces(const char* process) {
  static const char* const kNames[] = {"mnt", "pid", "net", "ipc", "uts", "cgroup", "user"};
  for (size_t i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    char own[2 * SHORT_PATH], theirs[2 * SHORT_PATH];
    struct stat a, b;
    snprintf(own, sizeof(own), "/proc/self/ns/%s", kNames[i]);
    snprintf(theirs, sizeof(theirs), "%s/ns/%s", process, kNames[i]);
    if (stat(own, &a) == 0 && stat(theirs, &b) == 0 && a.st_ino != b.st_ino)
      Foreign(theirs, "another namespace");
  }
}

static void JudgeProcess(const char* process) {
  static const char* const kLinks[] = {"exe", "cwd", "root"};
  static const char* const kFolders[] = {"fd", "map_files"};
  char path[2 * SHORT_PATH];
  for (size_t i = 0; i < sizeof(kLinks) / sizeof(kLinks[0]); ++i) {
    snprintf(path, sizeof(path), "%s/%s", process, kLinks[i]);
    Judge(path);
  }
  for (size_t i = 0; i < sizeof(kFolders) / sizeof(kFolders[0]); ++i) {
    snprintf(path, sizeof(path), "%s/%s", process, kFolders[i]);
    JudgeAll(path);
  }
  JudgeMaps(process);
  JudgeNamespaces(process);
}

static int Watch(void) {
  struct stat facts;
  char process[SHORT_PATH];
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (stat("/", &facts) != 0) return 1;
  g_root = facts.st_dev;
  if (stat("/proc", &facts) != 0) return 1;
  g_proc = facts.st_dev;
  puts("watching");
  for (;;) {
    DIR* const processes = opendir("/proc");
    if (processes == NULL) return 1;
    for (const struct dirent* entry; (entry = readdir(processes)) != NULL;) {
      const int pid = atoi(entry->d_name);
      if (pid <= 0 || pid == getpid()) continue;
      snprintf(process, sizeof(process), "/proc/%d", pid);
      JudgeProcess(process);
    }
    closedir(processes);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue; /* Orphans of the namespace. */
  }
}

static int RunAsCommand(void) {
  DIR* const listing = opendir("/proc/self/fd");
  if (listing == NULL) return 1;
  for (const struct dirent* entry; (entry = readdir(listing)) != NULL;)
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(listing)) puts(entry->d_name);
  fflush(stdout);
  usleep(COMMAND_STAYS_US);
  return 0;
}

static int RunOpen(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  puts(fd >= 0 ? "opened" : strerror(errno));
  return 0;
}

/* Each way to a user namespace, in which a process has all rights. */
static int RunAsNamespaces(void) {
  errno = 0;
  puts(unshare(CLONE_NEWUSER) == 0 ? "unshared" : strerror(errno));
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  puts(child > 0 ? "cloned" : strerror(errno));
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
  } arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  const long other = syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (other == 0) _exit(0);
  puts(other > 0 ? "cloned" : strerror(errno));
  return 0;
}

static int StartInside(const char* root) {
  char* const arguments[] = {(char*)"/watcher", (char*)"watch", NULL};
  char* const environment[] = {NULL};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (chdir(root) != 0 || mount("none", "proc", "proc", 0, NULL) != 0 ||
      syscall(SYS_pivot_root, ".", "old") != 0 || chdir("/") != 0 ||
      umount2("old", MNT_DETACH) != 0)
    return 1;
  close(STDIN_FILENO);
  for (int fd = STDERR_FILENO; fd < 256; ++fd) close(fd);
  execve(arguments[0], arguments, environment);
  return 1;
}

/* cp is a process of its own, which would be the first of the new PID namespace. */
static int CopyFiles(const char* files, const char* root) {
  char command[2 * PATH_MAX + 64];
  snprintf(command, sizeof(command), "cp -a '%s/.' '%s/'", files, root);
  return system(command) == 0;
}

static int StartContainer(const char* files, const char* root) {
  const int others = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  int status = 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", root, "tmpfs", 0, "mode=755") != 0 || !CopyFiles(files, root) ||
      unshare(others) != 0)
    return 1;
  const pid_t inside = fork();
  if (inside < 0) return 1;
  if (inside == 0) _exit(StartInside(root));
  printf("pid %d\n", inside);
  fflush(stdout);
  waitpid(inside, &status, 0);
  return 1;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "watch") == 0) return Watch();
  if (argc == 2 && strcmp(argv[1], "command") == 0) return RunAsCommand();
  if (argc == 2 && strcmp(argv[1], "namespaces") == 0) return RunAsNamespaces();
  if (argc == 3 && strcmp(argv[1], "open") == 0) return RunOpen(argv[2]);
  return argc == 3 ? StartContainer(argv[1], argv[2]) : 2;
}

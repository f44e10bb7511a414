/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/maps as areas. Names of files become numbers, by device and inode; names are looked at
 * only to tell shared memory, hugetlb and the kernel's own areas apart, and go no further.
 */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fastmm/pte.h>

/* --- Reading -------------------------------------------------------------------------------- */

static int read_all(int fd, char **text)
{
    size_t size = 0, room = 1 << 16;
    char *buffer = malloc(room);
    ssize_t got = 1;
    while (buffer && got > 0) {
        if (room - size < 2) {
            char *larger = realloc(buffer, room *= 2);
            if (!larger)
                break;
            buffer = larger;
        }
        got = read(fd, buffer + size, room - size - 1);
        if (got > 0)
            size += (size_t)got;
    }
    if (!buffer || got != 0) {
        int rc = got < 0 ? -errno : -ENOMEM;
        free(buffer);
        return rc;
    }
    buffer[size] = 0;
    *text = buffer;
    return 0;
}

static int read_file(const char *proc, long pid, const char *name, char **text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%ld/%s", proc, pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = read_all(fd, text);
    close(fd);
    return rc;
}

int recorder_read_maps(const char *proc, long pid, char **text, struct tool_error *error)
{
    int rc = read_file(proc, pid, "maps", text);
    if (rc == -ENOENT || rc == -ESRCH)
        return recorder_fail(error, -ESRCH, "there is no process %ld", pid);
    if (rc == -EACCES || rc == -EPERM)
        return recorder_fail(
            error, rc, "no permission to read process %ld: it must be yours, or be root", pid);
    if (rc)
        return recorder_fail(error, rc, "can't read the mappings of process %ld: %s", pid,
                             strerror(-rc));
    if (!**text) {
        free(*text);
        return recorder_fail(error, -ENODATA,
                             "process %ld has no address space (a kernel thread, or it has ended)",
                             pid);
    }
    return 0;
}

/* --- Telling areas apart -------------------------------------------------------------------- */

struct file_id {
    unsigned major, minor;
    uint64_t inode;
};

/* A device that holds shared memory or huge pages. */
struct memory_device {
    unsigned major, minor;
    bool hugetlb;
};

static int starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Mounts of tmpfs and hugetlbfs. That they can't be read is no error: names still tell most. */
static int read_memory_devices(const char *proc, long pid, struct recorder_list *devices)
{
    char *text = NULL;
    if (read_file(proc, pid, "mountinfo", &text))
        return 0;
    int rc = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct memory_device device = {0};
        const char *type = strstr(line, " - ");
        if (!type || sscanf(line, "%*u %*u %u:%u", &device.major, &device.minor) != 2)
            continue;
        device.hugetlb = starts_with(type, " - hugetlbfs ");
        if (!device.hugetlb && !starts_with(type, " - tmpfs "))
            continue;
        struct memory_device *added = recorder_list_add(devices, sizeof(device));
        if (!added) {
            rc = -ENOMEM;
            break;
        }
        *added = device;
    }
    free(text);
    return rc;
}

static const struct {
    const char *prefix;
    uint8_t kind;
    bool hugetlb;
    bool only_shared; /* private mappings of it are something else */
} named_areas[] = {
    {"[heap]", FASTMM_SNAPSHOT_AREA_HEAP, false, false},
    {"[stack", FASTMM_SNAPSHOT_AREA_STACK, false, false},
    {"[anon:", FASTMM_SNAPSHOT_AREA_ANON, false, false},
    {"[anon_shmem:", FASTMM_SNAPSHOT_AREA_SHMEM, false, false},
    {"[vdso]", FASTMM_SNAPSHOT_AREA_VDSO, false, false},
    {"[vvar", FASTMM_SNAPSHOT_AREA_VVAR, false, false},
    {"[", FASTMM_SNAPSHOT_AREA_SPECIAL, false, false},
    {"/anon_hugepage", FASTMM_SNAPSHOT_AREA_SPECIAL, true, false},
    {"/dev/zero", FASTMM_SNAPSHOT_AREA_SHMEM, false, true},
    {"/SYSV", FASTMM_SNAPSHOT_AREA_SHMEM, false, false},
    {"/memfd:", FASTMM_SNAPSHOT_AREA_SHMEM, false, false},
};

static uint8_t kind_of(const char *name, const struct file_id *id, bool shared,
                       const struct recorder_list *devices, bool *hugetlb)
{
    *hugetlb = false;
    if (!*name)
        return FASTMM_SNAPSHOT_AREA_ANON;
    for (size_t i = 0; i < sizeof(named_areas) / sizeof(named_areas[0]); i++) {
        if (!starts_with(name, named_areas[i].prefix) || (named_areas[i].only_shared && !shared))
            continue;
        *hugetlb = named_areas[i].hugetlb;
        return named_areas[i].kind;
    }
    const struct memory_device *device = devices->items;
    for (size_t i = 0; i < devices->count; i++) {
        if (device[i].major == id->major && device[i].minor == id->minor) {
            *hugetlb = device[i].hugetlb;
            return *hugetlb ? FASTMM_SNAPSHOT_AREA_SPECIAL : FASTMM_SNAPSHOT_AREA_SHMEM;
        }
    }
    return FASTMM_SNAPSHOT_AREA_FILE;
}

/* The number of the file, a new one when it was not seen before; negative without memory. */
static int64_t number_of(const struct file_id *id, struct recorder_list *files)
{
    const struct file_id *known = files->items;
    for (size_t i = files->count; i-- > 0;)
        if (known[i].major == id->major && known[i].minor == id->minor &&
            known[i].inode == id->inode)
            return (int64_t)i;
    struct file_id *added = recorder_list_add(files, sizeof(*id));
    if (!added)
        return -ENOMEM;
    *added = *id;
    return (int64_t)files->count - 1;
}

/* --- Parsing -------------------------------------------------------------------------------- */

static uint8_t prot_of(const char *perms)
{
    return (uint8_t)((perms[0] == 'r' ? FASTMM_SNAPSHOT_READ : 0) |
                     (perms[1] == 'w' ? FASTMM_SNAPSHOT_WRITE : 0) |
                     (perms[2] == 'x' ? FASTMM_SNAPSHOT_EXEC : 0));
}

struct maps_parser {
    struct recorder_list devices, files;
    struct recorder_list *areas;
    uint64_t *skipped;
};

/* -EPROTO for a line that isn't one of maps. */
static int parse_line(struct maps_parser *p, const char *line)
{
    struct file_id id;
    uint64_t start, end, offset;
    char perms[5];
    int name = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &end,
               perms, &offset, &id.major, &id.minor, &id.inode, &name) != 7 ||
        strlen(perms) != 4 || start >= end || (start | end) & (FASTMM_PAGE_SIZE - 1))
        return -EPROTO;
    if (end > fastmm_va_user_end(5)) {
        ++*p->skipped;
        return 0;
    }
    struct recorder_area *a = recorder_list_add(p->areas, sizeof(*a));
    if (!a)
        return -ENOMEM;
    memset(a, 0, sizeof(*a));
    a->area.start = start;
    a->area.end = end;
    a->area.prot = prot_of(perms);
    a->area.shared = perms[3] == 's';
    a->area.file = FASTMM_SNAPSHOT_NO_FILE;
    a->area.kind = kind_of(line + name, &id, a->area.shared, &p->devices, &a->hugetlb);
    if (a->area.kind == FASTMM_SNAPSHOT_AREA_FILE || a->area.kind == FASTMM_SNAPSHOT_AREA_SHMEM) {
        int64_t number = number_of(&id, &p->files);
        if (number < 0)
            return (int)number;
        a->area.file = (uint32_t)number;
        a->area.offset = offset >> FASTMM_PAGE_SHIFT;
    }
    return 0;
}

int recorder_parse_maps(const char *proc, long pid, const char *text, struct recorder_list *areas,
                        uint64_t *skipped, struct tool_error *error)
{
    struct maps_parser p = {.areas = areas, .skipped = skipped};
    char *copy = strdup(text), *save = NULL;
    int rc = copy ? read_memory_devices(proc, pid, &p.devices) : -ENOMEM;
    for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line && !rc;
         line = strtok_r(NULL, "\n", &save))
        rc = parse_line(&p, line);
    free(copy);
    free(p.devices.items);
    free(p.files.items);
    if (rc == -ENOMEM)
        return recorder_fail(error, rc, "out of memory");
    return rc ? recorder_fail(error, rc, "a line of the mappings can't be understood") : 0;
}

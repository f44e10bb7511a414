/* SPDX-License-Identifier: MIT */
#include "snapshot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST ((off_t)1 << 30)

static int read_bytes(int fd, unsigned char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            return -EIO; /* it became shorter */
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int snapshot_file_read(const char *path, unsigned char **data, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status))
        rc = -errno;
    else if (!S_ISREG(status.st_mode))
        rc = -EINVAL;
    else if (status.st_size > LONGEST)
        rc = -EFBIG;
    unsigned char *bytes = rc ? NULL : malloc((size_t)status.st_size + 1);
    if (!rc)
        rc = bytes ? read_bytes(fd, bytes, (size_t)status.st_size) : -ENOMEM;
    close(fd);
    if (rc) {
        free(bytes);
        return rc;
    }
    *data = bytes;
    *size = (size_t)status.st_size;
    return 0;
}

static int write_bytes(int fd, const unsigned char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, data + done, size - done);
        if (put < 0 && errno != EINTR)
            return -errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* A new file with these bytes, or none. */
static int create(const char *path, const unsigned char *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int rc = write_bytes(fd, data, size);
    if (close(fd) && !rc)
        rc = -errno;
    if (rc)
        unlink(path);
    return rc;
}

int snapshot_file_write(const char *path, const unsigned char *data, size_t size, bool replace)
{
    static const char suffix[] = ".partial";
    struct stat status;
    if (!replace || lstat(path, &status))
        return create(path, data, size);
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    char *partial = malloc(strlen(path) + sizeof(suffix));
    if (!partial)
        return -ENOMEM;
    sprintf(partial, "%s%s", path, suffix);
    int rc = create(partial, data, size);
    if (!rc && rename(partial, path)) {
        rc = -errno;
        unlink(partial);
    }
    free(partial);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* FD_CLOEXEC has no effect on a fork without exec. Without this module the seeder would hold
 * descriptors of httpd: a piped log's program would live on, a removed log would keep its space,
 * and a port would stay bound. */
#include "mod_tileseed_descriptors.h"

#include <apr_portable.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether it is the error log of a virtual host or of the main server. */
static int is_error_log(int descriptor, const server_rec *servers)
{
    for (const server_rec *server = servers; server; server = server->next) {
        apr_os_file_t log;

        if (server->error_log && apr_os_file_get(&log, server->error_log) == APR_SUCCESS &&
            log == descriptor) {
            return 1;
        }
    }
    return 0;
}

static int listens(int descriptor)
{
    int is_listener = 0;
    socklen_t size = sizeof(is_listener);

    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is_listener, &size) == 0 &&
           is_listener;
}

static int is_written_to(int descriptor)
{
    const int flags = fcntl(descriptor, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static int is_of_no_use(int descriptor)
{
    struct stat info;

    if (fstat(descriptor, &info) != 0) {
        return 0;
    }
    return S_ISFIFO(info.st_mode) || (S_ISSOCK(info.st_mode) && listens(descriptor)) ||
           (S_ISREG(info.st_mode) && is_written_to(descriptor));
}

void tseed_descriptors_leave(const server_rec *servers)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *all = opendir("/proc/self/fd");
    const struct dirent *entry;

    while (nothing >= 0 && all && (entry = readdir(all)) != NULL) {
        const int descriptor = atoi(entry->d_name);

        if (descriptor > STDERR_FILENO && !is_error_log(descriptor, servers) &&
            is_of_no_use(descriptor)) {
            dup3(nothing, descriptor, O_CLOEXEC);
        }
    }
    if (all) {
        closedir(all);
    }
    if (nothing >= 0) {
        close(nothing);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lock of names. */
#include "store/tseed_names.h"

#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
_Atomic unsigned tseed_names_detachments;

void tseed_names_hold(void)
{
    pthread_rwlock_rdlock(&lock);
}

void tseed_names_hold_alone(void)
{
    pthread_rwlock_wrlock(&lock);
}

void tseed_names_release(void)
{
    pthread_rwlock_unlock(&lock);
}

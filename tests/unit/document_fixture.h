/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* One pool for all tests of a program that reads documents. */
#ifndef DOCUMENT_FIXTURE_H
#define DOCUMENT_FIXTURE_H

#include "pool_fixture.h"
#include "protocol/tseed_document.h"

static inline int setup_documents(void **state)
{
    tseed_document_init();
    return setup_group(state);
}

#endif

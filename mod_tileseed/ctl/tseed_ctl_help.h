/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Help and completion, made of the rows of verbs and options. Main thread. */
#ifndef TSEED_CTL_HELP_H
#define TSEED_CTL_HELP_H

#include "ctl/tseed_ctl_options.h"

/* Prints the help of a verb, or of all (TSEED_VERB_COUNT). */
void tseed_ctl_help(tseed_ctl_verb_t verb);

/* The verb of the words that stand before the last one on an unfinished command line. */
tseed_ctl_verb_t tseed_ctl_complete_verb(int count, const char *const *words);

/* Prints the options, or the verbs, that the last word begins. */
void tseed_ctl_complete_words(tseed_ctl_verb_t verb, const char *last);

/* What the last word may name besides: it depends on the verb and on the option before it. */
tseed_argument_t tseed_ctl_complete_kind(tseed_ctl_verb_t verb, int count,
                                         const char *const *words);

#endif

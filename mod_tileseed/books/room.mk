# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_background.c \
	%D%/tseed_background.h \
	%D%/tseed_cache.c \
	%D%/tseed_cache.h \
	%D%/tseed_count.c \
	%D%/tseed_count.h \
	%D%/tseed_cutoff.c \
	%D%/tseed_cutoff.h \
	%D%/tseed_discover.c \
	%D%/tseed_discover.h \
	%D%/tseed_evict.c \
	%D%/tseed_evict.h \
	%D%/tseed_free_space.c \
	%D%/tseed_free_space.h \
	%D%/tseed_holds.c \
	%D%/tseed_holds.h \
	%D%/tseed_inherited.c \
	%D%/tseed_inherited.h \
	%D%/tseed_jobs.c \
	%D%/tseed_jobs.h \
	%D%/tseed_lapsed.c \
	%D%/tseed_lapsed.h \
	%D%/tseed_marks.c \
	%D%/tseed_marks.h \
	%D%/tseed_origin_page.c \
	%D%/tseed_origin_page.h \
	%D%/tseed_origins.c \
	%D%/tseed_origins.h \
	%D%/tseed_page_loader.c \
	%D%/tseed_page_loader.h \
	%D%/tseed_purge.c \
	%D%/tseed_purge.h \
	%D%/tseed_quota_wait.c \
	%D%/tseed_quota_wait.h \
	%D%/tseed_reconciler.c \
	%D%/tseed_reconciler.h \
	%D%/tseed_root_claim.c \
	%D%/tseed_root_claim.h \
	%D%/tseed_syncer.c \
	%D%/tseed_syncer.h \
	%D%/tseed_walk.c \
	%D%/tseed_walk.h

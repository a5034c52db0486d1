# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_derived.c \
	%D%/tseed_finding_set.c \
	%D%/tseed_finding_set.h \
	%D%/tseed_join.c \
	%D%/tseed_join.h \
	%D%/tseed_prune.c \
	%D%/tseed_prune.h \
	%D%/tseed_savings.c \
	%D%/tseed_savings.h \
	%D%/tseed_sharing.c \
	%D%/tseed_sharing.h \
	%D%/tseed_sizes.c \
	%D%/tseed_sizes.h \
	%D%/tseed_sizing.c \
	%D%/tseed_sizing.h \
	%D%/tseed_together.c \
	%D%/tseed_together.h

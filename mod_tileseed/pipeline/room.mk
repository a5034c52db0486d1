# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_derive.c \
	%D%/tseed_derive.h \
	%D%/tseed_dispatch.c \
	%D%/tseed_dispatch.h \
	%D%/tseed_ends.c \
	%D%/tseed_ends.h \
	%D%/tseed_flow.c \
	%D%/tseed_flow.h \
	%D%/tseed_health.c \
	%D%/tseed_health.h \
	%D%/tseed_join.c \
	%D%/tseed_join.h \
	%D%/tseed_outage.c \
	%D%/tseed_outage.h \
	%D%/tseed_sharing.c \
	%D%/tseed_sharing.h \
	%D%/tseed_sizes.c \
	%D%/tseed_sizes.h \
	%D%/tseed_sizing.c \
	%D%/tseed_sizing.h \
	%D%/tseed_upstreams.c \
	%D%/tseed_upstreams.h

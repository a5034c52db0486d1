# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_dispatch.c \
	%D%/tseed_dispatch.h \
	%D%/tseed_ends.c \
	%D%/tseed_ends.h \
	%D%/tseed_flow.c \
	%D%/tseed_flow.h \
	%D%/tseed_health.c \
	%D%/tseed_health.h \
	%D%/tseed_outage.c \
	%D%/tseed_outage.h \
	%D%/tseed_upstreams.c \
	%D%/tseed_upstreams.h

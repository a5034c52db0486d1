# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_cells.c \
	%D%/tseed_cells.h \
	%D%/tseed_findings.c \
	%D%/tseed_findings.h \
	%D%/tseed_gridset.c \
	%D%/tseed_gridset.h \
	%D%/tseed_positions.c \
	%D%/tseed_positions.h \
	%D%/tseed_range.c \
	%D%/tseed_range.h \
	%D%/tseed_systems.c \
	%D%/tseed_systems.h

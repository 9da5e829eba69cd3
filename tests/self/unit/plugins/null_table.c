/* SPDX-License-Identifier: MIT */
#include "plugin.h"

const attest_plugin* attest_plugin_v1(void) { return NULL; }

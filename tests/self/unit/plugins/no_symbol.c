/* SPDX-License-Identifier: MIT */
int attest_plugin_v0(void);
int attest_plugin_v0(void) { return 0; }

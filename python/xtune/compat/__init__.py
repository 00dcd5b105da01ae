# SPDX-License-Identifier: Apache-2.0
"""Functions with the arguments of other tuners."""

# SPDX-License-Identifier: Apache-2.0
"""Version of the package: that of Assay."""
__version__ = "0.1.0"

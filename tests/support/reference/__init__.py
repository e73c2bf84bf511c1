# SPDX-License-Identifier: Apache-2.0
"""Reference implementation of Assay's formats: simple, slow, written from the specifications.

It shares no code with the product, so that the two can be held against each other. The formats
are described in schemas/tree.md and schemas/log.md; every function names the section it follows.
"""

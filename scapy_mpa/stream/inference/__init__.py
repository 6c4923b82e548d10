# SPDX-License-Identifier: GPL-2.0-or-later
"""What the octets of a direction say of it where its startup frames were not captured."""

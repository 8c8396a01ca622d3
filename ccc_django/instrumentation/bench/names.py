"""Names: what a measurement puts into the database is called so, and nothing else is.

Attributes have names that no project uses: a group with such a partition_by would get partitions by our messages.
"""

GROUPS = "ccc-bench-"  # begins the names of groups, of which these are all
NAMES = rf"^{GROUPS}[0-9a-f]{{8}}(-[a-z]+)?$"
SINGLE, LISTED = "ccc.bench.single", "ccc.bench.listed"  # types of messages
TYPES = (SINGLE, LISTED)
KEY, LANE, ITEM = "ccc_bench_key", "ccc_bench_lane", "ccc_bench_item"
ATTRIBUTES = (KEY, LANE, ITEM)

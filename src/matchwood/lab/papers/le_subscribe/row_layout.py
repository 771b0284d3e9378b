"""The columns of a row, which is one attribute that a subscription asks for."""

# The number of the attribute's axis.
AXIS = 0

# The lowest code that satisfies the subscription.
LOW = 1

# The highest code that satisfies the subscription; equal to the lowest for an equality.
HIGH = 2

# How many columns a row has.
COLUMNS = 3

"""Between Python values and Arrow arrays, without guesses and without changes of values.

making    Python values to Arrow arrays of one type
reading   Arrow arrays to arrays of plain types, and to Python values
"""

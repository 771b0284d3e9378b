"""Files of arrays: written in one step, memory-mapped when read, validated before kernels see them.

array_file               the format, checksums, and strings packed into arrays
validate                 whether the arrays of an index are safe for kernels
check_kernels            the checks of atoms, groups and records
push_list_check_kernels  the checks of push lists and of the trees that lead to them
checksum_kernels         the checksum of an array
"""

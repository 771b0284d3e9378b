"""How kernels are compiled, cached and called, and the words that builders write and they read.

A *kernel* is a function that Numba compiles. Kernels are in files whose names end in `_kernels.py`.
These import only other kernels, and modules that hold nothing but layouts, because a kernel is
compiled again whenever a file changes that it was made from, however indirectly.

    compiled         the decorators: `compiled`, `lean`, `inlined`, `codec`
    sources          which files a kernel was made from, and one digest over them
    kernel_folder    the folder of compiled kernels, and its entries
    kernel_cache     how a kernel is loaded from there, or put there
    kernel_archive   the same kernels as one file
    readiness        whether all kernels are compiled, and the process that compiles them
    array_types      names for the types of arrays
    array_view       many arrays handed to a kernel as one
    filling          one value, or another array, written to an array
    sorting          a part of an array sorted
    masks            operations on masks of 1,024 events
    bits             operations on single words, by what instructions the processor has
    text_bytes       bytes of text, by address
    hash_entries     entries of hash tables: a number, and a part of its hash

    programs         words of programs: operators and literals; references of nodes
    predicate_codes  numbers of predicates
    records          words of records, one record per node; rows of atoms
    pushes           push lists: what follows when a literal or a node is true
    event_entries    words of an event: codes of slots, lists, and opaque atoms that are true

The last five draw their words, say what bounds each field, and have the only functions that know
the shifts. Those functions work in kernels, on plain integers, and on NumPy arrays.
"""

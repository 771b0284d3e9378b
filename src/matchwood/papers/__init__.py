"""The published algorithms side by side: one a file, all behind one protocol."""

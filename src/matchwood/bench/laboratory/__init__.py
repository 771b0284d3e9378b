"""How the papers' experiments are run, kept and shown."""

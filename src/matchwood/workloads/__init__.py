"""Workloads: seeded generators of rules and of the events to match them against."""

"""Changes that wait for a person: the policy, the store, Claude Code's diffs, and what a decision does."""

"""Changes that wait for a person: the policy, the store of proposals, and what a decision does."""

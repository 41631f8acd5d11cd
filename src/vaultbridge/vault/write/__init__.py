"""Every way to change a vault: steps, plan, journal, transaction, recovery, trash."""

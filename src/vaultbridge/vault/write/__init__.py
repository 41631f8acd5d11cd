"""Every way to change a vault: steps, plan, execution, journal, transaction, recovery, trash."""

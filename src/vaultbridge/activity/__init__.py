"""Who is connected, and what they did: seen by every protocol, kept in memory, shown to a person."""

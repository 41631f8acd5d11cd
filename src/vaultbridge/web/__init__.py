"""The page in which a person reviews changes, reads notes and sees who is connected."""

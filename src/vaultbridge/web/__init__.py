"""The page where a person reviews changes, reads notes and sees who is connected."""

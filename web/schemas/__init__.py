"""What routes take and answer, one file a subject."""

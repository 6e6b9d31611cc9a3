"""`bert-grade`: grading the files of people one does not trust, each in a sandbox of its own."""

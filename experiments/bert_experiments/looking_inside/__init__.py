"""Looking inside a trained BERT: its heads, its vectors by layer, its blanks by training step."""
